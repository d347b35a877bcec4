"""Arithmetic of narrow floating-point types inside a graph of floats: the nodes that round a value as a type would.

ONNX Runtime has few kernels of narrow types. A node is therefore computed in float, and what it reads and makes is
rounded.
"""

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper, shape_inference

from edits import graphs_of, opset_of

TYPES = {"fp16": TensorProto.FLOAT16, "bf16": TensorProto.BFLOAT16, "e4m3": TensorProto.FLOAT8E4M3FN}
FIRST_OPSET = {"fp16": 6, "bf16": 13, "e4m3": 19}  # of Cast for the type
BITS_DROPPED = {"tf32": 13, "bf16": 16}  # of the 24 of a float
FP16_NORMAL = 2.0**-14  # the least number that is not subnormal
E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])


def rounded_array(array: np.ndarray, kind: str, flush: bool = False, saturate: bool = False) -> np.ndarray:
    """The array as the type would hold it: weights, which an engine converts when it is built."""
    array = np.asarray(array)
    if kind == "tf32":
        bits = array.astype(np.float32).view(np.uint32).astype(np.uint64)
        bits = (bits + 0xFFF + ((bits >> 13) & 1)) & 0xFFFFE000
        return bits.astype(np.uint32).view(np.float32).reshape(array.shape)
    if kind == "e2m1":  # one scale for each row
        scale = (
            np.abs(array).max(axis=tuple(range(1, array.ndim)), keepdims=True) / 6
            if array.ndim > 1
            else np.abs(array).max() / 6
        )
        nearest = np.abs(np.abs(array / np.where(scale > 0, scale, 1))[..., None] - E2M1).argmin(-1)
        return (np.sign(array) * E2M1[nearest] * scale).astype(array.dtype)
    if kind == "fp16" and saturate:
        array = np.clip(array, -65504, 65504)
    with np.errstate(over="ignore"):
        narrow = array.astype({"fp16": np.float16, "bf16": ml_dtypes.bfloat16, "e4m3": ml_dtypes.float8_e4m3fn}[kind])
    wide = narrow.astype(array.dtype)
    return np.where(np.abs(wide) < FP16_NORMAL, np.zeros_like(wide), wide) if flush else wide


def element_types(model: onnx.ModelProto) -> dict[str, int]:
    """The element type of every value of the graph and of those inside it, as far as ONNX can infer it."""
    try:
        model = shape_inference.infer_shapes(model)
    except Exception:  # a model of more than 2 GB, or an operator of another domain
        pass
    types = {}
    for graph in graphs_of(model.graph):
        types |= {tensor.name: tensor.data_type for tensor in graph.initializer}
        for value in (*graph.input, *graph.output, *graph.value_info):
            if value.type.HasField("tensor_type") and value.type.tensor_type.elem_type:
                types[value.name] = value.type.tensor_type.elem_type
        for node in graph.node:  # operators of other domains
            if node.input and node.domain not in ("", "ai.onnx", "ai.onnx.ml"):
                for name in node.output:
                    types.setdefault(name, types.get(node.input[0], 0))
    return types


class Rounder:
    """Makes nodes that round, with names that are new in the model."""

    def __init__(self, model: onnx.ModelProto, kind: str, flush: bool = False):
        self.model, self.kind, self.flush = model, kind, flush
        taken = {name for graph in graphs_of(model.graph) for node in graph.node for name in (node.name, *node.output)}
        taken |= {tensor.name for graph in graphs_of(model.graph) for tensor in graph.initializer}
        self.stem = next(
            stem for stem in (f"r{i}_" for i in range(10**6)) if not any(name.startswith(stem) for name in taken)
        )
        self.count = 0
        self.constants: dict[float, str] = {}

    def name(self) -> str:
        self.count += 1
        return f"{self.stem}{self.count}"

    def constant(self, number: float) -> str:
        if number not in self.constants:
            self.constants[number] = self.name()
            self.model.graph.initializer.append(
                onnx.numpy_helper.from_array(np.array(number, np.float32), self.constants[number])
            )
        return self.constants[number]

    def node(self, operator: str, inputs: list[str], result: str | None = None, **attributes) -> onnx.NodeProto:
        return helper.make_node(operator, inputs, [result or self.name()], name=self.name(), **attributes)

    def nodes(self, source: str, result: str) -> list[onnx.NodeProto]:
        """Nodes that make `result` from `source`, both of floats."""
        if self.kind in TYPES and opset_of(self.model) >= FIRST_OPSET[self.kind]:
            narrow = self.node("Cast", [source], to=TYPES[self.kind])
            made = [narrow, self.node("Cast", [narrow.output[0]], result, to=TensorProto.FLOAT)]
        else:  # after Veltkamp: what a large multiple and its difference leave has the bits dropped
            large = self.node("Mul", [source, self.constant(2.0 ** BITS_DROPPED[self.kind] + 1)])
            low = self.node("Sub", [large.output[0], source])
            made = [large, low, self.node("Sub", [large.output[0], low.output[0]], result)]
        return made + self.flushed(made[-1], result) if self.flush else made

    def flushed(self, last: onnx.NodeProto, result: str) -> list[onnx.NodeProto]:
        """Nodes that make zeros of subnormal numbers in what `last` makes; `last` gets another result."""
        last.output[0] = self.name()
        size = self.node("Abs", [last.output[0]])
        small = self.node("Less", [size.output[0], self.constant(FP16_NORMAL)])
        return [size, small, self.node("Where", [small.output[0], self.constant(0.0), last.output[0]], result)]
