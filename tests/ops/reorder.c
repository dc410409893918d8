#include "harness.h"

/* The copies between layouts are also under every test with a blocked implementation. */
static const ops_case cases[] = {
    {"reorder src=2x3x5x7"},
    {"reorder src=1x16x1x1"},
    {"reorder src=3x37x9x4"},
    {"reorder src=5x11"},
    {"dropout probability=0.5 src=2x20x3x3"},
};

int main(void) { return ops_run("reorder", cases, sizeof cases / sizeof *cases, "reorder:copy"); }
