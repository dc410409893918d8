/* The geometry of a pooling call, as reference and backends use it. */
#ifndef PCTI_OP_POOL_H
#define PCTI_OP_POOL_H

#include "op/op.h"

/* Output row y looks at input rows y*stride[0] - pad[0] + r*dilation[0], 0 <= r < kernel[0]; columns alike.
 */
typedef struct pcti_pool {
    bool mean, include_pad, global;
    int64_t in[2], out[2], kernel[2], stride[2], dilation[2];
    int64_t pad[4]; /* top, left, bottom, right */
} pcti_pool;

/* Parameters with their fallbacks put in: stride = kernel; global = one window over all of the picture. */
pcti_pool pcti_pool_of(const pcti_call *call);

#endif
