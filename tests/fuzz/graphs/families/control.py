"""Control flow and sequences."""

import numpy as np
from builder import Builder, CannotDraw, type_proto
from draw import dtype_of
from onnx import ValueInfoProto, helper, numpy_helper
from registry import operator

INSIDE = ["Add", "Mul", "Relu", "Tanh", "Neg", "Sub", "Sigmoid", "Abs", "Max", "Identity", "MatMul", "Softmax", "ReduceSum"]


def region(b, tag):
    return Builder(b.rng, b.opset, b.special, 0.95, f"{b.prefix}{tag}{len(b.nodes)}_", b, main_kind=b.main_kind)


def fill(inner, kind, steps, start):
    """A few operators that keep type and shape."""
    current = start
    for _ in range(steps):
        op = inner.pick(INSIDE[:10])
        other = lambda: inner.pick([start, current, inner.broadcast(start.shape, kind)])
        if op in ("Add", "Mul", "Sub", "Max"):
            (current,) = inner.node(op, [current, other()])
            if current.shape != start.shape:
                raise CannotDraw("another shape")
        else:
            (current,) = inner.node(op, [current])
    return current


def graph_of(inner, inputs, outputs, name):
    constants = [numpy_helper.from_array(given.array, key) for key, given in inner.given.items()]
    typed = [ValueInfoProto(name=value.name, type=value.proto) for value in outputs]
    return helper.make_graph(inner.nodes, name, inputs, typed, constants)


def float_kind(b):
    return b.kind("Add", among=["float", "float", "float16", "double", "bfloat16"])


@operator("If")
def if_(b, op):
    kind = float_kind(b)
    x = b.value(kind)
    branches = []
    for tag in ("t", "e"):
        inner = region(b, tag)
        (start,) = inner.node("Identity", [x]) if b.chance(0.4) else inner.node("Neg", [x])
        branches.append(graph_of(inner, [], [fill(inner, kind, b.integer(0, 3), start)], f"{tag}_branch"))
    condition = b.add_given(np.array(b.chance(0.5)).reshape(b.pick([(), (1,)])), None, b.chance(0.3))
    b.node(op, [condition], then_branch=branches[0], else_branch=branches[1], exact=False)


@operator("Loop")
def loop(b, op):
    kind = float_kind(b)
    x = b.value(kind, where=lambda shape: 0 not in shape)
    inner = region(b, "l")
    trip = inner.add_result(inner.name(), type_proto(np.int64, ()), True)
    going = inner.add_result(inner.name(), type_proto(np.bool_, ()), True)
    state = inner.add_result(inner.name(), x.proto, True)
    inputs = [ValueInfoProto(name=value.name, type=value.proto) for value in (trip, going, state)]
    (start,) = inner.node("Mul", [state, inner.constant(0.5, kind)])
    result = fill(inner, kind, b.integer(0, 3), start)
    (still,) = inner.node("Less", [trip, inner.constant(b.integer(0, 6), "int64")]) if b.chance(0.4) else inner.node("Identity", [going])
    outputs, scans = [still, result], 0
    if b.chance(0.5):
        outputs += inner.node("Tanh", [result])
        scans = 1
    body = graph_of(inner, inputs, outputs, "body")
    trips = b.add_given(np.array(b.integer(0 if b.chance(0.1) else 1, 4), np.int64), None, b.chance(0.6))
    begin = b.add_given(np.array(True), None, True) if b.chance(0.5) else None
    b.node(op, [trips, begin, x], outputs=1 + scans, body=body, exact=False)


@operator("Scan")
def scan(b, op):
    kind = float_kind(b)
    length, shape = b.integer(1, 5), b.shape(b.integer(0, 2))
    rows, first = b.value(kind, (length, *shape)), b.value(kind, shape)
    inner = region(b, "s")
    state = inner.add_result(inner.name(), type_proto(dtype_of(kind), shape), True)
    row = inner.add_result(inner.name(), type_proto(dtype_of(kind), shape), True)
    inputs = [ValueInfoProto(name=value.name, type=value.proto) for value in (state, row)]
    (total,) = inner.node("Add", [state, row])
    result = fill(inner, kind, b.integer(0, 3), total)
    (shown,) = inner.node("Tanh", [result])
    body = graph_of(inner, inputs, [result, shown], "body")
    how = {"scan_input_directions": b.pick([None, [0], [1]]), "scan_output_directions": b.pick([None, [0], [1]])}
    b.node(op, [first, rows], outputs=2, num_scan_inputs=1, body=body, exact=False, **how)


@operator("SequenceConstruct")
def sequence(b, op):
    """Makes a sequence, changes it, and reads it again: sequences are no inputs here."""
    kind = b.kind("Add", among=["float", "int64", "double", "int32"])
    shape = b.shape(b.integer(1, 3))
    (items,) = b.node(op, [b.value(kind, shape) for _ in range(b.integer(1, 3))])
    change = b.pick([None, "insert", "erase"])
    if change == "insert":
        (items,) = b.node("SequenceInsert", [items, b.value(kind, shape), b.constant(0, "int64") if b.chance(0.5) else None])
    if change == "erase" and b.chance(0.5):
        (items,) = b.node("SequenceInsert", [items, b.value(kind, shape)])
        (items,) = b.node("SequenceErase", [items, b.constant(-1, "int64") if b.chance(0.5) else None])
    end = b.pick(["at", "length", "concat"])
    if end == "at":
        b.node("SequenceAt", [items, b.shape_input(b.pick([0, -1]))])
    elif end == "length":
        b.node("SequenceLength", [items])
    else:
        b.node("ConcatFromSequence", [items], axis=b.integer(0, len(shape) - 1), new_axis=b.pick([None, 0, 1]))


@operator("SplitToSequence")
def split_to_sequence(b, op):
    x = b.value(b.kind(op, among=["float", "int64", "int32", "double"]), where=lambda s: len(s) > 0 and 0 not in s)
    axis = b.integer(0, len(x.shape) - 1)
    size = x.shape[axis]
    parts = b.pick([None, b.integer(1, size)])
    (items,) = b.node(op, [x, b.constant(parts, "int64") if parts else None], axis=axis, keepdims=b.pick([None, 1]) if parts else b.pick([None, 0, 1]))
    b.node("SequenceAt", [items, b.constant(0, "int64")])


@operator("Optional")
def optional(b, op):
    (there,) = b.node(op, [b.value(b.kind("Add", among=["float", "int64", "double"]))])
    b.node("OptionalHasElement", [there])
    b.node("OptionalGetElement", [there])


