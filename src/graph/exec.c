/* Running a plan, and reading what it left. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "graph/plan.h"

static size_t dense_bytes(const pcti_tensor *tensor)
{
    return (size_t)pcti_tensor_elems(tensor) * pct_dtype_size(tensor->dtype);
}

/* Each profiled run leaves one sample of every step; the oldest makes room. */
static void keep_step_times(pct_plan *plan)
{
    int slot = plan->step_samples % PCTI_STEP_SAMPLES;
    for (int s = 0; s < plan->n_steps; s++) plan->step_ms[s * PCTI_STEP_SAMPLES + slot] = 0;
    for (int i = 0; i < plan->timeline.count; i++) {
        const pcti_interval *interval = &plan->timeline.intervals[i];
        int s = plan->timeline.interval_steps[i];
        if (s >= 0 && interval->valid && interval->end_ns >= interval->start_ns)
            plan->step_ms[s * PCTI_STEP_SAMPLES + slot] += (float)((double)(interval->end_ns - interval->start_ns) / 1e6);
    }
    plan->step_samples++;
}

static pct_status split_times(pct_plan *plan, uint64_t end_ns, pct_run_times *times)
{
    const pcti_timeline *timeline = &plan->timeline;
    pcti_host_times host = {timeline->host_start_ns, timeline->first_enqueue_ns, timeline->finish_ns, end_ns};
    pcti_split split;
    keep_step_times(plan); /* before the intervals are sorted */
    PCTI_RETURN_IF_FAILED(pcti_split_times(timeline->intervals, (size_t)timeline->count, &host, &split));
    *times = (pct_run_times){split.wall_ms,    split.kernel_ms, split.upload_ms,   split.download_ms,
                             split.overlap_ms, split.host_ms,   (int32_t)split.invalid};
    return PCT_OK;
}

pct_status pct_plan_run(pct_plan *plan, const void *const *inputs, void *const *outputs, pct_run_times *times)
{
    int n_uploads = 0, n_downloads = 0;
    for (int i = 0; i < plan->n_inputs; i++) {
        size_t bytes = dense_bytes(&plan->inputs[i].tensor);
        if (!inputs || !inputs[i]) return pcti_fail(PCT_ERROR_ARGUMENT, "input %s is missing", plan->input_names[i]);
        if (bytes) plan->uploads[n_uploads++] = (pcti_transfer){(void *)(uintptr_t)inputs[i], &plan->inputs[i], bytes};
    }
    for (int i = 0; i < plan->n_outputs; i++) {
        size_t bytes = dense_bytes(&plan->outputs[i].tensor);
        if (bytes && outputs && outputs[i]) plan->downloads[n_downloads++] = (pcti_transfer){outputs[i], &plan->outputs[i], bytes};
    }
    pcti_run run = {plan->steps, plan->n_steps, plan->uploads, plan->downloads, n_uploads, n_downloads, times ? &plan->timeline : NULL};
    plan->timeline.count = 0;
    plan->timeline.host_start_ns = plan->timeline.first_enqueue_ns = pcti_clock_ns();
    PCTI_RETURN_IF_FAILED(plan->device->backend->run(plan->device, &run));
    uint64_t end_ns = pcti_clock_ns();
    if (!plan->has_run && plan->device->backend->after_first_run)
        PCTI_RETURN_IF_FAILED(plan->device->backend->after_first_run(plan->device));
    plan->has_run = true;
    return times ? split_times(plan, end_ns, times) : PCT_OK;
}

static int compare_floats(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

pct_status pct_plan_step(const pct_plan *plan, int index, pct_step_info *info)
{
    if (index < 0 || index >= plan->n_steps)
        return pcti_fail(PCT_ERROR_ARGUMENT, "the plan has %d steps, there is no step %d", plan->n_steps, index);
    const pcti_step *step = &plan->steps[index];
    const pcti_cost *cost = &plan->costs[index];
    float sorted[PCTI_STEP_SAMPLES];
    int count = plan->step_samples < PCTI_STEP_SAMPLES ? plan->step_samples : PCTI_STEP_SAMPLES;
    memcpy(sorted, plan->step_ms + (size_t)index * PCTI_STEP_SAMPLES, (size_t)count * sizeof *sorted);
    qsort(sorted, (size_t)count, sizeof *sorted, compare_floats);
    *info = (pct_step_info){step->name, step->call.op->name, step->impl->name, plan->shapes[index], cost->flops,
                            cost->bytes_read + cost->bytes_written, count ? sorted[count / 2] : 0};
    return PCT_OK;
}

/* ---- values ---- */

int pct_plan_value_count(const pct_plan *plan) { return plan->n_readables; }

static pct_status check_index(const pct_plan *plan, int index)
{
    if (index >= 0 && index < plan->n_readables) return PCT_OK;
    return pcti_fail(PCT_ERROR_ARGUMENT, "the plan keeps %d values, there is no value %d", plan->n_readables, index);
}

pct_status pct_plan_value(const pct_plan *plan, int index, const char **name, pct_shape *shape)
{
    PCTI_RETURN_IF_FAILED(check_index(plan, index));
    *name = plan->readables[index].name;
    *shape = pcti_tensor_shape(&plan->readables[index].operand.tensor);
    return PCT_OK;
}

/* Any layout to dense row-major. */
static void unpack(const pcti_tensor *tensor, const float *raw, float *dst)
{
    int64_t index[PCT_MAX_RANK] = {0}, elems = pcti_tensor_elems(tensor);
    for (int64_t i = 0; i < elems; i++) {
        int64_t at = 0;
        for (int d = 0; d < tensor->rank; d++) {
            bool blocked = tensor->channel_block > 1 && d == 1;
            at += blocked ? index[d] / tensor->channel_block * tensor->strides[d] + index[d] % tensor->channel_block
                          : index[d] * tensor->strides[d];
        }
        dst[i] = raw[at];
        for (int d = tensor->rank - 1; d >= 0 && ++index[d] == tensor->dims[d]; d--) index[d] = 0;
    }
}

pct_status pct_plan_read(pct_plan *plan, int index, float *dst)
{
    PCTI_RETURN_IF_FAILED(check_index(plan, index));
    const pcti_operand *operand = &plan->readables[index].operand;
    int64_t extent = pcti_tensor_extent_elems(&operand->tensor);
    if (!extent) return PCT_OK;
    float *raw = pcti_calloc((size_t)extent, sizeof *raw);
    if (!raw) return PCT_ERROR_MEMORY;
    pct_shape line = {.dtype = PCT_F32, .rank = 1, .dims = {extent}};
    pcti_operand whole = {.tensor = pcti_tensor_dense(&line, 1), .buffer = operand->buffer};
    whole.tensor.offset = operand->tensor.offset;
    pcti_transfer download = {raw, &whole, (size_t)extent * sizeof *raw};
    pcti_run run = {.downloads = &download, .n_downloads = 1};
    pct_status status = plan->device->backend->run(plan->device, &run);
    if (status == PCT_OK) unpack(&operand->tensor, raw, dst);
    pcti_free(raw);
    return status;
}

pct_status pcti_plan_poison(pct_plan *plan)
{
    const pcti_backend *backend = plan->device->backend;
    for (int c = 0; c < plan->n_chunks; c++) {
        void *address;
        PCTI_RETURN_IF_FAILED(backend->buffer_map(plan->device, plan->chunks[c], true, &address));
        memset(address, 0xff, plan->chunks[c]->bytes); /* a NaN of every float type */
        PCTI_RETURN_IF_FAILED(backend->buffer_unmap(plan->device, plan->chunks[c], address));
    }
    return PCT_OK;
}
