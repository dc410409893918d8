#include "op/backend.h"

const pcti_impl pcti_cl_impls_dense[] = {{0}};
const pcti_impl pcti_cl_impls_matmul[] = {{0}};
