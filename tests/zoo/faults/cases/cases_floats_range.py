"""B1 to B3: numbers that are too large for the type that an engine keeps them in."""

import numpy as np

from case import Case
from graphs_floats import (
    FLOAT,
    HALF,
    Net,
    change_norm,
    changed,
    let_cancel,
    normal,
    weights,
)
from planting import real_model, recorded

NORM = "/attn_layers/final_norm/"


def planted(name: str, model, inputs, nodes, fault: dict, **given) -> Case:
    """A case whose class is the first part of its name."""
    return Case(name, name.split("/")[0], model, inputs, frozenset(nodes), fault=fault, **given)


def silent(name: str, value: str):
    """The recorded inputs of a real model, with silence in the place of sound."""
    read = recorded(name, 1)
    return lambda: [{key: array * 0 if key == value else array for key, array in sample.items()} for sample in read()]


def loud_tokens(sigma: float, width: int = 512, half: bool = False):
    """Tokens of size 1, of which one in 32 is much larger."""

    def make():
        x = normal(11, 1, 64, width)
        x[:, ::32] *= np.float32(sigma)
        return [{"x": x.astype(np.float16) if half else x}]

    return make


def norm_graph(half: bool = False):
    """A product, the normalisation by its root mean square, spelt out, and a product."""
    net, kind = Net(), np.float16 if half else np.float32
    put = lambda array: np.asarray(array).astype(kind)
    a = net("MatMul", "x", put(np.eye(512) + weights(1, 512, 512) * 0.1))
    square = net("Mul", a, a)
    total = net("ReduceSum", square, np.array([-1])) if half else net("ReduceMean", square, axes=[-1])
    root = net("Sqrt", net("Add", total, put(1e-4)))
    net("MatMul", net("Mul", net("Div", a, root), put(1 + 0.1 * normal(2, 512))), put(weights(3, 512, 32)), result="y")
    element = HALF if half else FLOAT
    model = net.model({"x": (element, [1, 64, 512])}, {"y": (element, [1, 64, 32])})
    return model, {"square": net.node(square), "mean": net.node(total)}


def b1() -> list[Case]:
    model, at = norm_graph()
    typed, typed_at = norm_graph(half=True)
    tame = Case("B1/typed/tame", "", lambda: typed, loud_tokens(1, half=True), runner=("--cpu",))
    norm = ["Pow", "ReduceMean_1", "Add", "Sqrt", "Div"]
    silero = changed(real_model("silero-vad-v3-transformer"), lambda m: change_norm(m, "ReduceMean_178", "Mul", 200.0))
    gtcrn = changed(real_model("gtcrn-simple"), lambda m: change_norm(m, "ReduceMean_720", "Mul", 30.0))
    return [
        planted(
            "B1/own-graph",
            lambda: model,
            loud_tokens(40),
            at.values(),
            {"kind": "mean-by-sum", "type": "fp16", "node": at["mean"]},
        ),
        Case(
            "B1/typed",
            "B1",
            lambda: typed,
            loud_tokens(40, half=True),
            frozenset(typed_at.values()),
            runner=("--cpu",),
            twin=tame,
        ),
        planted(
            "B1/tashkeel",
            real_model("tashkeel-fp32"),
            recorded("tashkeel-fp32", 1),
            {NORM + "Pow", NORM + "ReduceMean_1"},
            {"kind": "computed-in", "type": "fp16", "nodes": [NORM + name for name in norm]},
        ),
        planted(
            "B1/silero",
            silero,
            recorded("silero-vad-v3-transformer", 1),
            {"Pow_181", "ReduceMean_182"},
            {"kind": "computed-in", "type": "fp16", "nodes": ["Pow_181", "ReduceMean_182", "Add_184"]},
        ),
        planted(
            "B1/gtcrn",
            gtcrn,
            recorded("gtcrn-simple", 1),
            {"Pow_723", "ReduceMean_724"},
            {"kind": "mean-by-sum", "type": "fp16", "node": "ReduceMean_724"},
        ),
    ]


def stream_graph(growth: float, half: bool = False):
    """Six residual blocks whose weights grow, and a normalisation that makes the result look tame."""
    net, x, kind, inner = Net(), "x", np.float16 if half else np.float32, []
    for i in range(6):
        product = net("MatMul", x, (weights(20 + i, 256, 256) * growth**i).astype(kind))
        x = net("Add", x, product)
        inner += [net.node(product), net.node(x)]
    net("LayerNormalization", x, np.ones(256, kind), np.zeros(256, kind), axis=-1, result="y")
    element = HALF if half else FLOAT
    return net.model({"x": (element, [1, 16, 256])}, {"y": (element, [1, 16, 256])}), inner


def stream_inputs(half: bool = False):
    return lambda: [{"x": normal(30, 1, 16, 256).astype(np.float16 if half else np.float32)}]


def b2() -> list[Case]:
    model, inner = stream_graph(9.0)
    typed, _ = stream_graph(9.0, half=True)
    tame = Case("B2/typed/tame", "", lambda: stream_graph(1.0, half=True)[0], stream_inputs(True), runner=("--cpu",))
    sinet, melspec = real_model("sinet-portrait"), real_model("oww-melspec")
    silero = real_model("silero-vad-v3-transformer")
    prisma = ["conv2d_transpose_12", "Add13", "Relu22", "Relu18"]
    return [
        planted("B2/own-graph", lambda: model, stream_inputs(), inner[-6:], {"kind": "computed-in", "type": "fp16"}),
        Case("B2/typed", "B2", lambda: typed, stream_inputs(True), frozenset(inner[-6:]), runner=("--cpu",), twin=tame),
        planted(
            "B2/oww-melspec",
            melspec,
            recorded("oww-melspec", 1),
            {"Pow_11", "Pow_13"},
            {"kind": "computed-in", "type": "fp16", "nodes": ["Pow_11", "Pow_13", "Add_14"]},
        ),
        planted(
            "B2/sinet",
            sinet,
            recorded("sinet-portrait", 1),
            {"Mul_69"},
            {"kind": "results-in", "type": "fp16", "node": "Mul_69"},
        ),
        planted(
            "B2/silero",
            silero,
            recorded("silero-vad-v3-transformer", 1),
            {"Mul_55", "Add_57"},
            {"kind": "results-in", "type": "fp16", "nodes": ["Mul_55", "Add_57"]},
        ),
        planted(
            "B2/prisma",
            real_model("prisma-portrait"),
            recorded("prisma-portrait", 1),
            prisma,
            {"kind": "results-in", "type": "fp16", "nodes": prisma},
        ),
        planted(
            "B2/sinet-refused",
            sinet,
            recorded("sinet-portrait", 1),
            {"Mul_69"},
            {"kind": "results-in", "type": "fp16", "node": "Mul_69"},
            taps="refused",
        ),
    ]


def half_and_half():
    """A product of 4096 terms whose first half is large, and whose second half takes it away again."""
    net = Net()
    w = normal(40, 4096, 16, scale=0.02)
    w[:2048] += 4
    w[2048:] -= 4
    a = net("MatMul", "x", w)
    net("Relu", a, result="y")
    return net.model({"x": (FLOAT, [4, 4096])}, {"y": (FLOAT, [4, 16])}), net.node(a)


def b3() -> list[Case]:
    model, product = half_and_half()
    inputs = lambda: [{"x": np.full((4, 4096), 8, np.float32) + normal(41, 4, 4096, scale=0.01)}]
    hand = changed(real_model("hand-landmark-224"), lambda m: let_cancel(m, "Identity", 1500.0))
    jarvis = changed(real_model("oww-hey-jarvis"), lambda m: let_cancel(m, "Gemm_14", 20000.0))
    return [
        planted(
            "B3/own-graph",
            lambda: model,
            inputs,
            {product},
            {"kind": "partial-sums-in", "type": "fp16", "node": product},
        ),
        Case(
            "B3/own-engine",
            "B3",
            lambda: model,
            inputs,
            frozenset({product}),
            runner=("--cpu", "--inject-fault", f"fp16-accumulator:{product}"),
        ),
        Case(
            "B3/hand-landmark",
            "B3",
            hand,
            recorded("hand-landmark-224", 1),
            frozenset({"Identity"}),
            runner=("--cpu", "--inject-fault", "fp16-accumulator:Identity"),
        ),
        Case(
            "B3/oww-hey-jarvis",
            "B3",
            jarvis,
            recorded("oww-hey-jarvis", 1),
            frozenset({"Gemm_14"}),
            runner=("--cpu", "--inject-fault", "fp16-accumulator:Gemm_14"),
        ),
    ]


def cases() -> list[Case]:
    return [*b1(), *b2(), *b3()]
