/* VGG: 3x3 convolutions in five stages, each ended by a 2x2 maximum; three dense layers. */
#include "model/zoo.h"

pct_value pcti_zoo_vgg(pcti_net *net, pct_value x, int variant)
{
    /* 3x3 convolutions in each stage of 64, 128, 256, 512 and 512 channels */
    static const struct {
        int layers, convs[5];
    } table[] = {{11, {1, 1, 2, 2, 2}}, {13, {2, 2, 2, 2, 2}}, {16, {2, 2, 3, 3, 3}}, {19, {2, 2, 4, 4, 4}}};
    static const int channels[5] = {64, 128, 256, 512, 512};
    int row = 0, index = 0;
    while (table[row].layers != variant % PCTI_VGG_BN) row++;

    size_t scope = pcti_net_enter(net, "features");
    for (int stage = 0; stage < 5; stage++) {
        for (int i = 0; i < table[row].convs[stage]; i++) {
            x = pcti_net_conv(net, x, (pcti_conv_spec){.out = channels[stage], .kernel = 3, .pad = 1, .bias = true},
                              "%d", index++);
            if (variant > PCTI_VGG_BN) x = pcti_net_batch_norm(net, x, 0, "%d", index++);
            x = pcti_net_relu(net, x, "%d", index++);
        }
        x = pcti_net_max_pool(net, x, (pcti_pool_spec){.kernel = 2, .stride = 2}, "%d", index++);
    }
    pcti_net_leave(net, scope);

    x = pcti_net_adaptive_average(net, x, 7, "avgpool");
    x = pcti_net_flatten(net, x, "flatten");
    scope = pcti_net_enter(net, "classifier");
    for (int i = 0; i < 2; i++) {
        x = pcti_net_linear(net, x, 4096, "%d", 3 * i);
        x = pcti_net_relu(net, x, "%d", 3 * i + 1);
        x = pcti_net_dropout(net, x, 0.5, "%d", 3 * i + 2);
    }
    x = pcti_net_linear(net, x, net->classes, "6");
    pcti_net_leave(net, scope);
    return x;
}
