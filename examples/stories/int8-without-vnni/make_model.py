"""Writes model.onnx, two layers in int8 as dynamic quantization makes them, seven-bits.onnx, the same with weights in
seven bits (reduce_range=True), and data.npz.
"""
import pathlib
import sys

import numpy as np
from onnx import TensorProto

sys.path.insert(0, str(pathlib.Path(__file__).absolute().parents[1]))

from building import Builder  # noqa: E402

WIDTHS = (256, 128, 32)


def layers(largest: int) -> Builder:
    """Weights are integers from -largest to largest."""
    net, x = Builder(seed=12), "x"
    for i, (wide, narrow) in enumerate(zip(WIDTHS, WIDTHS[1:])):
        weights = net.random.uniform(-1, 1, (wide, narrow))
        scale = np.abs(weights).max() / largest
        codes = net.weight(f"w_{i}", np.rint(weights / scale).astype(np.int8))
        net.op("DynamicQuantizeLinear", x, makes=f"x_{i} x_{i}_scale x_{i}_zero")
        net.op("MatMulInteger", f"x_{i}", codes, f"x_{i}_zero", makes=f"sums_{i}")
        net.op("Cast", f"sums_{i}", makes=f"sums_{i}_float", to=TensorProto.FLOAT)
        net.op("Mul", f"x_{i}_scale", net.weight(f"w_{i}_scale", np.float32(scale)), makes=f"scale_{i}")
        net.op("Mul", f"sums_{i}_float", f"scale_{i}", makes=f"product_{i}")
        bias = net.normal(f"b_{i}", (narrow,), 1)
        net.op("Add", f"product_{i}", bias, makes=f"layer_{i}")
        x = net.op("Relu", f"layer_{i}", makes=f"relu_{i}")
    net.nodes.pop()
    return net


for file, largest in (("model.onnx", 127), ("seven-bits.onnx", 63)):
    layers(largest).save(file, {"x": [8, WIDTHS[0]]}, {"layer_1": [8, WIDTHS[-1]]})
np.savez("data.npz", x=np.random.default_rng(13).uniform(0, 1, (8, WIDTHS[0])).astype(np.float32))
