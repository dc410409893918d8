/* What the CPU backend's files share: the device and the team of threads inside a run. */
#ifndef PCTI_BACKEND_CPU_H
#define PCTI_BACKEND_CPU_H

#include "backend/cpu/simd/simd.h"
#include "op/backend.h"

typedef struct pcti_cpu_device {
    pct_device base;
    const pcti_simd *simd;
    int threads;
} pcti_cpu_device;

static inline const pcti_cpu_device *pcti_cpu(const pct_device *device) { return (const pcti_cpu_device *)(const void *)device; }

/* ---- inside a run ---- */

/* A run is one parallel region: every thread calls run_share of every step, with a barrier after each. A share is a fixed,
 * contiguous part of the outputs, by picture rows where there are any, so that a thread finds in its cache what it wrote in
 * the step before; no output is a sum over threads, so results do not depend on their number. */
struct pcti_team {
    int me, n;
    const pcti_simd *simd;
    struct pcti_barrier *barrier;
};

/* Waits for the whole team: between the phases of a step that has several. */
void pcti_team_barrier(pcti_team *team);

/* [*first, *end): this thread's share of `total` items. */
static inline void pcti_team_share(const pcti_team *team, int64_t total, int64_t *first, int64_t *end)
{
    *first = total * team->me / team->n;
    *end = total * (team->me + 1) / team->n;
}

/* A share of (picture, row) pairs, walked picture by picture:
 *   pcti_rows rows = pcti_team_rows(team, pictures, height);
 *   while (pcti_rows_next(&rows)) ... rows.picture, rows y0 <= y < y1 ... */
typedef struct pcti_rows {
    int64_t at, end, height;
    int64_t picture;
    int y0, y1;
} pcti_rows;
static inline pcti_rows pcti_team_rows(const pcti_team *team, int64_t pictures, int64_t height)
{
    pcti_rows rows = {.height = height};
    pcti_team_share(team, pictures * height, &rows.at, &rows.end);
    return rows;
}
static inline bool pcti_rows_next(pcti_rows *rows)
{
    if (rows->at >= rows->end) return false;
    rows->picture = rows->at / rows->height;
    rows->y0 = (int)(rows->at % rows->height);
    rows->y1 = (int)pcti_min(rows->height, rows->y0 + (rows->end - rows->at));
    rows->at += rows->y1 - rows->y0;
    return true;
}

/* Address of an operand's first element; NULL for an absent one. */
static inline float *pcti_f32(const pcti_operand *operand) { return operand ? pcti_operand_address(operand) : NULL; }
/* The step's workspace. */
static inline float *pcti_workspace(const pcti_step *step)
{
    return (float *)(void *)((char *)step->workspace->handle + step->workspace_offset);
}
/* A post or pre activation as the clip that the kernels take: (-inf, inf) for none. */
void pcti_clip_range(const pcti_activation *act, float *lo, float *hi);

#endif
