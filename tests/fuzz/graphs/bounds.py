"""How far a float may be from the reference.

Exact values (moved, compared, integers) must be equal. Sums of products (one linear operator and what moves elements) get
    |a - b| <= 2 u |ref| + (nodes u + max(64 u32, e)) S,
where S is the same graph of absolute values, run by the reference in double: the sum of |a||b|. e is 2^-14 for engines that
were tuned (approximate tactics keep 16 bits of each factor), u the unit roundoff of the narrowest type in the graph. One
pointwise function gets 32 u |ref| + 4 u max|ref|. Everything else gets 2 u32 (what 1 - x loses) + r |ref| + r max|ref| + 16 times how far rounding
noise moves the element and 4 times how far it moves any element, where r is 2^-14 for float, 2^-40 for double, 16 u for float16
and bfloat16. ONNX Runtime, whose float16 sums are float16's, gets four times as much.

Processors take subnormal bfloat16 for zero, in products (VDPBF16PS, TDPBF16PS) and in what they store (VCVTNEPS2BF16): such results may be zero, and
where such factors may meet huge or infinite ones nothing is judged.

The mean of a row of equal numbers may be one unit in the last place beside them, which a normalisation divides by the root of its epsilon.

An element is not settled, and not judged, where S (means: some thousand times S) or a power of the data leaves the range of the type on the way (engines
compute in the type, the reference in double), where subnormal data go through several operators, and where noise moves a NaN
or an infinity. The steps of a recurrence are on the way, too: where a state leaves the range, engines go on with an infinity, the
reference with a number, and nothing of the node is judged.
"""

import copy
from dataclasses import dataclass

import draw
import numpy as np
from case import Case, exact_values
from onnx import numpy_helper

ROUNDOFF = {"float": 2.0**-24, "double": 2.0**-53, "float16": 2.0**-11, "bfloat16": 2.0**-8}
RELATIVE = {"float": 2.0**-14, "double": 2.0**-40, "float16": 2.0**-7, "bfloat16": 2.0**-4}
TOOL = {"float": (1e-4, 1e-3), "double": (1e-10, 1e-8), "float16": (2e-3, 1e-2), "bfloat16": (1e-2, 4e-2)}  # compare/tolerance.cpp
LINEAR = set("MatMul Gemm Conv ConvTranspose ReduceSum ReduceMean AveragePool GlobalAveragePool Einsum CumSum".split())
MOVES = set("Transpose Reshape Flatten Squeeze Unsqueeze Concat Split Slice Tile Expand Gather Identity".split())
RECURRENT = set("RNN GRU LSTM".split())
SMALLEST_NORMAL = 2.0**-126  # of float and bfloat16
POINTWISE = set(
    """Acos Acosh Asin Asinh Atan Atanh Celu Cos Cosh Elu Erf Exp HardSigmoid HardSwish LeakyRelu Log Mish Reciprocal
    Selu Shrink Sigmoid Sin Sinh Softplus Softsign Sqrt Swish Tan Tanh Gelu Add Sub Mul Div PRelu Pow""".split()
)


@dataclass
class Bounds:
    """Says, for one case, which rule holds, and what it needs."""

    rule: str  # exact, sums, pointwise, noise
    exact: set
    roundoff: float
    relative: float
    nodes: int
    types: dict
    magnitudes: list | None = None  # by sample: S of each output
    noisy: list | None = None  # by seed, by sample: the reference with rounding noise
    infinite: bool = False  # whether there are infinities in the data
    huge: bool = False  # whether there are numbers whose squares leave the range
    tiny: bool = False  # whether there are subnormal numbers, which several operators in a row may flush to zero
    centring: float = 0.0  # what the mean of equal numbers, as a float, leaves of them

    def of(self, name, sample, reference, who):
        """The bound of each element; 0 where bits count."""
        if name in self.exact:
            return np.zeros(reference.shape)
        finite = np.abs(np.where(np.isfinite(reference), reference, 0))
        largest = finite.max(initial=0)
        if self.rule == "sums" and self.tiny and (self.huge or self.infinite) and self.roundoff == ROUNDOFF["bfloat16"]:
            return np.full(reference.shape, np.inf)
        if self.rule == "sums" and self.magnitudes is not None:
            error = 2.0**-14 if who == "tuned" and self.roundoff > 2.0**-53 else 64 * min(self.roundoff, 2.0**-24)
            magnitude = np.abs(np.asarray(self.magnitudes[sample][name]).astype(np.float64))
            bound = 2 * self.roundoff * finite + (self.nodes * self.roundoff + error) * np.where(np.isfinite(magnitude), magnitude, 0)
            overflows = np.where(np.isfinite(magnitude), magnitude > self.limit(name) / 4096, ~np.isnan(magnitude) & (not self.infinite or self.huge or np.isfinite(reference)))
            bound = np.where(overflows, np.inf, bound)
        elif self.rule == "pointwise":
            bound = 32 * self.roundoff * finite + 4 * self.roundoff * largest
        else:
            moved = self.moved_by_noise(name, sample, reference)
            bound = 2 * min(self.roundoff, 2.0**-24) + self.centring + self.relative * (finite + largest) + 16 * moved + 4 * moved[np.isfinite(moved)].max(initial=0)
        if self.tiny and self.roundoff == ROUNDOFF["bfloat16"]:
            bound = bound + SMALLEST_NORMAL
        return 4 * bound if who == "onnxruntime" else bound

    def moved_by_noise(self, name, sample, reference):
        """How far rounding noise moves each element; infinite where it is not settled."""
        unsettled = self.huge or (self.tiny and self.nodes > 1)
        return np.full(reference.shape, np.inf) if unsettled else self.spread(name, sample, reference)

    def limit(self, name):
        return float(draw.ml_dtypes.finfo(draw.dtype_of(self.types.get(name, "float"))).max)

    def spread(self, name, sample, reference):
        moved = np.zeros(reference.shape)
        for value in self.noisy_values(name, sample):
            if value.shape == reference.shape:
                with np.errstate(invalid="ignore"):  # of two infinities
                    moved = np.maximum(moved, np.nan_to_num(np.abs(value - reference), nan=np.inf, posinf=np.inf))
        endless = ~np.isfinite(reference) & ~np.isfinite(moved)
        return np.where(endless, np.inf if self.unsettled(name, sample, reference) else 0, moved)

    def noisy_values(self, name, sample):
        """Gives what noise makes of a tensor; it is not asked about sequences."""
        values = [run[sample][name] for run in self.noisy or []]
        return [np.asarray(value).astype(np.float64) for value in values if isinstance(value, np.ndarray)]

    def unsettled(self, name, sample, reference):
        """Whether noise moves a NaN or an infinity: then its place is not determined."""
        for value in self.noisy_values(name, sample):
            if value.shape != reference.shape or not np.array_equal(np.isnan(value), np.isnan(reference)) or not np.array_equal(np.isinf(value), np.isinf(reference)):
                return True
        return False


def bounds_of(case, driver, done):
    exact = exact_values(case)
    floats = {case.types.get(name) for node in case.model.graph.node for name in [*node.input, *node.output]} & set(draw.FLOATS)
    floats |= {draw.kind_of(array.dtype) for array in [*case.samples[0].values(), *case.constants().values()]} & set(draw.FLOATS)
    roundoff = max((ROUNDOFF[kind] for kind in floats), default=0.0)
    relative = max((RELATIVE[kind] for kind in floats), default=0.0)
    bounds = Bounds("noise", exact, roundoff, relative, len(case.ops), case.types)
    if all(output.name in exact for output in case.model.graph.output):
        bounds.rule = "exact"
    elif len([op for op in case.ops if op in LINEAR]) == 1 and all(op in LINEAR or op in MOVES for op in case.ops):
        absolute = driver.run(absolute_case(case), ["reference"]).get("reference", {})
        bounds.rule, bounds.magnitudes = "sums", absolute.get("values")
    elif len(case.ops) == 1 and case.ops[0] in POINTWISE:
        bounds.rule = "pointwise"
    arrays = [array for sample in case.samples for array in sample.values()] + list(case.constants().values())
    floating = [array for array in arrays if array.dtype != object and draw.kind_of(array.dtype) in draw.FLOATS]
    if len(case.ops) > 1:  # numbers that the graph itself makes
        made = [value for values in done["reference"]["values"] for value in values.values() if isinstance(value, np.ndarray) and value.dtype != object]
        floating += [value for value in made if value.dtype.kind == "f" or draw.kind_of(value.dtype) in draw.FLOATS]
    bounds.infinite = any(np.isinf(array.astype(np.float64)).any() for array in floating)
    bounds.huge = any(is_huge(array) for array in floating) or any(overflows(node, case, done) for node in case.model.graph.node if node.op_type in RECURRENT)
    bounds.tiny = any(is_tiny(array) for array in floating)
    bounds.centring = max((centring(node, floating) for node in case.model.graph.node), default=0.0)
    bounds.noisy = [done[stage]["values"] for stage in ("noise1", "noise2", "noise3") if "values" in done.get(stage, {})]
    return bounds


def centring(node, arrays):
    if node.op_type not in ("LayerNormalization", "GroupNormalization", "InstanceNormalization"):
        return 0.0
    epsilon = next((attribute.f for attribute in node.attribute if attribute.name == "epsilon"), 1e-5)
    finite = [np.abs(array.astype(np.float64)) for array in arrays]
    largest = max((values[np.isfinite(values)].max(initial=0) for values in finite), default=0.0)
    return 2 * ROUNDOFF["float"] * largest / np.sqrt(epsilon) if epsilon > 0 else 0.0


def is_huge(array):
    if array.size == 0:
        return False
    finite = np.abs(array.astype(np.float64))
    return bool((finite[np.isfinite(finite)] > np.sqrt(float(draw.ml_dtypes.finfo(array.dtype).max))).any())


def overflows(node, case, done):
    """Whether a node makes infinities of finite numbers."""
    values = [{**case.constants(), **given, **made} for given, made in zip(case.samples, done["reference"]["values"])]
    infinite = lambda names, run: any(np.isinf(np.asarray(run[name]).astype(np.float64)).any() for name in names if name in run)
    return any(infinite(node.output, run) and not infinite(node.input, run) for run in values)


def is_tiny(array):
    values = np.abs(array.astype(np.float64))
    return bool(((values > 0) & (values < float(draw.ml_dtypes.finfo(array.dtype).smallest_normal))).any())


def absolute_case(case):
    """The case with the absolute values of all floats."""
    model = copy.deepcopy(case.model)
    absolute = lambda array: np.abs(array) if draw.kind_of(array.dtype) in draw.FLOATS else array
    for tensor in model.graph.initializer:
        tensor.CopyFrom(numpy_helper.from_array(absolute(numpy_helper.to_array(tensor)), tensor.name))
    for node in model.graph.node:
        for attribute in node.attribute:
            if attribute.name in ("alpha", "beta"):
                attribute.f = abs(attribute.f) or 1.0  # times 0 sums that overflow are NaN in the type, and 0 in double
    return Case(model, [{name: absolute(array) for name, array in sample.items()} for sample in case.samples])
