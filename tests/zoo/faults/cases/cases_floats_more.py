"""More of B2 to B18, in real models of other kinds and on paths of their own."""

from functools import cache

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from case import Case
from cases_floats_growth import edge, reordered
from cases_floats_range import planted
from cases_floats_types import lying
from edits import constant_of
from graphs_floats import FLOAT, change_norm, changed, names, normal, weights
from planting import builder, loaded, nodes_of, real_model, recorded

VIT, CONNECT4, MESHNET = "vit-cifar-pgd", "connect4-alphazero", "meshnet3d-elu"
PARTICLE = "particle-transformer-small"


def pass_through_half(model: onnx.ModelProto, value: str) -> None:
    """A value of floats passes through fp16, by two Casts that are part of the model."""
    place = next(i for i, node in enumerate(model.graph.node) if value in node.input)
    for node in model.graph.node:
        node.input[:] = ["pair_v1" if name == value else name for name in node.input]
    for i, (source, to) in reversed(list(enumerate([(value, TensorProto.FLOAT16), ("pair_v0", FLOAT)]))):
        model.graph.node.insert(place, helper.make_node("Cast", [source], [f"pair_v{i}"], name=f"pair_{i}", to=to))


def pairs() -> list[Case]:
    """B14: pairs of Casts that are not executed, in models that are of floats but for them."""
    made = []
    for name, operator, taps in (
        (CONNECT4, "Conv", "shown"),
        (MESHNET, "Conv", "refused"),
        ("mscn-cardinality", "MatMul", "shown"),
        ("calo-gnn-small", "MatMul", "refused"),
    ):
        nodes = [node for node in loaded(real_model(name)).graph.node if node.op_type == operator]
        value = nodes[len(nodes) // 2].input[0]
        made.append(
            planted(
                f"B14/{name}-pair",
                changed(real_model(name), lambda model, value=value: pass_through_half(model, value)),
                recorded(name, 1),
                {"pair_0", "pair_1"},
                {"kind": "cast-pair-removed", "node": "pair_1"},
                taps=taps,
                least=1e-5,
            )
        )
    return made


def scanned(gain: float) -> onnx.ModelProto:
    """s <- sin(W s + V x) in a Scan. Above a gain of 1 it is chaos."""
    inner = [
        helper.make_node("MatMul", ["s", "w"], ["p"], name="n1"),
        helper.make_node("Add", ["p", "e"], ["a"], name="n2"),
        helper.make_node("Sin", ["a"], ["q"], name="n3"),
        helper.make_node("Identity", ["q"], ["r"], name="n4"),
    ]
    value = lambda name: helper.make_tensor_value_info(name, FLOAT, None)
    body = helper.make_graph(inner, "body", [value("s"), value("e")], [value("q"), value("r")])
    nodes = [
        helper.make_node("MatMul", ["x", "v"], ["xv"], name="n5"),
        helper.make_node("Scan", ["start", "xv"], ["last", "all"], name="n6", body=body, num_scan_inputs=1),
        helper.make_node("MatMul", ["all", "u"], ["y"], name="n7"),
    ]
    constants = {
        "w": weights(310, 32, 32) * np.float32(gain),
        "u": weights(311, 32, 8),
        "v": weights(312, 16, 32),
        "start": np.zeros((4, 32), np.float32),
    }
    return builder(nodes, {"x": (FLOAT, [50, 4, 16])}, {"y": (FLOAT, [50, 4, 8])}, constants)


LAST, ORDER = "/policy_head/policy_head.0/Conv", 10  # a seed of an order that makes an unusual sum


def careful(threshold: float) -> onnx.ModelProto:
    """A player whose moves count only if the best one is good enough."""
    model = onnx.load(real_model(CONNECT4))
    policy = model.graph.output[0].name
    steps = [
        ("ReduceMax", [policy], {"axes": [1]}),
        ("Less", ["good_v0", "good_t"], {}),
        ("Cast", ["good_v1"], {"to": FLOAT}),
        ("Mul", ["good_v2", policy], {}),
    ]
    for i, (operator, inputs, given) in enumerate(steps):
        model.graph.node.append(helper.make_node(operator, inputs, [f"good_v{i}"], name=f"good_{i}", **given))
    model.graph.initializer.append(numpy_helper.from_array(np.float32(threshold), "good_t"))
    model.graph.output.append(helper.make_tensor_value_info("good_v3", FLOAT, None))
    return model


@cache
def careful_at_edge() -> onnx.ModelProto:
    return careful(edge(careful(0), reordered(LAST, ORDER), recorded(CONNECT4, 1)()[0], "good_v0"))


def amplified() -> list[Case]:
    x = lambda: [{"x": normal(313, 50, 4, 16)}]
    calm = Case("B18/own-scan/calm", "", lambda: scanned(0.5), x, fault=reordered("n1"))
    clear = Case("B17/connect4/clear", "", lambda: careful(0), recorded(CONNECT4, 1), fault=reordered(LAST, ORDER))
    return [
        planted("B18/own-scan", lambda: scanned(4.0), x, {"n1", "n2", "n3", "n6"}, reordered("n1"), twin=calm),
        planted(
            "B17/connect4",
            careful_at_edge,
            recorded(CONNECT4, 1),
            {"good_1", "good_2"},
            reordered(LAST, ORDER),
            twin=clear,
        ),
    ]


def rounded() -> list[Case]:
    product = [node.name for node in nodes_of(real_model(VIT), "MatMul") if is_weighted(node)][-1]
    parts = lambda name, **fault: planted(
        f"B8/{name}",
        real_model(VIT),
        recorded(VIT, 1),
        {product},
        {"kind": "partial-sums-in", "node": product} | fault,
        taps="shown" if fault["type"] == "fp16" else "refused",
        least=1e-5,
    )
    read = recorded(MESHNET, 1)
    loud = lambda: [{name: value * np.float32(3e5) for name, value in sample.items()} for sample in read()]
    conv = sorted(names(real_model(MESHNET), "Conv"))[1]
    every = frozenset(node.name for node in loaded(real_model(CONNECT4)).graph.node)
    convs = names(real_model(CONNECT4), "Conv")
    tf32 = {"kind": "operands-in", "type": "tf32"}
    mean, variance = [node.name for node in nodes_of(real_model(PARTICLE), "ReduceMean")][:2]
    return [
        parts("vit-parts", type="fp16", width=32),
        parts("vit-refused", type="bf16", width=8),
        planted(
            "B2/meshnet", real_model(MESHNET), loud, {conv}, {"kind": "results-in", "type": "fp16", "node": conv}
        ),
        planted(
            "B12/particle-transformer",
            changed(real_model(PARTICLE), lambda model: change_norm(model, mean, "Add", 100.0)),
            recorded(PARTICLE, 1),
            {variance},
            {"kind": "variance-in-one-pass", "node": variance},
        ),
        planted(
            "B13/connect4",
            real_model(CONNECT4),
            recorded(CONNECT4, 1),
            every,
            {"kind": "computed-in", "type": "fp16"},
        ),
        Case(
            "B16/connect4",
            "B16",
            real_model(CONNECT4),
            recorded(CONNECT4, 1),
            convs,
            runner=lying(tf32 | {"operators": ["Conv"]}),
            twin=lying(None),
        ),
    ]


def is_weighted(node: onnx.NodeProto) -> bool:
    return constant_of(loaded(real_model(VIT)), node.input[1]) is not None


def cases() -> list[Case]:
    return [*pairs(), *amplified(), *rounded()]
