/* Measuring which implementation is fastest for the layers of a network on one device. */
#ifndef PCT_TUNE_H
#define PCT_TUNE_H

#include "pct/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pct_tune_progress {
    int32_t done, total;  /* distinct layers */
    const char *layer;    /* as `clbench op` reads it */
    const char *best;     /* "implementation" or "implementation:variant"; NULL while it is measured */
    double best_ms, default_ms;
} pct_tune_progress;

typedef struct pct_tune_options {
    size_t struct_bytes; /* sizeof(pct_tune_options) */
    double seconds;      /* budget; 0: 120. Layers that it does not reach keep what they have: call again to go on */
    bool again;          /* measure layers that are known already, too */
    /* Called before and after each layer; a return of false stops (PCT_ERROR_INTERRUPTED, what was found is kept). NULL: none. */
    bool (*progress)(void *cookie, const pct_tune_progress *progress);
    void *cookie;
} pct_tune_options;

/* Takes the layers of a plan of `graph` with these plan options, runs every implementation and variant that accepts each, on
 * random data, checks that its results agree with the first one's within the classes' bounds (one that does not is left out
 * with a warning), and keeps the fastest for `device`: in memory, for plans made from now on, and in the user's cache.
 * *layers: how many are known now; *total: how many there are. */
PCT_API pct_status pct_tune(pct_device *device, const pct_graph *graph, const pct_plan_options *plan_options, const pct_tune_options *options,
                            int *layers, int *total);

#ifdef __cplusplus
}
#endif
#endif
