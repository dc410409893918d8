#!/usr/bin/env python3
"""Times one other runtime on one network and prints one JSON line, for tools/compare_peers.sh.

usage: peer.py RUNTIME MODEL --batch N --threads N --runs N --models FOLDER
RUNTIME: onnxruntime, openvino, ncnn, torch; each is held to float32. The networks are torchvision's with random weights
(speed does not depend on them); batch-norm statistics come from one batch, so that nothing overflows or is denormal.
Exported files are kept in FOLDER."""
import argparse, json, os, statistics, sys, time

import numpy as np


def make_torch(name, size):
    import torch, torchvision
    torch.manual_seed(0)
    model = getattr(torchvision.models, name)(weights=None)
    norms = [m for m in model.modules() if isinstance(m, torch.nn.BatchNorm2d)]
    for norm in norms:
        norm.momentum = None
    model.train()
    with torch.no_grad():
        if norms:
            model(torch.randn(4, 3, size, size))
    return model.eval()


def onnx_file(args):
    path = os.path.join(args.models, f"{args.model}.{args.size}.onnx")
    if not os.path.exists(path):
        import torch
        torch.onnx.export(make_torch(args.model, args.size), (torch.randn(2, 3, args.size, args.size),), path + ".part",
                          input_names=["x"], output_names=["y"], dynamic_axes={"x": {0: "n"}, "y": {0: "n"}}, dynamo=False)
        os.replace(path + ".part", path)
    return path


def onnxruntime(args, x):
    import onnxruntime as ort
    options = ort.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = args.threads, 1
    session = ort.InferenceSession(onnx_file(args), options, providers=["CPUExecutionProvider"])
    return ort.__version__, lambda: session.run(None, {"x": x})


def openvino(args, x):
    import openvino as ov
    core = ov.Core()
    model = core.read_model(onnx_file(args))
    model.reshape(list(x.shape))
    request = core.compile_model(model, "CPU", {"INFERENCE_NUM_THREADS": args.threads, "NUM_STREAMS": 1,
                                                "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"}).create_infer_request()
    request.set_input_tensor(ov.Tensor(x))
    return ov.__version__.split("-")[0], request.infer


def ncnn(args, x):
    import ncnn as runtime
    stem = os.path.join(args.models, f"{args.model}.{args.size}")
    if not os.path.exists(stem + ".ncnn.param"):
        import pnnx, torch
        pnnx.export(make_torch(args.model, args.size), stem + ".pt", (torch.randn(1, 3, args.size, args.size),), fp16=False)
    net = runtime.Net()
    net.opt.num_threads, net.opt.use_vulkan_compute = args.threads, False
    for flag in dir(net.opt):
        if "fp16" in flag or "bf16" in flag or "int8" in flag:
            setattr(net.opt, flag, False)
    if net.load_param(stem + ".ncnn.param") or net.load_model(stem + ".ncnn.bin"):
        sys.exit("ncnn cannot load " + stem)
    first, last = net.input_names()[0], net.output_names()[0]

    def run():  # ncnn has no batch dimension
        for picture in x:
            extractor = net.create_extractor()
            extractor.input(first, runtime.Mat(picture))
            extractor.extract(last)
    return runtime.__version__, run


def torch(args, x):
    import torch as runtime
    runtime.set_num_threads(args.threads)
    best = None
    for layout in (runtime.contiguous_format, runtime.channels_last):  # its faster layout
        model = make_torch(args.model, args.size).to(memory_format=layout)
        data = runtime.from_numpy(x).contiguous(memory_format=layout)

        def run(model=model, data=data):
            with runtime.inference_mode():
                model(data)
        run()
        start = time.perf_counter()
        run()
        seconds = time.perf_counter() - start
        if best is None or seconds < best[0]:
            best = (seconds, run)
    return runtime.__version__, best[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runtime", choices=["onnxruntime", "openvino", "ncnn", "torch"])
    parser.add_argument("model")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--models", default="models")
    args = parser.parse_args()
    os.makedirs(args.models, exist_ok=True)
    x = np.random.default_rng(1).standard_normal((args.batch, 3, args.size, args.size), dtype=np.float32)
    version, run = globals()[args.runtime](args, x)
    for _ in range(3):
        run()
    times = []
    for _ in range(args.runs):
        start = time.perf_counter()
        run()
        times.append((time.perf_counter() - start) * 1e3)
    with open("/proc/self/status") as status:
        peak = next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))
    print(json.dumps({"runtime": args.runtime, "version": version, "model": args.model, "batch": args.batch,
                      "threads": args.threads, "ms": statistics.median(times), "min_ms": min(times), "peak_memory_bytes": peak}))


if __name__ == "__main__":
    main()
