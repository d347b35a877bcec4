"""Edits of what fusions and rewrites lose: operands, biases, attributes, constants."""

import numpy as np
import onnx

from edits import constant_of, edit, find, set_attribute, set_constant


@edit("operand-lost")
def operand_lost(model: onnx.ModelProto, node: str, index: int) -> None:
    """One of two operands is lost: residual, bias, scale or mask. The other one is passed on."""
    changed = find(model, node, "Add", "Sub", "Mul", "Div", "Sum", "Max", "Min")[2]
    kept = changed.input[1 - index]
    del changed.input[:]
    changed.input.append(kept)
    changed.op_type = "Identity"


@edit("function-lost")
def function_lost(model: onnx.ModelProto, node: str) -> None:
    """An activation is not computed: what it reads is passed on."""
    changed = find(model, node)[2]
    del changed.input[1:], changed.attribute[:]
    changed.op_type = "Identity"


@edit("where-lost")
def where_lost(model: onnx.ModelProto, node: str, kept: int) -> None:
    """The choice of Where is lost: everything is taken from its input `kept`, 1 or 2."""
    changed = find(model, node, "Where")[2]
    value = changed.input[kept]
    del changed.input[:]
    changed.input.append(value)
    changed.op_type = "Identity"


@edit("bias-lost")
def bias_lost(model: onnx.ModelProto, node: str) -> None:
    """The third input of Conv, ConvTranspose or Gemm is lost."""
    del find(model, node, "Conv", "ConvTranspose", "Gemm")[2].input[2:]


@edit("attribute")
def attribute_changed(model: onnx.ModelProto, node: str, key: str, value) -> None:
    """An attribute is read as another one: a mode, an axis, an eps. None: its default."""
    set_attribute(find(model, node)[2], key, value)


@edit("constant-scaled")
def constant_scaled(model: onnx.ModelProto, node: str, index: int, factor: float) -> None:
    """A constant operand has another value, as an eps that a fused kernel has built in."""
    changed = find(model, node)[2]
    old = constant_of(model, changed.input[index])
    set_constant(model, changed, index, (old * np.asarray(factor)).astype(old.dtype))


@edit("constant-rolled")
def constant_rolled(model: onnx.ModelProto, node: str, index: int, by: int, axis: int = 0) -> None:
    """The elements of a constant operand serve their neighbours: channels in the wrong order."""
    changed = find(model, node)[2]
    set_constant(model, changed, index, np.roll(constant_of(model, changed.input[index]), by, axis))


@edit("constant-flipped")
def constant_flipped(model: onnx.ModelProto, node: str, index: int, axes: list[int]) -> None:
    """A weight lies mirrored in memory, as where a transposed convolution becomes a plain one."""
    changed = find(model, node)[2]
    set_constant(model, changed, index, np.ascontiguousarray(np.flip(constant_of(model, changed.input[index]), axes)))


@edit("inputs-exchanged")
def inputs_exchanged(model: onnx.ModelProto, node: str, first: int, second: int) -> None:
    """Two inputs stand in each other's place."""
    changed = find(model, node)[2]
    changed.input[first], changed.input[second] = changed.input[second], changed.input[first]


@edit("shape-frozen")
def shape_frozen(model: onnx.ModelProto, node: str, sizes: list[int]) -> None:
    """Shape still gives the sizes for which the engine was tuned."""
    changed = find(model, node, "Shape")[2]
    set_constant(model, changed, 0, np.asarray(sizes, np.int64))
    changed.op_type = "Identity"
    del changed.attribute[:]
