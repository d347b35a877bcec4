"""Edits of indices, of the order of what is equal, and of control flow."""

import copy

import numpy as np
import onnx
from onnx import helper

from edits import (
    add_constant,
    attribute,
    constant_of,
    edit,
    find,
    fresh,
    node_before,
    nodes_after,
    opset_of,
    set_attribute,
    set_constant,
)

FAR = np.iinfo(np.int64).max


@edit("indices-moved")
def indices_moved(model: onnx.ModelProto, node: str, by: int) -> None:
    """The constant indices of a Gather are off by so many, around the end where they leave the axis."""
    gather = find(model, node, "Gather", "GatherElements", "GatherND")[2]
    old = constant_of(model, gather.input[1])
    set_constant(model, gather, 1, (old + by).astype(old.dtype))


@edit("indices-computed-moved")
def indices_computed_moved(model: onnx.ModelProto, node: str, by: int, size: int) -> None:
    """The computed indices of a Gather are off by so many, modulo the size of the axis."""
    find(model, node, "Gather", "GatherElements", "GatherND")
    node_before(model, node, 1, "Add", add_constant(model, np.int64(by)))
    node_before(model, node, 1, "Mod", add_constant(model, np.int64(size)))


@edit("negative-indices-clamped")
def negative_indices_clamped(model: onnx.ModelProto, node: str) -> None:
    """Indices that count from the end are taken for 0."""
    find(model, node, "Gather", "GatherElements", "ScatterElements", "ScatterND")
    node_before(model, node, 1, "Max", add_constant(model, np.int64(0)))


@edit("slice-moved")
def slice_moved(model: onnx.ModelProto, node: str, by: int) -> None:
    """A Slice with constant bounds begins and ends so many elements away from where it should."""
    cut = find(model, node, "Slice")[2]
    moved = lambda old: np.where(np.abs(old) >= 2**31 - 1, old, old + by)
    if opset_of(model) < 10:
        for name in ("starts", "ends"):
            set_attribute(cut, name, [int(bound) for bound in moved(np.asarray(attribute(cut, name)))])
        return
    for index in (1, 2):
        old = constant_of(model, cut.input[index])
        set_constant(model, cut, index, moved(old).astype(old.dtype))


@edit("scatter-first-wins")
def scatter_first_wins(model: onnx.ModelProto, node: str) -> None:
    """Where indices are there twice, the first update stays, as where threads race and the last loses."""
    find(model, node, "ScatterND", "ScatterElements")
    for index in (1, 2):
        _reverse(model, node, index, 0)


def _reverse(model: onnx.ModelProto, node: str, index: int, axis: int) -> None:
    """The node reads its input backwards along the axis."""
    one = lambda number: add_constant(model, np.asarray([number], np.int64))
    node_before(model, node, index, "Slice", one(-1), one(-FAR), one(axis), one(-1))


@edit("ties-last")
def ties_last(model: onnx.ModelProto, node: str, axis: int) -> None:
    """TopK and ArgMax take the last one of equal elements, not the first."""
    order = find(model, node, "TopK", "ArgMax")[2]
    if order.op_type == "ArgMax":
        set_attribute(order, "select_last_index", 1)
        return
    given = order.input[0]
    _reverse(model, node, 0, axis)
    made_by = lambda operator, inputs, output: helper.make_node(operator, inputs, [output], name=fresh(model, "x"))
    shape, size, last = (fresh(model, "s") for _ in range(3))
    where, one = add_constant(model, np.int64(axis)), add_constant(model, np.int64(1))
    nodes_after(
        model,
        node,
        lambda fed, made: [
            made_by("Shape", [given], shape),
            made_by("Gather", [shape, where], size),
            made_by("Sub", [size, one], last),
            made_by("Sub", [last, fed], made),
        ],
        output=1,
    )


@edit("boxes-by-index")
def boxes_by_index(model: onnx.ModelProto, node: str) -> None:
    """NonMaxSuppression gives what it selected by the place of the boxes, not by score."""
    find(model, node, "NonMaxSuppression")
    made_by = lambda operator, inputs, *outputs, **attributes: helper.make_node(
        operator, inputs, outputs, name=fresh(model, "x"), **attributes
    )
    column, count, minus, values, order = (fresh(model, "b") for _ in range(5))
    two = add_constant(model, np.int64(2))
    nodes_after(
        model,
        node,
        lambda fed, made: [
            made_by("Gather", [fed, two], column, axis=1),
            made_by("Neg", [column], minus),
            made_by("Size", [column], count + "s"),
            made_by("Reshape", [count + "s", add_constant(model, np.asarray([1], np.int64))], count),
            made_by("TopK", [minus, count], values, order, axis=0),
            made_by("Gather", [fed, order], made, axis=0),
        ],
    )


@edit("branches-exchanged")
def branches_exchanged(model: onnx.ModelProto, node: str) -> None:
    """If takes the other branch."""
    choice = find(model, node, "If")[2]
    names = {"then_branch": "else_branch", "else_branch": "then_branch"}
    for given in choice.attribute:
        given.name = names[given.name]


@edit("one-trip-fewer")
def one_trip_fewer(model: onnx.ModelProto, node: str) -> None:
    """A Loop with a trip count ends one trip early; a scan output has its last row twice, so that its size is right."""
    loop = find(model, node, "Loop")[2]
    body = attribute(loop, "body")
    carried, scans = len(loop.input) - 2, len(loop.output) - (len(loop.input) - 2)
    assert len(body.output) == 1 + carried + scans
    node_before(model, node, 0, "Sub", add_constant(model, np.int64(1)))
    one = lambda number: add_constant(model, np.asarray([number], np.int64))
    for i in range(carried, carried + scans):
        if not loop.output[i]:
            continue
        last = fresh(model, "l")
        nodes_after(
            model,
            node,
            lambda fed, made: [
                helper.make_node("Slice", [fed, one(-1), one(FAR), one(0)], [last], name=fresh(model, "x")),
                helper.make_node("Concat", [fed, last], [made], name=fresh(model, "x"), axis=0),
            ],
            output=i,
        )


@edit("one-trip-more")
def one_trip_more(model: onnx.ModelProto, node: str) -> None:
    """A Loop looks at its condition one trip too late, so that its body runs once too often. It has no trip count."""
    graph, _, loop = find(model, node, "Loop")
    body = attribute(loop, "body")
    carried = len(loop.input) - 2
    before, now = fresh(model, "k"), fresh(model, "m")
    truth = add_constant(model, np.asarray(True))
    condition = body.output[0].name
    body.node.append(helper.make_node("Identity", [before], [now], name=fresh(model, "xk")))
    body.input.append(helper.make_tensor_value_info(before, onnx.TensorProto.BOOL, []))
    outputs = [copy.deepcopy(value) for value in body.output]
    outputs[0] = helper.make_tensor_value_info(now, onnx.TensorProto.BOOL, [])
    passed = fresh(model, "p")
    body.node.append(helper.make_node("Identity", [condition], [passed], name=fresh(model, "xp")))
    outputs.insert(1 + carried, helper.make_tensor_value_info(passed, onnx.TensorProto.BOOL, []))
    del body.output[:]
    body.output.extend(outputs)
    loop.input.append(truth)
    results = list(loop.output)
    results.insert(carried, fresh(model, "q"))
    del loop.output[:]
    loop.output.extend(results)
    set_attribute(loop, "body", body)
