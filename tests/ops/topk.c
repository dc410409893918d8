#include "harness.h"

/* Small integers are full of ties. */
static const ops_case cases[] = {
    {"topk k=1 src=1"},
    {"topk k=5 src=1000"},
    {"topk k=5 src=3x1000"},
    {"topk k=7 src=7"},
    {"topk k=257 src=2x257"},
    {"topk k=2 axis=0 src=5x67"},
    {"topk k=3 axis=1 src=3x7x31"},
    {"topk k=4 axis=-2 src=2x3x4x5"},
    {"topk k=17 axis=1 src=2x37x3x5"},
    {"topk k=3 axis=3 src=2x16x3x5"},
    {"topk k=2 axis=3 src=2x2x3x2x3"},
    {"topk k=100 src=5x1009"},
    {"topk k=6 src=4x13", .values = "1,nan,2,2,nan,-inf,inf"},
    {"topk k=13 axis=0 src=13x4", .values = "1,nan,2,2,nan,-inf,inf"},
    {"topk k=300 src=300", .values = "nan"},
    {"topk k=9 src=300", .values = "-inf"},
    {"topk k=3 axis=0 src=3x20x5", OPS_RANGE},
    {"topk k=3 axis=1 src=3x20x5", OPS_RANGE},
    {"topk k=2 axis=2 src=3x20x5", OPS_RANGE},
    {"topk k=2 src=3x7", OPS_RANGE},
    {"topk k=2 axis=1 src=3x20x2x2", OPS_RANGE},
    {"topk k=0 src=3x7"},
    {"topk k=0 src=3x0"},
    {"topk k=2 src=0x7"},
    {"topk k=8 src=3x7", .must_fail = true},
    {"topk k=-1 src=3x7", .must_fail = true},
    {"topk k=1 axis=2 src=3x7", .must_fail = true},
    {"topk k=1 src=scalar", .must_fail = true},
};

int main(void)
{
    return ops_run("topk", cases, sizeof cases / sizeof *cases, "topk:heap");
}
