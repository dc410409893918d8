/* The model zoo: networks by name, and their weights.
 *
 *     pct_model_create("resnet50", NULL, &model);
 *     pct_model_load(model, "resnet50.safetensors");
 *     pct_plan_create(device, pct_model_graph(model), &plan_options, &plan);
 *
 * Parameters have the names and shapes of torchvision's state_dict (efficientnet_lite0: of its published
 * file), so that PyTorch's weights load as they are. A model is used by one thread at a time, different ones
 * concurrently. */
#ifndef PCT_MODEL_H
#define PCT_MODEL_H

#include "pct/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pct_model pct_model;

/* Zero-initialise, then set struct_bytes = sizeof(pct_model_options). 0 in a field means its default. */
typedef struct pct_model_options {
    size_t struct_bytes;
    int32_t classes;       /* 1000 */
    int32_t height, width; /* of the pictures; the model's usual size; one alone stands for both */
} pct_model_options;

/* Texts are static storage. */
typedef struct pct_model_info {
    const char *name;
    const char *preset; /* how pictures are prepared for it: a name for pct_preset_find */
    int32_t classes, height, width;
    int32_t usual_size; /* height and width that it was designed for */
    int32_t min_size;   /* smallest height and smallest width that the network allows */
} pct_model_info;

/* Names of the models there are: index 0, 1, ... until NULL. Static storage. */
PCT_API const char *pct_model_list(int index);

/* Builds the graph of a model: input "input" f32 (batch, 3, height, width), output "logits" (batch, classes).
 * Its parameters have no values yet. `options` may be NULL. PCT_ERROR_NOT_FOUND for an unknown name lists the
 * models there are; PCT_ERROR_ARGUMENT for a negative option or for a size at which a window no longer fits
 * gives the smallest one. The caller destroys *model. */
PCT_API pct_status pct_model_create(const char *name, const pct_model_options *options, pct_model **model);
/* NULL allowed. Plans made from its graph stay valid, and so do the values loaded into it. */
PCT_API void pct_model_destroy(pct_model *model);

/* Lent; lives as long as the model. */
PCT_API pct_graph *pct_model_graph(const pct_model *model);
PCT_API const pct_model_info *pct_model_get_info(const pct_model *model);

/* Binds every parameter to the tensor of its name in a weights file (see pct/weights.h for the formats); no
 * tensor data is read before a plan asks for it. The file stays mapped until the model and all plans with its
 * values are gone; it must not be shortened meanwhile. PCT_ERROR_FORMAT names the tensors that are missing,
 * have another shape, or are in the file but not in the model (`num_batches_tracked` is passed over); then
 * the model is as it was before. */
PCT_API pct_status pct_model_load(pct_model *model, const char *path);

/* Binds every parameter to reproducible values that need no file and are computed when asked for:
 * pct_synthetic_fill of the parameter's name, with bound sqrt(6 / fan_in) for two or more dimensions (fan_in
 * = product of all but the first) and 0.1 for biases. Batch-norm, with w made at bound 1: weight 1 + 0.1 w,
 * bias and running_mean 0.1 w, running_var 1 + 0.5 |w|. The same bits on every machine. */
PCT_API pct_status pct_model_load_synthetic(pct_model *model);

/* Elements [first, first + count) of the endless tensor `name`: element i is (u(i) / 2^23 - 1) * bound,
 * rounded to float, with u(i) = the upper 24 bits of SplitMix64 (Steele, Lea, Flood 2014) of counter
 * FNV-1a(name) + i. The synthetic picture that goes with synthetic weights is "input" at bound 1. */
PCT_API void pct_synthetic_fill(const char *name, double bound, int64_t first, int64_t count, float *dst);

#ifdef __cplusplus
}
#endif
#endif
