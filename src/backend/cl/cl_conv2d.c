#include "op/backend.h"

const pcti_impl pcti_cl_impls_conv2d[] = {{0}};
const pcti_impl pcti_cl_impls_conv_transpose2d[] = {{0}};
