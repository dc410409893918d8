/* Normalisations on OpenCL devices. */
#include "op/backend.h"

const pcti_impl pcti_cl_impls_batch_norm[] = {{0}};
const pcti_impl pcti_cl_impls_layer_norm[] = {{0}};
const pcti_impl pcti_cl_impls_lrn[] = {{0}};
