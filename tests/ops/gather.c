#include "harness.h"

static const ops_case cases[] = {
    {"gather axis=0 data=5 indices=i64:3", .values = "4,0,-1"},
    {"gather axis=0 data=5x7 indices=i64:4", .values = "0,-5,4,2"},
    {"gather axis=1 data=2x7x3 indices=i64:5", .values = "6,0,-7,-1,3"},
    {"gather axis=-1 data=2x3x11 indices=i64:2x2", .values = "10,0,-11,5"},
    {"gather axis=0 data=5x2x3 indices=i64:scalar", .values = "-2"},
    {"gather axis=1 data=3x4 indices=i64:scalar", .values = "3"},
    {"gather axis=0 data=31 indices=i64:scalar", .values = "17"},
    {"gather axis=1 data=2x20x3x5 indices=i64:37", .values = "0,19,-1,7,-20"},
    {"gather axis=2 data=2x16x5x4 indices=i64:2x3", .values = "4,1,-3"},
    {"gather axis=0 data=3x16x5x4 indices=i64:7", .values = "2,0,1,-1"},
    {"gather axis=1 data=2x20x3x5 indices=i64:4", OPS_RANGE, .values = "19,0,5"},
    {"gather axis=0 data=4x20x3x5 indices=i64:scalar", OPS_RANGE, .values = "2"},
    {"gather axis=0 data=i64:5x3 indices=i64:2", .values = "4,-4"},
    {"gather axis=0 data=5x3 indices=i64:0", .values = "0"},
    {"gather axis=1 data=0x3 indices=i64:2", .values = "0"},
    /* computed indices: out of range is clamped */
    {"gather axis=0 data=5x7 indices=i64:4", .constants_from = -1, .values = "0,-5,4,2"},
    {"gather axis=1 data=2x5x3 indices=i64:6", .constants_from = -1,
     .values = "5,-6,100,-100,9223372036854775000,-9223372036854775000"},
    {"gather axis=0 data=0x3 indices=i64:2", .must_fail = true, .values = "0"},
    {"gather axis=2 data=5x3 indices=i64:2", .must_fail = true, .values = "0"},
    {"gather axis=0 data=5x3 indices=2", .must_fail = true},
    {"gather axis=0 data=scalar indices=i64:2", .must_fail = true, .values = "0"},
    {"gather data=2x2x2x2x2x2x2x2 indices=i64:2x2", .must_fail = true, .values = "0"},
};

int main(void)
{
    return ops_run("gather", cases, sizeof cases / sizeof *cases, "gather:copy");
}
