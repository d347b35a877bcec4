"""B17 and B18: an error that no engine can avoid, made large by a decision or by feedback."""

from functools import cache

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from case import Case
from cases_floats_range import planted
from edits import edited, find, set_constant
from graphs_floats import FLOAT, Net, changed, name_all, names, normal, weights
from planting import builder, real_model, recorded

INT = TensorProto.INT64


def reordered(node: str, seed: int = 1) -> dict:
    return {"kind": "sums-reordered", "node": node, "seed": seed}


def best_boxes(gap: float):
    """The five best of 64 boxes, whose scores come in pairs that differ by the gap."""
    net = Net()
    w = weights(200, 256, 64)
    w[:, 1::2] = w[:, ::2] * np.float32(1 + gap)
    scores = net("MatMul", "x", w)
    net("TopK", scores, np.array([5]), result="best", axis=-1)
    net.nodes[-1].output.append("places")
    net("Gather", normal(201, 64, 4, scale=50), "places", axis=0, result="y")
    model = net.model({"x": (FLOAT, [32, 256])}, {"y": (FLOAT, [32, 5, 4])})
    return model, net.node(scores), [net.node("best"), net.node("y")]


def edge(model: onnx.ModelProto, fault: dict, sample: dict, value: str) -> np.float32:
    """A threshold for this value, of one element, with the fault's order of sums on one side, and others on the other.

    An engine that differs from one other engine may be the one that agrees with exact arithmetic."""
    from black_box import Session

    score = lambda each: np.float32(np.asarray(Session(each).run(sample, [value])[value]).item())
    own = score(edited(model, fault))
    others = [score(model), *(score(edited(model, fault | {"seed": seed})) for seed in range(20, 26))]
    if own > max(others):
        return own
    if own < min(others):
        return np.nextafter(own, np.float32(np.inf))
    raise ValueError("this order of the sums makes nothing that others do not make")


WORD_ORDER, GESTURE_ORDER = 38, 7  # seeds of orders that make an unusual sum


@cache
def word_at_edge() -> onnx.ModelProto:
    """A detector of a word whose threshold lies between what two orders of its sums give."""
    model, value = onnx.load(real_model("oww-hey-jarvis")), "p1.1"
    threshold = edge(model, reordered("Gemm_1", WORD_ORDER), recorded("oww-hey-jarvis", 1)()[0], value)
    set_constant(model, find(model, "GreaterOrEqual_30")[2], 1, threshold)
    return model


DENSE = "StatefulPartitionedCall/sequential_8/dense_17/MatMul"


@cache
def gesture_at_edge() -> tuple:
    """A sample whose score is at the threshold, so that the order of sums decides."""
    model, sample = onnx.load(real_model("gesture-lstm-tiny")), dict(recorded("gesture-lstm-tiny", 1)()[0])
    threshold = edge(model, reordered(DENSE, GESTURE_ORDER), sample, "onnx::Less_2")
    sample["score_threshold"] = np.full(sample["score_threshold"].shape, threshold)
    return (sample,)


def b17() -> list[Case]:
    near, product, decides = best_boxes(2e-7)
    far, _, _ = best_boxes(3e-2)
    x = lambda: [{"x": normal(202, 32, 256)}]
    twin = lambda name, model, inputs, fault: Case(f"{name}/clear", "", model, inputs, fault=fault)
    gesture, word = real_model("gesture-lstm-tiny"), recorded("oww-hey-jarvis", 1)
    return [
        planted(
            "B17/own-graph",
            lambda: near,
            x,
            decides,
            reordered(product),
            twin=twin("B17/own-graph", lambda: far, x, reordered(product)),
        ),
        planted(
            "B17/own-refused",
            lambda: near,
            x,
            decides,
            reordered(product, 5),
            taps="refused",
            twin=twin("B17/own-refused", lambda: far, x, reordered(product, 5)),
        ),
        planted(
            "B17/oww-hey-jarvis",
            word_at_edge,
            word,
            {"GreaterOrEqual_30", "Cast_31", "If_32"},
            reordered("Gemm_1", WORD_ORDER),
            twin=twin("B17/oww-hey-jarvis", real_model("oww-hey-jarvis"), word, reordered("Gemm_1", WORD_ORDER)),
        ),
        planted(
            "B17/gesture",
            gesture,
            lambda: list(gesture_at_edge()),
            {"Less_2", "Where_5"},
            reordered(DENSE, GESTURE_ORDER),
            twin=twin("B17/gesture", gesture, recorded("gesture-lstm-tiny", 1), reordered(DENSE, GESTURE_ORDER)),
        ),
    ]


def fed_back(gain: float, steps: int = 40):
    """x <- tanh(W x), many times, in a Loop. Above a gain of 1 it is chaos."""
    inner = [
        helper.make_node("MatMul", ["s", "w"], ["p"], name="n1"),
        helper.make_node("Tanh", ["p"], ["q"], name="n2"),
        helper.make_node("Identity", ["c"], ["d"], name="n3"),
    ]
    value = lambda name, kind, shape: helper.make_tensor_value_info(name, kind, shape)
    body = helper.make_graph(
        inner,
        "body",
        [value("i", INT, []), value("c", TensorProto.BOOL, []), value("s", FLOAT, [4, 64])],
        [value("d", TensorProto.BOOL, []), value("q", FLOAT, [4, 64])],
    )
    nodes = [
        helper.make_node("Loop", ["count", "go", "x"], ["z"], name="n4", body=body),
        helper.make_node("MatMul", ["z", "u"], ["y"], name="n5"),
    ]
    constants = {
        "count": np.array(steps),
        "go": np.array(True),
        "w": weights(210, 64, 64) * np.float32(gain),
        "u": weights(211, 64, 8),
    }
    return builder(nodes, {"x": (FLOAT, [4, 64])}, {"y": (FLOAT, [4, 8])}, constants)


def unrolled(gain: float, steps: int = 30):
    """The same, step by step in the graph; the steps share their weights."""
    net, w, x = Net(), weights(212, 64, 64) * np.float32(gain), "x"
    for _ in range(steps):
        x = net("Tanh", net("MatMul", x, w))
    net("MatMul", x, weights(213, 64, 8), result="y")
    return net.model({"x": (FLOAT, [4, 64])}, {"y": (FLOAT, [4, 8])})


GAIN_OF_LOOP, GAIN_OF_LSTM = 25.0, 8.0  # of the recurrent weights: chaos
LOOP = "StatefulPartitionedCall/CRNN_Model_1/bigru1_1/forward_gru_1/while_loop"


def enlarge(model: onnx.ModelProto, value: str, gain: float) -> None:
    tensor = next(tensor for tensor in model.graph.initializer if tensor.name == value)
    tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor) * np.float32(gain), value))


def louder_loop(gain: float):
    """A decoder with larger recurrent weights in its first Loop, which runs for 120 steps."""
    return changed(real_model("cw-decoder-ja-loop"), lambda model: enlarge(model, find(model, LOOP)[2].input[7], gain))


def louder_lstm(gain: float):
    """A reader of text with larger recurrent weights in its LSTMs, and names for its nodes."""

    def change(model: onnx.ModelProto) -> None:
        name_all(model)
        for node in model.graph.node:
            if node.op_type == "LSTM" and gain != 1:
                enlarge(model, node.input[2], gain)

    return changed(real_model("crnn-lstm-text"), change)


def b18() -> list[Case]:
    x = lambda: [{"x": normal(214, 4, 64)}]
    calm = lambda name, model, inputs, fault: Case(f"{name}/calm", "", model, inputs, fault=fault)
    loop, steps = lambda: fed_back(3.0, 60), lambda: unrolled(3.0, 60)
    cw = recorded("cw-decoder-ja-loop", 1)
    conv = sorted(names(real_model("cw-decoder-ja-loop"), "Conv"))[-1]
    text, read = recorded("crnn-lstm-text", 1), louder_lstm(1)()
    last = next(node.name for node in reversed(read.graph.node) if node.op_type == "Conv")
    inner = frozenset({"n1", "n2", "n4"})
    every = names(unrolled(3.0, 60), "MatMul", "Tanh")
    return [
        planted(
            "B18/own-graph",
            loop,
            x,
            inner,
            reordered("n1"),
            twin=calm("B18/own-graph", lambda: fed_back(0.7, 60), x, reordered("n1")),
        ),
        planted(
            "B18/own-unrolled",
            steps,
            x,
            every,
            reordered("n1"),
            twin=calm("B18/own-unrolled", lambda: unrolled(0.7, 60), x, reordered("n1")),
        ),
        planted(
            "B18/cw-decoder",
            louder_loop(GAIN_OF_LOOP),
            cw,
            {LOOP},
            reordered(conv),
            twin=calm("B18/cw-decoder", real_model("cw-decoder-ja-loop"), cw, reordered(conv)),
        ),
        planted(
            "B18/crnn-lstm",
            louder_lstm(GAIN_OF_LSTM),
            text,
            names(read, "LSTM"),
            reordered(last),
            twin=calm("B18/crnn-lstm", louder_lstm(0.25), text, reordered(last)),
        ),
    ]


def cases() -> list[Case]:
    return [*b17(), *b18()]
