/* What the reduce family's backends share. */
#ifndef PCTI_OP_REDUCE_H
#define PCTI_OP_REDUCE_H

#include "op/op.h"

/* A reduction is done one run of neighbouring axes at a time, the innermost first:
 *   result[o][i] = sum or maximum over k < extent of source[o][k][i],  o < outer, i < inner.
 * Element (o, k, i) of a stage's source lies at o/rows*picture + o%rows*extent*inner + k*step + i. Results between
 * stages are dense. */
typedef struct pcti_reduce_stage {
    int64_t outer, extent, inner;
    int64_t rows, picture, step;
} pcti_reduce_stage;

/* Of plain operands; returns how many there are, at least one. */
int pcti_reduce_stages(const pcti_call *call, pcti_reduce_stage stages[PCT_MAX_RANK]);
/* Elements that become one. */
int64_t pcti_reduce_terms(const pcti_call *call);
/* Floats of the results between stages; every second one begins at *second. */
int64_t pcti_reduce_between(const pcti_reduce_stage *stages, int count, int64_t *second);
/* Exactly the last two axes of a picture? */
bool pcti_reduce_is_global(const pcti_call *call);

#endif
