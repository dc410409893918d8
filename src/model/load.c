/* A weights file behind a model's parameters. */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "core/tensor.h"
#include "model/model.h"
#include "pct/weights.h"

/* ---- the source: one tensor of a file that stays open as long as any of them is in use ---- */

typedef struct shared_file {
    pct_weights *weights;
    atomic_size_t users; /* sources; graphs and plans of different threads release them */
} shared_file;

typedef struct tensor_source {
    shared_file *file;
    size_t index;
} tensor_source;

static void release_file(shared_file *file)
{
    if (atomic_fetch_sub(&file->users, 1) != 1) return;
    pct_weights_close(file->weights);
    pcti_free(file);
}

static pct_status read_tensor(void *cookie, int64_t first, int64_t count, float *dst)
{
    const tensor_source *source = cookie;
    return pct_weights_read_f32(source->file->weights, source->index, first, count, dst);
}

static void drop_tensor(void *cookie, int64_t first, int64_t count)
{
    const tensor_source *source = cookie;
    pct_weights_drop(source->file->weights, source->index, first, count);
}

static void destroy_tensor(void *cookie)
{
    tensor_source *source = cookie;
    release_file(source->file);
    pcti_free(source);
}

static pct_status bind_tensor(pct_graph *graph, pct_value parameter, shared_file *file, size_t index)
{
    tensor_source *cookie = pcti_calloc(1, sizeof *cookie);
    if (!cookie) return PCT_ERROR_MEMORY;
    *cookie = (tensor_source){file, index};
    atomic_fetch_add(&file->users, 1);
    pct_source source = {.cookie = cookie,
                         .data = pct_weights_pointer(file->weights, index),
                         .read = read_tensor,
                         .drop = drop_tensor,
                         .destroy = destroy_tensor};
    pct_status status = pct_graph_bind(graph, parameter, &source);
    if (status != PCT_OK) destroy_tensor(cookie);
    return status;
}

/* ---- does the file fit? ---- */

/* Names for a message; as many as leave room for the other lists. */
typedef struct name_list {
    pcti_text text;
    int count, left_out;
} name_list;
enum { LIST_BYTES = 2000 };

static void list_name(name_list *list, const char *name, const char *detail)
{
    list->count++;
    if (list->text.length + strlen(name) + strlen(detail) > LIST_BYTES)
        list->left_out++;
    else
        pcti_text_add(&list->text, "%s%s%s", list->text.length ? ", " : "", name, detail);
}

static void add_list(pcti_text *message, const name_list *list, const char *what)
{
    if (!list->count) return;
    pcti_text_add(message, "%s%d %s: %s", message->length ? "; " : "", list->count, what,
                  list->text.data ? list->text.data : "");
    if (list->left_out) pcti_text_add(message, " and %d more", list->left_out);
}

typedef struct misfit {
    name_list missing, shape, unused;
} misfit;

static pct_status report(misfit *found, const pct_model *model, const char *path)
{
    pct_status status = PCT_OK;
    pcti_text message = {0};
    add_list(&message, &found->missing, "tensors are missing");
    add_list(&message, &found->shape, "have another shape");
    add_list(&message, &found->unused, "are not in the model");
    if (message.failed || found->missing.text.failed || found->shape.text.failed || found->unused.text.failed)
        status = PCT_ERROR_MEMORY;
    else if (message.length)
        status =
            pcti_fail(PCT_ERROR_FORMAT, "%s: not the weights of this %s: %s", path, model->info.name, message.data);
    pcti_text_free(&message);
    pcti_text_free(&found->missing.text);
    pcti_text_free(&found->shape.text);
    pcti_text_free(&found->unused.text);
    return status;
}

static pct_status check_shape(const pct_weights *weights, size_t index, const pct_graph *graph, pct_value parameter,
                              const char *name, name_list *wrong)
{
    pct_shape in_file, wanted;
    char file_text[PCTI_SHAPE_TEXT], wanted_text[PCTI_SHAPE_TEXT], detail[2 * PCTI_SHAPE_TEXT + 32];
    PCTI_RETURN_IF_FAILED(pct_weights_shape(weights, index, &in_file));
    PCTI_RETURN_IF_FAILED(pct_graph_shape(graph, parameter, &wanted));
    in_file.dtype = wanted.dtype; /* any element type is converted */
    if (pcti_shape_equal(&in_file, &wanted)) return PCT_OK;
    snprintf(detail, sizeof detail, " (%s, the model has %s)",
             pcti_shape_print(&in_file, file_text, sizeof file_text),
             pcti_shape_print(&wanted, wanted_text, sizeof wanted_text));
    list_name(wrong, name, detail);
    return PCT_OK;
}

/* How many batches a batch-norm layer has seen: of no use outside of PyTorch. */
static bool is_batch_counter(const char *name)
{
    static const char leaf[] = "num_batches_tracked";
    size_t length = strlen(name), wanted = sizeof leaf - 1;
    return length >= wanted && !strcmp(name + length - wanted, leaf) &&
           (length == wanted || name[length - wanted - 1] == '.');
}

/* indices[i]: the tensor of parameter i. */
static pct_status match(const pct_model *model, const pct_weights *weights, const char *path, size_t *indices)
{
    pct_status status = PCT_OK;
    misfit found = {0};
    size_t count = pct_weights_count(weights);
    bool *used = pcti_calloc(count, sizeof *used);
    if (!used) return PCT_ERROR_MEMORY;
    for (int i = 0; i < pct_graph_parameter_count(model->graph); i++) {
        const char *name;
        pct_value parameter = pct_graph_parameter(model->graph, i, &name);
        status = pct_weights_find(weights, name, &indices[i]);
        if (status == PCT_ERROR_NOT_FOUND) {
            status = PCT_OK;
            list_name(&found.missing, name, "");
            continue;
        }
        if (status != PCT_OK) goto fail;
        used[indices[i]] = true;
        PCTI_TRY(check_shape(weights, indices[i], model->graph, parameter, name, &found.shape));
    }
    for (size_t i = 0; i < count; i++)
        if (!used[i] && !is_batch_counter(pct_weights_name(weights, i)))
            list_name(&found.unused, pct_weights_name(weights, i), "");
fail:
    pcti_free(used);
    pct_status fit = report(&found, model, path);
    return status != PCT_OK ? status : fit;
}

pct_status pct_model_load(pct_model *model, const char *path)
{
    pct_status status;
    int count = pct_graph_parameter_count(model->graph);
    size_t *indices = pcti_calloc((size_t)count, sizeof *indices);
    shared_file *file = pcti_calloc(1, sizeof *file);
    if (file) atomic_init(&file->users, 1); /* this function, until it returns */
    PCTI_TRY(indices && file ? PCT_OK : PCT_ERROR_MEMORY);
    PCTI_TRY(pct_weights_open(path, &file->weights));
    PCTI_TRY(match(model, file->weights, path, indices));
    for (int i = 0; i < count; i++)
        PCTI_TRY(bind_tensor(model->graph, pct_graph_parameter(model->graph, i, NULL), file, indices[i]));
fail:
    pcti_free(indices);
    if (file) release_file(file);
    return status;
}
