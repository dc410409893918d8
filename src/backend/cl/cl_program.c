#include "backend/cl/cl_program.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cl/cl_cache.h"
#include "backend/cl/cl_sources.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"

enum { LOG_TAIL_BYTES = 2000 };

struct pcti_cl_program {
    char *name, *options, *key; /* key: everything the binary depends on */
    cl_program handle;
    bool is_cached, is_saved;
};

struct pcti_cl_programs {
    pcti_cl_program **items;
    size_t n, capacity;
};

pct_status pcti_cl_programs_create(struct pcti_cl_programs **programs) {
    *programs = pcti_calloc(1, sizeof **programs);
    return *programs ? PCT_OK : PCT_ERROR_MEMORY;
}

static void handle_release(cl_program handle) {
    if (!handle) return;
    clReleaseProgram(handle);
    pcti_cl_count(PCTI_CL_PROGRAMS, -1);
}

static void program_destroy(pcti_cl_program *program) {
    if (!program) return;
    handle_release(program->handle);
    pcti_free(program->name);
    pcti_free(program->options);
    pcti_free(program->key);
    pcti_free(program);
}

void pcti_cl_programs_destroy(struct pcti_cl_programs *programs) {
    if (!programs) return;
    for (size_t i = 0; i < programs->n; i++) program_destroy(programs->items[i]);
    pcti_free(programs->items);
    pcti_free(programs);
}

/* ---- sources ---- */

/* Appends the file `name` of the folder cl/, under its own name in the compiler's messages. */
static pct_status add_source(pcti_text *text, const char *name) {
    const char *folder = getenv("PCT_CL_DIR");
    pcti_text_add(text, "#line 1 \"%s\"\n", name);
    if (folder && *folder) {
        pcti_file file;
        char *path = pcti_format("%s/%s", folder, name);
        if (!path) return PCT_ERROR_MEMORY;
        pct_status status = pcti_file_map(path, &file);
        pcti_free(path);
        if (status != PCT_OK) return pcti_fail_in(status, "PCT_CL_DIR");
        pcti_text_add_bytes(text, (const char *)file.data, file.bytes);
        pcti_file_unmap(&file);
        pcti_text_add(text, "\n");
        return PCT_OK;
    }
    for (size_t i = 0; i < pcti_cl_n_sources; i++) {
        if (strcmp(pcti_cl_sources[i].name, name)) continue;
        pcti_text_add_bytes(text, pcti_cl_sources[i].text, pcti_cl_sources[i].bytes);
        pcti_text_add(text, "\n");
        return PCT_OK;
    }
    return pcti_fail(PCT_ERROR_NOT_FOUND, "no OpenCL source %s in this build", name);
}

/* Prelude and family in one text: some drivers' caches miss a change in an included file. `body` is NULL for
 * a file. */
static pct_status source_create(const char *name, const char *body, pcti_text *text) {
    pct_status status = PCT_OK;
    *text = (pcti_text){0};
    PCTI_TRY(add_source(text, "prelude.clh"));
    if (body) {
        pcti_text_add(text, "#line 1 \"%s\"\n%s\n", name, body);
    } else {
        char *file = pcti_format("%s.cl", name);
        if (!file)
            status = PCT_ERROR_MEMORY;
        else
            status = add_source(text, file);
        pcti_free(file);
        if (status != PCT_OK) goto fail;
    }
    if (text->failed) status = PCT_ERROR_MEMORY;
fail:
    if (status != PCT_OK) pcti_text_free(text);
    return status;
}

/* Variables that change what these drivers make of the same source. */
static const char *const BUILD_VARIABLES[] = {
    "AMD_OCL_BUILD_OPTIONS",  "AMD_OCL_BUILD_OPTIONS_APPEND", "GPU_ENABLE_WAVE32_MODE",
    "POCL_EXTRA_BUILD_FLAGS", "POCL_WORK_GROUP_METHOD",       "POCL_MAX_WORK_GROUP_SIZE",
    "RUSTICL_FEATURES",       "CL_CONFIG_CPU_TARGET_ARCH",    "CL_CONFIG_CPU_VECTORIZER_MODE"};

static char *key_create(const pcti_cl_info *info, const pcti_text *source, const char *options) {
    pcti_text key = {0};
    pcti_text_add(&key, "format %d\nplatform %s\ndevice %s\ndriver %s\nversion %s\noptions %s\n",
                  PCTI_CL_CACHE_FORMAT, info->platform_name, info->name, info->driver_version,
                  info->device_version, options);
    pcti_text_add(&key, "source %zu bytes %016llx\n", source->length,
                  (unsigned long long)pcti_fnv1a(PCTI_FNV_START, source->data, source->length));
    for (size_t i = 0; i < sizeof BUILD_VARIABLES / sizeof *BUILD_VARIABLES; i++) {
        const char *value = getenv(BUILD_VARIABLES[i]);
        if (value) pcti_text_add(&key, "%s=%s\n", BUILD_VARIABLES[i], value);
    }
    if (!key.failed) return key.data;
    pcti_text_free(&key);
    return NULL;
}

/* ---- building ---- */

/* The end of the build log, from the start of a line; "" if there is none. The caller frees. */
static char *log_tail_create(const pcti_cl_device *device, cl_program handle) {
    size_t bytes = 0;
    if (clGetProgramBuildInfo(handle, device->info.id, CL_PROGRAM_BUILD_LOG, 0, NULL, &bytes) != CL_SUCCESS)
        bytes = 0;
    char *log = pcti_calloc(bytes + 1, 1);
    if (!log || !bytes) return log;
    if (clGetProgramBuildInfo(handle, device->info.id, CL_PROGRAM_BUILD_LOG, bytes, log, NULL) != CL_SUCCESS)
        log[0] = 0;
    size_t length = strlen(log);
    while (length && strchr(" \n\r\t", log[length - 1])) log[--length] = 0;
    if (length <= LOG_TAIL_BYTES) return log;
    const char *tail = log + length - LOG_TAIL_BYTES, *line = strchr(tail, '\n');
    if (line) tail = line + 1;
    memmove(log, tail, strlen(tail) + 1);
    return log;
}

static pct_status build(pcti_cl_device *device, cl_program handle, const char *name, const char *options) {
    cl_int code = clBuildProgram(handle, 1, &device->info.id, options, NULL, NULL);
    if (code == CL_SUCCESS) return PCT_OK;
    char *log = log_tail_create(device, handle);
    pct_status status = pcti_cl_fail("clBuildProgram", code, "kernels \"%s\", options \"%s\", device %s\n%s",
                                     name, options, device->info.name, log && *log ? log : "(no build log)");
    pcti_free(log);
    return status;
}

static pct_status build_source(pcti_cl_device *device, const char *name, const char *source,
                               const char *options, cl_program *handle) {
    cl_int code = CL_SUCCESS;
    *handle = clCreateProgramWithSource(device->context, 1, &source, NULL, &code);
    if (!*handle) return pcti_cl_fail("clCreateProgramWithSource", code, "kernels \"%s\"", name);
    pcti_cl_count(PCTI_CL_PROGRAMS, 1);
    pct_status status = build(device, *handle, name, options);
    if (status == PCT_OK) return PCT_OK;
    handle_release(*handle);
    *handle = NULL;
    return status;
}

/* Drivers with a cache of their own get no second one. */
static bool uses_disk(const pcti_cl_device *device) {
    return strcmp(device->info.platform_name, "NVIDIA CUDA") != 0;
}

/* NULL when there is no entry or the driver does not want it: then the source is built. */
static cl_program load_binary(pcti_cl_device *device, const pcti_cl_program *program) {
    pcti_file file;
    const unsigned char *body;
    size_t bytes;
    if (!uses_disk(device) || !pcti_cl_cache_find(program->key, &file, &body, &bytes)) return NULL;
    cl_int code = CL_SUCCESS, accepted = CL_SUCCESS;
    cl_program handle =
        clCreateProgramWithBinary(device->context, 1, &device->info.id, &bytes, &body, &accepted, &code);
    pcti_file_unmap(&file);
    if (!handle) return NULL;
    pcti_cl_count(PCTI_CL_PROGRAMS, 1);
    if (accepted == CL_SUCCESS && build(device, handle, program->name, program->options) == PCT_OK)
        return handle;
    handle_release(handle);
    return NULL;
}

static pct_status program_create(pcti_cl_device *device, const char *name, const char *source,
                                 const char *options, char *key_taken, pcti_cl_program **out) {
    pct_status status = PCT_ERROR_MEMORY;
    pcti_cl_program *program = pcti_calloc(1, sizeof *program);
    *out = NULL;
    if (!program) {
        pcti_free(key_taken);
        return status;
    }
    program->key = key_taken;
    if (!(program->name = pcti_strdup(name)) || !(program->options = pcti_strdup(options))) goto fail;
    program->handle = load_binary(device, program);
    program->is_cached = program->handle != NULL;
    if (!program->handle) PCTI_TRY(build_source(device, name, source, options, &program->handle));
    *out = program;
    return PCT_OK;
fail:
    program_destroy(program);
    return status;
}

pct_status pcti_cl_program_get_text(pcti_cl_device *device, const char *name, const char *body,
                                    const char *options, pcti_cl_program **out) {
    pct_status status = PCT_OK;
    struct pcti_cl_programs *programs = device->programs;
    char *all_options = NULL, *key = NULL;
    pcti_text source = {0};
    *out = NULL;
    if (!(all_options =
              pcti_format("-cl-std=CL1.2%s%s", options && *options ? " " : "", options ? options : "")))
        return PCT_ERROR_MEMORY;
    PCTI_TRY(source_create(name, body, &source));
    if (!(key = key_create(&device->info, &source, all_options))) {
        status = PCT_ERROR_MEMORY;
        goto fail;
    }
    for (size_t i = 0; i < programs->n && !*out; i++)
        if (!strcmp(programs->items[i]->key, key)) *out = programs->items[i];
    if (!*out) {
        PCTI_TRY(pcti_grow(&programs->items, &programs->capacity, programs->n, sizeof *programs->items));
        pcti_cl_program *program;
        char *taken = key;
        key = NULL;
        PCTI_TRY(program_create(device, name, source.data, all_options, taken, &program));
        programs->items[programs->n++] = program;
        *out = program;
    }
fail:
    pcti_free(key);
    pcti_free(all_options);
    pcti_text_free(&source);
    return status;
}

pct_status pcti_cl_program_get(pcti_cl_device *device, const char *family, const char *options,
                               pcti_cl_program **out) {
    return pcti_cl_program_get_text(device, family, NULL, options, out);
}

bool pcti_cl_program_is_cached(const pcti_cl_program *program) {
    return program->is_cached;
}

/* ---- saving ---- */

static pct_status save(const pcti_cl_program *program) {
    pct_status status = PCT_OK;
    unsigned char *body = NULL;
    size_t bytes = 0; /* the context has one device, so there is one binary */
    PCTI_CL_TRY(clGetProgramInfo, (program->handle, CL_PROGRAM_BINARY_SIZES, sizeof bytes, &bytes, NULL));
    if (!bytes) return PCT_OK;
    if (!(body = pcti_calloc(bytes, 1))) return PCT_ERROR_MEMORY;
    PCTI_CL_TRY(clGetProgramInfo, (program->handle, CL_PROGRAM_BINARIES, sizeof body, &body, NULL));
    PCTI_TRY(pcti_cl_cache_store(program->key, body, bytes));
fail:
    pcti_free(body);
    return status;
}

void pcti_cl_programs_save(pcti_cl_device *device) {
    static atomic_bool has_warned;
    struct pcti_cl_programs *programs = device->programs;
    if (!uses_disk(device)) return;
    for (size_t i = 0; i < programs->n; i++) {
        pcti_cl_program *program = programs->items[i];
        if (program->is_cached || program->is_saved) continue;
        program->is_saved = true; /* also when it fails: a second try would not fare better */
        if (save(program) != PCT_OK && !atomic_exchange(&has_warned, true))
            pcti_log(PCT_LOG_WARNING, "OpenCL programs are not kept for the next start: %s",
                     pct_error_message());
    }
}

/* ---- kernels ---- */

pct_status pcti_cl_kernel_create(pcti_cl_program *program, const char *name, cl_kernel *kernel) {
    cl_int code = CL_SUCCESS;
    *kernel = clCreateKernel(program->handle, name, &code);
    if (!*kernel)
        return pcti_cl_fail("clCreateKernel", code, "kernel \"%s\" of \"%s\", options \"%s\"", name,
                            program->name, program->options);
    pcti_cl_count(PCTI_CL_KERNELS, 1);
    return PCT_OK;
}

void pcti_cl_kernel_release(cl_kernel kernel) {
    if (!kernel) return;
    clReleaseKernel(kernel);
    pcti_cl_count(PCTI_CL_KERNELS, -1);
}

/* "?" where the driver does not tell. */
static void kernel_name(cl_kernel kernel, char name[PCTI_CL_NAME_BYTES]) {
    if (clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, PCTI_CL_NAME_BYTES, name, NULL) != CL_SUCCESS)
        memcpy(name, "?", 2);
}

pct_status pcti_cl_kernel_set(cl_kernel kernel, cl_uint index, size_t bytes, const void *value) {
    cl_int code = clSetKernelArg(kernel, index, bytes, value);
    if (code == CL_SUCCESS) return PCT_OK;
    char name[PCTI_CL_NAME_BYTES];
    kernel_name(kernel, name);
    return pcti_cl_fail("clSetKernelArg", code, "kernel \"%s\", argument %u of %zu bytes", name, index,
                        bytes);
}

pct_status pcti_cl_kernel_launch(cl_command_queue queue, cl_kernel kernel, int n_dims, const size_t *global,
                                 const size_t *local, cl_event *event) {
    size_t rounded[3] = {1, 1, 1}, group[3] = {1, 1, 1};
    if (event) *event = NULL;
    for (int d = 0; d < n_dims; d++) {
        if (!global[d]) return PCT_OK;
        group[d] = local[d];
        rounded[d] = (global[d] + local[d] - 1) / local[d] * local[d];
    }
    cl_int code =
        clEnqueueNDRangeKernel(queue, kernel, (cl_uint)n_dims, NULL, rounded, group, 0, NULL, event);
    if (code == CL_SUCCESS) return PCT_OK;
    char name[PCTI_CL_NAME_BYTES];
    kernel_name(kernel, name);
    return pcti_cl_fail("clEnqueueNDRangeKernel", code,
                        "kernel \"%s\", %zu x %zu x %zu items in groups of %zu x %zu x %zu", name, rounded[0],
                        rounded[1], rounded[2], group[0], group[1], group[2]);
}

/* ---- trials ---- */

bool pcti_cl_trial(pcti_cl_device *device, const char *source, const char *options, const char *kernel_name_,
                   float *values, size_t n) {
    pct_status status = PCT_OK;
    pcti_cl_program program = {0};
    cl_kernel kernel = NULL;
    cl_mem buffer = NULL;
    const size_t one = 1;
    program.name = pcti_strdup("trial");
    program.options =
        pcti_format("-cl-std=CL1.2%s%s", options && *options ? " " : "", options ? options : "");
    if (!program.name || !program.options) {
        status = PCT_ERROR_MEMORY;
        goto fail;
    }
    PCTI_TRY(build_source(device, program.name, source, program.options, &program.handle));
    PCTI_TRY(pcti_cl_kernel_create(&program, kernel_name_, &kernel));
    PCTI_TRY(pcti_cl_buffer_create(device, CL_MEM_READ_WRITE, n * sizeof(float), NULL, &buffer));
    PCTI_TRY(pcti_cl_kernel_set(kernel, 0, sizeof buffer, &buffer));
    PCTI_TRY(pcti_cl_kernel_launch(device->plain.compute, kernel, 1, &one, &one, NULL));
    PCTI_CL_TRY(clEnqueueReadBuffer,
                (device->plain.compute, buffer, CL_TRUE, 0, n * sizeof(float), values, 0, NULL, NULL));
fail:
    clFinish(device->plain.compute); /* nothing may be queued when the kernel goes */
    pcti_cl_buffer_release(buffer);
    pcti_cl_kernel_release(kernel);
    handle_release(program.handle);
    pcti_free(program.name);
    pcti_free(program.options);
    return status == PCT_OK;
}

void pcti_cl_define_int(pcti_text *options, const char *name, int64_t value) {
    pcti_text_add(options, " -D%s=%lld", name, (long long)value);
}

void pcti_cl_define_float(pcti_text *options, const char *name, float value) {
    pcti_text_add(options, " -D%s=", name);
    if (isnan(value)) {
        pcti_text_add(options, "NAN");
        return;
    }
    if (isinf(value)) {
        pcti_text_add(options, value < 0 ? "-INFINITY" : "INFINITY");
        return;
    }
    size_t start = options->length;
    pcti_text_add_double(options, value, 9); /* 9 digits name a float exactly */
    if (options->failed) return;
    /* A literal of type float: an integer would divide as one, a double is not there on every device. */
    pcti_text_add(options, strpbrk(options->data + start, ".e") ? "f" : ".0f");
}
