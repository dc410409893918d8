"""Writes what test_zoo.c and test_synthetic.c compare with: parameter lists and values, from torchvision and NumPy.

usage: python make_expected.py [EFFICIENTNET_LITE0.safetensors]      needs: torch torchvision safetensors numpy

data/NAME.txt holds a network's state_dict, one "name d0xd1x..." a line, num_batches_tracked left out. Of the DenseNets,
whose lists are long, only the number of tensors and a hash of the sorted list are printed, for the table in test_zoo.c.
The values of synthetic parameters, printed as their bits, are those of the recipe for PyTorch's float32.
"""
import math, os, sys
import numpy as np, torch, torchvision
from safetensors import safe_open

HERE = os.path.dirname(os.path.abspath(__file__))
LISTED = ("vgg11 vgg11_bn vgg13 vgg13_bn vgg16 vgg16_bn vgg19 vgg19_bn resnet18 resnet34 resnet50 mobilenet_v2 "
          "squeezenet1_1").split()
HASHED = "densenet121 densenet169 densenet201".split()


def fnv1a64(text):
    h = 0xCBF29CE484222325
    for byte in text.encode():
        h = ((h ^ byte) * 0x100000001B3) & (2**64 - 1)
    return h


def lines(tensors):
    return [f"{name} {'x'.join(map(str, shape))}\n" for name, shape in tensors if not name.endswith("num_batches_tracked")]


def state_dict(name):
    with torch.device("meta"):
        model = getattr(torchvision.models, name)(weights=None)
    return lines((k, tuple(v.shape)) for k, v in model.state_dict().items())


def write(name, content):
    with open(f"{HERE}/data/{name}.txt", "w") as file:
        file.writelines(content)


def uniform(name, index, bound=1.0):
    mask = 2**64 - 1
    z = (fnv1a64(name) + index + 0x9E3779B97F4A7C15) & mask
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
    u = float((z ^ (z >> 31)) >> 40)
    return torch.tensor((u / 2**23 - 1) * bound, dtype=torch.float64).float()


def show(name, index, value):
    print(f'    {{"{name}", {index}, 0x{value.view(torch.int32).item() & 0xFFFFFFFF:08x}}}, /* {value.item():.9g} */')


if __name__ == "__main__":
    for name in LISTED:
        write(name, state_dict(name))
    if len(sys.argv) > 1:
        with safe_open(sys.argv[1], "pt") as file:
            write("efficientnet_lite0", lines((k, file.get_slice(k).get_shape()) for k in file.keys()))
    for name in HASHED:
        content = state_dict(name)
        print(f'    {{"{name}", {len(content)}, 0x{fnv1a64("".join(sorted(content))):016x}}},')
    print("mobilenet_v2:")
    for index in (0, 1, 255, 256, 863):
        show("features.0.0.weight", index, uniform("features.0.0.weight", index, math.sqrt(6 / 27)))
    for index in (0, 1279999):
        show("classifier.1.weight", index, uniform("classifier.1.weight", index, math.sqrt(6 / 1280)))
    for index in (0, 999):
        show("classifier.1.bias", index, uniform("classifier.1.bias", index, 0.1))
    for leaf, form in (("weight", lambda w: 1 + 0.1 * w), ("bias", lambda w: 0.1 * w),
                       ("running_mean", lambda w: 0.1 * w), ("running_var", lambda w: 1 + 0.5 * w.abs())):
        for index in (0, 31):
            show(f"features.0.1.{leaf}", index, form(uniform(f"features.0.1.{leaf}", index)))
    print("input:")
    for index in (0, 1, 150527, 2**40):
        show("input", index, uniform("input", index))
