/* Values made from a name and an index. */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/text.h"
#include "core/tensor.h"
#include "model/model.h"

/* Compiled for several instruction sets, chosen when the program starts: a VGG16 has 138 million weights. Not
 * under sanitizers, whose runtime is not up yet at that moment. */
#if defined(__x86_64__) && defined(__gnu_linux__) && defined(__has_attribute) && !defined(__SANITIZE_ADDRESS__) &&   \
    !defined(__SANITIZE_THREAD__)
#if __has_attribute(target_clones)
#define VECTORISED __attribute__((target_clones("arch=x86-64-v4", "avx2", "default")))
#endif
#endif
#ifndef VECTORISED
#define VECTORISED
#endif

enum { BLOCK = 256 };

/* A fixed trip count, so that compilers vectorise it without a remainder. */
VECTORISED static void fill_block(uint64_t counter, double bound, float *dst)
{
    for (int i = 0; i < BLOCK; i++) {
        int32_t bits = (int32_t)(pcti_splitmix64(counter + (uint64_t)i) >> 40); /* 24: exact in double */
        dst[i] = (float)(((double)bits * (1.0 / 8388608.0) - 1.0) * bound);
    }
}

static void fill(uint64_t counter, double bound, int64_t count, float *dst)
{
    float last[BLOCK];
    while (count >= BLOCK) {
        fill_block(counter, bound, dst);
        counter += BLOCK;
        dst += BLOCK;
        count -= BLOCK;
    }
    if (count <= 0) return;
    fill_block(counter, bound, last);
    memcpy(dst, last, (size_t)count * sizeof *dst);
}

void pct_synthetic_fill(const char *name, double bound, int64_t first, int64_t count, float *dst)
{
    fill(pcti_fnv1a(PCTI_FNV_START, name, strlen(name)) + (uint64_t)first, bound, count, dst);
}

/* ---- parameters ---- */

/* w (made at bound) becomes shift + scale * w, or * |w|. Float arithmetic, as the recipe does it. */
typedef struct synthetic_source {
    uint64_t counter; /* of element 0 */
    double bound;
    bool plain, magnitude; /* plain: w as it is */
    float shift, scale;
} synthetic_source;

static pct_status read_synthetic(void *cookie, int64_t first, int64_t count, float *dst)
{
    const synthetic_source *source = cookie;
    fill(source->counter + (uint64_t)first, source->bound, count, dst);
    if (source->plain) return PCT_OK;
    for (int64_t i = 0; i < count; i++)
        dst[i] = source->shift + source->scale * (source->magnitude ? fabsf(dst[i]) : dst[i]);
    return PCT_OK;
}

static bool has_parameter(const pct_graph *graph, const char *prefix, size_t prefix_length, const char *leaf)
{
    for (int i = 0; i < pct_graph_parameter_count(graph); i++) {
        const char *name;
        pct_graph_parameter(graph, i, &name);
        if (!strncmp(name, prefix, prefix_length) && !strcmp(name + prefix_length, leaf)) return true;
    }
    return false;
}

static synthetic_source make_source(const pct_graph *graph, const char *name, const pct_shape *shape)
{
    synthetic_source source = {
        .counter = pcti_fnv1a(PCTI_FNV_START, name, strlen(name)), .bound = 0.1, .plain = true};
    const char *dot = strrchr(name, '.'), *leaf = dot ? dot + 1 : name;
    if (shape->rank >= 2) {
        int64_t fan_in = 1;
        for (int d = 1; d < shape->rank; d++) fan_in *= shape->dims[d];
        source.bound = sqrt(6.0 / (double)pcti_max(fan_in, 1));
    } else if (has_parameter(graph, name, (size_t)(leaf - name), "running_mean")) {
        bool variance = !strcmp(leaf, "running_var"), weight = !strcmp(leaf, "weight");
        source.bound = 1;
        source.plain = false;
        source.magnitude = variance;
        source.shift = variance || weight ? 1.0f : 0.0f;
        source.scale = variance ? 0.5f : 0.1f;
    }
    return source;
}

pct_status pct_model_load_synthetic(pct_model *model)
{
    for (int i = 0; i < pct_graph_parameter_count(model->graph); i++) {
        const char *name;
        pct_shape shape;
        pct_value parameter = pct_graph_parameter(model->graph, i, &name);
        PCTI_RETURN_IF_FAILED(pct_graph_shape(model->graph, parameter, &shape));
        synthetic_source *cookie = pcti_calloc(1, sizeof *cookie);
        if (!cookie) return PCT_ERROR_MEMORY;
        *cookie = make_source(model->graph, name, &shape);
        pct_source source = {.cookie = cookie, .read = read_synthetic, .destroy = pcti_free};
        pct_status status = pct_graph_bind(model->graph, parameter, &source);
        if (status != PCT_OK) {
            pcti_free(cookie);
            return status;
        }
    }
    return PCT_OK;
}
