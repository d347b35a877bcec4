"""Writes ONNX graphs node by node, in the words of PyTorch's exporters: constants are Constant nodes, and sizes are computed from Shape."""
import contextlib
import hashlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT32, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT32, TensorProto.INT64, TensorProto.BOOL
LAST = np.iinfo(np.int64).max  # the end of a Slice that has none


class Writer:
    """A graph in the making. Values are their names; weights are drawn from their names, so that a model is the same every time."""

    def __init__(self, opset: int):
        self.opset = opset
        self.inputs, self.outputs, self.nodes, self.weights = [], [], [], []
        self._scopes: list[str] = []
        self._counts: dict[str, int] = {}

    @contextlib.contextmanager
    def scope(self, name: str):
        """Nodes inside are named below `name`, as those of a module are."""
        self._scopes.append(name)
        yield
        self._scopes.pop()

    def input(self, name: str, element: int, sizes: list) -> str:
        self.inputs.append(helper.make_tensor_value_info(name, element, sizes))
        return name

    def output(self, value: str, name: str, element: int, sizes: list) -> None:
        """The value under the name of an output: the node that makes it is renamed, as exporters do."""
        for node in self.nodes:
            for names in (node.input, node.output):
                names[:] = [name if each == value else each for each in names]
        self.outputs.append(helper.make_tensor_value_info(name, element, sizes))

    def node(self, op: str, *inputs: str, outputs: int = 1, **attributes):
        """The output of a new node; a list of them if it has several."""
        stem = "/" + "/".join([*self._scopes, op])
        count = self._counts.get(stem, 0)
        self._counts[stem] = count + 1
        name = f"{stem}_{count}" if count else stem
        made = [f"{name}_output_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, made, name=name, **attributes))
        return made if outputs > 1 else made[0]

    def constant(self, value, element=None) -> str:
        array = np.asarray(value)
        if element is None:
            element = np.float32 if array.dtype.kind == "f" else array.dtype
        return self.node("Constant", value=numpy_helper.from_array(array.astype(element)))

    def buffer(self, name: str, array: np.ndarray) -> str:
        """A tensor of the module by this name."""
        name = ".".join([*self._scopes, name])
        self.weights.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def weight(self, name: str, *sizes: int, mean: float = 0, deviation: float = 0.02) -> str:
        key = ".".join([*self._scopes, name])
        seed = int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "little")
        drawn = np.random.default_rng(seed).standard_normal(sizes, dtype=np.float32)
        return self.buffer(name, drawn * np.float32(deviation) + np.float32(mean))

    def cast(self, value: str, element: int) -> str:
        return self.node("Cast", value, to=element)

    def unsqueeze(self, value: str, *axes: int) -> str:
        """One node for each axis, as indexing with None gives."""
        for axis in axes:
            value = self.node("Unsqueeze", value, self.constant([axis]))
        return value

    def slice(self, value: str, axis: int, start, end) -> str:
        """`start` and `end` are numbers, or values of one element."""
        bounds = [bound if isinstance(bound, str) else self.constant([bound]) for bound in (start, end)]
        return self.node("Slice", value, *bounds, self.constant([axis]), self.constant([1]))

    def mean(self, value: str) -> str:
        """Over the last axis, which stays."""
        if self.opset < 18:
            return self.node("ReduceMean", value, axes=[-1], keepdims=1)
        return self.node("ReduceMean", value, self.constant([-1]), keepdims=1)

    def size(self, value: str, axis: int) -> str:
        """A scalar: the size of the value along the axis."""
        return self.node("Gather", self.node("Shape", value), self.constant(axis), axis=0)

    def sizes(self, *parts) -> str:
        """A list of sizes; each part is a number or a scalar."""
        lists = [self.node("Unsqueeze", part, self.constant([0])) if isinstance(part, str) else self.constant([part]) for part in parts]
        return self.node("Concat", *lists, axis=0)

    def reshape(self, value: str, *parts) -> str:
        return self.node("Reshape", value, self.sizes(*parts))

    def expand(self, value: str, *parts) -> str:
        """As torch's expand is exported: -1 keeps a size, for which ONNX has 1."""
        wanted = self.node("Reshape", self.sizes(*parts), self.constant([-1]))
        ones = self.node("ConstantOfShape", self.node("Shape", wanted), value=helper.make_tensor("value", INT64, [1], [1]))
        kept = self.node("Equal", wanted, self.node("Mul", ones, self.constant(-1)))
        return self.node("Expand", value, self.node("Where", kept, ones, wanted))

    def model(self, name: str) -> onnx.ModelProto:
        graph = helper.make_graph(self.nodes, name, self.inputs, self.outputs, self.weights)
        versions = {"": self.opset, **{node.domain: 1 for node in self.nodes if node.domain}}
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid(*each) for each in versions.items()], ir_version=8, producer_name="pytorch")
        onnx.checker.check_model(model)
        return model
