#include "backend/cl/cl_device.h"

#include <CL/cl_ext.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "backend/cl/cl_error.h"
#include "base/memory.h"

/* Vendor queries for the PCI address; older headers lack some of the names. */
enum {
    PCI_BUS_INFO_KHR = 0x410F, /* four cl_uint: domain, bus, device, function */
    PCI_BUS_ID_NV = 0x4008,
    PCI_SLOT_ID_NV = 0x4009, /* device << 3 | function */
    PCI_DOMAIN_ID_NV = 0x400A,
    TOPOLOGY_AMD = 0x4037 /* cl_uint type, 17 bytes unused, signed char bus, device, function */
};

const char *pcti_cl_type_name(pcti_cl_type type) {
    switch (type) {
    case PCTI_CL_GPU:
        return "GPU";
    case PCTI_CL_CPU:
        return "CPU";
    case PCTI_CL_ACCELERATOR:
        return "accelerator";
    case PCTI_CL_OTHER_TYPE:
        break;
    }
    return "other";
}

/* Drivers pad names with blanks; a text longer than the field is cut. */
static void copy_trimmed(char *to, const char *from) {
    while (*from == ' ') from++;
    size_t length = strlen(from);
    if (length > PCTI_CL_NAME_BYTES - 1) length = PCTI_CL_NAME_BYTES - 1;
    while (length && (from[length - 1] == ' ' || from[length - 1] == '\n')) length--;
    memcpy(to, from, length);
    to[length] = 0;
}

static void platform_text(cl_platform_id id, cl_platform_info query, char *to) {
    char text[4096] = "";
    to[0] = 0;
    if (clGetPlatformInfo(id, query, sizeof text - 1, text, NULL) == CL_SUCCESS) copy_trimmed(to, text);
}

static void device_text(cl_device_id id, cl_device_info query, char *to) {
    char text[4096] = "";
    to[0] = 0;
    if (clGetDeviceInfo(id, query, sizeof text - 1, text, NULL) == CL_SUCCESS) copy_trimmed(to, text);
}

/* `value` keeps its 0 where the driver refuses. */
static bool device_value(cl_device_id id, cl_device_info query, void *value, size_t bytes) {
    if (clGetDeviceInfo(id, query, bytes, value, NULL) == CL_SUCCESS) return true;
    memset(value, 0, bytes);
    return false;
}

static cl_uint device_uint(cl_device_id id, cl_device_info query) {
    cl_uint value = 0;
    device_value(id, query, &value, sizeof value);
    return value;
}

static cl_ulong device_ulong(cl_device_id id, cl_device_info query) {
    cl_ulong value = 0;
    device_value(id, query, &value, sizeof value);
    return value;
}

static size_t device_size(cl_device_id id, cl_device_info query) {
    size_t value = 0;
    device_value(id, query, &value, sizeof value);
    return value;
}

static bool device_bool(cl_device_id id, cl_device_info query) {
    cl_bool value = CL_FALSE;
    device_value(id, query, &value, sizeof value);
    return value != CL_FALSE;
}

/* Whole words only: one extension's name may begin another's. */
static bool has_extension(const char *extensions, const char *name) {
    size_t length = strlen(name);
    for (const char *found = extensions; (found = strstr(found, name)); found += length)
        if ((found == extensions || found[-1] == ' ') && (found[length] == ' ' || !found[length]))
            return true;
    return false;
}

static char *extensions_create(cl_device_id id) {
    size_t bytes = 0;
    if (clGetDeviceInfo(id, CL_DEVICE_EXTENSIONS, 0, NULL, &bytes) != CL_SUCCESS) bytes = 0;
    char *text = pcti_calloc(bytes + 1, 1);
    if (text && bytes && clGetDeviceInfo(id, CL_DEVICE_EXTENSIONS, bytes, text, NULL) != CL_SUCCESS)
        text[0] = 0;
    return text;
}

static pcti_cl_pci pci_address(cl_device_id id, const char *extensions) {
    cl_uint khr[4], bus, slot;
    unsigned char amd[24];
    if (has_extension(extensions, "cl_khr_pci_bus_info") &&
        device_value(id, PCI_BUS_INFO_KHR, khr, sizeof khr))
        return (pcti_cl_pci){true, khr[0], khr[1], khr[2], khr[3]};
    if (has_extension(extensions, "cl_nv_device_attribute_query") &&
        device_value(id, PCI_BUS_ID_NV, &bus, sizeof bus) &&
        device_value(id, PCI_SLOT_ID_NV, &slot, sizeof slot))
        return (pcti_cl_pci){true, device_uint(id, PCI_DOMAIN_ID_NV), bus, slot >> 3, slot & 7};
    if (has_extension(extensions, "cl_amd_device_attribute_query") &&
        device_value(id, TOPOLOGY_AMD, amd, sizeof amd) && amd[0] == 1 /* the type that means PCIe */)
        return (pcti_cl_pci){true, 0, amd[21], amd[22], amd[23]};
    return (pcti_cl_pci){0};
}

static void describe_memory(pcti_cl_info *info) {
    cl_device_id id = info->id;
    cl_device_local_mem_type local = CL_NONE;
    device_value(id, CL_DEVICE_LOCAL_MEM_TYPE, &local, sizeof local);
    info->local_type = local == CL_LOCAL    ? PCTI_CL_LOCAL_OWN
                       : local == CL_GLOBAL ? PCTI_CL_LOCAL_GLOBAL
                                            : PCTI_CL_LOCAL_NONE;
    info->local_bytes = device_ulong(id, CL_DEVICE_LOCAL_MEM_SIZE);
    info->global_bytes = device_ulong(id, CL_DEVICE_GLOBAL_MEM_SIZE);
    info->max_alloc_bytes = device_ulong(id, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
    info->align_bytes = device_uint(id, CL_DEVICE_MEM_BASE_ADDR_ALIGN) / 8; /* reported in bits */
    info->unified_memory = device_bool(id, CL_DEVICE_HOST_UNIFIED_MEMORY);
}

static void find_problem(pcti_cl_info *info) {
    char *to = info->problem;
    size_t bytes = sizeof info->problem;
    if (!info->name[0] || !info->max_work_group)
        snprintf(to, bytes, "the driver does not describe it");
    else if (!device_bool(info->id, CL_DEVICE_AVAILABLE))
        snprintf(to, bytes, "the driver says not available");
    else if (!device_bool(info->id, CL_DEVICE_COMPILER_AVAILABLE))
        snprintf(to, bytes, "no OpenCL C compiler");
    else if (info->version_major < 1 || (info->version_major == 1 && info->version_minor < 2))
        snprintf(to, bytes, "%.200s is below OpenCL 1.2", info->device_version);
}

static pct_status describe_device(cl_device_id id, pcti_cl_info *info) {
    char *extensions = extensions_create(id);
    if (!extensions) return PCT_ERROR_MEMORY;
    info->id = id;
    info->duplicate_of = PCTI_CL_NO_DUPLICATE;
    device_text(id, CL_DEVICE_NAME, info->name);
    device_text(id, CL_DEVICE_VENDOR, info->vendor);
    device_text(id, CL_DRIVER_VERSION, info->driver_version);
    device_text(id, CL_DEVICE_VERSION, info->device_version);
    if (sscanf(info->device_version, "OpenCL %d.%d", &info->version_major, &info->version_minor) != 2)
        info->version_major = info->version_minor = 0;
    /* A simulator may claim every type at once; what runs on the host's cores wants the CPU kernels. */
    cl_device_type type = 0;
    device_value(id, CL_DEVICE_TYPE, &type, sizeof type);
    info->type = type & CL_DEVICE_TYPE_CPU           ? PCTI_CL_CPU
                 : type & CL_DEVICE_TYPE_GPU         ? PCTI_CL_GPU
                 : type & CL_DEVICE_TYPE_ACCELERATOR ? PCTI_CL_ACCELERATOR
                                                     : PCTI_CL_OTHER_TYPE;
    info->compute_units = device_uint(id, CL_DEVICE_MAX_COMPUTE_UNITS);
    info->max_work_group = device_size(id, CL_DEVICE_MAX_WORK_GROUP_SIZE);
    size_t items[16] = {0}; /* a driver may have more than three dimensions */
    device_value(id, CL_DEVICE_MAX_WORK_ITEM_SIZES, items, sizeof items);
    for (int d = 0; d < 3; d++) info->max_work_item[d] = items[d] ? items[d] : 1;
    describe_memory(info);
    info->float_width = device_uint(id, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT);
    info->clock_mhz = device_uint(id, CL_DEVICE_MAX_CLOCK_FREQUENCY);
    info->timer_ns = device_size(id, CL_DEVICE_PROFILING_TIMER_RESOLUTION);
    info->fp16 = has_extension(extensions, "cl_khr_fp16");
    info->fp64 = has_extension(extensions, "cl_khr_fp64");
    info->pci = pci_address(id, extensions);
    find_problem(info);
    pcti_free(extensions);
    return PCT_OK;
}

static pct_status list_devices(pcti_cl_list *list, size_t platform_index) {
    pct_status status = PCT_OK;
    pcti_cl_platform *platform = &list->platforms[platform_index];
    cl_device_id *ids = NULL;
    cl_uint n = 0;
    cl_int code = clGetDeviceIDs(platform->id, CL_DEVICE_TYPE_ALL, 0, NULL, &n);
    if (code == CL_SUCCESS && n) {
        if (!(ids = pcti_calloc(n, sizeof *ids))) return PCT_ERROR_MEMORY;
        code = clGetDeviceIDs(platform->id, CL_DEVICE_TYPE_ALL, n, ids, NULL);
    }
    if (code != CL_SUCCESS || !n) {
        const char *why = code == CL_SUCCESS ? "CL_SUCCESS, but none" : pcti_cl_code_name(code);
        snprintf(platform->problem, sizeof platform->problem,
                 "no device (%s): check the driver, access to /dev/dri, /dev/kfd or /dev/nvidia*, and groups "
                 "render "
                 "and video",
                 why);
        goto fail; /* status is PCT_OK: the list goes on */
    }
    pcti_cl_info *devices = pcti_realloc(list->devices, list->n_devices + n, sizeof *devices);
    if (!devices) {
        status = PCT_ERROR_MEMORY;
        goto fail;
    }
    list->devices = devices;
    for (cl_uint i = 0; i < n; i++) {
        pcti_cl_info *info = &devices[list->n_devices];
        *info = (pcti_cl_info){.platform_index = (int)platform_index, .device_index = (int)i};
        memcpy(info->platform_name, platform->name, sizeof info->platform_name);
        memcpy(info->platform_vendor, platform->vendor, sizeof info->platform_vendor);
        PCTI_TRY(describe_device(ids[i], info));
        list->n_devices++;
        platform->n_devices++;
    }
fail:
    pcti_free(ids);
    return status;
}

pct_status pcti_cl_list_create(pcti_cl_list *list) {
    pct_status status = PCT_OK;
    cl_platform_id *ids = NULL;
    cl_uint n = 0;
    *list = (pcti_cl_list){0};
    cl_int code = clGetPlatformIDs(0, NULL, &n);
    if (code == CL_PLATFORM_NOT_FOUND_KHR || (code == CL_SUCCESS && !n)) {
        snprintf(list->note, sizeof list->note,
                 "no OpenCL platform found (CL_PLATFORM_NOT_FOUND_KHR): install an ICD, such as the Debian "
                 "package "
                 "nvidia-opencl-icd (NVIDIA), rocm-opencl-icd or mesa-opencl-icd (AMD), intel-opencl-icd "
                 "(Intel), or "
                 "pocl-opencl-icd (any CPU)");
        return PCT_OK;
    }
    if (code != CL_SUCCESS) return pcti_cl_fail("clGetPlatformIDs", code, NULL);
    ids = pcti_calloc(n, sizeof *ids);
    list->platforms = pcti_calloc(n, sizeof *list->platforms);
    if (!ids || !list->platforms) {
        status = PCT_ERROR_MEMORY;
        goto fail;
    }
    PCTI_CL_TRY(clGetPlatformIDs, (n, ids, NULL));
    for (; list->n_platforms < n; list->n_platforms++) {
        pcti_cl_platform *platform = &list->platforms[list->n_platforms];
        platform->id = ids[list->n_platforms];
        platform_text(platform->id, CL_PLATFORM_NAME, platform->name);
        platform_text(platform->id, CL_PLATFORM_VENDOR, platform->vendor);
        platform_text(platform->id, CL_PLATFORM_VERSION, platform->version);
        PCTI_TRY(list_devices(list, list->n_platforms));
    }
    if (!list->n_devices)
        snprintf(list->note, sizeof list->note, "no OpenCL device found: %zu platform(s) without a device",
                 list->n_platforms);
    pcti_cl_mark_duplicates(list->devices, list->n_devices);
    pcti_free(ids);
    return PCT_OK;
fail:
    pcti_free(ids);
    pcti_cl_list_destroy(list);
    return status;
}

void pcti_cl_list_destroy(pcti_cl_list *list) {
    pcti_free(list->platforms);
    pcti_free(list->devices);
    *list = (pcti_cl_list){0};
}

/* Platforms that drive other vendors' boards. */
static bool is_generic(const pcti_cl_info *info) {
    return !strcasecmp(info->platform_name, "rusticl") || !strcasecmp(info->platform_name, "Clover") ||
           !strcasecmp(info->platform_name, "Portable Computing Language");
}

static bool same_board(const pcti_cl_info *a, const pcti_cl_info *b) {
    return a->platform_index != b->platform_index && a->pci.known && b->pci.known &&
           a->pci.domain == b->pci.domain && a->pci.bus == b->pci.bus && a->pci.device == b->pci.device &&
           a->pci.function == b->pci.function;
}

void pcti_cl_mark_duplicates(pcti_cl_info *devices, size_t n) {
    for (size_t i = 0; i < n; i++) {
        devices[i].duplicate_of = PCTI_CL_NO_DUPLICATE;
        for (size_t j = 0; j < n && devices[i].duplicate_of == PCTI_CL_NO_DUPLICATE; j++) {
            bool better =
                is_generic(&devices[j]) == is_generic(&devices[i]) ? j < i : is_generic(&devices[i]);
            if (better && same_board(&devices[i], &devices[j])) devices[i].duplicate_of = (int)j;
        }
    }
    /* Of three or more, all point at the one that is kept. */
    for (size_t i = 0; i < n; i++)
        while (devices[i].duplicate_of != PCTI_CL_NO_DUPLICATE &&
               devices[devices[i].duplicate_of].duplicate_of != PCTI_CL_NO_DUPLICATE)
            devices[i].duplicate_of = devices[devices[i].duplicate_of].duplicate_of;
}
