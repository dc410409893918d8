/* What goes in: pictures from files and folders, or the items of a tensor. */
#include <inttypes.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/status.h"
#include "clpredict.h"
#include "common/tool.h"

enum { PLANES = 3 };

/* ---- the list ---- */

static pct_status add_sample(sample_list *list, const char *path, int64_t item)
{
    PCTI_RETURN_IF_FAILED(pcti_grow(&list->items, &list->capacity, list->count, sizeof *list->items));
    char *copy = pcti_strdup(path);
    if (!copy) return PCT_ERROR_MEMORY;
    list->items[list->count++] = (sample){.path = copy, .item = item, .row = -1};
    return PCT_OK;
}

/* Keeps the message of the last failure. */
static void set_unreadable(sample *item)
{
    item->status = SAMPLE_UNREADABLE;
    pcti_free(item->reason);
    item->reason = pcti_strdup(pct_error_message());
}

static pct_status add_unreadable(sample_list *list, const char *path)
{
    char *reason = pcti_strdup(pct_error_message());
    pct_status status = reason ? add_sample(list, path, -1) : PCT_ERROR_MEMORY;
    if (status != PCT_OK) {
        pcti_free(reason);
        return status;
    }
    sample *item = &list->items[list->count - 1];
    item->status = SAMPLE_UNREADABLE;
    item->reason = reason;
    return PCT_OK;
}

static bool ends_like_picture(const char *path)
{
    static const char *const ends[] = {".jpg", ".jpeg", ".png"};
    size_t length = strlen(path);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (length > strlen(ends[i]) && !strcasecmp(path + length - strlen(ends[i]), ends[i])) return true;
    return false;
}

static bool begins_like_picture(const char *path)
{
    static const unsigned char jpeg[] = {0xff, 0xd8, 0xff}, png[] = {0x89, 'P', 'N', 'G'};
    unsigned char bytes[sizeof png] = {0};
    FILE *file = fopen(path, "rb");
    size_t count = file ? fread(bytes, 1, sizeof bytes, file) : 0;
    if (file) fclose(file);
    return (count >= sizeof jpeg && !memcmp(bytes, jpeg, sizeof jpeg)) ||
           (count >= sizeof png && !memcmp(bytes, png, sizeof png));
}

/* Of a folder's files, those that are pictures by name or by content: an empty cat.jpg is a fault to be
 * named, a README is not. */
static pct_status add_folder(sample_list *list, const char *path, const pct_picture_paths *files)
{
    size_t before = list->count;
    for (size_t i = 0; i < files->count; i++)
        if (ends_like_picture(files->paths[i]) || begins_like_picture(files->paths[i]))
            PCTI_RETURN_IF_FAILED(add_sample(list, files->paths[i], -1));
    if (list->count > before) return PCT_OK;
    pcti_fail(PCT_ERROR_NOT_FOUND, "%s: no pictures in this folder", path);
    return add_unreadable(list, path);
}

pct_status samples_from_paths(sample_list *list, char *const *paths, int n_paths)
{
    for (int i = 0; i < n_paths; i++) {
        pct_picture_paths *files;
        pct_status status = pct_picture_list(paths[i], &files);
        if (status == PCT_OK) {
            bool itself = files->count == 1 && !strcmp(files->paths[0], paths[i]);
            status = itself ? add_sample(list, paths[i], -1) : add_folder(list, paths[i], files);
            pct_picture_paths_free(files);
        } else if (status != PCT_ERROR_MEMORY) {
            status = add_unreadable(list, paths[i]);
        }
        PCTI_RETURN_IF_FAILED(status);
    }
    return PCT_OK;
}

pct_status samples_from_tensor(sample_list *list, const char *path)
{
    pct_shape shape;
    PCTI_RETURN_IF_FAILED(pct_weights_open(path, &list->file));
    if (pct_weights_find(list->file, "input", &list->tensor) != PCT_OK)
        return pcti_fail(PCT_ERROR_FORMAT, "%s: no tensor named \"input\" in it", path);
    PCTI_RETURN_IF_FAILED(pct_weights_shape(list->file, list->tensor, &shape));
    const int64_t *dims = shape.dims;
    if (shape.rank != 4)
        return pcti_fail(PCT_ERROR_FORMAT, "%s: input has %d dimensions, not 4: (N,C,H,W)", path, (int)shape.rank);
    if (dims[0] < 1 || dims[1] != PLANES || dims[2] < 1 || dims[3] < 1 || dims[2] > INT32_MAX || dims[3] > INT32_MAX)
        return pcti_fail(PCT_ERROR_FORMAT,
                         "%s: input is (%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 "), not (N,%d,H,W)", path,
                         dims[0], dims[1], dims[2], dims[3], PLANES);
    list->height = (int32_t)dims[2];
    list->width = (int32_t)dims[3];
    for (int64_t i = 0; i < dims[0]; i++) PCTI_RETURN_IF_FAILED(add_sample(list, path, i));
    return PCT_OK;
}

void samples_free(sample_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        pcti_free(list->items[i].path);
        pcti_free(list->items[i].reason);
        pcti_free(list->items[i].top);
    }
    pcti_free(list->items);
    pct_weights_close(list->file);
    *list = (sample_list){.items = NULL};
}

/* ---- values ---- */

static double ms_since(uint64_t start_ns)
{
    return (double)(pcti_clock_ns() - start_ns) / 1e6;
}

/* One picture into one slot. Runs in any thread. */
static pct_status read_picture(const sample_list *list, sample *item, float *slot, double *decode_ms,
                               double *preprocess_ms)
{
    pct_picture *picture;
    uint64_t start = pcti_clock_ns();
    pct_status status = pct_picture_open(item->path, NULL, &picture);
    *decode_ms = ms_since(start);
    if (status != PCT_OK) return status;
    item->width = picture->width;
    item->height = picture->height;
    item->warnings = picture->warnings;
    start = pcti_clock_ns();
    status = pct_picture_preprocess(picture, list->preset, list->width, slot);
    *preprocess_ms = ms_since(start);
    pct_picture_close(picture);
    return status;
}

static size_t plane_elems(const sample_list *list)
{
    return (size_t)PLANES * (size_t)list->height * (size_t)list->width;
}

/* Reads the samples [first, first + count) into the free slots, each into its own, then closes the gaps that
 * unreadable ones leave. */
static pct_status read_pictures(sample_list *list, size_t first, size_t count, sample_batch *batch)
{
    size_t elems = plane_elems(list);
    float *slots = batch->values + batch->count * elems;
    double decode_ms = 0, preprocess_ms = 0;
    bool no_memory = false;
    int threads = list->threads ? list->threads : omp_get_max_threads();
    if ((size_t)threads > count) threads = (int)count;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)                                           \
    reduction(+ : decode_ms, preprocess_ms) reduction(|| : no_memory)
    for (size_t i = 0; i < count; i++) {
        sample *item = &list->items[first + i];
        double decode = 0, preprocess = 0;
        if (item->status == SAMPLE_UNREADABLE || tool_interrupted()) continue;
        pct_status status = read_picture(list, item, slots + i * elems, &decode, &preprocess);
        if (status == PCT_OK)
            item->status = SAMPLE_READ;
        else if (status == PCT_ERROR_MEMORY)
            no_memory = true;
        else
            set_unreadable(item);
        decode_ms += decode;
        preprocess_ms += preprocess;
    }
    if (no_memory) return pcti_fail(PCT_ERROR_MEMORY, "out of memory while decoding pictures");
    if (tool_interrupted()) return PCT_OK; /* some were not even tried */
    for (size_t i = 0; i < count; i++) {
        if (list->items[first + i].status != SAMPLE_READ) continue;
        float *slot = batch->values + batch->count * elems;
        if (slot != slots + i * elems) memcpy(slot, slots + i * elems, elems * sizeof *slot);
        batch->samples[batch->count++] = first + i;
    }
    batch->decode_ms += decode_ms;
    batch->preprocess_ms += preprocess_ms;
    return PCT_OK;
}

/* Each oddity once, however often the sample is read. */
static void name_oddities(sample_list *list, size_t first, size_t count)
{
    for (size_t i = first; i < first + count; i++) {
        sample *item = &list->items[i];
        bool unreadable = item->status == SAMPLE_UNREADABLE;
        if (item->named || !(unreadable || item->warnings)) continue;
        if (unreadable)
            tool_message("%s", item->reason ? item->reason : item->path);
        else
            pcti_log(PCT_LOG_INFO, "%s: %d oddities in the file, no pixel lost", item->path, (int)item->warnings);
        item->named = true;
    }
}

static pct_status read_tensor(sample_list *list, size_t first, size_t count, sample_batch *batch)
{
    size_t elems = plane_elems(list);
    PCTI_RETURN_IF_FAILED(pct_weights_read_f32(list->file, list->tensor, (int64_t)(first * elems),
                                               (int64_t)(count * elems), batch->values));
    for (size_t i = 0; i < count; i++) {
        list->items[first + i].status = SAMPLE_READ;
        batch->samples[batch->count++] = first + i;
    }
    batch->decode_ms = batch->preprocess_ms = NAN;
    return PCT_OK;
}

pct_status samples_read(sample_list *list, size_t *next, sample_batch *batch)
{
    batch->count = 0;
    batch->decode_ms = batch->preprocess_ms = 0;
    while (batch->count < batch->capacity && *next < list->count && !tool_interrupted()) {
        size_t count = batch->capacity - batch->count;
        if (count > list->count - *next) count = list->count - *next;
        PCTI_RETURN_IF_FAILED(list->file ? read_tensor(list, *next, count, batch)
                                         : read_pictures(list, *next, count, batch));
        if (!tool_interrupted()) name_oddities(list, *next, count);
        *next += count;
    }
    return PCT_OK;
}
