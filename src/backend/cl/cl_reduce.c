/* Reductions on OpenCL devices. */
#include "op/backend.h"

extern const pcti_impl pcti_cl_impls_reduce[], pcti_cl_impls_argmax[];
const pcti_impl pcti_cl_impls_reduce[] = {{0}};
const pcti_impl pcti_cl_impls_argmax[] = {{0}};
