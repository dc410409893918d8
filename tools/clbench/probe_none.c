/* Stands for probe_cl.c in a build without the OpenCL backend, in which no OpenCL device can be opened either. */
#include "base/status.h"
#include "probe.h"

static pct_status no_opencl(pct_device *device, probe **p)
{
    *p = NULL;
    return pcti_fail(PCT_ERROR_UNSUPPORTED, "this build has no OpenCL backend");
}

static const int no_widths[] = {0};
const probe_table probe_opencl = {.widths = no_widths, .open = no_opencl};
