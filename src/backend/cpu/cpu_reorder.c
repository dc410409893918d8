/* Copies between layouts, shared by picture rows (or pictures, where there are no rows). */
#include <string.h>

#include "backend/cpu/cpu.h"

static bool accept_to_blocked(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    if (call->src[0].tensor.channel_block == 1 && call->dst[0].tensor.channel_block == PCTI_BLOCK) return true;
    return pcti_refuse(why, "only from plain to blocked");
}

static void run_to_blocked(const pcti_step *step, pcti_team *team)
{
    const pcti_tensor *s = &step->src[0].tensor, *d = &step->dst[0].tensor;
    const float *src = pcti_f32(&step->src[0]);
    float *dst = pcti_f32(&step->dst[0]);
    pcti_rows rows = pcti_team_rows(team, s->dims[0], s->dims[2]);
    while (pcti_rows_next(&rows))
        team->simd->to_blocked((int)s->dims[1], rows.y1 - rows.y0, (int)s->dims[3],
                               src + rows.picture * s->strides[0] + rows.y0 * s->strides[2], s->strides[1], s->strides[2],
                               dst + rows.picture * d->strides[0] + rows.y0 * d->strides[2], d->strides[1], d->strides[2]);
}

static bool accept_to_plain(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    if (call->src[0].tensor.channel_block == PCTI_BLOCK && call->dst[0].tensor.channel_block == 1) return true;
    return pcti_refuse(why, "only from blocked to plain");
}

static void run_to_plain(const pcti_step *step, pcti_team *team)
{
    const pcti_tensor *s = &step->src[0].tensor, *d = &step->dst[0].tensor;
    const float *src = pcti_f32(&step->src[0]);
    float *dst = pcti_f32(&step->dst[0]);
    pcti_rows rows = pcti_team_rows(team, s->dims[0], s->dims[2]);
    while (pcti_rows_next(&rows))
        team->simd->to_plain((int)s->dims[1], rows.y1 - rows.y0, (int)s->dims[3],
                             src + rows.picture * s->strides[0] + rows.y0 * s->strides[2], s->strides[1], s->strides[2],
                             dst + rows.picture * d->strides[0] + rows.y0 * d->strides[2], d->strides[1], d->strides[2]);
}

static bool accept_same_layout(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    if (call->src[0].tensor.channel_block == call->dst[0].tensor.channel_block) return true;
    return pcti_refuse(why, "layouts differ");
}

/* Same layout on both sides: only the distance between pictures may differ. */
static void run_copy(const pcti_step *step, pcti_team *team)
{
    const pcti_tensor *s = &step->src[0].tensor, *d = &step->dst[0].tensor;
    size_t element = pct_dtype_size(s->dtype);
    int64_t inner = pcti_tensor_picture_elems(s), pictures = s->rank ? s->dims[0] : 1, first, end;
    const char *src = pcti_operand_address(&step->src[0]);
    char *dst = pcti_operand_address(&step->dst[0]);
    if (pcti_operand_same(&step->src[0], &step->dst[0])) return;
    pcti_team_share(team, pictures * inner, &first, &end);
    while (first < end) {
        int64_t n = first / inner, at = first % inner, count = pcti_min(inner - at, end - first);
        int64_t from = (s->rank ? n * s->strides[0] : 0) + at, to = (d->rank ? n * d->strides[0] : 0) + at;
        memcpy(dst + (size_t)to * element, src + (size_t)from * element, (size_t)count * element);
        first += count;
    }
}

const pcti_impl pcti_cpu_impls_reorder[] = {
    {.name = "plain_to_blocked", .layout = PCTI_LAYOUT_PLAIN_BLOCKED, .accept = accept_to_blocked, .run_share = run_to_blocked},
    {.name = "blocked_to_plain", .layout = PCTI_LAYOUT_BLOCKED_PLAIN, .accept = accept_to_plain, .run_share = run_to_plain},
    {.name = "copy", .layout = PCTI_LAYOUT_SAME, .accept = accept_same_layout, .run_share = run_copy},
    {0},
};

const pcti_impl pcti_cpu_impls_dropout[] = {
    {.name = "copy", .layout = PCTI_LAYOUT_SAME, .in_place = true, .accept = accept_same_layout, .run_share = run_copy},
    {0},
};
