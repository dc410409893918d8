/* OpenCL devices as the planner sees them: memory, runs, and the launches that a step consists of. */
#include "backend/cl/cl_backend.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"

bool pcti_cl_accept_group(const pct_device *device, size_t items, pcti_why *why)
{
    const pcti_cl_info *info = pcti_cl_info_of(device);
    if (items <= info->max_work_group && items <= info->max_work_item[0]) return true;
    return pcti_refuse(why, "needs work-groups of %zu items, the device allows %llu", items,
                       (unsigned long long)info->max_work_group);
}

/* ---- launches of a step ---- */

typedef struct launch {
    cl_kernel kernel;
    int n_dims;
    size_t items[3], group[3];
} launch;

typedef struct step_state {
    launch *launches;
    size_t n, capacity;
    bool wide;
    void *own;
} step_state;

/* Are 32 bits too few for an element's distance from its operand's start? */
static bool needs_wide(const pcti_step *step)
{
    const int64_t most = INT32_MAX;
    for (int i = 0; i < step->call.n_src; i++)
        if (step->src[i].tensor.rank != PCTI_ABSENT && pcti_tensor_extent_elems(&step->src[i].tensor) > most)
            return true;
    for (int i = 0; i < step->call.n_dst; i++)
        if (pcti_tensor_extent_elems(&step->dst[i].tensor) > most) return true;
    return false;
}

static pct_status state_of(pcti_step *step, step_state **state)
{
    if (!step->state && !(step->state = pcti_calloc(1, sizeof(step_state)))) return PCT_ERROR_MEMORY;
    *state = step->state;
    (*state)->wide = needs_wide(step);
    return PCT_OK;
}

pct_status pcti_cl_launch_add(pct_device *base, pcti_step *step, const char *file, const char *options,
                              const char *kernel, int n_dims, const size_t *items, const size_t *group)
{
    static const size_t line[3] = {256, 1, 1};
    pcti_cl_device *device = pcti_cl_of(base)->device;
    pct_status status = PCT_OK;
    char *all_options = NULL;
    pcti_cl_program *program;
    step_state *state;
    PCTI_RETURN_IF_FAILED(state_of(step, &state));
    PCTI_RETURN_IF_FAILED(pcti_grow(&state->launches, &state->capacity, state->n, sizeof *state->launches));
    launch *added = &state->launches[state->n];
    *added = (launch){.n_dims = n_dims};
    memcpy(added->items, items, (size_t)n_dims * sizeof *items);
    if (!(all_options = pcti_format("%s%s", state->wide ? "-DPCT_INDEX64 " : "", options ? options : "")))
        return PCT_ERROR_MEMORY;
    PCTI_TRY(pcti_cl_program_get(device, file, all_options, &program));
    PCTI_TRY(pcti_cl_kernel_create(program, kernel, &added->kernel));
    state->n++;
    PCTI_TRY(pcti_cl_local_size(device, added->kernel, n_dims, group ? group : line, added->group));
fail:
    pcti_free(all_options);
    return status;
}

const size_t *pcti_cl_launch_group(const pcti_step *step, int index)
{
    return ((const step_state *)step->state)->launches[index].group;
}

int pcti_cl_launch_count(const pcti_step *step)
{
    return step->state ? (int)((const step_state *)step->state)->n : 0;
}

pct_status pcti_cl_set_own(pcti_step *step, void *own)
{
    step_state *state;
    pct_status status = own ? state_of(step, &state) : PCT_ERROR_MEMORY;
    if (status == PCT_OK)
        state->own = own;
    else
        pcti_free(own);
    return status;
}

void *pcti_cl_own(const pcti_step *step)
{
    return step->state ? ((const step_state *)step->state)->own : NULL;
}

void pcti_cl_release(pct_device *device, pcti_step *step)
{
    step_state *state = step->state;
    if (!state) return;
    for (size_t i = 0; i < state->n; i++) pcti_cl_kernel_release(state->launches[i].kernel);
    pcti_free(state->launches);
    pcti_free(state->own);
    pcti_free(state);
    step->state = NULL;
}

/* ---- arguments ---- */

pcti_cl_args pcti_cl_args_of(pct_device *device, const pcti_step *step, int index)
{
    const step_state *state = step->state;
    return (pcti_cl_args){.device = device, .kernel = state->launches[index].kernel, .wide = state->wide};
}

static void set(pcti_cl_args *args, size_t bytes, const void *value)
{
    if (args->status == PCT_OK) args->status = pcti_cl_kernel_set(args->kernel, args->next++, bytes, value);
}

static void set_place(pcti_cl_args *args, cl_mem buffer, int64_t offset)
{
    cl_long wide = offset;
    set(args, sizeof buffer, &buffer);
    set(args, sizeof wide, &wide);
}

void pcti_cl_arg_operand(pcti_cl_args *args, const pcti_operand *operand)
{
    if (!operand || operand->tensor.rank == PCTI_ABSENT)
        set_place(args, pcti_cl_of(args->device)->zeros, -1);
    else
        set_place(args, operand->buffer->handle, operand->tensor.offset);
}

void pcti_cl_arg_workspace(pcti_cl_args *args, const pcti_step *step, size_t first_float)
{
    set_place(args, step->workspace->handle, (int64_t)(step->workspace_offset / sizeof(float) + first_float));
}

void pcti_cl_arg_int(pcti_cl_args *args, int64_t value)
{
    cl_int narrow = (cl_int)value;
    if (args->status == PCT_OK && narrow != value)
        args->status = pcti_fail(PCT_ERROR_DEVICE, "argument %u is %lld, more than 32 bits",
                                 (unsigned)args->next, (long long)value);
    set(args, sizeof narrow, &narrow);
}

void pcti_cl_arg_zeros(pcti_cl_args *args)
{
    set(args, sizeof(cl_mem), &pcti_cl_of(args->device)->zeros);
}

void pcti_cl_arg_long(pcti_cl_args *args, int64_t value)
{
    cl_long wide = value;
    set(args, sizeof wide, &wide);
}

void pcti_cl_arg_index(pcti_cl_args *args, int64_t value)
{
    if (args->wide)
        pcti_cl_arg_long(args, value);
    else
        pcti_cl_arg_int(args, value);
}

void pcti_cl_arg_float(pcti_cl_args *args, double value)
{
    cl_float narrow = (cl_float)value;
    set(args, sizeof narrow, &narrow);
}

void pcti_cl_arg_clip(pcti_cl_args *args, const pcti_activation *act)
{
    bool clip = act->kind == PCTI_ACT_CLIP;
    pcti_cl_arg_float(args, clip ? act->low : -INFINITY);
    pcti_cl_arg_float(args, clip ? act->high : INFINITY);
}

void pcti_cl_arg_bytes(pcti_cl_args *args, size_t bytes, const void *value)
{
    set(args, bytes, value);
}

void pcti_cl_arg_local(pcti_cl_args *args, size_t bytes)
{
    set(args, bytes, NULL);
}

/* ---- runs ---- */

pct_status pcti_cl_run_launch(pct_device *base, pcti_step *step, int index)
{
    pcti_cl *cl = pcti_cl_of(base);
    const launch *l = &((const step_state *)step->state)->launches[index];
    cl_event event, *slot = pcti_cl_event_slot(cl->run_events, &event);
    PCTI_RETURN_IF_FAILED(pcti_cl_kernel_launch(cl->queue, l->kernel, l->n_dims, l->items, l->group, slot));
    return pcti_cl_events_take(cl->run_events, PCTI_INTERVAL_KERNEL, cl->run_step, event);
}

pct_status pcti_cl_run(pct_device *device, pcti_step *step)
{
    int count = pcti_cl_launch_count(step);
    for (int i = 0; i < count; i++) PCTI_RETURN_IF_FAILED(pcti_cl_run_launch(device, step, i));
    return PCT_OK;
}

pct_status pcti_cl_library_begin(pct_device *device)
{
    return pcti_cl_events_begin(pcti_cl_of(device)->run_events, pcti_cl_of(device)->queue);
}

pct_status pcti_cl_library_end(pct_device *device)
{
    pcti_cl *cl = pcti_cl_of(device);
    return pcti_cl_events_end(cl->run_events, cl->queue, PCTI_INTERVAL_KERNEL, cl->run_step);
}

static pct_status transfer(pcti_cl *cl, const pcti_transfer *t, bool up)
{
    size_t offset = (size_t)t->operand->tensor.offset * pct_dtype_size(t->operand->tensor.dtype);
    cl_mem buffer = t->operand->buffer->handle;
    cl_event event, *slot = pcti_cl_event_slot(cl->run_events, &event);
    cl_int code = up ? clEnqueueWriteBuffer(cl->queue, buffer, CL_FALSE, offset, t->bytes, t->host, 0, NULL, slot)
                     : clEnqueueReadBuffer(cl->queue, buffer, CL_FALSE, offset, t->bytes, t->host, 0, NULL, slot);
    if (code != CL_SUCCESS)
        return pcti_cl_fail(up ? "clEnqueueWriteBuffer" : "clEnqueueReadBuffer", code, "%zu bytes", t->bytes);
    return pcti_cl_events_take(cl->run_events, up ? PCTI_INTERVAL_UPLOAD : PCTI_INTERVAL_DOWNLOAD, -1, event);
}

/* One in-order queue: within a run kernels wait for every upload, and downloads for the kernels. */
static pct_status enqueue(pcti_cl *cl, const pcti_run *run)
{
    for (int i = 0; i < run->n_uploads; i++) PCTI_RETURN_IF_FAILED(transfer(cl, &run->uploads[i], true));
    for (int s = 0; s < run->n_steps; s++) {
        pcti_step *step = &run->steps[s];
        cl->run_step = s;
        pct_status status = step->impl->run(&cl->base, step);
        if (status != PCT_OK)
            return pcti_fail_in(status, "node %s (%s, %s)", step->name, step->call.op->name, step->impl->name);
    }
    for (int i = 0; i < run->n_downloads; i++) PCTI_RETURN_IF_FAILED(transfer(cl, &run->downloads[i], false));
    return PCT_OK;
}

/* Intervals of one step become one, from the first start to the last end: a timeline has room for a few for each
 * step. */
static void read_times(const pcti_cl *cl, pcti_timeline *timeline)
{
    for (size_t i = 0; i < pcti_cl_events_count(cl->events); i++) {
        pcti_cl_time time = pcti_cl_events_time(cl->events, i);
        pcti_interval *last = timeline->count ? &timeline->intervals[timeline->count - 1] : NULL;
        if (time.step < 0 || !last || timeline->interval_steps[timeline->count - 1] != time.step) {
            pcti_timeline_add(timeline, time.step, time.interval);
        } else if (!last->valid || !time.interval.valid) {
            last->valid = false;
        } else {
            if (time.interval.start_ns < last->start_ns) last->start_ns = time.interval.start_ns;
            if (time.interval.end_ns > last->end_ns) last->end_ns = time.interval.end_ns;
        }
    }
}

static pct_status cl_run(pct_device *base, const pcti_run *run)
{
    pcti_cl *cl = pcti_cl_of(base);
    pct_status status = PCT_OK;
    if (run->timeline) {
        PCTI_RETURN_IF_FAILED(pcti_cl_device_add_profiling(cl->device));
        run->timeline->first_enqueue_ns = pcti_clock_ns();
    }
    cl->queue = run->timeline ? cl->device->profiling.compute : cl->device->plain.compute;
    cl->run_events = run->timeline ? cl->events : NULL;
    PCTI_TRY(enqueue(cl, run));
    cl_int code = clFinish(cl->queue);
    if (code != CL_SUCCESS) {
        status = pcti_cl_fail("clFinish", code, "%s", base->info.device);
        goto fail;
    }
    if (run->timeline) {
        run->timeline->finish_ns = pcti_clock_ns();
        read_times(cl, run->timeline);
    }
fail:
    if (status != PCT_OK) { /* keep the first message: finishing may fail too */
        char *message = pcti_strdup(pct_error_message());
        pcti_cl_device_finish(cl->device);
        if (message) pcti_fail(status, "%s", message);
        pcti_free(message);
    }
    pcti_cl_events_clear(cl->run_events);
    return status;
}

static pct_status cl_after_first_run(pct_device *device)
{
    pcti_cl_programs_save(pcti_cl_of(device)->device);
    return PCT_OK;
}

/* ---- memory ---- */

static pct_status cl_buffer_create(pct_device *device, size_t bytes, pcti_buffer **buffer)
{
    cl_mem memory;
    if (!(*buffer = pcti_calloc(1, sizeof **buffer))) return PCT_ERROR_MEMORY;
    pct_status status = pcti_cl_buffer_create(pcti_cl_of(device)->device, CL_MEM_READ_WRITE, bytes, NULL, &memory);
    if (status != PCT_OK) {
        pcti_free(*buffer);
        *buffer = NULL;
        return status;
    }
    **buffer = (pcti_buffer){bytes, memory};
    return PCT_OK;
}

static void cl_buffer_destroy(pct_device *device, pcti_buffer *buffer)
{
    pcti_cl_buffer_release(buffer->handle);
    pcti_free(buffer);
}

static pct_status cl_buffer_map(pct_device *device, pcti_buffer *buffer, bool for_write, void **address)
{
    cl_int code;
    cl_map_flags flags = for_write ? CL_MAP_WRITE_INVALIDATE_REGION : CL_MAP_READ;
    *address = clEnqueueMapBuffer(pcti_cl_of(device)->device->plain.compute, buffer->handle, CL_TRUE, flags, 0,
                                  buffer->bytes, 0, NULL, NULL, &code);
    return *address ? PCT_OK : pcti_cl_fail("clEnqueueMapBuffer", code, "%zu bytes", buffer->bytes);
}

static pct_status cl_buffer_unmap(pct_device *device, pcti_buffer *buffer, void *address)
{
    cl_command_queue queue = pcti_cl_of(device)->device->plain.compute;
    cl_int code = clEnqueueUnmapMemObject(queue, buffer->handle, address, 0, NULL, NULL);
    if (code != CL_SUCCESS) return pcti_cl_fail("clEnqueueUnmapMemObject", code, "%zu bytes", buffer->bytes);
    code = clFinish(queue);
    return code == CL_SUCCESS ? PCT_OK : pcti_cl_fail("clFinish", code, NULL);
}

/* ---- devices ---- */

static void copy_text(char to[PCT_NAME_BYTES], const char *from)
{
    snprintf(to, PCT_NAME_BYTES, "%.*s", PCT_NAME_BYTES - 1, from);
}

static int64_t bounded(uint64_t value)
{
    return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

static void describe(const pcti_cl_info *from, pct_device_info *to)
{
    static const char *const types[] = {[PCTI_CL_GPU] = "gpu",
                                        [PCTI_CL_CPU] = "cpu",
                                        [PCTI_CL_ACCELERATOR] = "accelerator",
                                        [PCTI_CL_OTHER_TYPE] = "other"};
    *to = (pct_device_info){.platform_index = from->platform_index,
                            .device_index = from->device_index,
                            .compute_units = (int32_t)from->compute_units,
                            .max_work_group = (int32_t)from->max_work_group,
                            .clock_mhz = (int32_t)from->clock_mhz,
                            .vector_width = (int32_t)from->float_width,
                            .memory_bytes = bounded(from->global_bytes),
                            .max_alloc_bytes = bounded(from->max_alloc_bytes),
                            .local_bytes = bounded(from->local_bytes)};
    snprintf(to->backend, sizeof to->backend, "opencl");
    snprintf(to->type, sizeof to->type, "%s", types[from->type]);
    copy_text(to->platform, from->platform_name);
    copy_text(to->device, from->name);
    copy_text(to->vendor, from->vendor);
    copy_text(to->driver, from->driver_version);
    copy_text(to->version, from->device_version);
}

/* Devices that can be opened; what stands in the way of the others goes to the note. */
static pct_status cl_enumerate(pct_device_list *out)
{
    pct_status status = PCT_OK;
    pcti_cl_list list;
    pcti_text note = {0};
    PCTI_RETURN_IF_FAILED(pcti_cl_list_create(&list));
    for (size_t d = 0; d < list.n_devices; d++) {
        pct_device_info info;
        if (list.devices[d].problem[0]) {
            pcti_text_add(&note, "%s: %s\n", list.devices[d].name, list.devices[d].problem);
            continue;
        }
        describe(&list.devices[d], &info);
        PCTI_TRY(pcti_device_list_add(out, &info));
    }
    if (list.note[0]) pcti_text_add(&note, "%s\n", list.note);
    for (size_t p = 0; p < list.n_platforms; p++)
        if (list.platforms[p].problem[0])
            pcti_text_add(&note, "platform %s: %s\n", list.platforms[p].name, list.platforms[p].problem);
    if (note.length) note.data[note.length - 1] = 0; /* the last newline */
    pcti_free(out->note);
    out->note = note.data;
    note.data = NULL;
    if (note.failed) status = PCT_ERROR_MEMORY;
fail:
    pcti_text_free(&note);
    pcti_cl_list_destroy(&list);
    return status;
}

static void cl_close(pct_device *base)
{
    pcti_cl *cl = pcti_cl_of(base);
    if (cl->device) pcti_cl_device_finish(cl->device);
    pcti_cl_events_destroy(cl->events);
    pcti_cl_buffer_release(cl->zeros);
    pcti_cl_device_close(cl->device);
    pcti_free(cl);
}

static pct_status cl_open(const pct_device_options *options, pct_device **out)
{
    extern const pcti_backend pcti_backend_cl;
    enum { EVENTS = 256 };
    float zeros[16] = {0};
    pct_status status = PCT_OK;
    pcti_cl_list list = {0};
    size_t index;
    *out = NULL;
    pcti_cl *cl = pcti_calloc(1, sizeof *cl);
    if (!cl) return PCT_ERROR_MEMORY;
    cl->base.backend = &pcti_backend_cl;
    PCTI_TRY(pcti_cl_list_create(&list));
    PCTI_TRY(pcti_cl_select(&list, options->platform, options->device, &index));
    PCTI_TRY(pcti_cl_device_open(&list.devices[index], options->profiling, &cl->device));
    PCTI_TRY(
        pcti_cl_buffer_create(cl->device, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, sizeof zeros, zeros, &cl->zeros));
    PCTI_TRY(pcti_cl_events_create(EVENTS, &cl->events));
    describe(&list.devices[index], &cl->base.info);
    pcti_cl_list_destroy(&list);
    *out = &cl->base;
    return PCT_OK;
fail:
    pcti_cl_list_destroy(&list);
    cl_close(&cl->base);
    return status;
}

#define PCT_OP(name, family) extern const pcti_impl pcti_cl_impls_##name[];
#include "op/ops.def"
#undef PCT_OP

static const pcti_impl *cl_impls(const pcti_op *op)
{
    static const pcti_impl *const lists[] = {
#define PCT_OP(name, family) pcti_cl_impls_##name,
#include "op/ops.def"
#undef PCT_OP
    };
    return lists[pcti_op_index(op)];
}

const pcti_backend pcti_backend_cl = {
    .name = "opencl",
    .impls = cl_impls,
    .enumerate = cl_enumerate,
    .open = cl_open,
    .close = cl_close,
    .buffer_create = cl_buffer_create,
    .buffer_destroy = cl_buffer_destroy,
    .buffer_map = cl_buffer_map,
    .buffer_unmap = cl_buffer_unmap,
    .after_first_run = cl_after_first_run,
    .run = cl_run,
    .max_chunk_bytes = (int64_t)INT32_MAX * 4, /* CLBlast's kernels take element offsets as int */
};
