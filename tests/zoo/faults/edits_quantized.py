"""Edits that make an engine compute integers in another way than the graph says: rounding, saturation, scales, zero
points, padding."""

import numpy as np
import onnx
from onnx import TensorProto, helper

from edits import (
    add_constant,
    attribute,
    constant_of,
    edit,
    find,
    fresh,
    node_after,
    node_before,
    replace_node,
    set_attribute,
)

LIMITS = {TensorProto.UINT8: (0, 255), TensorProto.INT8: (-128, 127)}


def maker(model: onnx.ModelProto, value: str) -> onnx.NodeProto:
    return next(node for node in model.graph.node if value in node.output)


def chain(model: onnx.ModelProto, start: str, *steps: tuple, last: str) -> list[onnx.NodeProto]:
    """Nodes that hand on one value: (operator, *more inputs, {attributes}); the last gives its result that name."""
    made, value = [], start
    for i, step in enumerate(steps):
        attributes = step[-1] if isinstance(step[-1], dict) else {}
        inputs = [value, *(name for name in step[1:] if isinstance(name, str))]
        value = last if i == len(steps) - 1 else fresh_among(model, made, "e")
        made.append(helper.make_node(step[0], inputs, [value], name=fresh_among(model, made, "x"), **attributes))
    return made


def fresh_among(model: onnx.ModelProto, made: list[onnx.NodeProto], stem: str) -> str:
    """A name that neither the model nor these nodes have."""
    name = fresh(model, stem)
    taken = {text for node in made for text in (node.name, *node.output)}
    while name in taken:
        name += "'"
    return name


def quantizer(model: onnx.ModelProto, name: str, before: list[tuple], rounding: list[tuple]) -> None:
    """QuantizeLinear by hand: x is divided by the scale or what `before` makes of it, rounded, moved, limited and
    cast."""
    _, _, node = find(model, name, "QuantizeLinear")
    zero = constant_of(model, node.input[2])
    kind = helper.np_dtype_to_tensor_dtype(zero.dtype)
    low, high = (add_constant(model, np.float32(limit)) for limit in LIMITS[kind])
    moved = add_constant(model, np.float32(zero))
    replace_node(
        model,
        name,
        *chain(
            model,
            node.input[0],
            *before,
            *rounding,
            ("Add", moved),
            ("Clip", low, high),
            ("Cast", {"to": kind}),
            last=node.output[0],
        ),
    )


@edit("ties-away")
def ties_away(model: onnx.ModelProto, node: str) -> None:
    """Ties are rounded up, by adding a half and dropping the fraction, where the graph rounds them to even."""
    scale = find(model, node, "QuantizeLinear")[2].input[1]
    half = add_constant(model, np.float32(0.5))
    quantizer(model, node, [("Div", scale)], [("Add", half), ("Floor",)])


@edit("fraction-dropped")
def fraction_dropped(model: onnx.ModelProto, node: str) -> None:
    """The result is shifted to the right without rounding."""
    scale = find(model, node, "QuantizeLinear")[2].input[1]
    quantizer(model, node, [("Div", scale)], [("Floor",)])


@edit("coarse-multiplier")
def coarse_multiplier(model: onnx.ModelProto, node: str, bits: int = 5) -> None:
    """The factor of requantization is a fixed-point number of so few bits, rounded down."""
    scale = constant_of(model, find(model, node, "QuantizeLinear")[2].input[1])
    mantissa, exponent = np.frexp(1 / np.float64(scale))
    factor = np.ldexp(np.floor(mantissa * 2**bits) / 2**bits, exponent)
    quantizer(model, node, [("Mul", add_constant(model, np.float32(factor)))], [("Round",)])


@edit("zero-point-moved")
def zero_point_moved(model: onnx.ModelProto, node: str, by: int = 1) -> None:
    """Integers are made with one zero point and read with another."""
    _, _, given = find(model, node, "QuantizeLinear", "DequantizeLinear")
    zero = constant_of(model, given.input[2])
    given.input[2] = add_constant(model, (zero.astype(np.int32) + by).astype(zero.dtype))


@edit("first-scale")
def first_scale(model: onnx.ModelProto, node: str) -> None:
    """The scale of the first channel serves all when integers are taken back."""
    _, _, given = find(model, node, "DequantizeLinear")
    scale = constant_of(model, given.input[1])
    given.input[1] = add_constant(model, np.full_like(scale, scale.reshape(-1)[0]))


@edit("scales-turned")
def scales_turned(model: onnx.ModelProto, node: str, by: int = 1) -> None:
    """The scales of the channels are those of their neighbours: the packed table begins at another channel."""
    _, _, given = find(model, node, "DequantizeLinear")
    given.input[1] = add_constant(model, np.roll(constant_of(model, given.input[1]), by))


@edit("pads-with-code-zero")
def pads_with_code_zero(model: onnx.ModelProto, node: str) -> None:
    """The border of a convolution is filled with the integer 0, which stands for another value than zero."""
    _, _, given = find(model, node, "Conv")
    back = maker(model, given.input[0])
    scale, zero = (constant_of(model, name) for name in back.input[1:3])
    pads = attribute(given, "pads")
    value = add_constant(model, np.float32((0 - zero.astype(np.float32)) * scale))
    half = len(pads) // 2
    sizes = add_constant(model, np.int64([0, 0, *pads[:half], 0, 0, *pads[half:]]))
    node_before(model, node, 0, "Pad", sizes, value)
    set_attribute(given, "pads", [0] * len(pads))


@edit("coarse-bias")
def coarse_bias(model: onnx.ModelProto, node: str, step: float = 2048.0) -> None:
    """The bias is kept in steps that are so many times those of the accumulator."""
    _, _, given = find(model, node, "Conv", "Gemm")
    scale = constant_of(model, maker(model, given.input[0]).input[1])
    weights = constant_of(model, maker(model, given.input[1]).input[1])
    bias, unit = constant_of(model, given.input[2]), np.float64(scale) * weights * step
    given.input[2] = add_constant(model, np.float32(np.rint(bias / unit) * unit))


@edit("accumulator-wraps")
def accumulator_wraps(model: onnx.ModelProto, node: str, bits: int = 16) -> None:
    """The sum of products is kept in so few bits and wraps around, for all output channels."""
    _, _, given = find(model, node, "Conv", "MatMul", "Gemm")
    scale = constant_of(model, maker(model, given.input[0]).input[1])
    weights = constant_of(model, maker(model, given.input[1]).input[1])
    shape, result = (1, -1, 1, 1) if given.op_type == "Conv" else (1, -1), given.output[0]
    unit = np.float32(scale * weights).reshape(shape if np.size(weights) > 1 else ())
    bias = constant_of(model, given.input[2]) if len(given.input) > 2 else None
    rest = np.float32(0 if bias is None else bias.reshape(shape))
    if bias is not None:
        del given.input[2]
    constants = {
        name: add_constant(model, np.float32(value))
        for name, value in {"unit": unit, "rest": rest, "half": 2 ** (bits - 1), "span": 2**bits}.items()
    }
    steps = (
        ("Div", constants["unit"]),
        ("Round",),
        ("Add", constants["half"]),
        ("Mod", constants["span"], {"fmod": 0}),
        ("Sub", constants["half"]),
        ("Mul", constants["unit"]),
        ("Add", constants["rest"]),
    )
    for step in wrapped(steps, constants["span"]):
        last = maker(model, result).name
        attributes = step[-1] if isinstance(step[-1], dict) else {}
        node_after(model, last, step[0], *(name for name in step[1:] if isinstance(name, str)), **attributes)


def wrapped(steps: tuple, span: str) -> list[tuple]:
    """Mod of floats has the sign of the dividend in ONNX: once more after adding the span it has none."""
    made = []
    for step in steps:
        made += [("Mod", span, {"fmod": 1}), ("Add", span), ("Mod", span, {"fmod": 1})] if step[0] == "Mod" else [step]
    return made


def codes(model: onnx.ModelProto, back: str) -> tuple[str, np.ndarray, np.ndarray]:
    """Gives, for the result of a DequantizeLinear, its integers, scale and zero point."""
    node = maker(model, back)
    return node.input[0], constant_of(model, node.input[1]), constant_of(model, node.input[2])


def pair_sums(model: onnx.ModelProto, left: str, right: str, size: int, columns: int) -> list[tuple]:
    """Steps from integers [.., K] in floats to the sums of products of neighbours along K, each kept within 16 bits."""
    pairs = add_constant(model, np.int64([-1, size // 2, 2]))
    low, high = add_constant(model, np.float32(-32768)), add_constant(model, np.float32(32767))
    axes = add_constant(model, np.int64([0]))
    return [
        ("Reshape", pairs),
        ("Transpose", {"perm": [1, 0, 2]}),
        ("MatMul", right),
        ("Clip", low, high),
        ("ReduceSum", axes, {"keepdims": 0}),
    ]


@edit("pairs-saturate")
def pairs_saturate(model: onnx.ModelProto, node: str) -> None:
    """Products of unsigned and signed bytes are added in pairs in 16 bits, and saturate: vpmaddubsw.

    For a MatMulInteger, and for a MatMul, Gemm or pointwise Conv of values that DequantizeLinear gives, of an even K.
    """
    _, _, given = find(model, node, "MatMulInteger", "MatMul", "Gemm", "Conv")
    if given.op_type == "MatMulInteger":
        left, right = given.input[:2]
        weights, unit, zero = constant_of(model, right).astype(np.float32), None, 0.0
    else:
        left, scale, zero = codes(model, given.input[0])
        unit, weights = integer_weights(model, given)
        unit = np.float32(scale * unit)
    size, columns = weights.shape
    pairs = add_constant(model, weights.reshape(size // 2, 2, columns))
    cast = ("Cast", {"to": TensorProto.FLOAT})
    steps = [cast, *pair_sums(model, left, pairs, size, columns)]
    if given.op_type == "MatMulInteger":
        replace_node(
            model, node, *chain(model, left, *steps, ("Cast", {"to": TensorProto.INT32}), last=given.output[0])
        )
        return
    bias = constant_of(model, given.input[2]) if len(given.input) > 2 else 0
    steps += [
        ("Sub", add_constant(model, np.float32(zero) * weights.sum(axis=0))),
        ("Mul", add_constant(model, unit)),
        ("Add", add_constant(model, np.float32(bias))),
    ]
    finish(model, given, left, steps, cast, columns)


def integer_weights(model: onnx.ModelProto, given: onnx.NodeProto) -> tuple[np.ndarray, np.ndarray]:
    """Scale per column, and the integers as a matrix [K, N]."""
    back = maker(model, given.input[1])
    scale, quantize = constant_of(model, back.input[1]), maker(model, back.input[0])
    floats = constant_of(model, quantize.input[0])
    axis = attribute(back, "axis", 1)
    shape = [-1 if i == axis else 1 for i in range(floats.ndim)] if scale.ndim else []
    integers = np.clip(np.rint(floats / scale.reshape(shape)), -128, 127).astype(np.float32)
    turned = given.op_type == "Conv" or given.op_type == "Gemm" and attribute(given, "transB", 0)
    matrix = integers.reshape(integers.shape[0], -1)
    return scale, matrix.T if turned else matrix


def finish(model: onnx.ModelProto, given: onnx.NodeProto, left: str, steps: list, cast: tuple, columns: int) -> None:
    """The matrix of results in the layout that the node gives it. Sizes of a Conv come from the integers that it
    reads."""
    name, result = given.name, given.output[0]
    if given.op_type != "Conv":
        shape = fresh(model, "e")
        plain = helper.make_node(given.op_type, list(given.input), [fresh(model, "f")], name=fresh(model, "y"))
        plain.attribute.extend(given.attribute)
        sizes = helper.make_node("Shape", [plain.output[0]], [shape], name=fresh(model, "z"))
        made = chain(model, left, *steps, ("Reshape", shape), last=result)
        replace_node(model, name, plain, sizes, *made)
        return
    plain = helper.make_node("Conv", list(given.input), [fresh(model, "f")], name=fresh(model, "y"))
    plain.attribute.extend(given.attribute)
    last = helper.make_node(
        "Transpose", [plain.output[0]], [fresh(model, "g")], name=fresh(model, "v"), perm=[0, 2, 3, 1]
    )
    sizes = helper.make_node("Shape", [last.output[0]], [fresh(model, "h")], name=fresh(model, "z"))
    made = chain(
        model,
        left,
        ("Transpose", {"perm": [0, 2, 3, 1]}),
        *steps,
        ("Reshape", sizes.output[0]),
        ("Transpose", {"perm": [0, 3, 1, 2]}),
        last=result,
    )
    replace_node(model, name, plain, last, sizes, *made)
