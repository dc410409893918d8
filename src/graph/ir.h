/* The graph as data: what pct_graph holds, and what passes rewrite in a plan's own copy. */
#ifndef PCTI_GRAPH_IR_H
#define PCTI_GRAPH_IR_H

#include "op/backend.h"
#include "pct/graph.h"

typedef enum pcti_value_kind { PCTI_VALUE_INPUT, PCTI_VALUE_PARAMETER, PCTI_VALUE_CONSTANT, PCTI_VALUE_RESULT } pcti_value_kind;

typedef struct pcti_value {
    char *name;
    pcti_value_kind kind;
    pct_shape shape;
    int producer;            /* node of a RESULT; -1 */
    pcti_constant *constant; /* of a PARAMETER (NULL until bound) or CONSTANT */
} pcti_value;

typedef struct pcti_node {
    const pcti_op *op;
    char *name;
    void *params;
    pcti_fusion *fusion; /* NULL: none; then n_src is op->max_src + PCTI_FUSED_OPERANDS */
    pct_value *src;      /* PCT_NONE: left out */
    int n_src;
    pct_value dst[2];
    int n_dst;
    bool dead; /* removed by a pass */
} pcti_node;

typedef struct pcti_output { char *name; pct_value value; } pcti_output;

struct pct_graph {
    pcti_value *values;
    size_t n_values, values_capacity;
    pcti_node *nodes; /* in an order in which every operand comes before its users */
    size_t n_nodes, nodes_capacity;
    pct_value *inputs, *parameters;
    size_t n_inputs, inputs_capacity, n_parameters, parameters_capacity;
    pcti_output *outputs;
    size_t n_outputs, outputs_capacity;
};

/* A copy with symbols replaced by counts and shapes inferred again; parameters must be bound. */
pct_status pcti_graph_copy_bound(const pct_graph *graph, const int64_t *symbols, int n_symbols, pct_graph **copy);

/* Adds a constant value that takes over the reference. */
pct_status pcti_graph_take_constant(pct_graph *graph, pcti_constant *constant, pct_value *value);
/* Uses of a value by live nodes and outputs. *user is the node if there is exactly one node and no output, else -1. */
int pcti_graph_uses(const pct_graph *graph, pct_value value, int *user);
/* Lets every user and output of `from` use `to`. */
void pcti_graph_replace(pct_graph *graph, pct_value from, pct_value to);
/* Gives a node its own fusion record and operand slots for it. */
pct_status pcti_node_make_fusion(pcti_node *node);
/* Describes a node as a call on dense operands; src and dst have room for n_src and n_dst operands. */
void pcti_node_call(const pct_graph *graph, const pcti_node *node, pcti_operand *src, pcti_operand *dst, pcti_call *call);

/* ---- passes: each leaves the graph valid ---- */

typedef struct pcti_planner pcti_planner;

pct_status pcti_pass_identity(pct_graph *graph);          /* dropout and other nodes that hand operand 0 on */
pct_status pcti_pass_fold_constants(pct_graph *graph);    /* nodes of constants only */
pct_status pcti_pass_fold_batch_norm(pct_graph *graph);   /* into the convolution or dense layer before */
/* New constants scale and shift with which a batch-norm node is x*scale + shift. */
pct_status pcti_fold_affine(pct_graph *graph, const pcti_node *norm, pct_value *scale, pct_value *shift);
pct_status pcti_pass_fuse(pct_graph *graph, pcti_planner *planner);
pct_status pcti_pass_dead_nodes(pct_graph *graph);        /* results that nobody uses */

#endif
