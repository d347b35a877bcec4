"""Quantized operators, and QuantizeLinear and DequantizeLinear around ordinary ones."""

import numpy as np
from builder import CannotDraw
from draw import Recipe
from families.convolution import conv_shapes, image, window
from registry import operator

SMALL = ["int8", "uint8"]


def scale(b, kind="float", shape=(), low=0.005, high=0.05):
    values = np.exp(b.rng.uniform(np.log(low), np.log(high), shape))
    return b.constant(2.0 ** np.round(np.log2(values)) if b.chance(0.3) else values, kind)


def zero_point(b, kind, shape=(), zero=None):
    if zero if zero is not None else b.chance(0.4):
        return b.constant(np.zeros(shape), kind)
    low = -9 if kind[0] == "i" else 100
    return b.constant(b.rng.integers(low, low + 40 if kind != "int8" else 12, shape), kind)


@operator("QuantizeLinear")
def quantize(b, op):
    kind = b.kind(op, among=["float", "float16", "bfloat16"] if b.opset >= 19 else ["float"])
    to = b.pick(SMALL + (["int16", "uint16"] if b.opset >= 21 else []))
    x = b.value(kind, exact=True)
    if x.shape and b.chance(0.4):
        axis = b.integer(0, len(x.shape) - 1)
        n = x.shape[axis]
        zero = zero_point(b, to, (n,)) if b.chance(0.7) or to != "uint8" else None
        return b.node(op, [x, scale(b, kind, (n,)), zero], axis=axis - (len(x.shape) if b.chance(0.3) else 0))
    return b.node(op, [x, scale(b, kind), zero_point(b, to) if b.chance(0.7) or to != "uint8" else None])


@operator("DequantizeLinear")
def dequantize(b, op):
    kind = b.pick(SMALL + ["int32"] + (["int16", "uint16"] if b.opset >= 21 else []))
    to = b.pick(["float", "float", "float16", "bfloat16"]) if b.opset >= 19 else "float"
    x = b.value(kind)
    shape = ()
    axis = None
    if x.shape and b.chance(0.4):
        axis = b.integer(0, len(x.shape) - 1)
        shape = (x.shape[axis],)
    zero = zero_point(b, kind, shape, zero=kind == "int32") if b.chance(0.6) else None
    return b.node(op, [x, scale(b, to, shape), zero], axis=axis)


@operator("DynamicQuantizeLinear")
def dynamic_quantize(b, op):
    b.node(op, [b.value("float", exact=True, where=lambda s: 0 not in s)], outputs=3)


def quantized(b, kind, shape, constant=None):
    return b.value(kind, shape, recipe=Recipe(-128 if kind == "int8" else 0, 127 if kind == "int8" else 255), constant=constant)


@operator("QLinearMatMul")
def qlinear_matmul(b, op):
    m, k, n = b.size(17), b.integer(1, 33), b.size(17)
    kinds = b.pick([("uint8", "int8", "uint8"), ("uint8", "uint8", "uint8"), ("int8", "int8", "int8")])
    a, w = quantized(b, kinds[0], b.shape(b.pick([0, 0, 1])) + (m, k)), quantized(b, kinds[1], (k, n))
    columns = (n,) if b.chance(0.3) else ()
    b.node(op, [a, scale(b), zero_point(b, kinds[0]), w, scale(b, shape=columns), zero_point(b, kinds[1], columns), scale(b, low=0.02, high=0.2), zero_point(b, kinds[2])])


@operator("QLinearConv")
def qlinear_conv(b, op):
    kind, weights = b.pick([("uint8", "int8"), ("uint8", "uint8"), ("int8", "int8")])
    x = image(b, kind, rank=2, recipe=Recipe(0, 127))
    group, outputs, kernel = conv_shapes(b, x)
    w = quantized(b, weights, (outputs, x.shape[1] // group, *kernel), True)
    per = (outputs,) if b.chance(0.5) else ()
    bias = b.new("int32", (outputs,), Recipe(-500, 500, special=False), constant=True) if b.chance(0.5) else None
    inputs = [x, scale(b), zero_point(b, kind), w, scale(b, shape=per), zero_point(b, weights, per, zero=True if per else None), scale(b, low=0.02, high=0.2), zero_point(b, kind), bias]
    b.node(op, inputs, group=group if group > 1 else None, **window(b, x.shape[2:], kernel))


def around(b, x, to="uint8", low=0.01, high=0.05):
    """QuantizeLinear and DequantizeLinear behind a float value."""
    s, z = scale(b, "float", low=low, high=high), zero_point(b, to)
    (q,) = b.node("QuantizeLinear", [x, s, z])
    (result,) = b.node("DequantizeLinear", [q, s, z])
    return result


def constant_around(b, shape, axis=None):
    per = (shape[axis],) if axis is not None and b.chance(0.6) else ()
    w = b.new("int8", shape, Recipe(-127, 127), constant=True)
    (result,) = b.node("DequantizeLinear", [w, scale(b, "float", per), zero_point(b, "int8", per, zero=True)], axis=axis if per else None)
    return result


@operator("QDQ_Conv")
def qdq_conv(b, op):
    x = image(b, "float", rank=2, channels=b.pick([None, 3, 8, 16, 32]))
    group, outputs, kernel = conv_shapes(b, x)
    x = around(b, x, b.pick(SMALL))
    w = constant_around(b, (outputs, x.shape[1] // group, *kernel), 0)
    bias = b.new("float", (outputs,), constant=True) if b.chance(0.5) else None
    (y,) = b.node("Conv", [x, w, bias], group=group if group > 1 else None, **window(b, x.shape[2:], kernel))
    finish(b, y)


@operator("QDQ_MatMul")
def qdq_matmul(b, op):
    shape = b.shape(b.pick([1, 1, 2, 3]), 16)[:-1] + (b.integer(1, 9), b.pick([1, 3, 4, 8, 16, 32, 33]))
    x = around(b, b.value("float", shape), b.pick(SMALL))
    n = b.pick([1, 3, 8, 16, 17, 32])
    w = constant_around(b, (shape[-1], n), 1) if b.chance(0.8) else around(b, b.value("float", (shape[-1], n)), "int8")
    (y,) = b.node("MatMul", [x, w])
    if b.chance(0.5):
        (y,) = b.node("Add", [y, b.new("float", (n,), constant=True)])
    finish(b, y)


def finish(b, y):
    if y.shape is None:
        raise CannotDraw("no shape")
    if b.chance(0.4):
        (y,) = b.node(b.pick(["Relu", "Sigmoid", "HardSwish", "Tanh"]), [y])
    if b.chance(0.3):
        (y,) = b.node("Add", [y, around(b, b.value("float", y.shape), b.pick(SMALL))])
    if b.chance(0.75):
        around(b, y, b.pick(SMALL), 0.02, 0.2)


@operator("QDQ_Pointwise")
def qdq_pointwise(b, op):
    x = around(b, b.value("float", where=lambda s: len(s) > 0), b.pick(SMALL))
    step = b.pick(["Relu", "Sigmoid", "Add", "Mul", "MaxPool", "GlobalAveragePool", "Concat", "Softmax", "Transpose", "Reshape", "Resize"])
    if step in ("Add", "Mul"):
        (y,) = b.node(step, [x, around(b, b.broadcast(x.shape, "float"), b.pick(SMALL))])
    elif step == "Concat":
        (y,) = b.node(step, [x, around(b, b.value("float", x.shape), b.pick(SMALL))], axis=0)
    elif step == "Reshape":
        (y,) = b.node(step, [x, b.constant([int(np.prod(x.shape))], "int64")])
    elif step == "MaxPool" and len(x.shape) == 4 and 0 not in x.shape:
        (y,) = b.node(step, [x], kernel_shape=[1, 1], strides=[2, 2])
    elif step == "GlobalAveragePool" and len(x.shape) >= 3 and 0 not in x.shape:
        (y,) = b.node(step, [x])
    elif step == "Resize" and len(x.shape) == 4 and 0 not in x.shape:
        (y,) = b.node(step, [x, None, b.constant([1, 1, 2, 2], "float")], mode="nearest")
    else:
        (y,) = b.node("Softmax" if step == "Softmax" else "Transpose" if step == "Transpose" else "Relu", [x])
    if b.chance(0.8):
        around(b, y, b.pick(SMALL), 0.005, 0.05)
