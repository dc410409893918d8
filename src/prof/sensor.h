/* Temperature, power, utilisation and memory, from hwmon, RAPL and /proc below PCT_SYSFS_ROOT. */
#ifndef PCTI_PROF_SENSOR_H
#define PCTI_PROF_SENSOR_H

#include <stdint.h>

#include "prof/json.h"

/* NaN with a reason (static text), or a value and NULL. */
typedef struct pcti_reading {
    double value;
    const char *reason;
} pcti_reading;

typedef struct pcti_sensors {
    pcti_reading temperature_c, power_w, utilisation_percent, memory_used_bytes;
} pcti_sensors;

/* What a counter showed at the last reading. Zero-initialise: the first reading has no power and no
 * utilisation. */
typedef struct pcti_cpu_meter {
    uint64_t time_ns;
    double energy_uj[8]; /* of each package; negative where it could not be read */
    double busy, total;  /* jiffies */
} pcti_cpu_meter;

/* The processors and the system's memory: temperature of the hottest package, power of all packages and share
 * of busy processor time since the last reading. now_ns is pcti_clock_ns(). */
void pcti_sensors_cpu(pcti_cpu_meter *meter, uint64_t now_ns, pcti_sensors *sensors);
/* A PCI device by its address ("0000:01:00.0"), never by its number among devices: drivers order them
 * differently. */
void pcti_sensors_pci(const char *address, pcti_sensors *sensors);
/* An object with the four figures and the reasons of those that are null, under "missing". */
void pcti_sensors_add_json(const pcti_sensors *sensors, const char *name, pcti_json *json);

#endif
