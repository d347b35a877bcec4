"""Edits of pooling windows, of transposed convolutions, and of Softmax before and since opset 13."""

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
    node_after,
    node_before,
    opset_of,
    replace_node,
    set_attribute,
    set_constant,
)


def _pad(model: onnx.ModelProto, begin: list[int], end: list[int], value: float = 0.0) -> tuple[list, dict]:
    """Further inputs and attributes of a Pad of the last axes of an image, negative sizes cut off."""
    pads = [0, 0, *begin, 0, 0, *end]
    if opset_of(model) < 11:
        return [], {"pads": pads, "value": value}
    return [add_constant(model, np.asarray(pads, np.int64)), add_constant(model, np.float32(value))], {}


@edit("windows-shifted")
def windows_shifted(model: onnx.ModelProto, node: str, rank: int = 2) -> None:
    """Every window begins one element too late; behind the end there are zeros."""
    inputs, attributes = _pad(model, [-1] * rank, [1] * rank)
    node_before(model, node, 0, "Pad", *inputs, **attributes)


@edit("last-windows-lost")
def last_windows_lost(model: onnx.ModelProto, node: str, lost: list[int]) -> None:
    """ceil_mode is not known: zeros are where the last windows would be. `lost`: how many on each axis."""
    set_attribute(find(model, node, "MaxPool", "AveragePool")[2], "ceil_mode", 0)
    inputs, attributes = _pad(model, [0] * len(lost), lost)
    node_after(model, node, "Pad", *inputs, **attributes)


@edit("average-counts-overhang")
def average_counts_overhang(model: onnx.ModelProto, node: str, overhang: list[int]) -> None:
    """The last windows of ceil_mode are divided by the whole kernel, although they reach beyond the padding."""
    pool = find(model, node, "AveragePool")[2]
    pads = attribute(pool, "pads", [0] * 2 * len(overhang))
    half = len(overhang)
    inputs, attributes = _pad(model, pads[:half], [pad + more for pad, more in zip(pads[half:], overhang)])
    node_before(model, node, 0, "Pad", *inputs, **attributes)
    for name, value in (("pads", None), ("ceil_mode", None), ("count_include_pad", None)):
        set_attribute(pool, name, value)


@edit("output-padding-lost")
def output_padding_lost(model: onnx.ModelProto, node: str) -> None:
    """The rows that output_padding adds to a transposed convolution are not computed: they are zeros."""
    transposed = find(model, node, "ConvTranspose")[2]
    added = attribute(transposed, "output_padding")
    set_attribute(transposed, "output_padding", None)
    inputs, attributes = _pad(model, [0] * len(added), list(added))
    node_after(model, node, "Pad", *inputs, **attributes)


@edit("groups-exchanged")
def groups_exchanged(model: onnx.ModelProto, node: str) -> None:
    """The weights of a convolution's groups are read in the wrong order: each group has those of its neighbour."""
    changed = find(model, node, "Conv", "ConvTranspose")[2]
    weight = constant_of(model, changed.input[1])
    rows = weight.shape[0] // attribute(changed, "group", 1)
    set_constant(model, changed, 1, np.roll(weight, rows, 0))


@edit("softmax-of-one-axis")
def softmax_of_one_axis(model: onnx.ModelProto, node: str, rank: int) -> None:
    """Softmax or its kin before opset 13, over all axes from `axis` on, is read as since then: over one axis."""
    old = find(model, node, "Softmax", "LogSoftmax", "Hardmax")[2]
    axis = attribute(old, "axis", -1) % rank  # also the default that opset 13 changed
    order = [i for i in range(rank) if i != axis] + [axis]
    there, made = fresh(model, "e"), fresh(model, "f")
    replace_node(
        model,
        node,
        helper.make_node("Transpose", [old.input[0]], [there], name=fresh(model, "x"), perm=order),
        helper.make_node(old.op_type, [there], [made], name=node, axis=rank - 1),
        helper.make_node(
            "Transpose", [made], [old.output[0]], name=fresh(model, "y"), perm=[order.index(i) for i in range(rank)]
        ),
    )


@edit("softmax-of-all-axes")
def softmax_of_all_axes(model: onnx.ModelProto, node: str) -> None:
    """Softmax or its kin since opset 13, over one axis, is read as before: over all axes from `axis` on."""
    old = find(model, node, "Softmax", "LogSoftmax", "Hardmax")[2]
    axis = attribute(old, "axis", 1)  # also the default that opset 13 changed
    flat, made, shape = fresh(model, "e"), fresh(model, "f"), fresh(model, "g")
    replace_node(
        model,
        node,
        helper.make_node("Shape", [old.input[0]], [shape], name=fresh(model, "x")),
        helper.make_node("Flatten", [old.input[0]], [flat], name=fresh(model, "y"), axis=axis),
        helper.make_node(old.op_type, [flat], [made], name=node, axis=-1),
        helper.make_node("Reshape", [made, shape], [old.output[0]], name=fresh(model, "z")),
    )
