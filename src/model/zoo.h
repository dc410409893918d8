/* The networks there are. A builder takes pictures (N,3,H,W) and gives logits (N, net->classes). */
#ifndef PCTI_MODEL_ZOO_H
#define PCTI_MODEL_ZOO_H

#include "model/layers.h"

typedef pct_value (*pcti_zoo_build)(pcti_net *net, pct_value src, int variant);

/* Simonyan, Zisserman 2014. Variant: number of weight layers 11, 13, 16, 19; plus 100 with batch-norm. */
enum { PCTI_VGG_BN = 100 };
pct_value pcti_zoo_vgg(pcti_net *net, pct_value src, int variant);
/* Huang et al. 2016. Variant 121, 169, 201. */
pct_value pcti_zoo_densenet(pcti_net *net, pct_value src, int variant);
/* He et al. 2015, the stride of a bottleneck in its 3x3 convolution as torchvision has it. Variant 18,
 * 34, 50. */
pct_value pcti_zoo_resnet(pcti_net *net, pct_value src, int variant);
/* Sandler et al. 2018. */
pct_value pcti_zoo_mobilenet_v2(pcti_net *net, pct_value src, int variant);
/* Iandola et al. 2016, version 1.1 of its authors. */
pct_value pcti_zoo_squeezenet(pcti_net *net, pct_value src, int variant);
/* EfficientNet (Tan, Le 2019) without squeeze-and-excitation and with ReLU6: TensorFlow's Lite0. */
pct_value pcti_zoo_efficientnet_lite0(pcti_net *net, pct_value src, int variant);

#endif
