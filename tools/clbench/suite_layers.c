/* The suites gemm and layers: single operators, as they occur in VGG16 and DenseNet121. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "opcase.h"
#include "pct/model.h"

enum { MAX_LINES = 256, QUICK_LINES = 10 };

typedef struct line_list {
    char *lines[MAX_LINES];
    int count;
} line_list;

static pct_status add_line(line_list *list, const char *text)
{
    for (int i = 0; i < list->count; i++)
        if (!strcmp(list->lines[i], text)) return PCT_OK;
    if (list->count == MAX_LINES) return pcti_fail(PCT_ERROR_MEMORY, "more than %d different layers", MAX_LINES);
    if (!(list->lines[list->count] = pcti_strdup(text))) return PCT_ERROR_MEMORY;
    list->count++;
    return PCT_OK;
}

static void free_lines(line_list *list)
{
    for (int i = 0; i < list->count; i++) pcti_free(list->lines[i]);
    *list = (line_list){0};
}

/* ---- layers of a network ---- */

typedef pct_status (*node_fn)(line_list *list, const pcti_call *call);

static pct_status for_each_node(const char *model_name, int64_t batch, node_fn take, line_list *list)
{
    pct_model *model;
    pct_graph *graph = NULL;
    pcti_operand *src = NULL, dst[2];
    pct_status status = PCT_OK;
    PCTI_RETURN_IF_FAILED(pct_model_create(model_name, NULL, &model));
    PCTI_TRY(pct_model_load_synthetic(model)); /* shapes need bound parameters, not their values */
    PCTI_TRY(pcti_graph_copy_bound(pct_model_graph(model), &batch, 1, &graph));
    for (size_t n = 0; n < graph->n_nodes; n++) {
        const pcti_node *node = &graph->nodes[n];
        pcti_call call;
        pcti_free(src);
        if (!(src = pcti_calloc((size_t)node->n_src + 1, sizeof *src))) {
            status = PCT_ERROR_MEMORY;
            goto fail;
        }
        pcti_node_call(graph, node, src, dst, &call);
        PCTI_TRY(take(list, &call));
    }
fail:
    pcti_free(src);
    pct_graph_destroy(graph);
    pct_model_destroy(model);
    return status;
}

static pct_status take_convolution(line_list *list, const pcti_call *call)
{
    if (!pcti_op_is(call->op, "conv2d")) return PCT_OK;
    pcti_text text = {0};
    pcti_call_print(call, &text);
    pct_status status = text.failed ? PCT_ERROR_MEMORY : add_line(list, text.data);
    pcti_text_free(&text);
    return status;
}

/* What a convolution by im2col multiplies: (outputs, window) x (window, pixels). */
static pct_status take_product(line_list *list, const pcti_call *call)
{
    char line[128];
    const int64_t *w, *y;
    if (pcti_op_is(call->op, "conv2d") && ((const pct_conv2d_params *)call->params)->groups <= 1) {
        w = call->src[1].tensor.dims;
        y = call->dst[0].tensor.dims;
        snprintf(line, sizeof line, "matmul a=%lldx%lld b=%lldx%lld", (long long)w[0],
                 (long long)(w[1] * w[2] * w[3]), (long long)(w[1] * w[2] * w[3]), (long long)(y[2] * y[3]));
        return add_line(list, line);
    }
    if (!pcti_op_is(call->op, "dense")) return PCT_OK;
    pcti_text text = {0};
    pcti_call_print(call, &text);
    pct_status status = text.failed ? PCT_ERROR_MEMORY : add_line(list, text.data);
    pcti_text_free(&text);
    return status;
}

/* ---- one list on one device ---- */

/* Every nth line, so that at most `most` remain, spread over the list. */
static bool is_left_out(int i, int count, int most)
{
    return count > most && i * most / count == (i - 1) * most / count && i > 0;
}

static pct_status run_line(clbench *bench, bench_target *target, bench_suite suite, const char *line, bool relu)
{
    opcase c;
    pcti_row row;
    char test[32];
    snprintf(test, sizeof test, "%.*s", (int)strcspn(line, " "), line);
    bench_row(target, suite, test, &row);
    pcti_row_add_text(&row, "case", line, true);
    if (bench_late(bench)) return bench_add_skipped(bench, &row, bench_no_time);
    pct_status status = opcase_create(line, relu, &c);
    if (status != PCT_OK) return bench_add_failure(bench, &row, status);
    row.batch = c.shapes[0].rank == 4 ? c.shapes[0].dims[0] : 0;
    bool quick = bench->settings.quick;
    measure_runs runs = bench_runs(bench, 3, quick ? 0.01 : 0.06);
    status = opcase_measure(bench, target, &c, NULL, &runs, &row);
    opcase_free(&c);
    return status;
}

static pct_status run_lines(clbench *bench, bench_target *target, bench_suite suite, const line_list *list, bool relu)
{
    for (int i = 0; i < list->count; i++) {
        if (bench->settings.quick && is_left_out(i, list->count, QUICK_LINES)) continue;
        if (bench_stopped()) return pcti_fail(PCT_ERROR_INTERRUPTED, "interrupted");
        PCTI_RETURN_IF_FAILED(run_line(bench, target, suite, list->lines[i], relu));
    }
    return PCT_OK;
}

/* ---- the suites ---- */

static const char *const gemm_lines[] = {"matmul a=256x256 b=256x256",     "matmul a=1024x1024 b=1024x1024",
                                         "matmul a=2048x2048 b=2048x2048", "matmul a=8192x64 b=64x64",
                                         "matmul a=64x64 b=64x8192",       "matmul a=1x4096 b=4096x4096"};
static const char *const layer_lines[] = {"conv2d src=1x64x56x56 wei=64x1x3x3 groups=64 pad=1",
                                          "conv2d src=1x3x224x224 wei=64x3x7x7 stride=2 pad=3",
                                          "conv_transpose2d src=1x64x28x28 wei=64x32x4x4 stride=2 pad=1",
                                          "dense src=1x25088 wei=4096x25088 bias=4096",
                                          "pool2d src=1x64x112x112 kernel=2 stride=2",
                                          "pool2d src=1x1024x7x7 kind=average global=1",
                                          "batch_norm src=1x64x112x112 scale=64 shift=64 mean=64 variance=64",
                                          "layer_norm src=64x197x768 scale=768 shift=768 axis=2",
                                          "lrn src=1x64x55x55 size=5 alpha=0.0001 beta=0.75 bias=1",
                                          "unary src=1x256x56x56 fn=relu",
                                          "unary src=1x256x56x56 fn=gelu",
                                          "binary src=1x256x56x56 other=1x256x56x56 fn=add",
                                          "concat src=1x64x56x56 src1=1x32x56x56 axis=1",
                                          "transpose src=1x64x56x56 axes=0,2,3,1",
                                          "softmax src=128x1000 axis=1",
                                          "reduce src=1x256x56x56 fn=mean axes=2,3",
                                          "resize src=1x64x28x28 mode=linear scale=2x2"};

pct_status suite_gemm(clbench *bench, bench_target *target)
{
    line_list list = {0};
    pct_status status = PCT_OK;
    for (size_t i = 0; i < sizeof gemm_lines / sizeof *gemm_lines; i++) PCTI_TRY(add_line(&list, gemm_lines[i]));
    PCTI_TRY(for_each_node("vgg16", 1, take_product, &list));
    PCTI_TRY(for_each_node("densenet121", 1, take_product, &list));
    bench_find_peaks(bench, target);
    status = run_lines(bench, target, SUITE_GEMM, &list, false);
fail:
    free_lines(&list);
    return status;
}

pct_status suite_layers(clbench *bench, bench_target *target)
{
    line_list networks = {0}, others = {0};
    pct_status status = PCT_OK;
    int64_t batch = bench->settings.n_batches ? bench->settings.batches[0] : 1;
    bench_find_peaks(bench, target);
    for (size_t i = 0; i < sizeof layer_lines / sizeof *layer_lines; i++) PCTI_TRY(add_line(&others, layer_lines[i]));
    PCTI_TRY(for_each_node("vgg16", batch, take_convolution, &networks));
    PCTI_TRY(for_each_node("densenet121", batch, take_convolution, &networks));
    PCTI_TRY(run_lines(bench, target, SUITE_LAYERS, &networks, true));
    PCTI_TRY(run_lines(bench, target, SUITE_LAYERS, &others, false));
fail:
    free_lines(&networks);
    free_lines(&others);
    return status;
}
