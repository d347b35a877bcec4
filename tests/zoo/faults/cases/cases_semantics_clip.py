"""B32: Clip."""
import numpy as np
import onnx
from onnx import TensorProto, helper

from case import Case
from planting import builder, pick, real_model, recorded


def clip_graph() -> onnx.ModelProto:
    rng = np.random.default_rng(32)
    nodes = [helper.make_node("MatMul", ["x", "w"], ["v1"], name="n1"), helper.make_node("Add", ["v1", "b"], ["v2"], name="n2"),
             helper.make_node("Clip", ["v2", "lo", "hi"], ["v3"], name="n3"), helper.make_node("MatMul", ["v3", "u"], ["y"], name="n4")]
    weights = {"w": rng.standard_normal((24, 32), np.float32), "b": np.full(32, 1.5, np.float32), "lo": np.float32(0), "hi": np.float32(6),
               "u": rng.standard_normal((32, 8), np.float32)}
    return builder(nodes, {"x": (TensorProto.FLOAT, ["N", 24])}, {"y": (TensorProto.FLOAT, ["N", 8])}, weights)


def clip_inputs() -> list[dict[str, np.ndarray]]:
    rng = np.random.default_rng(1)
    return [{"x": rng.standard_normal((5, 24), np.float32)} for _ in range(2)]


def cases() -> list[Case]:
    model = real_model("hand-landmark-224")
    node = pick(model, "Clip", 2)
    own = "clip-bound:n3"
    return [
        Case("B32/own-graph", "B32", clip_graph, clip_inputs, frozenset({"n3"}), fault={"kind": "clip-max-lost", "node": "n3"}),
        Case("B32/own-graph-engine", "B32", clip_graph, clip_inputs, frozenset({"n3"}), runner=("--cpu", "--inject-fault", own)),
        Case("B32/hand-landmark", "B32", model, recorded("hand-landmark-224"), frozenset({node}), fault={"kind": "clip-max-lost", "node": node}),
    ]
