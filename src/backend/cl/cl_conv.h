/* What the convolution implementations share. */
#ifndef PCTI_BACKEND_CL_CONV_H
#define PCTI_BACKEND_CL_CONV_H

#include "backend/cl/cl_backend.h"

typedef struct pcti_cl_window {
    int in_h, in_w, out_h, out_w; /* out: before a fused pooling */
    int kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w, pad_top, pad_left;
} pcti_cl_window;
pcti_cl_window pcti_cl_window_of(const pcti_call *call);

/* Operands of float32, weights, bias and fused constants known at plan time, pictures that 32-bit indexes reach, and
 * a fused clip that leaves padding channels zero. */
bool pcti_cl_conv_accept(const pcti_call *call, pcti_why *why);
/* Packs bias and fused scale and shift as padded vectors. */
pct_status pcti_cl_conv_pack_vectors(pct_device *device, pcti_step *step);

/* Arguments: buffer, offset, picture stride (long), channel or block stride (index_t); zeros for an absent one. */
void pcti_cl_arg_picture(pcti_cl_args *args, const pcti_operand *operand);
/* int kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w, pad_top, pad_left */
void pcti_cl_arg_window(pcti_cl_args *args, const pcti_cl_window *window);

/* The rows, for the lists in cl_conv2d.c: for CPU-type devices, */
bool pcti_cl_first_accept(const pcti_call *call, const pct_device *device, pcti_why *why);
pct_status pcti_cl_first_prepare(pct_device *device, pcti_step *step);
pct_status pcti_cl_first_bind(pct_device *device, pcti_step *step);
bool pcti_cl_depthwise_row_accept(const pcti_call *call, const pct_device *device, pcti_why *why);
pct_status pcti_cl_depthwise_row_prepare(pct_device *device, pcti_step *step);
pct_status pcti_cl_depthwise_row_bind(pct_device *device, pcti_step *step);
bool pcti_cl_tile_1x1_accept(const pcti_call *call, const pct_device *device, pcti_why *why);
bool pcti_cl_tile_accept(const pcti_call *call, const pct_device *device, pcti_why *why);
pct_status pcti_cl_tile_prepare(pct_device *device, pcti_step *step);
pct_status pcti_cl_tile_bind(pct_device *device, pcti_step *step);
bool pcti_cl_winograd_accept(const pcti_call *call, const pct_device *device, pcti_why *why);
pct_status pcti_cl_winograd_prepare(pct_device *device, pcti_step *step);
pct_status pcti_cl_winograd_bind(pct_device *device, pcti_step *step);
/* for GPUs, */
bool pcti_cl_local_accept(const pcti_call *call, const pct_device *device, pcti_why *why);
bool pcti_cl_local_small_accept(const pcti_call *call, const pct_device *device, pcti_why *why);
pct_status pcti_cl_local_prepare(pct_device *device, pcti_step *step);
pct_status pcti_cl_local_small_prepare(pct_device *device, pcti_step *step);
pct_status pcti_cl_local_bind(pct_device *device, pcti_step *step);
/* and for all. */
bool pcti_cl_depthwise_item_accept(const pcti_call *call, const pct_device *device, pcti_why *why);
pct_status pcti_cl_depthwise_item_prepare(pct_device *device, pcti_step *step);
pct_status pcti_cl_depthwise_item_bind(pct_device *device, pcti_step *step);

#endif
