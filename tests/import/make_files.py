"""Writes the PyTorch files in data/ beside this script; the tests hold the values that they must give.

usage: python make_files.py          needs: torch
Element i of every floating point tensor is i/4 - 1, of an integer one i - 3, of a boolean one i % 3 == 0, so that all types
hold their values exactly.
"""
import collections, os, torch

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data")


def ramp(dtype, *shape):
    n = torch.arange(torch.Size(shape).numel())
    if dtype == torch.bool:
        return (n % 3 == 0).reshape(shape)
    return (n / 4 - 1 if dtype.is_floating_point else n - 3).to(dtype).reshape(shape)


class Small(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(2, 3, 2)
        self.bn = torch.nn.BatchNorm2d(3)


def state_dict():
    torch.manual_seed(0)
    state = Small().state_dict()  # an OrderedDict with _metadata
    for value in state.values():
        value.copy_(ramp(value.dtype, *value.shape))
    return state


def views():
    base = ramp(torch.float32, 4, 6)
    return {
        "base": base,
        "transposed": base.t(),
        "columns": base[:, 1:6:2],
        "row": base[2],
        "corner": base[3, 5],
        "expanded": base[1:2].expand(3, 6),
        "channels_last": ramp(torch.float32, 2, 3, 2, 2).contiguous(memory_format=torch.channels_last),
        "empty": torch.zeros(0, 3),
        "parameter": torch.nn.Parameter(ramp(torch.float32, 2, 2)),
    }


def dtypes():
    names = "float32 float64 float16 bfloat16 int64 int32 int16 int8 uint8 bool".split()
    return {name: ramp(getattr(torch, name), 2, 5) for name in names}


class Global:
    """Pickles as a call of any function, as an attacker would."""

    def __init__(self, function, *args):
        self.reduced = (function, args)

    def __reduce__(self):
        return self.reduced


def save(name, value, **options):
    for suffix, new in (("old", False), ("zip", True)):
        torch.save(value, os.path.join(DATA, f"{name}.{suffix}.pth"), _use_new_zipfile_serialization=new, **options)


os.makedirs(DATA, exist_ok=True)
save("state", state_dict())
save("views", views())
save("dtypes", dtypes())
save("protocol4", {"w": ramp(torch.float32, 2, 3)}, pickle_protocol=4)
inner = collections.OrderedDict(w=ramp(torch.float32, 2, 3), b=ramp(torch.float64, 3))
momenta = {"state": {0: {"exp_avg": ramp(torch.float32, 4)}}, "param_groups": [{"lr": 1e-3, "params": [0], "betas": (0.9, 0.999)}]}
save("checkpoint", {"epoch": 3, "loss": 0.5, "big": 2**80, "state_dict": inner, "optimizer": momenta})
save("two_models", {"model": inner, "ema": {"w": ramp(torch.float32, 2)}})
save("evil_system", {"w": ramp(torch.float32, 2), "x": Global(os.system, "exit 1")})
save("evil_eval", {"x": Global(eval, "1 + 1")})
