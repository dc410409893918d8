/* Dense layers and batched products on OpenCL devices (kernels and formula: cl/gemm.cl). */
#include <clblast_c.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "backend/cl/cl_backend.h"
#include "backend/cl/cl_pack.h"
#include "base/memory.h"

enum {
    TILE_ROWS = 8,
    TILE_VECTORS = 2,
    GEMV_SLICES = 8,
    GEMV_ROWS = 8, /* more rows: a tile reads the weights fewer times */
    LOCAL_M = 64,
    LOCAL_N = 64,
    LOCAL_K = 16,
    LOCAL_ITEM = 4,     /* elements of an item, in each direction */
    LIBRARY_GROUP = 64, /* CLBlast's kernels want at least this */
    PRODUCT_DIMS = PCT_MAX_RANK - 2
};
static const size_t one_item[3] = {1, 1, 1};

/* The products of a call, in elements; as the kernels take them. */
typedef struct products {
    cl_long rank, dims[PRODUCT_DIMS], a[PRODUCT_DIMS], b[PRODUCT_DIMS], dst[PRODUCT_DIMS];
} products;

typedef struct gemm {
    int64_t rows, depth, columns, count; /* count: of products */
    int64_t a_row, a_k, b_k, b_column, dst_row;
    products products;
    bool a_transposed, b_transposed; /* as stored: (k, rows), (columns, k) */
    bool b_repeats;                  /* all products have the same b */
} gemm;

static gemm gemm_of_dense(const pcti_call *call)
{
    const pcti_tensor *x = &call->src[0].tensor, *w = &call->src[1].tensor, *y = &call->dst[0].tensor;
    return (gemm){.rows = x->dims[0],
                  .depth = x->dims[1],
                  .columns = w->dims[0],
                  .count = 1,
                  .a_row = x->strides[0],
                  .a_k = 1,
                  .b_k = 1,
                  .b_column = w->strides[0],
                  .dst_row = y->strides[0],
                  .b_transposed = true,
                  .b_repeats = true};
}

/* Stride of result dimension d in an operand: 0 where it repeats. */
static int64_t product_stride(const pcti_tensor *operand, const pcti_tensor *dst, int d)
{
    int own = d - (dst->rank - operand->rank);
    return own >= 0 && operand->dims[own] > 1 ? operand->strides[own] : 0;
}

static gemm gemm_of_matmul(const pcti_call *call)
{
    const pct_matmul_params *p = call->params;
    const pcti_tensor *a = &call->src[0].tensor, *b = &call->src[1].tensor, *y = &call->dst[0].tensor;
    int64_t a_row = a->strides[a->rank - 2], b_row = b->strides[b->rank - 2];
    gemm g = {.rows = y->dims[y->rank - 2],
              .depth = a->dims[a->rank - (p->transpose_a ? 2 : 1)],
              .columns = y->dims[y->rank - 1],
              .count = 1,
              .a_row = p->transpose_a ? 1 : a_row,
              .a_k = p->transpose_a ? a_row : 1,
              .b_k = p->transpose_b ? 1 : b_row,
              .b_column = p->transpose_b ? b_row : 1,
              .dst_row = y->strides[y->rank - 2],
              .a_transposed = p->transpose_a,
              .b_transposed = p->transpose_b,
              .b_repeats = true};
    g.products.rank = y->rank - 2;
    for (int d = 0; d < y->rank - 2; d++) {
        g.count *= y->dims[d];
        g.products.dims[d] = y->dims[d];
        g.products.a[d] = product_stride(a, y, d);
        g.products.b[d] = product_stride(b, y, d);
        g.products.dst[d] = y->strides[d];
        if (g.products.b[d]) g.b_repeats = false;
    }
    return g;
}

static gemm gemm_of(const pcti_call *call)
{
    return pcti_op_is(call->op, "dense") ? gemm_of_dense(call) : gemm_of_matmul(call);
}

static bool plain_accept(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    gemm g = gemm_of(call);
    for (int i = 0; i < call->n_src; i++)
        if (pcti_call_src(call, i) && call->src[i].tensor.dtype != PCT_F32)
            return pcti_refuse(why, "type of operand %d", i);
    if (pcti_call_src(call, 2) && !pcti_tensor_is_dense(&call->src[2].tensor))
        return pcti_refuse(why, "strided bias");
    if (g.rows > INT32_MAX / 64 || g.depth > INT32_MAX / 64 || g.columns > INT32_MAX / 64 || g.count > INT32_MAX)
        return pcti_refuse(why, "dimensions");
    return true;
}

static bool accept_sum(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    return gemm_of(call).depth ? plain_accept(call, device, why) : pcti_refuse(why, "nothing to sum");
}

static const pcti_operand *bias_of(const pcti_step *step)
{
    return pcti_op_is(step->call.op, "dense") ? pcti_call_src(&step->call, 2) : NULL;
}

static void arg_a(pcti_cl_args *args, const pcti_step *step, const gemm *g)
{
    pcti_cl_arg_operand(args, &step->src[0]);
    pcti_cl_arg_long(args, g->a_row);
    pcti_cl_arg_long(args, g->a_k);
}

static void arg_b(pcti_cl_args *args, const pcti_step *step, const gemm *g)
{
    pcti_cl_arg_operand(args, &step->src[1]);
    pcti_cl_arg_long(args, g->b_k);
    pcti_cl_arg_long(args, g->b_column);
}

/* The arguments that all but gemm_pack end with. */
static void arg_result(pcti_cl_args *args, const pcti_step *step, const gemm *g)
{
    pcti_activation act = pcti_call_post_act(&step->call);
    pcti_cl_arg_operand(args, bias_of(step));
    pcti_cl_arg_operand(args, &step->dst[0]);
    pcti_cl_arg_long(args, g->dst_row);
    pcti_cl_arg_bytes(args, sizeof g->products, &g->products);
    pcti_cl_arg_int(args, g->rows);
    pcti_cl_arg_int(args, g->depth);
    pcti_cl_arg_int(args, g->columns);
    pcti_cl_arg_clip(args, &act);
}

/* ---- one item for each element ---- */

static pct_status plain_prepare(pct_device *device, pcti_step *step)
{
    gemm g = gemm_of(&step->call);
    const size_t items[] = {(size_t)g.columns, (size_t)g.rows, (size_t)g.count};
    return pcti_cl_launch_add(device, step, "gemm", NULL, "gemm_plain", 3, items, NULL);
}

static pct_status strided_bind(pct_device *device, pcti_step *step)
{
    gemm g = gemm_of(&step->call);
    pcti_cl_args args = pcti_cl_args_of(device, step, 0);
    arg_a(&args, step, &g);
    arg_b(&args, step, &g);
    arg_result(&args, step, &g);
    return args.status;
}

/* ---- register tiles, for CPU-type devices ---- */

static bool tile_accept(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    if (!pcti_cl_is_cpu(device))
        return pcti_refuse(why, "for CPU-type devices: its tile needs 32 registers of 16 floats");
    return accept_sum(call, device, why);
}

static bool dense_tile_accept(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    for (int i = 1; i < call->n_src; i++)
        if (pcti_call_src(call, i) && !call->src[i].constant)
            return pcti_refuse(why, "operand %d is not a constant", i);
    return tile_accept(call, device, why);
}

static pct_status add_tile(pct_device *device, pcti_step *step, const gemm *g)
{
    int rows = g->rows == 1 ? 1 : TILE_ROWS;
    const size_t items[] = {(size_t)pcti_ceil_div(g->rows, rows), (size_t)pcti_ceil_div(g->columns, PCTI_CL_PANEL),
                            (size_t)g->count};
    char options[48];
    snprintf(options, sizeof options, "-DROWS=%d -DNV=%d", rows, TILE_VECTORS);
    return pcti_cl_launch_add(device, step, "gemm", options, "gemm_tile", 3, items, one_item);
}

static pct_status dense_tile_prepare(pct_device *device, pcti_step *step)
{
    gemm g = gemm_of(&step->call);
    PCTI_RETURN_IF_FAILED(pcti_cl_pack_panels(device, &step->src[1], 1, PCTI_CL_PANEL));
    return add_tile(device, step, &g);
}

static pct_status dense_tile_bind(pct_device *device, pcti_step *step)
{
    gemm g = gemm_of(&step->call);
    pcti_cl_args args = pcti_cl_args_of(device, step, 0);
    arg_a(&args, step, &g);
    pcti_cl_arg_operand(&args, &step->src[1]);
    pcti_cl_arg_long(&args, 0);
    arg_result(&args, step, &g);
    return args.status;
}

static int64_t panels_floats(const gemm *g)
{
    return pcti_round_up(g->columns, PCTI_CL_PANEL) * g->depth;
}

static bool matmul_tile_accept(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    gemm g = gemm_of(call);
    double bytes = (double)panels_floats(&g) * (double)(g.b_repeats ? 1 : g.count) * sizeof(float);
    if (bytes > (double)device->info.max_alloc_bytes) return pcti_refuse(why, "packed operands too large");
    return tile_accept(call, device, why);
}

static pct_status matmul_tile_prepare(pct_device *device, pcti_step *step)
{
    gemm g = gemm_of(&step->call);
    int64_t copies = g.b_repeats ? 1 : g.count;
    const size_t items[] = {(size_t)pcti_round_up(g.columns, PCTI_CL_PANEL), (size_t)g.depth, (size_t)copies};
    static const size_t group[] = {PCTI_CL_PANEL, 1, 1};
    char options[48];
    snprintf(options, sizeof options, "-DROWS=%d -DNV=%d", g.rows == 1 ? 1 : TILE_ROWS, TILE_VECTORS);
    PCTI_RETURN_IF_FAILED(pcti_cl_launch_add(device, step, "gemm", options, "gemm_pack", 3, items, group));
    step->workspace_bytes = (size_t)(panels_floats(&g) * copies) * sizeof(float);
    return add_tile(device, step, &g);
}

static pct_status matmul_tile_bind(pct_device *device, pcti_step *step)
{
    gemm g = gemm_of(&step->call);
    int64_t product = g.b_repeats ? 0 : panels_floats(&g);
    pcti_cl_args args = pcti_cl_args_of(device, step, 0);
    arg_b(&args, step, &g);
    pcti_cl_arg_workspace(&args, step, 0);
    pcti_cl_arg_long(&args, product);
    pcti_cl_arg_bytes(&args, sizeof g.products, &g.products);
    pcti_cl_arg_int(&args, g.depth);
    pcti_cl_arg_int(&args, g.columns);
    PCTI_RETURN_IF_FAILED(args.status);
    args = pcti_cl_args_of(device, step, 1);
    arg_a(&args, step, &g);
    pcti_cl_arg_workspace(&args, step, 0);
    pcti_cl_arg_long(&args, product);
    arg_result(&args, step, &g);
    return args.status;
}

/* ---- local memory, for GPUs ---- */

static bool gemv_accept(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    for (int i = 1; i < call->n_src; i++)
        if (pcti_call_src(call, i) && !call->src[i].constant)
            return pcti_refuse(why, "operand %d is not a constant", i);
    if (call->src[0].tensor.dims[0] > GEMV_ROWS) return pcti_refuse(why, "more than %d rows", GEMV_ROWS);
    return pcti_cl_accept_group(device, PCTI_CL_PANEL * GEMV_SLICES, why) && accept_sum(call, device, why);
}

static pct_status gemv_prepare(pct_device *device, pcti_step *step)
{
    gemm g = gemm_of(&step->call);
    const size_t items[] = {(size_t)pcti_round_up(g.columns, PCTI_CL_PANEL), GEMV_SLICES, (size_t)g.rows};
    char options[48];
    snprintf(options, sizeof options, "-DSLICES=%d", GEMV_SLICES);
    PCTI_RETURN_IF_FAILED(pcti_cl_pack_panels(device, &step->src[1], 1, PCTI_CL_PANEL));
    return pcti_cl_launch_add(device, step, "gemm", options, "gemv_local", 3, items, NULL);
}

static pct_status gemv_bind(pct_device *device, pcti_step *step)
{
    gemm g = gemm_of(&step->call);
    pcti_activation act = pcti_call_post_act(&step->call);
    pcti_cl_args args = pcti_cl_args_of(device, step, 0);
    pcti_cl_arg_operand(&args, &step->src[0]);
    pcti_cl_arg_long(&args, g.a_row);
    pcti_cl_arg_operand(&args, &step->src[1]);
    pcti_cl_arg_operand(&args, bias_of(step));
    pcti_cl_arg_operand(&args, &step->dst[0]);
    pcti_cl_arg_long(&args, g.dst_row);
    pcti_cl_arg_int(&args, g.depth);
    pcti_cl_arg_int(&args, g.columns);
    pcti_cl_arg_clip(&args, &act);
    return args.status;
}

static bool local_accept(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    return pcti_cl_accept_group(device, (LOCAL_M / LOCAL_ITEM) * (LOCAL_N / LOCAL_ITEM), why) &&
           accept_sum(call, device, why);
}

static pct_status local_prepare(pct_device *device, pcti_step *step)
{
    gemm g = gemm_of(&step->call);
    size_t group = (LOCAL_M / LOCAL_ITEM) * (LOCAL_N / LOCAL_ITEM);
    const size_t items[] = {(size_t)pcti_ceil_div(g.columns, LOCAL_N) * group, (size_t)pcti_ceil_div(g.rows, LOCAL_M),
                            (size_t)g.count};
    char options[128];
    snprintf(options, sizeof options, "-DBM=%d -DBN=%d -DBK=%d -DTM=%d -DTN=%d%s%s", LOCAL_M, LOCAL_N, LOCAL_K,
             LOCAL_ITEM, LOCAL_ITEM, g.a_k == 1 ? " -DA_K_FASTEST" : "", g.b_k == 1 ? " -DB_K_FASTEST" : "");
    return pcti_cl_launch_add(device, step, "gemm", options, "gemm_local", 3, items, NULL);
}

/* ---- CLBlast ---- */

/* Its program cache is not safe between threads. */
static pthread_mutex_t library_lock = PTHREAD_MUTEX_INITIALIZER;

typedef struct library_state {
    size_t bytes; /* of scratch; 0: none is needed */
    cl_mem scratch;
} library_state;

static pct_status library_fail(const char *api, CLBlastStatusCode code)
{
    return pcti_cl_fail(api, (cl_int)code, "CLBlast status %d", (int)code);
}

static bool library_accept(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    gemm g = gemm_of(call);
    if (g.rows <= GEMV_ROWS || g.columns <= GEMV_ROWS) return pcti_refuse(why, "too few rows or columns");
    if (g.count > 64) return pcti_refuse(why, "one call for each of %lld products", (long long)g.count);
    return pcti_cl_accept_group(device, LIBRARY_GROUP, why) && accept_sum(call, device, why);
}

static CLBlastTranspose transposed(bool yes)
{
    return yes ? CLBlastTransposeYes : CLBlastTransposeNo;
}

/* Distances between stored rows. */
static size_t leading_a(const gemm *g)
{
    return (size_t)(g->a_transposed ? g->a_k : g->a_row);
}
static size_t leading_b(const gemm *g)
{
    return (size_t)(g->b_transposed ? g->b_column : g->b_k);
}

static pct_status library_prepare(pct_device *device, pcti_step *step)
{
    gemm g = gemm_of(&step->call);
    const size_t items[] = {(size_t)g.columns, (size_t)g.rows};
    cl_command_queue queue = pcti_cl_of(device)->device->plain.compute;
    size_t bytes = 0;
    library_state *own = pcti_calloc(1, sizeof *own);
    PCTI_RETURN_IF_FAILED(pcti_cl_set_own(step, own));
    if (pcti_op_is(step->call.op, "dense"))
        PCTI_RETURN_IF_FAILED(pcti_cl_launch_add(device, step, "gemm", NULL, "gemm_finish", 2, items, NULL));
    pthread_mutex_lock(&library_lock);
    /* Offsets are not known yet; any that is not 0 asks for the most. */
    CLBlastStatusCode code = CLBlastSGemmTempBufferSize(
        CLBlastLayoutRowMajor, transposed(g.a_transposed), transposed(g.b_transposed), (size_t)g.rows,
        (size_t)g.columns, (size_t)g.depth, 1, leading_a(&g), 1, leading_b(&g), 1, (size_t)g.dst_row, &queue, &bytes);
    pthread_mutex_unlock(&library_lock);
    if (code != CLBlastSuccess) return library_fail("CLBlastSGemmTempBufferSize", code);
    own->bytes = bytes;
    if (bytes) step->workspace_bytes = bytes + pcti_cl_info_of(device)->align_bytes;
    return PCT_OK;
}

/* CLBlast takes a buffer without an offset: a part of the workspace's that begins where the device allows it. */
static pct_status library_bind(pct_device *device, pcti_step *step)
{
    library_state *own = pcti_cl_own(step);
    gemm g = gemm_of(&step->call);
    if (own->bytes) {
        cl_int code;
        size_t align = (size_t)pcti_max(1, pcti_cl_info_of(device)->align_bytes);
        cl_buffer_region region = {pcti_ceil_div((int64_t)step->workspace_offset, (int64_t)align) * align,
                                   own->bytes};
        own->scratch = clCreateSubBuffer(step->workspace->handle, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION,
                                         &region, &code);
        if (!own->scratch) return pcti_cl_fail("clCreateSubBuffer", code, "%zu bytes", own->bytes);
        pcti_cl_count(PCTI_CL_BUFFERS, 1);
    }
    if (!pcti_cl_launch_count(step)) return PCT_OK;
    pcti_activation act = pcti_call_post_act(&step->call);
    pcti_cl_args args = pcti_cl_args_of(device, step, 0);
    pcti_cl_arg_operand(&args, bias_of(step));
    pcti_cl_arg_operand(&args, &step->dst[0]);
    pcti_cl_arg_long(&args, g.dst_row);
    pcti_cl_arg_int(&args, g.columns);
    pcti_cl_arg_clip(&args, &act);
    return args.status;
}

static pct_status library_product(pcti_cl *cl, const pcti_step *step, const gemm *g, int64_t product)
{
    const library_state *own = pcti_cl_own(step);
    const pcti_operand *a = &step->src[0], *b = &step->src[1], *y = &step->dst[0];
    int64_t at[3] = {a->tensor.offset, b->tensor.offset, y->tensor.offset};
    for (int64_t d = g->products.rank - 1; d >= 0; d--) {
        int64_t i = product % g->products.dims[d];
        product /= g->products.dims[d];
        at[0] += i * g->products.a[d];
        at[1] += i * g->products.b[d];
        at[2] += i * g->products.dst[d];
    }
    pthread_mutex_lock(&library_lock);
    CLBlastStatusCode code = CLBlastSgemmWithTempBuffer(
        CLBlastLayoutRowMajor, transposed(g->a_transposed), transposed(g->b_transposed), (size_t)g->rows,
        (size_t)g->columns, (size_t)g->depth, 1, a->buffer->handle, (size_t)at[0], leading_a(g), b->buffer->handle,
        (size_t)at[1], leading_b(g), 0, y->buffer->handle, (size_t)at[2], (size_t)g->dst_row, &cl->queue, NULL,
        own->scratch);
    pthread_mutex_unlock(&library_lock);
    return code == CLBlastSuccess ? PCT_OK : library_fail("CLBlastSgemmWithTempBuffer", code);
}

static pct_status library_run(pct_device *device, pcti_step *step)
{
    gemm g = gemm_of(&step->call);
    PCTI_RETURN_IF_FAILED(pcti_cl_library_begin(device));
    for (int64_t i = 0; i < g.count; i++) PCTI_RETURN_IF_FAILED(library_product(pcti_cl_of(device), step, &g, i));
    PCTI_RETURN_IF_FAILED(pcti_cl_library_end(device));
    return pcti_cl_run(device, step);
}

static void library_release(pct_device *device, pcti_step *step)
{
    library_state *own = pcti_cl_own(step);
    if (own) pcti_cl_buffer_release(own->scratch);
    pcti_cl_release(device, step);
}

/* ---- lists ---- */

#define GEMM_ROW(function)                                                                                           \
    .layout = PCTI_LAYOUT_PLAIN, .accuracy = PCTI_ACCURACY_SUM, .accept = function##_accept,                         \
    .prepare = function##_prepare, .run = pcti_cl_run, .release = pcti_cl_release

const pcti_impl pcti_cl_impls_dense[] = {
    {.name = "tile", .fusions = PCTI_FUSE_CLIP, GEMM_ROW(dense_tile), .bind = dense_tile_bind},
    {.name = "gemv_local", .fusions = PCTI_FUSE_CLIP, GEMM_ROW(gemv), .bind = gemv_bind},
    {.name = "clblast",
     .layout = PCTI_LAYOUT_PLAIN,
     .accuracy = PCTI_ACCURACY_SUM,
     .fusions = PCTI_FUSE_CLIP,
     .accept = library_accept,
     .prepare = library_prepare,
     .bind = library_bind,
     .run = library_run,
     .release = library_release},
    {.name = "local", .fusions = PCTI_FUSE_CLIP, GEMM_ROW(local), .bind = strided_bind},
    {.name = "plain", .fusions = PCTI_FUSE_CLIP, GEMM_ROW(plain), .bind = strided_bind},
    {0},
};

const pcti_impl pcti_cl_impls_matmul[] = {
    {.name = "tile", GEMM_ROW(matmul_tile), .bind = matmul_tile_bind},
    {.name = "clblast",
     .layout = PCTI_LAYOUT_PLAIN,
     .accuracy = PCTI_ACCURACY_SUM,
     .accept = library_accept,
     .prepare = library_prepare,
     .bind = library_bind,
     .run = library_run,
     .release = library_release},
    {.name = "local", GEMM_ROW(local), .bind = strided_bind},
    {.name = "plain", GEMM_ROW(plain), .bind = strided_bind},
    {0},
};
