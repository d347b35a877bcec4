"""Edits by which the black box turns the model that it was given into the one that its engine really computes.

    @edit("clip-max-lost")
    def clip_max_lost(model: onnx.ModelProto, node: str) -> None: ...

An edit changes the model that it is given, which is a copy. It gets the node's name and the other fields of the fault
by name. All values keep their names, so that inner values can still be shown: an inserted node gives its result the old
name. `behaviour` registers what no graph can say: state and time. Its class is made once for a loaded model with the
fields of the fault, and has `run(session, inputs, taps) -> outputs`; session.run(inputs, taps) is the sound model.
The edits of operator semantics are in edits_semantics_*.py.
"""

import copy
import itertools
from collections.abc import Callable, Iterator

import numpy as np
import onnx
from onnx import helper, numpy_helper

EDITS: dict[str, Callable] = {}
BEHAVIOURS: dict[str, type] = {}
COUNTER = itertools.count()


def _registered(table: dict, kind: str):
    def add(what):
        if kind in EDITS or kind in BEHAVIOURS:
            raise ValueError(f"two faults are called '{kind}'")
        table[kind] = what
        return what

    return add


def edit(kind: str):
    """Registers a function(model, **fields of the fault)."""
    return _registered(EDITS, kind)


def behaviour(kind: str):
    """Registers a class(**fields of the fault) with run(session, inputs, taps)."""
    return _registered(BEHAVIOURS, kind)


def edited(model: onnx.ModelProto, fault: dict) -> onnx.ModelProto:
    """The model with the fault in it. A fault of kind "several" has a list of `faults`, made one after the other."""
    if fault["kind"] == "several":
        for one in fault["faults"]:
            model = edited(model, one)
        return model
    changed = copy.deepcopy(model)
    EDITS[fault["kind"]](changed, **{key: value for key, value in fault.items() if key != "kind"})
    if changed.SerializeToString(deterministic=True) == model.SerializeToString(deterministic=True):
        raise ValueError(f"the fault {fault} changes nothing")
    return changed


# Faults of what types hold, which are those of every node that stands in the place of another one; only matrix units
# cut operands and keep results.
OF_TYPES = {"computed-in", "operands-in", "results-in", "constants-in"}
MOVES = {"Constant", "Shape", "Identity", "Loop", "If", "Scan", "Cast"}  # nothing is rounded by them
PRODUCTS = {"Conv", "ConvTranspose", "Gemm", "MatMul"}
# Attributes without which a node gives no occasion for the fault.
NEEDED = {
    "last-windows-lost": "ceil_mode",
    "average-counts-overhang": "ceil_mode",
    "output-padding-lost": "output_padding",
    "groups-exchanged": "group",
}


def carried_over(model: onnx.ModelProto, fault: dict, was: dict[str, str]) -> list[dict]:
    """The faults that the engine has in a model that a repair has rewritten. `was`: operators of the nodes before it.

    A kernel that is wrong is wrong in every node of its operator that stands in the place of one (named NODE~…), as
    long as that gives occasion for the fault. A node that is there as it was has its fault as ever.
    """
    names = {node.name: node for graph in graphs_of(model.graph) for node in graph.node}
    heirs = lambda name: [heir for heir in names if heir.startswith(f"{name}~")]
    if fault["kind"] == "several":
        return [made for one in fault["faults"] for made in carried_over(model, one, was)]
    if fault["kind"] in OF_TYPES:
        wanted = [*fault.get("nodes", []), *([fault["node"]] if "node" in fault else [])]
        kept = [name for named in wanted for name in (named, *heirs(named)) if name in names]
        kept = [name for name in kept if name in wanted or names[name].op_type not in MOVES]
        if fault["kind"] == "operands-in" and any(was.get(named) in PRODUCTS for named in wanted):
            kept = [name for name in kept if names[name].op_type in PRODUCTS]
        rest = {key: value for key, value in fault.items() if key not in ("node", "nodes")}
        return [rest | {"nodes": kept}] if kept else ([] if wanted else [fault])
    if "node" not in fault or fault["node"] in names:
        return [fault]
    needed = fault["key"] if fault["kind"] == "attribute" else NEEDED.get(fault["kind"])
    fits = lambda heir: names[heir].op_type == was.get(fault["node"]) and (
        needed is None or any(given.name == needed for given in names[heir].attribute)
    )
    return [fault | {"node": heir} for heir in heirs(fault["node"]) if fits(heir)]


def operators_of(model: onnx.ModelProto) -> dict[str, str]:
    return {node.name: node.op_type for graph in graphs_of(model.graph) for node in graph.node}


def graphs_of(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    """The graph and those inside its nodes."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            for inner in [attribute.g] if attribute.type == onnx.AttributeProto.GRAPH else attribute.graphs:
                yield from graphs_of(inner)


def find(model: onnx.ModelProto, name: str, *operators: str) -> tuple[onnx.GraphProto, int, onnx.NodeProto]:
    """The node of that name, its graph and its place there. It must be one of the operators, if there are any."""
    found = [
        (graph, i, node) for graph in graphs_of(model.graph) for i, node in enumerate(graph.node) if node.name == name
    ]
    if len(found) != 1:
        raise ValueError(f"{len(found)} nodes are called '{name}'")
    if operators and found[0][2].op_type not in operators:
        raise ValueError(f"'{name}' is a {found[0][2].op_type}, not {' or '.join(operators)}")
    return found[0]


def opset_of(model: onnx.ModelProto) -> int:
    return next(opset.version for opset in model.opset_import if opset.domain in ("", "ai.onnx"))


def attribute(node: onnx.NodeProto, name: str, default=None):
    return next((helper.get_attribute_value(a) for a in node.attribute if a.name == name), default)


def set_attribute(node: onnx.NodeProto, name: str, value) -> None:
    """Sets the attribute, or removes it where the value is None."""
    kept = [a for a in node.attribute if a.name != name]
    del node.attribute[:]
    node.attribute.extend(kept)
    if value is not None:
        node.attribute.append(helper.make_attribute(name, value))


def constant_of(model: onnx.ModelProto, value: str) -> np.ndarray | None:
    """Gives what an initializer, a Constant or an Identity of one holds; None where the value is computed."""
    for graph in graphs_of(model.graph):
        for tensor in graph.initializer:
            if tensor.name == value:
                return numpy_helper.to_array(tensor)
        for node in graph.node:
            if value not in node.output:
                continue
            if node.op_type == "Identity":
                return constant_of(model, node.input[0])
            if node.op_type == "Constant":
                return _value_of(node)
    return None


def _value_of(node: onnx.NodeProto) -> np.ndarray:
    given = node.attribute[0]
    value = helper.get_attribute_value(given)
    if given.name == "value":
        return numpy_helper.to_array(value)
    return np.asarray(value, np.float32 if "float" in given.name else np.int64 if "int" in given.name else object)


def fresh(model: onnx.ModelProto, stem: str) -> str:
    """A name that no value and no node has, and that was never given before."""
    taken = {
        name
        for graph in graphs_of(model.graph)
        for node in graph.node
        for name in (node.name, *node.input, *node.output)
    }
    taken |= {tensor.name for graph in graphs_of(model.graph) for tensor in graph.initializer}
    taken |= {value.name for graph in graphs_of(model.graph) for value in graph.input}
    return next(name for name in (f"{stem}_{i}" for i in COUNTER) if name not in taken)


def add_constant(model: onnx.ModelProto, array: np.ndarray) -> str:
    """A new initializer of the main graph, which the graphs inside see, too."""
    name = fresh(model, "c")
    model.graph.initializer.append(numpy_helper.from_array(np.asarray(array), name))
    return name


def set_constant(model: onnx.ModelProto, node: onnx.NodeProto, index: int, array: np.ndarray) -> None:
    """The node, and no other one, reads this constant as that input."""
    while len(node.input) <= index:
        node.input.append("")
    node.input[index] = add_constant(model, array)


def node_before(
    model: onnx.ModelProto, name: str, index: int, operator: str, *inputs: str, **attributes
) -> onnx.NodeProto:
    """A new node between the named one and what it reads as input `index`; others still read what they did."""
    graph, place, node = find(model, name)
    made = helper.make_node(
        operator, [node.input[index], *inputs], [fresh(model, "e")], name=fresh(model, "x"), **attributes
    )
    node.input[index] = made.output[0]
    graph.node.insert(place, made)
    return made


def nodes_after(model: onnx.ModelProto, name: str, build: Callable, output: int = 0) -> None:
    """New nodes behind the named one: build(fed, made) gives them, from the renamed result to the old name."""
    graph, place, node = find(model, name)
    old = node.output[output]
    node.output[output] = fresh(model, "e")
    for i, made in enumerate(build(node.output[output], old)):
        graph.node.insert(place + 1 + i, made)


def node_after(model: onnx.ModelProto, name: str, operator: str, *inputs: str, output: int = 0, **attributes) -> None:
    """A new node that computes on the result of the named one, and whose result takes over its name."""
    nodes_after(
        model,
        name,
        lambda fed, made: [helper.make_node(operator, [fed, *inputs], [made], name=fresh(model, "x"), **attributes)],
        output,
    )


def replace_node(model: onnx.ModelProto, name: str, *nodes: onnx.NodeProto) -> None:
    """Other nodes in the place of the named one. The last of them gives the result its old name."""
    graph, place, _ = find(model, name)
    del graph.node[place]
    for i, made in enumerate(nodes):
        graph.node.insert(place + i, made)
