/* Weights files: named tensors in a mapped file. Reads safetensors and both containers of PyTorch's
 * torch.save (the old one, pickles followed by raw storages, and zip); the type is told by content. Writes
 * safetensors. A pickle is read by an interpreter that knows only what state dicts hold and runs no code: any
 * other global is refused by name. */
#ifndef PCT_WEIGHTS_H
#define PCT_WEIGHTS_H

#include "pct/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An opened file. It never changes after opening, so any number of threads may read it at once. The file must
 * not be shortened while it is open. Everything that a getter returns lives until pct_weights_close. */
typedef struct pct_weights pct_weights;

/* Maps the file and checks every range of every tensor against it; no tensor data is read. PCT_ERROR_FORMAT for a
 * broken file, PCT_ERROR_UNSUPPORTED for a valid one that is beyond this reader (a compressed zip entry, a global that
 * no state dict needs); a tensor of more than PCT_MAX_RANK dimensions is refused too. Messages name file and tensor.
 * PyTorch checkpoints may nest: if no tensor but exactly one dict of tensors lies at the top ({"epoch": 3,
 * "state_dict": {...}}), that dict is taken as the whole file; otherwise nested tensors are named by their path
 * ("model.fc.weight"). Values that are not tensors are passed over. */
PCT_API pct_status pct_weights_open(const char *path, pct_weights **weights);
PCT_API void pct_weights_close(pct_weights *weights); /* NULL allowed */

PCT_API size_t pct_weights_count(const pct_weights *weights);
/* Names come in the file's order; NULL if index >= count. */
PCT_API const char *pct_weights_name(const pct_weights *weights, size_t index);
/* Logical shape and element type. Values stored as 8 or 16 bit integers without a pct_dtype of their own (I8,
 * I16, U16) count as PCT_I32, U32 as PCT_I64; types that cannot be read (U64, 8-bit floats) are
 * PCT_ERROR_UNSUPPORTED. */
PCT_API pct_status pct_weights_shape(const pct_weights *weights, size_t index, pct_shape *shape);
/* PCT_ERROR_NOT_FOUND if no tensor has that name. Inside a DenseNet layer both of torchvision's spellings are
 * found, whichever the file has: "denselayer1.norm.1.weight" and "denselayer1.norm1.weight" (also conv and
 * relu). */
PCT_API pct_status pct_weights_find(const pct_weights *weights, const char *name, size_t *index);
/* A value of safetensors' __metadata__; NULL if there is none of that key. */
PCT_API const char *pct_weights_metadata(const pct_weights *weights, const char *key);

/* Elements [first, first + count) in logical row-major order, whatever strides the file stores them with,
 * converted to float32 (rounded to nearest). PCT_ERROR_ARGUMENT if the range leaves the tensor. */
PCT_API pct_status pct_weights_read_f32(const pct_weights *weights, size_t index, int64_t first, int64_t count,
                                        float *dst);
/* The same for integer and boolean tensors, such as labels; PCT_ERROR_UNSUPPORTED for floating point ones. */
PCT_API pct_status pct_weights_read_i64(const pct_weights *weights, size_t index, int64_t first, int64_t count,
                                        int64_t *dst);
/* The tensor's elements in the mapped file if they are float32, row-major without gaps and 4-byte aligned;
 * else NULL. */
PCT_API const float *pct_weights_pointer(const pct_weights *weights, size_t index);
/* Tells the system that these elements will not be read again soon, so that their pages stop counting as this
 * process's memory. They can still be read. Does nothing for part of a tensor that is not contiguous. */
PCT_API void pct_weights_drop(const pct_weights *weights, size_t index, int64_t first, int64_t count);

typedef struct pct_named_tensor {
    const char *name;
    pct_shape shape;  /* every dimension bound */
    const void *data; /* row-major, in the shape's element type; may be NULL if the tensor is empty */
} pct_named_tensor;

typedef struct pct_text_pair {
    const char *key, *value;
} pct_text_pair;

/* Writes a safetensors file, whole or not at all. Tensors with larger elements come first, so that all are
 * aligned. `metadata` may be NULL if n_metadata is 0. PCT_ERROR_ARGUMENT for a name that is empty, doubled,
 * "__metadata__" or not UTF-8. */
PCT_API pct_status pct_safetensors_write(const char *path, const pct_named_tensor *tensors, size_t n_tensors,
                                         const pct_text_pair *metadata, size_t n_metadata);

#ifdef __cplusplus
}
#endif
#endif
