/* resize on OpenCL devices: the taps of all rows and columns are computed in double once, and tabled on the device.
 */
#include <stdio.h>
#include <string.h>

#include "backend/cl/cl_copy.h"
#include "base/memory.h"
#include "op/resize.h"

typedef struct resize_own {
    pcti_operand taps;
} resize_own;

_Static_assert(sizeof(pcti_resize_tap) == 3 * sizeof(int32_t), "the kernel reads a tap as three ints");

static bool accept_mode(const pcti_call *call, pct_resize_mode mode, bool blocked, pcti_why *why)
{
    const pcti_tensor *src = &call->src[0].tensor;
    if (src->dtype != PCT_F32) return pcti_refuse(why, "type %s", pct_dtype_name(src->dtype));
    if (((const pct_resize_params *)call->params)->mode != (int64_t)mode) return pcti_refuse(why, "another mode");
    if (!blocked) return true;
    if (src->channel_block == 1) return pcti_refuse(why, "no picture");
    /* With fewer channels than a block, most of a blocked tensor is padding: such pictures stay plain. */
    return src->dims[1] >= PCTI_BLOCK || pcti_refuse(why, "%d channels do not fill a block", (int)src->dims[1]);
}

static bool accept_nearest(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    return accept_mode(call, PCT_RESIZE_NEAREST, false, why);
}

static bool accept_nearest_blocked(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    return accept_mode(call, PCT_RESIZE_NEAREST, true, why);
}

static bool accept_linear(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    return accept_mode(call, PCT_RESIZE_LINEAR, false, why);
}

static bool accept_linear_blocked(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    return accept_mode(call, PCT_RESIZE_LINEAR, true, why);
}

static pct_status table_taps(pct_device *device, pcti_step *step, resize_own *own)
{
    const pcti_tensor *src = &step->src[0].tensor, *dst = &step->dst[0].tensor;
    pct_shape shape = {.dtype = PCT_I32, .rank = 2, .dims = {dst->dims[dst->rank - 2] + dst->dims[dst->rank - 1], 3}};
    pcti_constant *constant;
    pcti_resize_tap *taps = pcti_alloc_aligned((size_t)shape.dims[0] * sizeof *taps);
    if (!taps) return PCT_ERROR_MEMORY;
    pcti_resize_taps(step->call.params, src, dst, taps);
    pct_status status = pcti_constant_create("taps", &shape, pcti_constant_new_id(), taps, &constant);
    if (status != PCT_OK) {
        pcti_free_aligned(taps);
        return status;
    }
    own->taps.tensor = pcti_tensor_dense(&shape, 1);
    status = pcti_pack_get_plain(device, constant, &own->taps.buffer);
    pcti_constant_release(constant);
    return status;
}

/* Planes: of pictures, or of blocks of channels. */
static int64_t planes_of(const pcti_tensor *tensor)
{
    int64_t planes = 1;
    if (tensor->channel_block > 1) return pcti_ceil_div(tensor->dims[1], PCTI_BLOCK);
    for (int d = 1; d < tensor->rank - 2; d++) planes *= tensor->dims[d];
    return planes;
}

static int64_t all_planes_of(const pcti_tensor *tensor)
{
    return (tensor->rank > 2 ? tensor->dims[0] : 1) * planes_of(tensor);
}

static pct_status prepare(pct_device *device, pcti_step *step)
{
    const pcti_tensor *dst = &step->dst[0].tensor;
    const pct_resize_params *p = step->call.params;
    int64_t columns = dst->dims[dst->rank - 1] * dst->channel_block;
    const size_t items[] = {(size_t)columns, (size_t)dst->dims[dst->rank - 2], (size_t)all_planes_of(dst)};
    char options[48];
    resize_own *own = pcti_calloc(1, sizeof *own);
    if (!own) return PCT_ERROR_MEMORY;
    pcti_cl_set_own(step, own);
    if (!pcti_cl_own(step)) return PCT_ERROR_MEMORY;
    PCTI_RETURN_IF_FAILED(table_taps(device, step, own));
    snprintf(options, sizeof options, "-DLANES=%d%s", (int)dst->channel_block,
             p->mode == PCT_RESIZE_LINEAR ? " -DLINEAR" : "");
    return pcti_cl_launch_add(device, step, "resize", options, "resize", 3, items, pcti_cl_rows_group(columns));
}

static pct_status bind(pct_device *device, pcti_step *step)
{
    const resize_own *own = pcti_cl_own(step);
    const pcti_tensor *dst = &step->dst[0].tensor;
    int down = dst->rank - 2;
    pcti_cl_args args = pcti_cl_args_of(device, step, 0);
    for (int i = 0; i < 2; i++) {
        const pcti_operand *operand = i ? &step->dst[0] : &step->src[0];
        const int64_t *strides = operand->tensor.strides;
        int plane = operand->tensor.channel_block > 1 ? 1 : down - 1; /* of the planes of one picture */
        pcti_cl_arg_operand(&args, operand);
        pcti_cl_arg_long(&args, down > 0 ? strides[0] : 0);
        pcti_cl_arg_index(&args, down > 1 ? strides[plane] : 0);
        pcti_cl_arg_index(&args, strides[down]);
    }
    pcti_cl_arg_operand(&args, &own->taps);
    pcti_cl_arg_int(&args, planes_of(dst));
    pcti_cl_arg_int(&args, dst->dims[down]);
    pcti_cl_arg_int(&args, dst->dims[down + 1]);
    pcti_cl_arg_int(&args, all_planes_of(dst));
    return args.status;
}

static void release(pct_device *device, pcti_step *step)
{
    resize_own *own = pcti_cl_own(step);
    if (own) pcti_pack_release(device, own->taps.buffer);
    pcti_cl_release(device, step);
}

#define ROW(impl, rule, bound, take)                                                                                 \
    {                                                                                                                \
        .name = impl, .layout = rule, .accuracy = bound, .accept = take, .prepare = prepare, .bind = bind,           \
        .run = pcti_cl_run, .release = release                                                                       \
    }
const pcti_impl pcti_cl_impls_resize[] = {
    ROW("nearest_blocked", PCTI_LAYOUT_BLOCKED, PCTI_ACCURACY_EXACT, accept_nearest_blocked),
    ROW("linear_blocked", PCTI_LAYOUT_BLOCKED, PCTI_ACCURACY_SUM, accept_linear_blocked),
    ROW("nearest", PCTI_LAYOUT_PLAIN, PCTI_ACCURACY_EXACT, accept_nearest),
    ROW("linear", PCTI_LAYOUT_PLAIN, PCTI_ACCURACY_SUM, accept_linear),
    {0},
};
