"""Several operators as exporters write them, for what engines fuse."""

import numpy as np
from builder import CannotDraw
from draw import Recipe
from families.convolution import conv
from families.products import softmax_of_products
from registry import OPERATORS, operator

ACTIVATIONS = ["Relu", "Sigmoid", "HardSwish", "Clip", "silu", "gelu", "Tanh", "LeakyRelu", "hard_swish", "Mish", "Elu"]


def kind_for(b):
    return b.kind("MatMul", among=["float", "float16", "bfloat16", "double"])


def last(b):
    value = list(b.values.values())[-1]
    if value.shape is None:
        raise CannotDraw("no shape")
    return value


def activation(b, x, name=None):
    name = name or b.pick(ACTIVATIONS)
    if name == "silu":
        (gate,) = b.node("Sigmoid", [x])
        return b.node("Mul", [x, gate] if b.chance(0.5) else [gate, x])[0]
    if name == "gelu":
        (scaled,) = b.node("Div", [x, b.constant(np.sqrt(2), x.kind)])
        (erf,) = b.node("Erf", [scaled])
        (plus,) = b.node("Add", [erf, b.constant(1, x.kind)])
        (product,) = b.node("Mul", [x, plus])
        return b.node("Mul", [product, b.constant(0.5, x.kind)])[0]
    if name == "hard_swish":
        (gate,) = b.node("HardSigmoid", [x], alpha=1 / 6, beta=0.5)
        return b.node("Mul", [x, gate])[0]
    if name == "Clip":
        return b.node("Clip", [x, b.constant(0, x.kind), b.constant(b.pick([1, 6]), x.kind)])[0]
    return b.node(name, [x])[0]


@operator("P_ConvBlock")
def conv_block(b, op):
    b.main_kind = kind_for(b)
    conv(b, "Conv")
    x = last(b)
    if b.chance(0.5):
        c, kind = x.shape[1], x.kind
        inputs = [b.new(kind, (c,), recipe, constant=True) for recipe in (None, None, None, Recipe(0.3, 3, special=False))]
        (x,) = b.node("BatchNormalization", [x, *inputs])
    if b.chance(0.4):
        (x,) = b.node("Add", [x, b.value(x.kind, x.shape)])
    x = activation(b, x)
    if b.chance(0.5):
        (w,) = [b.new(x.kind, (x.shape[1], 1, *(b.pick([1, 3]) for _ in x.shape[2:])), Recipe(-1, 1), constant=True)]
        pads = [size // 2 for size in w.shape[2:]] * 2
        (x,) = b.node("Conv", [x, w], group=x.shape[1], pads=pads)
        activation(b, x)


@operator("P_Linear")
def linear(b, op):
    kind = kind_for(b)
    x = b.value(kind, where=lambda s: len(s) >= 2, most=33)
    n = b.size(33)
    (y,) = b.node("MatMul", [x, b.new(kind, (x.shape[-1], n), Recipe(-1, 1), constant=True)])
    (y,) = b.node("Add", [y, b.new(kind, (n,), constant=True)])
    if b.chance(0.7):
        y = activation(b, y)
    if b.chance(0.4):
        b.node("Add", [y, b.value(kind, y.shape)])


@operator("P_Attention")
def attention(b, op):
    softmax_of_products(b, kind_for(b))


@operator("P_LayerNorm")
def layer_norm(b, op):
    kind = kind_for(b)
    x = b.value(kind, where=lambda s: len(s) > 0 and 0 not in s)
    if b.chance(0.4):
        (x,) = b.node("Add", [x, b.value(kind, x.shape)])
    axes = b.constant([-1], "int64") if b.opset >= 18 else None
    mean = lambda v: b.node("ReduceMean", [v, axes], axes=None if axes else [-1])[0]
    (centred,) = b.node("Sub", [x, mean(x)]) if b.chance(0.7) else [x]
    (squared,) = b.node("Pow", [centred, b.constant(2, kind)]) if b.chance(0.5) else b.node("Mul", [centred, centred])
    (variance,) = b.node("Add", [mean(squared), b.constant(1e-3, kind)])
    (deviation,) = b.node("Sqrt", [variance])
    (y,) = b.node("Div", [centred, deviation])
    (y,) = b.node("Mul", [y, b.new(kind, x.shape[-1:], constant=True)])
    if b.chance(0.6):
        b.node("Add", [y, b.new(kind, x.shape[-1:], constant=True)])


@operator("P_SoftmaxParts")
def softmax_parts(b, op):
    kind = kind_for(b)
    x = b.value(kind, where=lambda s: len(s) > 0 and 0 not in s)
    axes = b.constant([-1], "int64") if b.opset >= 18 else None
    reduce = lambda name, v: b.node(name, [v, b.constant([-1], "int64") if name == "ReduceSum" else axes], axes=None if axes or name == "ReduceSum" else [-1])[0]
    (centred,) = b.node("Sub", [x, reduce("ReduceMax", x)])
    (e,) = b.node("Exp", [centred])
    b.node("Div", [e, reduce("ReduceSum", e)])


@operator("P_Movement")
def movement(b, op):
    """Transposes, reshapes and slices around something that computes."""
    b.main_kind = b.main_kind or kind_for(b)
    for _ in range(b.integer(1, 3)):
        OPERATORS[b.pick(["Transpose", "Reshape", "Unsqueeze", "Slice", "Concat", "Split"])](b)
    OPERATORS[b.pick(["Add", "MatMul", "Softmax", "ReduceMean", "Relu", "LayerNormalization"])](b)
    OPERATORS[b.pick(["Transpose", "Reshape", "Flatten", "Concat"])](b)


@operator("P_ShapeArithmetic")
def shape_arithmetic(b, op):
    """Shape, Gather, Concat, Reshape: sizes computed from sizes, as exporters of free sizes write them."""
    kind = kind_for(b)
    x = b.value(kind, where=lambda s: len(s) >= 2 and 0 not in s)
    (sizes,) = b.node("Shape", [x])
    (first,) = b.node("Gather", [sizes, b.constant([0], "int64")], axis=0)
    (target,) = b.node("Concat", [first, b.constant([-1], "int64")], axis=0)
    (y,) = b.node("Reshape", [x, target])
    if b.chance(0.5):
        b.node(b.pick(["Relu", "Softmax", "Neg"]), [y])


