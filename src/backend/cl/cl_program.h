/* Programs and kernels of an open device. A program is built once per (source, options), kept by the device,
 * and its binary once on disk. */
#ifndef PCTI_BACKEND_CL_PROGRAM_H
#define PCTI_BACKEND_CL_PROGRAM_H

#include "backend/cl/cl_runtime.h"

typedef struct pcti_cl_program pcti_cl_program;

/* The program of cl/FAMILY.cl (embedded, or from the folder PCT_CL_DIR), prelude in front, with these build
 * options; -cl-std=CL1.2 is always added. Lent: the device owns it. Errors: PCT_ERROR_NOT_FOUND (no such
 * source), PCT_ERROR_DEVICE with family, options and the tail of the build log, PCT_ERROR_MEMORY. */
pct_status pcti_cl_program_get(pcti_cl_device *device, const char *family, const char *options,
                               pcti_cl_program **program);
/* The same from a text, which `name` stands for in messages. */
pct_status pcti_cl_program_get_text(pcti_cl_device *device, const char *name, const char *source,
                                    const char *options, pcti_cl_program **program);

/* Whether it came from the disk. */
bool pcti_cl_program_is_cached(const pcti_cl_program *program);

/* Writes what was built from source to the disk. To be called after the first launches: some runtimes put
 * machine code into a binary only then. Skipped where the driver keeps a cache of its own. A cache that
 * cannot be written is one warning to the log. */
void pcti_cl_programs_save(pcti_cl_device *device);

/* A kernel with arguments of its own. The caller releases it before the device is closed. */
pct_status pcti_cl_kernel_create(pcti_cl_program *program, const char *name, cl_kernel *kernel);
void pcti_cl_kernel_release(cl_kernel kernel); /* NULL allowed */

/* Sets one argument; a NULL value with bytes is local memory. Errors name kernel and argument. */
pct_status pcti_cl_kernel_set(cl_kernel kernel, cl_uint index, size_t bytes, const void *value);

/* Launches with `local` from pcti_cl_local_size; each global size is rounded up to whole groups, the kernel
 * guards its bounds. A global size of 0 is nothing to do: no launch, no event. `event` may be NULL. Errors
 * name the kernel. */
pct_status pcti_cl_kernel_launch(cl_command_queue queue, cl_kernel kernel, int n_dims, const size_t *global,
                                 const size_t *local, cl_event *event);

/* Whether the device really has what `source` uses: builds it and runs `kernel`, which takes one global float
 * pointer, as a single item; `values` receives the `n` floats, for the caller to compare with what is right.
 * False, with the reason as this thread's message, if any of it fails. No cache, no prelude. Inline assembly
 * of another vendor can abort the process inside the compiler: decide by the platform's name before trying
 * it. */
bool pcti_cl_trial(pcti_cl_device *device, const char *source, const char *options, const char *kernel,
                   float *values, size_t n);

/* Appends " -DNAME=value" to build options; the text is the same in every locale. */
void pcti_cl_define_int(pcti_text *options, const char *name, int64_t value);
void pcti_cl_define_float(pcti_text *options, const char *name, float value);

/* For cl_runtime.c. */
pct_status pcti_cl_programs_create(struct pcti_cl_programs **programs);
void pcti_cl_programs_destroy(struct pcti_cl_programs *programs); /* NULL allowed */

#endif
