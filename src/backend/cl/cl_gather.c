/* gather on OpenCL devices. */
#include <stdio.h>

#include "backend/cl/cl_copy.h"
#include "op/gather.h"

static pct_status prepare(pct_device *device, pcti_step *step)
{
    pcti_gather_shape g = pcti_gather_shape_of(&step->call);
    const size_t items[] = {(size_t)g.inner, (size_t)(g.outer * g.count)};
    char options[64];
    PCTI_RETURN_IF_FAILED(pcti_gather_check(&step->call));
    snprintf(options, sizeof options, "-DTYPE=%s -DINDEX=%s", pcti_cl_element_type(step->dst[0].tensor.dtype),
             step->src[1].tensor.dtype == PCT_I64 ? "long" : "int");
    return pcti_cl_launch_add(device, step, "gather", options, "gather", 2, items, pcti_cl_rows_group(g.inner));
}

static void arg_pictures(pcti_cl_args *args, const pcti_tensor *tensor)
{
    pcti_cl_arg_index(args, pcti_tensor_picture_elems(tensor));
    pcti_cl_arg_index(args, tensor->rank ? tensor->strides[0] : 1);
}

static pct_status bind(pct_device *device, pcti_step *step)
{
    pcti_gather_shape g = pcti_gather_shape_of(&step->call);
    const pcti_tensor *data = &step->src[0].tensor;
    pcti_cl_args args = pcti_cl_args_of(device, step, 0);
    pcti_cl_arg_operand(&args, &step->src[0]);
    pcti_cl_arg_index(&args, data->strides[0]);
    pcti_cl_arg_index(&args, g.axis ? g.outer / data->dims[0] : 1);
    pcti_cl_arg_index(&args, g.extent);
    pcti_cl_arg_index(&args, g.axis ? g.inner : data->strides[0]);
    pcti_cl_arg_operand(&args, &step->src[1]);
    arg_pictures(&args, &step->src[1].tensor);
    pcti_cl_arg_operand(&args, &step->dst[0]);
    arg_pictures(&args, &step->dst[0].tensor);
    pcti_cl_arg_index(&args, g.count);
    pcti_cl_arg_index(&args, g.inner);
    pcti_cl_arg_index(&args, g.outer * g.count);
    return args.status;
}

const pcti_impl pcti_cl_impls_gather[] = {
    {.name = "elements",
     .layout = PCTI_LAYOUT_PLAIN,
     .prepare = prepare,
     .bind = bind,
     .run = pcti_cl_run,
     .release = pcti_cl_release},
    {0},
};
