/* Fusion as data: what comes before or after a node becomes part of its call, where an implementation takes it without
 * being a worse one. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "graph/planner.h"


static void candidate_free(pcti_node *candidate)
{
    pcti_free(candidate->src);
    pcti_free(candidate->fusion);
}

/* A copy of a node, to be changed, that is not yet in the graph. */
static pct_status candidate_make(const pcti_node *node, pcti_node *candidate)
{
    pct_status status = PCT_OK;
    *candidate = *node;
    size_t n = (size_t)node->n_src;
    candidate->src = pcti_calloc(n + 1, sizeof *candidate->src);
    candidate->fusion = NULL;
    if (!candidate->src) return PCT_ERROR_MEMORY;
    memcpy(candidate->src, node->src, n * sizeof *candidate->src);
    if (!node->fusion) status = pcti_node_make_fusion(candidate);
    else if ((candidate->fusion = pcti_calloc(1, sizeof *candidate->fusion))) *candidate->fusion = *node->fusion;
    else status = PCT_ERROR_MEMORY;
    if (status != PCT_OK) candidate_free(candidate);
    return status;
}

/* Puts the candidate into slot `at` (where `node` was, or later) if the planner would not choose a worse implementation. */
static pct_status candidate_try(pct_graph *graph, pcti_planner *planner, int from, int at, pcti_node *candidate, bool *taken)
{
    int before, after;
    *taken = false;
    pct_status status = pcti_planner_rank(planner, graph, &graph->nodes[from], &before);
    if (status == PCT_OK) status = pcti_planner_rank(planner, graph, candidate, &after);
    if (status != PCT_OK || after < 0 || (before >= 0 && after > before)) {
        candidate_free(candidate);
        return status;
    }
    pcti_node *old = &graph->nodes[from], *slot = &graph->nodes[at];
    pcti_free(old->src);
    pcti_free(old->fusion);
    if (at != from) {
        pcti_node absorbed = *slot;
        *slot = *candidate;
        *old = absorbed; /* keeps what the absorbed node owns, to be freed with the graph */
        old->dead = true;
    } else *slot = *candidate;
    graph->values[slot->dst[0]].producer = at;
    *taken = true;
    return PCT_OK;
}

/* The live node that computes `value`, if only node `user` uses it; else -1. */
static int sole_producer(const pct_graph *graph, pct_value value, int user)
{
    int only, producer = value == PCT_NONE ? -1 : graph->values[value].producer;
    if (producer < 0 || graph->nodes[producer].dead) return -1;
    if (pcti_graph_uses(graph, value, &only) != 1 || only != user) return -1;
    return producer;
}

static bool fusable(const pcti_node *node)
{
    return node->op->max_src != PCTI_VARIADIC && node->n_dst == 1 && !(node->fusion && node->fusion->post_max_pool);
}

static pcti_activation activation_of(const pct_unary_params *params)
{
    if (params->fn == PCT_UNARY_RELU) return (pcti_activation){.kind = PCTI_ACT_CLIP, .low = 0, .high = INFINITY};
    if (params->fn == PCT_UNARY_CLIP)
        return (pcti_activation){.kind = PCTI_ACT_CLIP, .low = params->alpha, .high = params->beta};
    return (pcti_activation){.kind = PCTI_ACT_UNARY, .unary = *params};
}

static pct_status fuse_activation(pct_graph *graph, pcti_planner *planner, int n, bool *taken)
{
    int producer = sole_producer(graph, graph->nodes[n].src[0], n);
    if (producer < 0 || !fusable(&graph->nodes[producer])) return PCT_OK;
    const pcti_node *node = &graph->nodes[producer];
    if (node->fusion && node->fusion->post_act.kind != PCTI_ACT_NONE) return PCT_OK;
    pcti_node candidate;
    PCTI_RETURN_IF_FAILED(candidate_make(node, &candidate));
    candidate.fusion->post_act = activation_of(graph->nodes[n].params);
    candidate.dst[0] = graph->nodes[n].dst[0];
    return candidate_try(graph, planner, producer, n, &candidate, taken);
}

/* add(conv(x), r): r becomes the convolution's residual. The fused node stands where the addition stood, after r. */
static pct_status fuse_residual(pct_graph *graph, pcti_planner *planner, int n, bool *taken)
{
    const pcti_node *add = &graph->nodes[n];
    if (((const pct_binary_params *)add->params)->fn != PCT_BINARY_ADD || add->src[0] == add->src[1]) return PCT_OK;
    for (int i = 0; i < 2 && !*taken; i++) {
        add = &graph->nodes[n];
        const pct_shape *shape = &graph->values[add->dst[0]].shape;
        int producer = sole_producer(graph, add->src[i], n);
        if (producer < 0 || !fusable(&graph->nodes[producer])) continue;
        if (!pcti_shape_equal(&graph->values[add->src[1 - i]].shape, shape) ||
            !pcti_shape_equal(&graph->values[add->src[i]].shape, shape) || graph->values[add->src[1 - i]].constant)
            continue;
        const pcti_node *node = &graph->nodes[producer];
        int slot = node->op->max_src + PCTI_FUSED_RESIDUAL;
        if (node->fusion && (node->fusion->post_act.kind != PCTI_ACT_NONE || node->src[slot] != PCT_NONE)) continue;
        pcti_node candidate;
        PCTI_RETURN_IF_FAILED(candidate_make(node, &candidate));
        candidate.src[slot] = add->src[1 - i];
        candidate.dst[0] = add->dst[0];
        PCTI_RETURN_IF_FAILED(candidate_try(graph, planner, producer, n, &candidate, taken));
    }
    return PCT_OK;
}

static bool pools_2x2(const pct_pool2d_params *p)
{
    bool square = !p->global && p->kernel[0] == 2 && p->kernel[1] == 2 && (p->stride[0] | 2) == 2 && (p->stride[1] | 2) == 2; /* 0: the kernel's */
    bool plain = p->dilation[0] == 1 && p->dilation[1] == 1 && !(p->pad[0] | p->pad[1] | p->pad[2] | p->pad[3]);
    return square && plain && !p->ceil;
}

/* The mean of 2x2 commutes with a 1x1 convolution: a quarter of the products (DenseNet's transitions). */
static bool average_commutes(const pcti_node *conv)
{
    if (!pcti_op_is(conv->op, "conv2d") || !conv->fusion || !conv->fusion->pre_affine || conv->fusion->pre_average_pool) return false;
    const pct_conv2d_params *p = conv->params;
    if (conv->fusion->post_act.kind != PCTI_ACT_NONE || conv->src[conv->op->max_src + PCTI_FUSED_RESIDUAL] != PCT_NONE) return false;
    return p->stride[0] == 1 && p->stride[1] == 1 && !(p->pad[0] | p->pad[1] | p->pad[2] | p->pad[3]);
}

static pct_status fuse_pool(pct_graph *graph, pcti_planner *planner, int n, bool *taken)
{
    const pct_pool2d_params *pool = graph->nodes[n].params;
    int producer = sole_producer(graph, graph->nodes[n].src[0], n);
    if (producer < 0 || !pools_2x2(pool) || !fusable(&graph->nodes[producer])) return PCT_OK;
    const pcti_node *node = &graph->nodes[producer];
    if (pool->kind == PCT_POOL_AVERAGE) {
        const pct_shape *wei = &graph->values[node->src[1]].shape;
        if (!average_commutes(node) || wei->dims[2] != 1 || wei->dims[3] != 1) return PCT_OK;
    } else if (!pcti_op_is(node->op, "conv2d")) return PCT_OK;
    pcti_node candidate;
    PCTI_RETURN_IF_FAILED(candidate_make(node, &candidate));
    if (pool->kind == PCT_POOL_AVERAGE) candidate.fusion->pre_average_pool = true;
    else candidate.fusion->post_max_pool = true;
    candidate.dst[0] = graph->nodes[n].dst[0];
    return candidate_try(graph, planner, producer, n, &candidate, taken);
}

/* conv(clip(batch_norm(x))): scale, shift and clip move to the convolution's way in. */
static pct_status fuse_pre(pct_graph *graph, pcti_planner *planner, int n, bool *taken)
{
    const pcti_node *conv = &graph->nodes[n];
    int producer = sole_producer(graph, conv->src[0], n);
    if (producer < 0 || (conv->fusion && conv->fusion->pre_affine)) return PCT_OK;
    const pcti_node *norm = &graph->nodes[producer];
    if (!pcti_op_is(norm->op, "batch_norm")) return PCT_OK;
    for (int i = 1; i < 5; i++)
        if (!graph->values[norm->src[i]].constant) return PCT_OK;
    pcti_activation act = norm->fusion ? norm->fusion->post_act : (pcti_activation){.kind = PCTI_ACT_NONE};
    if (act.kind == PCTI_ACT_UNARY) return PCT_OK;
    pct_value scale, shift;
    PCTI_RETURN_IF_FAILED(pcti_fold_affine(graph, norm, &scale, &shift));
    norm = &graph->nodes[producer];
    pcti_node candidate;
    PCTI_RETURN_IF_FAILED(candidate_make(&graph->nodes[n], &candidate));
    candidate.fusion->pre_affine = true;
    candidate.fusion->pre_act = act;
    candidate.src[0] = norm->src[0];
    candidate.src[candidate.op->max_src + PCTI_FUSED_PRE_SCALE] = scale;
    candidate.src[candidate.op->max_src + PCTI_FUSED_PRE_SHIFT] = shift;
    PCTI_RETURN_IF_FAILED(candidate_try(graph, planner, n, n, &candidate, taken));
    if (*taken) graph->nodes[producer].dead = true;
    return PCT_OK;
}

pct_status pcti_pass_fuse(pct_graph *graph, pcti_planner *planner)
{
    for (int n = 0; n < (int)graph->n_nodes; n++) {
        bool taken = false;
        pcti_node *node = &graph->nodes[n];
        if (node->dead) continue;
        if (pcti_op_is(node->op, "unary")) PCTI_RETURN_IF_FAILED(fuse_activation(graph, planner, n, &taken));
        else if (pcti_op_is(node->op, "binary")) PCTI_RETURN_IF_FAILED(fuse_residual(graph, planner, n, &taken));
        else if (pcti_op_is(node->op, "pool2d")) PCTI_RETURN_IF_FAILED(fuse_pool(graph, planner, n, &taken));
        else if (pcti_op_is(node->op, "conv2d")) PCTI_RETURN_IF_FAILED(fuse_pre(graph, planner, n, &taken));
    }
    return PCT_OK;
}
