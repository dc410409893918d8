#include "harness.h"

#define POSITIVE .low = 0.25, .high = 1.5, .no_integers = true

static const ops_case cases[] = {
    {"batch_norm src=2x37x5x7 scale=37 shift=37 mean=37 variance=37", POSITIVE},
    {"batch_norm src=2x37x5x7 scale=37 shift=37 mean=37 variance=37", OPS_RELU, POSITIVE},
    {"batch_norm src=1x20x5x7 scale=20 shift=20 mean=20 variance=20", OPS_RELU6, POSITIVE},
    {"batch_norm epsilon=0.001 src=1x64x9x9 scale=64 shift=64 mean=64 variance=64", POSITIVE},
    {"batch_norm src=3x16 scale=16 shift=16 mean=16 variance=16", POSITIVE},
    {"batch_norm src=3x5x11 scale=5 shift=5 mean=5 variance=5", OPS_RELU, POSITIVE},
    {"batch_norm src=1x3x2x3x5 scale=3 shift=3 mean=3 variance=3", POSITIVE},
    {"batch_norm src=2x7x3x3 scale=7 shift=7 mean=7 variance=7", OPS_RELU, .constants_from = -1, POSITIVE},
    {"batch_norm src=2x7x3x3 scale=7 shift=7 mean=7 variance=7", .constants_from = 3, POSITIVE},
    {"batch_norm src=2x32x6x6 scale=32 shift=32 mean=32 variance=32", OPS_RANGE, POSITIVE},
    {"batch_norm src=2x32x5 scale=32 shift=32 mean=32 variance=32", OPS_RANGE, POSITIVE},
    {"batch_norm src=0x3x4x4 scale=3 shift=3 mean=3 variance=3", POSITIVE},
    {"batch_norm src=3 scale=3 shift=3 mean=3 variance=3", .must_fail = true},
    {"batch_norm src=1x3x4x4 scale=3 shift=3 mean=4 variance=3", .must_fail = true},
    {"batch_norm src=1x3x4x4 scale=3 shift=3 mean=3", .must_fail = true},
    {"batch_norm epsilon=-1 src=1x3x4x4 scale=3 shift=3 mean=3 variance=3", .must_fail = true},
    {"layer_norm src=5x64 scale=64 shift=64", .no_integers = true},
    {"layer_norm src=2x3x17 scale=17", .no_integers = true},
    {"layer_norm epsilon=0.01 src=2x3x17", .no_integers = true},
    {"layer_norm axis=1 src=2x5x3x4 scale=5x3x4 shift=5x3x4", .no_integers = true},
    {"layer_norm axis=-3 src=2x5x3x4 scale=5x3x4 shift=5x3x4", .constants_from = -1, .no_integers = true},
    {"layer_norm axis=-2 src=3x7 scale=3x7 shift=3x7", .no_integers = true},
    {"layer_norm axis=-1 src=2x32x6x6 scale=6 shift=6", OPS_RANGE, .no_integers = true},
    {"layer_norm axis=1 src=2x32x3x5 scale=32x3x5 shift=32x3x5", OPS_RANGE, .no_integers = true},
    {"layer_norm axis=-4 src=2x32x3x5", OPS_RANGE, .no_integers = true},
    {"layer_norm src=1x1", .no_integers = true},
    {"layer_norm src=0x8 scale=8", .no_integers = true},
    {"layer_norm src=5x64 scale=63", .must_fail = true},
    {"layer_norm axis=2 src=5x64", .must_fail = true},
    {"layer_norm axis=1 src=2x5x3 scale=3", .must_fail = true},
    {"lrn size=5 src=2x37x3x4", .low = -9, .high = 9, .no_integers = true},
    {"lrn size=3 alpha=0.5 beta=0.5 bias=2 src=1x16x5x5", .low = -3, .high = 3, .no_integers = true},
    {"lrn size=4 alpha=1 src=1x7x5", .no_integers = true},
    {"lrn size=1 alpha=1 src=3x7", .no_integers = true},
    {"lrn size=99 alpha=1 src=1x7x2x2", .no_integers = true},
    {"lrn size=5 alpha=1 src=2x32x3x4", OPS_RANGE, .no_integers = true},
    {"lrn size=5 src=0x3x2x2", .no_integers = true},
    {"lrn size=-1 src=1x7x2x2", .must_fail = true},
    {"lrn size=5 src=7", .must_fail = true},
};

int main(void)
{
    return ops_run("norm", cases, sizeof cases / sizeof *cases,
                   "batch_norm:affine batch_norm:plain layer_norm:plain lrn:plain");
}
