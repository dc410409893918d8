/* Copies of boxes of elements on OpenCL devices. */
#include "op/backend.h"
#include "op/copy.h"

extern const pcti_impl pcti_cl_impls_concat[];
const pcti_impl pcti_cl_impls_concat[] = {{0}};
extern const pcti_impl pcti_cl_impls_slice[];
const pcti_impl pcti_cl_impls_slice[] = {{0}};
extern const pcti_impl pcti_cl_impls_pad[];
const pcti_impl pcti_cl_impls_pad[] = {{0}};
extern const pcti_impl pcti_cl_impls_transpose[];
const pcti_impl pcti_cl_impls_transpose[] = {{0}};
extern const pcti_impl pcti_cl_impls_reshape[];
const pcti_impl pcti_cl_impls_reshape[] = {{0}};
