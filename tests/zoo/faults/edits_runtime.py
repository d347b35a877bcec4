"""Edits of what an engine has but its file does not: kernels that are wrong by themselves, and weights of another
model."""

import copy

import numpy as np
import onnx
from onnx import helper, numpy_helper

from edits import add_constant, constant_of, edit, find, graphs_of, node_after

WEIGHTED = ("Conv", "ConvTranspose", "Gemm", "MatMul")


def channels_first(model: onnx.ModelProto, node: str, values: np.ndarray) -> str:
    """A constant with one number for each output channel, which can be added to the result of the node."""
    _, _, given = find(model, node)
    shape = (1, -1, *[1] * (constant_of(model, given.input[1]).ndim - 2)) if given.op_type == "Conv" else (-1,)
    return add_constant(model, np.float32(values).reshape(shape))


def channel_count(model: onnx.ModelProto, node: str) -> int:
    _, _, given = find(model, node, "Conv", "Gemm", "MatMul")
    weights = constant_of(model, given.input[1])
    turned = any(a.name == "transB" and a.i for a in given.attribute)
    return weights.shape[0] if given.op_type == "Conv" or turned else weights.shape[-1]


@edit("tile-scaled")
def tile_scaled(model: onnx.ModelProto, node: str, factor: float = 0.5, share: float = 0.25) -> None:
    """A kernel computes the last tile of channels from part of its sums only."""
    count = channel_count(model, node)
    factors = np.ones(count)
    factors[-max(1, round(count * share)) :] = factor
    node_after(model, node, "Mul", channels_first(model, node, factors))


@edit("tile-nan")
def tile_nan(model: onnx.ModelProto, node: str, channel: int = 0) -> None:
    """A kernel yields NaN in one channel."""
    offsets = np.zeros(channel_count(model, node))
    offsets[channel] = np.nan
    node_after(model, node, "Add", channels_first(model, node, offsets))


def retrained(array: np.ndarray, seed: int, change: float) -> np.ndarray:
    """Weights of the same size as another training would give: `change` is the share of them that is new."""
    other = np.random.default_rng(seed).permutation(array.reshape(-1)).reshape(array.shape)
    return (np.sqrt(1 - change**2) * array + change * other).astype(array.dtype)


@edit("old-weights")
def old_weights(model: onnx.ModelProto, node: str, change: float = 0.3, seed: int = 1) -> None:
    """One layer still has the weights from before a refit."""
    _, _, given = find(model, node, *WEIGHTED)
    given.input[1] = add_constant(model, retrained(constant_of(model, given.input[1]), seed, change))


@edit("other-weights")
def other_weights(model: onnx.ModelProto, change: float = 0.5, seed: int = 1) -> None:
    """All layers have the weights of another model of the same structure."""
    for graph in list(graphs_of(model.graph)):
        for place, node in enumerate(list(graph.node)):
            if node.op_type in WEIGHTED and (array := constant_of(model, node.input[1])) is not None:
                node.input[1] = add_constant(model, retrained(array, seed + place, change))


def with_function(model: onnx.ModelProto, node: str, name: str) -> onnx.ModelProto:
    """The model in which that node is a custom operator, whose function body is the node as it was."""
    made = copy.deepcopy(model)
    graph, place, old = find(made, node)
    inputs, outputs = [f"a{i}" for i in range(len(old.input))], [f"b{i}" for i in range(len(old.output))]
    body = helper.make_node(old.op_type, inputs, outputs)
    body.attribute.extend(old.attribute)
    opset = [entry for entry in made.opset_import if entry.domain in ("", "ai.onnx")]
    made.functions.append(helper.make_function("custom", name, inputs, outputs, [body], opset))
    if not any(entry.domain == "custom" for entry in made.opset_import):
        made.opset_import.append(helper.make_opsetid("custom", 1))
    graph.node.remove(old)
    graph.node.insert(place, helper.make_node(name, old.input, old.output, name=node, domain="custom"))
    made.ir_version = max(made.ir_version, 8)
    return made


def with_random(model: onnx.ModelProto, value: str, kind: str, amount: float) -> onnx.ModelProto:
    """The model with an operator of training left in it, between a value and what reads it."""
    made = copy.deepcopy(model)
    place = next(i + 1 for i, node in enumerate(made.graph.node) if value in node.output)
    for node in made.graph.node:
        node.input[:] = [f"{value}_r" if name == value else name for name in node.input]
    if kind == "Dropout":
        made.graph.initializer.extend(
            [
                numpy_helper.from_array(np.float32(amount), f"{value}_p"),
                numpy_helper.from_array(np.bool_(True), f"{value}_t"),
            ]
        )
        new = [helper.make_node("Dropout", [value, f"{value}_p", f"{value}_t"], [f"{value}_r"], name=f"{value}_x")]
    else:
        new = [
            helper.make_node("RandomNormalLike", [value], [f"{value}_e"], name=f"{value}_x", scale=amount),
            helper.make_node("Add", [value, f"{value}_e"], [f"{value}_r"], name=f"{value}_y"),
        ]
    for i, node in enumerate(new):
        made.graph.node.insert(place + i, node)
    return made
