"""B13 to B16: types that are not kept to, types of few digits, and references that lie."""

import json
import pathlib
import shlex
import sys

import numpy as np
from onnx import TensorProto

from case import Case
from cases_floats_range import planted
from graphs_floats import (
    FLOAT,
    HALF,
    Net,
    changed,
    halve,
    names,
    normal,
    quantize_by_offset,
    shrink_rows,
    truncate_input,
    weights,
)
from planting import loaded, real_model, recorded

DECLARED = {"kind": "as-declared"}


def typed(name: str, model, inputs, nodes, **fault) -> Case:
    """A fault in an engine that otherwise rounds as a graph of fp16 says. Its twin does so everywhere."""
    healthy = Case(f"{name}/as-declared", "", model, inputs, fault=DECLARED, least=2e-2)
    return planted(
        name,
        model,
        inputs,
        nodes,
        DECLARED | {key: list(value) for key, value in fault.items()},
        twin=healthy,
        least=1e-2,
    )


def narrowed(read):
    """Samples of floats as fp16."""
    return lambda: [
        {name: value.astype(np.float16) if value.dtype == np.float32 else value for name, value in sample.items()}
        for sample in read()
    ]


def island():
    """A layer of fp16 with a normalisation of floats in it, between Casts."""
    net = Net()
    half = lambda array: array.astype(np.float16)
    a = net("MatMul", "x", half(weights(150, 128, 128)))
    start = len(net.nodes)
    wide = net("Cast", a, to=FLOAT)
    less = net("Sub", wide, net("ReduceMean", wide, axes=[-1]))
    variance = net("ReduceMean", net("Mul", less, less), axes=[-1])
    scaled = net("Div", less, net("Sqrt", net("Add", variance, np.float32(1e-5))))
    inner = [node.name for node in net.nodes[start + 1 :]]
    net("MatMul", net("Cast", scaled, to=HALF), half(weights(151, 128, 16)), result="y")
    return net.model({"x": (HALF, [1, 32, 128])}, {"y": (HALF, [1, 32, 16])}), inner


def b13() -> list[Case]:
    model, inner = island()
    large = narrowed(lambda: [{"x": normal(152, 1, 32, 128, scale=300)}])
    kept = frozenset({"Pow_11", "Pow_13", "Add_14", "MatMul_15", "Clip_16", "Log_17"})
    melspec = changed(real_model("oww-melspec"), lambda m: halve(m, kept))
    convs = frozenset({"Conv_2", "Relu_3", "Conv_4"})

    def superres(m):
        shrink_rows(m, "Conv_2", 2.0**-20)
        halve(m, convs)

    face = real_model("facemesh-192")
    return [
        typed("B13/own-graph", lambda: model, large, inner, narrow=inner),
        typed("B13/melspec", melspec, narrowed(recorded("oww-melspec", 1)), kept, narrow=kept),
        typed(
            "B13/superres",
            changed(real_model("superres-x3"), superres),
            narrowed(recorded("superres-x3", 1)),
            convs,
            narrow=convs,
        ),
        # A build for floats that is one of fp16 in truth, without a range that is left.
        planted(
            "B13/facemesh",
            face,
            recorded("facemesh-192", 1),
            names(face, "Conv", "Add", "PRelu"),
            {"kind": "computed-in", "type": "fp16", "operators": ["Conv", "Add", "PRelu"]},
        ),
    ]


def steps_of_half():
    """Numbers of 0 to 1 get the steps that fp16 has at 1000."""
    net = Net()
    a = net("Cast", "x", to=HALF)
    b = net("Cast", net("Add", a, np.array(1000, np.float16)), to=FLOAT)
    net("MatMul", net("Sub", b, np.float32(1000)), weights(160, 64, 8), result="y")
    return net.model({"x": (FLOAT, [16, 64])}, {"y": (FLOAT, [16, 8])}), [node.name for node in net.nodes[:3]]


def whole_numbers():
    """A position is cut to a whole number, and what is left is where it lies between two."""
    net = Net()
    floats = net("Cast", net("Cast", "x", to=TensorProto.INT32), to=FLOAT)
    net("MatMul", net("Sub", "x", floats), weights(161, 64, 8), result="y")
    model = net.model({"x": (FLOAT, [16, 64])}, {"y": (FLOAT, [16, 8])})
    return model, [node.name for node in net.nodes[:2]]


def b14() -> list[Case]:
    half, chain = steps_of_half()
    whole, pair = whole_numbers()
    unit = lambda: [{"x": np.random.default_rng(162).uniform(0, 1, (16, 64)).astype(np.float32)}]
    far = lambda: [{"x": np.random.default_rng(163).uniform(0, 30, (16, 64)).astype(np.float32)}]
    image = lambda name, value, scale: changed(real_model(name), lambda m: truncate_input(m, value, scale))
    dropped = lambda node: {"kind": "cast-pair-removed", "node": node}
    grey = {"grey_1", "grey_2"}
    return [
        typed("B14/own-graph", lambda: half, unit, chain, wide=chain),
        planted("B14/own-integers", lambda: whole, far, pair, dropped(pair[1])),
        planted(
            "B14/facemesh", image("facemesh-192", "input_1", 31), recorded("facemesh-192", 1), grey, dropped("grey_2")
        ),
        planted(
            "B14/sed-unet", image("sed-unet-224", "input", 15), recorded("sed-unet-224", 1), grey, dropped("grey_2")
        ),
    ]


def box_head():
    """Offsets of 0 to 1 are added to places of some 600 pixels, and those near each other are compared."""
    net = Net()
    offset = net("Sigmoid", net("MatMul", "x", weights(170, 64, 4)))
    place = net("Add", offset, np.linspace(500, 700, 32, dtype=np.float32)[:, None])
    net("Sub", place, np.linspace(498, 698, 32, dtype=np.float32)[:, None], result="y")
    return net.model({"x": (FLOAT, [32, 64])}, {"y": (FLOAT, [32, 4])}), net.node(place)


def narrow_layer():
    net = Net(19)
    a = net("MatMul", "x", weights(171, 128, 128))
    b = net("MatMul", net("Relu", a), weights(172, 128, 16))
    net("Softmax", net("Mul", b, np.float32(4)), axis=-1, result="y")
    return net.model({"x": (FLOAT, [16, 128])}, {"y": (FLOAT, [16, 16])}), net.node(b)


def b15() -> list[Case]:
    boxes, add = box_head()
    layer, product = narrow_layer()
    x = lambda rows, width: lambda: [{"x": normal(173, rows, width)}]
    face, style = real_model("facemesh-192"), real_model("mnist-style-generator")
    nano = real_model("fastestdet-352")
    return [
        planted("B15/own-graph", lambda: boxes, x(32, 64), {add}, {"kind": "computed-in", "type": "bf16", "node": add}),
        planted(
            "B15/own-fp8",
            lambda: layer,
            x(16, 128),
            {product},
            {"kind": "operands-in", "type": "e4m3", "node": product},
        ),
        planted(
            "B15/facemesh",
            face,
            recorded("facemesh-192", 1),
            {"conv2d_20"},
            {"kind": "results-in", "type": "bf16", "node": "conv2d_20"},
        ),
        planted(
            "B15/mnist-style-fp4",
            style,
            recorded("mnist-style-generator", 1),
            {"Gemm_3"},
            {"kind": "constants-in", "type": "e2m1", "node": "Gemm_3"},
        ),
        planted(
            "B15/fastestdet",
            nano,
            recorded("fastestdet-352", 1),
            {"/detect_head/Mul"},
            {"kind": "results-in", "type": "bf16", "node": "/detect_head/Mul"},
        ),
    ]


def lying(fault: dict | None) -> tuple[str, ...]:
    """Our engine, judged by a black box, which lies if there is a fault."""
    box = shlex.join([sys.executable, str(pathlib.Path(__file__).resolve().parents[1] / "black_box.py")])
    told = f" --fault {shlex.quote(json.dumps(fault))}" if fault else ""
    return ("--cpu", "--runner", f"second={box}{told}", "--against", "second")


def b16() -> list[Case]:
    half, chain = steps_of_half()
    unit = lambda: [{"x": np.random.default_rng(180).uniform(0, 1, (16, 64)).astype(np.float32)}]
    ort = ("--cpu", "--onnxruntime", "--against", "onnxruntime")
    face = changed(real_model("facemesh-192-fp16"), lambda m: quantize_by_offset(m, "input_1", 64.0))

    def told(name: str, model: str, nodes, fault: dict) -> Case:
        return Case(
            f"B16/{name}",
            "B16",
            real_model(model),
            recorded(model, 1),
            frozenset(nodes),
            runner=lying(fault),
            twin=lying(None),
        )

    convs = names(real_model("superres-x3"), "Conv")
    pool = [node.name for node in loaded(real_model("hand-landmark-224")).graph.node if node.op_type == "ReduceMean"]
    return [
        # ONNX Runtime computes fp16 on a CPU in floats and drops roundings between: that is the lie.
        Case("B16/own-graph", "B16", lambda: half, unit, frozenset(chain), runner=ort, twin=("--cpu",)),
        Case(
            "B16/facemesh-fp16",
            "B16",
            face,
            recorded("facemesh-192-fp16", 1),
            frozenset({"step_0", "step_1"}),
            runner=ort,
            twin=("--cpu",),
        ),
        told("superres-tf32", "superres-x3", convs, {"kind": "operands-in", "type": "tf32", "operators": ["Conv"]}),
        told("hand-landmark", "hand-landmark-224", pool, {"kind": "results-in", "type": "bf16", "node": pool[0]}),
        told("facemesh", "facemesh-192", {"conv2d_18"}, {"kind": "constants-in", "type": "bf16", "node": "conv2d_18"}),
    ]


def cases() -> list[Case]:
    return [*b13(), *b14(), *b15(), *b16()]
