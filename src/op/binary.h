/* What the backends' rows for two operands share: which operand varies only by channel, and its packed form.
 */
#ifndef PCTI_OP_BINARY_H
#define PCTI_OP_BINARY_H

#include "op/backend.h"

/* A binary call as a picture (rank 4, shaped like the result) and one value a channel. */
typedef struct pcti_by_channel {
    int wide, narrow;        /* operand numbers */
    int64_t narrow_picture;  /* channels between the narrow operand's pictures; 0: one for all */
    bool narrow_is_constant; /* else it is blocked (N or 1, C, 1, 1) */
} pcti_by_channel;
/* False with a reason where the call has not that form, operands laid out as in PCTI_LAYOUT_BLOCKED. */
bool pcti_binary_by_channel(const pcti_call *call, pcti_by_channel *by, pcti_why *why);

/* Packs constant operand i, of 1 or C elements, as C floats followed by `beyond` up to the next whole block.
 */
pct_status pcti_pack_channels(pct_device *device, pcti_step *step, int i, int64_t channels, float beyond);

/* What the narrow operand holds in padding channels, so that fn(0, beyond) and fn(beyond, 0) stay 0 or are
 * refused. */
float pcti_binary_beyond(pct_binary_fn fn);
double pcti_binary_eval(pct_binary_fn fn, double a, double b);

#endif
