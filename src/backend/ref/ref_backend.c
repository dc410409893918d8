/* The judge of the other backends: whole graphs on the ops' double-precision references. Slow and plain. Every tensor is
 * stored as doubles, whatever its type. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "op/backend.h"

static double *address(const pcti_operand *operand) { return (double *)operand->buffer->handle + operand->tensor.offset; }

/* Copies between a picture-strided tensor and a dense one. */
static void copy_pictures(const pcti_tensor *tensor, double *strided, double *dense, bool to_dense)
{
    int64_t inner = pcti_tensor_picture_elems(tensor), outer = tensor->rank ? tensor->dims[0] : 1;
    int64_t pitch = tensor->rank ? tensor->strides[0] : 1;
    for (int64_t n = 0; n < outer; n++) {
        if (to_dense) memcpy(dense + n * inner, strided + n * pitch, (size_t)inner * sizeof *dense);
        else memcpy(strided + n * pitch, dense + n * inner, (size_t)inner * sizeof *dense);
    }
}

static pct_status dense_operand(const pcti_operand *operand, bool copy, double **data, double **owned)
{
    *data = address(operand);
    *owned = NULL;
    if (pcti_tensor_is_dense(&operand->tensor)) return PCT_OK;
    *data = *owned = pcti_calloc((size_t)pcti_tensor_elems(&operand->tensor), sizeof(double));
    if (!*owned) return PCT_ERROR_MEMORY;
    if (copy) copy_pictures(&operand->tensor, address(operand), *owned, true);
    return PCT_OK;
}

static pct_status ref_step(pct_device *device, pcti_step *step)
{
    pct_status status = PCT_OK;
    const pcti_call *call = &step->call;
    double **src = pcti_calloc((size_t)call->n_src + 1, sizeof *src), **owned = pcti_calloc((size_t)call->n_src + 1, sizeof *owned);
    double *dst[2] = {NULL, NULL}, *owned_dst[2] = {NULL, NULL};
    if (!src || !owned) {
        status = PCT_ERROR_MEMORY;
        goto fail;
    }
    for (int i = 0; i < call->n_src; i++)
        if (pcti_call_src(call, i)) PCTI_TRY(dense_operand(&call->src[i], true, &src[i], &owned[i]));
    for (int d = 0; d < call->n_dst; d++) PCTI_TRY(dense_operand(&call->dst[d], false, &dst[d], &owned_dst[d]));
    PCTI_TRY(pcti_call_ref(call, (const double *const *)src, dst));
    for (int d = 0; d < call->n_dst; d++)
        if (owned_dst[d]) copy_pictures(&call->dst[d].tensor, address(&call->dst[d]), owned_dst[d], false);
fail:
    for (int i = 0; owned && i < call->n_src; i++) pcti_free(owned[i]);
    pcti_free(owned_dst[0]);
    pcti_free(owned_dst[1]);
    pcti_free(owned);
    pcti_free(src);
    return status;
}

static const pcti_impl *ref_impls(const pcti_op *op)
{
    static const pcti_impl rows[] = {{.name = "reference", .layout = PCTI_LAYOUT_PLAIN, .accuracy = PCTI_ACCURACY_EXACT,
                                      .fusions = ~0u, .run = ref_step}, {0}};
    return rows;
}

static pct_status ref_open(const pct_device_options *options, pct_device **device)
{
    extern const pcti_backend pcti_backend_ref;
    if (!(*device = pcti_calloc(1, sizeof **device))) return PCT_ERROR_MEMORY;
    pct_device_info *info = &(*device)->info;
    (*device)->backend = &pcti_backend_ref;
    snprintf(info->backend, sizeof info->backend, "ref");
    snprintf(info->platform, sizeof info->platform, "pct");
    snprintf(info->device, sizeof info->device, "double-precision reference");
    snprintf(info->version, sizeof info->version, "%s", pct_version());
    snprintf(info->type, sizeof info->type, "cpu");
    info->platform_index = info->device_index = -1;
    return PCT_OK;
}

static void ref_close(pct_device *device) { pcti_free(device); }

static pct_status ref_buffer_create(pct_device *device, size_t bytes, pcti_buffer **buffer)
{
    if (!(*buffer = pcti_calloc(1, sizeof **buffer))) return PCT_ERROR_MEMORY;
    (*buffer)->bytes = bytes;
    if (((*buffer)->handle = pcti_alloc_aligned(bytes))) return PCT_OK;
    pcti_free(*buffer);
    *buffer = NULL;
    return PCT_ERROR_MEMORY;
}

static void ref_buffer_destroy(pct_device *device, pcti_buffer *buffer)
{
    pcti_free_aligned(buffer->handle);
    pcti_free(buffer);
}

static pct_status ref_buffer_map(pct_device *device, pcti_buffer *buffer, bool for_write, void **mapped)
{
    *mapped = buffer->handle;
    return PCT_OK;
}

static pct_status ref_buffer_unmap(pct_device *device, pcti_buffer *buffer, void *mapped) { return PCT_OK; }

static pct_status transfer(const pcti_transfer *t, bool up)
{
    double *inside = address(t->operand);
    size_t elems = t->bytes / pct_dtype_size(t->operand->tensor.dtype);
    switch (t->operand->tensor.dtype) {
#define CASE(dtype, type)                                                                                            \
    case dtype:                                                                                                      \
        for (size_t i = 0; i < elems; i++) {                                                                         \
            if (up) inside[i] = (double)((const type *)t->host)[i];                                                  \
            else ((type *)t->host)[i] = (type)inside[i];                                                             \
        }                                                                                                            \
        return PCT_OK;
        CASE(PCT_F32, float)
        CASE(PCT_F64, double)
        CASE(PCT_I32, int32_t)
        CASE(PCT_I64, int64_t)
        CASE(PCT_U8, uint8_t)
        CASE(PCT_BOOL, uint8_t)
#undef CASE
    case PCT_F16:
    case PCT_BF16: break;
    }
    return pcti_fail(PCT_ERROR_UNSUPPORTED, "ref: type %s", pct_dtype_name(t->operand->tensor.dtype));
}

static pct_status ref_run(pct_device *device, const pcti_run *run)
{
    if (run->timeline) run->timeline->first_enqueue_ns = pcti_clock_ns();
    for (int i = 0; i < run->n_uploads; i++) PCTI_RETURN_IF_FAILED(transfer(&run->uploads[i], true));
    for (int s = 0; s < run->n_steps; s++) {
        uint64_t start = pcti_clock_ns();
        pct_status status = run->steps[s].impl->run(device, &run->steps[s]);
        if (status != PCT_OK) return pcti_fail_in(status, "node %s", run->steps[s].name);
        if (run->timeline)
            pcti_timeline_add(run->timeline, s, (pcti_interval){start, pcti_clock_ns(), PCTI_INTERVAL_KERNEL, true});
    }
    for (int i = 0; i < run->n_downloads; i++) PCTI_RETURN_IF_FAILED(transfer(&run->downloads[i], false));
    if (run->timeline) run->timeline->finish_ns = pcti_clock_ns();
    return PCT_OK;
}

const pcti_backend pcti_backend_ref = {
    .name = "ref",
    .impls = ref_impls,
    .open = ref_open,
    .close = ref_close,
    .buffer_create = ref_buffer_create,
    .buffer_destroy = ref_buffer_destroy,
    .buffer_map = ref_buffer_map,
    .buffer_unmap = ref_buffer_unmap,
    .run = ref_run,
    .stores_double = true,
};
