/* The globals of a state dict, and what calls of them make. */
#include <string.h>

#include "base/memory.h"
#include "import/pickle.h"

static bool is(pcti_text_view text, const char *wanted)
{
    return text.length == strlen(wanted) && !memcmp(text.bytes, wanted, text.length);
}

static bool find_global(pcti_text_view module, pcti_text_view name, pcti_global *global)
{
    static const struct {
        const char *module, *name;
        int global;
    } known[] = {
        {"collections", "OrderedDict", PCTI_GLOBAL_ORDERED_DICT},
        {"torch", "Size", PCTI_GLOBAL_SIZE},
        {"torch._utils", "_rebuild_tensor", PCTI_GLOBAL_TENSOR},
        {"torch._utils", "_rebuild_tensor_v2", PCTI_GLOBAL_TENSOR_V2},
        {"torch._utils", "_rebuild_parameter", PCTI_GLOBAL_PARAMETER},
        {"torch", "UntypedStorage", PCTI_GLOBAL_STORAGE + PCTI_STORE_U8},
        {"torch.storage", "UntypedStorage", PCTI_GLOBAL_STORAGE + PCTI_STORE_U8},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (is(module, known[i].module) && is(name, known[i].name)) {
            *global = (pcti_global)known[i].global;
            return true;
        }
    for (int s = 0; s < PCTI_STORE_COUNT && is(module, "torch"); s++)
        if (pcti_store_table[s].torch && is(name, pcti_store_table[s].torch)) {
            *global = (pcti_global)(PCTI_GLOBAL_STORAGE + s);
            return true;
        }
    return false;
}

pct_status pcti_pickle_global(pcti_pickle *pickle, pcti_text_view module, pcti_text_view name, pcti_value **value)
{
    char shown_module[PCTI_SHOWN], shown_name[PCTI_SHOWN];
    pcti_global global;
    *value = NULL;
    if (!find_global(module, name, &global))
        return pcti_fail(PCT_ERROR_UNSUPPORTED,
                         "refuses global %s.%s: a pickle can run code, and only what state dicts hold is read",
                         pcti_shown(module.bytes, module.length, shown_module),
                         pcti_shown(name.bytes, name.length, shown_name));
    PCTI_RETURN_IF_FAILED(pcti_value_new(pickle, PCTI_GLOBAL, value));
    (*value)->u.global = global;
    return PCT_OK;
}

/* ---- calls ---- */

static pct_status fail_call(const char *what)
{
    return pcti_fail(PCT_ERROR_FORMAT, "pickle: %s", what);
}

/* OrderedDict(), or OrderedDict([[key, value], ...]) as Python 2 wrote it. */
static pct_status make_dict(pcti_pickle *pickle, pcti_value *const *arguments, size_t count, pcti_value **result)
{
    PCTI_RETURN_IF_FAILED(pcti_value_new(pickle, PCTI_DICT, result));
    if (count == 0) return PCT_OK;
    if (count != 1 || arguments[0]->kind != PCTI_LIST) return fail_call("OrderedDict of something else than pairs");
    for (size_t i = 0; i < arguments[0]->u.items.count; i++) {
        const pcti_value *pair = arguments[0]->u.items.list[i];
        if ((pair->kind != PCTI_LIST && pair->kind != PCTI_TUPLE) || pair->u.items.count != 2)
            return fail_call("OrderedDict of something else than pairs");
        PCTI_RETURN_IF_FAILED(pcti_value_append(*result, pair->u.items.list[0]));
        PCTI_RETURN_IF_FAILED(pcti_value_append(*result, pair->u.items.list[1]));
    }
    return PCT_OK;
}

static pct_status get_counts(const pcti_value *tuple, int64_t counts[PCT_MAX_RANK], int32_t *n)
{
    if (tuple->kind != PCTI_TUPLE && tuple->kind != PCTI_LIST)
        return fail_call("a tensor's size or stride is no tuple");
    if (tuple->u.items.count > PCT_MAX_RANK)
        return pcti_fail(PCT_ERROR_UNSUPPORTED, "pickle: a tensor of %zu dimensions, at most %d are read",
                         tuple->u.items.count, PCT_MAX_RANK);
    *n = (int32_t)tuple->u.items.count;
    for (int32_t i = 0; i < *n; i++) {
        if (tuple->u.items.list[i]->kind != PCTI_INTEGER) return fail_call("a tensor's size or stride is no number");
        counts[i] = tuple->u.items.list[i]->u.integer;
    }
    return PCT_OK;
}

/* (storage, offset, size, stride) and, in the second version, requires_grad, hooks, and metadata: flags such
 * as "these values are to be negated", which a plain tensor has none of. */
static pct_status make_tensor(pcti_pickle *pickle, pcti_value *const *arguments, size_t count, pcti_value **result)
{
    int32_t strides;
    if (arguments[0]->kind != PCTI_STORAGE || arguments[1]->kind != PCTI_INTEGER)
        return fail_call("a tensor without storage and offset");
    if (count == 7 && arguments[6]->kind != PCTI_NONE &&
        (arguments[6]->kind != PCTI_DICT || arguments[6]->u.items.count != 0))
        return pcti_fail(PCT_ERROR_UNSUPPORTED, "pickle: a tensor with metadata (conjugated or negated values)");
    PCTI_RETURN_IF_FAILED(pcti_value_new(pickle, PCTI_TENSOR, result));
    pcti_strided *tensor = (*result)->u.tensor = pcti_calloc(1, sizeof *tensor);
    if (!tensor) return PCT_ERROR_MEMORY;
    tensor->storage = arguments[0];
    tensor->offset = arguments[1]->u.integer;
    PCTI_RETURN_IF_FAILED(get_counts(arguments[2], tensor->dims, &tensor->rank));
    PCTI_RETURN_IF_FAILED(get_counts(arguments[3], tensor->strides, &strides));
    return strides == tensor->rank ? PCT_OK : fail_call("a tensor's size and stride differ in length");
}

pct_status pcti_pickle_call(pcti_pickle *pickle, const pcti_value *function, const pcti_value *arguments,
                            pcti_value **result)
{
    pcti_value *const *list = arguments->u.items.list;
    size_t count = arguments->u.items.count;
    *result = NULL;
    switch (function->u.global) {
    case PCTI_GLOBAL_ORDERED_DICT: return make_dict(pickle, list, count, result);
    case PCTI_GLOBAL_SIZE:
        if (count != 1 || list[0]->kind != PCTI_TUPLE) return fail_call("torch.Size of no tuple");
        *result = list[0];
        return PCT_OK;
    case PCTI_GLOBAL_TENSOR:
        if (count != 4) return fail_call("_rebuild_tensor takes 4 arguments");
        return make_tensor(pickle, list, count, result);
    case PCTI_GLOBAL_TENSOR_V2:
        if (count != 6 && count != 7) return fail_call("_rebuild_tensor_v2 takes 6 or 7 arguments");
        return make_tensor(pickle, list, count, result);
    case PCTI_GLOBAL_PARAMETER:
        if (count != 3 || list[0]->kind != PCTI_TENSOR) return fail_call("_rebuild_parameter of no tensor");
        *result = list[0];
        return PCT_OK;
    default: return fail_call("a call of a storage class");
    }
}

/* ---- persistent ids ---- */

/* The old container's (key, offset, elements), a part of a storage; None if it is the whole. */
static pct_status get_view(const pcti_value *view, pcti_storage *storage)
{
    storage->view_elems = storage->elems;
    if (view->kind == PCTI_NONE) return PCT_OK;
    if (view->kind != PCTI_TUPLE || view->u.items.count != 3 || view->u.items.list[1]->kind != PCTI_INTEGER ||
        view->u.items.list[2]->kind != PCTI_INTEGER)
        return fail_call("a storage's view is not (key, offset, size)");
    storage->view_offset = view->u.items.list[1]->u.integer;
    storage->view_elems = view->u.items.list[2]->u.integer;
    if (storage->view_offset < 0 || storage->view_elems < 0 || storage->view_offset > storage->elems ||
        storage->view_elems > storage->elems - storage->view_offset)
        return fail_call("a view leaves its storage");
    return PCT_OK;
}

/* ("storage", class, key, location, elements[, view]) */
pct_status pcti_pickle_persistent(pcti_pickle *pickle, const pcti_value *id, pcti_value **value)
{
    static const pcti_value none = {.kind = PCTI_NONE};
    *value = NULL;
    size_t count = id->kind == PCTI_TUPLE ? id->u.items.count : 0;
    pcti_value *const *list = id->u.items.list;
    if (count < 5 || count > 6 || !pcti_value_is_text(list[0], "storage") || list[1]->kind != PCTI_GLOBAL ||
        list[1]->u.global < PCTI_GLOBAL_STORAGE || list[2]->kind != PCTI_STRING || list[4]->kind != PCTI_INTEGER)
        return fail_call("a persistent id is not (\"storage\", class, key, location, size)");
    PCTI_RETURN_IF_FAILED(
        pcti_grow(&pickle->storages, &pickle->storages_capacity, pickle->n_storages, sizeof *pickle->storages));
    PCTI_RETURN_IF_FAILED(pcti_value_new(pickle, PCTI_STORAGE, value));
    pcti_storage *storage = (*value)->u.storage = pcti_calloc(1, sizeof *storage);
    if (!storage) return PCT_ERROR_MEMORY;
    storage->key = list[2]->u.text;
    storage->store = (pcti_store)(list[1]->u.global - PCTI_GLOBAL_STORAGE);
    storage->elems = list[4]->u.integer;
    if (storage->elems < 0) return fail_call("a storage of negative size");
    PCTI_RETURN_IF_FAILED(get_view(count == 6 ? list[5] : &none, storage));
    pickle->storages[pickle->n_storages++] = *value;
    return PCT_OK;
}
