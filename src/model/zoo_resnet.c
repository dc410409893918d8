/* ResNet: blocks of two or three convolutions whose result is added to their input. */
#include "model/zoo.h"

static pct_value conv_bn(pcti_net *net, pct_value x, pcti_conv_spec conv, int number)
{
    x = pcti_net_conv(net, x, conv, "conv%d", number);
    return pcti_net_batch_norm(net, x, 0, "bn%d", number);
}

/* One activation module serves the whole block in torchvision; its later uses are numbered. */
static pct_value residual_block(pcti_net *net, pct_value x, int64_t width, int64_t stride, bool bottleneck)
{
    int64_t out = bottleneck ? 4 * width : width;
    pct_value identity = x;
    if (bottleneck) {
        x = conv_bn(net, x, (pcti_conv_spec){.out = width, .kernel = 1}, 1);
        x = pcti_net_relu(net, x, "relu");
        x = conv_bn(net, x, (pcti_conv_spec){.out = width, .kernel = 3, .stride = stride, .pad = 1}, 2);
        x = pcti_net_relu(net, x, "relu_1");
        x = conv_bn(net, x, (pcti_conv_spec){.out = out, .kernel = 1}, 3);
    } else {
        x = conv_bn(net, x, (pcti_conv_spec){.out = width, .kernel = 3, .stride = stride, .pad = 1}, 1);
        x = pcti_net_relu(net, x, "relu");
        x = conv_bn(net, x, (pcti_conv_spec){.out = out, .kernel = 3, .pad = 1}, 2);
    }
    if (stride != 1 || pcti_net_channels(net, identity) != out) {
        identity =
            pcti_net_conv(net, identity, (pcti_conv_spec){.out = out, .kernel = 1, .stride = stride}, "downsample.0");
        identity = pcti_net_batch_norm(net, identity, 0, "downsample.1");
    }
    x = pcti_net_add(net, x, identity, "add");
    return pcti_net_relu(net, x, bottleneck ? "relu_2" : "relu_1");
}

pct_value pcti_zoo_resnet(pcti_net *net, pct_value x, int variant)
{
    static const struct {
        int layers, blocks[4];
        bool bottleneck;
    } table[] = {{18, {2, 2, 2, 2}, false}, {34, {3, 4, 6, 3}, false}, {50, {3, 4, 6, 3}, true}};
    int row = 0;
    while (table[row].layers != variant) row++;

    x = pcti_net_conv(net, x, (pcti_conv_spec){.out = 64, .kernel = 7, .stride = 2, .pad = 3}, "conv1");
    x = pcti_net_batch_norm(net, x, 0, "bn1");
    x = pcti_net_relu(net, x, "relu");
    x = pcti_net_max_pool(net, x, (pcti_pool_spec){.kernel = 3, .stride = 2, .pad = 1}, "maxpool");
    for (int stage = 0; stage < 4; stage++)
        for (int block = 0; block < table[row].blocks[stage]; block++) {
            size_t scope = pcti_net_enter(net, "layer%d.%d", stage + 1, block);
            x = residual_block(net, x, 64 << stage, stage && !block ? 2 : 1, table[row].bottleneck);
            pcti_net_leave(net, scope);
        }
    x = pcti_net_global_average(net, x, "avgpool");
    x = pcti_net_flatten(net, x, "flatten");
    return pcti_net_linear(net, x, net->classes, "fc");
}
