#include "golden.h"

/* By ONNX's reference evaluator. */
static const float want0[] = {-2.25f, 2.25f, 2,    1.75f, 1.5f, 1.25f,  0.5f, 0.25f,
                              1,      0.75f, 0.5f, 0.25f, 0,    -0.25f, 0,    -0.25f};
static const float want1[] = {0.25f, 0, -0.75f, -1, -1.75f, -2, 2, 1.75f};
static const float want2[] = {-2.25f, -1.75f, -1.25f, -0.5f, 0,     0.5f, 1.25f, 1.75f, 2.25f,
                              2,      -2.25f, -1.75f, -1,    -0.5f, 0,    0.75f, 1.25f, 1.75f};
static const float want3[] = {
    0.5f, 0.5f, 0.5f,   0.5f,  0.5f, 0.5f, 0.5f, 0.5f, 0.5f,  0.5f, 0.5f,   0.5f, 0.5f, 0.5f, 0.5f, 0.5f, 0.5f, 0.5f,
    0.5f, 0.5f, -2.25f, 2.25f, 2,    0.5f, 0.5f, 0.5f, 1.75f, 1.5f, 1.25f,  0.5f, 0.5f, 0.5f, 0.5f, 0.5f, 0.5f, 0.5f,
    0.5f, 0.5f, 1,      0.75f, 0.5f, 0.5f, 0.5f, 0.5f, 0.25f, 0,    -0.25f, 0.5f, 0.5f, 0.5f, 0.5f, 0.5f, 0.5f, 0.5f};
static const float want4[] = {
    0.25f,  0.5f,  0.25f,  0,      -0.25f, 0,     0.25f,  0.5f,  1.25f,  1.5f,   1.25f,  1,     0.75f,  1,
    1.25f,  1.5f,  2.25f,  -2.25f, 2.25f,  2,     1.75f,  2,     2.25f,  -2.25f, 1.25f,  1.5f,  1.25f,  1,
    0.75f,  1,     1.25f,  1.5f,   0.25f,  0.5f,  0.25f,  0,     -0.25f, 0,      0.25f,  0.5f,  1.25f,  1.5f,
    1.25f,  1,     0.75f,  1,      1.25f,  1.5f,  2,      2.25f, 2,      1.75f,  1.5f,   1.75f, 2,      2.25f,
    -1.75f, -1.5f, -1.75f, -2,     -2.25f, -2,    -1.75f, -1.5f, -0.75f, -0.5f,  -0.75f, -1,    -1.25f, -1,
    -0.75f, -0.5f, -1.75f, -1.5f,  -1.75f, -2,    -2.25f, -2,    -1.75f, -1.5f,  2,      2.25f, 2,      1.75f,
    1.5f,   1.75f, 2,      2.25f,  -1.75f, -1.5f, -1.75f, -2,    -2.25f, -2,     -1.75f, -1.5f};
static const float want5[] = {-2.25f, -2.25f, -2.25f, 2.25f, 2.25f, -2.25f, -2.25f, -2.25f, 2.25f, 2.25f,
                              2,      2,      2,      1.75f, 1.75f, 2,      2,      2,      1.75f, 1.75f,
                              2,      2,      2,      1.75f, 1.75f, 1.5f,   1.5f,   1.5f,   1.25f, 1.25f,
                              1.5f,   1.5f,   1.5f,   1.25f, 1.25f, 1,      1,      1,      0.75f, 0.75f,
                              1,      1,      1,      0.75f, 0.75f, 1,      1,      1,      0.75f, 0.75f};
static const float want6[] = {-2.25f, 1.5f, 0.5f, -0.5f, -1.5f, 2.25f, 2.25f, 1.25f, 0.25f,  -0.75f, -1.75f, 2,
                              2,      1,    0,    -1,    -2,    1.75f, 1.75f, 0.75f, -0.25f, -1.25f, -2.25f, 1.5f};
static const float want7[] = {-2.25f, 1, 2, 0.5f, 1.5f, 0, 2.25f, 0.75f, 1.75f, 0.25f, 1.25f, -0.25f};
static const float want8[] = {-2.25f, 2.25f, 2, 1.75f, 1.5f, 1.25f, 1, 0.75f, 0.5f, 0.25f, 0, -0.25f};

static const golden_case cases[] = {
    {"concat axis=1 src=2x3x2 src1=2x1x2", {0}, want0, 16, 0},
    {"slice axes=0,-1 starts=-2,1 ends=9223372036854775807,-1 src=3x2x4", {0}, want1, 8, 0},
    {"slice axes=1,2 starts=-1,5 ends=-100,0 steps=-1,-2 src=2x3x7", {0}, want2, 18, 0},
    {"pad mode=constant value=0.5 begin=1,0,2 end=0,1,1 src=2x2x3", {0}, want3, 54, 0},
    {"pad mode=reflect begin=0,0,2,1 end=0,0,1,3 src=1x2x3x4", {0}, want4, 96, 0},
    {"pad mode=edge begin=0,1,2 end=0,2,1 src=2x2x2", {0}, want5, 50, 0},
    {"transpose axes=2,0,1 src=2x3x4", {0}, want6, 24, 0},
    {"transpose src=2x3x2", {0}, want7, 12, 0},
    {"reshape dims=0,-1,2 src=2x2x3", {0}, want8, 12, 0},
};

int main(void)
{
    return golden_run("golden_copy", cases, sizeof cases / sizeof *cases);
}
