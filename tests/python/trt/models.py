"""Small models for the scripts, each with inputs. A function's name is what a script asks for."""

import numpy as np
from conftest import DIGITS, save
from onnx import TensorProto, helper

FLOAT, INT64, HALF = TensorProto.FLOAT, TensorProto.INT64, TensorProto.FLOAT16


def _random(*shape, seed=1):
    return np.random.default_rng(seed).standard_normal(shape, np.float32)


def digits(folder):
    """A network of convolutions, of any number of images."""
    return DIGITS / "digits.onnx", {"image": np.load(DIGITS / "held_out.npz")["image"][:4]}


def static(folder, batch=2):
    """A convolution, a normalisation over channels, and a classifier, of one size."""
    nodes = [
        helper.make_node("Conv", ["input", "k"], ["c"], "conv1", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["r"], "relu1"),
        helper.make_node("GlobalAveragePool", ["r"], ["p"], "pool"),
        helper.make_node("Flatten", ["p"], ["f"], "flatten"),
        helper.make_node("MatMul", ["f", "w"], ["m"], "fc"),
        helper.make_node("Softmax", ["m"], ["output"], "softmax", axis=-1),
    ]
    weights = [("k", _random(8, 3, 3, 3) / 3), ("w", _random(8, 5, seed=2))]
    path = save(folder / "static.onnx", nodes, [("input", FLOAT, [batch, 3, 12, 12])], [("output", FLOAT, [batch, 5])], weights)
    return path, {"input": _random(batch, 3, 12, 12, seed=3)}


def mlp(folder):
    """y = softmax(norm(relu(x @ w + b)) @ v) of any number of rows."""
    nodes = [
        helper.make_node("Gemm", ["x", "w", "b"], ["h"], "gemm"),
        helper.make_node("Relu", ["h"], ["r"], "relu"),
        helper.make_node("LayerNormalization", ["r", "scale"], ["n"], "norm"),
        helper.make_node("MatMul", ["n", "v"], ["s"], "matmul"),
        helper.make_node("Softmax", ["s"], ["y"], "softmax"),
    ]
    weights = [("w", _random(16, 32)), ("b", _random(32)), ("scale", np.ones(32, np.float32)), ("v", _random(32, 8) / 4)]
    return save(folder / "mlp.onnx", nodes, [("x", FLOAT, ["n", 16])], [("y", FLOAT, ["n", 8])], weights), {"x": _random(4, 16, seed=2)}


def tokens(folder):
    """Rows of a table by int64 ids, those that a mask lets through."""
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["e"], "embed"),
        helper.make_node("Unsqueeze", ["mask", "last"], ["m"], "wide"),
        helper.make_node("Mul", ["e", "m"], ["masked"], "mul"),
        helper.make_node("ReduceMean", ["masked", "axis"], ["pooled"], "mean", keepdims=0),
    ]
    weights = [("table", _random(50, 6)), ("last", np.array([2], np.int64)), ("axis", np.array([1], np.int64))]
    inputs = [("input_ids", INT64, ["batch", "length"]), ("mask", FLOAT, ["batch", "length"])]
    path = save(folder / "tokens.onnx", nodes, inputs, [("pooled", FLOAT, ["batch", 6])], weights)
    ids = np.random.default_rng(4).integers(0, 50, (3, 7))
    return path, {"input_ids": ids, "mask": (ids % 3 > 0).astype(np.float32)}


def doubled(folder):
    """An output whose size is an expression of that of the input."""
    nodes = [helper.make_node("Concat", ["x", "x"], ["c"], "twice", axis=0), helper.make_node("Relu", ["c"], ["y"], "relu")]
    return save(folder / "doubled.onnx", nodes, [("x", FLOAT, ["n", 3])], [("y", FLOAT, ["m", 3])]), {"x": _random(3, 3)}


def nonzero(folder):
    """An output whose size depends on values."""
    nodes = [helper.make_node("Relu", ["x"], ["r"], "relu"), helper.make_node("NonZero", ["r"], ["places"], "nonzero")]
    return save(folder / "nonzero.onnx", nodes, [("x", FLOAT, [4, 5])], [("places", INT64, [2, "k"])]), {"x": _random(4, 5)}


def half(folder):
    """Declared as float16."""
    nodes = [helper.make_node("MatMul", ["x", "w"], ["m"], "fc"), helper.make_node("Relu", ["m"], ["y"], "relu")]
    path = save(folder / "half.onnx", nodes, [("x", HALF, [4, 16])], [("y", HALF, [4, 8])], [("w", _random(16, 8).astype(np.float16) / 4)])
    return path, {"x": _random(4, 16).astype(np.float16)}


def pair(folder):
    """Two inputs and two outputs."""
    nodes = [helper.make_node("Add", ["a", "b"], ["sum"], "add"), helper.make_node("Mul", ["a", "b"], ["product"], "mul")]
    sides = [[(name, FLOAT, [2, 3]) for name in names] for names in (("a", "b"), ("sum", "product"))]
    return save(folder / "pair.onnx", nodes, *sides), {"a": _random(2, 3), "b": _random(2, 3, seed=5)}
