/* Constants, and the packed forms of them that a device keeps. */
#include <stdatomic.h>
#include <string.h>

#include "base/memory.h"
#include "op/backend.h"

uint64_t pcti_constant_new_id(void)
{
    static atomic_uint_fast64_t last;
    return atomic_fetch_add(&last, 1) + 1;
}

static pct_status create(const char *name, const pct_shape *shape, uint64_t id, pcti_constant **out)
{
    *out = NULL;
    pcti_constant *constant = pcti_calloc(1, sizeof *constant);
    if (!constant) return PCT_ERROR_MEMORY;
    if (!(constant->name = pcti_strdup(name))) {
        pcti_free(constant);
        return PCT_ERROR_MEMORY;
    }
    constant->id = id;
    constant->shape = *shape;
    constant->references = 1;
    *out = constant;
    return PCT_OK;
}

static void destroy_data(void *data) { pcti_free_aligned(data); }

pct_status pcti_constant_create(const char *name, const pct_shape *shape, uint64_t id, void *owned_data, pcti_constant **out)
{
    PCTI_RETURN_IF_FAILED(create(name, shape, id, out));
    (*out)->data = owned_data;
    (*out)->source = (pct_source){.cookie = owned_data, .destroy = destroy_data};
    return PCT_OK;
}

pct_status pcti_constant_create_source(const char *name, const pct_shape *shape, const pct_source *source, pcti_constant **out)
{
    PCTI_RETURN_IF_FAILED(create(name, shape, pcti_constant_new_id(), out));
    (*out)->data = source->data;
    (*out)->source = *source;
    return PCT_OK;
}

void pcti_constant_retain(pcti_constant *constant) { __atomic_add_fetch(&constant->references, 1, __ATOMIC_RELAXED); }

void pcti_constant_release(pcti_constant *constant)
{
    if (!constant || __atomic_sub_fetch(&constant->references, 1, __ATOMIC_ACQ_REL)) return;
    if (constant->source.destroy) constant->source.destroy(constant->source.cookie);
    pcti_free(constant->name);
    pcti_free(constant);
}

pct_status pcti_constant_read(const pcti_constant *constant, int64_t first, int64_t count, float *dst)
{
    if (constant->data) {
        memcpy(dst, (const float *)constant->data + first, (size_t)count * sizeof *dst);
        return PCT_OK;
    }
    pct_status status = constant->source.read(constant->source.cookie, first, count, dst);
    return status == PCT_OK ? status : pcti_fail_in(status, "parameter %s", constant->name);
}

pct_status pcti_constant_read_double(const pcti_constant *constant, double *dst)
{
    enum { PIECE = 4096 };
    int64_t elems;
    PCTI_RETURN_IF_FAILED(pcti_shape_elems(&constant->shape, &elems));
    switch (constant->shape.dtype) {
    case PCT_F32:
        for (int64_t first = 0; first < elems; first += PIECE) {
            float piece[PIECE];
            int64_t count = pcti_min(PIECE, elems - first);
            PCTI_RETURN_IF_FAILED(pcti_constant_read(constant, first, count, piece));
            for (int64_t i = 0; i < count; i++) dst[first + i] = piece[i];
        }
        return PCT_OK;
    case PCT_F64: memcpy(dst, constant->data, (size_t)elems * sizeof *dst); return PCT_OK;
    case PCT_I64:
        for (int64_t i = 0; i < elems; i++) dst[i] = (double)((const int64_t *)constant->data)[i];
        return PCT_OK;
    case PCT_I32:
        for (int64_t i = 0; i < elems; i++) dst[i] = ((const int32_t *)constant->data)[i];
        return PCT_OK;
    case PCT_U8:
    case PCT_BOOL:
        for (int64_t i = 0; i < elems; i++) dst[i] = ((const uint8_t *)constant->data)[i];
        return PCT_OK;
    case PCT_F16:
    case PCT_BF16: break;
    }
    return pcti_fail(PCT_ERROR_UNSUPPORTED, "constant %s: type %s", constant->name, pct_dtype_name(constant->shape.dtype));
}

void pcti_constant_drop(const pcti_constant *constant, int64_t first, int64_t count)
{
    if (constant->source.drop) constant->source.drop(constant->source.cookie, first, count);
}

/* ---- packed forms ---- */

typedef struct pcti_pack {
    struct pcti_pack *next;
    uint64_t constant_id;
    char *packing;
    pcti_buffer *buffer;
    int users;
} pcti_pack;

static pcti_pack *find_pack(pct_device *device, uint64_t id, const char *packing)
{
    for (pcti_pack *pack = device->packs; pack; pack = pack->next)
        if (pack->constant_id == id && !strcmp(pack->packing, packing)) return pack;
    return NULL;
}

/* In parallel: most of the time goes into the kernel's first touch of the pages. */
static void zero_fill(char *address, size_t bytes)
{
    enum { PIECE = 4 << 20 };
#pragma omp parallel for schedule(static, 1) if (bytes > PIECE)
    for (size_t first = 0; first < bytes; first += PIECE) memset(address + first, 0, bytes - first < PIECE ? bytes - first : PIECE);
}

static pct_status fill_buffer(pct_device *device, const pcti_constant *constant, size_t bytes, pcti_pack_fn fill,
                              const void *cookie, pcti_buffer *buffer)
{
    void *address;
    PCTI_RETURN_IF_FAILED(device->backend->buffer_map(device, buffer, true, &address));
    zero_fill(address, bytes);
    pct_status status = fill(constant, cookie, address);
    pct_status unmapped = device->backend->buffer_unmap(device, buffer, address);
    return status != PCT_OK ? status : unmapped;
}

pct_status pcti_pack_get(pct_device *device, const pcti_constant *constant, const char *packing, size_t bytes,
                         pcti_pack_fn fill, const void *cookie, pcti_buffer **buffer)
{
    *buffer = NULL;
    pct_status status = PCT_OK;
    pcti_pack *pack = find_pack(device, constant->id, packing);
    if (pack) {
        pack->users++;
        *buffer = pack->buffer;
        return PCT_OK;
    }
    if (!(pack = pcti_calloc(1, sizeof *pack))) return PCT_ERROR_MEMORY;
    if (!(pack->packing = pcti_strdup(packing))) {
        status = PCT_ERROR_MEMORY;
        goto fail;
    }
    PCTI_TRY(device->backend->buffer_create(device, bytes, &pack->buffer));
    PCTI_TRY(fill_buffer(device, constant, bytes, fill, cookie, pack->buffer));
    pack->constant_id = constant->id;
    pack->users = 1;
    pack->next = device->packs;
    device->packs = pack;
    device->pack_bytes += (int64_t)bytes;
    *buffer = pack->buffer;
    int64_t elems;
    if (pcti_shape_elems(&constant->shape, &elems) == PCT_OK) pcti_constant_drop(constant, 0, elems);
    return PCT_OK;
fail:
    if (pack->buffer) device->backend->buffer_destroy(device, pack->buffer);
    pcti_free(pack->packing);
    pcti_free(pack);
    return pcti_fail_in(status, "packing %s as %s", constant->name, packing);
}

static pct_status fill_plain(const pcti_constant *constant, const void *cookie, void *dst)
{
    int64_t elems;
    PCTI_RETURN_IF_FAILED(pcti_shape_elems(&constant->shape, &elems));
    if (*(const bool *)cookie) return pcti_constant_read_double(constant, dst);
    if (constant->shape.dtype == PCT_F32) return pcti_constant_read(constant, 0, elems, dst);
    memcpy(dst, constant->data, (size_t)elems * pct_dtype_size(constant->shape.dtype));
    return PCT_OK;
}

pct_status pcti_pack_get_plain(pct_device *device, const pcti_constant *constant, pcti_buffer **buffer)
{
    int64_t elems;
    bool as_double = device->backend->stores_double;
    *buffer = NULL;
    PCTI_RETURN_IF_FAILED(pcti_shape_elems(&constant->shape, &elems));
    size_t bytes = (size_t)elems * (as_double ? sizeof(double) : pct_dtype_size(constant->shape.dtype));
    return pcti_pack_get(device, constant, "plain", bytes ? bytes : 1, fill_plain, &as_double, buffer);
}

void pcti_pack_release(pct_device *device, pcti_buffer *buffer)
{
    for (pcti_pack **link = &device->packs; buffer && *link; link = &(*link)->next) {
        pcti_pack *pack = *link;
        if (pack->buffer != buffer) continue;
        if (--pack->users) return;
        *link = pack->next;
        device->pack_bytes -= (int64_t)buffer->bytes;
        device->backend->buffer_destroy(device, buffer);
        pcti_free(pack->packing);
        pcti_free(pack);
        return;
    }
}

int64_t pcti_pack_bytes(const pct_device *device) { return device->pack_bytes; }
