/* Convolutions on NCHW16c: Winograd, 1x1, direct and gathered windows, depthwise, and the first layer. All but the last two
 * are loops around one register tile (pcti_simd.gemm):
 *
 *   out[pixel][k] = sum over taps t, channels c of A[t][c][pixel] * B[t][c][k]
 *
 * where A is the activation itself (1x1), rows padded into a strip (direct), or pixels gathered into L2 (gather). A thread
 * owns a range of pixels, and of output panels where pixels are few. */
#include <math.h>
#include <string.h>

#include "backend/cpu/cpu_conv.h"
#include "backend/cpu/cpu_pack.h"
#include "base/memory.h"

enum {
    SHARE_WEIGHT_BYTES = 10 << 20, /* transformed weights up to here: each thread walks all of them, tiles stay in L2 */
    FEW_TILES = 64,                /* with so few tiles the walk itself is what costs, unless the L2 holds the weights: */
    L2_WEIGHT_BYTES = 2 << 20,
    FEW_PIXELS = 100,              /* with so few, reading four times the weights costs more than the products saved */
    PHASE_TILES = 200,             /* beyond: tiles of one chunk of the phases */
    BLOCK_FLOATS = 96 << 10,       /* activations of one block of pixels, in L2 beside a panel */
    BLOCK_PIXELS = 112,
    LEAST_PIXELS = 28,             /* fewer pixels for a thread: split output panels instead */
    LEAST_ROWS = 4
};

/* ---- shared ---- */

pcti_simd_window pcti_conv_window(const pcti_call *call)
{
    const pct_conv2d_params *p = call->params;
    const int64_t *x = call->src[0].tensor.dims, *w = call->src[1].tensor.dims;
    pcti_simd_window window = {
        .in_h = (int)x[2], .in_w = (int)x[3], .kernel_h = (int)w[2], .kernel_w = (int)w[3],
        .stride_h = (int)p->stride[0], .stride_w = (int)p->stride[1], .dilation_h = (int)p->dilation[0], .dilation_w = (int)p->dilation[1],
        .pad_top = (int)p->pad[0], .pad_left = (int)p->pad[1], .pad_bottom = (int)p->pad[2], .pad_right = (int)p->pad[3]};
    if (call->fusion && call->fusion->pre_average_pool) {
        window.in_h /= 2;
        window.in_w /= 2;
    }
    window.out_h = (window.in_h + window.pad_top + window.pad_bottom - (window.kernel_h - 1) * window.dilation_h - 1) / window.stride_h + 1;
    window.out_w = (window.in_w + window.pad_left + window.pad_right - (window.kernel_w - 1) * window.dilation_w - 1) / window.stride_w + 1;
    return window;
}

bool pcti_conv_accept_constants(const pcti_call *call, pcti_why *why)
{
    for (int i = 0; i < call->n_src; i++) {
        bool computed = i == 0 || i == call->op->max_src + PCTI_FUSED_RESIDUAL;
        if (!pcti_call_src(call, i)) continue;
        if (call->src[i].tensor.dtype != PCT_F32) return pcti_refuse(why, "type %s", pct_dtype_name(call->src[i].tensor.dtype));
        if (!computed && !call->src[i].constant) return pcti_refuse(why, "operand %d is not a constant", i);
    }
    for (int d = 0; d < 4; d++)
        if (call->src[0].tensor.dims[d] > INT32_MAX / 4 || call->dst[0].tensor.dims[d] > INT32_MAX / 4)
            return pcti_refuse(why, "dimension %d does not fit", d);
    if (call->src[1].tensor.dims[1] < 1) return pcti_refuse(why, "no channels");
    return true;
}

pct_status pcti_conv_pack_vectors(pct_device *device, pcti_step *step)
{
    int max_src = step->call.op->max_src;
    if (step->call.n_src > 2) PCTI_RETURN_IF_FAILED(pcti_cpu_pack_vector(device, &step->src[2]));
    for (int i = max_src; i < step->call.n_src && i < max_src + PCTI_FUSED_RESIDUAL; i++)
        PCTI_RETURN_IF_FAILED(pcti_cpu_pack_vector(device, &step->src[i]));
    return PCT_OK;
}

bool pcti_team_grid(const pcti_team *team, int64_t rows, int64_t least_rows, int panels, pcti_grid *grid)
{
    int groups = (int)pcti_max(1, pcti_min(team->n, rows / least_rows)), columns = (int)pcti_min(team->n / groups, panels);
    if (columns < 1) columns = 1;
    if (team->me >= groups * columns) return false;
    int row_group = team->me / columns, column = team->me % columns;
    grid->row0 = rows * row_group / groups;
    grid->row1 = rows * (row_group + 1) / groups;
    grid->panel0 = panels * column / columns;
    grid->panel1 = panels * (column + 1) / columns;
    return grid->row0 < grid->row1 && grid->panel0 < grid->panel1;
}

static float *thread_scratch(const pcti_step *step, const pcti_team *team, size_t floats_each)
{
    return pcti_workspace(step) + (size_t)team->me * floats_each;
}

/* Scratch of each thread, a multiple of a page plus a line, so that threads and planes do not alias. */
static size_t scratch_floats(size_t floats) { return (floats + 1023) / 1024 * 1024 + 16; }

static void ask_scratch(pct_device *device, pcti_step *step, size_t floats_each)
{
    step->workspace_bytes = floats_each * sizeof(float) * (size_t)pcti_cpu(device)->threads;
}

/* Base of a gemm into picture n of the result, panels from grid->panel0 on. */
static void aim_gemm(const pcti_step *step, const pcti_grid *grid, int64_t n, int64_t pixel, int64_t depth, int64_t group, int64_t outputs,
                     pcti_simd_gemm *g)
{
    const pcti_tensor *y = &step->dst[0].tensor;
    const pcti_operand *bias = pcti_call_src(&step->call, 2), *residual = pcti_call_fused(&step->call, PCTI_FUSED_RESIDUAL);
    pcti_activation act = pcti_call_post_act(&step->call);
    int64_t first = (int64_t)grid->panel0 * PCTI_PANEL, end = pcti_min((int64_t)grid->panel1 * PCTI_PANEL, pcti_round_up(outputs, PCTI_BLOCK));
    int64_t block = (group * outputs + first) / PCTI_BLOCK;
    g->b = pcti_f32(&step->src[1]) + group * pcti_round_up(outputs, PCTI_BLOCK) * depth + first * depth;
    g->columns = (int)(end - first);
    g->out = pcti_f32(&step->dst[0]) + n * y->strides[0] + block * y->strides[1] + pixel * PCTI_BLOCK;
    g->out_block = y->strides[1];
    g->out_row = PCTI_BLOCK;
    g->bias = bias ? pcti_f32(bias) + group * outputs + first : NULL;
    g->prefetch = NULL;
    pcti_clip_range(&act, &g->lo, &g->hi);
    g->residual = NULL;
    if (!residual) return;
    const pcti_tensor *r = &residual->tensor;
    g->residual = pcti_f32(residual) + n * r->strides[0] + block * r->strides[1] + pixel * PCTI_BLOCK;
    g->res_block = r->strides[1];
    g->res_row = PCTI_BLOCK;
}

/* ---- Winograd F(4x4,3x3) ---- */

static bool is_3x3(const pcti_call *call)
{
    const pct_conv2d_params *p = call->params;
    const int64_t *w = call->src[1].tensor.dims;
    return w[2] == 3 && w[3] == 3 && p->stride[0] == 1 && p->stride[1] == 1 && p->dilation[0] == 1 && p->dilation[1] == 1 && p->groups == 1;
}

bool pcti_winograd_accept(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    const pct_conv2d_params *p = call->params;
    if (!is_3x3(call)) return pcti_refuse(why, "only 3x3, stride 1, no groups, no dilation");
    for (int i = 0; i < 4; i++)
        if (p->pad[i] > 1) return pcti_refuse(why, "pads above 1");
    const pcti_tensor *wei = &call->src[1].tensor, *dst = &call->dst[0].tensor;
    if (wei->dims[1] < 8) return pcti_refuse(why, "too few channels to pay");
    if (dst->dims[0] * dst->dims[2] * dst->dims[3] < FEW_PIXELS && wei->dims[0] * wei->dims[1] * 36 * 4 > 2 * L2_WEIGHT_BYTES)
        return pcti_refuse(why, "too few pixels for so many weights");
    return pcti_conv_accept_constants(call, why);
}

static pcti_winograd winograd_of(const pcti_step *step)
{
    const pcti_call *call = &step->call;
    const pct_conv2d_params *p = call->params;
    const pcti_tensor *x = &step->src[0].tensor, *y = &step->dst[0].tensor;
    const pcti_operand *bias = pcti_call_src(call, 2), *residual = pcti_call_fused(call, PCTI_FUSED_RESIDUAL);
    pcti_activation act = pcti_call_post_act(call);
    pcti_simd_window window = pcti_conv_window(call);
    pcti_winograd w = {
        .pictures = (int)x->dims[0], .channels = (int)x->dims[1], .outputs = (int)y->dims[1],
        .in_h = window.in_h, .in_w = window.in_w, .out_h = window.out_h, .out_w = window.out_w,
        .pad_top = (int)p->pad[0], .pad_left = (int)p->pad[1],
        .src_picture = x->strides[0], .src_block = x->strides[1], .src_row = x->strides[2],
        .dst_picture = y->strides[0], .dst_block = y->strides[1], .dst_row = y->strides[2],
        .pool = call->fusion && call->fusion->post_max_pool};
    pcti_clip_range(&act, &w.lo, &w.hi);
    if (!step->src[0].buffer) return w; /* before the plan has placed anything: sizes only */
    w.src = pcti_f32(&step->src[0]);
    w.dst = pcti_f32(&step->dst[0]);
    w.wei = pcti_f32(&step->src[1]);
    w.bias = pcti_f32(bias);
    if (residual) {
        w.residual = pcti_f32(residual);
        w.res_picture = residual->tensor.strides[0];
        w.res_block = residual->tensor.strides[1];
        w.res_row = residual->tensor.strides[2];
    }
    return w;
}

/* How a step's Winograd is cut: tiles at a time for one thread (share), or for all, step by step (phases). */
const char *const pcti_winograd_variants[] = {"share", "phases", NULL};

static bool winograd_in_phases(const pcti_step *step, const pcti_winograd *w)
{
    if (step->variant) return step->variant == 2;
    size_t bytes = pcti_winograd_weights_floats(w->outputs, w->channels) * sizeof(float);
    return bytes > (pcti_winograd_tiles(w) < FEW_TILES ? L2_WEIGHT_BYTES : SHARE_WEIGHT_BYTES);
}

static int phase_tiles(int tiles)
{
    int chunks = (tiles + PHASE_TILES - 1) / PHASE_TILES;
    return (tiles + chunks - 1) / chunks;
}

pct_status pcti_winograd_prepare(pct_device *device, pcti_step *step)
{
    PCTI_RETURN_IF_FAILED(pcti_cpu_pack_winograd(device, &step->src[1]));
    PCTI_RETURN_IF_FAILED(pcti_conv_pack_vectors(device, step));
    pcti_winograd w = winograd_of(step);
    if (winograd_in_phases(step, &w))
        step->workspace_bytes = pcti_winograd_floats(w.channels, w.outputs, phase_tiles(pcti_winograd_tiles(&w))) * sizeof(float);
    else
        ask_scratch(device, step, scratch_floats(pcti_winograd_floats(w.channels, w.outputs,
                                                                      pcti_winograd_block(pcti_cpu(device)->simd, w.channels, w.outputs))));
    return PCT_OK;
}

void pcti_winograd_run(const pcti_step *step, pcti_team *team)
{
    pcti_winograd w = winograd_of(step);
    int tiles = pcti_winograd_tiles(&w);
    if (!winograd_in_phases(step, &w)) {
        int block = pcti_winograd_block(team->simd, w.channels, w.outputs);
        size_t floats = scratch_floats(pcti_winograd_floats(w.channels, w.outputs, block));
        team->simd->winograd_share(&w, block, thread_scratch(step, team, floats), team->me, team->n);
        return;
    }
    int chunk = phase_tiles(tiles);
    float *scratch = pcti_workspace(step);
    for (int first = 0; first < tiles; first += chunk) {
        int count = (int)pcti_min(chunk, tiles - first);
        if (first) pcti_team_barrier(team);
        team->simd->winograd_input(&w, first, count, scratch, team->me, team->n);
        pcti_team_barrier(team);
        team->simd->winograd_taps(&w, count, scratch, team->me, team->n);
        pcti_team_barrier(team);
        team->simd->winograd_output(&w, first, count, scratch, team->me, team->n);
    }
}

/* ---- 1x1, with scale, shift, clip and average pooling on the way in ---- */

static bool groups_are_blocks(const pcti_call *call, pcti_why *why)
{
    const pct_conv2d_params *p = call->params;
    if (p->groups == 1) return true;
    if (call->src[1].tensor.dims[1] % PCTI_BLOCK || call->dst[0].tensor.dims[1] / p->groups % PCTI_BLOCK)
        return pcti_refuse(why, "groups that are no multiple of 16 channels");
    return true;
}

bool pcti_conv1x1_accept(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    const pct_conv2d_params *p = call->params;
    const int64_t *w = call->src[1].tensor.dims;
    bool pre = call->fusion && call->fusion->pre_affine, pool = call->fusion && call->fusion->pre_average_pool;
    if (w[2] != 1 || w[3] != 1 || p->pad[0] | p->pad[1] | p->pad[2] | p->pad[3]) return pcti_refuse(why, "only 1x1 without pads");
    if ((pre || pool) && (p->stride[0] != 1 || p->stride[1] != 1 || p->groups != 1)) return pcti_refuse(why, "scale and shift only with stride 1");
    if (p->groups == 1 && (p->stride[0] != 1 || p->stride[1] != 1)) return pcti_refuse(why, "strided: gathered pixels are faster");
    if (pool && !pre) return pcti_refuse(why, "pooling only with scale and shift");
    return groups_are_blocks(call, why) && pcti_conv_accept_constants(call, why);
}

static int block_pixels(int64_t depth)
{
    return (int)pcti_max(14, pcti_min(BLOCK_PIXELS, BLOCK_FLOATS / pcti_max(1, depth)));
}

pct_status pcti_conv1x1_prepare(pct_device *device, pcti_step *step)
{
    const pct_conv2d_params *p = step->call.params;
    int64_t channels = pcti_round_up(step->src[0].tensor.dims[1], PCTI_BLOCK);
    PCTI_RETURN_IF_FAILED(pcti_cpu_pack_panels(device, &step->src[1], (int)p->groups));
    PCTI_RETURN_IF_FAILED(pcti_conv_pack_vectors(device, step));
    if (step->call.fusion && step->call.fusion->pre_affine)
        ask_scratch(device, step, scratch_floats((size_t)(channels * block_pixels(channels))));
    return PCT_OK;
}

/* Pixels [p0, p0 + count) of picture n: the operand of the tile, in place or prepared in scratch. */
static void conv1x1_operand(const pcti_step *step, const pcti_team *team, int64_t n, int64_t p0, int64_t count, float *scratch, pcti_simd_gemm *g)
{
    const pcti_fusion *f = step->call.fusion;
    const pcti_tensor *x = &step->src[0].tensor;
    const float *src = pcti_f32(&step->src[0]) + n * x->strides[0];
    g->a_row = PCTI_BLOCK;
    if (!f || !f->pre_affine) {
        g->a = src + p0 * PCTI_BLOCK;
        g->a_block = x->strides[1];
        return;
    }
    int blocks = (int)pcti_ceil_div(x->dims[1], PCTI_BLOCK);
    const float *scale = pcti_f32(pcti_call_fused(&step->call, PCTI_FUSED_PRE_SCALE));
    const float *shift = pcti_f32(pcti_call_fused(&step->call, PCTI_FUSED_PRE_SHIFT));
    float lo, hi;
    pcti_clip_range(&f->pre_act, &lo, &hi);
    g->a = scratch;
    g->a_block = count * PCTI_BLOCK;
    if (f->pre_average_pool)
        team->simd->scale_shift_pool(blocks, (int)(x->dims[3] / 2), (int)p0, (int)(p0 + count), src, x->strides[1], x->strides[2], scale,
                                     shift, scratch, g->a_block, lo, hi);
    else
        team->simd->scale_shift(blocks, (int)count, src + p0 * PCTI_BLOCK, x->strides[1], scale, shift, scratch, g->a_block, lo, hi);
}

static void conv1x1_dense(const pcti_step *step, const pcti_team *team, const pcti_grid *grid, int64_t pixels)
{
    int64_t channels = step->src[0].tensor.dims[1], outputs = step->dst[0].tensor.dims[1];
    int most = block_pixels(pcti_round_up(channels, PCTI_BLOCK));
    float *scratch = step->workspace_bytes ? thread_scratch(step, team, step->workspace_bytes / sizeof(float) / (size_t)team->n) : NULL;
    for (int64_t at = grid->row0; at < grid->row1;) {
        int64_t n = at / pixels, p0 = at % pixels, left = pcti_min(pixels - p0, grid->row1 - at);
        int64_t count = pcti_ceil_div(left, pcti_ceil_div(left, most));
        pcti_simd_gemm g = {.n_taps = 1, .depth = (int)channels, .runs = 1, .rows = (int)count};
        aim_gemm(step, grid, n, p0, channels, 0, outputs, &g);
        conv1x1_operand(step, team, n, p0, count, scratch, &g);
        team->simd->gemm(&g);
        at += count;
    }
}

/* Strided or grouped: a run per output row. */
static void conv1x1_rows(const pcti_step *step, const pcti_team *team, const pcti_grid *grid, const pcti_simd_window *w, int64_t groups)
{
    const pcti_tensor *x = &step->src[0].tensor;
    int64_t channels = x->dims[1] / groups, outputs = step->dst[0].tensor.dims[1] / groups;
    int most = (int)pcti_max(1, block_pixels(channels) / w->out_w);
    for (int64_t at = grid->row0; at < grid->row1;) {
        int64_t n = at / w->out_h, y0 = at % w->out_h, count = pcti_min(most, pcti_min(w->out_h - y0, grid->row1 - at));
        for (int64_t group = 0; group < groups; group++) {
            pcti_simd_gemm g = {.n_taps = 1, .depth = (int)channels, .runs = (int)count, .rows = w->out_w};
            aim_gemm(step, grid, n, y0 * w->out_w, channels, group, outputs, &g);
            g.a = pcti_f32(&step->src[0]) + n * x->strides[0] + group * channels / PCTI_BLOCK * x->strides[1] + y0 * w->stride_h * x->strides[2];
            g.a_block = x->strides[1];
            g.a_run = w->stride_h * x->strides[2];
            g.a_row = (ptrdiff_t)w->stride_w * PCTI_BLOCK;
            g.out_run = g.res_run = (ptrdiff_t)w->out_w * PCTI_BLOCK;
            team->simd->gemm(&g);
        }
        at += count;
    }
}

void pcti_conv1x1_run(const pcti_step *step, pcti_team *team)
{
    const pct_conv2d_params *p = step->call.params;
    pcti_simd_window w = pcti_conv_window(&step->call);
    int64_t pictures = step->dst[0].tensor.dims[0], pixels = (int64_t)w.out_h * w.out_w;
    int panels = (int)pcti_ceil_div(step->dst[0].tensor.dims[1] / p->groups, PCTI_PANEL);
    bool dense = p->groups == 1 && p->stride[0] == 1 && p->stride[1] == 1;
    pcti_grid grid;
    if (dense) {
        if (pcti_team_grid(team, pictures * pixels, LEAST_PIXELS, panels, &grid)) conv1x1_dense(step, team, &grid, pixels);
    } else if (pcti_team_grid(team, pictures * w.out_h, pcti_max(1, LEAST_PIXELS / w.out_w), panels, &grid))
        conv1x1_rows(step, team, &grid, &w, p->groups);
}

/* ---- any window: rows of the input padded into a strip (direct), or pixels gathered tap by tap ---- */

typedef struct window_state {
    ptrdiff_t *taps;       /* offsets in the strip, or per gathered block computed at run time */
    size_t scratch_floats; /* of each thread */
    int rows, pixels;      /* output rows of a strip; pixels of a gathered block */
} window_state;

static bool window_accept(const pcti_call *call, pcti_why *why)
{
    if (!groups_are_blocks(call, why) || !pcti_conv_accept_constants(call, why)) return false;
    const int64_t *w = call->src[1].tensor.dims;
    if (w[2] * w[3] > 1024) return pcti_refuse(why, "a window of more than 1024 taps");
    return true;
}

bool pcti_direct_accept(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    pcti_simd_window w = pcti_conv_window(call);
    if (w.out_w < 5) return pcti_refuse(why, "rows too short for a tile");
    if (w.kernel_h * w.kernel_w == 1) return pcti_refuse(why, "1x1 has nothing to share between rows");
    return window_accept(call, why);
}

bool pcti_gather_accept(const pcti_call *call, const pct_device *device, pcti_why *why) { return window_accept(call, why); }

static pct_status window_prepare(pct_device *device, pcti_step *step, window_state **out)
{
    const pct_conv2d_params *p = step->call.params;
    pcti_simd_window w = pcti_conv_window(&step->call);
    *out = step->state = pcti_calloc(1, sizeof(window_state) + (size_t)(w.kernel_h * w.kernel_w) * sizeof(ptrdiff_t));
    if (!step->state) return PCT_ERROR_MEMORY;
    (*out)->taps = (ptrdiff_t *)(void *)(*out + 1);
    PCTI_RETURN_IF_FAILED(pcti_cpu_pack_panels(device, &step->src[1], (int)p->groups));
    return pcti_conv_pack_vectors(device, step);
}

pct_status pcti_direct_prepare(pct_device *device, pcti_step *step)
{
    const pct_conv2d_params *p = step->call.params;
    pcti_simd_window w = pcti_conv_window(&step->call);
    window_state *state;
    int rows, columns, channels = (int)(step->src[0].tensor.dims[1] / p->groups), blocks = (int)pcti_ceil_div(channels, PCTI_BLOCK);
    PCTI_RETURN_IF_FAILED(window_prepare(device, step, &state));
    pcti_simd_strip(&w, 1, &rows, &columns);
    int64_t one_row = (int64_t)w.stride_h * columns * blocks * PCTI_BLOCK;
    state->rows = (int)pcti_max(1, pcti_min(pcti_ceil_div(BLOCK_PIXELS, w.out_w), BLOCK_FLOATS / pcti_max(1, one_row)));
    pcti_simd_strip(&w, state->rows, &rows, &columns);
    for (int t = 0; t < w.kernel_h * w.kernel_w; t++)
        state->taps[t] = ((ptrdiff_t)(t / w.kernel_w) * w.dilation_h * columns + (ptrdiff_t)(t % w.kernel_w) * w.dilation_w) * PCTI_BLOCK;
    state->scratch_floats = scratch_floats((size_t)rows * (size_t)columns * (size_t)blocks * PCTI_BLOCK);
    ask_scratch(device, step, state->scratch_floats);
    return PCT_OK;
}

void pcti_direct_run(const pcti_step *step, pcti_team *team)
{
    const window_state *state = step->state;
    const pct_conv2d_params *p = step->call.params;
    const pcti_tensor *x = &step->src[0].tensor;
    pcti_simd_window w = pcti_conv_window(&step->call);
    int64_t channels = x->dims[1] / p->groups, outputs = step->dst[0].tensor.dims[1] / p->groups;
    int taps = w.kernel_h * w.kernel_w, blocks = (int)pcti_ceil_div(channels, PCTI_BLOCK);
    float *strip = thread_scratch(step, team, state->scratch_floats);
    pcti_grid grid;
    if (!pcti_team_grid(team, x->dims[0] * w.out_h, LEAST_ROWS, (int)pcti_ceil_div(outputs, PCTI_PANEL), &grid)) return;
    for (int64_t at = grid.row0; at < grid.row1;) {
        int64_t n = at / w.out_h, y0 = at % w.out_h, left = pcti_min(w.out_h - y0, grid.row1 - at);
        int count = (int)pcti_ceil_div(left, pcti_ceil_div(left, state->rows)), rows, columns;
        pcti_simd_strip(&w, count, &rows, &columns);
        for (int64_t group = 0; group < p->groups; group++) {
            const float *src = pcti_f32(&step->src[0]) + n * x->strides[0] + group * blocks * x->strides[1];
            pcti_simd_gemm g = {.taps = state->taps, .n_taps = taps, .depth = (int)channels, .runs = count, .rows = w.out_w, .a = strip};
            team->simd->pad_rows(&w, blocks, src, x->strides[1], x->strides[2], (int)y0, (int)y0 + count, strip);
            aim_gemm(step, &grid, n, y0 * w.out_w, channels * taps, group, outputs, &g);
            g.a_block = (ptrdiff_t)rows * columns * PCTI_BLOCK;
            g.a_run = (ptrdiff_t)w.stride_h * columns * PCTI_BLOCK;
            g.a_row = (ptrdiff_t)w.stride_w * PCTI_BLOCK;
            g.out_run = g.res_run = (ptrdiff_t)w.out_w * PCTI_BLOCK;
            team->simd->gemm(&g);
        }
        at += count;
    }
}

pct_status pcti_gather_prepare(pct_device *device, pcti_step *step)
{
    const pct_conv2d_params *p = step->call.params;
    pcti_simd_window w = pcti_conv_window(&step->call);
    window_state *state;
    PCTI_RETURN_IF_FAILED(window_prepare(device, step, &state));
    int64_t depth = pcti_round_up(step->src[0].tensor.dims[1] / p->groups, PCTI_BLOCK) * w.kernel_h * w.kernel_w;
    state->pixels = block_pixels(depth);
    size_t taps_floats = (size_t)(w.kernel_h * w.kernel_w) * sizeof(ptrdiff_t) / sizeof(float);
    state->scratch_floats = scratch_floats((size_t)depth * (size_t)state->pixels + pcti_round_up((int64_t)taps_floats, 16));
    ask_scratch(device, step, state->scratch_floats);
    return PCT_OK;
}

void pcti_gather_run(const pcti_step *step, pcti_team *team)
{
    const window_state *state = step->state;
    const pct_conv2d_params *p = step->call.params;
    const pcti_tensor *x = &step->src[0].tensor;
    pcti_simd_window w = pcti_conv_window(&step->call);
    int64_t channels = x->dims[1] / p->groups, outputs = step->dst[0].tensor.dims[1] / p->groups, pixels = (int64_t)w.out_h * w.out_w;
    int taps = w.kernel_h * w.kernel_w, blocks = (int)pcti_ceil_div(channels, PCTI_BLOCK);
    ptrdiff_t *offsets = (ptrdiff_t *)(void *)thread_scratch(step, team, state->scratch_floats);
    float *gathered = (float *)(void *)offsets + pcti_round_up(taps * (int64_t)(sizeof *offsets / sizeof(float)), 16);
    pcti_grid grid;
    if (!pcti_team_grid(team, x->dims[0] * pixels, LEAST_PIXELS, (int)pcti_ceil_div(outputs, PCTI_PANEL), &grid)) return;
    for (int64_t at = grid.row0; at < grid.row1;) {
        int64_t n = at / pixels, p0 = at % pixels, left = pcti_min(pixels - p0, grid.row1 - at);
        int count = (int)pcti_ceil_div(left, pcti_ceil_div(left, state->pixels));
        for (int t = 0; t < taps; t++) offsets[t] = (ptrdiff_t)t * blocks * count * PCTI_BLOCK;
        for (int64_t group = 0; group < p->groups; group++) {
            const float *src = pcti_f32(&step->src[0]) + n * x->strides[0] + group * blocks * x->strides[1];
            pcti_simd_gemm g = {.taps = offsets, .n_taps = taps, .depth = (int)channels, .runs = 1, .rows = count, .a = gathered};
            team->simd->gather(&w, blocks, src, x->strides[1], x->strides[2], (int)p0, (int)p0 + count, gathered);
            aim_gemm(step, &grid, n, p0, channels * taps, group, outputs, &g);
            g.a_block = (ptrdiff_t)count * PCTI_BLOCK;
            g.a_row = PCTI_BLOCK;
            team->simd->gemm(&g);
        }
        at += count;
    }
}

/* ---- depthwise ---- */

bool pcti_depthwise_accept(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    const pct_conv2d_params *p = call->params;
    if (p->groups == 1 || p->groups != call->src[0].tensor.dims[1] || p->groups != call->dst[0].tensor.dims[1])
        return pcti_refuse(why, "only one output for each channel");
    return pcti_conv_accept_constants(call, why);
}

pct_status pcti_depthwise_prepare(pct_device *device, pcti_step *step)
{
    PCTI_RETURN_IF_FAILED(pcti_cpu_pack_depthwise(device, &step->src[1]));
    return pcti_conv_pack_vectors(device, step);
}

void pcti_depthwise_run(const pcti_step *step, pcti_team *team)
{
    const pcti_tensor *x = &step->src[0].tensor, *y = &step->dst[0].tensor;
    const pcti_operand *bias = pcti_call_src(&step->call, 2);
    pcti_activation act = pcti_call_post_act(&step->call);
    pcti_simd_window w = pcti_conv_window(&step->call);
    int taps = w.kernel_h * w.kernel_w;
    float lo, hi;
    pcti_grid grid;
    pcti_clip_range(&act, &lo, &hi);
    /* Here the "panels" are blocks of channels. */
    if (!pcti_team_grid(team, x->dims[0] * w.out_h, LEAST_ROWS, (int)pcti_ceil_div(x->dims[1], PCTI_BLOCK), &grid)) return;
    for (int64_t at = grid.row0; at < grid.row1;) {
        int64_t n = at / w.out_h, y0 = at % w.out_h, y1 = pcti_min(w.out_h, y0 + grid.row1 - at);
        for (int64_t block = grid.panel0; block < grid.panel1; block++)
            team->simd->depthwise(&w, pcti_f32(&step->src[0]) + n * x->strides[0] + block * x->strides[1], x->strides[2],
                                  pcti_f32(&step->src[1]) + block * taps * PCTI_BLOCK, bias ? pcti_f32(bias) + block * PCTI_BLOCK : NULL,
                                  pcti_f32(&step->dst[0]) + n * y->strides[0] + block * y->strides[1], y->strides[2], (int)y0, (int)y1, lo, hi);
        at += y1 - y0;
    }
}

/* ---- few channels, from the plain input picture ---- */

bool pcti_first_accept(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    const pct_conv2d_params *p = call->params;
    if (p->groups != 1 || call->src[0].tensor.dims[1] > 4) return pcti_refuse(why, "only up to 4 channels, no groups");
    return pcti_conv_accept_constants(call, why);
}

pct_status pcti_first_prepare(pct_device *device, pcti_step *step)
{
    pcti_simd_window w = pcti_conv_window(&step->call);
    PCTI_RETURN_IF_FAILED(pcti_cpu_pack_panels_stored(device, &step->src[1]));
    PCTI_RETURN_IF_FAILED(pcti_conv_pack_vectors(device, step));
    ask_scratch(device, step, scratch_floats(pcti_simd_first_floats(&w, (int)step->src[0].tensor.dims[1])));
    return PCT_OK;
}

void pcti_first_run(const pcti_step *step, pcti_team *team)
{
    const pcti_tensor *x = &step->src[0].tensor, *y = &step->dst[0].tensor;
    const pcti_operand *bias = pcti_call_src(&step->call, 2);
    pcti_activation act = pcti_call_post_act(&step->call);
    pcti_simd_window w = pcti_conv_window(&step->call);
    float lo, hi, *scratch = thread_scratch(step, team, scratch_floats(pcti_simd_first_floats(&w, (int)x->dims[1])));
    pcti_rows rows = pcti_team_rows(team, x->dims[0], w.out_h);
    pcti_clip_range(&act, &lo, &hi);
    while (pcti_rows_next(&rows))
        team->simd->first(&w, (int)x->dims[1], (int)y->dims[1], pcti_f32(&step->src[0]) + rows.picture * x->strides[0], x->strides[1],
                          x->strides[2], pcti_f32(&step->src[1]), pcti_f32(bias), pcti_f32(&step->dst[0]) + rows.picture * y->strides[0],
                          y->strides[1], y->strides[2], rows.y0, rows.y1, lo, hi, scratch);
}
