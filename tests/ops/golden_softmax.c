#include "golden.h"

#include <math.h>

/* By PyTorch 2, the formula's in float64. */
static const float last[] = {0.00463562388f, 0.417285564f, 0.324982324f, 0.253096488f, 0.349932009f, 0.272527322f,
                             0.212244492f,   0.165296177f, 0.349932009f, 0.272527322f, 0.212244492f, 0.165296177f,
                             0.349932009f,   0.272527322f, 0.212244492f, 0.165296177f, 0.349932009f, 0.272527322f,
                             0.212244492f,   0.165296177f, 0.349932009f, 0.272527322f, 0.212244492f, 0.165296177f};
static const float first[] = {0.148047198f,  0.952574127f,  0.952574127f,  0.952574127f,  0.952574127f,
                              0.952574127f,  0.952574127f,  0.952574127f,  0.148047198f,  0.148047198f,
                              0.148047198f,  0.148047198f,  0.851952802f,  0.0474258732f, 0.0474258732f,
                              0.0474258732f, 0.0474258732f, 0.0474258732f, 0.0474258732f, 0.0474258732f,
                              0.851952802f,  0.851952802f,  0.851952802f,  0.851952802f};
static const float middle[] = {-4.08030841f,   -0.407605964f,  -0.407605964f,  -0.407605964f, -0.330308413f,
                               -1.40760596f,   -1.40760596f,   -1.40760596f,   -1.33030841f,  -2.40760596f,
                               -2.40760596f,   -2.40760596f,   -2.83383147f,   -2.83383147f,  -2.83383147f,
                               -2.83383147f,   -3.83383147f,   -3.83383147f,   -3.83383147f,  -3.83383147f,
                               -0.0838314662f, -0.0838314662f, -0.0838314662f, -0.0838314662f};
static const float big_log[] = {-0.693147182f, -0.693147182f, -1000, 0};
static const float big_soft[] = {0.5f, 0.5f, 0, 1};
static const float far_log[] = {-858, -148, 0};
static const float low_log[] = {-1.38629436f, -1.38629436f, -1.38629436f, -1.38629436f};
static const float odd[] = {NAN, NAN, NAN, NAN, NAN, NAN, 0, 1};
static const float odd_log[] = {NAN, NAN, NAN, NAN, NAN, NAN, -INFINITY, 0};

/* Softmax of ONNX up to opset 12 flattens from the axis on, from 13 on it works on one axis. */
static const float one_to_four[] = {1, 2, 3, 4};
static const float opset11[] = {0.0320586033f, 0.0871443187f, 0.236882818f, 0.64391426f};
static const float opset13[] = {0.119202922f, 0.119202922f, 0.880797078f, 0.880797078f};

static const float far_apart[] = {1e8f, 1e8f, -1000, 0};
static const float very_far[] = {-431, 279, 427};
static const float low[] = {-168, -168, -168, -168};
static const float not_finite[] = {1, INFINITY, NAN, 0, -INFINITY, -INFINITY, -INFINITY, 0};

static const golden_case cases[] = {
    {"softmax src=2x3x4", {0}, last, 24, 1e-6},
    {"softmax axis=0 src=2x3x4", {0}, first, 24, 1e-6},
    {"softmax axis=1 log=1 src=2x3x4", {0}, middle, 24, 1e-6},
    {"softmax src=1x4", {one_to_four}, opset11, 4, 1e-6},
    {"softmax axis=1 src=1x2x2", {one_to_four}, opset13, 4, 1e-6},
    {"softmax log=1 src=2x2", {far_apart}, big_log, 4, 1e-7},
    {"softmax src=2x2", {far_apart}, big_soft, 4, 0},
    {"softmax log=1 src=1x3", {very_far}, far_log, 3, 0},
    {"softmax log=1 src=1x4", {low}, low_log, 4, 1e-7},
    {"softmax src=4x2", {not_finite}, odd, 8, 0},
    {"softmax log=1 src=4x2", {not_finite}, odd_log, 8, 0},
};

int main(void)
{
    return golden_run("golden softmax", cases, sizeof cases / sizeof *cases);
}
