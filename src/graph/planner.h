/* From graph to plan: choice of implementations and layouts, places in memory, the run. */
#ifndef PCTI_GRAPH_PLANNER_H
#define PCTI_GRAPH_PLANNER_H

#include "base/text.h"
#include "graph/ir.h"

/* A value of the plan: a graph value in its layout, or a reordered copy of one. */
typedef struct pcti_plan_value {
    const char *name;    /* lent by the plan's graph */
    pcti_tensor tensor;  /* dense until it is placed; then offset and strides[0] say where in its storage */
    pcti_constant *constant;
    int storage;         /* -1: a constant */
    int graph_value;     /* -1: a reordered copy */
    bool is_view;        /* described over another value's storage */
} pcti_plan_value;

/* A node on its way to a step. */
typedef struct pcti_draft {
    const pcti_op *op;
    const char *name;
    void *params;          /* lent by the graph, or `own_params` */
    void *own_params;
    const pcti_fusion *fusion;
    int *src, n_src;       /* plan values; -1: absent */
    int dst[2], n_dst;
    const pcti_impl *impl; /* NULL: a view, nothing to run */
    int variant;
} pcti_draft;

struct pcti_planner {
    pct_device *device;
    const pct_plan_options *options;
    pct_graph *graph;
    pcti_plan_value *values;
    size_t n_values, values_capacity;
    pcti_draft *drafts;
    size_t n_drafts, drafts_capacity;
    int *value_of_graph; /* plan value of a graph value, in its own layout; -1 */
    int *output_values;  /* plan value that is downloaded for each output: plain, dense, computed */
    int *other_layout;   /* plan value -> its copy in the other layout; -1 (values_capacity entries) */
    size_t other_capacity;
    pcti_text refusals;  /* one line each, for the verbose dump */
    /* after placing */
    int64_t *storage_bytes;
    int *storage_first, *storage_last; /* steps between which a storage is in use */
    size_t n_storages, storages_capacity, first_capacity, last_capacity;
};

/* Index in the device's implementation list that would be chosen for a node, each implementation in the layout it wants;
 * -1 if none takes it. Used by fusion. */
pct_status pcti_planner_rank(pcti_planner *planner, const pct_graph *graph, const pcti_node *node, int *rank);

/* Fills values and drafts: an implementation and a layout for every node, reorders where layouts meet. */
pct_status pcti_lower(pcti_planner *planner);
/* Gives every computed value a storage: views over others, results straight into ranges of a concat, in place. */
pct_status pcti_place(pcti_planner *planner);
void pcti_planner_free(pcti_planner *planner);

/* ---- what tuning found: `choice` is "implementation" or "implementation:variant" for a call's key ---- */

/* Reads the device's file in the cache folder, if there is one; a broken one is passed over with a warning. */
pct_status pcti_tuning_load(pct_device *device);
/* NULL where nothing is known. */
const char *pcti_tuning_find(const pct_device *device, const char *key);
pct_status pcti_tuning_set(pct_device *device, const char *key, const char *choice);
pct_status pcti_tuning_save(const pct_device *device);
void pcti_tuning_free(pct_device *device);

/* ---- memory: intervals to offsets ---- */

typedef struct pcti_block {
    int64_t bytes;
    int first, last;        /* steps, inclusive */
    int chunk;              /* result */
    int64_t offset;         /* result, bytes */
} pcti_block;
/* Places blocks so that two in use at the same step never overlap; no chunk exceeds max_chunk_bytes. Largest first, into
 * the smallest gap that fits (as in XNNPACK's and TFLite's planners; Pisarchyk and Lee 2020, greedy by size). Offsets are
 * multiples of 64. A block above max_chunk_bytes is PCT_ERROR_MEMORY with the figures. chunk_bytes: calloc'ed, freed by
 * the caller with pcti_free. */
pct_status pcti_memplan(pcti_block *blocks, int count, int64_t max_chunk_bytes, int64_t **chunk_bytes, int *n_chunks);

#endif
