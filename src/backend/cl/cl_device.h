/* What OpenCL devices there are, and which one a user means. Plain structs: no call here opens anything. */
#ifndef PCTI_BACKEND_CL_DEVICE_H
#define PCTI_BACKEND_CL_DEVICE_H

#include <CL/cl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/text.h"

enum { PCTI_CL_NAME_BYTES = 256, PCTI_CL_NO_DUPLICATE = -1 };

typedef enum pcti_cl_type { PCTI_CL_GPU, PCTI_CL_CPU, PCTI_CL_ACCELERATOR, PCTI_CL_OTHER_TYPE } pcti_cl_type;
typedef enum pcti_cl_local { PCTI_CL_LOCAL_NONE, PCTI_CL_LOCAL_OWN, PCTI_CL_LOCAL_GLOBAL } pcti_cl_local;

/* Address on the PCI bus, the key to sensors and to devices that two platforms show. */
typedef struct pcti_cl_pci {
    bool known;
    uint32_t domain, bus, device, function; /* domain is 0 where a driver does not tell it */
} pcti_cl_pci;

typedef struct pcti_cl_platform {
    cl_platform_id id;
    char name[PCTI_CL_NAME_BYTES], vendor[PCTI_CL_NAME_BYTES], version[PCTI_CL_NAME_BYTES];
    size_t n_devices;
    char problem[PCTI_CL_NAME_BYTES]; /* why it has no device; else "" */
} pcti_cl_platform;

/* Sizes are as the driver reports them; 0 where it refuses to answer. */
typedef struct pcti_cl_info {
    cl_device_id id;
    int platform_index, device_index; /* device_index counts within its platform */
    char platform_name[PCTI_CL_NAME_BYTES], platform_vendor[PCTI_CL_NAME_BYTES];
    char name[PCTI_CL_NAME_BYTES], vendor[PCTI_CL_NAME_BYTES];
    char driver_version[PCTI_CL_NAME_BYTES], device_version[PCTI_CL_NAME_BYTES];
    int version_major, version_minor; /* of device_version, 0.0 where it cannot be read */
    pcti_cl_type type;
    uint32_t compute_units;
    uint64_t max_work_group, max_work_item[3];
    uint64_t local_bytes;
    pcti_cl_local local_type;
    uint64_t global_bytes, max_alloc_bytes;
    uint32_t align_bytes; /* of a buffer's base address and a sub-buffer's origin */
    uint32_t float_width; /* native vector width; the preferred width says 1 on runtimes that vectorise by
                             themselves */
    uint32_t clock_mhz;   /* 0 = unknown */
    uint64_t timer_ns;    /* resolution of event stamps, as reported */
    bool unified_memory, fp16,
        fp64; /* fp16, fp64: the extension is listed, which is neither proof nor needed */
    pcti_cl_pci pci;
    int duplicate_of; /* index in the list of the same board under a better platform, or PCTI_CL_NO_DUPLICATE
                       */
    char problem[PCTI_CL_NAME_BYTES]; /* why it cannot be used; else "" */
} pcti_cl_info;

typedef struct pcti_cl_list {
    pcti_cl_platform *platforms; /* the index is the user's platform index */
    size_t n_platforms;
    pcti_cl_info *devices; /* by platform, then by device */
    size_t n_devices;
    char note[512]; /* what a user without devices should know; else "" */
} pcti_cl_list;

/* Asks every platform and device. A machine without OpenCL is a list of length 0 with a note, not an error.
 * Errors: PCT_ERROR_MEMORY; PCT_ERROR_DEVICE when the loader itself fails. */
pct_status pcti_cl_list_create(pcti_cl_list *list);
void pcti_cl_list_destroy(pcti_cl_list *list);

/* Sets duplicate_of by PCI address across platforms; a vendor's platform is preferred to one that serves many
 * vendors (rusticl, Clover, PoCL). Devices of one platform are never duplicates: parts of one board may share
 * its address. */
void pcti_cl_mark_duplicates(pcti_cl_info *devices, size_t n_devices);

/* Finds the device that the user's options mean; each is an index, part of a name in any case, or NULL. A
 * text that begins with a digit or a sign is an index and nothing else. A name's part that fits several is
 * ambiguous unless it is one's whole name. Platform alone: its first GPU, else its first device. Device
 * alone: the first platform that has it. Neither: the first GPU, else the first device. Defaults pass over
 * duplicates and devices with a problem. Errors: PCT_ERROR_ARGUMENT (bad or ambiguous text),
 * PCT_ERROR_NOT_FOUND, PCT_ERROR_DEVICE (the device chosen has a problem); the message ends with the valid
 * list. */
pct_status pcti_cl_select(const pcti_cl_list *list, const char *platform, const char *device, size_t *index);

/* Appends the list, one line a platform or device, for messages. */
void pcti_cl_list_describe(const pcti_cl_list *list, pcti_text *text);

const char *pcti_cl_type_name(pcti_cl_type type); /* "GPU", "CPU", "accelerator", "other" */

#endif
