/* Pooling on OpenCL devices. */
#include <limits.h>
#include <stdio.h>

#include "backend/cl/cl_backend.h"
#include "op/pool.h"

static bool accept_float(const pcti_call *call, pcti_why *why)
{
    pct_dtype dtype = call->src[0].tensor.dtype;
    return dtype == PCT_F32 || pcti_refuse(why, "type %s", pct_dtype_name(dtype));
}

/* The kernels count rows, columns and pixels in int. */
static bool accept_sizes(const pcti_pool *p, pcti_why *why)
{
    for (int axis = 0; axis < 2; axis++) {
        int64_t furthest = p->in[axis] + p->pad[axis] + p->pad[axis + 2] + p->kernel[axis] * p->dilation[axis];
        if (furthest + p->out[axis] * p->stride[axis] > INT_MAX)
            return pcti_refuse(why, "size %lld is too large", (long long)p->in[axis]);
    }
    if (p->out[0] * p->out[1] > INT_MAX || p->kernel[0] * p->kernel[1] > INT_MAX)
        return pcti_refuse(why, "too many pixels");
    return true;
}

static bool accept_window(const pcti_call *call, pcti_why *why, bool mean)
{
    pcti_pool p = pcti_pool_of(call);
    if (p.mean != mean) return pcti_refuse(why, "another kind of pooling");
    if (p.global) return pcti_refuse(why, "global");
    return accept_float(call, why) && accept_sizes(&p, why);
}

static bool accept_window_max(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    pcti_pool p = pcti_pool_of(call);
    /* Between dilated taps the picture can vanish: -inf, also in padding channels. */
    bool can_miss = (p.dilation[0] > 1 && p.pad[0]) || (p.dilation[1] > 1 && p.pad[1]);
    if (can_miss && call->src[0].tensor.dims[1] % PCTI_BLOCK)
        return pcti_refuse(why, "dilated windows beside the picture would fill padding channels");
    return accept_window(call, why, false);
}

static bool accept_window_mean(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    return accept_window(call, why, true);
}

static bool accept_plain(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    pcti_pool p = pcti_pool_of(call);
    return accept_float(call, why) && accept_sizes(&p, why);
}

/* Channels of a plane, and of an item. */
static int width_of(const pct_device *device, int lanes)
{
    return lanes > 1 && pcti_cl_is_cpu(device) ? lanes : 1;
}

static pct_status add_launch(pct_device *device, pcti_step *step, const char *kernel, int64_t positions,
                             int64_t others)
{
    int lanes = step->src[0].tensor.channel_block, width = width_of(device, lanes);
    char options[64];
    const size_t items[] = {(size_t)(positions * (lanes / width)), (size_t)others};
    snprintf(options, sizeof options, "-DLANES=%d -DWIDTH=%d -DMEAN=%d", lanes, width,
             pcti_pool_of(&step->call).mean);
    return pcti_cl_launch_add(device, step, "pool", options, kernel, 2, items, NULL);
}

static pct_status prepare_window(pct_device *device, pcti_step *step)
{
    const pcti_tensor *d = &step->dst[0].tensor;
    int64_t planes = pcti_ceil_div(d->dims[1], d->channel_block);
    return add_launch(device, step, "window", d->dims[2] * d->dims[3], d->dims[0] * planes);
}

static pct_status bind_window(pct_device *device, pcti_step *step)
{
    pcti_pool p = pcti_pool_of(&step->call);
    pcti_cl_args args = pcti_cl_args_of(device, step, 0);
    const pcti_operand *const pair[] = {&step->src[0], &step->dst[0]};
    for (int i = 0; i < 2; i++) {
        pcti_cl_arg_operand(&args, pair[i]);
        pcti_cl_arg_long(&args, pair[i]->tensor.strides[0]);
        pcti_cl_arg_index(&args, pair[i]->tensor.strides[1]);
    }
    pcti_cl_arg_int(&args, pcti_ceil_div(pair[0]->tensor.dims[1], pair[0]->tensor.channel_block));
    const int64_t *const pairs[] = {p.in, p.out, p.kernel, p.stride, p.dilation, p.pad, p.pad + 2};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        pcti_cl_arg_int(&args, pairs[i][0]);
        pcti_cl_arg_int(&args, pairs[i][1]);
    }
    pcti_cl_arg_int(&args, p.include_pad);
    return args.status;
}

/* ---- global, blocked to plain ---- */

static bool accept_global(const pcti_call *call, pcti_why *why, bool mean)
{
    pcti_pool p = pcti_pool_of(call);
    if (p.mean != mean) return pcti_refuse(why, "another kind of pooling");
    if (!p.global) return pcti_refuse(why, "not global");
    return accept_float(call, why) && accept_sizes(&p, why);
}

static bool accept_global_max(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    return accept_global(call, why, false);
}

static bool accept_global_mean(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    return accept_global(call, why, true);
}

static pct_status prepare_global(pct_device *device, pcti_step *step)
{
    const pcti_tensor *s = &step->src[0].tensor;
    return add_launch(device, step, "global_pool", pcti_ceil_div(s->dims[1], PCTI_BLOCK), s->dims[0]);
}

static pct_status bind_global(pct_device *device, pcti_step *step)
{
    const pcti_tensor *s = &step->src[0].tensor;
    pcti_cl_args args = pcti_cl_args_of(device, step, 0);
    pcti_cl_arg_operand(&args, &step->src[0]);
    pcti_cl_arg_long(&args, s->strides[0]);
    pcti_cl_arg_operand(&args, &step->dst[0]);
    pcti_cl_arg_long(&args, step->dst[0].tensor.strides[0]);
    pcti_cl_arg_int(&args, s->dims[1]);
    pcti_cl_arg_index(&args, s->dims[2] * s->dims[3]);
    return args.status;
}

#define WINDOW .prepare = prepare_window, .bind = bind_window, .run = pcti_cl_run, .release = pcti_cl_release
#define GLOBAL .prepare = prepare_global, .bind = bind_global, .run = pcti_cl_run, .release = pcti_cl_release

const pcti_impl pcti_cl_impls_pool2d[] = {
    {.name = "blocked_max", .layout = PCTI_LAYOUT_BLOCKED, .accept = accept_window_max, WINDOW},
    {.name = "blocked_mean",
     .layout = PCTI_LAYOUT_BLOCKED,
     .accuracy = PCTI_ACCURACY_SUM,
     .accept = accept_window_mean,
     WINDOW},
    {.name = "global_max", .layout = PCTI_LAYOUT_BLOCKED_PLAIN, .accept = accept_global_max, GLOBAL},
    {.name = "global_mean",
     .layout = PCTI_LAYOUT_BLOCKED_PLAIN,
     .accuracy = PCTI_ACCURACY_SUM,
     .accept = accept_global_mean,
     GLOBAL},
    {.name = "plain", .layout = PCTI_LAYOUT_PLAIN, .accuracy = PCTI_ACCURACY_SUM, .accept = accept_plain, WINDOW},
    {0},
};
