/* What a model is made of. */
#ifndef PCTI_MODEL_MODEL_H
#define PCTI_MODEL_MODEL_H

#include "pct/model.h"

struct pct_model {
    pct_model_info info;
    pct_graph *graph;
};

#endif
