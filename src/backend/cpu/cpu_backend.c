/* The CPU as a device: memory, threads, and the run as one parallel region. */
#define _GNU_SOURCE
#include <cblas.h>
#include <math.h>
#include <omp.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "backend/cpu/cpu.h"
#include "base/clock.h"
#include "base/memory.h"
#include "prof/machine.h"

/* ---- barrier ---- */

/* Counting with a generation. It spins for some microseconds, then yields: with another busy process on the cores, a
 * preempted thread would otherwise cost a whole time slice. */
struct pcti_barrier {
    _Alignas(64) atomic_int arrived;
    _Alignas(64) atomic_int generation;
};

enum { SPINS_BEFORE_YIELD = 4000 };

static inline void pause_briefly(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

void pcti_team_barrier(pcti_team *team)
{
    struct pcti_barrier *barrier = team->barrier;
    if (team->n == 1) return;
    int generation = atomic_load_explicit(&barrier->generation, memory_order_relaxed);
    if (atomic_fetch_add_explicit(&barrier->arrived, 1, memory_order_acq_rel) == team->n - 1) {
        atomic_store_explicit(&barrier->arrived, 0, memory_order_relaxed);
        atomic_store_explicit(&barrier->generation, generation + 1, memory_order_release);
        return;
    }
    for (int spins = 0; atomic_load_explicit(&barrier->generation, memory_order_acquire) == generation; spins++) {
        if (spins < SPINS_BEFORE_YIELD) pause_briefly();
        else sched_yield();
    }
}

void pcti_clip_range(const pcti_activation *act, float *lo, float *hi)
{
    *lo = act->kind == PCTI_ACT_CLIP ? (float)act->low : -INFINITY;
    *hi = act->kind == PCTI_ACT_CLIP ? (float)act->high : INFINITY;
}

/* ---- run ---- */

static void run_region(pcti_cpu_device *device, const pcti_run *run, int first, int end)
{
    struct pcti_barrier barrier = {0};
    /* Inside the region each thread calls sgemm for itself. OpenBLAS's OpenMP build knows that it is in one; others are told. */
    if (openblas_get_parallel() != OPENBLAS_OPENMP) openblas_set_num_threads(1);
#pragma omp parallel num_threads(device->threads)
    {
        pcti_team team = {omp_get_thread_num(), omp_get_num_threads(), device->simd, &barrier};
        for (int s = first; s < end; s++) {
            uint64_t start = run->timeline && team.me == 0 ? pcti_clock_ns() : 0;
            run->steps[s].impl->run_share(&run->steps[s], &team);
            pcti_team_barrier(&team);
            if (run->timeline && team.me == 0)
                pcti_timeline_add(run->timeline, s, (pcti_interval){start, pcti_clock_ns(), PCTI_INTERVAL_KERNEL, true});
        }
    }
}

static void copy_in_or_out(const pcti_transfer *transfer, bool in)
{
    void *inside = pcti_operand_address(transfer->operand);
    memcpy(in ? inside : transfer->host, in ? transfer->host : inside, transfer->bytes);
}

static pct_status cpu_run(pct_device *base, const pcti_run *run)
{
    pcti_cpu_device *device = (pcti_cpu_device *)(void *)base;
    if (run->timeline) run->timeline->first_enqueue_ns = pcti_clock_ns();
    for (int i = 0; i < run->n_uploads; i++) copy_in_or_out(&run->uploads[i], true);
    for (int s = 0; s < run->n_steps;) {
        pcti_step *step = &run->steps[s];
        if (step->impl->serial) {
            uint64_t start = pcti_clock_ns();
            openblas_set_num_threads(device->threads);
            pct_status status = step->impl->run(base, step);
            if (status != PCT_OK) return pcti_fail_in(status, "node %s", step->name);
            if (run->timeline)
                pcti_timeline_add(run->timeline, s, (pcti_interval){start, pcti_clock_ns(), PCTI_INTERVAL_KERNEL, true});
            s++;
            continue;
        }
        int end = s;
        while (end < run->n_steps && !run->steps[end].impl->serial) end++;
        run_region(device, run, s, end);
        s = end;
    }
    for (int i = 0; i < run->n_downloads; i++) copy_in_or_out(&run->downloads[i], false);
    if (run->timeline) run->timeline->finish_ns = pcti_clock_ns();
    return PCT_OK;
}

/* ---- device ---- */

static int usable_cores(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
    return (int)pcti_max(1, sysconf(_SC_NPROCESSORS_ONLN));
}

static pct_status cpu_open(const pct_device_options *options, pct_device **out)
{
    extern const pcti_backend pcti_backend_cpu;
    pct_status status = PCT_OK;
    *out = NULL;
    if (options->threads < 0 || options->threads > 1024)
        return pcti_fail(PCT_ERROR_ARGUMENT, "threads: %d; must be 1 to 1024, or 0 for all cores", (int)options->threads);
    pcti_cpu_device *device = pcti_calloc(1, sizeof *device);
    if (!device) return PCT_ERROR_MEMORY;
    device->base.backend = &pcti_backend_cpu;
    device->threads = options->threads ? options->threads : usable_cores();
    PCTI_TRY(pcti_simd_select(NULL, &device->simd));
    pct_device_info *info = &device->base.info;
    snprintf(info->backend, sizeof info->backend, "cpu");
    snprintf(info->platform, sizeof info->platform, "%.*s", PCT_NAME_BYTES - 1, openblas_get_config());
    snprintf(info->driver, sizeof info->driver, "OpenBLAS core %s", openblas_get_corename());
    snprintf(info->version, sizeof info->version, "%s", pct_version());
    snprintf(info->type, sizeof info->type, "cpu");
    snprintf(info->isa, sizeof info->isa, "%s", device->simd->name);
    pcti_machine machine;
    pcti_machine_describe(&machine);
    snprintf(info->device, sizeof info->device, "%s", machine.cpu);
    info->memory_bytes = (int64_t)machine.memory_bytes;
    info->platform_index = info->device_index = -1;
    info->compute_units = usable_cores();
    info->threads = device->threads;
    info->vector_width = PCTI_BLOCK;
    *out = &device->base;
    return PCT_OK;
fail:
    pcti_free(device);
    return status;
}

static void cpu_close(pct_device *device) { pcti_free(device); }

static pct_status cpu_buffer_create(pct_device *device, size_t bytes, pcti_buffer **buffer)
{
    enum { SLACK_BYTES = 4096 }; /* kernels prefetch past an end */
    if (!(*buffer = pcti_calloc(1, sizeof **buffer))) return PCT_ERROR_MEMORY;
    (*buffer)->bytes = bytes;
    if (((*buffer)->handle = pcti_alloc_aligned(bytes + SLACK_BYTES))) return PCT_OK;
    pcti_free(*buffer);
    *buffer = NULL;
    return PCT_ERROR_MEMORY;
}

static void cpu_buffer_destroy(pct_device *device, pcti_buffer *buffer)
{
    pcti_free_aligned(buffer->handle);
    pcti_free(buffer);
}

static pct_status cpu_buffer_map(pct_device *device, pcti_buffer *buffer, bool for_write, void **address)
{
    *address = buffer->handle;
    return PCT_OK;
}

static pct_status cpu_buffer_unmap(pct_device *device, pcti_buffer *buffer, void *address) { return PCT_OK; }

#define PCT_OP(name, family) extern const pcti_impl pcti_cpu_impls_##name[];
#include "op/ops.def"
#undef PCT_OP

static const pcti_impl *cpu_impls(const pcti_op *op)
{
    static const pcti_impl *const lists[] = {
#define PCT_OP(name, family) pcti_cpu_impls_##name,
#include "op/ops.def"
#undef PCT_OP
    };
    return lists[pcti_op_index(op)];
}

const pcti_backend pcti_backend_cpu = {
    .name = "cpu",
    .impls = cpu_impls,
    .open = cpu_open,
    .close = cpu_close,
    .buffer_create = cpu_buffer_create,
    .buffer_destroy = cpu_buffer_destroy,
    .buffer_map = cpu_buffer_map,
    .buffer_unmap = cpu_buffer_unmap,
    .run = cpu_run,
};
