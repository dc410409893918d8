#include "golden.h"

#include <math.h>

/* By PyTorch 2, the formula's in float64. */
static const float sum02[] = {-2.75f, 0,    2.75f, 0.75f, -1.25f, 0,    2.75f, 0.75f,
                              -1.25f, 1.5f, 2.75f, 0.75f, -1.25f, 1.5f, -0.5f};
static const float mean23[] = {-0.1125f, 0.1125f, 0.1f, 0.0875f, 0.075f, 0.0625f};
static const float max13[] = {2.25f, 1.25f, 0, 2.25f, 1.75f, 0.5f, -0.75f, 2.25f};
static const float mean_all[] = {0.0541666667f};
static const float nan_max[] = {NAN, INFINITY, -INFINITY};
static const float nan_sum[] = {NAN, NAN, -INFINITY};
static const float nan_mean[] = {NAN, NAN, -INFINITY};
static const float empty_sum[] = {0, 0};
static const float empty_mean[] = {NAN, NAN};
static const float arg1[] = {1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 1,
                             0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 1, 0, 0, 0};
static const float arg_last[] = {1, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0};
static const float tie[] = {1, 1, 0, 0};

/* ONNX's value; PyTorch refuses it. */
static const float empty_max[] = {-INFINITY, -INFINITY};

static const float with_nan[] = {1, NAN, 3, INFINITY, -INFINITY, 0, -INFINITY, -INFINITY, -INFINITY};
static const float ties[] = {2, 5, 5, 1, 1, NAN, 9, NAN, 0, -0.0f, 0, 0, -INFINITY, -INFINITY, -INFINITY, -INFINITY};

static const golden_case cases[] = {
    {"reduce fn=sum axes=0,2 src=2x3x4x5", {0}, sum02, 15, 1e-6},
    {"reduce fn=mean axes=2,3 src=2x3x4x5", {0}, mean23, 6, 1e-6},
    {"reduce fn=max axes=1,3 keep_dims=1 src=2x3x4x5", {0}, max13, 8, 0},
    {"reduce fn=mean src=2x3x4x5", {0}, mean_all, 1, 1e-6},
    {"reduce fn=max axes=1 src=3x3", {with_nan}, nan_max, 3, 0},
    {"reduce fn=sum axes=1 src=3x3", {with_nan}, nan_sum, 3, 0},
    {"reduce fn=mean axes=1 src=3x3", {with_nan}, nan_mean, 3, 0},
    {"reduce fn=max axes=2,3 src=1x3x1x3", {with_nan}, nan_max, 3, 0},
    {"reduce fn=sum axes=1 src=2x0", {0}, empty_sum, 2, 0},
    {"reduce fn=mean axes=1 src=2x0", {0}, empty_mean, 2, 0},
    {"reduce fn=max axes=1 src=2x0", {0}, empty_max, 2, 0},
    {"argmax axis=1 src=2x3x4x5", {0}, arg1, 40, 0},
    {"argmax axis=-1 keep_dims=1 src=2x3x4x5", {0}, arg_last, 24, 0},
    {"argmax axis=1 src=4x4", {ties}, tie, 4, 0},
};

int main(void)
{
    return golden_run("golden reduce", cases, sizeof cases / sizeof *cases);
}
