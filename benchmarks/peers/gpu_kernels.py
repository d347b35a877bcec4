#!/usr/bin/env python3
"""Which kernels a run of Vernier, or of torch, spends its time in on a GPU: gpu_kernels.py FOLDER [--networks vit_b16 …] [--batch 8] [--torch]

FOLDER has the skeletons with their weights, as for gpu_table.py. Engines are built in fp16, and inputs and outputs lie on the GPU. Prints, for each
network, the time of a run, and of the kernels that CUPTI sees in it by name, in microseconds a run; with --torch also those of torch.compile.
Needs the package vernier_engine and torch with CUDA.
"""
import argparse
import collections
import pathlib
import re
import time

import numpy as np
import onnx
import torch
import vernier_engine as vn

from torch_cuda import NETWORKS

RUNS, LENGTH = 50, 128  # LENGTH: of a text, where the model leaves it open


def ours(model, batch):
    shapes = {}
    for value in onnx.load(model, load_external_data=False).graph.input:
        sizes = [dim.dim_value or LENGTH for dim in value.type.tensor_type.shape.dim]
        shapes[value.name] = [batch, *sizes[1:]]
    session = vn.Session(vn.build(str(model), cuda=True, fp16=True, verify=False, opt_shapes=shapes))
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


def theirs(network, batch):
    compiled = torch.compile(NETWORKS[network]().eval().cuda().half(), mode="reduce-overhead")
    given = torch.randint(0, 1000, (batch, LENGTH)).cuda() if network == "bert_base" else torch.randn(batch, 3, 224, 224).cuda().half()

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
    parser.add_argument("--torch", action="store_true")
    arguments = parser.parse_args()
    for network in arguments.networks:
        tell(f"{network} batch {arguments.batch}, Vernier", ours(arguments.folder / f"{network}.ts/model.onnx", arguments.batch))
        if arguments.torch:
            tell(f"{network} batch {arguments.batch}, torch.compile", theirs(network, arguments.batch))


if __name__ == "__main__":
    main()
