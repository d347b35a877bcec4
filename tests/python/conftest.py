"""The tests of the Python package share this. pytest runs them with the package of a build folder on its path."""

import pathlib

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

ROOT = pathlib.Path(__file__).resolve().parents[2]
DIGITS = ROOT / "examples/digits"


def save(path, nodes, inputs, outputs, weights=(), opset=21):
    """A model of nodes; inputs and outputs are (name, element type, dims)."""
    values = [[helper.make_tensor_value_info(*each) for each in side] for side in (inputs, outputs)]
    graph = helper.make_graph(nodes, "graph", *values, [onnx.numpy_helper.from_array(np.asarray(w), name) for name, w in weights])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10), path)
    return path


@pytest.fixture
def digits():
    return DIGITS / "digits.onnx"


@pytest.fixture(scope="session")
def images():
    return np.load(DIGITS / "held_out.npz")["image"]


@pytest.fixture
def chain(tmp_path):
    """y = softmax(relu(x @ w + b)): small, with a plan, root causes and a price of bf16."""
    random = np.random.default_rng(1)
    nodes = [
        helper.make_node("Gemm", ["x", "w", "b"], ["h"], "gemm"),
        helper.make_node("Relu", ["h"], ["r"], "relu"),
        helper.make_node("MatMul", ["r", "v"], ["s"], "matmul"),
        helper.make_node("Softmax", ["s"], ["y"], "softmax"),
    ]
    weights = [("w", random.standard_normal((16, 32), np.float32)), ("b", random.standard_normal(32, np.float32)),
               ("v", random.standard_normal((32, 8), np.float32) / 4)]  # fmt: skip
    return save(tmp_path / "chain.onnx", nodes, [("x", TensorProto.FLOAT, ["n", 16])], [("y", TensorProto.FLOAT, ["n", 8])], weights)


@pytest.fixture
def rows():
    return np.random.default_rng(2).standard_normal((4, 16), np.float32)
