/* Convolutions for devices whose work-items are CPU threads (kernels and their formulas: cl/conv2d_*.cl): one item is
 * one register tile. Depthwise layers of other devices are here too. */
#include <stdio.h>

#include "backend/cl/cl_conv.h"
#include "backend/cl/cl_pack.h"

enum {
    SCRATCH_FLOATS = 2 << 20, /* of a chunk of Winograd tiles: both arrays stay in the caches between the kernels */
    PLANE_SKEW = 48           /* floats, an odd number of cache lines: planes at powers of two would collide */
};
static const size_t one_item[3] = {1, 1, 1};

static bool for_cpu_type(const pct_device *device, pcti_why *why)
{
    return pcti_cl_is_cpu(device) ||
           pcti_refuse(why, "for CPU-type devices: its tile needs 32 registers of 16 floats");
}

/* Accumulators, weights and one broadcast value must fit 32 vector registers. */
typedef struct tile {
    int rows, vectors; /* pixels x float16 of outputs */
} tile;

static tile tile_of(int64_t out_blocks, int64_t pixels)
{
    tile t = {8, 2};
    if (out_blocks == 1 || out_blocks == 3)
        t = (tile){16, 1}; /* a panel of two blocks would compute many zeros */
    else if (pcti_round_up(pixels, 7) < pcti_round_up(pixels, 8))
        t.rows = 7; /* 7x7 */
    return t;
}

static void tile_options(tile t, const char *more, char options[64])
{
    snprintf(options, 64, "-DROWS=%d -DNV=%d%s", t.rows, t.vectors, more);
}

/* ---- any window ---- */

static bool groups_are_blocks(const pcti_call *call, pcti_why *why)
{
    const pct_conv2d_params *p = call->params;
    if (p->groups == 1) return true;
    if (call->src[1].tensor.dims[1] % PCTI_BLOCK || call->dst[0].tensor.dims[1] / p->groups % PCTI_BLOCK)
        return pcti_refuse(why, "groups that are no multiple of 16 channels");
    return true;
}

bool pcti_cl_tile_accept(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    return for_cpu_type(device, why) && groups_are_blocks(call, why) && pcti_cl_conv_accept(call, why);
}

bool pcti_cl_tile_1x1_accept(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    const pct_conv2d_params *p = call->params;
    const int64_t *w = call->src[1].tensor.dims;
    if (w[2] != 1 || w[3] != 1 || p->pad[0] | p->pad[1] | p->pad[2] | p->pad[3])
        return pcti_refuse(why, "only 1x1 without pads");
    if (call->fusion && call->fusion->pre_affine && p->groups != 1)
        return pcti_refuse(why, "scale and shift only without groups");
    return pcti_cl_tile_accept(call, device, why);
}

static bool has_pre(const pcti_call *call)
{
    return call->fusion && call->fusion->pre_affine;
}

static int64_t out_blocks_of_group(const pcti_step *step)
{
    const pct_conv2d_params *p = step->call.params;
    return pcti_ceil_div(step->src[1].tensor.dims[0] / p->groups, PCTI_BLOCK);
}

pct_status pcti_cl_tile_prepare(pct_device *device, pcti_step *step)
{
    const pct_conv2d_params *p = step->call.params;
    pcti_cl_window w = pcti_cl_window_of(&step->call);
    int64_t pixels = (int64_t)w.out_h * w.out_w, out_blocks = out_blocks_of_group(step);
    tile t = tile_of(out_blocks, pixels);
    const size_t items[] = {(size_t)pcti_ceil_div(pixels, t.rows),
                            (size_t)(pcti_ceil_div(out_blocks, t.vectors) * p->groups),
                            (size_t)step->src[0].tensor.dims[0]};
    char options[64];
    tile_options(t, has_pre(&step->call) ? " -DPRE" : "", options);
    PCTI_RETURN_IF_FAILED(pcti_cl_pack_panels(device, &step->src[1], (int)p->groups, t.vectors * PCTI_BLOCK));
    PCTI_RETURN_IF_FAILED(pcti_cl_conv_pack_vectors(device, step));
    return pcti_cl_launch_add(device, step, "conv2d_tile", options, "conv_tile", 3, items, one_item);
}

pct_status pcti_cl_tile_bind(pct_device *device, pcti_step *step)
{
    const pcti_call *call = &step->call;
    pcti_cl_window w = pcti_cl_window_of(call);
    pcti_activation act = pcti_call_post_act(call);
    int64_t channels = step->src[1].tensor.dims[1];
    pcti_cl_args args = pcti_cl_args_of(device, step, 0);
    pcti_cl_arg_picture(&args, &step->src[0]);
    pcti_cl_arg_operand(&args, &step->src[1]);
    pcti_cl_arg_operand(&args, pcti_call_src(call, 2));
    pcti_cl_arg_picture(&args, pcti_call_fused(call, PCTI_FUSED_RESIDUAL));
    pcti_cl_arg_picture(&args, &step->dst[0]);
    pcti_cl_arg_zeros(&args);
    pcti_cl_arg_int(&args, w.in_h);
    pcti_cl_arg_int(&args, w.in_w);
    pcti_cl_arg_int(&args, w.out_w);
    pcti_cl_arg_int(&args, (int64_t)w.out_h * w.out_w);
    pcti_cl_arg_window(&args, &w);
    pcti_cl_arg_int(&args, channels);
    pcti_cl_arg_int(&args, pcti_ceil_div(channels, PCTI_BLOCK));
    pcti_cl_arg_int(&args, out_blocks_of_group(step));
    pcti_cl_arg_clip(&args, &act);
    if (has_pre(call)) {
        pcti_cl_arg_operand(&args, pcti_call_fused(call, PCTI_FUSED_PRE_SCALE));
        pcti_cl_arg_operand(&args, pcti_call_fused(call, PCTI_FUSED_PRE_SHIFT));
        pcti_cl_arg_clip(&args, &call->fusion->pre_act);
    }
    return args.status;
}

/* ---- few channels, from the plain input picture ---- */

bool pcti_cl_first_accept(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    const pct_conv2d_params *p = call->params;
    if (p->groups != 1 || call->src[0].tensor.dims[1] > 4)
        return pcti_refuse(why, "only up to 4 channels, no groups");
    return for_cpu_type(device, why) && pcti_cl_conv_accept(call, why);
}

pct_status pcti_cl_first_prepare(pct_device *device, pcti_step *step)
{
    pcti_cl_window w = pcti_cl_window_of(&step->call);
    int64_t pixels = (int64_t)w.out_h * w.out_w, out_blocks = out_blocks_of_group(step);
    tile t = tile_of(out_blocks, pixels);
    const size_t items[] = {(size_t)pcti_ceil_div(pixels, t.rows), (size_t)pcti_ceil_div(out_blocks, t.vectors),
                            (size_t)step->src[0].tensor.dims[0]};
    char options[64];
    tile_options(t, "", options);
    PCTI_RETURN_IF_FAILED(pcti_cl_pack_panels_stored(device, &step->src[1], t.vectors * PCTI_BLOCK));
    PCTI_RETURN_IF_FAILED(pcti_cl_conv_pack_vectors(device, step));
    return pcti_cl_launch_add(device, step, "conv2d_first", options, "conv_first", 3, items, one_item);
}

pct_status pcti_cl_first_bind(pct_device *device, pcti_step *step)
{
    const pcti_call *call = &step->call;
    pcti_cl_window w = pcti_cl_window_of(call);
    pcti_activation act = pcti_call_post_act(call);
    pcti_cl_args args = pcti_cl_args_of(device, step, 0);
    pcti_cl_arg_picture(&args, &step->src[0]);
    pcti_cl_arg_operand(&args, &step->src[1]);
    pcti_cl_arg_operand(&args, pcti_call_src(call, 2));
    pcti_cl_arg_picture(&args, &step->dst[0]);
    pcti_cl_arg_int(&args, w.in_h);
    pcti_cl_arg_int(&args, w.in_w);
    pcti_cl_arg_int(&args, w.out_w);
    pcti_cl_arg_int(&args, (int64_t)w.out_h * w.out_w);
    pcti_cl_arg_window(&args, &w);
    pcti_cl_arg_int(&args, step->src[0].tensor.dims[1]);
    pcti_cl_arg_int(&args, out_blocks_of_group(step));
    pcti_cl_arg_clip(&args, &act);
    return args.status;
}

/* ---- depthwise ---- */

bool pcti_cl_depthwise_item_accept(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    const pct_conv2d_params *p = call->params;
    if (p->groups == 1 || p->groups != call->src[0].tensor.dims[1] || p->groups != call->dst[0].tensor.dims[1])
        return pcti_refuse(why, "only one output for each channel");
    return pcti_cl_conv_accept(call, why);
}

bool pcti_cl_depthwise_row_accept(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    pcti_cl_window w = pcti_cl_window_of(call);
    if (w.kernel_h * w.kernel_w > 25 || w.stride_h > 2 || w.stride_w > 2)
        return pcti_refuse(why, "only windows up to 5x5 and strides up to 2");
    return for_cpu_type(device, why) && pcti_cl_depthwise_item_accept(call, device, why);
}

static pct_status pack_depthwise(pct_device *device, pcti_step *step)
{
    PCTI_RETURN_IF_FAILED(pcti_cl_pack_depthwise(device, &step->src[1]));
    return pcti_cl_conv_pack_vectors(device, step);
}

pct_status pcti_cl_depthwise_row_prepare(pct_device *device, pcti_step *step)
{
    pcti_cl_window w = pcti_cl_window_of(&step->call);
    const int64_t *x = step->src[0].tensor.dims;
    const size_t items[] = {(size_t)w.out_h, (size_t)pcti_ceil_div(x[1], PCTI_BLOCK), (size_t)x[0]};
    char options[64];
    snprintf(options, sizeof options, "-DKH=%d -DKW=%d -DSH=%d -DSW=%d", w.kernel_h, w.kernel_w, w.stride_h,
             w.stride_w);
    PCTI_RETURN_IF_FAILED(pack_depthwise(device, step));
    return pcti_cl_launch_add(device, step, "conv2d_depthwise", options, "depthwise_row", 3, items, one_item);
}

pct_status pcti_cl_depthwise_item_prepare(pct_device *device, pcti_step *step)
{
    pcti_cl_window w = pcti_cl_window_of(&step->call);
    const int64_t *x = step->src[0].tensor.dims;
    const size_t items[] = {(size_t)w.out_h * (size_t)w.out_w * PCTI_BLOCK, (size_t)pcti_ceil_div(x[1], PCTI_BLOCK),
                            (size_t)x[0]};
    PCTI_RETURN_IF_FAILED(pack_depthwise(device, step));
    return pcti_cl_launch_add(device, step, "conv2d_depthwise", NULL, "depthwise_item", 3, items, NULL);
}

static pcti_cl_args bind_depthwise(pct_device *device, pcti_step *step, const pcti_cl_window *w)
{
    pcti_cl_args args = pcti_cl_args_of(device, step, 0);
    pcti_cl_arg_picture(&args, &step->src[0]);
    pcti_cl_arg_operand(&args, &step->src[1]);
    pcti_cl_arg_operand(&args, pcti_call_src(&step->call, 2));
    pcti_cl_arg_picture(&args, &step->dst[0]);
    pcti_cl_arg_int(&args, w->in_h);
    pcti_cl_arg_int(&args, w->in_w);
    pcti_cl_arg_int(&args, w->out_w);
    return args;
}

pct_status pcti_cl_depthwise_row_bind(pct_device *device, pcti_step *step)
{
    pcti_cl_window w = pcti_cl_window_of(&step->call);
    pcti_activation act = pcti_call_post_act(&step->call);
    pcti_cl_args args = bind_depthwise(device, step, &w);
    pcti_cl_arg_int(&args, w.dilation_h);
    pcti_cl_arg_int(&args, w.dilation_w);
    pcti_cl_arg_int(&args, w.pad_top);
    pcti_cl_arg_int(&args, w.pad_left);
    pcti_cl_arg_clip(&args, &act);
    return args.status;
}

pct_status pcti_cl_depthwise_item_bind(pct_device *device, pcti_step *step)
{
    pcti_cl_window w = pcti_cl_window_of(&step->call);
    pcti_activation act = pcti_call_post_act(&step->call);
    pcti_cl_args args = bind_depthwise(device, step, &w);
    pcti_cl_arg_int(&args, w.out_h);
    pcti_cl_arg_window(&args, &w);
    pcti_cl_arg_clip(&args, &act);
    return args.status;
}

/* ---- Winograd F(4x4,3x3) ---- */

/* With so few pixels, reading four times the weights costs more than the products saved. */
enum { FEW_PIXELS = 100, LARGE_WEIGHT_BYTES = 4 << 20 };

bool pcti_cl_winograd_accept(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    const pct_conv2d_params *p = call->params;
    const int64_t *w = call->src[1].tensor.dims;
    bool plain_3x3 = w[2] == 3 && w[3] == 3 && p->stride[0] == 1 && p->stride[1] == 1 && p->dilation[0] == 1 &&
                     p->dilation[1] == 1 && p->groups == 1;
    if (!plain_3x3) return pcti_refuse(why, "only 3x3, stride 1, no groups, no dilation");
    if (w[1] < 8) return pcti_refuse(why, "too few channels to pay");
    const int64_t *y = call->dst[0].tensor.dims;
    if (y[0] * y[2] * y[3] < FEW_PIXELS && w[0] * w[1] * PCTI_CL_WINOGRAD_POINTS * 4 > LARGE_WEIGHT_BYTES)
        return pcti_refuse(why, "too few pixels for so many weights");
    return for_cpu_type(device, why) && pcti_cl_conv_accept(call, why);
}

/* How a step is cut into chunks of tiles. */
typedef struct winograd {
    pcti_cl_window window;
    int64_t tiles_h, tiles_w, tiles, chunk; /* tiles: of all pictures */
    int64_t channels, channels16, out_blocks;
    int64_t points_plane, products_plane; /* floats */
    tile tile;
} winograd;

static winograd winograd_of(const pcti_step *step)
{
    winograd w = {.window = pcti_cl_window_of(&step->call),
                  .channels = step->src[1].tensor.dims[1],
                  .out_blocks = out_blocks_of_group(step)};
    w.channels16 = pcti_round_up(w.channels, PCTI_BLOCK);
    w.tiles_h = pcti_ceil_div(w.window.out_h, 4);
    w.tiles_w = pcti_ceil_div(w.window.out_w, 4);
    w.tiles = w.tiles_h * w.tiles_w * step->src[0].tensor.dims[0];
    w.tile = (tile){8, 2};
    if (pcti_round_up(w.tiles, 7) < pcti_round_up(w.tiles, 8)) w.tile.rows = 7; /* 28x28: 49 tiles */
    int64_t tile_floats = PCTI_CL_WINOGRAD_POINTS * (w.channels16 + w.out_blocks * PCTI_BLOCK);
    int64_t chunks = pcti_ceil_div(w.tiles, pcti_max(w.tile.rows, SCRATCH_FLOATS / tile_floats));
    w.chunk = pcti_min(w.tiles, pcti_round_up(pcti_ceil_div(w.tiles, chunks), w.tile.rows));
    w.points_plane = w.chunk * w.channels16 + PLANE_SKEW;
    w.products_plane = w.chunk * w.out_blocks * PCTI_BLOCK + PLANE_SKEW;
    return w;
}

pct_status pcti_cl_winograd_prepare(pct_device *device, pcti_step *step)
{
    winograd w = winograd_of(step);
    bool pool = step->call.fusion && step->call.fusion->post_max_pool;
    char options[64];
    tile_options(w.tile, pool ? " -DPOOL" : "", options);
    PCTI_RETURN_IF_FAILED(pcti_cl_pack_winograd(device, &step->src[1]));
    PCTI_RETURN_IF_FAILED(pcti_cl_conv_pack_vectors(device, step));
    for (int64_t first = 0; first < w.tiles; first += w.chunk) {
        size_t count = (size_t)pcti_min(w.chunk, w.tiles - first);
        const size_t input[] = {(size_t)(w.channels16 / PCTI_BLOCK), count}, output[] = {(size_t)w.out_blocks, count};
        const size_t gemm[] = {(size_t)pcti_ceil_div((int64_t)count, w.tile.rows),
                               (size_t)pcti_ceil_div(w.out_blocks, w.tile.vectors), PCTI_CL_WINOGRAD_POINTS};
        static const char file[] = "conv2d_winograd";
        PCTI_RETURN_IF_FAILED(pcti_cl_launch_add(device, step, file, options, "winograd_input", 2, input, one_item));
        PCTI_RETURN_IF_FAILED(pcti_cl_launch_add(device, step, file, options, "winograd_gemm", 3, gemm, one_item));
        PCTI_RETURN_IF_FAILED(
            pcti_cl_launch_add(device, step, file, options, "winograd_output", 2, output, one_item));
    }
    step->workspace_bytes = (size_t)(PCTI_CL_WINOGRAD_POINTS * (w.points_plane + w.products_plane)) * sizeof(float);
    return PCT_OK;
}

static pct_status bind_winograd_input(pct_device *device, pcti_step *step, const winograd *w, int index,
                                      int64_t first)
{
    const int64_t numbers[] = {w->window.in_h,    w->window.in_w,     w->tiles_h, w->tiles_w,
                               w->window.pad_top, w->window.pad_left, first,      w->channels16};
    pcti_cl_args args = pcti_cl_args_of(device, step, index);
    pcti_cl_arg_picture(&args, &step->src[0]);
    pcti_cl_arg_workspace(&args, step, 0);
    pcti_cl_arg_index(&args, w->points_plane);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) pcti_cl_arg_int(&args, numbers[i]);
    return args.status;
}

static pct_status bind_winograd_gemm(pct_device *device, pcti_step *step, const winograd *w, int index, int64_t count)
{
    pcti_cl_args args = pcti_cl_args_of(device, step, index);
    pcti_cl_arg_workspace(&args, step, 0);
    pcti_cl_arg_index(&args, w->points_plane);
    pcti_cl_arg_operand(&args, &step->src[1]);
    pcti_cl_arg_workspace(&args, step, (size_t)(PCTI_CL_WINOGRAD_POINTS * w->points_plane));
    pcti_cl_arg_index(&args, w->products_plane);
    pcti_cl_arg_int(&args, count);
    pcti_cl_arg_int(&args, w->channels);
    pcti_cl_arg_int(&args, w->channels16);
    pcti_cl_arg_int(&args, w->out_blocks);
    return args.status;
}

static pct_status bind_winograd_output(pct_device *device, pcti_step *step, const winograd *w, int index,
                                       int64_t first)
{
    const int64_t numbers[] = {w->window.out_h, w->window.out_w, w->tiles_h, w->tiles_w, first, w->out_blocks};
    pcti_activation act = pcti_call_post_act(&step->call);
    pcti_cl_args args = pcti_cl_args_of(device, step, index);
    pcti_cl_arg_workspace(&args, step, (size_t)(PCTI_CL_WINOGRAD_POINTS * w->points_plane));
    pcti_cl_arg_index(&args, w->products_plane);
    pcti_cl_arg_operand(&args, pcti_call_src(&step->call, 2));
    pcti_cl_arg_picture(&args, pcti_call_fused(&step->call, PCTI_FUSED_RESIDUAL));
    pcti_cl_arg_picture(&args, &step->dst[0]);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) pcti_cl_arg_int(&args, numbers[i]);
    pcti_cl_arg_clip(&args, &act);
    return args.status;
}

pct_status pcti_cl_winograd_bind(pct_device *device, pcti_step *step)
{
    winograd w = winograd_of(step);
    int index = 0;
    for (int64_t first = 0; first < w.tiles; first += w.chunk, index += 3) {
        int64_t count = pcti_min(w.chunk, w.tiles - first);
        PCTI_RETURN_IF_FAILED(bind_winograd_input(device, step, &w, index, first));
        PCTI_RETURN_IF_FAILED(bind_winograd_gemm(device, step, &w, index + 1, count));
        PCTI_RETURN_IF_FAILED(bind_winograd_output(device, step, &w, index + 2, first));
    }
    return PCT_OK;
}
