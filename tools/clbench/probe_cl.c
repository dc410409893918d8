/* OpenCL devices: kernels of our own on the backend's open device and its profiling queues. */
#include <math.h>
#include <string.h>

#include "backend/cl/cl_backend.h"
#include "base/clock.h"
#include "base/memory.h"
#include "probe.h"

enum { ACCUMULATORS = 8, ROUNDS = 4096, GROUP = 64, TRIAD_BYTES = 64 << 20 };
static const double long_enough_ms = 10;

struct probe {
    pcti_cl_device *device;
    cl_command_queue queue, transfer;
    pcti_cl_events *events;
    cl_kernel count;
    cl_mem counter;
    int launches;
    /* copies */
    probe_memory memory;
    cl_mem inside, pinned;
    float *host, *back; /* host == mapped `pinned` where there is one */
    size_t bytes;
    /* peaks */
    size_t items; /* that take long enough */
    int width;    /* of `items` */
    cl_kernel chains, triad;
    cl_mem out, arrays[3];
};

static const char count_source[] = "__kernel void count_launch(__global int *counter)\n"
                                   "{\n"
                                   "    if (get_global_id(0) == 0) counter[0]++;\n"
                                   "}\n";

/* Each item: ACCUMULATORS chains of x = x*m + c, which with m = c = 1 counts rounds. Every lane of every item starts
 * with a number of its own: what is the same in all of them a compiler computes once. */
static const char chains_source[] =
    "#define PASTE_(a, b) a##b\n"
    "#define PASTE(a, b) PASTE_(a, b)\n"
    "#if WIDTH == 1\n"
    "#define VECTOR float\n"
    "#define LOAD(p) (*(p))\n"
    "#define STORE(v, p) (*(p) = (v))\n"
    "#else\n"
    "#define VECTOR PASTE(float, WIDTH)\n"
    "#define LOAD(p) PASTE(vload, WIDTH)(0, p)\n"
    "#define STORE(v, p) PASTE(vstore, WIDTH)(v, 0, p)\n"
    "#endif\n"
    "__kernel void chains(__global float *out, int rounds, float m, float c)\n"
    "{\n"
    "    float lanes[WIDTH], total = 0;\n"
    "    for (int i = 0; i < WIDTH; i++) lanes[i] = (float)(get_global_id(0) % 8 + i);\n"
    "    VECTOR x0 = LOAD(lanes), x1 = x0 + 1, x2 = x0 + 2, x3 = x0 + 3, x4 = x0 + 4, x5 = x0 + 5, x6 = x0 + 6;\n"
    "    VECTOR x7 = x0 + 7, vm = m, vc = c;\n"
    "    for (int r = 0; r < rounds; r++) {\n"
    "        x0 = mad(x0, vm, vc); x1 = mad(x1, vm, vc); x2 = mad(x2, vm, vc); x3 = mad(x3, vm, vc);\n"
    "        x4 = mad(x4, vm, vc); x5 = mad(x5, vm, vc); x6 = mad(x6, vm, vc); x7 = mad(x7, vm, vc);\n"
    "    }\n"
    "    STORE(x0 + x1 + x2 + x3 + x4 + x5 + x6 + x7, lanes);\n"
    "    for (int i = 0; i < WIDTH; i++) total += lanes[i];\n"
    "    out[get_global_id(0)] = total;\n"
    "}\n";

static const char triad_source[] =
    "__kernel void triad(__global const float4 *a, __global const float4 *b, __global float4 *c)\n"
    "{\n"
    "    size_t i = get_global_id(0);\n"
    "    c[i] = a[i] + 2.0f * b[i];\n"
    "}\n"
    "__kernel void fill(__global float *a, float first)\n"
    "{\n"
    "    a[get_global_id(0)] = (float)(get_global_id(0) % 1021) + first;\n"
    "}\n";

static pct_status finish(cl_command_queue queue)
{
    cl_int code = clFinish(queue);
    return code == CL_SUCCESS ? PCT_OK : pcti_cl_fail("clFinish", code, NULL);
}

static pct_status make_kernel(probe *p, const char *source, const char *options, const char *name, cl_kernel *kernel)
{
    pcti_cl_program *program;
    PCTI_RETURN_IF_FAILED(pcti_cl_program_get_text(p->device, name, source, options, &program));
    return pcti_cl_kernel_create(program, name, kernel);
}

static void free_peaks(probe *p)
{
    pcti_cl_kernel_release(p->chains);
    pcti_cl_kernel_release(p->triad);
    pcti_cl_buffer_release(p->out);
    for (int i = 0; i < 3; i++) pcti_cl_buffer_release(p->arrays[i]);
    p->chains = p->triad = NULL;
    p->out = p->arrays[0] = p->arrays[1] = p->arrays[2] = NULL;
}

static void copy_end(probe *p)
{
    if (p->pinned && p->host)
        clEnqueueUnmapMemObject(p->transfer, p->pinned, p->host, 0, NULL, NULL);
    else
        pcti_free_aligned(p->host);
    clFinish(p->transfer);
    pcti_free_aligned(p->back);
    pcti_cl_buffer_release(p->pinned);
    pcti_cl_buffer_release(p->inside);
    p->host = p->back = NULL;
    p->pinned = p->inside = NULL;
}

static void cl_close(probe *p)
{
    if (!p) return;
    pcti_cl_device_finish(p->device);
    copy_end(p);
    free_peaks(p);
    pcti_cl_kernel_release(p->count);
    pcti_cl_buffer_release(p->counter);
    pcti_cl_events_destroy(p->events);
    pcti_free(p);
}

static pct_status cl_open(pct_device *device, probe **out)
{
    pct_status status;
    cl_int zero = 0;
    probe *p = *out = pcti_calloc(1, sizeof *p);
    if (!p) return PCT_ERROR_MEMORY;
    p->device = pcti_cl_of(device)->device;
    PCTI_TRY(pcti_cl_device_add_profiling(p->device));
    p->queue = p->device->profiling.compute;
    p->transfer = p->device->profiling.transfer;
    PCTI_TRY(pcti_cl_events_create(4, &p->events));
    PCTI_TRY(make_kernel(p, count_source, "", "count_launch", &p->count));
    PCTI_TRY(pcti_cl_buffer_create(p->device, CL_MEM_READ_WRITE, sizeof zero, NULL, &p->counter));
    PCTI_TRY(pcti_cl_kernel_set(p->count, 0, sizeof p->counter, &p->counter));
    cl_int code = clEnqueueWriteBuffer(p->queue, p->counter, CL_TRUE, 0, sizeof zero, &zero, 0, NULL, NULL);
    if (code == CL_SUCCESS) return PCT_OK;
    status = pcti_cl_fail("clEnqueueWriteBuffer", code, NULL);
fail:
    cl_close(p);
    *out = NULL;
    return status;
}

/* ---- times ---- */

static double span_ms(uint64_t from_ns, uint64_t to_ns)
{
    return from_ns && to_ns >= from_ns ? (double)(to_ns - from_ns) * 1e-6 : NAN;
}

/* Takes the event of the last command. */
static pct_status sample_of(probe *p, uint64_t start_ns, cl_event event, probe_sample *sample)
{
    *sample = (probe_sample){(double)(pcti_clock_ns() - start_ns) * 1e-6, NAN, NAN, NAN};
    PCTI_RETURN_IF_FAILED(pcti_cl_events_take(p->events, PCTI_INTERVAL_KERNEL, 0, event));
    pcti_cl_time time = pcti_cl_events_time(p->events, pcti_cl_events_count(p->events) - 1);
    if (time.interval.valid) {
        sample->queued_to_submit_ms = span_ms(time.queued_ns, time.submit_ns);
        sample->submit_to_start_ms = span_ms(time.submit_ns, time.interval.start_ns);
        sample->start_to_end_ms = span_ms(time.interval.start_ns, time.interval.end_ns);
    }
    pcti_cl_events_clear(p->events);
    return PCT_OK;
}

/* One launch of a kernel in groups of GROUP, waited for. */
static pct_status run_kernel(probe *p, cl_kernel kernel, size_t items, probe_sample *sample)
{
    size_t wanted = GROUP, local;
    cl_event event = NULL;
    PCTI_RETURN_IF_FAILED(pcti_cl_local_size(p->device, kernel, 1, &wanted, &local));
    uint64_t start = pcti_clock_ns();
    PCTI_RETURN_IF_FAILED(pcti_cl_kernel_launch(p->queue, kernel, 1, &items, &local, &event));
    pct_status status = finish(p->queue), taken = sample_of(p, start, event, sample);
    return status == PCT_OK ? taken : status;
}

/* ---- launches ---- */

static pct_status launch(probe *p, size_t items, int count, probe_sample *sample)
{
    size_t wanted = items < GROUP ? items : GROUP, local;
    cl_event event = NULL;
    pct_status status = PCT_OK;
    PCTI_RETURN_IF_FAILED(pcti_cl_local_size(p->device, p->count, 1, &wanted, &local));
    uint64_t start = pcti_clock_ns();
    for (int i = 0; i < count && status == PCT_OK; i++) {
        status = pcti_cl_kernel_launch(p->queue, p->count, 1, &items, &local, i == count - 1 ? &event : NULL);
        p->launches += status == PCT_OK;
    }
    pct_status finished = finish(p->queue);
    if (status == PCT_OK) status = finished;
    if (!event) return status;
    pct_status taken = sample_of(p, start, event, sample);
    return status == PCT_OK ? taken : status;
}

static pct_status launch_error(probe *p, double *error)
{
    cl_int counted = 0;
    cl_int code = clEnqueueReadBuffer(p->queue, p->counter, CL_TRUE, 0, sizeof counted, &counted, 0, NULL, NULL);
    if (code != CL_SUCCESS) return pcti_cl_fail("clEnqueueReadBuffer", code, NULL);
    *error = fabs((double)counted - p->launches);
    return PCT_OK;
}

/* ---- copies ---- */

static void fill_pattern(float *data, size_t floats)
{
    for (size_t i = 0; i < floats; i++) data[i] = (float)(i % 8191);
}

static pct_status copy_begin(probe *p, probe_memory memory, size_t bytes)
{
    cl_int code;
    copy_end(p);
    p->memory = memory;
    p->bytes = bytes;
    cl_mem_flags flags = CL_MEM_READ_WRITE | (memory == PROBE_MAPPED ? CL_MEM_ALLOC_HOST_PTR : 0);
    PCTI_RETURN_IF_FAILED(pcti_cl_buffer_create(p->device, flags, bytes, NULL, &p->inside));
    if (!(p->back = pcti_alloc_aligned(bytes))) return PCT_ERROR_MEMORY;
    if (memory == PROBE_PINNED) {
        PCTI_RETURN_IF_FAILED(
            pcti_cl_buffer_create(p->device, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, bytes, NULL, &p->pinned));
        p->host = clEnqueueMapBuffer(p->transfer, p->pinned, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, bytes, 0, NULL,
                                     NULL, &code);
        if (!p->host) return pcti_cl_fail("clEnqueueMapBuffer", code, NULL);
    } else if (!(p->host = pcti_alloc_aligned(bytes))) {
        return PCT_ERROR_MEMORY;
    }
    fill_pattern(p->host, bytes / sizeof(float));
    /* A download must find something. */
    code = clEnqueueWriteBuffer(p->transfer, p->inside, CL_TRUE, 0, bytes, p->host, 0, NULL, NULL);
    if (code != CL_SUCCESS) return pcti_cl_fail("clEnqueueWriteBuffer", code, NULL);
    return PCT_OK;
}

static pct_status copy_mapped(probe *p, bool upload, probe_sample *sample)
{
    cl_int code;
    uint64_t start = pcti_clock_ns();
    void *mapped =
        clEnqueueMapBuffer(p->transfer, p->inside, CL_TRUE, upload ? CL_MAP_WRITE_INVALIDATE_REGION : CL_MAP_READ, 0,
                           p->bytes, 0, NULL, NULL, &code);
    if (!mapped) return pcti_cl_fail("clEnqueueMapBuffer", code, NULL);
    memcpy(upload ? mapped : p->host, upload ? p->host : mapped, p->bytes);
    code = clEnqueueUnmapMemObject(p->transfer, p->inside, mapped, 0, NULL, NULL);
    if (code != CL_SUCCESS) return pcti_cl_fail("clEnqueueUnmapMemObject", code, NULL);
    PCTI_RETURN_IF_FAILED(finish(p->transfer));
    *sample = (probe_sample){(double)(pcti_clock_ns() - start) * 1e-6, NAN, NAN, NAN};
    return PCT_OK;
}

static pct_status copy(probe *p, bool upload, probe_sample *sample)
{
    cl_event event = NULL;
    if (p->memory == PROBE_MAPPED) return copy_mapped(p, upload, sample);
    uint64_t start = pcti_clock_ns();
    cl_int code = upload
                      ? clEnqueueWriteBuffer(p->transfer, p->inside, CL_FALSE, 0, p->bytes, p->host, 0, NULL, &event)
                      : clEnqueueReadBuffer(p->transfer, p->inside, CL_FALSE, 0, p->bytes, p->host, 0, NULL, &event);
    if (code != CL_SUCCESS) return pcti_cl_fail(upload ? "clEnqueueWriteBuffer" : "clEnqueueReadBuffer", code, NULL);
    pct_status status = finish(p->transfer), taken = sample_of(p, start, event, sample);
    return status == PCT_OK ? taken : status;
}

static pct_status copy_error(probe *p, double *error)
{
    memset(p->back, 0xff, p->bytes);
    cl_int code = clEnqueueReadBuffer(p->transfer, p->inside, CL_TRUE, 0, p->bytes, p->back, 0, NULL, NULL);
    if (code != CL_SUCCESS) return pcti_cl_fail("clEnqueueReadBuffer", code, NULL);
    *error = 0;
    for (size_t i = 0; i < p->bytes / sizeof(float); i++) {
        /* what the device holds, and what the last download brought */
        double want = (double)(i % 8191),
               difference = fmax(fabs((double)p->back[i] - want), fabs((double)p->host[i] - want));
        *error = isnan(p->back[i]) || isnan(p->host[i]) ? INFINITY : fmax(*error, difference);
    }
    return PCT_OK;
}

/* ---- peaks ---- */

static const int widths[] = {1, 2, 4, 8, 16, 0};
/* Largest global size: the results must fit into a buffer of this many floats. */
enum { MAX_ITEMS = 1 << 22 };

static pct_status make_chains(probe *p, int width)
{
    pcti_text options = {0};
    float one = 1;
    cl_int rounds = ROUNDS;
    pcti_cl_kernel_release(p->chains);
    p->chains = NULL;
    pcti_cl_define_int(&options, "WIDTH", width);
    pct_status status =
        options.failed ? PCT_ERROR_MEMORY : make_kernel(p, chains_source, options.data, "chains", &p->chains);
    pcti_text_free(&options);
    if (status != PCT_OK) return status;
    if (!p->out)
        PCTI_RETURN_IF_FAILED(
            pcti_cl_buffer_create(p->device, CL_MEM_WRITE_ONLY, MAX_ITEMS * sizeof(float), NULL, &p->out));
    PCTI_RETURN_IF_FAILED(pcti_cl_kernel_set(p->chains, 0, sizeof p->out, &p->out));
    PCTI_RETURN_IF_FAILED(pcti_cl_kernel_set(p->chains, 1, sizeof rounds, &rounds));
    PCTI_RETURN_IF_FAILED(pcti_cl_kernel_set(p->chains, 2, sizeof one, &one));
    PCTI_RETURN_IF_FAILED(pcti_cl_kernel_set(p->chains, 3, sizeof one, &one));
    /* The first run also compiles; then as many items as take long enough. */
    probe_sample sample;
    p->items = GROUP;
    PCTI_RETURN_IF_FAILED(run_kernel(p, p->chains, p->items, &sample));
    for (;;) {
        PCTI_RETURN_IF_FAILED(run_kernel(p, p->chains, p->items, &sample));
        double ms = sample.start_to_end_ms > 0 ? sample.start_to_end_ms : sample.host_ms;
        if (ms >= long_enough_ms || p->items * 2 > MAX_ITEMS) break;
        p->items *= 2;
    }
    p->width = width;
    return PCT_OK;
}

/* What the chains of one item add up to; below 2^24, so exact in float. */
static double chains_sum(int width, size_t item)
{
    double start = (double)(item % 8) * width + width * (width - 1) / 2.0;
    return ACCUMULATORS * start + width * (ACCUMULATORS * (ACCUMULATORS - 1) / 2.0 + ACCUMULATORS * (double)ROUNDS);
}

static pct_status multiply_add(probe *p, int width, double *flops, double *error, probe_sample *sample)
{
    float ends[2];
    if (!p->chains || p->width != width) PCTI_RETURN_IF_FAILED(make_chains(p, width));
    PCTI_RETURN_IF_FAILED(run_kernel(p, p->chains, p->items, sample));
    for (int i = 0; i < 2; i++) {
        size_t at = i ? (p->items - 1) * sizeof(float) : 0;
        cl_int code = clEnqueueReadBuffer(p->queue, p->out, CL_TRUE, at, sizeof(float), &ends[i], 0, NULL, NULL);
        if (code != CL_SUCCESS) return pcti_cl_fail("clEnqueueReadBuffer", code, NULL);
    }
    *error =
        fmax(fabs((double)ends[0] - chains_sum(width, 0)), fabs((double)ends[1] - chains_sum(width, p->items - 1)));
    *flops = 2.0 * width * ACCUMULATORS * ROUNDS * (double)p->items;
    return PCT_OK;
}

/* A power of two that fits the device three times and more. */
static size_t triad_bytes(const probe *p)
{
    size_t bytes = TRIAD_BYTES;
    const pcti_cl_info *info = &p->device->info;
    while (bytes > 4096 && ((info->max_alloc_bytes && bytes > info->max_alloc_bytes) ||
                            (info->global_bytes && bytes * 6 > info->global_bytes)))
        bytes /= 2;
    return bytes;
}

static pct_status make_triad(probe *p)
{
    pct_status status = PCT_OK;
    cl_kernel fill = NULL;
    PCTI_RETURN_IF_FAILED(make_kernel(p, triad_source, "", "triad", &p->triad));
    PCTI_TRY(make_kernel(p, triad_source, "", "fill", &fill));
    for (int i = 0; i < 3; i++) {
        float first = (float)i;
        probe_sample sample;
        PCTI_TRY(pcti_cl_buffer_create(p->device, CL_MEM_READ_WRITE, triad_bytes(p), NULL, &p->arrays[i]));
        PCTI_TRY(pcti_cl_kernel_set(p->triad, (cl_uint)i, sizeof p->arrays[i], &p->arrays[i]));
        PCTI_TRY(pcti_cl_kernel_set(fill, 0, sizeof p->arrays[i], &p->arrays[i]));
        PCTI_TRY(pcti_cl_kernel_set(fill, 1, sizeof first, &first));
        PCTI_TRY(run_kernel(p, fill, triad_bytes(p) / sizeof(float), &sample));
    }
fail:
    pcti_cl_kernel_release(fill);
    return status;
}

static pct_status triad(probe *p, double *bytes, double *error, probe_sample *sample)
{
    if (!p->arrays[2]) PCTI_RETURN_IF_FAILED(make_triad(p));
    size_t floats = triad_bytes(p) / sizeof(float);
    PCTI_RETURN_IF_FAILED(run_kernel(p, p->triad, floats / 4, sample));
    *bytes = 3.0 * (double)triad_bytes(p);
    *error = 0;
    for (size_t i = 0; i < 8; i++) {
        size_t at = (floats - 1) / 7 * i;
        float value;
        cl_int code = clEnqueueReadBuffer(p->queue, p->arrays[2], CL_TRUE, at * sizeof value, sizeof value, &value, 0,
                                          NULL, NULL);
        if (code != CL_SUCCESS) return pcti_cl_fail("clEnqueueReadBuffer", code, NULL);
        *error = fmax(*error, fabs((double)value - (3.0 * (double)(at % 1021) + 2)));
    }
    return PCT_OK;
}

const probe_table probe_opencl = {.memories = 3,
                                  .widths = widths,
                                  .open = cl_open,
                                  .close = cl_close,
                                  .launch = launch,
                                  .launch_error = launch_error,
                                  .copy_begin = copy_begin,
                                  .copy = copy,
                                  .copy_error = copy_error,
                                  .copy_end = copy_end,
                                  .multiply_add = multiply_add,
                                  .triad = triad};
