/* Operator tests: a case is a line as `clbench op` takes it. Every implementation that accepts it, on the CPU (1, 2 and 3
 * threads) and on every OpenCL device there is, is forced in turn through a one-node plan and compared with the same graph
 * on the double-precision reference.
 *   - small integers: sums are exact, so PCTI_ACCURACY_EXACT and _SUM must agree to the last bit (unless `no_integers`);
 *   - random values: within the bound of the implementation's accuracy class;
 *   - the arena is filled with NaN before, everything runs twice, and every run and thread count must give the same bits.
 * PCT_TEST_TINY=1 leaves out cases above 200 000 flops (for simulators). PCT_TEST_BACKEND=cpu|opencl runs only that one. */
#ifndef PCT_TESTS_OPS_HARNESS_H
#define PCT_TESTS_OPS_HARNESS_H

#include <stdbool.h>
#include <stddef.h>

/* What stands around the op in the graph, so that the planner fuses it. */
enum {
    OPS_PRE = 1,        /* batch_norm and relu before operand 0 */
    OPS_RESIDUAL = 2,   /* add(op, another input) */
    OPS_RELU = 4,       /* relu after */
    OPS_RELU6 = 8,      /* clip(0, 6) after */
    OPS_UNARY = 16,     /* sigmoid after */
    OPS_MAX_POOL = 32,  /* 2x2 maximum after */
    OPS_MEAN_POOL = 64, /* 2x2 mean after (moved before a 1x1) */
    OPS_RANGE = 128     /* operand 0 is a range of channels of a wider tensor, and so is a float32 result */
};

typedef struct ops_case {
    const char *line;
    unsigned around;      /* OPS_... */
    int constants_from;   /* operands from this one on are parameters; 0: from 1 on; -1: none */
    double low, high;     /* of random values; both 0: -1 .. 1 */
    bool no_integers;     /* the function is not exact on small integers (exp, division, ...) */
    bool must_fail;       /* the graph must refuse this line with a clear error */
    const char *values;   /* "2,0,-1": values of the last operand (indices, ...), repeated to fill it; NULL */
} ops_case;

/* Runs all cases as one cmocka group; the return value is for main. `expect` lists implementations that at least one case
 * must have reached on the CPU, "conv2d:winograd_4x4_3x3 conv2d:direct"; NULL. A device or implementation that never
 * accepted anything is named in the output. */
int ops_run(const char *family, const ops_case *cases, size_t count, const char *expect);

#endif
