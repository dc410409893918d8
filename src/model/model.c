#include "model/model.h"

#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "model/zoo.h"

static const struct zoo_row {
    const char *name, *preset;
    pcti_zoo_build build;
    int variant;
    int32_t size, min_size; /* min_size: at one less, a pooling window or unpadded filter no longer fits */
} zoo[] = {
    {"vgg11", "torchvision", pcti_zoo_vgg, 11, 224, 32},
    {"vgg11_bn", "torchvision", pcti_zoo_vgg, 11 + PCTI_VGG_BN, 224, 32},
    {"vgg13", "torchvision", pcti_zoo_vgg, 13, 224, 32},
    {"vgg13_bn", "torchvision", pcti_zoo_vgg, 13 + PCTI_VGG_BN, 224, 32},
    {"vgg16", "torchvision", pcti_zoo_vgg, 16, 224, 32},
    {"vgg16_bn", "torchvision", pcti_zoo_vgg, 16 + PCTI_VGG_BN, 224, 32},
    {"vgg19", "torchvision", pcti_zoo_vgg, 19, 224, 32},
    {"vgg19_bn", "torchvision", pcti_zoo_vgg, 19 + PCTI_VGG_BN, 224, 32},
    {"densenet121", "torchvision", pcti_zoo_densenet, 121, 224, 29},
    {"densenet169", "torchvision", pcti_zoo_densenet, 169, 224, 29},
    {"densenet201", "torchvision", pcti_zoo_densenet, 201, 224, 29},
    {"resnet18", "torchvision", pcti_zoo_resnet, 18, 224, 1},
    {"resnet34", "torchvision", pcti_zoo_resnet, 34, 224, 1},
    {"resnet50", "torchvision", pcti_zoo_resnet, 50, 224, 1},
    {"mobilenet_v2", "torchvision", pcti_zoo_mobilenet_v2, 0, 224, 1},
    {"squeezenet1_1", "torchvision", pcti_zoo_squeezenet, 0, 224, 17},
    {"efficientnet_lite0", "lite", pcti_zoo_efficientnet_lite0, 0, 224, 1},
};
enum { ZOO_ROWS = sizeof zoo / sizeof zoo[0] };

const char *pct_model_list(int index)
{
    return index >= 0 && index < ZOO_ROWS ? zoo[index].name : NULL;
}

static pct_status find_row(const char *name, const struct zoo_row **row)
{
    *row = NULL;
    for (int i = 0; i < ZOO_ROWS; i++)
        if (name && !strcmp(zoo[i].name, name)) {
            *row = &zoo[i];
            return PCT_OK;
        }
    pcti_text names = {0};
    for (int i = 0; i < ZOO_ROWS; i++) pcti_text_add(&names, "%s%s", i ? ", " : "", zoo[i].name);
    pct_status status = pcti_fail(PCT_ERROR_NOT_FOUND, "there is no model \"%s\"; there are: %s", name ? name : "",
                                  names.failed ? "" : names.data);
    pcti_text_free(&names);
    return status;
}

static pct_status read_options(const struct zoo_row *row, const pct_model_options *given, pct_model_info *info)
{
    pct_model_options options = {.struct_bytes = sizeof options};
    if (given) {
        if (given->struct_bytes < sizeof given->struct_bytes || given->struct_bytes > sizeof *given)
            return pcti_fail(PCT_ERROR_ARGUMENT, "model options: struct_bytes is %zu, at most %zu is known",
                             given->struct_bytes, sizeof *given);
        memcpy(&options, given, given->struct_bytes);
    }
    if (options.classes < 0 || options.height < 0 || options.width < 0)
        return pcti_fail(PCT_ERROR_ARGUMENT, "%s: %d classes, height %d, width %d: none may be negative", row->name,
                         (int)options.classes, (int)options.height, (int)options.width);
    int32_t height = options.height ? options.height : options.width;
    int32_t width = options.width ? options.width : options.height;
    *info = (pct_model_info){.name = row->name,
                             .preset = row->preset,
                             .classes = options.classes ? options.classes : 1000,
                             .height = height ? height : row->size,
                             .width = width ? width : row->size,
                             .usual_size = row->size,
                             .min_size = row->min_size};
    if (info->height < row->min_size || info->width < row->min_size)
        return pcti_fail(PCT_ERROR_ARGUMENT,
                         "%s: pictures of %d x %d (height x width) are too small; the smallest are %d x %d",
                         row->name, (int)info->height, (int)info->width, (int)row->min_size, (int)row->min_size);
    return PCT_OK;
}

static pct_status build(const struct zoo_row *row, const pct_model *model)
{
    pct_shape shape = {PCT_F32, 4, {PCT_DIM_BATCH, 3, model->info.height, model->info.width}};
    pct_value input;
    PCTI_RETURN_IF_FAILED(pct_graph_add_input(model->graph, "input", &shape, &input));
    pcti_net net = {.graph = model->graph, .classes = model->info.classes};
    pct_value logits = row->build(&net, input, row->variant);
    PCTI_RETURN_IF_FAILED(net.status);
    return pct_graph_add_output(model->graph, "logits", logits);
}

pct_status pct_model_create(const char *name, const pct_model_options *options, pct_model **out)
{
    const struct zoo_row *row;
    pct_status status;
    pct_model_info info;
    *out = NULL;
    PCTI_RETURN_IF_FAILED(find_row(name, &row));
    PCTI_RETURN_IF_FAILED(read_options(row, options, &info));
    pct_model *model = pcti_calloc(1, sizeof *model);
    if (!model) return PCT_ERROR_MEMORY;
    model->info = info;
    PCTI_TRY(pct_graph_create(&model->graph));
    PCTI_TRY(build(row, model));
    *out = model;
    return PCT_OK;
fail:
    pct_model_destroy(model);
    return pcti_fail_in(status, "%s at %d x %d", info.name, (int)info.height, (int)info.width);
}

void pct_model_destroy(pct_model *model)
{
    if (!model) return;
    pct_graph_destroy(model->graph);
    pcti_free(model);
}

pct_graph *pct_model_graph(const pct_model *model)
{
    return model->graph;
}

const pct_model_info *pct_model_get_info(const pct_model *model)
{
    return &model->info;
}
