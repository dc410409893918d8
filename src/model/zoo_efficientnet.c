/* EfficientNet-Lite0: MobileNetV2's blocks with 3x3 and 5x5 filters, padded as TensorFlow does. Names are
 * those of its published PyTorch file. */
#include "model/zoo.h"

#define EPSILON 1e-3

static pct_value conv_bn(pcti_net *net, pct_value x, pcti_conv_spec conv, const char *conv_name, const char *bn_name)
{
    conv.same = true;
    x = pcti_net_conv(net, x, conv, "%s", conv_name);
    return pcti_net_batch_norm(net, x, EPSILON, "%s", bn_name);
}

static pct_value mbconv(pcti_net *net, pct_value src, int64_t kernel, int64_t expand, int64_t out, int64_t stride)
{
    int64_t in = pcti_net_channels(net, src), hidden = in * expand;
    pct_value x = src;
    if (expand != 1) {
        x = conv_bn(net, x, (pcti_conv_spec){.out = hidden, .kernel = 1}, "_expand_conv", "_bn0");
        x = pcti_net_relu6(net, x, "_relu6_0");
    }
    pcti_conv_spec depthwise = {.out = hidden, .kernel = kernel, .stride = stride, .groups = hidden};
    x = conv_bn(net, x, depthwise, "_depthwise_conv", "_bn1");
    x = pcti_net_relu6(net, x, "_relu6_1");
    x = conv_bn(net, x, (pcti_conv_spec){.out = out, .kernel = 1}, "_project_conv", "_bn2");
    return stride == 1 && in == out ? pcti_net_add(net, x, src, "add") : x;
}

pct_value pcti_zoo_efficientnet_lite0(pcti_net *net, pct_value x, int variant)
{
    static const struct {
        int repeats, kernel, stride, expand, out;
    } stages[] = {{1, 3, 1, 1, 16},  {2, 3, 2, 6, 24},  {2, 5, 2, 6, 40}, {3, 3, 2, 6, 80},
                  {3, 5, 1, 6, 112}, {4, 5, 2, 6, 192}, {1, 3, 1, 6, 320}};
    int index = 0;
    x = conv_bn(net, x, (pcti_conv_spec){.out = 32, .kernel = 3, .stride = 2}, "_conv_stem", "_bn0");
    x = pcti_net_relu6(net, x, "_relu6_0");
    for (size_t s = 0; s < sizeof stages / sizeof stages[0]; s++)
        for (int i = 0; i < stages[s].repeats; i++) {
            size_t scope = pcti_net_enter(net, "_blocks.%d", index++);
            x = mbconv(net, x, stages[s].kernel, stages[s].expand, stages[s].out, i ? 1 : stages[s].stride);
            pcti_net_leave(net, scope);
        }
    x = conv_bn(net, x, (pcti_conv_spec){.out = 1280, .kernel = 1}, "_conv_head", "_bn1");
    x = pcti_net_relu6(net, x, "_relu6_1");
    x = pcti_net_global_average(net, x, "_avg_pooling");
    x = pcti_net_flatten(net, x, "flatten");
    x = pcti_net_dropout(net, x, 0.2, "_dropout");
    return pcti_net_linear(net, x, net->classes, "_fc");
}
