/* What pct_plan holds. */
#ifndef PCTI_GRAPH_PLAN_H
#define PCTI_GRAPH_PLAN_H

#include "graph/planner.h"

/* A computed value that can be read after a run. */
typedef struct pcti_readable {
    char *name;
    pcti_operand operand;
} pcti_readable;

enum { PCTI_STEP_SAMPLES = 63 }; /* profiled runs that a step's median is taken from: the latest ones */

struct pct_plan {
    pct_device *device;
    pcti_step *steps;
    int n_steps;
    void **params;        /* per step, own copy */
    pcti_fusion *fusions; /* per step, own copy */
    char **names;         /* per step */
    char **shapes;        /* per step, as `clbench op` reads them */
    pcti_cost *costs;
    pcti_buffer **chunks;
    int n_chunks;
    pcti_buffer **packs;  /* packed constants, one reference each */
    size_t n_packs, packs_capacity;
    pcti_operand *inputs, *outputs;
    char **input_names, **output_names;
    pcti_transfer *uploads, *downloads;
    int n_inputs, n_outputs;
    pcti_readable *readables;
    int n_readables;
    pcti_timeline timeline;
    float *step_ms; /* n_steps x PCTI_STEP_SAMPLES */
    int step_samples;
    bool has_run;
    char *refusals;
    pct_plan_info info;
};

/* Fills every arena chunk with NaN, so that a test sees what a run reads but never wrote. */
pct_status pcti_plan_poison(pct_plan *plan);

#endif
