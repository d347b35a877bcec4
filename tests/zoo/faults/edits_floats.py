"""Faults of floating-point arithmetic: what a narrow type does to a node, to its weights and to its sums."""

import numpy as np
import onnx
from onnx import TensorProto, helper

from edits import MOVES, attribute, constant_of, edit, find, fresh, graphs_of, opset_of, set_constant
from rounding import Rounder, element_types, rounded_array


def chosen(model: onnx.ModelProto, node: str | None, nodes: list[str] | None, operators: list[str] | None) -> list:
    """(graph, node) of the nodes that are named or have one of the operators or, without either, of all."""
    wanted = set(nodes or []) | ({node} if node else set())
    found = [
        (graph, each)
        for graph in graphs_of(model.graph)
        for each in graph.node
        if (each.name in wanted if wanted else each.op_type in operators if operators else each.op_type not in MOVES)
    ]
    if not found or (wanted and len(found) < len(wanted)):
        raise ValueError(f"of {sorted(wanted) or operators} only {[each.name for _, each in found]} are there")
    return found


def put(graph: onnx.GraphProto, place: onnx.NodeProto, before: list, after: list) -> None:
    """Puts new nodes around one that is there."""
    index = next(i for i, node in enumerate(graph.node) if node is place or node == place)
    for node in reversed(after):
        graph.node.insert(index + 1, node)
    for node in reversed(before):
        graph.node.insert(index, node)


def round_operands(
    model: onnx.ModelProto, graph, node, rounder: Rounder, types: dict, saturate: bool, activations: bool
) -> None:
    """Rounds what the node reads: constants once and for all, and, if asked for, activations by nodes before it."""
    before = []
    for i, name in enumerate(list(node.input)):
        if types.get(name) != TensorProto.FLOAT:
            continue
        held = constant_of(model, name)
        if held is not None:
            set_constant(model, node, i, rounded_array(held, rounder.kind, rounder.flush, saturate))
        elif activations:
            before += rounder.nodes(name, rounder.name())
            node.input[i] = before[-1].output[0]
    put(graph, node, before, [])


def round_results(graph, node, rounder: Rounder, types: dict) -> None:
    after = []
    for i, name in enumerate(list(node.output)):
        if name and types.get(name) == TensorProto.FLOAT:
            wide = rounder.name()
            after += rounder.nodes(wide, name)
            node.output[i] = wide
    index = list(graph.node).index(node)
    for made in reversed(after):
        graph.node.insert(index + 1, made)


@edit("computed-in")
def computed_in(model, type: str, node=None, nodes=None, operators=None, flush=False, saturate=False) -> None:
    """Operands and results are of the type; each node is exact otherwise. Without names the whole engine is."""
    types, rounder = element_types(model), Rounder(model, type, flush)
    for graph, each in chosen(model, node, nodes, operators):
        round_operands(model, graph, each, rounder, types, saturate, activations=True)
        round_results(graph, each, rounder, types)


@edit("operands-in")
def operands_in(model, type: str, node=None, nodes=None, operators=None, flush=False) -> None:
    """Operands are cut to the type, sums and results are floats, as matrix units do with TF32 or bf16."""
    types, rounder = element_types(model), Rounder(model, type, flush)
    for graph, each in chosen(model, node, nodes, operators):
        round_operands(model, graph, each, rounder, types, False, activations=True)


@edit("results-in")
def results_in(model, type: str, node=None, nodes=None, operators=None, flush=False) -> None:
    """Only what the nodes make is stored in the type."""
    types, rounder = element_types(model), Rounder(model, type, flush)
    for graph, each in chosen(model, node, nodes, operators):
        round_results(graph, each, rounder, types)


@edit("constants-in")
def constants_in(model, type: str, node=None, nodes=None, operators=None, flush=False, saturate=False) -> None:
    """Weights and other constants of the nodes are stored in the type; the arithmetic is of floats."""
    types, rounder = element_types(model), Rounder(model, type, flush)
    for graph, each in chosen(model, node, nodes, operators):
        round_operands(model, graph, each, rounder, types, saturate, activations=False)


@edit("integers-through")
def integers_through(model, type: str, node: str, input: int = 1) -> None:
    """Integers that the node reads were carried in a floating-point type."""
    kind = element_types(model)[find(model, node)[2].input[input]]
    graph, place, target = find(model, node)
    rounder = Rounder(model, type)
    wide = rounder.node("Cast", [target.input[input]], to=TensorProto.FLOAT)
    back = rounder.node("Cast", [rounder.name()], to=kind)
    target.input[input] = back.output[0]
    for made in reversed([wide, *rounder.nodes(wide.output[0], back.input[0]), back]):
        graph.node.insert(place, made)


@edit("mean-by-sum")
def mean_by_sum(model, type: str, node: str) -> None:
    """A mean is a sum of the type that is divided afterwards: the sum may leave the range although the mean is in it."""
    graph, place, mean = find(model, node, "ReduceMean")
    rounder, operands = Rounder(model, type), list(mean.input)
    axes = attribute(mean, "axes") if len(operands) < 2 else constant_of(model, operands[1]).tolist()
    as_input = opset_of(model) >= 13
    keep = attribute(mean, "keepdims", 1)
    given = {"keepdims": keep} | ({} if as_input or axes is None else {"axes": axes})
    total = rounder.node("ReduceSum", [operands[0]], **given)
    if as_input and axes is not None:
        set_constant(model, total, 1, np.array(axes, np.int64))
    # The count is what sums of ones say, so that it is right for every size.
    zero = rounder.node("Mul", [operands[0], rounder.constant(0.0)])
    ones = rounder.node("Exp", [zero.output[0]])
    count = rounder.node("ReduceSum", [ones.output[0], *list(total.input)[1:]], **given)
    narrow = rounder.nodes(total.output[0], rounder.name())
    ratio = rounder.node("Div", [narrow[-1].output[0], count.output[0]])
    made = [total, *narrow, zero, ones, count, ratio, *rounder.nodes(ratio.output[0], mean.output[0])]
    del graph.node[place]
    for each in reversed(made):
        graph.node.insert(place, each)


@edit("partial-sums-in")
def partial_sums_in(model, type: str, node: str, width: int = 16) -> None:
    """A product of matrices sums `width` products exactly, and adds that to an accumulator of the type."""
    graph, place, target = find(model, node, "MatMul")
    held = constant_of(model, target.input[1])
    if held is None:
        raise ValueError(f"'{node}' has no constant second operand, so how many products there are is not known")
    rounder, summed, made = Rounder(model, type), None, []
    for start in range(0, held.shape[-2], width):
        part = rounder.node("Gather", [target.input[0], ""], axis=-1)
        set_constant(model, part, 1, np.arange(start, min(start + width, held.shape[-2]), dtype=np.int64))
        product = rounder.node("MatMul", [part.output[0], ""])
        set_constant(model, product, 1, held[..., start : start + width, :])
        made += [part, product, *rounder.nodes(product.output[0], rounder.name())]
        if summed:
            total = rounder.node("Add", [summed, made[-1].output[0]])
            made += [total, *rounder.nodes(total.output[0], rounder.name())]
        summed = made[-1].output[0]
    made[-1].output[0] = target.output[0]
    del graph.node[place]
    for each in reversed(made):
        graph.node.insert(place, each)


@edit("running-sum-in")
def running_sum_in(model, type: str, node: str) -> None:
    """A sum over the last axis adds one element after the other to an accumulator of the type."""
    graph, place, total = find(model, node, "ReduceSum")
    rounder = Rounder(model, type)
    kept, step = rounder.name(), rounder.name()
    add = rounder.node("Add", [kept, step])
    body = [add, *rounder.nodes(add.output[0], rounder.name())]
    value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, None)
    inner = helper.make_graph(body, rounder.name(), [value(kept), value(step)], [value(body[-1].output[0])])
    first = rounder.node("ReduceMax", [total.input[0]], axes=[-1], keepdims=0)
    start = rounder.node("Mul", [first.output[0], rounder.constant(0.0)])
    scan = rounder.node("Scan", [start.output[0], total.input[0]], body=inner, num_scan_inputs=1, scan_input_axes=[-1])
    made = [first, start, scan]
    if attribute(total, "keepdims", 1):
        made.append(rounder.node("Unsqueeze", [scan.output[0], ""], total.output[0]))
        set_constant(model, made[-1], 1, np.array([-1], np.int64))
    else:
        scan.output[0] = total.output[0]
    del graph.node[place]
    for each in reversed(made):
        graph.node.insert(place, each)


@edit("sums-reordered")
def sums_reordered(model, node: str, seed: int = 1) -> None:
    """Products are summed in another order, in floats: nothing is wrong with that."""
    graph, place, target = find(model, node, "MatMul", "Gemm", "Conv")
    held = constant_of(model, target.input[1])
    axis = {"MatMul": held.ndim - 2, "Gemm": 1 if attribute(target, "transB", 0) else 0, "Conv": 1}[target.op_type]
    order = np.random.default_rng(seed).permutation(held.shape[axis])
    moved = helper.make_node(
        "Gather",
        [target.input[0], ""],
        [fresh(model, "e")],
        name=fresh(model, "x"),
        axis=1 if target.op_type != "MatMul" else -1,
    )
    set_constant(model, moved, 1, order.astype(np.int64))
    target.input[0] = moved.output[0]
    set_constant(model, target, 1, held.take(order, axis))
    graph.node.insert(place, moved)


@edit("softmax-without-max")
def softmax_without_max(model, node: str, type: str | None = None) -> None:
    """Exponentials of the logits as they are, their sum, and the quotient, each in the type."""
    graph, place, softmax = find(model, node, "Softmax")
    rounder = Rounder(model, type or "fp16")
    kept = (lambda name: []) if type is None else (lambda name: rounder.nodes(name, rounder.name()))
    power = rounder.node("Exp", [softmax.input[0]])
    made = [power, *kept(power.output[0])]
    powers = made[-1].output[0]
    axis = attribute(softmax, "axis", -1)
    total = (
        rounder.node("ReduceSum", [powers, ""], keepdims=1)
        if opset_of(model) >= 13
        else rounder.node("ReduceSum", [powers], keepdims=1, axes=[axis])
    )
    if opset_of(model) >= 13:
        set_constant(model, total, 1, np.array([axis], np.int64))
    made += [total, *kept(total.output[0])]
    made.append(rounder.node("Div", [powers, made[-1].output[0]], softmax.output[0]))
    del graph.node[place]
    for each in reversed(made):
        graph.node.insert(place, each)


@edit("variance-in-one-pass")
def variance_in_one_pass(model, node: str) -> None:
    """The mean of squared deviations is computed as the mean of squares less the square of the mean, in floats."""
    graph, place, mean = find(model, node, "ReduceMean")
    square = next(each for each in graph.node if mean.input[0] in each.output)
    less = next(each for each in graph.node if square.input[0] in each.output)
    if square.op_type not in ("Pow", "Mul") or less.op_type != "Sub":
        raise ValueError(f"'{node}' is no mean of squared deviations")
    rounder, given = Rounder(model, "fp16"), {a.name: helper.get_attribute_value(a) for a in mean.attribute}
    squares = rounder.node("Mul", [less.input[0], less.input[0]])
    first = rounder.node("ReduceMean", [squares.output[0], *list(mean.input)[1:]], **given)
    second = rounder.node("ReduceMean", [less.input[0], *list(mean.input)[1:]], **given)
    product = rounder.node("Mul", [second.output[0], second.output[0]])
    made = [squares, first, second, product, rounder.node("Sub", [first.output[0], product.output[0]])]
    made.append(
        rounder.node("Abs", [made[-1].output[0]], mean.output[0])
    )  # no engine takes the root of less than nothing
    del graph.node[place]
    for each in reversed(made):
        graph.node.insert(place, each)
