/* Pooling on OpenCL devices. */
#include "op/backend.h"

const pcti_impl pcti_cl_impls_pool2d[] = {{0}};
