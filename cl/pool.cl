/* Pooling. A plane is one picture's channel (LANES 1: plain layout) or block of 16 channels (LANES 16: blocked); pixel (y, x)
 * lies at y*row + x*LANES. -DLANES, -DWIDTH=16|1: channels of an item, -DMEAN=0|1.
 * A maximum hands NaN on and is -inf where a window has no tap inside the picture; a mean divides by the taps inside the
 * picture, or, with include_pad, by those inside picture and pads, and is 0 where there are none. */

#define LANE_ITEMS (LANES / WIDTH)

static inline vec larger(vec most, vec x)
{
    return select(most, x, isgreater(x, most) | isnan(x));
}

/* Taps *first <= t < *end of `kernel_size` that fall on 0 .. size - 1, tap 0 being at `start`. */
static inline void taps_within(int start, int kernel_size, int dilation, int size, int *first, int *end)
{
    *first = start < 0 ? min(kernel_size, (-start + dilation - 1) / dilation) : 0;
    *end = start < size ? min(kernel_size, (size - 1 - start) / dilation + 1) : 0;
    *end = max(*first, *end);
}

/* dst[y][x] = maximum or mean of src[y*stride - pad + r*dilation][...] over the window.
 * Launch: dimension 0 = output pixels * LANES/WIDTH, dimension 1 = planes of all pictures. */
__kernel void window(__global const float *src, long src_offset, long src_picture, index_t src_plane,
                     __global float *dst, long dst_offset, long dst_picture, index_t dst_plane, int planes,
                     int in_h, int in_w, int out_h, int out_w, int kernel_h, int kernel_w, int stride_h, int stride_w,
                     int dilation_h, int dilation_w, int pad_top, int pad_left, int pad_bottom, int pad_right,
                     int include_pad)
{
    if (IS_BEYOND(0, (index_t)out_h * out_w * LANE_ITEMS)) return;
    const int pixel = get_global_id(0) / LANE_ITEMS, lane = get_global_id(0) % LANE_ITEMS * WIDTH;
    SPLIT((index_t)get_global_id(1), planes, n, plane);
    SPLIT(pixel, out_w, y, x);
    const int top = y * stride_h - pad_top, left = x * stride_w - pad_left;
    int r0, r1, s0, s1;
    taps_within(top, kernel_h, dilation_h, in_h, &r0, &r1);
    taps_within(left, kernel_w, dilation_w, in_w, &s0, &s1);
    src += src_offset + (long)n * src_picture + plane * src_plane + lane;
    vec result = MEAN ? (vec)(0.0f) : (vec)(-INFINITY);
    for (int r = r0; r < r1; r++)
        for (int s = s0; s < s1; s++) {
            vec v = LOAD(src + ((index_t)(top + r * dilation_h) * in_w + left + s * dilation_w) * LANES);
            result = MEAN ? result + v : larger(result, v);
        }
    if (MEAN) {
        int count = (r1 - r0) * (s1 - s0);
        if (include_pad) {
            taps_within(top + pad_top, kernel_h, dilation_h, in_h + pad_top + pad_bottom, &r0, &r1);
            taps_within(left + pad_left, kernel_w, dilation_w, in_w + pad_left + pad_right, &s0, &s1);
            count = (r1 - r0) * (s1 - s0);
        }
        result = count > 0 ? result * (vec)(1.0f / count) : (vec)(0.0f);
    }
    STORE(result, dst + dst_offset + (long)n * dst_picture + plane * dst_plane + (index_t)pixel * LANES + lane);
}

/* dst[n][c] = maximum or mean over all pixels of a blocked picture; dst is plain.
 * Launch: dimension 0 = blocks * LANES/WIDTH, dimension 1 = pictures. */
__kernel void global_pool(__global const float *src, long src_offset, long src_picture, __global float *dst,
                          long dst_offset, long dst_picture, int channels, index_t pixels)
{
    if (IS_BEYOND(0, CEIL_DIV(channels, LANES) * LANE_ITEMS)) return;
    int block = get_global_id(0) / LANE_ITEMS, lane = get_global_id(0) % LANE_ITEMS * WIDTH;
    const long n = get_global_id(1);
    src += src_offset + n * src_picture + block * pixels * LANES + lane;
    vec result = MEAN ? (vec)(0.0f) : (vec)(-INFINITY);
    for (index_t p = 0; p < pixels; p++) {
        vec x = LOAD(src + p * LANES);
        result = MEAN ? result + x : larger(result, x);
    }
    if (MEAN) result *= (vec)(1.0f / pixels);
    float lanes[WIDTH];
    STORE(result, lanes);
    int c = block * LANES + lane;
    for (int k = 0; k < WIDTH; k++)
        if (c + k < channels) dst[dst_offset + n * dst_picture + c + k] = lanes[k];
}
