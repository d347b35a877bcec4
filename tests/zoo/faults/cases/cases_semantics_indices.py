"""B39: indices. B40: order and ties. B41: control flow."""

import numpy as np
import onnx
from onnx import TensorProto, helper

from case import Case
from planting import builder, nodes_of, own, planted, real_model, recorded, samples

FLOAT, INT = TensorProto.FLOAT, TensorProto.INT64
step = helper.make_node


def gathered(index: int = 1, size: int = 9):
    """A MatMul, one position of its result (counted from the end where negative), and another MatMul."""

    def build() -> onnx.ModelProto:
        rng = np.random.default_rng(39)
        nodes = [
            step("MatMul", ["x", "w"], ["v1"], name="n1"),
            step("Gather", ["v1", "i"], ["v2"], name="n2", axis=1),
            step("MatMul", ["v2", "u"], ["y"], name="n3"),
        ]
        weights = {
            "w": rng.standard_normal((6, 8), np.float32),
            "u": rng.standard_normal((8, 4), np.float32),
            "i": np.asarray([index, 3, 4]),
        }
        return builder(nodes, {"x": (FLOAT, ["N", size, 6])}, {"y": (FLOAT, ["N", 3, 4])}, weights)

    return build


def scattered() -> onnx.ModelProto:
    """Rows that are written into zeros at indices that the caller gives."""
    rng = np.random.default_rng(40)
    nodes = [
        step("MatMul", ["x", "w"], ["v1"], name="n1"),
        step("ScatterND", ["z", "i", "v1"], ["v2"], name="n2"),
        step("MatMul", ["v2", "u"], ["y"], name="n3"),
    ]
    weights = {
        "w": rng.standard_normal((6, 8), np.float32),
        "u": rng.standard_normal((8, 4), np.float32),
        "z": np.zeros((8, 8), np.float32),
    }
    return builder(nodes, {"x": (FLOAT, [5, 6]), "i": (INT, [5, 1])}, {"y": (FLOAT, [8, 4])}, weights)


def rows_at(*indices: int):
    def draw() -> list[dict[str, np.ndarray]]:
        return [{"i": np.asarray(indices)[:, None], **sample} for sample in samples(x=(5, 6))()]

    return draw


def sliced() -> onnx.ModelProto:
    rng = np.random.default_rng(41)
    nodes = [
        step("Conv", ["x", "w"], ["v1"], name="n1", pads=[1, 1, 1, 1]),
        step("Slice", ["v1", "a", "b", "axes", "steps"], ["v2"], name="n2"),
        step("Relu", ["v2"], ["y"], name="n3"),
    ]
    weights = {
        "w": rng.standard_normal((4, 2, 3, 3), np.float32),
        "a": np.asarray([1, 2]),
        "b": np.asarray([7, 8]),
        "axes": np.asarray([2, 3]),
        "steps": np.asarray([2, 2]),
    }
    return builder(nodes, {"x": (FLOAT, [1, 2, 10, 10])}, {"y": (FLOAT, [1, 4, 3, 3])}, weights)


def index_cases() -> list[Case]:
    rows = samples(x=(2, 9, 6))
    mask = nodes_of(real_model("calo-gnn-small"), "Gather")[1].name
    return [
        own("B39/own-off-by-one", gathered(), rows, "n2", "indices-moved", by=1),
        own("B39/own-negative", gathered(-1), rows, "n2", "negative-indices-clamped"),
        own("B39/own-duplicates", scattered, rows_at(1, 1, 3, 7, 3), "n2", "scatter-first-wins", taps="heals"),
        own("B39/own-added", scattered, rows_at(1, 1, 3, 7, 0), "n2", "attribute", key="reduction", value="add"),
        own("B39/own-slice", sliced, samples(x=(1, 2, 10, 10)), "n2", "slice-moved", by=1, taps="refused"),
        planted(
            "B39/fastestdet-gather", "fastestdet-352", "/backbone/stage2/stage2.2/Gather_1", "indices-moved", by=-1
        ),
        planted("B39/tashkeel-embedding", "tashkeel-fp32", "/emb/Gather", "indices-computed-moved", by=1, size=52),
        planted("B39/nanodet-slice", "nanodet-m-320", "Slice_30", "slice-moved", taps="partly", by=-1),
        planted("B39/calo-gather", "calo-gnn-small", mask, "indices-computed-moved", by=1, size=8),
        planted("B39/gtcrn-scatter", "gtcrn-simple", "ScatterND_417", "constant-scaled", index=1, factor=0.0),
        planted("B39/gtcrn-slice", "gtcrn-simple", "Slice_861", "slice-moved", by=-1),
    ]


def best(operator: str) -> onnx.ModelProto:
    """The best of scores that are rounded, so that some are equal, and the rows that belong to them."""
    rng = np.random.default_rng(42)
    found = (
        [step("TopK", ["v2", "k"], ["v3", "v4"], name="n3", axis=1)]
        if operator == "TopK"
        else [step("ArgMax", ["v2"], ["v4"], name="n3", axis=1, keepdims=1)]
    )
    nodes = [
        step("MatMul", ["x", "w"], ["v1"], name="n1"),
        step("Round", ["v1"], ["v2"], name="n2"),
        *found,
        step("Gather", ["t", "v4"], ["y"], name="n4"),
    ]
    weights = {"w": rng.standard_normal((6, 24), np.float32) / 2, "t": rng.standard_normal((24, 5), np.float32)}
    weights |= {"k": np.asarray([6])} if operator == "TopK" else {}
    return builder(nodes, {"x": (FLOAT, ["N", 6])}, {"y": (FLOAT, ["N", 6 if operator == "TopK" else 1, 5])}, weights)


def detected() -> onnx.ModelProto:
    nodes = [
        step("NonMaxSuppression", ["x", "s", "k", "o"], ["v1"], name="n1"),
        step("Gather", ["v1", "c"], ["v2"], name="n2", axis=1),
        step("Squeeze", ["x", "zero"], ["v3"], name="n3"),
        step("Gather", ["v3", "v2"], ["y"], name="n4"),
    ]
    weights = {"k": np.asarray([6]), "o": np.float32([0.5]), "c": np.asarray(2), "zero": np.asarray([0])}
    return builder(nodes, {"x": (FLOAT, [1, 12, 4]), "s": (FLOAT, [1, 1, 12])}, {"y": (FLOAT, ["K", 4])}, weights)


def boxes() -> list[dict[str, np.ndarray]]:
    rng = np.random.default_rng(43)
    corner = rng.uniform(0, 1, (1, 12, 2)).astype(np.float32)
    return [
        {
            "x": np.concatenate([corner, corner + np.float32(0.2)], 2),
            "s": rng.uniform(0, 1, (1, 1, 12)).astype(np.float32),
        }
    ]


def on_a_grid() -> list[dict[str, np.ndarray]]:
    """Particles that a coarse detector saw: many are equally far from each other."""
    given = recorded("particlenet-ak4", 1)()
    for sample in given:
        for name in ("pf_points", "sv_points"):
            sample[name] = np.round(sample[name] * 16) / np.float32(16)
    return given


def order_cases() -> list[Case]:
    rows, nms = samples(x=(8, 6)), "onnx_graphsurgeon_node_43"
    place = frozenset({"TopK_39"})
    return [
        own("B40/own-topk", lambda: best("TopK"), rows, "n3", "ties-last", axis=1),
        own("B40/own-argmax", lambda: best("ArgMax"), rows, "n3", "ties-last", axis=1),
        own("B40/own-boxes", detected, boxes, "n1", "boxes-by-index", taps="refused"),
        planted("B40/yolo-boxes", "yolov8-nms-graph", nms, "boxes-by-index"),
        Case(
            "B40/particlenet-neighbours",
            "B40",
            real_model("particlenet-ak4"),
            on_a_grid,
            place,
            fault={"kind": "ties-last", "node": "TopK_39", "axis": 2},
        ),
    ]


def counted() -> onnx.ModelProto:
    """A Loop that adds to x while its sum is below 10, with a scan output of the sums' weights."""
    body = helper.make_graph(
        [
            step("Add", ["p", "one"], ["p1"], name="m1"),
            step("ReduceSum", ["p1"], ["p2"], name="m2", keepdims=0),
            step("Less", ["p2", "ten"], ["p3"], name="m3"),
        ],
        "body",
        [
            helper.make_tensor_value_info("i", INT, []),
            helper.make_tensor_value_info("c", TensorProto.BOOL, []),
            helper.make_tensor_value_info("p", FLOAT, ["K"]),
        ],
        [helper.make_tensor_value_info("p3", TensorProto.BOOL, []), helper.make_tensor_value_info("p1", FLOAT, ["K"])],
    )
    nodes = [
        step("Mul", ["x", "two"], ["v1"], name="n1"),
        step("Loop", ["", "true", "v1"], ["v2"], name="n2", body=body),
        step("MatMul", ["v2", "w"], ["y"], name="n3"),
    ]
    weights = {
        "one": np.float32(1),
        "ten": np.float32(10),
        "two": np.float32(2),
        "true": np.asarray(True),
        "w": np.random.default_rng(5).standard_normal((2, 3), np.float32),
    }
    return builder(nodes, {"x": (FLOAT, [2])}, {"y": (FLOAT, [3])}, weights)


def recurrent() -> onnx.ModelProto:
    """A Loop of as many steps as there are rows, whose states are its scan output."""
    rng = np.random.default_rng(44)
    body = helper.make_graph(
        [
            step("Gather", ["x", "i"], ["p1"], name="m1"),
            step("MatMul", ["h", "w"], ["p2"], name="m2"),
            step("Add", ["p1", "p2"], ["p3"], name="m3"),
            step("Tanh", ["p3"], ["p4"], name="m4"),
            step("Identity", ["c"], ["p5"], name="m5"),
            step("Identity", ["p4"], ["p6"], name="m6"),
        ],
        "body",
        [
            helper.make_tensor_value_info("i", INT, []),
            helper.make_tensor_value_info("c", TensorProto.BOOL, []),
            helper.make_tensor_value_info("h", FLOAT, [6]),
        ],
        [
            helper.make_tensor_value_info("p5", TensorProto.BOOL, []),
            helper.make_tensor_value_info("p4", FLOAT, [6]),
            helper.make_tensor_value_info("p6", FLOAT, [6]),
        ],
    )
    nodes = [
        step("Shape", ["x"], ["v1"], name="n1", end=1),
        step("Squeeze", ["v1"], ["v2"], name="n2"),
        step("Loop", ["v2", "true", "z"], ["v3", "v4"], name="n3", body=body),
        step("Add", ["v4", "v3"], ["y"], name="n4"),
    ]
    weights = {"true": np.asarray(True), "z": np.zeros(6, np.float32), "w": rng.standard_normal((6, 6), np.float32)}
    return builder(nodes, {"x": (FLOAT, ["T", 6])}, {"y": (FLOAT, ["T", 6])}, weights)


def branched() -> onnx.ModelProto:
    """If the mean is positive, the one product, and otherwise the other."""
    rng = np.random.default_rng(45)
    branch = lambda i: helper.make_graph(
        [step("MatMul", ["v1", f"w{i}"], [f"p{i}"], name=f"m{i}")],
        f"g{i}",
        [],
        [helper.make_tensor_value_info(f"p{i}", FLOAT, ["N", 4])],
    )
    nodes = [
        step("Tanh", ["x"], ["v1"], name="n1"),
        step("ReduceMean", ["v1"], ["v2"], name="n2", keepdims=0),
        step("Greater", ["v2", "zero"], ["v3"], name="n3"),
        step("If", ["v3"], ["v4"], name="n4", then_branch=branch(0), else_branch=branch(1)),
        step("Relu", ["v4"], ["y"], name="n5"),
    ]
    weights = {"zero": np.float32(0), **{f"w{i}": rng.standard_normal((6, 4), np.float32) for i in range(2)}}
    return builder(nodes, {"x": (FLOAT, ["N", 6])}, {"y": (FLOAT, ["N", 4])}, weights)


def flow_cases() -> list[Case]:
    morse = "StatefulPartitionedCall/CRNN_Model_1/bigru1_1/{}_gru_1/while_loop"
    inner = "If_0_then_branch__Inline_0__/decoder/If_1"
    vad, branch = "silero-vad-v5", {"kind": "branches-exchanged", "node": inner}
    start = lambda: [{"x": np.float32([1.1, 1.65])}, {"x": np.float32([-3, 0.4])}]
    return [
        own("B41/own-one-more", counted, start, "n2", "one-trip-more"),
        own("B41/own-one-fewer", recurrent, samples(x=(7, 6)), "n3", "one-trip-fewer", taps="refused"),
        own("B41/own-branch", branched, samples(x=(3, 6)), "n4", "branches-exchanged"),
        planted("B41/jarvis-branch", "oww-hey-jarvis", "If_32", "branches-exchanged"),
        # The choice is made inside a branch of another If, so that either may be named.
        Case("B41/vad-branch", "B41", real_model(vad), recorded(vad), frozenset({inner, "If_0"}), fault=branch),
        planted("B41/morse-one-fewer", "cw-decoder-ja-loop", morse.format("forward"), "one-trip-fewer"),
        planted(
            "B41/morse-one-fewer-backward",
            "cw-decoder-ja-loop",
            morse.format("backward"),
            "one-trip-fewer",
            taps="refused",
        ),
    ]


def cases() -> list[Case]:
    return index_cases() + order_cases() + flow_cases()
