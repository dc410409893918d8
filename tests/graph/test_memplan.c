/* Property: blocks in use at the same step never overlap, chunks never exceed the limit, nothing is far from the bound. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"
#include "base/memory.h"
#include "graph/planner.h"

static uint64_t seed;
static int64_t below(int64_t n) { return (int64_t)(pcti_splitmix64(seed++) % (uint64_t)n); }

static void check(pcti_block *blocks, int count, int64_t limit)
{
    int64_t *chunk_bytes, live_peak = 0, total = 0;
    int n_chunks;
    assert_int_equal(pcti_memplan(blocks, count, limit, &chunk_bytes, &n_chunks), PCT_OK);
    for (int i = 0; i < count; i++) {
        assert_in_range(blocks[i].chunk, 0, n_chunks - 1);
        assert_int_equal(blocks[i].offset % 64, 0);
        assert_true(blocks[i].offset + blocks[i].bytes <= chunk_bytes[blocks[i].chunk]);
        assert_true(chunk_bytes[blocks[i].chunk] <= limit);
        int64_t live = 0;
        for (int j = 0; j < count; j++) {
            bool together = blocks[i].first <= blocks[j].last && blocks[j].first <= blocks[i].last;
            if (blocks[j].first <= blocks[i].first && blocks[i].first <= blocks[j].last) live += pcti_round_up(blocks[j].bytes, 64);
            if (i == j || !together || blocks[i].chunk != blocks[j].chunk || !blocks[i].bytes || !blocks[j].bytes) continue;
            assert_true(blocks[i].offset + blocks[i].bytes <= blocks[j].offset || blocks[j].offset + blocks[j].bytes <= blocks[i].offset);
        }
        live_peak = pcti_max(live_peak, live);
    }
    for (int c = 0; c < n_chunks; c++) total += chunk_bytes[c];
    if (n_chunks == 1) assert_true(total <= 2 * live_peak + 64);
    pcti_free(chunk_bytes);
}

static void random_blocks(void **state)
{
    for (int round = 0; round < 200; round++) {
        int count = 1 + (int)below(60);
        int64_t limit = round % 3 ? INT64_MAX / 2 : 20000;
        pcti_block *blocks = pcti_calloc((size_t)count, sizeof *blocks);
        for (int i = 0; i < count; i++) {
            int first = (int)below(40);
            blocks[i] = (pcti_block){.bytes = below(i % 4 ? 3000 : 20000), .first = first, .last = first + (int)below(12)};
        }
        check(blocks, count, limit);
        pcti_free(blocks);
    }
}

static void too_large(void **state)
{
    pcti_block block = {.bytes = 1001, .first = 0, .last = 0};
    int64_t *chunk_bytes;
    int n_chunks;
    assert_int_equal(pcti_memplan(&block, 1, 1000, &chunk_bytes, &n_chunks), PCT_ERROR_MEMORY);
    assert_non_null(strstr(pct_error_message(), "1001"));
    assert_non_null(strstr(pct_error_message(), "1000"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_blocks), cmocka_unit_test(too_large)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
