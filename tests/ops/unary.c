#include "harness.h"

static const ops_case cases[] = {
    {"unary fn=relu src=1"},
    {"unary fn=relu src=2x37x5x7"},
    {"unary fn=relu src=0x3x8x8"},
    {"unary fn=relu src=scalar"},
    {"unary fn=clip alpha=0 beta=6 src=3x16x3x3", .low = -8, .high = 8},
    {"unary fn=clip alpha=-1 beta=2 src=257"},
    {"unary fn=leaky_relu alpha=0.25 src=2x17x9"},
    {"unary fn=elu alpha=1.5 src=1x20x4x4", .no_integers = true},
    {"unary fn=sigmoid src=2x20x3x5", .low = -90, .high = 90, .no_integers = true},
    {"unary fn=tanh src=1031", .low = -6, .high = 6, .no_integers = true},
    {"unary fn=silu src=2x33x2x2", .low = -9, .high = 9, .no_integers = true},
    {"unary fn=hard_swish src=1x24x7x7", .low = -5, .high = 5, .no_integers = true},
    {"unary fn=hard_sigmoid alpha=0.2 beta=0.5 src=777", .low = -5, .high = 5, .no_integers = true},
    {"unary fn=gelu src=5x64", .low = -4, .high = 4, .no_integers = true},
    {"unary fn=erf src=5x64", .low = -4, .high = 4, .no_integers = true},
    {"unary fn=sqrt src=100", .low = 0, .high = 9, .no_integers = true},
    {"unary fn=exp src=1x5x3x3", .low = -9, .high = 9, .no_integers = true},
    {"unary fn=log src=2x5x3x3", .low = 0.001, .high = 9, .no_integers = true},
    {"unary fn=abs src=1x3x5x5"},
    {"unary fn=neg src=1x3x5x5x2"},
    {"unary fn=relu src=2x32x6x6", OPS_RANGE},
    {"unary fn=nonsense src=3", .must_fail = true},
    {"unary fn=relu", .must_fail = true},
};

int main(void) { return ops_run("unary", cases, sizeof cases / sizeof *cases, "unary:clip unary:scalar"); }
