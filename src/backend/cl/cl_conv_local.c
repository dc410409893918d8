/* Convolutions for GPUs, through local memory (kernel and formula: cl/conv2d_local.cl). */
#include <stdio.h>

#include "backend/cl/cl_conv.h"
#include "backend/cl/cl_pack.h"

/* A work-group's elements, the step of the sum, and an item's elements. k is unrolled by 2 in the kernel: more costs
 * 10 to 40 registers and half of the work-groups that a GPU keeps at a time. */
typedef struct local_tile {
    int pixels, outputs, depth, item_pixels, item_outputs;
} local_tile;
static const local_tile large = {128, 128, 8, 8, 8}, small = {64, 64, 16, 4, 4};

static size_t group_items(const local_tile *t)
{
    return (size_t)(t->pixels / t->item_pixels) * (size_t)(t->outputs / t->item_outputs);
}

static int64_t all_pixels_of(const pcti_call *call)
{
    const int64_t *y = call->dst[0].tensor.dims;
    return y[0] * y[2] * y[3];
}

static bool accept(const pcti_call *call, const pct_device *device, const local_tile *t, pcti_why *why)
{
    const pct_conv2d_params *p = call->params;
    size_t bytes = (size_t)t->depth * (size_t)(t->pixels + 4 + t->outputs) * sizeof(float);
    if (p->groups != 1) return pcti_refuse(why, "no groups");
    if (bytes > pcti_cl_info_of(device)->local_bytes)
        return pcti_refuse(why, "needs %zu bytes of local memory", bytes);
    if (all_pixels_of(call) > INT32_MAX / 2) return pcti_refuse(why, "too many pixels");
    return pcti_cl_accept_group(device, group_items(t), why) && pcti_cl_conv_accept(call, why);
}

bool pcti_cl_local_small_accept(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    return accept(call, device, &small, why);
}

bool pcti_cl_local_accept(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    int64_t groups =
        pcti_ceil_div(all_pixels_of(call), large.pixels) * pcti_ceil_div(call->dst[0].tensor.dims[1], large.outputs);
    if (groups < 2 * device->info.compute_units) return pcti_refuse(why, "too few tiles for all compute units");
    return accept(call, device, &large, why);
}

static bool has_pre(const pcti_call *call)
{
    return call->fusion && call->fusion->pre_affine;
}

static pct_status prepare(pct_device *device, pcti_step *step, const local_tile *t)
{
    const size_t items[] = {(size_t)pcti_ceil_div(step->dst[0].tensor.dims[1], t->outputs) * group_items(t),
                            (size_t)pcti_ceil_div(all_pixels_of(&step->call), t->pixels)};
    char options[128];
    snprintf(options, sizeof options, "-DBM=%d -DBN=%d -DBK=%d -DTM=%d -DTN=%d%s", t->pixels, t->outputs, t->depth,
             t->item_pixels, t->item_outputs, has_pre(&step->call) ? " -DPRE" : "");
    PCTI_RETURN_IF_FAILED(pcti_cl_pack_panels(device, &step->src[1], 1, PCTI_CL_PANEL));
    PCTI_RETURN_IF_FAILED(pcti_cl_conv_pack_vectors(device, step));
    return pcti_cl_launch_add(device, step, "conv2d_local", options, "conv_local", 2, items, NULL);
}

pct_status pcti_cl_local_prepare(pct_device *device, pcti_step *step)
{
    return prepare(device, step, &large);
}

pct_status pcti_cl_local_small_prepare(pct_device *device, pcti_step *step)
{
    return prepare(device, step, &small);
}

pct_status pcti_cl_local_bind(pct_device *device, pcti_step *step)
{
    const pcti_call *call = &step->call;
    pcti_cl_window w = pcti_cl_window_of(call);
    pcti_activation act = pcti_call_post_act(call);
    pcti_cl_args args = pcti_cl_args_of(device, step, 0);
    pcti_cl_arg_picture(&args, &step->src[0]);
    pcti_cl_arg_operand(&args, &step->src[1]);
    pcti_cl_arg_operand(&args, pcti_call_src(call, 2));
    pcti_cl_arg_picture(&args, pcti_call_fused(call, PCTI_FUSED_RESIDUAL));
    pcti_cl_arg_picture(&args, &step->dst[0]);
    pcti_cl_arg_int(&args, w.in_h);
    pcti_cl_arg_int(&args, w.in_w);
    pcti_cl_arg_int(&args, w.out_w);
    pcti_cl_arg_int(&args, (int64_t)w.out_h * w.out_w);
    pcti_cl_arg_int(&args, all_pixels_of(call));
    pcti_cl_arg_window(&args, &w);
    pcti_cl_arg_int(&args, step->src[1].tensor.dims[1]);
    pcti_cl_arg_int(&args, pcti_ceil_div(step->dst[0].tensor.dims[1], PCTI_BLOCK));
    pcti_cl_arg_clip(&args, &act);
    if (has_pre(call)) {
        pcti_cl_arg_operand(&args, pcti_call_fused(call, PCTI_FUSED_PRE_SCALE));
        pcti_cl_arg_operand(&args, pcti_call_fused(call, PCTI_FUSED_PRE_SHIFT));
        pcti_cl_arg_clip(&args, &call->fusion->pre_act);
    }
    return args.status;
}
