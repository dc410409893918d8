/* Functions of two operands on OpenCL devices. */
#include "op/backend.h"

const pcti_impl pcti_cl_impls_binary[] = {{0}};
const pcti_impl pcti_cl_impls_prelu[] = {{0}};
