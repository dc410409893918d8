/* Matrix products, dense layers included (b is the weights' transpose, there is one product):
 *   dst[p][m][n] = clip(bias[n] + sum over k of a[p][m][k] * b[p][k][n], lo, hi)
 * a has a distance between rows and one between the k, b one between the k and one between columns, so that transposed
 * operands are just other strides. The products p are indexed by up to 6 dimensions, in which an operand may repeat
 * (stride 0). */

typedef struct products {
    long rank, dims[6], a[6], b[6], dst[6];
} products;

static inline void locate(const products *p, long index, long *a, long *b, long *dst)
{
    for (int d = (int)p->rank - 1; d >= 0; d--) {
        const long rest = index / p->dims[d], i = index - rest * p->dims[d];
        index = rest;
        *a += i * p->a[d];
        *b += i * p->b[d];
        *dst += i * p->dst[d];
    }
}

/* An item is one element. Launch (columns, rows, products). */
__kernel void gemm_plain(__global const float *a, long a_offset, long a_row, long a_k, __global const float *b,
                         long b_offset, long b_k, long b_column, __global const float *bias, long bias_offset,
                         __global float *dst, long dst_offset, long dst_row, products p, int rows, int depth, int columns,
                         float lo, float hi)
{
    if (IS_BEYOND(0, columns)) return;
    const long m = get_global_id(1), n = get_global_id(0);
    locate(&p, get_global_id(2), &a_offset, &b_offset, &dst_offset);
    a += a_offset + m * a_row;
    b += b_offset + n * b_column;
    float sum = bias_offset < 0 ? 0 : bias[bias_offset + n];
    for (int k = 0; k < depth; k++) sum = MUL_ADD(a[k * a_k], b[k * b_k], sum);
    dst[dst_offset + m * dst_row + n] = clip1(sum, lo, hi);
}

#ifdef ROWS
/* For devices whose work-items are CPU threads: an item is a tile of ROWS rows (those of the last tile beyond the matrix
 * repeat its last row) x NV float16 of columns, b in panels of 16 NV columns, [panel][k][16 NV].
 * Launch (tiles of rows, panels, products), groups of one item. */
#define SPAN (16 * NV)

__kernel void gemm_tile(__global const float *a, long a_offset, long a_row, long a_k, __global const float *panels,
                        long panels_offset, long panels_product, __global const float *bias, long bias_offset,
                        __global float *dst, long dst_offset, long dst_row, products p, int rows, int depth, int columns,
                        float lo, float hi)
{
    const int tile = get_global_id(0), panel = get_global_id(1), first = panel * SPAN;
    long ignored = 0;
    locate(&p, get_global_id(2), &a_offset, &ignored, &dst_offset);
    panels += panels_offset + (long)get_global_id(2) * panels_product + (long)panel * depth * SPAN;
    __global const float *x[ROWS];
    float16 sum[ROWS][NV];
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        x[r] = a + a_offset + min(tile * ROWS + r, rows - 1) * a_row;
#pragma unroll
        for (int v = 0; v < NV; v++) sum[r][v] = 0;
    }
    long at = 0;
    for (int k = 0; k < depth; k++, at += a_k, panels += SPAN) {
        float16 w[NV];
#pragma unroll
        for (int v = 0; v < NV; v++) w[v] = ((__global const float16 *)panels)[v];
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            const float16 value = x[r][at];
#pragma unroll
            for (int v = 0; v < NV; v++) sum[r][v] = MUL_ADD(value, w[v], sum[r][v]);
        }
    }
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        __global float *row = dst + dst_offset + min(tile * ROWS + r, rows - 1) * dst_row + first;
#pragma unroll
        for (int v = 0; v < NV; v++) {
            const int count = columns - first - v * 16;
            float lanes[16];
            vstore16(sum[r][v], 0, lanes);
            if (count >= 16 && bias_offset < 0) vstore16(clip16(sum[r][v], lo, hi), v, row);
            else if (count >= 16)
                vstore16(clip16(sum[r][v] + vload16(v, bias + bias_offset + first), lo, hi), v, row);
            else
                for (int i = 0; i < count; i++)
                    row[v * 16 + i] =
                        clip1(lanes[i] + (bias_offset < 0 ? 0 : bias[bias_offset + first + v * 16 + i]), lo, hi);
        }
    }
}

/* b into panels, with zeros beyond the last column. Launch (columns rounded up to panels, depth, products). */
__kernel void gemm_pack(__global const float *b, long b_offset, long b_k, long b_column, __global float *panels,
                        long panels_offset, long panels_product, products p, int depth, int columns)
{
    const uint n = get_global_id(0), k = get_global_id(1);
    long ignored = 0;
    if (n >= (uint)ROUND_UP(columns, SPAN)) return;
    locate(&p, get_global_id(2), &ignored, &b_offset, &ignored);
    panels += panels_offset + (long)get_global_id(2) * panels_product;
    panels[((long)(n / SPAN) * depth + k) * SPAN + n % SPAN] = n < (uint)columns ? b[b_offset + k * b_k + n * b_column] : 0;
}
#endif

#ifdef SLICES
/* Few rows, for GPUs: 32 neighbouring columns read a packed panel [panel][k][32] side by side; SLICES items share each sum
 * over k and add up in local memory. Launch (columns rounded up to panels, SLICES, rows), groups of 32 x SLICES x 1. */
__kernel __attribute__((reqd_work_group_size(32, SLICES, 1))) void
gemv_local(__global const float *a, long a_offset, long a_row, __global const float *panels, long panels_offset,
           __global const float *bias, long bias_offset, __global float *dst, long dst_offset, long dst_row, int depth,
           int columns, float lo, float hi)
{
    __local float parts[SLICES][32];
    const int column = get_global_id(0), lane = get_local_id(0), slice = get_local_id(1);
    const long m = get_global_id(2);
    float sum = 0;
    a += a_offset + m * a_row;
    panels += panels_offset + (long)get_group_id(0) * depth * 32 + lane;
    for (int k = slice; k < depth; k += SLICES) sum = MUL_ADD(a[k], panels[(long)k * 32], sum);
    parts[slice][lane] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (slice == 0 && column < columns) {
        for (int s = 1; s < SLICES; s++) sum += parts[s][lane];
        if (bias_offset >= 0) sum += bias[bias_offset + column];
        dst[dst_offset + m * dst_row + column] = clip1(sum, lo, hi);
    }
}
#endif

#ifdef BM
/* For GPUs: a work-group makes BM x BN elements, TM x TN an item, in steps of BK through local memory; the next step's
 * elements wait in registers. Elements are loaded in the order in which they lie: -DA_K_FASTEST, -DB_K_FASTEST.
 * Launch (columns / BN groups, rows / BM groups, products), groups of (BM / TM) * (BN / TN) x 1 x 1. */
#define ITEMS ((BM / TM) * (BN / TN))
#define PITCH_A (BM + 4) /* no bank conflicts while A is stored transposed */
#define LOADS_A (BM * BK / ITEMS)
#define LOADS_B (BN * BK / ITEMS)
#if BM *BK % ITEMS || BN *BK % ITEMS || BM % TM || BN % TN
#error tile does not divide among the work-items
#endif
#ifdef A_K_FASTEST
#define A_M(e) ((e) / BK)
#define A_K(e) ((e) % BK)
#else
#define A_M(e) ((e) % BM)
#define A_K(e) ((e) / BM)
#endif
#ifdef B_K_FASTEST
#define B_N(e) ((e) / BK)
#define B_K(e) ((e) % BK)
#else
#define B_N(e) ((e) % BN)
#define B_K(e) ((e) / BN)
#endif

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void
gemm_local(__global const float *a, long a_offset, long a_row, long a_k, __global const float *b, long b_offset, long b_k,
           long b_column, __global const float *bias, long bias_offset, __global float *dst, long dst_offset,
           long dst_row, products p, int rows, int depth, int columns, float lo, float hi)
{
    __local float tile_a[BK * PITCH_A], tile_b[BK * BN];
    const uint item = get_local_id(0), across = item % (BN / TN), down = item / (BN / TN);
    const int m0 = get_group_id(1) * BM, n0 = get_group_id(0) * BN;
    locate(&p, get_global_id(2), &a_offset, &b_offset, &dst_offset);
    a += a_offset;
    b += b_offset;
    float sum[TM][TN], next_a[LOADS_A], next_b[LOADS_B];
#pragma unroll
    for (int i = 0; i < TM; i++) {
#pragma unroll
        for (int j = 0; j < TN; j++) sum[i][j] = 0;
    }
#define LOAD(k0)                                                                                                     \
    _Pragma("unroll") for (int i = 0; i < LOADS_A; i++)                                                              \
    {                                                                                                                \
        const uint e = item + i * ITEMS;                                                                             \
        const int m = m0 + A_M(e), k = (k0) + A_K(e);                                          \
        next_a[i] = m < rows && k < depth ? a[m * a_row + k * a_k] : 0;                                              \
    }                                                                                                                \
    _Pragma("unroll") for (int i = 0; i < LOADS_B; i++)                                                              \
    {                                                                                                                \
        const uint e = item + i * ITEMS;                                                                             \
        const int n = n0 + B_N(e), k = (k0) + B_K(e);                                          \
        next_b[i] = n < columns && k < depth ? b[k * b_k + n * b_column] : 0;                                        \
    }
    LOAD(0)
    for (int k0 = 0; k0 < depth; k0 += BK) {
#pragma unroll
        for (int i = 0; i < LOADS_A; i++) {
            const uint e = item + i * ITEMS;
            tile_a[A_K(e) * PITCH_A + A_M(e)] = next_a[i];
        }
#pragma unroll
        for (int i = 0; i < LOADS_B; i++) {
            const uint e = item + i * ITEMS;
            tile_b[B_K(e) * BN + B_N(e)] = next_b[i];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (k0 + BK < depth) { LOAD(k0 + BK) }
#pragma unroll 2
        for (int k = 0; k < BK; k++) {
            float x[TM], w[TN];
#pragma unroll
            for (int i = 0; i < TM; i++) x[i] = tile_a[k * PITCH_A + down + i * (BM / TM)];
#pragma unroll
            for (int j = 0; j < TN; j++) w[j] = tile_b[k * BN + across + j * (BN / TN)];
#pragma unroll
            for (int i = 0; i < TM; i++) {
#pragma unroll
                for (int j = 0; j < TN; j++) sum[i][j] = MUL_ADD(x[i], w[j], sum[i][j]);
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
#pragma unroll
    for (int i = 0; i < TM; i++) {
        const int m = m0 + down + i * (BM / TM);
#pragma unroll
        for (int j = 0; j < TN; j++) {
            const int n = n0 + across + j * (BN / TN);
            if (m < rows && n < columns)
                dst[dst_offset + m * dst_row + n] =
                    clip1(sum[i][j] + (bias_offset < 0 ? 0 : bias[bias_offset + n]), lo, hi);
        }
    }
}
#endif

/* dst = clip(dst + bias[n], lo, hi), after a library's product. Launch (columns, rows). */
__kernel void gemm_finish(__global const float *bias, long bias_offset, __global float *dst, long dst_offset,
                          long dst_row, int columns, float lo, float hi)
{
    if (IS_BEYOND(0, columns)) return;
    const long n = get_global_id(0);
    dst += dst_offset + get_global_id(1) * dst_row + n;
    *dst = clip1(*dst + (bias_offset < 0 ? 0 : bias[bias_offset + n]), lo, hi);
}
