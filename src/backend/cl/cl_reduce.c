/* Reductions on OpenCL devices. */
#include <limits.h>
#include <stdio.h>

#include "backend/cl/cl_axis.h"
#include "op/reduce.h"

static bool accept_float(const pcti_call *call, pcti_why *why)
{
    pct_dtype dtype = call->src[0].tensor.dtype;
    return dtype == PCT_F32 || pcti_refuse(why, "type %s", pct_dtype_name(dtype));
}

static bool accept_groups(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    return accept_float(call, why);
}

static int is_max(const pcti_call *call)
{
    return ((const pct_reduce_params *)call->params)->fn == PCT_REDUCE_MAX;
}

/* ---- reduce over all of a blocked picture ---- */

static bool accept_picture(const pcti_call *call, pcti_why *why, pct_reduce_fn fn)
{
    const pcti_tensor *x = &call->src[0].tensor;
    if ((pct_reduce_fn)((const pct_reduce_params *)call->params)->fn != fn)
        return pcti_refuse(why, "another function");
    if (!pcti_reduce_is_global(call)) return pcti_refuse(why, "not the last two axes of a picture");
    if (pcti_tensor_elems(x) == 0) return pcti_refuse(why, "an empty picture");
    if (x->dims[1] > INT_MAX - PCTI_BLOCK) return pcti_refuse(why, "too many channels");
    return accept_float(call, why);
}

static bool accept_picture_mean(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    return accept_picture(call, why, PCT_REDUCE_MEAN);
}

static bool accept_picture_max(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    return accept_picture(call, why, PCT_REDUCE_MAX);
}

static pct_status prepare_picture(pct_device *device, pcti_step *step)
{
    const pcti_tensor *s = &step->src[0].tensor;
    int width = pcti_cl_is_cpu(device) ? PCTI_BLOCK : 1;
    const size_t items[] = {(size_t)(pcti_round_up(s->dims[1], PCTI_BLOCK) / width), (size_t)s->dims[0]};
    char options[48];
    snprintf(options, sizeof options, "-DMAX=%d -DWIDTH=%d", is_max(&step->call), width);
    return pcti_cl_launch_add(device, step, "reduce", options, "reduce_picture", 2, items, NULL);
}

static pct_status bind_picture(pct_device *device, pcti_step *step)
{
    const pcti_tensor *s = &step->src[0].tensor;
    pcti_cl_args args = pcti_cl_args_of(device, step, 0);
    pcti_cl_arg_operand(&args, &step->src[0]);
    pcti_cl_arg_long(&args, s->strides[0]);
    pcti_cl_arg_operand(&args, &step->dst[0]);
    pcti_cl_arg_long(&args, step->dst[0].tensor.strides[0]);
    pcti_cl_arg_int(&args, s->dims[1]);
    pcti_cl_arg_index(&args, s->dims[2] * s->dims[3]);
    return args.status;
}

/* ---- reduce over any axes, a launch a stage ---- */

static bool accept_items(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    pcti_reduce_stage stages[PCT_MAX_RANK];
    int count = pcti_reduce_stages(call, stages);
    for (int s = 0; s < count; s++)
        if (pcti_cl_wants_groups(device, stages[s].outer * stages[s].inner, stages[s].extent))
            return pcti_refuse(why, "few results of many elements");
    return accept_float(call, why);
}

static pct_status prepare_stages(pct_device *device, pcti_step *step, bool groups)
{
    pcti_reduce_stage stages[PCT_MAX_RANK];
    int64_t second;
    int count = pcti_reduce_stages(&step->call, stages);
    step->workspace_bytes = (size_t)pcti_reduce_between(stages, count, &second) * sizeof(cl_float);
    for (int s = 0; s < count; s++) {
        size_t lines = (size_t)(stages[s].outer * stages[s].inner);
        const size_t items[] = {groups ? 1 : lines, lines};
        if (lines == 0) continue; /* of nothing; the stage after it knows */
        PCTI_RETURN_IF_FAILED(pcti_cl_launch_add(device, step, "reduce", is_max(&step->call) ? "-DMAX=1" : "-DMAX=0",
                                                 groups ? "reduce_groups" : "reduce_items", groups ? 2 : 1, items,
                                                 NULL));
    }
    return PCT_OK;
}

static pct_status prepare_items(pct_device *device, pcti_step *step)
{
    return prepare_stages(device, step, false);
}

static pct_status prepare_groups(pct_device *device, pcti_step *step)
{
    return prepare_stages(device, step, true);
}

/* A result between two stages, or nothing where it is empty. */
static void arg_between(pcti_cl_args *args, const pcti_step *step, int64_t first, int64_t elems)
{
    if (elems > 0)
        pcti_cl_arg_workspace(args, step, (size_t)first);
    else
        pcti_cl_arg_operand(args, NULL);
}

static pct_status bind_stages(pct_device *device, pcti_step *step, bool groups)
{
    pcti_reduce_stage stages[PCT_MAX_RANK];
    int64_t second;
    int count = pcti_reduce_stages(&step->call, stages), launch = 0;
    bool mean = ((const pct_reduce_params *)step->call.params)->fn == PCT_REDUCE_MEAN;
    pcti_reduce_between(stages, count, &second);
    for (int s = 0; s < count; s++) {
        const pcti_reduce_stage *stage = &stages[s];
        int64_t lines = stage->outer * stage->inner;
        if (lines == 0) continue;
        pcti_cl_args args = pcti_cl_args_of(device, step, launch);
        if (s == 0)
            pcti_cl_arg_operand(&args, stage->extent > 0 ? &step->src[0] : NULL);
        else
            arg_between(&args, step, s % 2 ? 0 : second, lines * stage->extent);
        pcti_cl_arg_index(&args, stage->rows);
        pcti_cl_arg_long(&args, stage->picture);
        pcti_cl_arg_long(&args, stage->step);
        pcti_cl_arg_index(&args, stage->extent);
        pcti_cl_arg_index(&args, stage->inner);
        if (s == count - 1) {
            pcti_cl_arg_places(&args, &step->dst[0]);
        } else {
            arg_between(&args, step, s % 2 ? second : 0, lines);
            pcti_cl_arg_index(&args, lines);
            pcti_cl_arg_long(&args, lines);
        }
        pcti_cl_arg_float(&args, s == count - 1 && mean ? (double)pcti_reduce_terms(&step->call) : 1);
        if (groups)
            pcti_cl_arg_local(&args, pcti_cl_launch_group(step, launch)[0] * sizeof(cl_float));
        else
            pcti_cl_arg_index(&args, lines);
        PCTI_RETURN_IF_FAILED(args.status);
        launch++;
    }
    return PCT_OK;
}

static pct_status bind_items(pct_device *device, pcti_step *step)
{
    return bind_stages(device, step, false);
}

static pct_status bind_groups(pct_device *device, pcti_step *step)
{
    return bind_stages(device, step, true);
}

#define PICTURE .prepare = prepare_picture, .bind = bind_picture, .run = pcti_cl_run, .release = pcti_cl_release

const pcti_impl pcti_cl_impls_reduce[] = {
    {.name = "blocked_mean",
     .layout = PCTI_LAYOUT_BLOCKED_PLAIN,
     .accuracy = PCTI_ACCURACY_SUM,
     .accept = accept_picture_mean,
     PICTURE},
    {.name = "blocked_max", .layout = PCTI_LAYOUT_BLOCKED_PLAIN, .accept = accept_picture_max, PICTURE},
    {.name = "items",
     .layout = PCTI_LAYOUT_PLAIN,
     .accuracy = PCTI_ACCURACY_SUM,
     .accept = accept_items,
     .prepare = prepare_items,
     .bind = bind_items,
     .run = pcti_cl_run,
     .release = pcti_cl_release},
    {.name = "groups",
     .layout = PCTI_LAYOUT_PLAIN,
     .accuracy = PCTI_ACCURACY_SUM,
     .accept = accept_groups,
     .prepare = prepare_groups,
     .bind = bind_groups,
     .run = pcti_cl_run,
     .release = pcti_cl_release},
    {0},
};

/* ---- argmax ---- */

/* As the kernel's struct candidate. */
typedef struct candidate {
    cl_float value;
    cl_long at;
} candidate;

static pcti_axis axis_of(const pcti_call *call)
{
    return pcti_axis_of(&call->src[0].tensor, ((const pct_argmax_params *)call->params)->axis);
}

static bool accept_argmax_items(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    pcti_axis a = axis_of(call);
    if (pcti_cl_wants_groups(device, a.outer * a.inner, a.extent)) return pcti_refuse(why, "few and long lines");
    return accept_float(call, why);
}

static pct_status prepare_argmax_items(pct_device *device, pcti_step *step)
{
    pcti_axis a = axis_of(&step->call);
    const size_t items[] = {(size_t)(a.outer * a.inner)};
    return pcti_cl_launch_add(device, step, "reduce", NULL, "argmax_items", 1, items, NULL);
}

static pct_status prepare_argmax_groups(pct_device *device, pcti_step *step)
{
    pcti_axis a = axis_of(&step->call);
    const size_t items[] = {1, (size_t)(a.outer * a.inner)};
    return pcti_cl_launch_add(device, step, "reduce", NULL, "argmax_groups", 2, items, NULL);
}

static pcti_cl_args bind_argmax(pct_device *device, const pcti_step *step)
{
    pcti_axis a = axis_of(&step->call);
    pcti_cl_args args = pcti_cl_args_of(device, step, 0);
    pcti_cl_arg_axis(&args, &step->src[0], &a);
    pcti_cl_arg_index(&args, a.extent);
    pcti_cl_arg_index(&args, a.inner);
    pcti_cl_arg_places(&args, &step->dst[0]);
    return args;
}

static pct_status bind_argmax_items(pct_device *device, pcti_step *step)
{
    pcti_axis a = axis_of(&step->call);
    pcti_cl_args args = bind_argmax(device, step);
    pcti_cl_arg_index(&args, a.outer * a.inner);
    return args.status;
}

static pct_status bind_argmax_groups(pct_device *device, pcti_step *step)
{
    pcti_cl_args args = bind_argmax(device, step);
    pcti_cl_arg_local(&args, pcti_cl_launch_group(step, 0)[0] * sizeof(candidate));
    return args.status;
}

const pcti_impl pcti_cl_impls_argmax[] = {
    {.name = "items",
     .layout = PCTI_LAYOUT_PLAIN,
     .accept = accept_argmax_items,
     .prepare = prepare_argmax_items,
     .bind = bind_argmax_items,
     .run = pcti_cl_run,
     .release = pcti_cl_release},
    {.name = "groups",
     .layout = PCTI_LAYOUT_PLAIN,
     .accept = accept_groups,
     .prepare = prepare_argmax_groups,
     .bind = bind_argmax_groups,
     .run = pcti_cl_run,
     .release = pcti_cl_release},
    {0},
};
