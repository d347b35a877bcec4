"""Writes three blocks of [normalisation by the length of each row, MatMul, residual] as fp32.onnx, as fp16.onnx, all
of it in fp16, and as mixed.onnx, in which the normalisation is computed in fp32 between Casts; and data.npz: of 32
rows some are loud (sigma 15), and some are silence (zero).
"""
import pathlib
import sys

import numpy as np
from onnx import TensorProto

sys.path.insert(0, str(pathlib.Path(__file__).absolute().parents[1]))

from building import Builder  # noqa: E402

ROWS, WIDTH, BLOCKS = 32, 384, 3
FLOAT, HALF = TensorProto.FLOAT, TensorProto.FLOAT16


def blocks(weights_in, norm_in) -> Builder:
    net = Builder(seed=5)
    is_half = weights_in == HALF
    of_norm = np.float16 if norm_in == HALF else np.float32
    of_rest = np.float16 if is_half else np.float32
    islands = weights_in != norm_in
    x = net.op("Cast", "x", makes="x_half", to=HALF) if is_half else "x"
    for i in range(BLOCKS):
        name = lambda what: f"layers.{i}/norm/{what}"
        two, half = net.weight(name("two"), of_norm(2)), net.weight(name("half"), of_norm(0.5))
        least = net.weight(name("least"), np.asarray(1e-12, np.float32).astype(of_norm))
        given = net.op("Cast", x, makes=name("Pow_input_cast0"), to=FLOAT) if islands else x
        net.op("Pow", given, two, makes=name("Pow"))
        net.op("ReduceSum", name("Pow"), net.weight(name("axis"), [-1]), makes=name("ReduceSum"), keepdims=1)
        net.op("Pow", name("ReduceSum"), half, makes=name("Pow_1"))
        net.op("Clip", name("Pow_1"), least, makes=name("Clip"))
        net.op("Shape", given, makes=name("Shape"))
        net.op("Expand", name("Clip"), name("Shape"), makes=name("Expand"))
        normal = net.op("Div", given, name("Expand"), makes=name("Div"))
        if islands:
            normal = net.op("Cast", normal, makes=name("Div_output_cast0"), to=HALF)
        gamma = net.weight(name("gamma"), net.random.uniform(10, 20, WIDTH).astype(of_rest))
        net.op("Mul", normal, gamma, makes=name("Mul"))
        weight = net.weight(f"layers.{i}/w", net.random.normal(0, WIDTH**-0.5, (WIDTH, WIDTH)).astype(of_rest))
        net.op("MatMul", name("Mul"), weight, makes=f"layers.{i}/MatMul")
        x = net.op("Add", x, f"layers.{i}/MatMul", makes=f"layers.{i}/Add")
    net.op("Cast", x, makes="y", to=FLOAT)
    return net


for file, weights_in, norm_in in (("fp32.onnx", FLOAT, FLOAT), ("fp16.onnx", HALF, HALF), ("mixed.onnx", HALF, FLOAT)):
    blocks(weights_in, norm_in).save(file, {"x": [1, ROWS, WIDTH]}, {"y": [1, ROWS, WIDTH]})
random = np.random.default_rng(6)
x = random.standard_normal((1, ROWS, WIDTH))
x[:, 5:7] *= 15
x[:, 20:22] = 0
np.savez("data.npz", x=x.astype(np.float32))
