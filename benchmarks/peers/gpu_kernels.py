#!/usr/bin/env python3
"""Which kernels a run of Vernier, or of torch, spends its time in on a GPU: gpu_kernels.py FOLDER [--networks vit_b16 …] [--batch 8] [--precision fp16] [--torch]

FOLDER has the skeletons with their weights, as for gpu_table.py. Inputs and outputs lie on the GPU. Prints, for each
network, the time of a run, and of the kernels that CUPTI sees in it by name, in microseconds a run; with --torch also those of torch.compile.
Needs the package vernier_engine and torch with CUDA.
"""
import argparse
import collections
import pathlib
import re
import time

import numpy as np
import torch
import vernier_engine as vn

from gpu_table import TORCH_NAMES, shapes_of
from torch_cuda import NETWORKS

RUNS, LENGTH = 50, 128  # LENGTH: of a text


def ours(model, network, batch, precision):
    named = (each.split(":") for each in shapes_of(network, batch).split(","))
    shapes = {name: [int(size) for size in sizes.split("x")] for name, sizes in named}
    session = vn.Session(vn.build(str(model), cuda=True, verify=False, opt_shapes=shapes, **({} if precision == "fp32" else {precision: True})))
    draw = np.random.default_rng(1)
    inputs = {}
    for each in session.inputs:
        shape = shapes[each.name]
        array = draw.standard_normal(shape).astype(each.dtype) if each.dtype.kind == "f" else draw.integers(0, 2, shape).astype(each.dtype)
        inputs[each.name] = torch.from_numpy(array).cuda()
    outputs = {name: torch.from_numpy(np.array(value)).cuda() for name, value in session(inputs).items()}
    for name, tensor in (*inputs.items(), *outputs.items()):
        session.bind(name, tensor)
    return lambda: (session(), session.synchronize())


def theirs(network, batch, precision):
    dtype = getattr(torch, TORCH_NAMES[precision])
    compiled = torch.compile(NETWORKS[network]().eval().cuda().to(dtype), mode="reduce-overhead")
    given = torch.randint(0, 1000, (batch, LENGTH)).cuda() if network == "bert_base" else torch.randn(batch, 3, 224, 224).cuda().to(dtype)

    def run():
        with torch.inference_mode():
            compiled(given)
            torch.cuda.synchronize()

    return run


def tell(title, run):
    for _ in range(10):
        run()
    began = time.perf_counter()
    for _ in range(RUNS):
        run()
    wall = (time.perf_counter() - began) / RUNS
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        for _ in range(RUNS):
            run()
    times, counts = collections.Counter(), collections.Counter()
    for event in profile.events():
        name = re.sub(r"<.*", "", event.name)[:60]
        times[name] += event.device_time / RUNS
        counts[name] += 1
    print(f"{title}: {1e3 * wall:.3f} ms a run, kernels {sum(times.values()) / 1e3:.3f} ms", flush=True)
    for name, microseconds in times.most_common(12):
        print(f"  {microseconds:8.1f}  {counts[name] / RUNS:5.0f} x {name}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--networks", nargs="+", default=["vit_b16", "bert_base"], choices=NETWORKS)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--precision", default="fp16", choices=TORCH_NAMES)
    parser.add_argument("--torch", action="store_true")
    arguments = parser.parse_args()
    for network in arguments.networks:
        title = f"{network} {arguments.precision} batch {arguments.batch}"
        tell(f"{title}, Vernier", ours(arguments.folder / f"{network}.ts/model.onnx", network, arguments.batch, arguments.precision))
        if arguments.torch:
            tell(f"{title}, torch.compile", theirs(network, arguments.batch, arguments.precision))


if __name__ == "__main__":
    main()
