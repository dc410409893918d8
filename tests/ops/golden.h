/* Values that another framework computed, against `ref` and against every implementation of every backend. Operands
 * are small numbers from a formula that the script behind the values repeats: element i of operand k is
 * ((37*i + 11*k) mod 19 - 9) / 4, unless `values` gives them. */
#ifndef PCT_TESTS_OPS_GOLDEN_H
#define PCT_TESTS_OPS_GOLDEN_H

#include <stddef.h>

typedef struct golden_case {
    const char *line;       /* as `clbench op` takes it */
    const float *values[5]; /* of each operand; NULL: the formula */
    const float *want;      /* of the results, one after another */
    int count;
    double tolerance; /* relative to the largest value that is wanted; 0: equal */
} golden_case;

int golden_run(const char *name, const golden_case *cases, size_t count);

#endif
