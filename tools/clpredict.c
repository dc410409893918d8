/* clpredict: what is on these pictures? */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "clpredict.h"
#include "common/open_device.h"
#include "common/progress.h"
#include "common/tool.h"
#include "prof/stats.h"

enum { DEFAULT_TOP = 5, DEFAULT_REPEAT = 5, DEFAULT_BATCH = 8, IMAGENET_CLASSES = 1000 };
enum { MAX_SIZE = 16384, MAX_BATCH = 4096, MAX_COUNT = 1000000 };
static const char imagenet_file[] = "imagenet_classes.txt";
static const char synthetic[] = "synthetic";

/* ---- the command line ---- */

enum {
    KEY_MODEL,
    KEY_WEIGHTS,
    KEY_LABELS,
    KEY_PRESET,
    KEY_SIZE,
    KEY_TOP,
    KEY_REPEAT,
    KEY_BATCH,
    KEY_MEMORY,
    KEY_FORMAT,
    KEY_INPUT,
    KEY_SAVE
};

static const tool_option own_options[] = {
    {KEY_MODEL, "model", "NAME", "the network, such as efficientnet_lite0 or resnet50"},
    {KEY_WEIGHTS, "weights", "FILE|synthetic",
     "its weights: safetensors or PyTorch's .pth; synthetic ones\nneed no file, and their classes mean nothing"},
    {KEY_LABELS, "labels", "FILE", "names of the classes, one a line (ImageNet's for 1000 classes)"},
    {KEY_PRESET, "preset", "NAME", "how pictures are prepared: torchvision, lite, caffe, tf\n(the model's own)"},
    {KEY_SIZE, "size", "N", "height and width of the network's input (the model's own)"},
    {KEY_TOP, "top", "N", "classes named for each picture (5)"},
    {KEY_REPEAT, "repeat", "N", "the first batch is run again N times for the steady times (5)"},
    {KEY_BATCH, "batch", "N", "pictures run at once (8, or fewer if there are fewer)"},
    {KEY_MEMORY, "memory", "low|fast", "low: weights take no more memory than their file (fast)"},
    {KEY_FORMAT, "format", "table|json", "of the result on standard output (table)"},
    {KEY_INPUT, "input", "FILE",
     "instead of pictures: the tensor \"input\" (N,3,H,W), float32, of a\nsafetensors file"},
    {KEY_SAVE, "save", "FILE", "write the tensor \"logits\" (N,classes) to a safetensors file"},
};

static pct_status take_option(void *cookie, int key, const char *argument)
{
    static const char *const memories[] = {"low", "fast", NULL}, *const formats[] = {"table", "json", NULL};
    predict_options *options = cookie;
    int word;
    switch (key) {
    case KEY_MODEL:
        options->model = argument;
        break;
    case KEY_WEIGHTS:
        options->weights = argument;
        break;
    case KEY_LABELS:
        options->labels = argument;
        break;
    case KEY_PRESET:
        options->preset = argument;
        break;
    case KEY_INPUT:
        options->input = argument;
        break;
    case KEY_SAVE:
        options->save = argument;
        break;
    case KEY_SIZE:
        return tool_parse_int(argument, 1, MAX_SIZE, &options->size);
    case KEY_TOP:
        return tool_parse_int(argument, 1, MAX_COUNT, &options->top);
    case KEY_REPEAT:
        return tool_parse_int(argument, 0, MAX_COUNT, &options->repeat);
    case KEY_BATCH:
        return tool_parse_int(argument, 1, MAX_BATCH, &options->batch);
    case KEY_MEMORY:
        PCTI_RETURN_IF_FAILED(tool_parse_word(argument, memories, &word));
        options->low_memory = word == 0;
        break;
    case KEY_FORMAT:
        PCTI_RETURN_IF_FAILED(tool_parse_word(argument, formats, &word));
        options->json = word == 1;
        break;
    }
    return PCT_OK;
}

static const tool_command command = {
    .name = "clpredict",
    .synopsis = "[options] --model NAME --weights FILE|synthetic picture...",
    .about = "Classifies pictures, JPEG or PNG. A folder stands for the pictures in it. For each picture the\n"
             "most probable classes are printed: probability, index, name; then the times of the first and of\n"
             "the steady run of one batch: decode and preprocess (summed over its pictures, although several\n"
             "are worked on at once), upload, kernel, download on the device's clock, overlap of kernels and\n"
             "copies, the host's own time, and the wall time of the run from upload to download.\n"
             "\n"
             "An unreadable picture is named and does not end the run. Without a device option the first\n"
             "OpenCL GPU is taken, else the CPU path.\n"
             "\n"
             "--format json writes one object: format, version, commit, machine, model, device, plan (bytes of\n"
             "weights, activations, workspace), first and steady (times of a batch in ms), samples_per_s, and\n"
             "results, one for each picture in order: file, item (of --input), status (ok, wrong, unreadable),\n"
             "reason, row (in --save's logits), width, height, warnings of the decoder, and top, a list of\n"
             "index, name, probability, logit. A figure that is not known is null.",
    .examples =
        "  clpredict --model efficientnet_lite0 --weights efficientnet-lite0.pth cat.jpg\n"
        "  clpredict --cpu --model resnet50 --weights resnet50.safetensors --top 3 holiday/\n"
        "  clpredict --device 0 --model vgg16 --weights synthetic --input x.safetensors --save y.safetensors\n",
    .options = own_options,
    .n_options = sizeof own_options / sizeof *own_options,
    .take = take_option,
};

static int check_options(const predict_options *options)
{
    if (!options->model || !options->weights) {
        char names[1024] = "";
        const char *name;
        size_t length = 0;
        for (int i = 0; (name = pct_model_list(i)) && length < sizeof names; i++)
            length += (size_t)snprintf(names + length, sizeof names - length, "%s%s", i ? ", " : "", name);
        if (!options->model) return tool_usage(&command, "--model is missing; there are %s", names);
        return tool_usage(&command, "--weights is missing: a file, or \"synthetic\"");
    }
    if (options->input && options->n_paths) return tool_usage(&command, "--input and pictures exclude each other");
    if (!options->input && !options->n_paths) return tool_usage(&command, "no picture is given");
    if (options->input && (options->preset || options->size))
        return tool_usage(&command, "--input is taken as it is: --%s has no effect",
                          options->preset ? "preset" : "size");
    return TOOL_CONTINUE;
}

/* ---- preparing ---- */

/* As many classes as the weights' last layer has; 0 (the model's usual number) if that cannot be told:
 * loading then says what does not fit. */
static pct_status find_classes(const char *model_name, const char *path, int32_t *classes)
{
    pct_model *model;
    pct_weights *weights = NULL;
    pct_shape shape;
    const char *name;
    size_t index;
    *classes = 0;
    PCTI_RETURN_IF_FAILED(pct_model_create(model_name, NULL, &model));
    pct_status status = pct_weights_open(path, &weights);
    if (status == PCT_OK) {
        const pct_graph *graph = pct_model_graph(model);
        pct_graph_parameter(graph, pct_graph_parameter_count(graph) - 1, &name);
        if (pct_weights_find(weights, name, &index) == PCT_OK &&
            pct_weights_shape(weights, index, &shape) == PCT_OK && shape.rank > 0 && shape.dims[0] <= INT32_MAX)
            *classes = (int32_t)shape.dims[0];
    }
    pct_weights_close(weights);
    pct_model_destroy(model);
    return status;
}

/* Returns an exit code, as all functions of this part. */
static int load_model(predict_job *job)
{
    const predict_options *options = job->options;
    bool from_file = strcmp(options->weights, synthetic) != 0;
    pct_model_options wanted = {.struct_bytes = sizeof wanted};
    pct_status status;
    if (options->input) {
        if ((status = samples_from_tensor(&job->samples, options->input)) != PCT_OK)
            return tool_fail(status, TOOL_INPUT);
        wanted.height = job->samples.height;
        wanted.width = job->samples.width;
    } else {
        wanted.height = wanted.width = (int32_t)options->size;
    }
    /* Names and sizes first, so that a wrong one is not taken for a wrong file. */
    if ((status = pct_model_create(options->model, &wanted, &job->model)) != PCT_OK)
        return tool_fail(status, TOOL_USAGE);
    if (!from_file) return tool_fail(pct_model_load_synthetic(job->model), TOOL_DEVICE);
    if ((status = find_classes(options->model, options->weights, &wanted.classes)) != PCT_OK)
        return tool_fail(status, TOOL_INPUT);
    if (wanted.classes && wanted.classes != pct_model_get_info(job->model)->classes) {
        pct_model_destroy(job->model);
        if ((status = pct_model_create(options->model, &wanted, &job->model)) != PCT_OK)
            return tool_fail(status, TOOL_INPUT);
    }
    return tool_fail(pct_model_load(job->model, options->weights), TOOL_INPUT);
}

static int load_labels(predict_job *job)
{
    char *found = NULL;
    const char *path = job->options->labels;
    int32_t classes = pct_model_get_info(job->model)->classes;
    if (!path) {
        if (classes != IMAGENET_CLASSES) return TOOL_OK;
        if (tool_data_path(imagenet_file, &found) != PCT_OK) {
            tool_message("classes go without names: %s", pct_error_message());
            return TOOL_OK;
        }
        path = found;
    }
    pct_status status = tool_labels_read(path, &job->labels);
    if (status == PCT_OK && job->labels->count != (size_t)classes)
        status = pcti_fail(PCT_ERROR_FORMAT, "%s: %zu names, but the model has %d classes", path, job->labels->count,
                           (int)classes);
    pcti_free(found);
    return tool_fail(status, TOOL_INPUT);
}

static int find_samples(predict_job *job)
{
    const predict_options *options = job->options;
    const pct_model_info *model = pct_model_get_info(job->model);
    if (options->input) return TOOL_OK; /* load_model has them */
    job->preset = options->preset ? options->preset : model->preset;
    pct_status status = pct_preset_find(job->preset, &job->samples.preset);
    if (status != PCT_OK) return tool_fail(status, TOOL_USAGE);
    job->samples.height = model->height;
    job->samples.width = model->width;
    job->samples.threads = options->common.threads;
    return tool_fail(samples_from_paths(&job->samples, options->paths, options->n_paths), TOOL_INPUT);
}

static pct_status make_buffers(predict_job *job)
{
    const pct_model_info *model = pct_model_get_info(job->model);
    size_t capacity = (size_t)job->options->batch;
    if (capacity > job->samples.count) capacity = job->samples.count;
    job->batch.capacity = capacity;
    size_t classes = (size_t)model->classes, elems = 3 * (size_t)model->height * (size_t)model->width;
    size_t save_rows = job->options->save ? job->samples.count : 0;
    /* Zeros where the last batch is not full: the network runs on them, and nobody looks at the result. */
    job->batch.values = pcti_calloc(capacity, elems * sizeof *job->batch.values);
    job->batch.samples = pcti_calloc(capacity, sizeof *job->batch.samples);
    job->logits = pcti_calloc(capacity, classes * sizeof *job->logits);
    job->saved = pcti_calloc(save_rows, classes * sizeof *job->saved);
    job->repeats = pcti_calloc((size_t)job->options->repeat, sizeof *job->repeats);
    bool whole = job->batch.values && job->batch.samples && job->logits && job->saved && job->repeats;
    return whole ? PCT_OK : PCT_ERROR_MEMORY;
}

static pct_status make_plan(predict_job *job)
{
    pct_plan_options options = {.struct_bytes = sizeof options,
                                .symbols = {(int64_t)job->batch.capacity},
                                .low_memory = job->options->low_memory,
                                .force = job->options->common.force};
    PCTI_RETURN_IF_FAILED(pct_plan_create(job->device, pct_model_graph(job->model), &options, &job->plan));
    pct_plan_get_info(job->plan, &job->plan_info);
    if (!job->options->common.verbose) return PCT_OK;
    char *dump;
    PCTI_RETURN_IF_FAILED(pct_plan_dump(job->plan, true, &dump));
    fputs(dump, stderr);
    pct_text_free(dump);
    return PCT_OK;
}

/* ---- running ---- */

/* Reads and runs one batch from sample *next on. */
static pct_status run_batch(predict_job *job, size_t *next, batch_times *times)
{
    pct_run_times run;
    PCTI_RETURN_IF_FAILED(samples_read(&job->samples, next, &job->batch));
    if (!job->batch.count || tool_interrupted()) return PCT_OK;
    PCTI_RETURN_IF_FAILED(
        pct_plan_run(job->plan, (const void *[]){job->batch.values}, (void *[]){job->logits}, &run));
    *times = (batch_times){.ms = {[TIME_DECODE] = job->batch.decode_ms,
                                  [TIME_PREPROCESS] = job->batch.preprocess_ms,
                                  [TIME_UPLOAD] = run.upload_ms,
                                  [TIME_KERNEL] = run.kernel_ms,
                                  [TIME_DOWNLOAD] = run.download_ms,
                                  [TIME_OVERLAP] = run.overlap_ms,
                                  [TIME_HOST] = run.host_ms,
                                  [TIME_WALL] = run.wall_ms},
                           .invalid = run.invalid};
    return PCT_OK;
}

/* The steady times: the median of each figure over repetitions of the batch that starts at sample `start`. */
static pct_status repeat_batch(predict_job *job, size_t start)
{
    double *column = pcti_calloc((size_t)job->options->repeat, sizeof *column);
    pct_status status = column ? PCT_OK : PCT_ERROR_MEMORY;
    for (int64_t r = 0; r < job->options->repeat && status == PCT_OK && !tool_interrupted(); r++) {
        size_t next = start;
        status = run_batch(job, &next, &job->repeats[r]);
        if (status == PCT_OK) job->n_repeats++;
    }
    for (int k = 0; k < TIME_KINDS && status == PCT_OK; k++) {
        for (size_t r = 0; r < job->n_repeats; r++) column[r] = job->repeats[r].ms[k];
        job->steady.ms[k] = pcti_stats_in_place(column, job->n_repeats).median;
    }
    for (size_t r = 0; r < job->n_repeats; r++) job->steady.invalid += job->repeats[r].invalid;
    pcti_free(column);
    return status;
}

/* The `n` best of the classes, best first; of equal logits the lower index comes first. */
static void find_best(const float *logits, int32_t classes, prediction *best, size_t n)
{
    for (size_t filled = 0, c = 0; c < (size_t)classes; c++) {
        size_t at = filled < n ? filled : n;
        while (at && logits[c] > best[at - 1].logit) at--;
        if (at == n) continue;
        if (filled < n) filled++;
        memmove(best + at + 1, best + at, (filled - at - 1) * sizeof *best);
        best[at] = (prediction){.index = (int32_t)c, .logit = logits[c]};
    }
}

/* Softmax in double, exp(x - max) / sum, and the best classes. A logit that is no number is a wrong result. */
static pct_status judge(predict_job *job, const float *logits, sample *item)
{
    int32_t classes = pct_model_get_info(job->model)->classes;
    size_t n = job->options->top < classes ? (size_t)job->options->top : (size_t)classes;
    double sum = 0;
    for (int32_t c = 0; c < classes; c++) {
        if (isfinite(logits[c])) continue;
        item->status = SAMPLE_WRONG;
        item->reason = pcti_format("the logit of class %d is %s", (int)c,
                                   isnan(logits[c]) ? "nan"
                                   : logits[c] > 0  ? "inf"
                                                    : "-inf");
        return item->reason ? PCT_OK : PCT_ERROR_MEMORY;
    }
    if (!(item->top = pcti_calloc(n, sizeof *item->top))) return PCT_ERROR_MEMORY;
    find_best(logits, classes, item->top, n);
    for (int32_t c = 0; c < classes; c++) sum += exp((double)logits[c] - item->top[0].logit);
    for (size_t k = 0; k < n; k++)
        item->top[k].probability = exp((double)item->top[k].logit - item->top[0].logit) / sum;
    item->n_top = n;
    item->status = SAMPLE_OK;
    return PCT_OK;
}

static pct_status take_results(predict_job *job)
{
    size_t classes = (size_t)pct_model_get_info(job->model)->classes;
    for (size_t i = 0; i < job->batch.count; i++) {
        const float *logits = job->logits + i * classes;
        sample *item = &job->samples.items[job->batch.samples[i]];
        PCTI_RETURN_IF_FAILED(judge(job, logits, item));
        if (item->status == SAMPLE_WRONG) job->n_wrong++;
        if (job->options->save) {
            memcpy(job->saved + job->n_done * classes, logits, classes * sizeof *logits);
            item->row = (int64_t)job->n_done;
        }
        job->n_done++;
    }
    return PCT_OK;
}

static pct_status run_all(predict_job *job)
{
    progress line;
    bool show = job->samples.count > job->batch.capacity;
    pct_status status = PCT_OK;
    progress_begin(&line, stderr, "pictures", job->samples.count);
    for (size_t next = 0; next < job->samples.count && !tool_interrupted();) {
        size_t start = next;
        batch_times times;
        uint64_t start_ns = pcti_clock_ns();
        PCTI_TRY(run_batch(job, &next, &times));
        job->busy_ms += (double)(pcti_clock_ns() - start_ns) / 1e6;
        if (!job->batch.count) break; /* only unreadable ones were left */
        if (!job->n_done && !tool_interrupted()) {
            job->first = times;
            PCTI_TRY(repeat_batch(job, start));
        }
        if (tool_interrupted()) break;
        PCTI_TRY(take_results(job));
        progress_clear(&line);
        if (!job->options->json) PCTI_TRY(report_batch(job));
        if (show) progress_update(&line, next, NULL);
    }
fail:
    progress_clear(&line);
    return status;
}

static pct_status save_logits(const predict_job *job)
{
    const pct_model_info *model = pct_model_get_info(job->model);
    pct_named_tensor logits = {.name = "logits",
                               .shape = {.dtype = PCT_F32, .rank = 2, .dims = {(int64_t)job->n_done, model->classes}},
                               .data = job->saved};
    pct_text_pair metadata[] = {{"model", model->name}, {"version", pct_version()}, {"commit", pct_commit()}};
    return pct_safetensors_write(job->options->save, &logits, 1, metadata, sizeof metadata / sizeof *metadata);
}

/* ---- main ---- */

/* Fails early where a result could not be saved later. */
static pct_status check_save_path(const char *path)
{
    pcti_writer *writer;
    PCTI_RETURN_IF_FAILED(pcti_writer_begin(path, &writer));
    pcti_writer_abort(writer);
    return PCT_OK;
}

static int run_and_report(predict_job *job)
{
    pct_status status;
    bool json = job->options->json;
    if (json)
        tool_message("plan: %lld bytes of weights, %lld of activations, %lld of workspace",
                     (long long)job->plan_info.weight_bytes, (long long)job->plan_info.activation_bytes,
                     (long long)job->plan_info.workspace_bytes);
    else if ((status = report_begin(job)) != PCT_OK)
        return tool_fail(status, TOOL_DEVICE);
    if ((status = run_all(job)) != PCT_OK) return tool_fail(status, TOOL_DEVICE);
    if (tool_interrupted()) return tool_interrupted();
    for (size_t i = 0; i < job->samples.count; i++)
        job->n_unreadable += job->samples.items[i].status == SAMPLE_UNREADABLE;
    if (job->options->save && job->n_done && (status = save_logits(job)) != PCT_OK)
        return tool_fail(status, TOOL_DEVICE);
    if ((status = json ? report_json(job) : report_end(job)) != PCT_OK) return tool_fail(status, TOOL_DEVICE);
    return job->n_wrong ? TOOL_WRONG : job->n_unreadable ? TOOL_INPUT : TOOL_OK;
}

static int predict(predict_job *job)
{
    pct_status status;
    int code;
    const predict_options *options = job->options;
    if ((status = tool_open_device(&options->common, &job->device)) != PCT_OK) return tool_fail(status, TOOL_USAGE);
    if ((code = load_model(job)) != TOOL_OK || (code = find_samples(job)) != TOOL_OK ||
        (code = load_labels(job)) != TOOL_OK)
        return code;
    if (options->save && (status = check_save_path(options->save)) != PCT_OK) return tool_fail(status, TOOL_DEVICE);
    if ((status = make_buffers(job)) != PCT_OK) return tool_fail(status, TOOL_DEVICE);
    /* An implementation that is forced and does not fit is the user's choice. */
    if ((status = make_plan(job)) != PCT_OK)
        return tool_fail(status, options->common.force ? TOOL_USAGE : TOOL_DEVICE);
    return run_and_report(job);
}

static void free_job(predict_job *job)
{
    pct_plan_destroy(job->plan);
    pct_model_destroy(job->model);
    pct_device_close(job->device);
    samples_free(&job->samples);
    tool_labels_free(job->labels);
    pcti_free(job->batch.values);
    pcti_free(job->batch.samples);
    pcti_free(job->logits);
    pcti_free(job->saved);
    pcti_free(job->repeats);
}

int main(int argc, char **argv)
{
    predict_options options = {.top = DEFAULT_TOP, .repeat = DEFAULT_REPEAT, .batch = DEFAULT_BATCH};
    int first;
    tool_begin(command.name);
    int code = tool_options_parse(&command, argc, argv, &options.common, &options, &first);
    if (code == TOOL_CONTINUE) {
        options.paths = argv + first;
        options.n_paths = argc - first;
        if ((code = check_options(&options)) == TOOL_CONTINUE) {
            predict_job job = {.options = &options};
            code = predict(&job);
            free_job(&job);
        }
        tool_options_free(&options.common);
    }
    return tool_end(code);
}
