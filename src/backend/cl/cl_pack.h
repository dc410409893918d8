/* Weights as the kernels read them. Each function fills a step's constant operand with a packed buffer, shared by all
 * plans of the device (op/backend.h). The operand's rows (dimension 0) are the outputs, zeros fill up the last panel.
 */
#ifndef PCTI_BACKEND_CL_PACK_H
#define PCTI_BACKEND_CL_PACK_H

#include "op/backend.h"

enum {
    PCTI_CL_PANEL = 32,          /* outputs of a panel unless said otherwise */
    PCTI_CL_WINOGRAD_POINTS = 36 /* of F(4x4,3x3) */
};

/* [group][outputs of the group / width][tap][channel][width] of (K, C, taps...); taps may be none (dense). */
pct_status pcti_cl_pack_panels(pct_device *device, pcti_operand *operand, int groups, int width);
/* [outputs / width][channel][tap][width], as stored: for convolutions from plain pictures. */
pct_status pcti_cl_pack_panels_stored(pct_device *device, pcti_operand *operand, int width);
/* (K, C, 3, 3) as [36][outputs / 32][channel][32]: transformed for F(4x4,3x3). */
pct_status pcti_cl_pack_winograd(pct_device *device, pcti_operand *operand);
/* (C, 1, R, S) as [C / 16][tap][16]. */
pct_status pcti_cl_pack_depthwise(pct_device *device, pcti_operand *operand);
/* A vector with zeros up to a multiple of 32; an absent operand stays without buffer. */
pct_status pcti_cl_pack_vector(pct_device *device, pcti_operand *operand);

#endif
