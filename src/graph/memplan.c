#include <stdlib.h>

#include "base/memory.h"
#include "graph/planner.h"

enum { ALIGNMENT = 64 };

static int by_size(const void *a, const void *b)
{
    const pcti_block *x = *(pcti_block *const *)a, *y = *(pcti_block *const *)b;
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
    if (x->first != y->first) return x->first < y->first ? -1 : 1;
    return x < y ? -1 : x > y;
}

static int by_offset(const void *a, const void *b)
{
    const pcti_block *x = *(pcti_block *const *)a, *y = *(pcti_block *const *)b;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

/* The smallest gap of one chunk among the blocks that are in use at the same time; -1 if its end would pass the limit. */
static int64_t find_gap(pcti_block **placed, int n_placed, pcti_block **busy, const pcti_block *block, int chunk, int64_t limit)
{
    int n_busy = 0;
    for (int i = 0; i < n_placed; i++)
        if (placed[i]->chunk == chunk && placed[i]->first <= block->last && block->first <= placed[i]->last)
            busy[n_busy++] = placed[i];
    qsort(busy, (size_t)n_busy, sizeof *busy, by_offset);
    int64_t best = -1, best_gap = INT64_MAX, end = 0;
    for (int i = 0; i < n_busy; i++) {
        int64_t gap = busy[i]->offset - end;
        if (gap >= block->bytes && gap < best_gap) {
            best = end;
            best_gap = gap;
        }
        end = pcti_max(end, pcti_round_up(busy[i]->offset + busy[i]->bytes, ALIGNMENT));
    }
    if (best < 0 && end + block->bytes <= limit) best = end;
    return best;
}

pct_status pcti_memplan(pcti_block *blocks, int count, int64_t max_chunk_bytes, int64_t **chunk_bytes, int *n_chunks)
{
    pct_status status = PCT_OK;
    *n_chunks = 0;
    *chunk_bytes = pcti_calloc((size_t)count + 1, sizeof **chunk_bytes);
    pcti_block **order = pcti_calloc((size_t)count + 1, sizeof *order), **busy = pcti_calloc((size_t)count + 1, sizeof *busy);
    if (!*chunk_bytes || !order || !busy) {
        status = PCT_ERROR_MEMORY;
        goto fail;
    }
    for (int i = 0; i < count; i++) order[i] = &blocks[i];
    qsort(order, (size_t)count, sizeof *order, by_size);
    for (int i = 0; i < count; i++) {
        pcti_block *block = order[i];
        if (block->bytes > max_chunk_bytes) {
            status = pcti_fail(PCT_ERROR_MEMORY, "one tensor needs %lld bytes, the device allows %lld in one piece",
                               (long long)block->bytes, (long long)max_chunk_bytes);
            goto fail;
        }
        int64_t offset = -1;
        int chunk = 0;
        for (; chunk < *n_chunks && offset < 0; chunk++) offset = find_gap(order, i, busy, block, chunk, max_chunk_bytes);
        if (offset < 0) {
            offset = 0;
            (*n_chunks)++;
            chunk = *n_chunks;
        }
        block->chunk = chunk - 1;
        block->offset = offset;
        (*chunk_bytes)[chunk - 1] = pcti_max((*chunk_bytes)[chunk - 1], offset + block->bytes);
    }
    pcti_free(order);
    pcti_free(busy);
    return PCT_OK;
fail:
    pcti_free(order);
    pcti_free(busy);
    pcti_free(*chunk_bytes);
    *chunk_bytes = NULL;
    return status;
}
