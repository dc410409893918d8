/* The convolution implementations of the CPU, best first. */
#include "backend/cpu/cpu_conv.h"
#include "base/memory.h"

static void release_state(pct_device *device, pcti_step *step)
{
    pcti_free(step->state);
    step->state = NULL;
}

static bool accept_floats(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    for (int i = 0; i < call->n_src; i++)
        if (pcti_call_src(call, i) && call->src[i].tensor.dtype != PCT_F32)
            return pcti_refuse(why, "type of operand %d", i);
    for (int i = 1; i < call->n_src;
         i++) /* addressed with the strides of dimension 0 only where the loops use them */
        if (pcti_call_src(call, i) && i == 2 && !pcti_tensor_is_dense(&call->src[i].tensor))
            return pcti_refuse(why, "strided bias");
    return true;
}

const pcti_impl pcti_cpu_impls_conv2d[] = {
    {.name = "first_layer",
     .layout = PCTI_LAYOUT_PLAIN_BLOCKED,
     .accuracy = PCTI_ACCURACY_SUM,
     .fusions = PCTI_FUSE_CLIP,
     .accept = pcti_first_accept,
     .prepare = pcti_first_prepare,
     .run_share = pcti_first_run},
    {.name = "depthwise",
     .layout = PCTI_LAYOUT_BLOCKED,
     .accuracy = PCTI_ACCURACY_SUM,
     .fusions = PCTI_FUSE_CLIP,
     .accept = pcti_depthwise_accept,
     .prepare = pcti_depthwise_prepare,
     .run_share = pcti_depthwise_run},
    {.name = "gemm_1x1",
     .layout = PCTI_LAYOUT_BLOCKED,
     .accuracy = PCTI_ACCURACY_SUM,
     .fusions = PCTI_FUSE_CLIP | PCTI_FUSE_RESIDUAL | PCTI_FUSE_PRE | PCTI_FUSE_PRE_POOL,
     .accept = pcti_conv1x1_accept,
     .prepare = pcti_conv1x1_prepare,
     .run_share = pcti_conv1x1_run},
    {.name = "winograd_4x4_3x3",
     .layout = PCTI_LAYOUT_BLOCKED,
     .accuracy = PCTI_ACCURACY_WINOGRAD,
     .large_packing = true,
     .fusions = PCTI_FUSE_CLIP | PCTI_FUSE_RESIDUAL | PCTI_FUSE_POST_POOL,
     .variants = pcti_winograd_variants,
     .accept = pcti_winograd_accept,
     .prepare = pcti_winograd_prepare,
     .run_share = pcti_winograd_run},
    {.name = "direct",
     .layout = PCTI_LAYOUT_BLOCKED,
     .accuracy = PCTI_ACCURACY_SUM,
     .fusions = PCTI_FUSE_CLIP | PCTI_FUSE_RESIDUAL,
     .accept = pcti_direct_accept,
     .prepare = pcti_direct_prepare,
     .release = release_state,
     .run_share = pcti_direct_run},
    {.name = "gather_gemm",
     .layout = PCTI_LAYOUT_BLOCKED,
     .accuracy = PCTI_ACCURACY_SUM,
     .fusions = PCTI_FUSE_CLIP | PCTI_FUSE_RESIDUAL,
     .accept = pcti_gather_accept,
     .prepare = pcti_gather_prepare,
     .release = release_state,
     .run_share = pcti_gather_run},
    {.name = "im2col_gemm",
     .layout = PCTI_LAYOUT_PLAIN,
     .accuracy = PCTI_ACCURACY_SUM,
     .bits_vary_with_threads = true,
     .fusions = PCTI_FUSE_CLIP | PCTI_FUSE_RESIDUAL,
     .accept = pcti_im2col_accept,
     .prepare = pcti_im2col_prepare,
     .release = release_state,
     .run_share = pcti_im2col_run},
    {.name = "plain",
     .layout = PCTI_LAYOUT_PLAIN,
     .accuracy = PCTI_ACCURACY_SUM,
     .accept = accept_floats,
     .run_share = pcti_plain_conv_run},
    {0},
};

const pcti_impl pcti_cpu_impls_conv_transpose2d[] = {
    {.name = "plain",
     .layout = PCTI_LAYOUT_PLAIN,
     .accuracy = PCTI_ACCURACY_SUM,
     .accept = accept_floats,
     .run_share = pcti_plain_conv_transpose_run},
    {0},
};
