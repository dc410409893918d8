/* Weights as the kernels read them. Every function fills a step's constant operand with a packed buffer; the operand's
 * rows (dimension 0) are the outputs. */
#ifndef PCTI_BACKEND_CPU_PACK_H
#define PCTI_BACKEND_CPU_PACK_H

#include "backend/cpu/cpu.h"

/* [group][outputs of the group/32][tap * channels][32]: panels for gemm, channels fastest within a tap. The operand is
 * (K, C, taps...); taps may be none (dense). */
pct_status pcti_cpu_pack_panels(pct_device *device, pcti_operand *operand, int groups);
/* The same with taps fastest, as stored: for convolutions from plain pictures. */
pct_status pcti_cpu_pack_panels_stored(pct_device *device, pcti_operand *operand);
/* Dense weights (K, C) as [K/32][C][32] of 16-bit floats, rounded once; dtype PCT_F16 or PCT_BF16. */
pct_status pcti_cpu_pack_panels16(pct_device *device, pcti_operand *operand, pct_dtype dtype);
/* Transformed for F(4x4,3x3). */
pct_status pcti_cpu_pack_winograd(pct_device *device, pcti_operand *operand);
/* (C, 1, R, S) as [C/16][taps][16]. */
pct_status pcti_cpu_pack_depthwise(pct_device *device, pcti_operand *operand);
/* A vector with zeros up to a multiple of 32; an absent operand stays without buffer. */
pct_status pcti_cpu_pack_vector(pct_device *device, pcti_operand *operand);

#endif
