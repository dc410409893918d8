/* Graphs and plans.
 *
 * A graph is a list of nodes over values, built once; shapes are inferred as nodes are added and may hold symbols. A plan
 * is a graph made ready for one device, symbol values and options: its own copy, optimised, with an implementation for
 * each node, packed weights and every tensor placed. Running a plan allocates and compiles nothing.
 *
 *     pct_graph_create(&graph);
 *     pct_graph_add_input(graph, "input", &shape, &x);               shape = f32 (PCT_DIM_BATCH, 3, 224, 224)
 *     pct_graph_add_parameter(graph, "conv1.weight", &wshape, &w);
 *     pct_conv2d(graph, "conv1", &params, (pct_value[]){x, w}, 2, &y);
 *     pct_graph_add_output(graph, "logits", y);
 *     pct_graph_bind(graph, w, &source);
 *     pct_plan_create(device, graph, &options, &plan);                options.symbols[0] = 8: the batch
 *     pct_plan_run(plan, inputs, outputs, NULL);
 *
 * A graph, plan or device is used by one thread at a time, different ones concurrently. */
#ifndef PCT_GRAPH_H
#define PCT_GRAPH_H

#include <stdbool.h>

#include "pct/device.h"
#include "pct/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pct_graph pct_graph;
typedef struct pct_plan pct_plan;
typedef int32_t pct_value; /* a value's number in its graph */
#define PCT_NONE ((pct_value)-1)

PCT_API pct_status pct_graph_create(pct_graph **graph);
/* NULL allowed. Plans made from the graph stay valid: they hold their own copies and share its parameters' data. */
PCT_API void pct_graph_destroy(pct_graph *graph);

/* Names are copied and must be unique among inputs, parameters and outputs. */
PCT_API pct_status pct_graph_add_input(pct_graph *graph, const char *name, const pct_shape *shape, pct_value *value);
PCT_API pct_status pct_graph_add_parameter(pct_graph *graph, const char *name, const pct_shape *shape, pct_value *value);
/* A constant whose data (row-major, of shape->dtype) is copied. */
PCT_API pct_status pct_graph_add_constant(pct_graph *graph, const char *name, const pct_shape *shape, const void *data, pct_value *value);
/* Appends a node. `op` is a name from the table that `clbench ops` prints; params points to its struct in pct/ops.h, NULL
 * for all defaults. Errors name op, operand and dimension. */
PCT_API pct_status pct_graph_add(pct_graph *graph, const char *op, const char *name, const void *params, const pct_value *srcs, int n_src, pct_value *dsts, int n_dst);
PCT_API pct_status pct_graph_add_output(pct_graph *graph, const char *name, pct_value value);

PCT_API pct_status pct_graph_shape(const pct_graph *graph, pct_value value, pct_shape *shape);
/* Parameters in the order of their adding. The name is lent. */
PCT_API int pct_graph_parameter_count(const pct_graph *graph);
PCT_API pct_value pct_graph_parameter(const pct_graph *graph, int index, const char **name);

/* Where a float32 parameter's values come from. `read` copies elements [first, first + count) in row-major order; it may be
 * called from several threads at once. `data`, if not NULL, points to all of them. `drop`, if not NULL, says that a range
 * has been packed and may leave memory (it must stay readable). `destroy`, if not NULL, is called when the graph and its
 * plans are gone. */
typedef struct pct_source {
    void *cookie;
    const float *data;
    pct_status (*read)(void *cookie, int64_t first, int64_t count, float *dst);
    void (*drop)(void *cookie, int64_t first, int64_t count);
    void (*destroy)(void *cookie);
} pct_source;
/* Gives a parameter its values; replaces an earlier source. On success the graph owns the source's cookie. */
PCT_API pct_status pct_graph_bind(pct_graph *graph, pct_value parameter, const pct_source *source);
/* The same from memory that is copied now. */
PCT_API pct_status pct_graph_bind_copy(pct_graph *graph, pct_value parameter, const float *data, int64_t elems);

typedef struct pct_plan_options {
    size_t struct_bytes; /* sizeof(pct_plan_options) */
    int64_t symbols[8];  /* value of each symbol; symbols[0] is the batch; 0: 1 */
    bool no_fusion;      /* keep every node as it was added (diff, debugging) */
    bool keep_values;    /* never reuse memory, so that every value can be read after a run */
    bool low_memory;     /* no packed copy larger than its weights; originals leave memory as they are packed */
    pct_dtype weight_storage; /* of dense layers' weights: PCT_F32 (0), PCT_F16 or PCT_BF16; arithmetic stays float32 */
    const char *force;   /* "conv2d=im2col_gemm,pool2d=plain": only these implementations for these ops; NULL */
} pct_plan_options;

/* What a plan needs, known before its first run. */
typedef struct pct_plan_info {
    int32_t nodes, steps;
    int64_t weight_bytes;     /* parameters as packed on the device */
    int64_t activation_bytes; /* the arena, which activations and workspace share */
    int64_t workspace_bytes;  /* the largest step's, part of it */
    double flops;             /* of one run */
    double plan_ms, pack_ms;  /* time it took to make; pack_ms is part of plan_ms */
} pct_plan_info;

PCT_API pct_status pct_plan_create(pct_device *device, const pct_graph *graph, const pct_plan_options *options, pct_plan **plan);
PCT_API void pct_plan_destroy(pct_plan *plan);
PCT_API void pct_plan_get_info(const pct_plan *plan, pct_plan_info *info);

/* Times of one run in ms; kernel, upload and download are unions of intervals on the device's clock, NaN where every stamp of
 * the kind was unusable. host = wall - (device busy). */
typedef struct pct_run_times {
    double wall_ms, kernel_ms, upload_ms, download_ms, overlap_ms, host_ms;
    int32_t invalid; /* stamps that were zero or out of order and were left out */
} pct_run_times;

/* Uploads inputs (one pointer per graph input, in order; dense row-major), runs every step, downloads outputs (one pointer
 * per output; NULL skips one), waits. times NULL: no profiling. */
PCT_API pct_status pct_plan_run(pct_plan *plan, const void *const *inputs, void *const *outputs, pct_run_times *times);

/* Steps of the plan, for profiles: name, op, implementation and shapes are lent; ms is the median of the profiled runs. */
typedef struct pct_step_info {
    const char *node, *op, *impl, *shapes;
    double flops, bytes, ms;
} pct_step_info;
PCT_API pct_status pct_plan_step(const pct_plan *plan, int index, pct_step_info *info);

/* Values by name after a run (all of them with keep_values, else outputs): row-major float32 of the bound shape.
 * Index 0 .. count-1 in execution order. */
PCT_API int pct_plan_value_count(const pct_plan *plan);
PCT_API pct_status pct_plan_value(const pct_plan *plan, int index, const char **name, pct_shape *shape);
PCT_API pct_status pct_plan_read(pct_plan *plan, int index, float *dst);

/* A readable dump: one line per step with shapes, layouts, implementation, memory; refusals of better rows if verbose.
 * The caller frees it with pct_text_free. */
PCT_API pct_status pct_plan_dump(const pct_plan *plan, bool verbose, char **text);
PCT_API void pct_text_free(char *text);

#ifdef __cplusplus
}
#endif
#endif
