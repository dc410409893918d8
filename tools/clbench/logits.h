/* The right logits of a network, computed once by the reference and kept in the cache folder. */
#ifndef PCTI_CLBENCH_LOGITS_H
#define PCTI_CLBENCH_LOGITS_H

#include <stdint.h>

#include "base/status.h"
#include "pct/model.h"

/* All that the values depend on beside the picture. */
typedef struct logits_key {
    char model[64];
    int64_t height, width, classes;
    uint64_t weights; /* hash of the file's contents; 0: synthetic */
} logits_key;

/* `weights`: the file, NULL for synthetic ones. */
pct_status logits_key_make(const pct_model_info *info, const char *weights, logits_key *key);

/* `classes` values for picture `picture` of the synthetic tensor "input", in float32. From memory, the cache or the
 * reference, whose answer is then kept; a cache that cannot be written is a warning. `model` has its weights. Lent
 * until the next call. One thread. */
pct_status logits_expected(const logits_key *key, const pct_model *model, int64_t picture, const float **logits);
/* Frees what is kept in memory. */
void logits_forget(void);

#endif
