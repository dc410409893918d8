#include "open_device.h"

#include <stdio.h>
#include <string.h>

#include "tool.h"

static pct_status open_opencl(const char *platform, const char *device_text, pct_device **device)
{
    pct_device_options options = {.struct_bytes = sizeof options,
                                  .backend = "opencl",
                                  .platform = platform,
                                  .device = device_text,
                                  .profiling = true};
    return pct_device_open(&options, device);
}

static pct_status open_cpu(int32_t threads, pct_device **device)
{
    pct_device_options options = {
        .struct_bytes = sizeof options, .backend = "cpu", .threads = threads, .profiling = true};
    return pct_device_open(&options, device);
}

void tool_describe_device(const pct_device_info *info, char *text, size_t bytes)
{
    if (!strcmp(info->backend, "cpu"))
        snprintf(text, bytes, "CPU path, %s, %d thread%s", info->isa, (int)info->threads,
                 info->threads == 1 ? "" : "s");
    else
        snprintf(text, bytes, "%s%s%s, driver %s", info->backend, info->platform[0] ? ", " : "", info->platform,
                 info->driver);
}

static void say_which(const pct_device *device, const char *reason)
{
    char details[512];
    const pct_device_info *info = pct_device_get_info(device);
    tool_describe_device(info, details, sizeof details);
    tool_message("device: %s (%s): %s", info->device, details, reason);
}

static pct_status open_default(int32_t threads, pct_device **device)
{
    pct_device_list *list;
    char platform[16], index[16];
    PCTI_RETURN_IF_FAILED(pct_device_list_create(&list));
    const pct_device_info *gpu = NULL;
    int count = pct_device_list_count(list);
    for (int i = 0; i < count && !gpu; i++)
        if (!strcmp(pct_device_list_get(list, i)->type, "gpu")) gpu = pct_device_list_get(list, i);
    if (gpu) {
        snprintf(platform, sizeof platform, "%d", (int)gpu->platform_index);
        snprintf(index, sizeof index, "%d", (int)gpu->device_index);
    }
    pct_device_list_destroy(list);
    PCTI_RETURN_IF_FAILED(gpu ? open_opencl(platform, index, device) : open_cpu(threads, device));
    say_which(*device, gpu     ? "the first GPU"
                       : count ? "there is no OpenCL GPU; --device takes another OpenCL device"
                               : "there is no OpenCL device");
    return PCT_OK;
}

pct_status tool_open_device(const tool_options *options, pct_device **device)
{
    *device = NULL;
    if (options->cpu) return open_cpu(options->threads, device);
    if (options->platform || options->device) return open_opencl(options->platform, options->device, device);
    return open_default(options->threads, device);
}
