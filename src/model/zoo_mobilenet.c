/* MobileNetV2: inverted residuals, that is expand by 1x1, filter each channel by itself, project by 1x1. */
#include "model/zoo.h"

/* Three modules NAME.0, NAME.1, NAME.2. */
static pct_value conv_bn_relu6(pcti_net *net, pct_value x, pcti_conv_spec conv, const char *name)
{
    size_t scope = pcti_net_enter(net, "%s", name);
    x = pcti_net_conv(net, x, conv, "0");
    x = pcti_net_batch_norm(net, x, 0, "1");
    x = pcti_net_relu6(net, x, "2");
    pcti_net_leave(net, scope);
    return x;
}

static pct_value inverted_residual(pcti_net *net, pct_value src, int64_t expand, int64_t out, int64_t stride)
{
    int64_t in = pcti_net_channels(net, src), hidden = in * expand;
    pct_value x = src;
    size_t scope = pcti_net_enter(net, "conv");
    if (expand != 1) x = conv_bn_relu6(net, x, (pcti_conv_spec){.out = hidden, .kernel = 1}, "0");
    pcti_conv_spec depthwise = {.out = hidden, .kernel = 3, .stride = stride, .pad = 1, .groups = hidden};
    x = conv_bn_relu6(net, x, depthwise, expand == 1 ? "0" : "1");
    x = pcti_net_conv(net, x, (pcti_conv_spec){.out = out, .kernel = 1}, expand == 1 ? "1" : "2");
    x = pcti_net_batch_norm(net, x, 0, expand == 1 ? "2" : "3");
    pcti_net_leave(net, scope);
    return stride == 1 && in == out ? pcti_net_add(net, src, x, "add") : x;
}

pct_value pcti_zoo_mobilenet_v2(pcti_net *net, pct_value x, int variant)
{
    static const struct {
        int expand, out, repeats, stride;
    } stages[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                  {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
    int index = 1;
    size_t features = pcti_net_enter(net, "features");
    x = conv_bn_relu6(net, x, (pcti_conv_spec){.out = 32, .kernel = 3, .stride = 2, .pad = 1}, "0");
    for (size_t s = 0; s < sizeof stages / sizeof stages[0]; s++)
        for (int i = 0; i < stages[s].repeats; i++) {
            size_t scope = pcti_net_enter(net, "%d", index++);
            x = inverted_residual(net, x, stages[s].expand, stages[s].out, i ? 1 : stages[s].stride);
            pcti_net_leave(net, scope);
        }
    x = conv_bn_relu6(net, x, (pcti_conv_spec){.out = 1280, .kernel = 1}, "18");
    pcti_net_leave(net, features);

    x = pcti_net_global_average(net, x, "avgpool");
    x = pcti_net_flatten(net, x, "flatten");
    x = pcti_net_dropout(net, x, 0.2, "classifier.0");
    return pcti_net_linear(net, x, net->classes, "classifier.1");
}
