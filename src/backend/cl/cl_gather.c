/* gather on OpenCL devices. */
#include "op/backend.h"

extern const pcti_impl pcti_cl_impls_gather[];
const pcti_impl pcti_cl_impls_gather[] = {{0}};
