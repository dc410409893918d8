#include "prof/sensor.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "prof/machine.h"

enum {
    PATH_BYTES = 256,
    HWMON_CHIPS = 64,
    PACKAGES = sizeof((pcti_cpu_meter *)0)->energy_uj / sizeof(double)
};

static pcti_reading known(double value) {
    return (pcti_reading){value, NULL};
}
static pcti_reading unknown(const char *reason) {
    return (pcti_reading){NAN, reason};
}

/* A file that holds one number. */
static bool read_number(const char *path, double *value) {
    char text[64];
    return pcti_sysfs_read(path, text, sizeof text) && pcti_parse_double(text, value);
}

static bool read_chip(const char *chip, const char *file, double *value) {
    char path[PATH_BYTES + 32];
    snprintf(path, sizeof path, "%s/%s", chip, file);
    return read_number(path, value);
}

/* hwmon gives thousandths of a degree. */
static pcti_reading cpu_temperature(void) {
    static const char *const drivers[] = {"coretemp", "k10temp", "zenpower", "cpu_thermal"};
    double hottest = NAN, value;
    for (int i = 0; i < HWMON_CHIPS; i++) {
        char chip[64], path[PATH_BYTES], driver[32];
        snprintf(chip, sizeof chip, "/sys/class/hwmon/hwmon%d", i);
        snprintf(path, sizeof path, "%s/name", chip);
        if (!pcti_sysfs_read(path, driver, sizeof driver)) continue;
        for (size_t d = 0; d < sizeof drivers / sizeof *drivers; d++)
            if (!strcmp(driver, drivers[d]) && read_chip(chip, "temp1_input", &value))
                hottest = fmax(hottest, value / 1e3);
    }
    return isfinite(hottest) ? known(hottest) : unknown("no processor's chip in /sys/class/hwmon");
}

/* Energy counters of the packages, in microjoules; they start anew after max_energy_range_uj. */
static pcti_reading cpu_power(pcti_cpu_meter *meter, double seconds) {
    double joules = 0;
    int readable = 0, counted = 0;
    for (int p = 0; p < (int)PACKAGES; p++) {
        char zone[64];
        double now = -1, range, before = meter->energy_uj[p];
        snprintf(zone, sizeof zone, "/sys/class/powercap/intel-rapl:%d", p);
        readable += read_chip(zone, "energy_uj", &now);
        meter->energy_uj[p] = now;
        if (now < 0 || before < 0 || !(seconds > 0)) continue;
        if (now < before && !read_chip(zone, "max_energy_range_uj", &range)) continue;
        joules += (now < before ? now + range - before : now - before) / 1e6;
        counted++;
    }
    if (!readable) return unknown("no readable energy counter in /sys/class/powercap");
    return counted == readable ? known(joules / seconds)
                               : unknown("no earlier reading of the energy counter");
}

/* The first line of /proc/stat: user nice system idle iowait irq softirq steal. */
static pcti_reading cpu_utilisation(pcti_cpu_meter *meter) {
    char text[256];
    double total = 0, idle = 0;
    if (!pcti_sysfs_read("/proc/stat", text, sizeof text) || strncmp(text, "cpu ", 4))
        return unknown("/proc/stat cannot be read");
    char *next = text + 4;
    for (int field = 0; field < 8; field++) {
        double value = (double)strtoull(next, &next, 10);
        total += value;
        if (field == 3 || field == 4) idle += value;
    }
    double busy = total - idle, passed = total - meter->total, worked = busy - meter->busy;
    bool first = meter->total == 0;
    meter->busy = busy;
    meter->total = total;
    if (first || !(passed > 0)) return unknown("no earlier reading of /proc/stat");
    return known(fmin(fmax(worked / passed, 0), 1) * 100);
}

static pcti_reading system_memory(void) {
    char text[512];
    if (!pcti_sysfs_read("/proc/meminfo", text, sizeof text)) return unknown("/proc/meminfo cannot be read");
    const char *total = strstr(text, "MemTotal:"), *available = strstr(text, "MemAvailable:");
    if (!total || !available) return unknown("/proc/meminfo does not say");
    return known(((double)strtoull(total + 9, NULL, 10) - (double)strtoull(available + 13, NULL, 10)) * 1024);
}

void pcti_sensors_cpu(pcti_cpu_meter *meter, uint64_t now_ns, pcti_sensors *sensors) {
    double seconds = meter->time_ns && now_ns > meter->time_ns ? (double)(now_ns - meter->time_ns) * 1e-9 : 0;
    meter->time_ns = now_ns;
    sensors->temperature_c = cpu_temperature();
    sensors->power_w = cpu_power(meter, seconds);
    sensors->utilisation_percent = cpu_utilisation(meter);
    sensors->memory_used_bytes = system_memory();
}

void pcti_sensors_pci(const char *address, pcti_sensors *sensors) {
    char device[128], chip[PATH_BYTES];
    double value;
    snprintf(device, sizeof device, "/sys/bus/pci/devices/%s", address);
    sensors->temperature_c = unknown("the device's driver has no temperature in sysfs");
    sensors->power_w = unknown("the device's driver has no power in sysfs");
    for (int i = 0; i < HWMON_CHIPS; i++) {
        snprintf(chip, sizeof chip, "%s/hwmon/hwmon%d", device, i);
        if (read_chip(chip, "temp1_input", &value)) sensors->temperature_c = known(value / 1e3);
        if (read_chip(chip, "power1_average", &value) || read_chip(chip, "power1_input", &value))
            sensors->power_w = known(value / 1e6);
    }
    sensors->utilisation_percent = read_chip(device, "gpu_busy_percent", &value)
                                       ? known(value)
                                       : unknown("the device's driver has no utilisation in sysfs");
    sensors->memory_used_bytes = read_chip(device, "mem_info_vram_used", &value)
                                     ? known(value)
                                     : unknown("the device's driver has no memory figure in sysfs");
}

void pcti_sensors_add_json(const pcti_sensors *sensors, const char *name, pcti_json *json) {
    const struct {
        const char *name;
        pcti_reading reading;
    } figures[] = {{"temperature_c", sensors->temperature_c},
                   {"power_w", sensors->power_w},
                   {"utilisation_percent", sensors->utilisation_percent},
                   {"memory_used_bytes", sensors->memory_used_bytes}};
    const size_t count = sizeof figures / sizeof *figures;
    pcti_json_open(json, name, '{');
    for (size_t i = 0; i < count; i++) pcti_json_number(json, figures[i].name, figures[i].reading.value);
    pcti_json_open(json, "missing", '{');
    for (size_t i = 0; i < count; i++)
        if (figures[i].reading.reason) pcti_json_string(json, figures[i].name, figures[i].reading.reason);
    pcti_json_close(json, '}');
    pcti_json_close(json, '}');
}
