/* What the convolution implementations share. */
#ifndef PCTI_BACKEND_CPU_CONV_H
#define PCTI_BACKEND_CPU_CONV_H

#include "backend/cpu/cpu.h"

pcti_simd_window pcti_conv_window(const pcti_call *call);

/* Weights, bias and fused constants known at plan time, float32, with picture sizes that fit an int. */
bool pcti_conv_accept_constants(const pcti_call *call, pcti_why *why);
/* Packs bias and fused scale and shift as padded vectors. */
pct_status pcti_conv_pack_vectors(pct_device *device, pcti_step *step);

/* A thread's part of rows x panels of 32 outputs: rows first; where there are too few rows for all threads, the panels are
 * split too. Some threads may get nothing (false). */
typedef struct pcti_grid {
    int64_t row0, row1;
    int panel0, panel1;
} pcti_grid;
bool pcti_team_grid(const pcti_team *team, int64_t rows, int64_t least_rows, int panels, pcti_grid *grid);

/* The blocked rows, for the list in cpu_conv2d.c. */
extern const char *const pcti_winograd_variants[];
bool pcti_winograd_accept(const pcti_call *call, const pct_device *device, pcti_why *why);
pct_status pcti_winograd_prepare(pct_device *device, pcti_step *step);
void pcti_winograd_run(const pcti_step *step, pcti_team *team);
bool pcti_conv1x1_accept(const pcti_call *call, const pct_device *device, pcti_why *why);
pct_status pcti_conv1x1_prepare(pct_device *device, pcti_step *step);
void pcti_conv1x1_run(const pcti_step *step, pcti_team *team);
bool pcti_direct_accept(const pcti_call *call, const pct_device *device, pcti_why *why);
bool pcti_gather_accept(const pcti_call *call, const pct_device *device, pcti_why *why);
pct_status pcti_direct_prepare(pct_device *device, pcti_step *step);
pct_status pcti_gather_prepare(pct_device *device, pcti_step *step);
void pcti_direct_run(const pcti_step *step, pcti_team *team);
void pcti_gather_run(const pcti_step *step, pcti_team *team);
bool pcti_depthwise_accept(const pcti_call *call, const pct_device *device, pcti_why *why);
pct_status pcti_depthwise_prepare(pct_device *device, pcti_step *step);
void pcti_depthwise_run(const pcti_step *step, pcti_team *team);
bool pcti_first_accept(const pcti_call *call, const pct_device *device, pcti_why *why);
pct_status pcti_first_prepare(pct_device *device, pcti_step *step);
void pcti_first_run(const pcti_step *step, pcti_team *team);
/* And the plain ones. */
bool pcti_im2col_accept(const pcti_call *call, const pct_device *device, pcti_why *why);
pct_status pcti_im2col_prepare(pct_device *device, pcti_step *step);
void pcti_im2col_run(const pcti_step *step, pcti_team *team);
void pcti_plain_conv_run(const pcti_step *step, pcti_team *team);
void pcti_plain_conv_transpose_run(const pcti_step *step, pcti_team *team);

#endif
