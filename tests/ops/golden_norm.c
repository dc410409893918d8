#include "golden.h"

#include <math.h>

/* By PyTorch 2 in float64. */
static const float bn[] = {-1.5f,
                           7.5f,
                           7,
                           6.5f,
                           -0.755928946f,
                           -0.56694671f,
                           -0.377964473f,
                           -0.188982237f,
                           -3.3441236f,
                           -3.40147753f,
                           -3.45883147f,
                           -3.5161854f,
                           2,
                           1.5f,
                           1,
                           0.5f,
                           1.51185789f,
                           1.70084013f,
                           1.88982237f,
                           2.0788046f,
                           -2.94264607f,
                           -3,
                           -3.05735393f,
                           -3.11470787f};
static const float layer1[] = {-2.48871373f,  -1.57023387f, -2, -2.35486358f, 2.1151754f,
                               -0.792921501f, -1.57323038f, -2, -2.07323038f, 2.9570785f,
                               -0.792921501f, -1.57323038f, -2, -2.07323038f, 2.9570785f};
static const float layer2[] = {-1.09037575f, 0.190815756f, 0, -0.109037575f, -0.136296969f, -0.0817781811f,
                               0.712639335f, 0.2137918f,   0, 0.0712639335f, 0.427583601f,  1.068959f};
static const float lrn5[] = {-0.95585983f,
                             0.994837845f,
                             0.829854733f,
                             0.762946376f,
                             0.618803774f,
                             0.544118755f,
                             0.468274469f,
                             0.37373174f,
                             0.261349873f,
                             0.134682245f,
                             0,
                             -0.142043318f,
                             -0.29184658f,
                             -0.434790709f};
static const float lrn3[] = {-0.888234788f, 0.928279122f, 0.921714447f, 0.657535506f, 0.6f, 0.566138517f,
                             0.516397779f,  0.442325868f, 0.333333333f, 0.191273014f, 0,    -0.227429413f};
static const float bn_scale[] = {2, -1, 0.5}, bn_shift[] = {1, 0, -3}, bn_mean[] = {-1, 0.5, 2},
                   bn_variance[] = {0.25, 1, 4};
/* known values of the ONNX rule: epsilon 0.75, variance 0.25, mean 1, scale 2, bias 1 */
static const float rule_src[] = {1, 3}, rule_scale[] = {2}, rule_one[] = {1}, rule_variance[] = {0.25},
                   rule[] = {1, 5};

static const golden_case cases[] = {
    {"batch_norm epsilon=0.75 src=2x3x2x2 scale=3 shift=3 mean=3 variance=3",
     {NULL, bn_scale, bn_shift, bn_mean, bn_variance},
     bn,
     24,
     3e-7},
    {"batch_norm epsilon=0.75 src=2x1x1x1 scale=1 shift=1 mean=1 variance=1",
     {rule_src, rule_scale, rule_one, rule_one, rule_variance},
     rule,
     2,
     3e-7},
    {"layer_norm src=3x5 scale=5 shift=5", {0}, layer1, 15, 1e-6},
    {"layer_norm axis=-2 epsilon=0.01 src=2x2x3 scale=2x3", {0}, layer2, 12, 1e-6},
    {"lrn size=5 alpha=0.5 beta=0.75 bias=2 src=1x7x2", {0}, lrn5, 14, 1e-6},
    {"lrn size=3 alpha=2 beta=0.5 bias=1 src=1x4x3", {0}, lrn3, 12, 1e-6},
};

int main(void)
{
    return golden_run("golden norm", cases, sizeof cases / sizeof *cases);
}
