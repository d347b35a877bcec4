"""Lists what an engine may get wrong, and which classes name it: operator x operand x kind x extent, for cases that are drawn.

A kind gives a fault for a node, or None where the node gives no occasion. The classes follow the table of docs/diagnosis.md, not what
a diagnosis says.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import onnx

from edits import attribute, constant_of

PRODUCTS = ("Conv", "ConvTranspose", "Gemm", "MatMul")
FUNCTIONS = ("Relu", "LeakyRelu", "Elu", "HardSwish", "Sigmoid", "Tanh", "Softplus", "HardSigmoid", "PRelu", "Erf", "Exp")
ADDS, SCALES = ("Add", "Sub", "Sum"), ("Mul", "Div")
# Types by the classes that name a loss by rounding: too few bits; fp16, that nobody asked for it; what is too small or too large is lost.
# fp16 and TF32 have as many digits: what is rounded to either is the same number, as long as it does not leave the range of fp16.
NARROW = {
    "bf16": "B15 B4", "fp16": "B13 B15 B4 B2 B9", "tf32": "B9 B13", "e4m3": "B15 B4 B2", "e5m2": "B15 B4", "int8": "B15 B30", "int4": "B15 B30",
    "scaled e4m3": "B15 B4 B30", "scaled e5m2": "B15 B30", "scaled e2m1": "B15 B30",
}  # fmt: skip


@dataclass(frozen=True)
class Place:
    """A node with what it reads and makes on the first sample."""

    model: onnx.ModelProto
    node: onnx.NodeProto
    values: dict  # arrays by name, of all values of the model
    rng: np.random.Generator

    @property
    def result(self) -> np.ndarray:
        return self.values[self.node.output[0]]

    def constant(self, index: int) -> np.ndarray | None:
        return constant_of(self.model, self.node.input[index]) if len(self.node.input) > index and self.node.input[index] else None

    def floats(self, index: int) -> np.ndarray | None:
        """A constant operand of floats that is more than one number."""
        array = self.constant(index)
        return array if array is not None and array.dtype == np.float32 and array.size > 1 else None

    def one(self, *choices):
        return choices[int(self.rng.integers(len(choices)))]

    def places(self, count: int) -> list[int]:
        """One, a few, or the last ones of so many."""
        kind = int(self.rng.integers(3))
        if kind == 0 or count < 4:
            return [int(self.rng.integers(count))]
        if kind == 1:
            return sorted(int(i) for i in self.rng.permutation(count)[: max(2, count // 8)])
        return list(range(count - max(1, count // 4), count))

    def fault(self, kind: str, **fields) -> dict:
        return {"kind": kind, "node": self.node.name, **fields}


@dataclass(frozen=True)
class Kind:
    name: str
    operators: tuple[str, ...] | None  # None: any
    draw: Callable[[Place], tuple[dict, str] | None]  # a fault, and the classes that name it


KINDS: list[Kind] = []


def kind(name: str, *operators: str):
    def add(draw):
        KINDS.append(Kind(name, operators or None, draw))
        return draw

    return add


def weight_axes(place: Place) -> tuple[int, int]:
    """The axes of the output and of the input channels of a weight."""
    rank = place.constant(1).ndim
    if place.node.op_type == "Conv":
        return 0, 1
    if place.node.op_type == "ConvTranspose":
        return 1, 0
    return (0, 1) if attribute(place.node, "transB", 0) else (rank - 1, rank - 2)


# Numbers that are held in few bits: each operand alone, the result, or all.


def number_format(place: Place, axes: tuple[int, ...], length_of) -> dict:
    """A type, and for those with scales how far one reaches: everything, an index of an axis, a block along one."""
    made = {"type": place.one(*NARROW)}
    if made["type"] not in ("int8", "int4") and not made["type"].startswith("scaled"):
        return made
    reach = int(place.rng.integers(3))
    if reach > 0:
        made["axis"] = axes[reach - 1] if len(axes) >= reach else axes[0]
    if reach == 2:
        made["block"] = place.one(16, 32)
        if length_of(made["axis"]) <= made["block"]:
            made["block"] = 4
    if made["type"] == "int8" and "block" not in made and place.rng.integers(4) == 0:
        made["asymmetric"] = True
    if made["type"].startswith("int") and "asymmetric" not in made and place.rng.integers(5) == 0:
        made["ties"] = "cut"
    return made


@kind("weights-held", *PRODUCTS)
def weights_held(place):
    weights = place.floats(1)
    if weights is None or weights.ndim < 2:
        return None
    given = number_format(place, weight_axes(place), lambda axis: weights.shape[axis])
    return place.fault("operand-held-in", index=1, **given), NARROW[given["type"]] + ("" if "axis" in given else " B24")


@kind("weights-of-channels-held", *PRODUCTS)
def weights_of_channels_held(place):
    weights = place.floats(1)
    if weights is None or weights.ndim < 2:
        return None
    axis = weight_axes(place)[0]
    type = place.one("bf16", "int8", "int4", "e4m3")
    return place.fault("operand-held-in", index=1, type=type, axis=axis, places=place.places(weights.shape[axis])), NARROW[type]


@kind("activations-held", *PRODUCTS)
def activations_held(place):
    value = place.values.get(place.node.input[0])
    if value is None or value.dtype != np.float32 or place.constant(0) is not None:
        return None
    type = place.one("bf16", "tf32", "fp16", "int8", "int8", "int4")
    given = {"type": type}
    if type.startswith("int") and place.node.op_type in ("MatMul", "Gemm"):
        length = value.shape[-1]
        block = place.one(0, length, *[b for b in (8, 16, 32) if length % b == 0])
        given |= {"axis": value.ndim - 1, "block": int(block)} if block else {}
    return place.fault("operand-held-in", index=0, **given), NARROW[type]


@kind("bias-held", "Conv", "ConvTranspose", "Gemm")
def bias_held(place):
    if place.floats(2) is None:
        return None
    type = place.one("bf16", "int8", "int4", "e4m3", "e5m2")
    return place.fault("operand-held-in", index=2, type=type), NARROW[type]


@kind("constant-held", "Add", "Mul", "Sub", "Div", "PRelu", "BatchNormalization", "LayerNormalization", "InstanceNormalization")
def constant_held(place):
    index = next((i for i in (1, 0) if place.floats(i) is not None), None)
    if index is None:
        return None
    type = place.one("bf16", "int8", "int4", "e4m3", "e5m2")
    return place.fault("operand-held-in", index=index, type=type), NARROW[type]


@kind("computed-in")
def computed_in(place):
    if place.result.dtype != np.float32 or place.node.op_type in ("Constant", "Identity", "Reshape", "Transpose", "Concat", "Slice", "Gather", "Flatten"):
        return None
    how, type = place.one("computed-in", "results-in"), place.one("bf16", "fp16")
    return place.fault(how, type=type), NARROW[type] + " B5 B7 B1 B11"


@kind("operands-in", "Conv", "MatMul", "Gemm")
def operands_in(place):
    type = place.one("bf16", "tf32", "fp16")
    return place.fault("operands-in", type=type), NARROW[type]


@kind("sums-in", "Conv", "MatMul", "Gemm")
def sums_in(place):
    weights = place.floats(1)
    if weights is None or weights.ndim not in (2, 4) or weights.shape[weight_axes(place)[1]] < 8:
        return None
    return place.fault("sums-in", type=place.one("bf16", "fp16"), width=place.one(1, 2, 4)), "B8 B3"


# Slices of weights, and weights as a whole.


@kind("channels-of-weights", *PRODUCTS)
def channels_of_weights(place):
    weights = place.floats(1)
    if weights is None or weights.ndim < 2:
        return None
    axis = weight_axes(place)[int(place.rng.integers(2))]
    count = weights.shape[axis]
    if count < 3:
        return None
    change = place.one("lost", "scaled", "negated", "turned")
    places = place.places(count)
    if change == "turned" and len(places) < 2:
        places = sorted(int(i) for i in place.rng.permutation(count)[:2])
    amount = place.one(0.0625, 0.5, 0.8, 1.25, 2.0, 3.0, 16.0) if change == "scaled" else 1.0
    fault = place.fault("weight-slices", index=1, change=change, axis=axis, places=places, amount=amount)
    return fault, "B47" if change in ("lost", "turned") else "B47 B31"


@kind("bias-slices", "Conv", "ConvTranspose", "Gemm", "Add", "Mul", "BatchNormalization", "LayerNormalization", "InstanceNormalization")
def bias_slices(place):
    index = 2 if place.node.op_type in ("Conv", "ConvTranspose", "Gemm") else 1
    array = place.floats(index)
    if array is None:
        return None
    axis = int(np.argmax(array.shape))
    change = place.one("lost", "scaled", "negated", "turned", "first")
    places = place.places(array.shape[axis])
    if change in ("turned", "first"):
        places = list(range(array.shape[axis]))
    fault = place.fault("weight-slices", index=index, change=change, axis=axis, places=places, amount=place.one(0.25, 0.5, 2.0, 4.0))
    return fault, "B31 B47 B35"


@kind("weights-read-otherwise", *PRODUCTS)
def weights_read_otherwise(place):
    weights = place.floats(1)
    if weights is None or weights.ndim < 2:
        return None
    perm = list(range(weights.ndim))
    a, b = sorted(int(i) for i in place.rng.permutation(weights.ndim)[:2])
    perm[a], perm[b] = perm[b], perm[a]
    same = weights.shape[a] == weights.shape[b]
    return place.fault("weight-read-otherwise", index=1, perm=perm, reinterpreted=not same), "B31"


@kind("weights-as-a-whole", *PRODUCTS)
def weights_as_a_whole(place):
    weights = place.floats(1)
    if weights is None or weights.ndim < 2:
        return None
    if weights.ndim == 4 and max(weights.shape[2:]) > 1 and place.rng.integers(2):
        return place.fault("constant-flipped", index=1, axes=place.one([2], [3], [2, 3])), "B31"
    return place.fault("constant-scaled", index=1, factor=place.one(0.5, 2.0, 0.25, 4.0, -1.0, 0.9)), "B31 B47"


@kind("weights-of-another", *PRODUCTS)
def weights_of_another(place):
    weights = place.floats(1)
    if weights is None:
        return None
    for other in place.model.graph.node:
        if other.op_type != place.node.op_type or other.name in ("", place.node.name) or len(other.input) < 2:
            continue
        array = constant_of(place.model, other.input[1])
        if array is not None and array.shape == weights.shape and array.dtype == weights.dtype:
            return place.fault("weight-of-another", index=1, other=other.name), "B47 B31"
    return None


@kind("weights-retrained", *PRODUCTS)
def weights_retrained(place):
    weights = place.floats(1)
    if weights is None or weights.ndim < 2:
        return None
    return place.fault("old-weights", change=place.one(0.1, 0.3), seed=int(place.rng.integers(99))), "B47"


# Operands and functions that are lost, twice, or others.


@kind("operand-lost", "Add", "Sub", "Mul", "Div")
def operand_lost(place):
    index = int(place.rng.integers(2)) if place.node.op_type in ("Add", "Mul") else 1
    kept = place.node.input[1 - index]
    known = place.values.get(kept, place.constant(1 - index))
    if known is None or known.shape != place.result.shape or place.result.dtype != np.float32:
        return None
    return place.fault("operand-lost", index=index), "B31 B38"


@kind("constant-scaled", "Add", "Sub", "Mul", "Div", "Gemm", "Conv")
def constant_scaled(place):
    index = 2 if place.node.op_type in ("Gemm", "Conv") else next((i for i in (1, 0) if place.constant(i) is not None), 2)
    array = place.constant(index)
    if array is None or array.dtype != np.float32:
        return None
    return place.fault("constant-scaled", index=index, factor=place.one(0.0, -1.0, 0.5, 2.0, 4.0, 0.25, 1.5)), "B31 B5 B35"


@kind("operand-of-another", "Add", "Mul", "Sub", "Div", "MatMul", "Concat")
def operand_of_another(place):
    index = int(place.rng.integers(2))
    if len(place.node.input) <= index or place.constant(index) is not None:
        return None
    right, made = place.node.input[index], set()
    others = []
    for node in place.model.graph.node:  # what is there when the node is computed
        if node.name == place.node.name:
            break
        made |= set(node.output)
    shape = place.values[right].shape if right in place.values else None
    for name in made:
        value = place.values.get(name)
        if name != right and value is not None and value.shape == shape and value.dtype == np.float32 and name not in place.node.input:
            others.append(name)
    if not others:
        return None
    return place.fault("operand-of-another", index=index, value=sorted(others)[int(place.rng.integers(len(others)))]), "B31"


@kind("operands-exchanged", "Sub", "Div", "Concat", "MatMul")
def operands_exchanged(place):
    shapes = [value.shape for value in (place.values.get(name, place.constant(i)) for i, name in enumerate(place.node.input)) if value is not None]
    if len(shapes) != 2 or shapes[0] != shapes[1]:
        return None
    return place.fault("inputs-exchanged", first=0, second=1), "B31"


@kind("function-lost", *FUNCTIONS, "Softmax", "LayerNormalization", "BatchNormalization")
def function_lost(place):
    # A Relu that is lost is a bound that is lost.
    return place.fault("function-lost"), "B31 B35" + (" B32" if place.node.op_type == "Relu" else "")


@kind("function-twice", "LeakyRelu", "Elu", "HardSwish", "Sigmoid", "Tanh", "Softplus", "PRelu", "Erf", "Exp")
def function_twice(place):
    return place.fault("function-twice"), "B31"


@kind("other-function", *FUNCTIONS)
def other_function(place):
    own = place.node.op_type
    others = {"Relu": [("LeakyRelu", {"alpha": 0.01}), ("LeakyRelu", {"alpha": 0.2}), ("Abs", {}), ("Elu", {})], "Sigmoid": [("HardSigmoid", {}), ("Tanh", {})], "Tanh": [("Sigmoid", {}), ("Softsign", {})]}
    given = others.get(own, [("Relu", {}), ("Sigmoid", {}), ("Identity", {})])
    op, attributes = given[int(place.rng.integers(len(given)))]
    return place.fault("other-function", op=op, **attributes), "B31"


@kind("formula", "Exp", "Sigmoid", "Tanh", "Erf")
def formula(place):
    names = {"Exp": ["fast exp"], "Sigmoid": ["fast sigmoid", "hard sigmoid"], "Tanh": ["rational tanh"], "Erf": ["tanh erf"]}[place.node.op_type]
    return place.fault("formula", name=place.one(*names)), "B11 B31"


# Attributes.

ATTRIBUTES = {
    "LeakyRelu": ("alpha", [0.1, 0.2, 0.3, 0.02], "B31"),
    "Elu": ("alpha", [0.5, 0.8, 2.0], "B31"),
    "Softmax": ("axis", [0, 1, 2], "B31 B36"),
    "LogSoftmax": ("axis", [0, 1, 2], "B31 B36"),
    "Concat": ("axis", [0, 1, 2], "B31"),
    "BatchNormalization": ("epsilon", [1e-5, 1e-1, 1e-2, 0.5], "B35"),
    "InstanceNormalization": ("epsilon", [1e-5, 1e-1, 0.5], "B35"),
    "LayerNormalization": ("epsilon", [1e-5, 1e-1, 0.5], "B35"),
    "Resize": ("coordinate_transformation_mode", ["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"], "B34"),
    "AveragePool": ("count_include_pad", [0, 1], "B33"),
    "MaxPool": ("pads", [[1, 1, 0, 0], [0, 1, 1, 0], [1, 0, 0, 1]], "B33"),
    "Conv": ("pads", [[2, 2, 0, 0], [0, 2, 2, 0], [0, 0, 2, 2], [2, 0, 0, 2]], "B33 B31"),
    "Pad": ("mode", ["reflect", "edge", "constant"], "B39 B31 B33"),
    "Transpose": ("perm", [[0, 1, 3, 2], [0, 2, 3, 1], [0, 3, 2, 1], [0, 2, 1, 3], [0, 2, 1]], "B31"),
    "Gemm": ("alpha", [0.5, 2.0], "B31 B47"),
    "ReduceMean": ("axes", [[0], [1], [2]], "B31"),
    "DepthToSpace": ("mode", ["CRD", "DCR"], "B31"),
}


@kind("attribute", *ATTRIBUTES)
def attribute_read_otherwise(place):
    key, values, classes = ATTRIBUTES[place.node.op_type]
    return place.fault("attribute", key=key, value=place.one(*values)), classes


@kind("clip-bounds", "Clip")
def clip_bounds(place):
    index = place.one(1, 2)
    if place.constant(index) is None:
        return place.fault(place.one("clip-max-lost", "clip-min-lost")), "B32"
    return place.fault(place.one("constant-scaled"), index=index, factor=place.one(0.5, 2.0, 1.2, 0.0)), "B32"


@kind("indices", "Gather", "Slice", "Split")
def indices(place):
    array = place.constant(1)
    if array is None or array.dtype != np.int64 or array.size < 1:
        return None
    if place.node.op_type == "Slice":
        # Begin and end move by one, so that the sizes stay.
        begin, end, axes = array, place.constant(2), place.constant(3)
        read = place.values.get(place.node.input[0])
        if array.ndim != 1 or end is None or axes is None or read is None or begin[0] < 0 or end[0] < 0:
            return None
        by = place.one(1, -1)
        if begin[0] + by < 0 or end[0] + by > read.shape[int(axes[0])]:
            return None
        moved = [place.fault("weight-slices", index=i, change="moved", axis=0, places=[0], amount=by) for i in (1, 2)]
        return place.fault("several", faults=moved), "B39"
    if array.size < 2:
        return None
    return place.fault("weight-slices", index=1, change=place.one("turned", "first"), axis=0, places=list(range(array.shape[0]))), "B39"


# Parts of a result.


@kind("last-elements-lost")
def last_elements_lost(place):
    count = place.result.size
    if place.result.dtype != np.float32 or count < 16:
        return None
    lost = place.one(1, 3, 7, count // 8)
    whole_rows = lost % (count // place.result.shape[0]) == 0
    classes = "B44 B46 B42" + (" B43" if whole_rows else "")
    return place.fault("result-part", change="lost", shape=list(place.result.shape), places=list(range(count - lost, count))), classes


@kind("last-tile-wrong", *PRODUCTS, "Softmax", "Add", "Mul", "BatchNormalization", "LayerNormalization")
def last_tile_wrong(place):
    if place.result.dtype != np.float32 or place.result.ndim < 2:
        return None
    axis = int(place.rng.integers(1, place.result.ndim))
    count = place.result.shape[axis]
    if count < 6:
        return None
    change = place.one("lost", "scaled", "first")
    places = list(range(count - max(1, count // 4), count))
    classes = "B44 B46 B42 B47" if change == "lost" else "B42 B47 B31" if change == "scaled" else "B31 B42 B47 B39 B43"
    return place.fault("result-part", change=change, shape=list(place.result.shape), axis=axis, places=places, amount=place.one(0.5, 0.75)), classes


@kind("one-row-wrong", *PRODUCTS, *FUNCTIONS, "Softmax", "Add", "BatchNormalization", "LayerNormalization", "MaxPool", "AveragePool")
def one_row_wrong(place):
    """A row of the batch: lost, that of another sample, scaled, or moved."""
    if place.result.dtype != np.float32 or place.result.ndim < 2 or place.result.shape[0] < 2:
        return None
    batch = {place.values[value.name].shape[0] for value in place.model.graph.input if value.name in place.values and place.values[value.name].ndim}
    if batch != {place.result.shape[0]}:
        return None
    change = place.one("lost", "next", "scaled", "moved")
    row = int(place.rng.integers(place.result.shape[0]))
    return place.fault("result-part", change=change, shape=list(place.result.shape), axis=0, places=[row], amount=place.one(0.5, 1.25)), "B43" + (" B44 B46" if change == "lost" else "")


@kind("activation-not-everywhere", "Relu", "Clip", "LeakyRelu", "Sigmoid", "Tanh", "HardSwish", "Elu")
def activation_not_everywhere(place):
    if place.result.ndim < 2 or place.result.dtype != np.float32:
        return None
    axis = int(place.rng.integers(1, place.result.ndim))
    count = place.result.shape[axis]
    if count < 4:
        return None
    return place.fault("result-part", change="unchanged", shape=list(place.result.shape), axis=axis, places=place.places(count)), "B31 B32 B42"


# Quantized models.


@kind("quantized-rounding", "QuantizeLinear")
def quantized_rounding(place):
    return place.fault(place.one("ties-away", "fraction-dropped")), "B28"


@kind("quantized-scales", "DequantizeLinear", "QLinearConv")
def quantized_scales(place):
    index = 1 if place.node.op_type == "DequantizeLinear" else 4
    array = place.floats(index)
    if array is None:
        return None
    change = place.one("first", "turned")
    return place.fault("weight-slices", index=index, change=change, axis=0, places=list(range(array.shape[0]))), "B24"


@kind("zero-point-moved", "DequantizeLinear", "QuantizeLinear")
def zero_point_moved(place):
    array = place.constant(2)
    if array is None or array.dtype not in (np.int8, np.uint8) or array.ndim or abs(int(array)) > 120:
        return None
    return place.fault("zero-point-moved"), "B28"
