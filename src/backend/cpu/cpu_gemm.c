/* Dense layers and batched products. */
#include <cblas.h>
#include <math.h>

#include "backend/cpu/cpu_conv.h"
#include "backend/cpu/cpu_pack.h"

/* ---- dense layers of few pictures: packed panels at memory speed ---- */

enum { FEW_PICTURES = 14 };

static bool accept_panels(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    if (call->src[0].tensor.dtype != PCT_F32)
        return pcti_refuse(why, "type %s", pct_dtype_name(call->src[0].tensor.dtype));
    if (call->src[0].tensor.dims[0] > FEW_PICTURES) return pcti_refuse(why, "more than %d pictures", FEW_PICTURES);
    for (int i = 1; i < 3; i++)
        if (pcti_call_src(call, i) && !call->src[i].constant)
            return pcti_refuse(why, "operand %d is not a constant", i);
    if (call->src[0].tensor.dims[1] < 1 || call->src[0].tensor.dims[1] > INT32_MAX / 64 ||
        call->src[1].tensor.dims[0] > INT32_MAX / 64)
        return pcti_refuse(why, "dimensions");
    return true;
}

static pct_status prepare_panels(pct_device *device, pcti_step *step)
{
    PCTI_RETURN_IF_FAILED(pcti_cpu_pack_panels(device, &step->src[1], 1));
    return step->call.n_src > 2 ? pcti_cpu_pack_vector(device, &step->src[2]) : PCT_OK;
}

/* The same with weights of half the bytes. */
static bool accept_panels16(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    if (call->weight_storage == PCT_F32) return pcti_refuse(why, "weights are to be stored as float32");
    return accept_panels(call, device, why);
}

static pct_status prepare_panels16(pct_device *device, pcti_step *step)
{
    PCTI_RETURN_IF_FAILED(pcti_cpu_pack_panels16(device, &step->src[1], step->call.weight_storage));
    return step->call.n_src > 2 ? pcti_cpu_pack_vector(device, &step->src[2]) : PCT_OK;
}

static void run_panels_stored(const pcti_step *step, pcti_team *team, pcti_simd_storage storage)
{
    const pcti_tensor *x = &step->src[0].tensor, *y = &step->dst[0].tensor;
    const float *bias = pcti_f32(pcti_call_src(&step->call, 2));
    pcti_activation act = pcti_call_post_act(&step->call);
    int64_t depth = x->dims[1], outputs = y->dims[1], panels = pcti_ceil_div(outputs, PCTI_PANEL), first, end;
    pcti_team_share(team, panels, &first, &end);
    if (first == end) return;
    size_t element = storage == PCTI_SIMD_F32 ? sizeof(float) : sizeof(uint16_t);
    pcti_simd_gemm g = {.a = pcti_f32(&step->src[0]),
                        .b = (const char *)step->src[1].buffer->handle +
                             (size_t)(first * PCTI_PANEL * depth) * element,
                        .b_storage = storage,
                        .n_taps = 1,
                        .depth = (int)depth,
                        .runs = 1,
                        .rows = (int)x->dims[0],
                        .columns = (int)(pcti_min(end * PCTI_PANEL, outputs) - first * PCTI_PANEL),
                        .a_block = PCTI_BLOCK,
                        .a_row = x->strides[0],
                        .out = pcti_f32(&step->dst[0]) + first * PCTI_PANEL,
                        .out_block = PCTI_BLOCK,
                        .out_row = y->strides[0],
                        .bias = bias ? bias + first * PCTI_PANEL : NULL};
    pcti_clip_range(&act, &g.lo, &g.hi);
    team->simd->gemm(&g);
}

static void run_panels(const pcti_step *step, pcti_team *team)
{
    run_panels_stored(step, team, PCTI_SIMD_F32);
}
static void run_panels16(const pcti_step *step, pcti_team *team)
{
    run_panels_stored(step, team, step->call.weight_storage == PCT_BF16 ? PCTI_SIMD_BF16 : PCTI_SIMD_F16);
}

/* ---- OpenBLAS ---- */

static bool accept_floats(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    for (int i = 0; i < call->n_src; i++)
        if (pcti_call_src(call, i) && call->src[i].tensor.dtype != PCT_F32)
            return pcti_refuse(why, "type of operand %d", i);
    return true;
}

static bool accept_sgemm(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    const pcti_tensor *x = &call->src[0].tensor;
    if (!x->dims[1]) return pcti_refuse(why, "nothing to sum");
    if (x->dims[0] > INT32_MAX || x->strides[0] > INT32_MAX || call->src[1].tensor.strides[0] > INT32_MAX ||
        call->dst[0].tensor.strides[0] > INT32_MAX)
        return pcti_refuse(why, "dimensions");
    if (pcti_call_src(call, 2) && !pcti_tensor_is_dense(&call->src[2].tensor))
        return pcti_refuse(why, "strided bias");
    return accept_floats(call, device, why);
}

static void finish_dense(const pcti_step *step)
{
    const pcti_tensor *y = &step->dst[0].tensor;
    const float *bias = pcti_f32(pcti_call_src(&step->call, 2));
    pcti_activation act = pcti_call_post_act(&step->call);
    float lo, hi;
    pcti_clip_range(&act, &lo, &hi);
    if (!bias && act.kind == PCTI_ACT_NONE) return;
    for (int64_t n = 0; n < y->dims[0]; n++) {
        float *row = pcti_f32(&step->dst[0]) + n * y->strides[0];
        for (int64_t k = 0; k < y->dims[1]; k++) {
            float value = row[k] + (bias ? bias[k] : 0);
            row[k] = value < lo ? lo : value > hi ? hi : value;
        }
    }
}

static pct_status run_sgemm(pct_device *device, pcti_step *step)
{
    const pcti_tensor *x = &step->src[0].tensor, *w = &step->src[1].tensor, *y = &step->dst[0].tensor;
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)x->dims[0], (int)y->dims[1], (int)x->dims[1], 1,
                pcti_f32(&step->src[0]), (int)pcti_max(x->strides[0], 1), pcti_f32(&step->src[1]),
                (int)pcti_max(w->strides[0], 1), 0, pcti_f32(&step->dst[0]), (int)pcti_max(y->strides[0], 1));
    finish_dense(step);
    return PCT_OK;
}

/* ---- plain loops ---- */

static void run_plain_dense(const pcti_step *step, pcti_team *team)
{
    const pcti_tensor *x = &step->src[0].tensor, *w = &step->src[1].tensor, *y = &step->dst[0].tensor;
    const float *bias = pcti_f32(pcti_call_src(&step->call, 2));
    int64_t first, end;
    pcti_team_share(team, y->dims[0] * y->dims[1], &first, &end);
    for (int64_t i = first; i < end; i++) {
        int64_t n = i / y->dims[1], k = i % y->dims[1];
        const float *a = pcti_f32(&step->src[0]) + n * x->strides[0],
                    *b = pcti_f32(&step->src[1]) + k * w->strides[0];
        float sum = bias ? bias[k] : 0;
        for (int64_t c = 0; c < x->dims[1]; c++) sum += a[c] * b[c];
        pcti_f32(&step->dst[0])[n * y->strides[0] + k] = sum;
    }
}

const pcti_impl pcti_cpu_impls_dense[] = {
    {.name = "panels_16bit",
     .layout = PCTI_LAYOUT_PLAIN,
     .accuracy = PCTI_ACCURACY_HALF,
     .fusions = PCTI_FUSE_CLIP,
     .accept = accept_panels16,
     .prepare = prepare_panels16,
     .run_share = run_panels16},
    {.name = "panels",
     .layout = PCTI_LAYOUT_PLAIN,
     .accuracy = PCTI_ACCURACY_SUM,
     .fusions = PCTI_FUSE_CLIP,
     .accept = accept_panels,
     .prepare = prepare_panels,
     .run_share = run_panels},
    {.name = "sgemm",
     .layout = PCTI_LAYOUT_PLAIN,
     .accuracy = PCTI_ACCURACY_SUM,
     .bits_vary_with_threads = true,
     .fusions = PCTI_FUSE_CLIP,
     .serial = true,
     .accept = accept_sgemm,
     .run = run_sgemm},
    {.name = "plain",
     .layout = PCTI_LAYOUT_PLAIN,
     .accuracy = PCTI_ACCURACY_SUM,
     .accept = accept_floats,
     .run_share = run_plain_dense},
    {0},
};

/* ---- batched matmul ---- */

typedef struct matmul_shape {
    int64_t rows, depth, columns, batches;
} matmul_shape;

static matmul_shape shape_of(const pcti_call *call)
{
    const pct_matmul_params *p = call->params;
    const pcti_tensor *a = &call->src[0].tensor, *y = &call->dst[0].tensor;
    matmul_shape s = {y->dims[y->rank - 2], a->dims[a->rank - (p->transpose_a ? 2 : 1)], y->dims[y->rank - 1], 1};
    for (int d = 0; d < y->rank - 2; d++) s.batches *= y->dims[d];
    return s;
}

/* Leading dimension of a matrix inside an operand: only a rank-2 tensor has a distance between rows that may differ.
 */
static int64_t pitch(const pcti_tensor *t)
{
    return pcti_max(1, t->strides[t->rank - 2]);
}

static bool accept_matmul_sgemm(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    matmul_shape s = shape_of(call);
    if (!s.depth) return pcti_refuse(why, "nothing to sum");
    if (pitch(&call->src[0].tensor) > INT32_MAX || pitch(&call->src[1].tensor) > INT32_MAX || pitch(&call->dst[0].tensor) > INT32_MAX)
        return pcti_refuse(why, "distance between rows");
    if (s.rows > INT32_MAX || s.depth > INT32_MAX || s.columns > INT32_MAX) return pcti_refuse(why, "dimensions");
    return accept_floats(call, device, why);
}

/* Batches are shared; inside the region each sgemm is single-threaded. One large product runs threaded instead. */
static void run_matmul_batches(const pcti_step *step, pcti_team *team)
{
    const pct_matmul_params *p = step->call.params;
    matmul_shape s = shape_of(&step->call);
    const pcti_tensor *a = &step->src[0].tensor, *b = &step->src[1].tensor, *y = &step->dst[0].tensor;
    int64_t first, end;
    pcti_team_share(team, s.batches, &first, &end);
    for (int64_t batch = first; batch < end; batch++)
        cblas_sgemm(CblasRowMajor, p->transpose_a ? CblasTrans : CblasNoTrans,
                    p->transpose_b ? CblasTrans : CblasNoTrans, (int)s.rows, (int)s.columns, (int)s.depth, 1,
                    pcti_f32(&step->src[0]) + pcti_matmul_batch_offset(a, y, batch), (int)pitch(a),
                    pcti_f32(&step->src[1]) + pcti_matmul_batch_offset(b, y, batch), (int)pitch(b), 0,
                    pcti_f32(&step->dst[0]) + pcti_matmul_batch_offset(y, y, batch), (int)pitch(y));
}

static bool accept_matmul_one(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    matmul_shape s = shape_of(call);
    if (s.batches > 2 && 2.0 * (double)s.rows * (double)s.columns * (double)s.depth < 2e8)
        return pcti_refuse(why, "many small products");
    return accept_matmul_sgemm(call, device, why);
}

static pct_status run_matmul_one(pct_device *device, pcti_step *step)
{
    pcti_team alone = {0, 1, pcti_cpu(device)->simd, NULL};
    run_matmul_batches(step, &alone);
    return PCT_OK;
}

static void run_plain_matmul(const pcti_step *step, pcti_team *team)
{
    const pct_matmul_params *p = step->call.params;
    matmul_shape s = shape_of(&step->call);
    const pcti_tensor *a = &step->src[0].tensor, *b = &step->src[1].tensor, *y = &step->dst[0].tensor;
    int64_t first, end;
    pcti_team_share(team, s.batches * s.rows, &first, &end);
    for (int64_t i = first; i < end; i++) {
        int64_t batch = i / s.rows, r = i % s.rows;
        const float *x = pcti_f32(&step->src[0]) + pcti_matmul_batch_offset(a, y, batch);
        const float *w = pcti_f32(&step->src[1]) + pcti_matmul_batch_offset(b, y, batch);
        float *out = pcti_f32(&step->dst[0]) + pcti_matmul_batch_offset(y, y, batch) + r * pitch(y);
        for (int64_t c = 0; c < s.columns; c++) {
            float sum = 0;
            for (int64_t k = 0; k < s.depth; k++)
                sum += x[p->transpose_a ? k * pitch(a) + r : r * pitch(a) + k] *
                       w[p->transpose_b ? c * pitch(b) + k : k * pitch(b) + c];
            out[c] = sum;
        }
    }
}

const pcti_impl pcti_cpu_impls_matmul[] = {
    {.name = "sgemm",
     .layout = PCTI_LAYOUT_PLAIN,
     .accuracy = PCTI_ACCURACY_SUM,
     .bits_vary_with_threads = true,
     .serial = true,
     .accept = accept_matmul_one,
     .run = run_matmul_one},
    {.name = "sgemm_batches",
     .layout = PCTI_LAYOUT_PLAIN,
     .accuracy = PCTI_ACCURACY_SUM,
     .bits_vary_with_threads = true,
     .accept = accept_matmul_sgemm,
     .run_share = run_matmul_batches},
    {.name = "plain",
     .layout = PCTI_LAYOUT_PLAIN,
     .accuracy = PCTI_ACCURACY_SUM,
     .accept = accept_floats,
     .run_share = run_plain_matmul},
    {0},
};
