"""B11 and B12: functions of large arguments, and differences of large numbers."""

import numpy as np

from case import Case
from cases_floats_range import planted
from graphs_floats import FLOAT, Net, change_norm, changed, embed_time, normal, weights
from planting import real_model, recorded


def time_graph():
    """Sines and cosines of a step of up to 1000 at many frequencies, and a layer."""
    net = Net()
    angle = net("Mul", "t", np.exp(-np.log(10000.0) * np.arange(32) / 32).astype(np.float32))
    sine, cosine = net("Sin", angle), net("Cos", angle)
    net("MatMul", net("Concat", sine, cosine, axis=-1), weights(130, 64, 16), result="y")
    return net.model({"t": (FLOAT, [4, 1])}, {"y": (FLOAT, [4, 16])}), [
        net.node(value) for value in (angle, sine, cosine)
    ]


def large_powers():
    """A soft minimum: exponentials of numbers of up to 80, whose logarithm is taken again and whose ratio is not."""
    net = Net()
    part = net("Mul", "x", np.float32(20))
    power = net("Exp", part)
    net("Div", power, net("ReduceSum", power, np.array([-1])), result="y")
    return net.model({"x": (FLOAT, [8, 32])}, {"y": (FLOAT, [8, 32])}), [net.node(part), net.node(power)]


def b11() -> list[Case]:
    model, angles = time_graph()
    powers, at = large_powers()
    steps = lambda: [{"t": np.array([[999.3], [731.7], [512.1], [87.9]], np.float32)}]
    fault = lambda kind, nodes: {"kind": "computed-in", "type": kind, "nodes": list(nodes)}
    timed = lambda name, value, shape, seed: changed(real_model(name), lambda m: embed_time(m, value, shape, seed))
    at_step = lambda name, step: (
        lambda: [sample | {"t": np.array([[step]], np.float32)} for sample in recorded(name, 1)()]
    )
    time_nodes = {"time_0", "time_1", "time_2"}
    style = "mnist-style-generator"
    return [
        planted("B11/own-graph", lambda: model, steps, angles, fault("fp16", angles[:1])),
        planted(
            "B11/own-powers",
            lambda: powers,
            lambda: [{"x": normal(131, 8, 32) + np.float32(1)}],
            at,
            fault("bf16", at[:1]),
        ),
        planted(
            "B11/mnist-style",
            timed(style, "onnx::Concat_1", (1, 8), 132),
            at_step(style, 937.3),
            time_nodes,
            fault("fp16", ["time_0"]),
        ),
        planted(
            "B11/connect4",
            timed("connect4-alphazero", "input", (1, 7, 6, 7), 133),
            at_step("connect4-alphazero", 871.9),
            time_nodes,
            fault("bf16", ["time_0"]),
        ),
        planted(
            "B11/melspec",
            real_model("oww-melspec"),
            recorded("oww-melspec", 1),
            {"Pow_11", "Pow_13"},
            {"kind": "operands-in", "type": "bf16", "nodes": ["Pow_11", "Pow_13"]},
            also=frozenset({"B15"}),
        ),  # bits lost in a square
    ]


def spread(two_pass: bool):
    """The standard deviation of what lies around 1000, in one pass or in two."""
    net = Net()
    mean = net("ReduceMean", "x", axes=[-1])
    if two_pass:
        less = net("Sub", "x", mean)
        variance = net("ReduceMean", net("Mul", less, less), axes=[-1])
        at = {net.node(variance)}
    else:
        squares = net("ReduceMean", net("Mul", "x", "x"), axes=[-1])
        difference = net("Sub", squares, net("Mul", mean, mean))
        variance = net("Abs", difference)
        at = {net.node(squares), net.node(difference)}
    net("Sqrt", net("Add", variance, np.float32(1e-9)), result="y")
    return net.model({"x": (FLOAT, [16, 512])}, {"y": (FLOAT, [16, 1])}), at


def b12() -> list[Case]:
    one, at = spread(False)
    two, two_at = spread(True)
    around = lambda: [{"x": np.float32(1000) + normal(140, 16, 512, scale=1e-2)}]
    healthy = lambda name, runner: Case(f"B12/{name}/two-pass", "", lambda: two, around, runner=runner)
    silero = changed(real_model("silero-vad-v3-transformer"), lambda m: change_norm(m, "ReduceMean_178", "Add", 500.0))
    gtcrn = changed(real_model("gtcrn-simple"), lambda m: change_norm(m, "ReduceMean_720", "Add", 100.0))
    fault = lambda node: {"kind": "variance-in-one-pass", "node": node}
    return [
        Case(
            "B12/own-graph",
            "B12",
            lambda: one,
            around,
            frozenset(at),
            runner=("--cpu",),
            twin=healthy("own-graph", ("--cpu",)),
        ),
        Case(
            "B12/own-onnxruntime",
            "B12",
            lambda: one,
            around,
            frozenset(at),
            runner=("--onnxruntime",),
            twin=healthy("own-onnxruntime", ("--onnxruntime",)),
        ),
        planted("B12/own-engine", lambda: two, around, two_at, fault(min(two_at))),
        planted(
            "B12/silero",
            silero,
            recorded("silero-vad-v3-transformer", 1),
            {"ReduceMean_182", "Pow_181", "Sub_179"},
            fault("ReduceMean_182"),
        ),
        planted(
            "B12/gtcrn",
            gtcrn,
            recorded("gtcrn-simple", 1),
            {"ReduceMean_724", "Pow_723", "Sub_721"},
            fault("ReduceMean_724"),
        ),
    ]


def cases() -> list[Case]:
    return [*b11(), *b12()]
