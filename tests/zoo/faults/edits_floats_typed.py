"""Faults of engines that do not keep to the types that a graph declares: dropped Casts, and islands that are not kept.

ONNX Runtime computes fp16 on a CPU in floats, and drops roundings between. "as-declared" turns a graph with fp16 in it
into one that rounds wherever the types say so, but for the nodes that the fault names.
"""

import numpy as np
import onnx
from onnx import TensorProto, helper

from edits import attribute, constant_of, edit, find
from rounding import Rounder, element_types

HALF, FLOAT = TensorProto.FLOAT16, TensorProto.FLOAT


@edit("cast-pair-removed")
def cast_pair_removed(model, node: str) -> None:
    """The second of two Casts that lead back to the type before is taken for the inverse of the first."""
    graph, place, second = find(model, node, "Cast")
    first = next(each for each in graph.node if second.input[0] in each.output)
    if first.op_type != "Cast":
        raise ValueError(f"there is no Cast before '{node}'")
    graph.node[place].CopyFrom(helper.make_node("Identity", [first.input[0]], list(second.output), name=second.name))


class Upcast:
    """The graph with every fp16 value computed as a float beside it. The fp16 values are still made, to be shown."""

    def __init__(self, model: onnx.ModelProto, wide: set[str], narrow: set[str]):
        self.model, self.wide, self.narrow = model, wide, narrow
        self.rounder, self.types = Rounder(model, "fp16"), element_types(model)
        self.floats: dict[str, str] = {}  # of an fp16 value, the value of floats that stands for it
        self.nodes: list[onnx.NodeProto] = []

    def float_of(self, name: str) -> str:
        if name not in self.floats:
            held = constant_of(self.model, name)
            self.floats[name] = self.rounder.name()
            if held is not None:
                self.model.graph.initializer.append(
                    onnx.numpy_helper.from_array(held.astype(np.float32), self.floats[name])
                )
            else:
                self.nodes.append(self.rounder.node("Cast", [name], self.floats[name], to=FLOAT))
        return self.floats[name]

    def rounded(self, source: str, result: str) -> list[onnx.NodeProto]:
        return self.rounder.nodes(source, result)

    def put_half(self, name: str, source: str, exact: bool) -> None:
        """The fp16 value of that name, from `source`; who reads it as a float gets it rounded, unless it is `exact`."""
        self.nodes.append(self.rounder.node("Cast", [source], name, to=HALF))
        self.floats[name] = source if exact else self.rounder.name()
        if not exact:
            self.nodes += self.rounded(source, self.floats[name])

    def add(self, node: onnx.NodeProto) -> None:
        """A node of the graph, or what is done in its place."""
        f16_names = lambda names: [name for name in names if self.types.get(name) == HALF]
        exact = node.name in self.wide
        if node.op_type == "Constant":
            self.nodes.append(node)
        elif node.op_type == "Cast" and attribute(node, "to") == HALF and self.types.get(node.input[0]) == FLOAT:
            self.put_half(node.output[0], node.input[0], exact)
        elif node.op_type == "Cast" and f16_names(node.input) and attribute(node, "to") == FLOAT:
            self.nodes.append(self.rounder.node("Identity", [self.float_of(node.input[0])], node.output[0]))
        else:
            self.compute(node, f16_names(node.output), exact)

    def compute(self, node: onnx.NodeProto, f16_names: list[str], exact: bool) -> None:
        if node.op_type == "Cast" and f16_names:  # of integers
            self.nodes.append(node)
            return
        made = onnx.NodeProto()
        made.CopyFrom(node)
        for i, name in enumerate(node.input):
            if self.types.get(name) == HALF:
                made.input[i] = self.float_of(name)
            elif node.name in self.narrow and self.types.get(name) == FLOAT:
                made.input[i] = self.rounder.name()
                self.nodes += self.rounded(name, made.input[i])
        after = []
        for i, name in enumerate(node.output):
            if self.types.get(name) == HALF:
                made.output[i] = self.rounder.name()
            elif node.name in self.narrow and self.types.get(name) == FLOAT:
                made.output[i] = self.rounder.name()
                after += self.rounded(made.output[i], name)
        self.nodes += [made, *after]
        for name, source in zip(node.output, made.output):
            if name in f16_names:
                self.put_half(name, source, exact)


@edit("as-declared")
def as_declared(model, wide=(), narrow=()) -> None:
    """Rounds to fp16 as the graph says, but for the nodes `wide`, and also what the nodes `narrow` read and make."""
    missing = {*wide, *narrow} - {node.name for node in model.graph.node}
    if missing:
        raise ValueError(f"there is no node {sorted(missing)}")
    upcast = Upcast(model, set(wide), set(narrow))
    for node in model.graph.node:
        upcast.add(node)
    del model.graph.node[:]
    model.graph.node.extend(upcast.nodes)
