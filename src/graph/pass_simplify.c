/* Removes what computes nothing: identities, and results that nobody uses. */
#include <string.h>

#include "graph/ir.h"


pct_status pcti_pass_identity(pct_graph *graph)
{
    for (size_t n = 0; n < graph->n_nodes; n++) {
        pcti_node *node = &graph->nodes[n];
        if (node->dead || !pcti_op_is(node->op, "dropout")) continue;
        pcti_graph_replace(graph, node->dst[0], node->src[0]);
        node->dead = true;
    }
    return PCT_OK;
}

pct_status pcti_pass_dead_nodes(pct_graph *graph)
{
    for (size_t n = graph->n_nodes; n-- > 0;) {
        pcti_node *node = &graph->nodes[n];
        int uses = 0, user;
        for (int d = 0; d < node->n_dst; d++) uses += pcti_graph_uses(graph, node->dst[d], &user);
        if (!uses) node->dead = true;
    }
    return PCT_OK;
}
