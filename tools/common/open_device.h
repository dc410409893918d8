/* The device that the shared options mean. */
#ifndef PCTI_TOOLS_OPEN_DEVICE_H
#define PCTI_TOOLS_OPEN_DEVICE_H

#include "options.h"
#include "pct/device.h"

/* Opens one device, ready for profiling. --cpu: the CPU path; --platform, --device: that OpenCL device.
 * Without either the first OpenCL GPU, else the CPU path, and a line on standard error says which one and
 * why. Failures: use TOOL_USAGE with tool_fail. */
pct_status tool_open_device(const tool_options *options, pct_device **device);

/* "AVX2, 4 threads" or "driver 3.1": what, beside the name, decides about speed and results. */
void tool_describe_device(const pct_device_info *info, char *text, size_t bytes);

#endif
