#include "golden.h"

#include <math.h>

/* By PyTorch 2 in float64. */
static const float max_ceil[] = {2.25f, 2.25f, 1.75f,  1.25f, 2,    1.75f, 1.25f, 2.25f, 2,     1.75f, 2.25f,
                                 2,     -1.5f, -1.75f, 2.25f, 2,    1.5f,  1.25f, 0.75f, 0.25f, 1,     2.25f,
                                 2,     1.5f,  2.25f,  2,     1.5f, 1,     2.25f, 2,     1.5f,  1};
static const float max_dilated[] = {2.25f, 2.25f, 1.75f, 0.5f,  0.5f,  0,  -1.25f, 2, 2,
                                    1.25f, 1.25f, 0.75f, -0.5f, -0.5f, -1, 2,      2, 2};
static const float mean_inside[] = {0.3125f,       1.125f,
                                    0.625f,        0.25f,
                                    0.458333333f,  0.0833333333f,
                                    -0.416666667f, 0,
                                    0.125f,        -0.25f,
                                    0.305555556f,  0.458333333f,
                                    -1.625f,       -2,
                                    0.666666667f,  1.875f,
                                    0.5f,          0.125f,
                                    -0.375f,       -0.75f,
                                    -0.541666667f, 0.138888889f,
                                    0.166666667f,  -0.208333333f,
                                    0.708333333f,  0.333333333f,
                                    -0.166666667f, -0.541666667f,
                                    2.125f,        1.75f,
                                    1.25f,         0.875f};
static const float mean_padded[] = {0.138888889f,  0.75f,
                                    0.416666667f,  0.111111111f,
                                    0.305555556f,  0.0833333333f,
                                    -0.416666667f, 0,
                                    0.0833333333f, -0.25f,
                                    0.305555556f,  0.305555556f,
                                    -0.541666667f, -1,
                                    0.333333333f,  0.625f,
                                    0.222222222f,  0.0833333333f,
                                    -0.25f,        -0.333333333f,
                                    -0.361111111f, 0.138888889f,
                                    0.166666667f,  -0.138888889f,
                                    0.472222222f,  0.333333333f,
                                    -0.166666667f, -0.361111111f,
                                    0.708333333f,  0.875f,
                                    0.625f,        0.291666667f};
static const float mean_global[] = {-0.1125f, 0.1125f, 0.1f, 0.0875f, 0.075f, 0.0625f};
static const float max_nan[] = {NAN, 8, -INFINITY, INFINITY};
static const float max_nan_overlap[] = {NAN, NAN, NAN, NAN};
static const float with_nan[] = {1,         2,         3,        4, 5,         NAN,       7, 8,
                                 -INFINITY, -INFINITY, INFINITY, 1, -INFINITY, -INFINITY, 2, 3};

static const golden_case cases[] = {
    {"pool2d kind=max kernel=3 stride=2 pad=1 ceil=1 src=1x2x6x7", {0}, max_ceil, 32, 0},
    {"pool2d kind=max kernel=2x3 stride=1x2 pad=0x1 dilation=3x2 src=1x2x6x7", {0}, max_dilated, 18, 0},
    {"pool2d kind=average kernel=3 stride=2 pad=1 ceil=1 src=1x2x6x7", {0}, mean_inside, 32, 3e-7},
    {"pool2d kind=average kernel=3 stride=2 pad=1 ceil=1 include_pad=1 src=1x2x6x7", {0}, mean_padded, 32, 3e-7},
    {"pool2d kind=average global=1 src=2x3x4x5", {0}, mean_global, 6, 3e-7},
    {"pool2d kind=max kernel=2 src=1x1x4x4", {with_nan}, max_nan, 4, 0},
    {"pool2d kind=max kernel=3 stride=1 src=1x1x4x4", {with_nan}, max_nan_overlap, 4, 0},
};

int main(void)
{
    return golden_run("golden pool", cases, sizeof cases / sizeof *cases);
}
