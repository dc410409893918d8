#include "harness.h"

static const ops_case cases[] = {
    {"resize mode=nearest scale=2 src=2x20x5x7"},
    {"resize mode=nearest scale=2x3 coords=asymmetric round=floor src=1x3x5x7"},
    {"resize mode=nearest size=7x3 round=prefer_ceil src=2x17x5x7"},
    {"resize mode=nearest size=7x3 round=floor coords=align_corners src=2x17x5x7"},
    {"resize mode=nearest size=11x13 round=ceil coords=pytorch_half_pixel src=1x32x5x7"},
    {"resize mode=nearest scale=0.6x1.3 round=prefer_floor src=1x16x9x10"},
    {"resize mode=nearest scale=0.6x1.3 coords=asymmetric round=prefer_ceil src=3x4x9x10"},
    {"resize mode=nearest size=1 coords=align_corners src=2x16x5x7"},
    {"resize mode=nearest size=3x5 src=7x2"},
    {"resize mode=nearest size=3x5 src=2x4x7x2x3"},
    {"resize mode=nearest size=8x1 src=5x4x6"},
    {"resize mode=nearest scale=2 src=2x32x3x5", OPS_RANGE},
    {"resize mode=nearest scale=0.1 src=1x2x3x3"},
    {"resize mode=nearest scale=2 src=0x3x4x4"},
    {"resize mode=linear scale=2 src=2x20x5x7"},
    {"resize mode=linear scale=2 src=1x3x5x7"},
    {"resize mode=linear scale=2x4 coords=asymmetric src=1x16x1x7"},
    {"resize mode=linear scale=1.3 src=2x17x9x10", .no_integers = true},
    {"resize mode=linear size=13x4 coords=align_corners src=2x17x5x7", .no_integers = true},
    {"resize mode=linear size=1x4 coords=align_corners src=1x3x5x7", .no_integers = true},
    {"resize mode=linear size=1x9 coords=pytorch_half_pixel src=1x16x5x7", .no_integers = true},
    {"resize mode=linear size=1x9 src=1x16x5x7", .no_integers = true},
    {"resize mode=linear size=3x5 src=7x2", .no_integers = true},
    {"resize mode=linear size=3x5 src=2x4x7x2x3", .no_integers = true},
    {"resize mode=linear size=8x1 src=5x4x6", .no_integers = true},
    {"resize mode=linear scale=2 src=2x32x3x5", OPS_RANGE},
    {"resize mode=linear scale=2 src=2x3x3x5", OPS_RANGE},
    {"resize mode=linear scale=2 src=2x3", OPS_RANGE},
    {"resize src=1x2x3x3", .must_fail = true},
    {"resize scale=2 size=4 src=1x2x3x3", .must_fail = true},
    {"resize scale=-1 src=1x2x3x3", .must_fail = true},
    {"resize size=4x0 src=1x2x3x3", .must_fail = true},
    {"resize size=4 src=1x2x0x3", .must_fail = true},
    {"resize size=4 src=5", .must_fail = true},
    {"resize scale=1e12 src=1x2x3x3", .must_fail = true},
};

int main(void)
{
    return ops_run("resize", cases, sizeof cases / sizeof *cases,
                   "resize:nearest resize:nearest_blocked resize:linear resize:linear_blocked");
}
