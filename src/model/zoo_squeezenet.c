/* SqueezeNet 1.1: "fire" modules squeeze the channels by 1x1 and expand them by 1x1 and 3x3 side by side. */
#include "model/zoo.h"

static pct_value fire(pcti_net *net, pct_value x, int64_t squeeze, int64_t expand)
{
    x = pcti_net_conv(net, x, (pcti_conv_spec){.out = squeeze, .kernel = 1, .bias = true}, "squeeze");
    x = pcti_net_relu(net, x, "squeeze_activation");
    pct_value one = pcti_net_conv(net, x, (pcti_conv_spec){.out = expand, .kernel = 1, .bias = true}, "expand1x1");
    one = pcti_net_relu(net, one, "expand1x1_activation");
    pct_value three =
        pcti_net_conv(net, x, (pcti_conv_spec){.out = expand, .kernel = 3, .pad = 1, .bias = true}, "expand3x3");
    three = pcti_net_relu(net, three, "expand3x3_activation");
    return pcti_net_concat(net, one, three, "cat");
}

pct_value pcti_zoo_squeezenet(pcti_net *net, pct_value x, int variant)
{
    static const struct {
        int squeeze, expand; /* squeeze 0: a maximum over 3x3 in place of a fire module */
    } modules[] = {{0, 0}, {16, 64},  {16, 64},  {0, 0},    {32, 128}, {32, 128},
                   {0, 0}, {48, 192}, {48, 192}, {64, 256}, {64, 256}};
    size_t features = pcti_net_enter(net, "features");
    x = pcti_net_conv(net, x, (pcti_conv_spec){.out = 64, .kernel = 3, .stride = 2, .bias = true}, "0");
    x = pcti_net_relu(net, x, "1");
    for (int i = 0; i < (int)(sizeof modules / sizeof modules[0]); i++) {
        if (!modules[i].squeeze) {
            x = pcti_net_max_pool(net, x, (pcti_pool_spec){.kernel = 3, .stride = 2, .ceil = true}, "%d", i + 2);
            continue;
        }
        size_t scope = pcti_net_enter(net, "%d", i + 2);
        x = fire(net, x, modules[i].squeeze, modules[i].expand);
        pcti_net_leave(net, scope);
    }
    pcti_net_leave(net, features);

    size_t classifier = pcti_net_enter(net, "classifier");
    x = pcti_net_dropout(net, x, 0.5, "0");
    x = pcti_net_conv(net, x, (pcti_conv_spec){.out = net->classes, .kernel = 1, .bias = true}, "1");
    x = pcti_net_relu(net, x, "2");
    x = pcti_net_global_average(net, x, "3");
    pcti_net_leave(net, classifier);
    return pcti_net_flatten(net, x, "flatten");
}
