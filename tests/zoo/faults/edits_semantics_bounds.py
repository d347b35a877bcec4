"""Edits of Clip, of the policy for NaN, and of integers and rounding."""

import numpy as np
import onnx
from onnx import TensorProto, helper

from edits import (
    add_constant,
    attribute,
    edit,
    find,
    fresh,
    node_after,
    node_before,
    nodes_after,
    opset_of,
    set_attribute,
    set_constant,
)


def _lose_bound(model: onnx.ModelProto, node: str, index: int) -> None:
    clip = find(model, node, "Clip")[2]
    if opset_of(model) < 11:
        set_attribute(clip, ("min", "max")[index - 1], None)
    else:
        clip.input[index] = ""


@edit("clip-max-lost")
def clip_max_lost(model: onnx.ModelProto, node: str) -> None:
    """The upper bound is lost, as where Clip from 0 becomes Relu."""
    _lose_bound(model, node, 2)


@edit("clip-min-lost")
def clip_min_lost(model: onnx.ModelProto, node: str) -> None:
    """The lower bound is lost."""
    _lose_bound(model, node, 1)


@edit("clip-bounds-fixed")
def clip_bounds_fixed(model: onnx.ModelProto, node: str, low: float, high: float) -> None:
    """Bounds that the caller gives are read once, when the engine is built, and never again."""
    clip = find(model, node, "Clip")[2]
    set_constant(model, clip, 1, np.float32(low))
    set_constant(model, clip, 2, np.float32(high))


@edit("nan-becomes")
def nan_becomes(model: onnx.ModelProto, node: str, value: float) -> None:
    """A comparison of the hardware, not the operator's rule, decides about NaN: `value` comes out of it."""
    made_by = lambda operator, inputs, output: helper.make_node(operator, inputs, [output], name=fresh(model, "x"))
    nan, wanted = fresh(model, "n"), add_constant(model, np.float32(value))
    nodes_after(
        model, node, lambda fed, made: [made_by("IsNaN", [fed], nan), made_by("Where", [nan, wanted, fed], made)]
    )


@edit("saturates-at-int32")
def saturates_at_int32(model: onnx.ModelProto, node: str) -> None:
    """The engine has no int64: what the node makes is clamped to int32."""
    limits = np.iinfo(np.int32)
    node_after(
        model, node, "Clip", add_constant(model, np.int64(limits.min)), add_constant(model, np.int64(limits.max))
    )


@edit("integer-division-floors")
def integer_division_floors(model: onnx.ModelProto, node: str) -> None:
    """Div of integers rounds toward minus infinity, as in Python, and not toward zero."""
    find(model, node, "Div")
    for index in (0, 1):
        node_before(model, node, index, "Cast", to=TensorProto.DOUBLE)
    node_after(model, node, "Cast", to=TensorProto.INT64)
    node_after(model, node, "Floor")


@edit("rounds-half-away")
def rounds_half_away(model: onnx.ModelProto, node: str) -> None:
    """Round takes .5 away from zero, as C does, and not to the even neighbour."""
    given = find(model, node, "Round")[2].input[0]
    made_by = lambda operator, inputs, output: helper.make_node(operator, inputs, [output], name=fresh(model, "x"))
    sign, size, moved, whole = (fresh(model, "r") for _ in range(4))
    half = add_constant(model, np.float32(0.5))
    nodes_after(
        model,
        node,
        lambda fed, made: [
            made_by("Sign", [given], sign),
            made_by("Abs", [given], size),
            made_by("Add", [size, half], moved),
            made_by("Floor", [moved], whole),
            made_by("Mul", [whole, sign], made),
        ],
    )


@edit("cast-rounds")
def cast_rounds(model: onnx.ModelProto, node: str) -> None:
    """Cast from float to integers rounds to the nearest, and does not cut off."""
    find(model, node, "Cast")
    node_before(model, node, 0, "Round")


@edit("cast-saturates")
def cast_saturates(model: onnx.ModelProto, node: str) -> None:
    """Cast from int32 to uint8 goes to the nearest bound, and does not drop the upper bits."""
    if attribute(find(model, node, "Cast")[2], "to") != TensorProto.UINT8:
        raise ValueError("only casts to uint8 are known")
    node_before(model, node, 0, "Clip", add_constant(model, np.int32(0)), add_constant(model, np.int32(255)))
