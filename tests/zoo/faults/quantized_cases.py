"""The cases of quantization share this: float models as sources, calibrations, and cases with their healthy twins."""

from collections.abc import Callable
from functools import cache

import numpy as np
import onnx

from case import Case
from planting import real_model
from processor import UNSATURATED, has_vnni
from quantizing import (
    Observer,
    Range,
    Scale,
    activations,
    min_max,
    observed,
    quantized,
    raised,
    scales_of,
    uint8,
    weight_scales,
)

# ONNX Runtime on quantized models: without VNNI its optimiser keeps sums from saturating, which would be a fault of its own.
ONNXRUNTIME = ("--onnxruntime",) if has_vnni() else tuple(UNSATURATED)
Source = Callable[[], onnx.ModelProto]
Samples = Callable[[], list[dict[str, np.ndarray]]]


@cache
def real(name: str) -> Source:
    """A model of SHARED/models in an opset that can be quantized."""
    model: list[onnx.ModelProto] = []

    def load() -> onnx.ModelProto:
        if not model:
            model.append(raised(onnx.load(real_model(name))))
        return model[0]

    return load


def samples_of(count: int, seed: int, make: Callable[[np.random.Generator], dict]) -> Samples:
    """So many samples, the same at every call."""

    def read():
        draw = np.random.default_rng(seed)
        return [
            {name: np.ascontiguousarray(value, np.float32) for name, value in make(draw).items()} for _ in range(count)
        ]

    return read


def changed(samples: Samples, change: Callable[[np.ndarray], np.ndarray]) -> Samples:
    """Other samples from these, by a function of each input."""
    return lambda: [
        {name: np.asarray(change(value), value.dtype) for name, value in sample.items()} for sample in samples()
    ]


def in_int8(
    source: Source,
    calibration: Samples,
    *,
    observer: Observer = min_max,
    nodes=None,
    others=(),
    per_tensor=(),
    scheme: Callable[[Range], Scale] = uint8,
    spoil: Callable | None = None,
    without: tuple[str, ...] = (),
    also: tuple[str, ...] = (),
) -> Source:
    """The source in int8, with the scales that the calibration gives, or what `spoil(scales, ranges)` makes of them.

    `without` are values that stay in floats, `also` those that are quantized beside what weights read.
    """

    def build() -> onnx.ModelProto:
        model = source()
        ranges = observed(model, calibration(), observer)
        values = [value for value in [*activations(model, nodes, others), *also] if value not in without]
        scales = scales_of(ranges, dict.fromkeys(values), scheme)
        scales = spoil(scales, ranges) if spoil else scales
        return quantized(model, scales, weight_scales(model, nodes, per_tensor))

    return build


def by_model(
    name: str,
    faulty: Source,
    sound: Source,
    inputs: Samples,
    nodes: frozenset[str],
    *,
    runner: tuple[str, ...] = ("--cpu",),
    twin_inputs: Samples | None = None,
    also: frozenset[str] = frozenset(),
) -> Case:
    """A case whose fault is in the model. Its twin is the same graph with good scales, in int8, too."""
    twin = Case(f"{name}/twin", "", sound, twin_inputs or inputs, runner=runner)
    return Case(name, name.split("/")[0], faulty, inputs, nodes, runner=runner, twin=twin, also=also)


def weight_of(model, node: str) -> str:
    return next(made.input[1] for made in model.graph.node if made.name == node)
