#include "harness.h"

/* Means over windows whose size is no power of two are no sums of small integers. */
static const ops_case cases[] = {
    {"pool2d kind=max kernel=2 src=1x16x8x8"},
    {"pool2d kind=max kernel=2 src=2x37x7x9"},
    {"pool2d kind=max kernel=3 stride=2 pad=1 src=1x64x15x14"},
    {"pool2d kind=max kernel=3 stride=2 ceil=1 src=2x5x13x12"},
    {"pool2d kind=max kernel=3x2 stride=1x3 pad=1,0,2,1 src=1x17x9x11"},
    {"pool2d kind=max kernel=1 stride=2 src=1x3x5x5"},
    {"pool2d kind=max kernel=5 stride=1 pad=2 src=1x33x3x4"},
    {"pool2d kind=max kernel=3 dilation=2 pad=2 stride=1 src=1x32x7x7"},
    {"pool2d kind=max kernel=2 dilation=3 pad=1 stride=1 src=1x7x3x3"},
    {"pool2d kind=max kernel=7 src=1x1x7x7"},
    {"pool2d kind=max kernel=2 stride=2 pad=1 ceil=1 src=1x16x5x5"},
    {"pool2d kind=max kernel=2 src=2x32x6x6", OPS_RANGE},
    {"pool2d kind=max kernel=2 src=0x16x8x8"},
    {"pool2d kind=max kernel=2 src=3x0x8x8"},
    {"pool2d kind=average kernel=2 src=1x16x8x8"},
    {"pool2d kind=average kernel=2 src=2x37x7x9"},
    {"pool2d kind=average kernel=2 src=2x32x6x6", OPS_RANGE},
    {"pool2d kind=average kernel=3 stride=2 pad=1 src=1x64x15x14", .no_integers = true},
    {"pool2d kind=average kernel=3 stride=2 pad=1 include_pad=1 src=1x20x15x14", .no_integers = true},
    {"pool2d kind=average kernel=3 stride=2 pad=1 ceil=1 src=2x5x12x13", .no_integers = true},
    {"pool2d kind=average kernel=3 stride=2 pad=1 ceil=1 include_pad=1 src=2x5x12x13", .no_integers = true},
    {"pool2d kind=average kernel=3x2 stride=1x3 pad=1,0,2,1 include_pad=1 src=1x17x9x11", .no_integers = true},
    {"pool2d kind=average kernel=3 dilation=2 pad=2 stride=1 src=1x33x5x7", .no_integers = true},
    {"pool2d kind=average kernel=3 dilation=2 pad=2 stride=1 include_pad=1 src=1x33x5x7", .no_integers = true},
    {"pool2d kind=average kernel=5 stride=3 pad=2 src=1x1x4x4", .no_integers = true},
    {"pool2d kind=max global=1 src=2x37x5x3"},
    {"pool2d kind=max global=1 src=1x16x1x1"},
    {"pool2d kind=max global=1 src=3x32x4x4", OPS_RANGE},
    {"pool2d kind=average global=1 src=2x1000x7x7", .no_integers = true},
    {"pool2d kind=average global=1 src=3x20x4x8"},
    {"pool2d kind=average global=1 src=1x3x113x1", .no_integers = true},
    {"pool2d kind=average global=1 src=2x48x4x4", OPS_RANGE},
    {"pool2d kind=average global=1 src=0x48x4x4"},
    {"pool2d kind=max src=1x3x8x8", .must_fail = true},
    {"pool2d kind=max kernel=3 src=3x8x8", .must_fail = true},
    {"pool2d kind=max kernel=9 src=1x3x8x8", .must_fail = true},
    {"pool2d kind=max kernel=3 stride=-1 src=1x3x8x8", .must_fail = true},
    {"pool2d kind=max kernel=3 dilation=-1 src=1x3x8x8", .must_fail = true},
    {"pool2d kind=max kernel=3 pad=3 src=1x3x8x8", .must_fail = true},
    {"pool2d kind=max kernel=3 pad=-1 src=1x3x8x8", .must_fail = true},
    {"pool2d kind=max kernel=4611686018427387904 dilation=4611686018427387904 src=1x3x8x8", .must_fail = true},
    {"pool2d kind=average global=1 src=1x3x0x8", .must_fail = true},
    {"pool2d kind=min kernel=2 src=1x3x8x8", .must_fail = true},
};

int main(void)
{
    return ops_run("pool", cases, sizeof cases / sizeof *cases,
                   "pool2d:blocked_max pool2d:blocked_mean pool2d:global_max pool2d:global_mean pool2d:plain");
}
