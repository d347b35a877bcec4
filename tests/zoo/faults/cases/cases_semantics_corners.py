"""B37: corners of integers, rounding and NaN. B38: sizes that move, and padding."""

import numpy as np
import onnx
from onnx import TensorProto, helper

from case import Case
from planting import builder, nodes_of, own, planted, real_model, recorded, samples

FLOAT, INT = TensorProto.FLOAT, TensorProto.INT64
step = helper.make_node


def hashed() -> onnx.ModelProto:
    """Identifiers that a large factor spreads over the rows of a table; the products need int64."""
    rng = np.random.default_rng(37)
    nodes = [
        step("Mul", ["x", "f"], ["v1"], name="n1"),
        step("Add", ["v1", "o"], ["v2"], name="n2"),
        step("Mod", ["v2", "m"], ["v3"], name="n3"),
        step("Gather", ["t", "v3"], ["y"], name="n4"),
    ]
    weights = {
        "f": np.int64(2654435761),
        "o": np.int64(12345),
        "m": np.int64(31),
        "t": rng.standard_normal((31, 4), np.float32),
    }
    return builder(nodes, {"x": (INT, ["N"])}, {"y": (FLOAT, ["N", 4])}, weights)


def distances(operator: str):
    """Signed distances, their remainder or quotient by 7 as places in a table."""

    def build() -> onnx.ModelProto:
        rng = np.random.default_rng(38)
        nodes = [
            step("Sub", ["x", "z"], ["v1"], name="n1"),
            step(operator, ["v1", "m"], ["v2"], name="n2"),
            step("Gather", ["t", "v2"], ["v3"], name="n3"),
            step("Add", ["v3", "v3"], ["y"], name="n4"),
        ]
        weights = {"m": np.int64(7), "t": rng.standard_normal((32, 4), np.float32)}
        return builder(nodes, {"x": (INT, ["N"]), "z": (INT, ["N"])}, {"y": (FLOAT, ["N", 4])}, weights)

    return build


def integers(low: int, high: int, *names: str):
    def draw() -> list[dict[str, np.ndarray]]:
        rng = np.random.default_rng(3)
        return [{name: rng.integers(low, high, 40) for name in names} for _ in range(2)]

    return draw


def rounded(to: int | None = None, given: int = FLOAT):
    """Scores that are rounded, or cast, and a product of them. Ties are among them."""

    def build() -> onnx.ModelProto:
        rng = np.random.default_rng(39)
        middle = [step("Round", ["v1"], ["v2"], name="n2")]
        if to == INT:
            middle = [
                step("Cast", ["v1"], ["v0"], name="n2", to=INT),
                step("Cast", ["v0"], ["v2"], name="n5", to=FLOAT),
            ]
        if to == TensorProto.UINT8:
            middle = [
                step("Cast", ["v1"], ["w1"], name="n5", to=TensorProto.INT32),
                step("Cast", ["w1"], ["w2"], name="n2", to=to),
                step("Cast", ["w2"], ["v2"], name="n6", to=FLOAT),
            ]
        nodes = [step("Mul", ["x", "s"], ["v1"], name="n1"), *middle, step("MatMul", ["v2", "w"], ["y"], name="n4")]
        weights = {"s": np.float32(0.5), "w": rng.standard_normal((12, 4), np.float32)}
        return builder(nodes, {"x": (FLOAT, ["N", 12])}, {"y": (FLOAT, ["N", 4])}, weights)

    return build


def ties(low: int, high: int):
    def draw() -> list[dict[str, np.ndarray]]:
        rng = np.random.default_rng(4)
        return [{"x": rng.integers(low, high, (6, 12)).astype(np.float32)} for _ in range(2)]

    return draw


def holed(name: str, value: str, *place: int):
    """The last recorded sample of a real model with one NaN, as a dead pixel or a lost frame makes it."""

    def read() -> list[dict[str, np.ndarray]]:
        given = recorded(name)()[-1:]
        for sample in given:
            sample[value] = sample[value].copy()
            sample[value][place] = np.nan
        return given

    return read


def corner_cases() -> list[Case]:
    embedding, enlarged = "oww-embedding", "superres-x3"
    relu = nodes_of(real_model(enlarged), "Relu")[0].name
    largest = "model/tf.math.maximum/Maximum"
    nan = lambda node: {"kind": "nan-becomes", "node": node, "value": 0.0}
    return [
        own("B37/own-int64", hashed, integers(0, 10**6, "x"), "n1", "saturates-at-int32"),
        own(
            "B37/own-mod",
            distances("Mod"),
            integers(-31, 31, "x", "z"),
            "n2",
            "attribute",
            taps="heals",
            key="fmod",
            value=1,
        ),
        own("B37/own-div", distances("Div"), integers(-31, 31, "x", "z"), "n2", "integer-division-floors"),
        own("B37/own-half-away", rounded(), ties(-40, 40), "n2", "rounds-half-away"),
        own("B37/own-cast-rounds", rounded(INT), ties(-40, 40), "n2", "cast-rounds", taps="refused"),
        own("B37/own-cast-saturates", rounded(TensorProto.UINT8), ties(-300, 1000), "n2", "cast-saturates"),
        Case(
            "B37/embedding-nan",
            "B37",
            real_model(embedding),
            holed(embedding, "input_1", 0, 30, 12, 0),
            frozenset({largest}),
            fault=nan(largest),
        ),
        Case(
            "B37/superres-nan",
            "B37",
            real_model(enlarged),
            holed(enlarged, "input", 0, 0, 100, 80),
            frozenset({relu}),
            fault=nan(relu),
        ),
    ]


def masked() -> onnx.ModelProto:
    """Attention over rows of which the mask says which are there, and their mean by number."""
    rng = np.random.default_rng(38)
    nodes = [
        step("MatMul", ["x", "wq"], ["v1"], name="n1"),
        step("MatMul", ["x", "wk"], ["v2"], name="n2"),
        step("Transpose", ["v2"], ["v3"], name="n3", perm=[0, 2, 1]),
        step("MatMul", ["v1", "v3"], ["v4"], name="n4"),
        step("Sub", ["m", "one"], ["v5"], name="n5"),
        step("Mul", ["v5", "far"], ["v6"], name="n6"),
        step("Unsqueeze", ["v6", "axis"], ["v7"], name="n7"),
        step("Add", ["v4", "v7"], ["v8"], name="n8"),
        step("Softmax", ["v8"], ["v9"], name="n9", axis=-1),
        step("MatMul", ["v9", "x"], ["v10"], name="n10"),
        step("ReduceSum", ["v10", "axis"], ["v11"], name="n11", keepdims=0),
        step("Shape", ["x"], ["v12"], name="n12"),
        step("Gather", ["v12", "axis"], ["v13"], name="n13"),
        step("Cast", ["v13"], ["v14"], name="n14", to=FLOAT),
        step("Div", ["v11", "v14"], ["y"], name="n15"),
    ]
    weights = {name: rng.standard_normal((16, 16), np.float32) / 4 for name in ("wq", "wk")}
    weights |= {"one": np.float32(1), "far": np.float32(1e4), "axis": np.asarray([1])}
    return builder(nodes, {"x": (FLOAT, ["N", "L", 16]), "m": (FLOAT, ["N", "L"])}, {"y": (FLOAT, ["N", 16])}, weights)


def several_lengths() -> list[dict[str, np.ndarray]]:
    rng = np.random.default_rng(39)
    made = []
    for batch, length in ((1, 12), (3, 12), (2, 29), (4, 5)):
        lengths = rng.integers(2, length + 1, batch)
        made.append(
            {
                "x": rng.standard_normal((batch, length, 16), np.float32),
                "m": (np.arange(length) < lengths[:, None]).astype(np.float32),
            }
        )
    return made


def flattened() -> onnx.ModelProto:
    """Rows of several lengths to which as many positions of a table are added."""
    rng = np.random.default_rng(40)
    nodes = [
        step("MatMul", ["x", "w"], ["v1"], name="n1"),
        step("Shape", ["x"], ["v2"], name="n2", start=0, end=1),
        step("Cast", ["v2"], ["v3"], name="n3", to=FLOAT),
        step("Sqrt", ["v3"], ["v4"], name="n4"),
        step("Div", ["v1", "v4"], ["v5"], name="n5"),
        step("Softmax", ["v5"], ["y"], name="n6", axis=0),
    ]
    return builder(
        nodes, {"x": (FLOAT, ["L", 8])}, {"y": (FLOAT, ["L", 4])}, {"w": 3 * rng.standard_normal((8, 4), np.float32)}
    )


def lengths() -> list[dict[str, np.ndarray]]:
    return [samples(1, length, x=(length, 8))()[0] for length in (16, 3, 40)]


def two_sentences() -> list[dict[str, np.ndarray]]:
    """A batch of two, of which the second is shorter, behind which there is padding."""
    given = recorded("tashkeel-fp32")()
    long = given[1]["char_inputs"]
    short = np.zeros_like(long)
    short[:, : given[0]["char_inputs"].shape[1]] = given[0]["char_inputs"]
    return [
        {
            "char_inputs": np.concatenate([long, short]),
            "input_lengths": np.asarray([long.shape[1], given[0]["char_inputs"].shape[1]]),
        }
    ]


def queries() -> list[dict[str, np.ndarray]]:
    """Queries of fewer tables, predicates and joins than there is room for: the masks say which are there."""
    given = recorded("mscn-cardinality")()
    for sample in given:
        rows = sample["modelInput"] = sample["modelInput"].copy()
        for first, last, column, there in ((0, 3, 6, 2), (3, 9, 13, 4), (9, 11, 6, 1)):
            for half in (0, 11):
                rows[:, first + half : last + half, column] = np.arange(last - first) < there
    return given


def size_cases() -> list[Case]:
    speech, attended = "tashkeel-fp32", "/attn_layers/layers.0.1/attend/Where"
    frozen = lambda *sizes: {"sizes": list(sizes)}
    return [
        own("B38/own-padding", masked, several_lengths, "n8", "operand-lost", index=1),
        own("B38/own-padding-hidden", masked, several_lengths, "n8", "operand-lost", taps="heals", index=1),
        own("B38/own-stale-mean", masked, several_lengths, "n12", "shape-frozen", **frozen(3, 12, 16)),
        own("B38/own-stale-scale", flattened, lengths, "n2", "shape-frozen", taps="partly", **frozen(16)),
        own("B38/mscn-padding", real_model("mscn-cardinality"), queries, "Mul_49", "operand-lost", index=1),
        own(
            "B38/mscn-padding-hidden",
            real_model("mscn-cardinality"),
            queries,
            "Mul_69",
            "operand-lost",
            taps="refused",
            index=1,
        ),
        Case(
            "B38/tashkeel-padding",
            "B38",
            real_model(speech),
            two_sentences,
            frozenset({attended}),
            fault={"kind": "where-lost", "node": attended, "kept": 2},
        ),
    ]


def cases() -> list[Case]:
    return corner_cases() + size_cases()
