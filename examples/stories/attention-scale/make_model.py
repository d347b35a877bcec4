"""Writes model.onnx, attention as PyTorch exports F.scaled_dot_product_attention, one-scale.onnx, the same as people
write it by hand, and data.npz. The scale, 1/sqrt(72), is computed in the graph; the export puts its square root on
queries and on keys.
"""
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).absolute().parents[1]))

from building import Builder  # noqa: E402

TOKENS, HEADS, SIZE = 33, 4, 72
WIDTH = HEADS * SIZE


def attention(split: bool) -> Builder:
    net = Builder(seed=1)
    net.op("MatMul", "x", net.normal("w", (WIDTH, 3 * WIDTH), WIDTH**-0.5), makes="qkv")
    net.op("Reshape", "qkv", net.weight("heads", [0, TOKENS, 3, HEADS, SIZE]), makes="by_head")
    net.op("Transpose", "by_head", makes="turned", perm=[2, 0, 3, 1, 4])
    for i, name in enumerate(("q", "k", "v")):
        net.op("Gather", "turned", net.weight(f"is_{name}", i), makes=name, axis=0)
    net.op("Shape", "q", makes="sizes")
    net.op("Gather", "sizes", net.weight("last", -1), makes="size")
    net.op("Cast", "size", makes="size_as_float", to=1)
    net.op("Sqrt", "size_as_float", makes="root")
    net.op("Div", net.weight("one", np.float32(1)), "root", makes="scale")
    net.op("Transpose", "k", makes="k_turned", perm=[0, 1, 3, 2])
    if split:
        net.op("Sqrt", "scale", makes="half_scale")
        net.op("Mul", "q", "half_scale", makes="q_scaled")
        net.op("Mul", "k_turned", "half_scale", makes="k_scaled")
        net.op("MatMul", "q_scaled", "k_scaled", makes="logits")
    else:
        net.op("Mul", "q", "scale", makes="q_scaled")
        net.op("MatMul", "q_scaled", "k_turned", makes="logits")
    net.op("Softmax", "logits", makes="probabilities", axis=-1)
    net.op("MatMul", "probabilities", "v", makes="attended")
    net.op("Transpose", "attended", makes="by_token", perm=[0, 2, 1, 3])
    net.op("Reshape", "by_token", net.weight("flat", [0, TOKENS, WIDTH]), makes="y")
    return net


for file, split in (("model.onnx", True), ("one-scale.onnx", False)):
    attention(split).save(file, {"x": ["N", TOKENS, WIDTH]}, {"y": ["N", TOKENS, WIDTH]})
np.savez("data.npz", x=np.random.default_rng(2).standard_normal((1, TOKENS, WIDTH), np.float32))
