#!/usr/bin/env python3
"""How long ONNX Runtime's CUDA provider takes for a model: onnxruntime_cuda.py MODEL [--precisions float32 …] [--shapes input:8x3x224x224]

Inputs come from the host and the outputs go back, as in `vernier bench`: by `run`, as people call it, and with a captured graph on bound
memory. TF32 is switched off. In float16 the model is what onnxruntime.transformers.float16 makes of it, with inputs and outputs in float32.
Prints the median and the 95th percentile in ms: a line for each precision and way.
"""
import argparse
import pathlib
import tempfile

import numpy as np
import onnx
import torch  # brings CUDA's libraries
import onnxruntime
from onnxruntime.transformers.float16 import convert_float_to_float16

from torch_cuda import measured

TYPES = {"tensor(float)": np.float32, "tensor(int64)": np.int64, "tensor(int32)": np.int32}


def fixed_sizes(model, shapes):
    """The model with these sizes of its inputs, which a captured graph needs, and its nodes' types and sizes deduced again."""
    for value in model.graph.input:
        for dim, size in zip(value.type.tensor_type.shape.dim, shapes.get(value.name, ())):
            dim.dim_value = size
    del model.graph.value_info[:]
    for value in model.graph.output:
        value.type.tensor_type.ClearField("shape")
    return model


def drawn(given, draw):
    kind = TYPES[given.type]
    return draw.standard_normal(given.shape).astype(kind) if kind == np.float32 else draw.integers(0, 1000, given.shape).astype(kind)


def session_on_gpu(path, **options):
    session = onnxruntime.InferenceSession(path, providers=[("CUDAExecutionProvider", {"use_tf32": "0", **options})])
    if session.get_providers()[0] != "CUDAExecutionProvider":
        raise RuntimeError("the CUDA provider does not load, and the CPU would be timed")
    return session


def by_run(path):
    session = session_on_gpu(path)
    inputs = {each.name: drawn(each, np.random.default_rng(1)) for each in session.get_inputs()}
    return lambda: session.run(None, inputs)


def by_graph(path):
    session = session_on_gpu(path, enable_cuda_graph="1")
    binding, inputs = session.io_binding(), []
    for each in session.get_inputs():
        array = drawn(each, np.random.default_rng(1))
        inputs.append((onnxruntime.OrtValue.ortvalue_from_numpy(array, "cuda", 0), array))
        binding.bind_ortvalue_input(each.name, inputs[-1][0])
    sizes = [array.shape for array in by_run(path)()]
    outputs = []
    for each, size in zip(session.get_outputs(), sizes):
        outputs.append(onnxruntime.OrtValue.ortvalue_from_shape_and_type(size, TYPES[each.type], "cuda", 0))
        binding.bind_ortvalue_output(each.name, outputs[-1])

    def run():
        for there, array in inputs:
            there.update_inplace(array)
        session.run_with_iobinding(binding)
        return [output.numpy() for output in outputs]

    return run


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("--precisions", nargs="+", default=["float32", "float16"], choices=["float32", "float16"])
    parser.add_argument("--shapes", default="", help="of inputs, NAME:SIZExSIZE,…")
    parser.add_argument("--seconds", type=float, default=1)
    arguments = parser.parse_args()
    shapes = {name: [int(size) for size in sizes.split("x")] for name, sizes in (each.split(":") for each in arguments.shapes.split(",") if each)}
    onnxruntime.set_default_logger_severity(3)
    print(f"ONNX Runtime {onnxruntime.__version__}, {torch.cuda.get_device_name()}")
    for precision in arguments.precisions:
        model = fixed_sizes(onnx.load(arguments.model), shapes)
        if precision == "float16":
            model = convert_float_to_float16(model, keep_io_types=True)
        with tempfile.TemporaryDirectory() as folder:
            path = str(pathlib.Path(folder) / "model.onnx")
            onnx.save(model, path, save_as_external_data=True)
            for way, prepare in (("run", by_run), ("graph", by_graph)):
                try:
                    median, late = measured(prepare(path), arguments.seconds)
                    print(f"{precision} {way}: {median:.3f} ms, p95 {late:.3f}", flush=True)
                except Exception as error:
                    print(f"{precision} {way}: fails, {str(error).splitlines()[0][:200]}", flush=True)


if __name__ == "__main__":
    main()
