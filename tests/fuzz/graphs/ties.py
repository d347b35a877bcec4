"""Quantized elements that lie so near a tie that either neighbour is right."""

import draw
import numpy as np
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

ROUNDING = {"QuantizeLinear": (1, 2), "QLinearConv": (6, 7), "QLinearMatMul": (6, 7)}  # which inputs are scale and zero point of the output


def ties(node, case, taps, limits):
    """Which elements of a node of ROUNDING lie near a tie; None where that is not known."""
    values = {**case.constants(), **case.samples[0], **taps}
    if any(name and name not in values for name in node.input):
        return None
    scale_at, zero_at = ROUNDING[node.op_type]
    x = accumulated(node, values)
    scale = along_axis(values[node.input[scale_at]], node, x)
    limits_of_type = np.iinfo(integer_type(node, case))
    has_zero = len(node.input) > zero_at and node.input[zero_at]
    zero = along_axis(values[node.input[zero_at]], node, x) if has_zero else 0.0
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        q = x / scale
        inside = (q + zero >= limits_of_type.min - 1) & (q + zero <= limits_of_type.max + 1)  # what lies outside is clamped
        size = np.abs(q) if node.input[0] in limits.exact else np.full(q.shape, np.abs(q[inside]).max(initial=1))
        near = np.abs(q - np.floor(q) - 0.5) <= 1e-5 * np.maximum(size, 1) + size * limits.roundoff * 4
    return near & inside


def along_axis(value, node, x):
    """A scale or zero point, shaped so that it broadcasts over `x`."""
    value = np.asarray(value).astype(np.float64)
    if node.op_type != "QuantizeLinear" or value.ndim != 1 or not x.ndim:
        return value.reshape(()) if value.size == 1 else value
    axis = next((attribute.i for attribute in node.attribute if attribute.name == "axis"), 1)
    return value.reshape([-1 if i == axis % x.ndim else 1 for i in range(x.ndim)])


def accumulated(node, values):
    """The real numbers that the node divides by the scale of its output and rounds."""
    operand = lambda i: np.asarray(values[node.input[i]]).astype(np.float64)
    if node.op_type == "QuantizeLinear":
        return operand(0)
    a, b = (operand(0) - operand(2)) * operand(1), operand(3)
    if node.op_type == "QLinearMatMul":
        per_row = lambda value, rank: value[..., None] if value.ndim == rank - 1 and value.ndim else value
        a = (operand(0) - per_row(operand(2), a.ndim)) * per_row(operand(1), a.ndim)
        return np.matmul(a, (b - operand(5)) * operand(4))
    per_channel = lambda value: value.reshape([-1] + [1] * (b.ndim - 1)) if value.size > 1 else value.reshape(())
    result = convolve(node, a, (b - per_channel(operand(5))) * per_channel(operand(4)))
    if len(node.input) > 8 and node.input[8]:
        channels = [1, -1] + [1] * (result.ndim - 2)
        result = result + (operand(8) * operand(1) * operand(4).reshape(-1)).reshape(channels)
    return result


def convolve(node, x, w):
    inputs = [helper.make_tensor_value_info(name, TensorProto.DOUBLE, None) for name in "xw"]
    output = helper.make_tensor_value_info("y", TensorProto.DOUBLE, None)
    conv = helper.make_node("Conv", ["x", "w"], ["y"])
    conv.attribute.extend(node.attribute)
    graph = helper.make_graph([conv], "accumulate", inputs, [output])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 11)])
    return np.asarray(ReferenceEvaluator(model).run(None, {"x": x, "w": w})[0])


def integer_type(node, case):
    kind = case.types.get(node.output[0], "uint8")
    return draw.dtype_of(kind if kind in draw.INTEGERS else "uint8")


def near_ties(case, taps, limits):
    """Whether an inner node of ROUNDING has an element near a tie: what follows it is not determined."""
    for node in case.model.graph.node:
        if node.op_type in ROUNDING and (node.op_type != "QuantizeLinear" or node.input[0] not in limits.exact):
            near = ties(node, case, taps, limits)
            if near is None or near.any():
                return True
    return False
