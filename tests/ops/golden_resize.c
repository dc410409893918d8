#include "golden.h"

/* By ONNX's reference evaluator. The last one is where other runtimes take the quotient of the lengths for the scale.
 */
static const float want0[] = {-2.25f, -2.25f, -2.25f, 2.25f, 2.25f, 2.25f, -2.25f, -2.25f,
                              -2.25f, 2.25f,  2.25f,  2.25f, 2,     2,     2,      1.75f,
                              1.75f,  1.75f,  2,      2,     2,     1.75f, 1.75f,  1.75f};
static const float want1[] = {-2.25f, -2.25f, 2.25f, 2.25f, 2,     2,     1.75f, -2.25f, -2.25f, 2.25f, 2.25f, 2,
                              2,      1.75f,  1.5f,  1.5f,  1.25f, 1.25f, 1,     1,      0.75f,  1.5f,  1.5f,  1.25f,
                              1.25f,  1,      1,     0.75f, 0.5f,  0.5f,  0.25f, 0.25f,  0,      0,     -0.25f};
static const float want2[] = {-2.25f, -2.25f, 2.25f, 2, 2, 1.75f,  1.75f, -2.25f, -2.25f, 2.25f, 2, 2, 1.75f,  1.75f,
                              1.5f,   1.5f,   1.25f, 1, 1, 0.75f,  0.75f, 0.5f,   0.5f,   0.25f, 0, 0, -0.25f, -0.25f,
                              0.5f,   0.5f,   0.25f, 0, 0, -0.25f, -0.25f};
static const float want3[] = {-2.25f, 2.25f, 2.25f,  2,      2,     1.75f, 1.75f, 1.5f,  1.25f, 1.25f,  1,     1,
                              0.75f,  0.75f, 1.5f,   1.25f,  1.25f, 1,     1,     0.75f, 0.75f, 0.5f,   0.25f, 0.25f,
                              0,      0,     -0.25f, -0.25f, 0.5f,  0.25f, 0.25f, 0,     0,     -0.25f, -0.25f};
static const float want4[] = {-2.25f, 2, 1.5f, 0, -0.5f, -1, 2.25f, 1.75f, 1.25f};
static const float want5[] = {-2.25f,    -1.125f, 1.125f, 2.1875f, 2.0625f, 2,         -1.25f,    -0.421875f,
                              1.234375f, 2,       1.875f, 1.8125f, 0.75f,   0.984375f, 1.453125f, 1.625f,
                              1.5f,      1.4375f, 1.75f,  1.6875f, 1.5625f, 1.4375f,   1.3125f,   1.25f};
static const float want6[] = {-2.25f,  0,       2.25f,   2.125f,  2,       1.875f, 1.75f,   0.5f,   0.375f,
                              0.25f,   0.125f,  0,       -0.125f, -0.25f,  -1.5f,  -1.625f, -1.75f, -1.875f,
                              -2,      -2.125f, -2.25f,  2.25f,   2.125f,  2,      1.875f,  1.75f,  1.625f,
                              1.5f,    0.25f,   0.125f,  0,       -0.125f, -0.25f, -0.375f, -0.5f,  -1.75f,
                              -1.875f, -2,      -2.125f, -2.25f,  0,       2.25f};
static const float want7[] = {
    -2.25f, 0.449999988f, 2.20000005f, 2.04999995f,  2,      0.75f, 1.3125f,      1.63750005f,  1.48749995f,  1.4375f,
    1.375f, 1.22500002f,  1.07500005f, 0.925000012f, 0.875f, 1,     0.850000024f, 0.699999988f, 0.550000012f, 0.5f};
static const float want8[] = {-1.625f,       0.970833361f,  1.95833337f,  1.75833333f, 1.58333337f,   1,
                              0.824999988f,  0.625f,        0.425000012f, 0.25f,       -0.333333343f, -0.508333325f,
                              -0.708333313f, -0.908333361f, -1.08333337f};
static const float want9[] = {-0.111111268f, 1.58333337f,  1.16666675f,  -0.0833332017f, -0.499999851f,
                              -0.916666508f, 0.999999404f, 0.583332777f, 0.166666135f};
static const float pair[] = {100, 200}, want10[] = {100, 165.384615f};

static const golden_case cases[] = {
    {"resize mode=nearest scale=2x3 src=1x1x2x2", {0}, want0, 24, 0},
    {"resize mode=nearest size=5x7 coords=asymmetric round=floor src=1x1x3x4", {0}, want1, 35, 0},
    {"resize mode=nearest size=5x7 coords=half_pixel round=prefer_ceil src=1x1x3x4", {0}, want2, 35, 0},
    {"resize mode=nearest size=5x7 coords=align_corners round=ceil src=1x1x3x4", {0}, want3, 35, 0},
    {"resize mode=nearest scale=0.6 coords=half_pixel round=prefer_floor src=1x1x5x5", {0}, want4, 9, 0},
    {"resize mode=linear scale=2 src=1x1x2x3", {0}, want5, 24, 1e-6},
    {"resize mode=linear size=3x7 coords=align_corners src=1x2x5x4", {0}, want6, 42, 1e-6},
    {"resize mode=linear size=4x5 coords=asymmetric src=1x1x3x3", {0}, want7, 20, 1e-6},
    {"resize mode=linear size=3x5 coords=pytorch_half_pixel src=1x1x4x4", {0}, want8, 15, 1e-6},
    {"resize mode=linear scale=0.6 src=1x1x5x5", {0}, want9, 9, 1e-6},
    {"resize mode=linear scale=1x1.3 src=1x1x1x2", {pair}, want10, 2, 1e-6},
};

int main(void)
{
    return golden_run("golden_resize", cases, sizeof cases / sizeof *cases);
}
