/* gather: contiguous pieces, each copied from where its index says. */
#include <string.h>

#include "backend/cpu/cpu.h"
#include "op/copy.h"
#include "op/gather.h"

static pct_status prepare(pct_device *device, pcti_step *step)
{
    return pcti_gather_check(&step->call);
}

static int64_t index_at(const pcti_operand *indices, int64_t i)
{
    int64_t follow, at = pcti_place_of(&indices->tensor, i, &follow);
    const void *first = pcti_operand_address(indices);
    return indices->tensor.dtype == PCT_I64 ? ((const int64_t *)first)[at] : ((const int32_t *)first)[at];
}

static void run_share(const pcti_step *step, pcti_team *team)
{
    pcti_gather_shape g = pcti_gather_shape_of(&step->call);
    const pcti_tensor *data = &step->src[0].tensor, *d = &step->dst[0].tensor;
    size_t element = pct_dtype_size(d->dtype);
    const char *src = pcti_operand_address(&step->src[0]);
    char *dst = pcti_operand_address(&step->dst[0]);
    int64_t first, end, follow_src, follow_dst;
    pcti_team_share(team, g.outer * g.count * g.inner, &first, &end);
    while (first < end) {
        int64_t row = first / g.inner, at = first % g.inner;
        int64_t entry = pcti_gather_entry(index_at(&step->src[1], row % g.count), g.extent);
        int64_t from = pcti_place_of(data, (row / g.count * g.extent + entry) * g.inner + at, &follow_src);
        int64_t to = pcti_place_of(d, first, &follow_dst);
        int64_t count = pcti_min(pcti_min(g.inner - at, end - first), pcti_min(follow_src, follow_dst));
        memcpy(dst + to * (int64_t)element, src + from * (int64_t)element, (size_t)count * element);
        first += count;
    }
}

const pcti_impl pcti_cpu_impls_gather[] = {
    {.name = "copy", .layout = PCTI_LAYOUT_PLAIN, .prepare = prepare, .run_share = run_share},
    {0},
};
