/* The parts of clpredict: clpredict.c has the command line and the run, clpredict_samples.c what goes in,
 * clpredict_report.c what comes out. */
#ifndef PCTI_TOOLS_CLPREDICT_H
#define PCTI_TOOLS_CLPREDICT_H

#include "common/labels.h"
#include "common/options.h"
#include "pct/data.h"
#include "pct/device.h"
#include "pct/graph.h"
#include "pct/model.h"
#include "pct/weights.h"

/* ---- samples: pictures, or items of a tensor ---- */

typedef enum sample_status {
    SAMPLE_WAITING,
    SAMPLE_READ, /* its values are in a batch */
    SAMPLE_OK,
    SAMPLE_WRONG,     /* the network's result is not a number */
    SAMPLE_UNREADABLE /* no picture, or a broken one */
} sample_status;

typedef struct prediction {
    int32_t index; /* of the class */
    float logit;
    double probability;
} prediction;

typedef struct sample {
    char *path;
    int64_t item; /* of the tensor; -1: a picture */
    int32_t width, height, warnings;
    sample_status status;
    bool named;      /* on standard error: what is odd about it */
    char *reason;    /* why it is wrong or unreadable */
    int64_t row;     /* of the saved logits; -1: none */
    prediction *top; /* best first; owned */
    size_t n_top;
} sample;

typedef struct sample_list {
    sample *items;
    size_t count, capacity;
    /* how their values are made: from pictures ... */
    const pct_preset *preset;
    int32_t threads; /* 0: all */
    /* ... or from a file's tensor (N,C,H,W) */
    pct_weights *file;
    size_t tensor;
    int32_t height, width; /* of a sample's 3 planes; set by samples_from_tensor, else by the caller */
} sample_list;

/* Files and folders, a folder's pictures in byte order. A folder that cannot be listed, or has none, becomes
 * an unreadable sample. */
pct_status samples_from_paths(sample_list *list, char *const *paths, int n_paths);
/* The items of the tensor `input` (N,3,H,W) of a weights file. */
pct_status samples_from_tensor(sample_list *list, const char *path);
void samples_free(sample_list *list);

/* One batch of samples: float32 (capacity,3,H,W), the first `count` filled. */
typedef struct sample_batch {
    float *values;
    size_t *samples; /* index of each filled slot's sample */
    size_t capacity, count;
    double decode_ms, preprocess_ms; /* summed over the samples, although several are worked on at once; NaN
                                        for a tensor */
} sample_batch;

/* Fills the batch from sample *next on, which is moved past the samples that were used or found to be
 * unreadable (each is named on standard error). Fewer than `capacity` are filled only at the end of the list
 * or after an interruption. */
pct_status samples_read(sample_list *list, size_t *next, sample_batch *batch);

/* ---- the run ---- */

/* Where the time of one batch went, in ms; NaN where unknown. */
typedef enum time_kind {
    TIME_DECODE,
    TIME_PREPROCESS,
    TIME_UPLOAD,
    TIME_KERNEL,
    TIME_DOWNLOAD,
    TIME_OVERLAP,
    TIME_HOST,
    TIME_WALL, /* of the run: from upload to download, host clock */
    TIME_KINDS
} time_kind;
extern const char *const time_names[TIME_KINDS]; /* "decode", ... */

typedef struct batch_times {
    double ms[TIME_KINDS];
    int32_t invalid; /* device stamps that could not be used */
} batch_times;

typedef struct predict_options {
    tool_options common;
    const char *model, *weights, *labels, *preset, *input, *save;
    int64_t size, top, repeat, batch;
    bool low_memory, json;
    char *const *paths;
    int n_paths;
} predict_options;

typedef struct predict_job {
    const predict_options *options;
    sample_list samples;
    sample_batch batch;
    tool_labels *labels; /* NULL: the classes have no names */
    pct_device *device;
    pct_model *model;
    pct_plan *plan;
    pct_plan_info plan_info;
    const char *preset;                   /* NULL with --input */
    float *logits;                        /* (batch, classes) */
    float *saved;                         /* (n_done, classes), for --save */
    size_t n_done, n_wrong, n_unreadable; /* samples */
    batch_times first, steady;
    batch_times *repeats;
    size_t n_repeats; /* that were run */
    double busy_ms;   /* reading and running all batches, repetitions left out */
} predict_job;

/* ---- the report ---- */

/* The name of a class, or NULL. */
const char *class_name(const predict_job *job, int32_t index);
/* Table: what is going to run, before its first run; then the samples of each batch; then the times. */
pct_status report_begin(const predict_job *job);
pct_status report_batch(const predict_job *job);
pct_status report_end(const predict_job *job);
/* JSON: all at once. */
pct_status report_json(const predict_job *job);

#endif
