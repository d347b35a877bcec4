"""Edits of a part of what a node reads or makes: an operand that is held in few bits, slices of a weight or of a result."""

import ml_dtypes
import numpy as np
import onnx
from onnx import helper

from edits import add_constant, attribute, constant_of, edit, find, fresh, nodes_after, set_constant
from rounding import Rounder, rounded_array

# The largest number of each type that needs a scale.
LARGEST = {"int8": 127.0, "int4": 7.0, "scaled e4m3": 448.0, "scaled e5m2": 57344.0, "scaled e2m1": 6.0}
E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
AS_THEY_ARE = ("fp16", "bf16", "tf32", "e4m3", "e5m2")  # without a scale


def codes(values: np.ndarray, type: str, ties: str = "even") -> np.ndarray:
    """Numbers that are scaled already, to the nearest of the type."""
    if type == "scaled e2m1":
        return np.sign(values) * E2M1[np.abs(np.abs(values)[..., None] - E2M1).argmin(-1)]
    if type == "scaled e4m3":
        return values.astype(np.float32).astype(ml_dtypes.float8_e4m3fn).astype(np.float64)
    if type == "scaled e5m2":
        return values.astype(np.float32).astype(ml_dtypes.float8_e5m2).astype(np.float64)
    whole = {"even": np.rint, "away": lambda x: np.sign(x) * np.floor(np.abs(x) + 0.5), "cut": np.trunc}[ties](values)
    return np.clip(whole, -LARGEST[type] - 1, LARGEST[type])


def held(array: np.ndarray, type: str, axis=None, block=None, asymmetric=False, ties="even") -> np.ndarray:
    """The array as the type holds it: with one scale, one for each index of `axis`, or one for each block along it."""
    if type == "e5m2":
        return array.astype(ml_dtypes.float8_e5m2).astype(array.dtype)
    if type in AS_THEY_ARE:
        return rounded_array(array, type)
    wide = np.moveaxis(np.float64(array), axis or 0, 0)
    if block:  # blocks lie along the axis, one for each place of the other axes
        parts = [wide[i : i + block] for i in range(0, len(wide), block)]
        made = np.concatenate([scaled(part, type, (0,), asymmetric, ties) for part in parts])
    else:
        made = scaled(wide, type, None if axis is None else tuple(range(1, wide.ndim)), asymmetric, ties)
    return np.moveaxis(made, 0, axis or 0).astype(array.dtype)


def scaled(wide: np.ndarray, type: str, axes, asymmetric: bool, ties: str) -> np.ndarray:
    if asymmetric:  # unsigned codes from the least to the largest, zero included
        low, high = np.minimum(wide.min(axes, keepdims=True), 0), np.maximum(wide.max(axes, keepdims=True), 0)
        step = np.where(high > low, (high - low) / 255, 1)
        zero = np.rint(-low / step)
        return (np.clip(np.rint(wide / step) + zero, 0, 255) - zero) * step
    largest = np.abs(wide).max(axes, keepdims=True)
    step = np.where(largest > 0, largest / LARGEST[type], 1)
    return codes(wide / step, type, ties) * step


@edit("operand-held-in")
def operand_held_in(model, node: str, index: int, type: str, axis=None, block=None, asymmetric=False, ties="even", places=None) -> None:
    """One operand of the node, and no other one, is held in the type. A constant is so once and for all, or in these
    places of its axis alone; other values are measured in each run."""
    target = find(model, node)[2]
    array = constant_of(model, target.input[index])
    if array is not None:
        made = held(array, type, axis, block, asymmetric, ties)
        if places is not None:
            kept = array.copy()
            at = (slice(None),) * (axis or 0) + (places,)
            kept[at] = made[at]
            made = kept
        set_constant(model, target, index, made)
    elif type in AS_THEY_ARE:
        graph, place, _ = find(model, node)
        made = Rounder(model, type).nodes(target.input[index], fresh(model, "e"))
        target.input[index] = made[-1].output[0]
        for each in reversed(made):
            graph.node.insert(place, each)
    else:
        measured(model, node, index, type, axis, block)


def measured(model, node: str, index: int, type: str, axis, block) -> None:
    """Nodes that take the largest number, and round to integers of its 127th or 7th part. Blocks lie along the last axis,
    whose length they divide; a row is a block that is as long."""
    graph, place, target = find(model, node)
    make = Rounder(model, "fp16")
    largest, source = LARGEST[type], target.input[index]
    nodes = []

    def add(operator, *inputs, **attributes):
        nodes.append(make.node(operator, list(inputs), **attributes))
        return nodes[-1].output[0]

    value = source
    if block:
        value = add("Reshape", source, add_constant(model, np.array([-1, block], np.int64)))
    given = {"axes": [-1], "keepdims": 1} if block else {"keepdims": 1}
    peak = add("ReduceMax", add("Abs", value), **given)
    step = add("Div", add("Max", peak, make.constant(1e-30)), make.constant(largest))
    whole = add("Mul", add("Round", add("Div", value, step)), step)
    if block:
        whole = add("Reshape", whole, add("Shape", source))
    target.input[index] = whole
    for each in reversed(nodes):
        graph.node.insert(place, each)


CHANGES = {
    "lost": lambda part, amount: part * 0,
    "scaled": lambda part, amount: part * amount,
    "negated": lambda part, amount: -part,
    "first": lambda part, amount: np.broadcast_to(part[:1], part.shape),
    "turned": lambda part, amount: np.roll(part, 1, 0),
    "moved": lambda part, amount: part + amount,
    "parts exchanged": lambda part, amount: np.roll(part, len(part) // 2, 0),
}


@edit("weight-slices")
def weight_slices(model, node: str, index: int, change: str, axis: int, places: list[int], amount: float = 1.0) -> None:
    """Some places along an axis of a constant operand are other numbers."""
    target = find(model, node)[2]
    array = constant_of(model, target.input[index])
    turned = np.moveaxis(array.copy(), axis, 0)
    turned[places] = CHANGES[change](turned[places].copy(), np.asarray(amount, array.dtype))
    set_constant(model, target, index, np.moveaxis(turned, 0, axis).astype(array.dtype))


@edit("weight-read-otherwise")
def weight_read_otherwise(model, node: str, index: int, perm: list[int], reinterpreted: bool = False) -> None:
    """The axes of a constant operand are taken for others, which are as long, or lie in memory in that order."""
    target = find(model, node)[2]
    array = constant_of(model, target.input[index])
    other = np.ascontiguousarray(array.transpose(perm))
    set_constant(model, target, index, other.reshape(array.shape) if reinterpreted else other)


@edit("weight-of-another")
def weight_of_another(model, node: str, index: int, other: str) -> None:
    """A node reads the constant of another node, of the same sizes."""
    source = find(model, other)[2]
    set_constant(model, find(model, node)[2], index, constant_of(model, source.input[index]))


@edit("operand-of-another")
def operand_of_another(model, node: str, index: int, value: str) -> None:
    """A node reads another value than it should."""
    find(model, node)[2].input[index] = value


def chosen_by(model, node: str, mask: np.ndarray, build) -> None:
    """Behind the node, `build(fed)` gives nodes, of which the last one's result is taken where the mask is true."""
    name = add_constant(model, mask)

    def after(fed, made):
        nodes = build(fed)
        other = nodes[-1].output[0]
        return [*nodes, helper.make_node("Where", [name, other, fed], [made], name=fresh(model, "x"))]

    nodes_after(model, node, after)


def mask_of(shape: list[int], axis: int | None, places: list[int]) -> np.ndarray:
    """True in these places along the axis, or of the elements as they lie in memory."""
    if axis is None:
        mask = np.zeros(int(np.prod(shape)), bool)
        mask[places] = True
        return mask.reshape(shape)
    mask = np.zeros(shape[axis], bool)
    mask[places] = True
    return mask.reshape([-1 if i == axis else 1 for i in range(len(shape))])


@edit("result-part")
def result_part(model, node: str, change: str, shape: list[int], places: list[int], axis: int | None = None, amount: float = 1.0) -> None:
    """A part of a result of this shape is zero, scaled, moved, NaN, that of the first place, or what the node reads."""
    make = Rounder(model, "fp16")
    number = lambda value: make.constant(value)

    def build(fed):
        if change == "lost":
            return [make.node("Mul", [fed, number(0.0)])]
        if change == "scaled":
            return [make.node("Mul", [fed, number(amount)])]
        if change == "moved":
            return [make.node("Add", [fed, number(amount)])]
        if change == "first":
            first = add_constant(model, np.zeros(shape[axis], np.int64))
            return [make.node("Gather", [fed, first], axis=axis)]
        if change == "next":
            turned = add_constant(model, np.roll(np.arange(shape[axis]), -1))
            return [make.node("Gather", [fed, turned], axis=axis)]
        if change == "unchanged":  # an activation that does not reach the part
            return [make.node("Identity", [find(model, node)[2].input[0]])]
        raise ValueError(f"unknown change {change}")

    chosen_by(model, node, mask_of(shape, axis, places), build)


@edit("function-twice")
def function_twice(model, node: str) -> None:
    """An activation is computed twice."""
    _, _, given = find(model, node)

    def again(fed, made):
        twice = onnx.NodeProto()
        twice.CopyFrom(given)
        twice.name = fresh(model, "x")
        twice.input[0], twice.output[0] = fed, made
        return [twice]

    nodes_after(model, node, again)


@edit("other-function")
def other_function(model, node: str, op: str, **attributes) -> None:
    """Another function of one operand is computed."""
    target = find(model, node)[2]
    target.op_type = op
    del target.attribute[:], target.input[1:]
    target.attribute.extend(helper.make_attribute(name, value) for name, value in attributes.items())


@edit("formula")
def formula(model, node: str, name: str) -> None:
    """A function is computed by a formula that is near it."""
    graph, place, target = find(model, node)
    make = Rounder(model, "fp16")
    nodes = []

    def add(operator, *inputs, **attributes):
        inputs = [make.constant(x) if isinstance(x, float) else x for x in inputs]
        nodes.append(make.node(operator, inputs, **attributes))
        return nodes[-1].output[0]

    def power(x):  # the 1024th power of 1 + x/1024
        x = add("Add", add("Mul", x, 2.0**-10), 1.0)
        for _ in range(10):
            x = add("Mul", x, x)
        return x

    x = target.input[0]
    if name == "fast exp":
        power(x)
    elif name == "fast sigmoid":
        add("Reciprocal", add("Add", power(add("Neg", x)), 1.0))
    elif name == "hard sigmoid":
        add("Clip", add("Add", add("Mul", x, 1 / 6), 0.5), 0.0, 1.0)
    elif name == "rational tanh":
        square = add("Mul", x, x)
        ratio = add("Div", add("Mul", x, add("Add", square, 27.0)), add("Add", add("Mul", square, 9.0), 27.0))
        add("Clip", ratio, -1.0, 1.0)
    elif name == "tanh erf":
        y = add("Mul", x, float(np.sqrt(2)))
        cube = add("Mul", add("Mul", y, add("Mul", y, y)), 0.044715)
        add("Tanh", add("Mul", add("Add", y, cube), float(np.sqrt(2 / np.pi))))
    nodes[-1].output[0] = target.output[0]
    graph.node.remove(target)
    for each in reversed(nodes):
        graph.node.insert(place, each)


@edit("sums-in")
def sums_in(model, node: str, type: str, width: int) -> None:
    """Products of `width` input channels at a time are summed exactly, and added to an accumulator of the type."""
    graph, place, target = find(model, node, "MatMul", "Gemm", "Conv")
    array = constant_of(model, target.input[1])
    turned = attribute(target, "transB", 0)
    axis = {"MatMul": array.ndim - 2, "Gemm": 1 if turned else 0, "Conv": 1}[target.op_type]
    if attribute(target, "group", 1) != 1 or attribute(target, "transA", 0):
        raise ValueError("of one group and of rows alone")
    given = {each.name: helper.get_attribute_value(each) for each in target.attribute}
    make, nodes, total = Rounder(model, type), [], None
    for start in range(0, array.shape[axis], width):
        which = np.arange(start, min(start + width, array.shape[axis]))
        part = make.node("Gather", [target.input[0], add_constant(model, which)], axis=1 if target.op_type != "MatMul" else -1)
        product = make.node(target.op_type, [part.output[0], add_constant(model, array.take(which, axis))], **given)
        nodes += [part, product, *make.nodes(product.output[0], make.name())]
        if total:
            added = make.node("Add", [total, nodes[-1].output[0]])
            nodes += [added, *make.nodes(added.output[0], make.name())]
        total = nodes[-1].output[0]
    if len(target.input) > 2 and target.input[2]:
        bias = target.input[2]
        if target.op_type == "Conv":
            shape = add_constant(model, np.array([-1, *[1] * (array.ndim - 2)], np.int64))
            nodes.append(make.node("Reshape", [bias, shape]))
            bias = nodes[-1].output[0]
        nodes.append(make.node("Add", [total, bias]))
    nodes[-1].output[0] = target.output[0]
    graph.node.remove(target)
    for each in reversed(nodes):
        graph.node.insert(place, each)
