/* Layers: what the zoo's networks are made of. Each function appends nodes and parameters to a graph and
 * gives the result.
 *
 * The first failure stays in net->status and every later call does nothing but give PCT_NONE, so that a
 * network reads as its layers and one check at the end is enough. Names are printf formats, put behind the
 * scopes entered before: parameters are NAME.weight, NAME.bias, ..., the node is NAME. */
#ifndef PCTI_MODEL_LAYERS_H
#define PCTI_MODEL_LAYERS_H

#include <stdbool.h>

#include "base/status.h"
#include "pct/graph.h"

enum { PCTI_NET_NAME = 128 };

typedef struct pcti_net {
    pct_graph *graph;
    int64_t classes;
    pct_status status;
    size_t scope_length;
    char scope[PCTI_NET_NAME]; /* "features.denseblock1." */
} pcti_net;

/* Names that follow get "SCOPE." in front. Returns what pcti_net_leave takes. */
size_t pcti_net_enter(pcti_net *net, const char *name, ...) PCTI_PRINTF(2, 3);
void pcti_net_leave(pcti_net *net, size_t entered);

/* Channels of a value (N, C, ...); 0 after a failure. */
int64_t pcti_net_channels(pcti_net *net, pct_value src);

/* Square filters. Channels of the source are taken from its shape. */
typedef struct pcti_conv_spec {
    int64_t out, kernel;
    int64_t stride, groups; /* 0: 1 */
    int64_t pad;            /* on each side */
    bool same; /* TensorFlow's SAME in place of pad: the result has ceil(size / stride), odd zeros come last */
    bool bias;
} pcti_conv_spec;
pct_value pcti_net_conv(pcti_net *net, pct_value src, pcti_conv_spec conv, const char *name, ...) PCTI_PRINTF(4, 5);

/* Batch normalisation with stored statistics; epsilon 0: 1e-5. */
pct_value pcti_net_batch_norm(pcti_net *net, pct_value src, double epsilon, const char *name, ...) PCTI_PRINTF(4, 5);
/* dst[n,k] = bias[k] + sum over c of weight[k,c] * src[n,c]. */
pct_value pcti_net_linear(pcti_net *net, pct_value src, int64_t out, const char *name, ...) PCTI_PRINTF(4, 5);

pct_value pcti_net_relu(pcti_net *net, pct_value src, const char *name, ...) PCTI_PRINTF(3, 4);
pct_value pcti_net_relu6(pcti_net *net, pct_value src, const char *name, ...) PCTI_PRINTF(3, 4);
pct_value pcti_net_add(pcti_net *net, pct_value a, pct_value b, const char *name, ...) PCTI_PRINTF(4, 5);
/* Channels of a, then those of b. */
pct_value pcti_net_concat(pcti_net *net, pct_value a, pct_value b, const char *name, ...) PCTI_PRINTF(4, 5);
pct_value pcti_net_dropout(pcti_net *net, pct_value src, double probability, const char *name, ...) PCTI_PRINTF(4, 5);

/* Square windows. */
typedef struct pcti_pool_spec {
    int64_t kernel, stride, pad;
    bool ceil;
} pcti_pool_spec;
pct_value pcti_net_max_pool(pcti_net *net, pct_value src, pcti_pool_spec pool, const char *name, ...)
    PCTI_PRINTF(4, 5);
pct_value pcti_net_average_pool(pcti_net *net, pct_value src, pcti_pool_spec pool, const char *name, ...)
    PCTI_PRINTF(4, 5);
/* (N,C,H,W) to (N,C,1,1). */
pct_value pcti_net_global_average(pcti_net *net, pct_value src, const char *name, ...) PCTI_PRINTF(3, 4);
/* (N,C,H,W) to (N,C,size,size): result i is the mean of rows floor(i H / size) up to but without ceil((i+1) H
 * / size), the same for columns (PyTorch's adaptive_avg_pool2d). A size that is there already adds nothing.
 */
pct_value pcti_net_adaptive_average(pcti_net *net, pct_value src, int64_t size, const char *name, ...)
    PCTI_PRINTF(4, 5);
/* (N, ...) to (N, product of the rest). */
pct_value pcti_net_flatten(pcti_net *net, pct_value src, const char *name, ...) PCTI_PRINTF(3, 4);

#endif
