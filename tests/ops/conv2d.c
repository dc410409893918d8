#include "harness.h"

static const ops_case cases[] = {
    /* every kernel at its smallest, then odd sizes, more than one tile, block and panel */
    {"conv2d src=1x1x1x1 wei=1x1x1x1"},
    {"conv2d src=1x3x8x8 wei=5x3x3x3 bias=5 pad=1"},
    {"conv2d src=2x3x17x23 wei=35x3x3x3 bias=35 pad=1", OPS_RELU},
    {"conv2d src=1x3x32x31 wei=64x3x7x7 bias=64 stride=2 pad=3", OPS_RELU6},
    {"conv2d src=3x1x9x9 wei=20x1x5x5 pad=2"},
    {"conv2d src=1x4x14x14 wei=33x4x3x3 stride=2 pad=0,0,1,1"},
    /* 3x3, stride 1 */
    {"conv2d src=1x16x4x4 wei=16x16x3x3 pad=1"},
    {"conv2d src=1x16x7x7 wei=32x16x3x3 bias=32 pad=1", OPS_RELU},
    {"conv2d src=2x40x13x9 wei=24x40x3x3 bias=24 pad=1", OPS_RESIDUAL | OPS_RELU},
    {"conv2d src=1x64x14x14 wei=48x64x3x3 bias=48 pad=1", OPS_RELU | OPS_MAX_POOL},
    {"conv2d src=3x24x11x15 wei=40x24x3x3 pad=1", OPS_RELU | OPS_MAX_POOL},
    {"conv2d src=2x32x10x10 wei=32x32x3x3 pad=0"},
    {"conv2d src=1x20x9x12 wei=17x20x3x3 pad=1,0,0,1"},
    {"conv2d src=1x8x3x3 wei=9x8x3x3 pad=0"},
    {"conv2d src=1x512x7x7 wei=288x512x3x3 pad=1"}, /* weights past the share schedule's limit */
    {"conv2d src=2x288x15x14 wei=352x288x3x3 bias=352 pad=1", OPS_RESIDUAL | OPS_RELU6},
    /* 1x1 */
    {"conv2d src=1x16x1x1 wei=16x16x1x1"},
    {"conv2d src=2x24x7x7 wei=40x24x1x1 bias=40", OPS_RELU},
    {"conv2d src=1x100x9x5 wei=37x100x1x1 bias=37", OPS_RESIDUAL | OPS_RELU},
    {"conv2d src=3x64x13x13 wei=96x64x1x1 bias=96", OPS_PRE | OPS_RELU},
    {"conv2d src=1x45x6x10 wei=50x45x1x1", OPS_PRE},
    {"conv2d src=2x64x12x10 wei=32x64x1x1", OPS_PRE | OPS_MEAN_POOL},
    {"conv2d src=1x48x9x7 wei=24x48x1x1", OPS_PRE | OPS_MEAN_POOL},
    {"conv2d src=2x32x15x11 wei=48x32x1x1 stride=2", OPS_RESIDUAL | OPS_RELU},
    {"conv2d src=1x1030x4x4 wei=64x1030x1x1"},
    /* strides, dilation, large windows, asymmetric pads */
    {"conv2d src=2x32x15x17 wei=48x32x3x3 bias=48 stride=2 pad=1", OPS_RESIDUAL | OPS_RELU},
    {"conv2d src=1x20x12x12 wei=33x20x5x5 stride=1x2 pad=2 bias=33"},
    {"conv2d src=1x16x14x13 wei=16x16x3x3 dilation=2 pad=2", OPS_RELU6},
    {"conv2d src=2x17x11x19 wei=18x17x2x4 dilation=3x2 stride=2x3 pad=1,2,3,0"},
    {"conv2d src=1x24x3x3 wei=40x24x3x3 stride=2 pad=1"},
    {"conv2d src=1x16x5x1 wei=16x16x5x1 pad=2,0,2,0"},
    {"conv2d src=1x6x4x4 wei=7x6x4x4 bias=7"},
    /* groups */
    {"conv2d src=1x16x9x9 wei=16x1x3x3 groups=16 pad=1", OPS_RELU6},
    {"conv2d src=2x40x11x7 wei=40x1x3x3 bias=40 groups=40 stride=2 pad=1"},
    {"conv2d src=1x24x8x9 wei=24x1x5x5 bias=24 groups=24 stride=2 pad=1,1,2,2", OPS_RELU6},
    {"conv2d src=1x19x9x9 wei=19x1x3x3 groups=19 dilation=2 pad=2"},
    {"conv2d src=1x33x7x7 wei=33x1x7x7 groups=33 pad=3"},
    {"conv2d src=2x8x9x9 wei=24x1x3x3 groups=8 pad=1"}, /* three outputs for each channel */
    {"conv2d src=1x64x8x8 wei=96x32x3x3 groups=2 pad=1 bias=96", OPS_RELU},
    {"conv2d src=1x64x8x8 wei=64x16x1x1 groups=4"},
    {"conv2d src=2x12x7x7 wei=18x4x3x3 groups=3 pad=1"},
    /* a range of channels of a wider tensor, in and out */
    {"conv2d src=2x32x7x7 wei=32x32x3x3 pad=1 bias=32", OPS_RANGE | OPS_RELU},
    {"conv2d src=2x48x6x6 wei=32x48x1x1", OPS_RANGE},
    {"conv2d src=2x32x9x9 wei=48x32x3x3 stride=2 pad=1", OPS_RANGE},
    {"conv2d src=2x32x9x9 wei=32x1x3x3 groups=32 pad=1", OPS_RANGE},
    {"conv2d src=2x3x9x9 wei=32x3x3x3 pad=1", OPS_RANGE},
    /* computed weights */
    {"conv2d src=1x8x5x5 wei=6x8x3x3 bias=6 pad=1", .constants_from = -1},
    /* empty, wrong */
    {"conv2d src=0x16x8x8 wei=16x16x3x3 pad=1"},
    {"conv2d src=1x3x2x2 wei=4x3x3x3", .must_fail = true},
    {"conv2d src=1x3x8x8 wei=4x2x3x3", .must_fail = true},
    {"conv2d src=1x4x8x8 wei=4x2x3x3 groups=3", .must_fail = true},
    {"conv2d src=1x3x8x8 wei=4x3x3x3 bias=5", .must_fail = true},
    {"conv2d src=1x3x8x8 wei=4x3x3x3 pad=-1", .must_fail = true},
    {"conv2d src=3x8x8 wei=4x3x3x3", .must_fail = true},
    /* the adjoint */
    {"conv_transpose2d src=1x1x1x1 wei=1x1x1x1"},
    {"conv_transpose2d src=2x5x4x3 wei=5x7x3x3 bias=7 stride=2 pad=1 output_pad=1"},
    {"conv_transpose2d src=1x16x5x5 wei=16x8x4x4 stride=2 pad=1"},
    {"conv_transpose2d src=1x6x5x7 wei=6x4x2x3 groups=2 dilation=2x1 stride=3x2 pad=0,1,1,0"},
    {"conv_transpose2d src=1x4x4x4 wei=4x4x3x3 stride=2 output_pad=2", .must_fail = true},
};

int main(void)
{
    return ops_run("conv2d", cases, sizeof cases / sizeof *cases,
                   "conv2d:first_layer conv2d:depthwise conv2d:gemm_1x1 conv2d:winograd_4x4_3x3 conv2d:direct conv2d:gather_gemm "
                   "conv2d:im2col_gemm conv2d:plain conv_transpose2d:plain");
}
