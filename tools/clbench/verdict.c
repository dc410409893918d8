/* Is the device worth it? Sentences from the rows of the suite infer, and from nothing else. */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "bench.h"

enum { MAX_BATCHES = 64 };

static bool same(const char *a, const char *b)
{
    return a == b || (a && b && !strcmp(a, b));
}

static bool is_infer(const pcti_row *row)
{
    return row->status == PCTI_ROW_OK && !strcmp(row->suite, "infer") && row->wall.median > 0;
}

static bool same_device(const pcti_row *a, const pcti_row *b)
{
    return same(a->backend, b->backend) && same(a->platform, b->platform) && same(a->device, b->device) &&
           a->threads == b->threads;
}

static bool same_network(const pcti_row *a, const pcti_row *b)
{
    return !strcmp(a->test, b->test) && a->size == b->size;
}

/* The run without its copies. */
static double without_transfers(const pcti_row *row)
{
    double copies = row->upload_ms + row->download_ms - row->overlap_ms;
    return isfinite(copies) ? row->wall.median - fmax(0, copies) : NAN;
}

static void add_ms(pcti_text *text, double ms)
{
    bool long_time = ms >= 1000;
    pcti_text_add_double(text, long_time ? ms / 1000 : ms, 3);
    pcti_text_add(text, long_time ? " s" : " ms");
}

static void name_device(pcti_text *text, const pcti_row *row)
{
    if (!strcmp(row->backend, "cpu"))
        pcti_text_add(text, "the CPU path");
    else
        pcti_text_add(text, "%s (%s)", row->device ? row->device : "the device",
                      row->platform ? row->platform : row->backend);
}

static void name_network(pcti_text *text, const pcti_row *row)
{
    pcti_text_add(text, "%s at %lld", row->test, (long long)row->size);
}

static pct_status finish(pcti_results *results, pcti_text *text)
{
    pct_status status = text->failed ? PCT_ERROR_MEMORY : pcti_results_add_verdict(results, text->data);
    pcti_text_free(text);
    return status;
}

/* ---- CPU against device ---- */

static const pcti_row *find_cpu(const pcti_results *results, const pcti_row *device)
{
    for (size_t i = 0; i < results->count; i++) {
        const pcti_row *row = &results->rows[i];
        if (is_infer(row) && !strcmp(row->backend, "cpu") && same_network(row, device) && row->batch == device->batch)
            return row;
    }
    return NULL;
}

static pct_status compare_one(pcti_results *results, const pcti_row *device, const pcti_row *cpu)
{
    pcti_text text = {0};
    double pure = without_transfers(device);
    name_network(&text, device);
    pcti_text_add(&text, ", batch %lld: the CPU path takes ", (long long)device->batch);
    add_ms(&text, cpu->wall.median);
    pcti_text_add(&text, ", ");
    name_device(&text, device);
    pcti_text_add(&text, " ");
    add_ms(&text, device->wall.median);
    pcti_text_add(&text, " with transfers (");
    pcti_text_add_double(&text, cpu->wall.median / device->wall.median, 3);
    pcti_text_add(&text, " times the CPU's speed)");
    if (isfinite(pure)) {
        pcti_text_add(&text, " and ");
        add_ms(&text, pure);
        pcti_text_add(&text, " without (");
        pcti_text_add_double(&text, cpu->wall.median / pure, 3);
        pcti_text_add(&text, " times)");
    }
    bool with = device->wall.median < cpu->wall.median, bare = isfinite(pure) && pure < cpu->wall.median;
    pcti_text_add(&text, ": %s",
                  with   ? "the device is worth it"
                  : bare ? "the device is worth it only for data that is there already"
                         : "the device is not worth it");
    return finish(results, &text);
}

/* Batches of one network on one device, in ascending order. */
static size_t list_batches(const pcti_results *results, const pcti_row *like, int64_t *batches)
{
    size_t count = 0;
    for (size_t i = 0; i < results->count && count < MAX_BATCHES; i++) {
        const pcti_row *row = &results->rows[i];
        if (!is_infer(row) || !same_device(row, like) || !same_network(row, like) || !find_cpu(results, row))
            continue;
        size_t at = count++;
        for (; at && batches[at - 1] > row->batch; at--) batches[at] = batches[at - 1];
        batches[at] = row->batch;
    }
    return count;
}

static const pcti_row *find_row(const pcti_results *results, const pcti_row *like, int64_t batch)
{
    for (size_t i = 0; i < results->count; i++) {
        const pcti_row *row = &results->rows[i];
        if (is_infer(row) && same_device(row, like) && same_network(row, like) && row->batch == batch) return row;
    }
    return NULL;
}

/* The smallest batch from which on the device wins at every larger one too; 0: none. */
static int64_t worth_from(const pcti_results *results, const pcti_row *like, const int64_t *batches, size_t count)
{
    int64_t from = 0;
    for (size_t i = count; i-- > 0;) {
        const pcti_row *row = find_row(results, like, batches[i]);
        if (row->wall.median >= find_cpu(results, row)->wall.median) break;
        from = batches[i];
    }
    return from;
}

static pct_status say_from_which_batch(pcti_results *results, const pcti_row *device)
{
    int64_t batches[MAX_BATCHES];
    size_t count = list_batches(results, device, batches);
    if (count < 2) return PCT_OK;
    pcti_text text = {0};
    int64_t from = worth_from(results, device, batches, count);
    name_network(&text, device);
    pcti_text_add(&text, ": ");
    name_device(&text, device);
    if (from)
        pcti_text_add(&text, " is worth it from batch %lld on", (long long)from);
    else
        pcti_text_add(&text, " is not worth it at the largest batch");
    pcti_text_add(&text, " (measured:");
    for (size_t i = 0; i < count; i++) pcti_text_add(&text, "%s %lld", i ? "," : "", (long long)batches[i]);
    pcti_text_add(&text, ")");
    return finish(results, &text);
}

/* ---- real time ---- */

static pct_status say_budgets(pcti_results *results, const pcti_row *row)
{
    static const struct {
        double ms;
        const char *name;
    } budgets[] = {{1000, "1 s"}, {100, "0.1 s"}, {33, "33 ms"}};
    pcti_text text = {0};
    name_network(&text, row);
    pcti_text_add(&text, ", one picture at a time: ");
    name_device(&text, row);
    pcti_text_add(&text, " takes ");
    add_ms(&text, row->wall.p95);
    pcti_text_add(&text, " (95th percentile):");
    for (size_t i = 0; i < sizeof budgets / sizeof *budgets; i++)
        pcti_text_add(&text, "%s %s %s", i ? "," : "", row->wall.p95 <= budgets[i].ms ? "holds" : "misses",
                      budgets[i].name);
    return finish(results, &text);
}

pct_status verdict_add(pcti_results *results)
{
    for (size_t i = 0; i < results->count; i++) {
        pcti_row row = results->rows[i]; /* sentences do not move rows, but their texts are the results' */
        if (!is_infer(&row)) continue;
        const pcti_row *cpu = strcmp(row.backend, "cpu") ? find_cpu(results, &row) : NULL;
        if (cpu) PCTI_RETURN_IF_FAILED(compare_one(results, &row, cpu));
        bool first = true; /* of this network on this device */
        for (size_t j = 0; j < i; j++)
            first = first && !(is_infer(&results->rows[j]) && same_device(&results->rows[j], &row) &&
                               same_network(&results->rows[j], &row));
        if (cpu && first) PCTI_RETURN_IF_FAILED(say_from_which_batch(results, &row));
        if (row.batch == 1) PCTI_RETURN_IF_FAILED(say_budgets(results, &row));
    }
    return PCT_OK;
}
