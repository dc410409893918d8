/* One operator as a graph with data, from a line such as "conv2d src=1x64x56x56 wei=64x64x3x3 pad=1". */
#ifndef PCTI_CLBENCH_OPCASE_H
#define PCTI_CLBENCH_OPCASE_H

#include "bench.h"
#include "graph/plan.h"

enum { OPCASE_OPERANDS = 16 };

typedef struct opcase {
    const char *line; /* borrowed */
    const pcti_op *op;
    void *params;
    pct_graph *graph;
    pct_shape shapes[OPCASE_OPERANDS], out_shapes[2];
    void *data[OPCASE_OPERANDS]; /* float or int64_t; NULL: absent */
    int n_src;
    const void *inputs[OPCASE_OPERANDS]; /* those operands that a run uploads, in the graph's order */
    int64_t out_elems[2];
    void *outputs[2];
} opcase;

/* Weights, biases and statistics are parameters, everything else is uploaded by each run. `relu`: a ReLU after it. */
pct_status opcase_create(const char *line, bool relu, opcase *c);
void opcase_free(opcase *c);
void opcase_poison(opcase *c); /* NaN into the outputs */

/* The plan with one implementation of the operator (NULL: what the planner takes, or `force` says). *step is the step
 * of the operator, -1 if it became a view; *ms the time to make it. PCT_ERROR_UNSUPPORTED with the reason where it is
 * refused. */
pct_status opcase_plan(const opcase *c, pct_device *device, const char *impl, const char *force, pct_plan **plan,
                       int *step, double *ms);

/* "name" or "name:variant", as --impl takes it. */
void opcase_choice(const pcti_impl *impl, int variant, char *text, size_t bytes);

/* What a check of the outputs found. */
typedef struct opcheck {
    double max_error, bound; /* absolute */
    int64_t checked;
    bool right;
    char what[192]; /* what is wrong */
} opcheck;

/* Compares the outputs with values computed in double: all of them by the operator's reference where that is quick
 * or `all` is set; else, for convolutions and products, 256 or more (every corner, points on the edges and inside),
 * and all must be finite. The bound is that of the implementation's accuracy class. */
pct_status opcase_check(const opcase *c, const pct_plan *plan, int step, bool all, opcheck *check);

/* Adds one row for the case as planned: checked, timed (unless settings.verify), with its share of the roofline.
 * `row` has suite, test and keys. Takes the plan. */
pct_status opcase_measure(clbench *bench, bench_target *target, opcase *c, const char *impl, const measure_runs *runs,
                          pcti_row *row);

#endif
