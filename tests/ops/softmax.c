#include "harness.h"

static const ops_case cases[] = {
    {"softmax src=1", .no_integers = true},
    {"softmax src=7", .no_integers = true},
    {"softmax src=1x1000", .low = -20, .high = 20, .no_integers = true},
    {"softmax src=5x1009", .low = -3, .high = 9, .no_integers = true},
    {"softmax axis=0 src=5x67", .low = -30, .high = 30, .no_integers = true},
    {"softmax axis=1 src=3x7x130", .low = -30, .high = 30, .no_integers = true},
    {"softmax axis=-3 src=2x3x4x5", .low = -30, .high = 30, .no_integers = true},
    {"softmax axis=1 src=2x21x5x7", .low = -9, .high = 9, .no_integers = true},
    {"softmax axis=2 src=2x3x1x5", .no_integers = true},
    {"softmax axis=3 src=2x2x3x2x5x3", .no_integers = true},
    {"softmax axis=7 src=1x2x1x2x1x2x1x3", .no_integers = true},
    {"softmax axis=0 src=300", .low = -100, .high = 100, .no_integers = true},
    {"softmax axis=0 src=3x20x2x2", OPS_RANGE, .no_integers = true},
    {"softmax axis=1 src=3x20x5", OPS_RANGE, .no_integers = true},
    {"softmax axis=-1 src=3x20x5", OPS_RANGE, .no_integers = true},
    {"softmax axis=-1 src=4x7", OPS_RANGE, .no_integers = true},
    {"softmax log=1 src=1x1000", .low = -20, .high = 20, .no_integers = true},
    {"softmax log=1 src=3x2", .low = -1000, .high = 1000, .no_integers = true},
    {"softmax log=1 axis=0 src=5x67", .low = -30, .high = 30, .no_integers = true},
    {"softmax log=1 axis=1 src=3x20x5", OPS_RANGE, .no_integers = true},
    {"softmax log=1 axis=1 src=2x19x3x3", .low = -9, .high = 9, .no_integers = true},
    {"softmax src=0x5", .no_integers = true},
    {"softmax src=5x0", .no_integers = true},
    {"softmax src=scalar", .must_fail = true},
    {"softmax axis=2 src=3x4", .must_fail = true},
    {"softmax axis=-3 src=3x4", .must_fail = true},
    {"softmax src=i64:3x4", .must_fail = true},
};

int main(void)
{
    return ops_run("softmax", cases, sizeof cases / sizeof *cases, "softmax:lines");
}
