"""Small graphs, and changes of real models, in which floating-point arithmetic can go wrong."""

from collections.abc import Callable

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from edits import attribute, find
from planting import builder, loaded

FLOAT, HALF = TensorProto.FLOAT, TensorProto.FLOAT16


class Net:
    """A graph that is written node by node: net("MatMul", "x", array) is the name of the result. Nodes are n1, n2…"""

    def __init__(self, opset: int = 17):
        self.opset, self.nodes, self.weights = opset, [], {}

    def __call__(self, operator: str, *inputs, result: str | None = None, **attributes) -> str:
        names = []
        for given in inputs:
            if not isinstance(given, str):
                self.weights[f"c{len(self.weights) + 1}"] = np.asarray(given)
                given = f"c{len(self.weights)}"
            names.append(given)
        number = len(self.nodes) + 1
        self.nodes.append(helper.make_node(operator, names, [result or f"v{number}"], name=f"n{number}", **attributes))
        return self.nodes[-1].output[0]

    def node(self, value: str) -> str:
        """The name of the node that makes the value."""
        return next(node.name for node in self.nodes if value in node.output)

    def model(self, inputs: dict, outputs: dict) -> onnx.ModelProto:
        return builder(self.nodes, inputs, outputs, self.weights, self.opset)


def normal(seed: int, *shape: int, scale: float = 1.0) -> np.ndarray:
    return (scale * np.random.default_rng(seed).standard_normal(shape)).astype(np.float32)


def weights(seed: int, rows: int, columns: int) -> np.ndarray:
    """A matrix that keeps the size of what it is multiplied with."""
    return normal(seed, rows, columns, scale=rows**-0.5)


def changed(model, change: Callable[[onnx.ModelProto], None]) -> Callable[[], onnx.ModelProto]:
    """A real model with a change, as Case.model wants it."""

    def make() -> onnx.ModelProto:
        made = onnx.load(model)
        change(made)
        return made

    return make


def name_all(model: onnx.ModelProto) -> None:
    """Gives every node a name of its own."""
    names = [node.name for node in model.graph.node]
    for i, node in enumerate(model.graph.node):
        if not node.name or names.count(node.name) > 1:
            node.name = f"node_{i}"


def names(model, *operators: str) -> frozenset[str]:
    """All nodes of the main graph that have these operators."""
    graph = loaded(model).graph if not isinstance(model, onnx.ModelProto) else model.graph
    return frozenset(node.name for node in graph.node if node.op_type in operators)


def put_constant(model: onnx.ModelProto, node: onnx.NodeProto, index: int, array: np.ndarray) -> None:
    name = f"{node.name or 'n'}_{index}_w"
    while any(tensor.name == name for tensor in model.graph.initializer):
        name += "_"
    model.graph.initializer.append(numpy_helper.from_array(np.asarray(array), name))
    node.input[index] = name


def weight(model: onnx.ModelProto, node: onnx.NodeProto, index: int = 1) -> np.ndarray:
    return next(numpy_helper.to_array(tensor) for tensor in model.graph.initializer if tensor.name == node.input[index])


def shrink_rows(model: onnx.ModelProto, first: str, factor: float, share: float = 0.5) -> None:
    """Channels of a convolution before a Relu are made smaller, and the weights of the next convolution larger."""
    graph, _, conv = find(model, first, "Conv")
    relu = next(node for node in graph.node if conv.output[0] in node.input and node.op_type == "Relu")
    second = next(node for node in graph.node if relu.output[0] in node.input)
    w, v = weight(model, conv).copy(), weight(model, second).copy()
    kept = int(w.shape[0] * share)
    w[kept:] *= np.float32(factor)
    v[:, kept:] /= np.float32(factor)
    put_constant(model, conv, 1, w)
    put_constant(model, second, 1, v)
    if len(conv.input) > 2:
        b = weight(model, conv, 2).copy()
        b[kept:] *= np.float32(factor)
        put_constant(model, conv, 2, b)


def let_cancel(model: onnx.ModelProto, name: str, amount: float) -> None:
    """A product with a matrix gets every operand twice, with weights of which the large part cancels."""
    graph, place, node = find(model, name, "Conv", "Gemm", "MatMul")
    w, axis = weight(model, node), 1
    if node.op_type == "MatMul" or (node.op_type == "Gemm" and not attribute(node, "transB", 0)):
        axis = w.ndim - 2
    twice = helper.make_node(
        "Concat", [node.input[0]] * 2, [f"{name}_t"], name=f"{name}_c", axis=-1 if node.op_type == "MatMul" else 1
    )
    put_constant(model, node, 1, np.concatenate([w + np.float32(amount), np.full_like(w, -amount)], axis))
    node.input[0] = twice.output[0]
    graph.node.insert(place, twice)


def change_norm(model: onnx.ModelProto, mean: str, operator: str, amount: float) -> None:
    """Gives the operand of a normalisation an offset or a factor, which it takes away. `mean` is its first ReduceMean."""
    graph, place, node = find(model, mean, "ReduceMean")
    value = node.input[0]
    put = helper.make_node(operator, [value, f"{mean}_o"], [f"{mean}_s"], name=f"{mean}_a")
    model.graph.initializer.append(numpy_helper.from_array(np.float32(amount), f"{mean}_o"))
    for each in graph.node:
        if each.name == mean or (each.op_type == "Sub" and list(each.input) == [value, node.output[0]]):
            each.input[0] = put.output[0]
    graph.node.insert(place, put)


def mask_scores(model: onnx.ModelProto, softmax: str, size: int) -> None:
    """Attention gets a mask, as a padded sequence has: the last two tokens are seen by none, and see none."""
    graph, place, node = find(model, softmax, "Softmax")
    mask = np.zeros((size, size), np.float32)
    mask[:, -2:] = mask[-2:] = np.finfo(np.float32).min
    name = f"{softmax}_m"
    model.graph.initializer.append(numpy_helper.from_array(mask, name))
    made = helper.make_node("Add", [node.input[0], name], [f"{softmax}_s"], name=f"{softmax}_a")
    node.input[0] = made.output[0]
    graph.node.insert(place, made)


def embed_time(model: onnx.ModelProto, value: str, shape: tuple[int, ...], seed: int) -> None:
    """A new input t, a step of 0 to 1000, whose sines and cosines are added to an input. The nodes are time_0, …"""
    size, half = int(np.prod(shape)), 32
    frequencies = np.exp(-np.log(10000.0) * np.arange(half) / half).astype(np.float32)
    constants = {
        "time_f": frequencies,
        "time_w": normal(seed, 2 * half, size, scale=0.2),
        "time_s": np.array(shape, np.int64),
    }
    steps = [
        ("Mul", ["t", "time_f"], {}),
        ("Sin", ["time_v0"], {}),
        ("Cos", ["time_v0"], {}),
        ("Concat", ["time_v1", "time_v2"], {"axis": -1}),
        ("MatMul", ["time_v3", "time_w"], {}),
        ("Reshape", ["time_v4", "time_s"], {}),
        ("Add", [value, "time_v5"], {}),
    ]
    made = [
        helper.make_node(operator, inputs, [f"time_v{i}"], name=f"time_{i}", **given)
        for i, (operator, inputs, given) in enumerate(steps)
    ]
    for node in model.graph.node:
        for i, name in enumerate(node.input):
            if name == value:
                node.input[i] = "time_v6"
    model.graph.input.append(helper.make_tensor_value_info("t", FLOAT, [1, 1]))
    model.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in constants.items())
    for node in reversed(made):
        model.graph.node.insert(0, node)


def truncate_input(model: onnx.ModelProto, value: str, scale: float) -> None:
    """An image is cut to whole grey levels, by a Cast to bytes and back, as cameras deliver it."""
    steps = [
        ("Mul", [value, "grey_s"], {}),
        ("Cast", ["grey_v0"], {"to": TensorProto.UINT8}),
        ("Cast", ["grey_v1"], {"to": FLOAT}),
        ("Div", ["grey_v2", "grey_s"], {}),
    ]
    for node in model.graph.node:
        for i, name in enumerate(node.input):
            if name == value:
                node.input[i] = "grey_v3"
    model.graph.initializer.append(numpy_helper.from_array(np.float32(scale), "grey_s"))
    for i, (operator, inputs, given) in reversed(list(enumerate(steps))):
        model.graph.node.insert(0, helper.make_node(operator, inputs, [f"grey_v{i}"], name=f"grey_{i}", **given))


def quantize_by_offset(model: onnx.ModelProto, value: str, offset: float) -> None:
    """An fp16 value is cut to the steps that fp16 has at the offset, as models do that were trained with few levels."""
    model.graph.initializer.append(numpy_helper.from_array(np.array(offset, np.float16), "step_o"))
    for node in model.graph.node:
        for i, name in enumerate(node.input):
            if name == value:
                node.input[i] = "step_v1"
    model.graph.node.insert(0, helper.make_node("Sub", ["step_v0", "step_o"], ["step_v1"], name="step_1"))
    model.graph.node.insert(0, helper.make_node("Add", [value, "step_o"], ["step_v0"], name="step_0"))


def halve(model: onnx.ModelProto, keep: frozenset[str] = frozenset()) -> None:
    """Types the model as fp16, inputs and outputs as well; the nodes `keep` stay in floats, between Casts."""
    graph = model.graph
    del graph.value_info[:]
    constants = {tensor.name for tensor in graph.initializer if tensor.data_type == FLOAT}
    for value in [*graph.input, *graph.output]:
        if value.type.tensor_type.elem_type == FLOAT:
            value.type.tensor_type.elem_type = HALF
    narrow = {value.name for value in graph.input if value.type.tensor_type.elem_type == HALF} | constants
    nodes, wide = [], {}
    for node in graph.node:
        if node.op_type == "Constant" and node.attribute[0].name == "value" and node.attribute[0].t.data_type == FLOAT:
            constants.add(node.output[0])
            graph.initializer.append(
                numpy_helper.from_array(numpy_helper.to_array(node.attribute[0].t), node.output[0])
            )
            narrow.add(node.output[0])
            continue
        nodes += _halved(node, narrow, wide, node.name in keep, constants)
    for tensor in list(graph.initializer):
        if tensor.name in constants:
            array = numpy_helper.to_array(tensor)
            graph.initializer.append(numpy_helper.from_array(array, f"{tensor.name}_wide"))
            with np.errstate(over="ignore"):
                tensor.CopyFrom(numpy_helper.from_array(array.astype(np.float16), tensor.name))
    read = {name for node in nodes for name in node.input} | {value.name for value in graph.output}
    del graph.node[:]
    graph.node.extend(node for node in nodes if any(name in read for name in node.output))


def _halved(node, narrow: set, wide: dict, kept: bool, constants: set) -> list[onnx.NodeProto]:
    """The node, with Casts around it where it is kept in floats or reads what is."""
    before, after = [], []
    made = onnx.NodeProto()
    made.CopyFrom(node)
    reads_floats = any(name in narrow or name in wide for name in node.input)
    for i, name in enumerate(node.input):
        if kept and name in constants:
            made.input[i] = f"{name}_wide"
        elif kept and name in wide:
            made.input[i] = wide[name]
        elif kept and name in narrow:
            wide[name] = f"{name}_f"
            before.append(helper.make_node("Cast", [name], [wide[name]], name=f"{node.name}_in{i}", to=FLOAT))
            made.input[i] = wide[name]
    if node.op_type == "Cast" and attribute(node, "to") == FLOAT and not kept:
        made.CopyFrom(helper.make_node("Cast", list(node.input), list(node.output), name=node.name, to=HALF))
        narrow.add(node.output[0])
        return [made]
    if not reads_floats or node.op_type in ("Shape", "ArgMax", "Cast"):
        return [made]
    for i, name in enumerate(node.output):
        narrow.add(name)
        if kept:
            wide[name] = f"{name}_f"
            made.output[i] = wide[name]
            after.append(helper.make_node("Cast", [wide[name]], [name], name=f"{node.name}_out{i}", to=HALF))
    return [*before, made, *after]
