#include "golden.h"

#include <math.h>

/* By PyTorch 2 in float64. */
static const float prelu[] = {-1.125f, 2.25f,    2,     1.75f,    1.5f,   1.25f,   1,     0.75f,
                              0.5f,    0.25f,    0,     -0,       -0.25f, -0.375f, -0.5f, -0.625f,
                              -0.375f, -0.4375f, -0.5f, -0.5625f, 2.25f,  2,       1.75f, 1.5f};
static const float sub[] = {-2.75f, -2.5f, -2.25f, -2, 2.75f, 3,     3.25f, 3.5f,  3.5f,  3.75f, 4,     4.25f,
                            1.25f,  1.5f,  1.75f,  2,  2,     2.25f, 2.5f,  2.75f, 2.75f, 3,     3.25f, 3.5f};
static const float div[] = {-4.5f, 4.5f, 8, 7, INFINITY, INFINITY, 2, 1.5f, 2, 1, NAN, -INFINITY};
static const float maxn[] = {NAN, NAN, 3, INFINITY, 0, NAN};
static const float minn[] = {NAN, NAN, -INFINITY, 2, -0.5f, NAN};
static const float powr[] = {8, -8, 2, 1, 9, 4};
static const float nan_a[] = {1, NAN, -INFINITY, 2, 0, NAN}, nan_b[] = {NAN, 1, 3, INFINITY, -0.5, NAN};
static const float base[] = {2, -2, 4, 0, -3, 0.5}, exponent[] = {3, 3, 0.5, 0, 2, -2};

static const golden_case cases[] = {
    {"prelu src=2x3x2x2 slope=3", {0}, prelu, 24, 0},
    {"binary fn=sub src=2x3x1 other=3x4", {0}, sub, 24, 0},
    {"binary fn=div src=2x3x1x2 other=3x1x1", {0}, div, 12, 0},
    {"binary fn=max src=1x6x1x1 other=1x6x1x1", {nan_a, nan_b}, maxn, 6, 0},
    {"binary fn=min src=6 other=6", {nan_a, nan_b}, minn, 6, 0},
    {"binary fn=pow src=6 other=6", {base, exponent}, powr, 6, 1e-6},
};

int main(void)
{
    return golden_run("golden binary", cases, sizeof cases / sizeof *cases);
}
