#include "base/memory.h"
#include "graph/plan.h"

static void add_mb(pcti_text *text, const char *label, int64_t bytes)
{
    pcti_text_add(text, "%s %lld.%02lld MB", label, (long long)(bytes / 1000000), (long long)(bytes / 10000 % 100));
}

static void add_operand(pcti_text *text, const pcti_operand *operand)
{
    char shape_text[PCTI_SHAPE_TEXT];
    if (operand->tensor.rank == PCTI_ABSENT) return;
    pct_shape shape = pcti_tensor_shape(&operand->tensor);
    pcti_text_add(text, " %s%s", pcti_shape_print(&shape, shape_text, sizeof shape_text), operand->tensor.channel_block > 1 ? "/c16" : "");
    if (!pcti_tensor_is_dense(&operand->tensor)) pcti_text_add(text, "/range");
}

static void add_fusion(pcti_text *text, const pcti_call *call)
{
    const pcti_fusion *f = call->fusion;
    if (!f) return;
    if (f->pre_affine) pcti_text_add(text, " pre=scale,shift%s", f->pre_act.kind ? ",clip" : "");
    if (f->pre_average_pool) pcti_text_add(text, " pre=average2x2");
    if (pcti_call_fused(call, PCTI_FUSED_RESIDUAL)) pcti_text_add(text, " post=add");
    if (f->post_act.kind) pcti_text_add(text, " post=%s", f->post_act.kind == PCTI_ACT_CLIP ? "clip" : "unary");
    if (f->post_max_pool) pcti_text_add(text, " post=max2x2");
}

pct_status pct_plan_dump(const pct_plan *plan, bool verbose, char **out)
{
    pcti_text text = {0};
    *out = NULL;
    pcti_text_add(&text, "plan on %s, %s: %d steps,", plan->device->backend->name, plan->device->info.device, plan->n_steps);
    add_mb(&text, " weights", plan->info.weight_bytes);
    add_mb(&text, ", arena", plan->info.activation_bytes);
    add_mb(&text, " (largest workspace", plan->info.workspace_bytes);
    pcti_text_add(&text, ")\n");
    for (int s = 0; s < plan->n_steps; s++) {
        const pcti_step *step = &plan->steps[s];
        pcti_text_add(&text, "%4d %s: %s by %s", s, step->name, step->call.op->name, step->impl->name);
        for (int i = 0; i < step->call.n_src; i++) add_operand(&text, &step->src[i]);
        pcti_text_add(&text, " ->");
        for (int i = 0; i < step->call.n_dst; i++) add_operand(&text, &step->dst[i]);
        add_fusion(&text, &step->call);
        pcti_text_add(&text, "\n");
    }
    if (verbose && plan->refusals) pcti_text_add(&text, "%s", plan->refusals);
    if (text.failed) {
        pcti_text_free(&text);
        return PCT_ERROR_MEMORY;
    }
    *out = text.data;
    return PCT_OK;
}

void pct_text_free(char *text) { pcti_free(text); }
