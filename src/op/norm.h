/* Batch normalisation as one scale and shift a channel, packed for a device: what every backend's fast rows
 * use. */
#ifndef PCTI_OP_NORM_H
#define PCTI_OP_NORM_H

#include "op/backend.h"

/* Are all four statistics known at plan time? Refuses with a reason. */
bool pcti_batch_norm_is_constant(const pcti_call *call, pcti_why *why);

/* Puts scale'[c] and shift'[c] with dst = src*scale' + shift', computed in double and rounded once, into one
 * float buffer: scale' for the channels rounded up to whole blocks (zeros beyond C), then shift' alike. It
 * becomes src[1].buffer. */
pct_status pcti_batch_norm_pack(pct_device *device, pcti_step *step);

#endif
