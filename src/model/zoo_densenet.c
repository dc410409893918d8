/* DenseNet: each layer sees the concatenated results of all layers before it in its block. */
#include "model/zoo.h"

enum { GROWTH = 32, BOTTLENECK = 4 * GROWTH };

/* The concat is built layer by layer, so that a plan can keep it in one buffer into which each layer writes
 * its range. */
static pct_value dense_layer(pcti_net *net, pct_value features)
{
    pct_value x = pcti_net_batch_norm(net, features, 0, "norm1");
    x = pcti_net_relu(net, x, "relu1");
    x = pcti_net_conv(net, x, (pcti_conv_spec){.out = BOTTLENECK, .kernel = 1}, "conv1");
    x = pcti_net_batch_norm(net, x, 0, "norm2");
    x = pcti_net_relu(net, x, "relu2");
    x = pcti_net_conv(net, x, (pcti_conv_spec){.out = GROWTH, .kernel = 3, .pad = 1}, "conv2");
    return pcti_net_concat(net, features, x, "cat");
}

static pct_value transition(pcti_net *net, pct_value x)
{
    int64_t channels = pcti_net_channels(net, x);
    x = pcti_net_batch_norm(net, x, 0, "norm");
    x = pcti_net_relu(net, x, "relu");
    x = pcti_net_conv(net, x, (pcti_conv_spec){.out = channels / 2, .kernel = 1}, "conv");
    return pcti_net_average_pool(net, x, (pcti_pool_spec){.kernel = 2, .stride = 2}, "pool");
}

pct_value pcti_zoo_densenet(pcti_net *net, pct_value x, int variant)
{
    static const struct {
        int layers, blocks[4];
    } table[] = {{121, {6, 12, 24, 16}}, {169, {6, 12, 32, 32}}, {201, {6, 12, 48, 32}}};
    int row = 0;
    while (table[row].layers != variant) row++;

    size_t features = pcti_net_enter(net, "features");
    x = pcti_net_conv(net, x, (pcti_conv_spec){.out = 64, .kernel = 7, .stride = 2, .pad = 3}, "conv0");
    x = pcti_net_batch_norm(net, x, 0, "norm0");
    x = pcti_net_relu(net, x, "relu0");
    x = pcti_net_max_pool(net, x, (pcti_pool_spec){.kernel = 3, .stride = 2, .pad = 1}, "pool0");
    for (int block = 0; block < 4; block++) {
        for (int layer = 0; layer < table[row].blocks[block]; layer++) {
            size_t scope = pcti_net_enter(net, "denseblock%d.denselayer%d", block + 1, layer + 1);
            x = dense_layer(net, x);
            pcti_net_leave(net, scope);
        }
        if (block == 3) break;
        size_t scope = pcti_net_enter(net, "transition%d", block + 1);
        x = transition(net, x);
        pcti_net_leave(net, scope);
    }
    x = pcti_net_batch_norm(net, x, 0, "norm5");
    pcti_net_leave(net, features);

    x = pcti_net_relu(net, x, "relu");
    x = pcti_net_global_average(net, x, "avgpool");
    x = pcti_net_flatten(net, x, "flatten");
    return pcti_net_linear(net, x, net->classes, "classifier");
}
