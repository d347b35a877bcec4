"""Quantized graphs from float ones: QuantizeLinear and DequantizeLinear with the scales that a calibration would give.

    ranges = observed(model, samples)                      # {value: Range} of what calibration saw
    scales = scales_of(ranges, activations(model))         # {value: Scale}, uint8 with a zero point by default
    quantized(model, scales, weight_scales(model))         # the graph in int8

Faulty calibrations change the ranges or the scales in between. The nodes around a value V are called "V_q" and "V_dq".
"""

import copy
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import onnx
from onnx import helper, numpy_helper, version_converter

WEIGHTED = ("Conv", "ConvTranspose", "Gemm", "MatMul")


@dataclass(frozen=True)
class Range:
    low: float
    high: float

    def times(self, factor: float) -> "Range":
        return Range(self.low * factor, self.high * factor)

    def hull(self, other: "Range") -> "Range":
        return Range(min(self.low, other.low), max(self.high, other.high))

    @property
    def most(self) -> float:
        return max(abs(self.low), abs(self.high))


@dataclass(frozen=True, eq=False)
class Scale:
    """A scale and a zero point, whose type is that of the quantized tensor; `axis` is None for one scale of the
    whole tensor."""

    scale: np.ndarray
    zero_point: np.ndarray
    axis: int | None = None


def raised(model: onnx.ModelProto, opset: int = 13) -> onnx.ModelProto:
    """The model in an opset that has scales per channel, without weights among its inputs, and with constants as
    weights."""
    declared = next(entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx"))
    model = version_converter.convert_version(model, opset) if declared < opset else copy.deepcopy(model)
    model.ir_version = max(model.ir_version, 8)
    graph = model.graph
    for node in [node for node in graph.node if node.op_type == "Constant" and node.attribute[0].name == "value"]:
        tensor = copy.deepcopy(node.attribute[0].t)
        tensor.name = node.output[0]
        graph.initializer.append(tensor)
        graph.node.remove(node)
    weights = {tensor.name for tensor in graph.initializer}
    for value in [value for value in graph.input if value.name in weights]:
        graph.input.remove(value)
    return model


def all_values(model: onnx.ModelProto, sample: dict) -> dict[str, np.ndarray]:
    """Every float value of the main graph for a sample, the inputs included."""
    import onnxruntime as ort

    wide = copy.deepcopy(model)
    known = {output.name for output in wide.graph.output}
    made = [name for node in wide.graph.node for name in node.output if name and name not in known]
    wide.graph.output.extend(onnx.ValueInfoProto(name=name) for name in made)
    settings = ort.SessionOptions()
    settings.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    settings.intra_op_num_threads, settings.log_severity_level = 1, 4
    session = ort.InferenceSession(wide.SerializeToString(), settings, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    values = dict(sample) | dict(zip(names, session.run(names, sample)))
    return {name: value for name, value in values.items() if getattr(value, "dtype", None) == np.float32 and value.size}


Observer = Callable[[list[np.ndarray]], Range]


def min_max(seen: list[np.ndarray]) -> Range:
    return Range(float(min(values.min() for values in seen)), float(max(values.max() for values in seen)))


def observed(model: onnx.ModelProto, samples: list[dict], observer: Observer = min_max) -> dict[str, Range]:
    """Gives what an observer makes of each value from all that it took in calibration, sample by sample."""
    per_sample = [all_values(model, sample) for sample in samples]
    return {name: observer([values[name] for values in per_sample]) for name in per_sample[0]}


def uint8(seen: Range) -> Scale:
    """All of the range and zero, in 256 steps."""
    low, high = min(seen.low, 0.0), max(seen.high, 0.0)
    scale = np.float32((high - low) / 255 or 1.0)
    return Scale(scale, np.uint8(np.clip(np.rint(-low / scale), 0, 255)))


def int8(seen: Range) -> Scale:
    """The range with its mirror image, in 255 steps."""
    return Scale(np.float32(seen.most / 127 or 1.0), np.int8(0))


def scales_of(
    ranges: dict[str, Range], values: Iterable[str], scheme: Callable[[Range], Scale] = uint8
) -> dict[str, Scale]:
    return {value: scheme(ranges[value]) for value in values}


def weights_of(model: onnx.ModelProto) -> dict[str, tuple[onnx.NodeProto, np.ndarray, int]]:
    """Node, values and the axis of output channels of every weight that can be quantized."""
    tensors = {tensor.name: tensor for tensor in model.graph.initializer}
    found = {}
    for node in model.graph.node:
        if node.op_type in WEIGHTED and node.input[1] in tensors:
            array = numpy_helper.to_array(tensors[node.input[1]])
            flags = {a.name: a.i for a in node.attribute}
            axis = {"Conv": 0, "ConvTranspose": 1, "MatMul": array.ndim - 1, "Gemm": 0 if flags.get("transB") else 1}[
                node.op_type
            ]
            found[node.input[1]] = (node, array, axis)
    return found


def activations(model: onnx.ModelProto, nodes: Iterable[str] | None = None, others: Iterable[str] = ()) -> list[str]:
    """The values that the nodes with weights read, or those of them that are named, and those that `others` read;
    each once."""
    weighted = weights_of(model)
    nodes, others = None if nodes is None else set(nodes), set(others)
    tensors = {tensor.name for tensor in model.graph.initializer}
    read = []
    for node in model.graph.node:
        if node.op_type in WEIGHTED and node.input[1] in weighted and (nodes is None or node.name in nodes):
            read.append(node.input[0])
        elif node.name in others:
            read += [name for name in node.input if name not in tensors]
    return list(dict.fromkeys(read))


def weight_scale(array: np.ndarray, axis: int | None) -> Scale:
    """Symmetric int8: of each channel by itself, or of all together where the axis is None."""
    across = None if axis is None else tuple(i for i in range(array.ndim) if i != axis)
    most = np.abs(array).max(axis=across).astype(np.float32)
    scale = np.where(most > 0, most / 127, 1.0).astype(np.float32)
    return Scale(scale, np.zeros(scale.shape, np.int8), axis)


def weight_scales(
    model: onnx.ModelProto, nodes: Iterable[str] | None = None, per_tensor: Iterable[str] = ()
) -> dict[str, Scale]:
    """Gives the scales of the weights of all or of the named nodes: per channel, but for the nodes of `per_tensor`."""
    nodes, per_tensor = None if nodes is None else set(nodes), set(per_tensor)
    return {
        name: weight_scale(array, None if node.name in per_tensor else axis)
        for name, (node, array, axis) in weights_of(model).items()
        if nodes is None or node.name in nodes
    }


def around(*values: str) -> frozenset[str]:
    """The names of the nodes that quantize these values and take them back."""
    return frozenset(name for value in values for name in (f"{value}_q", f"{value}_dq"))


def _constants(graph: onnx.GraphProto, value: str, scale: Scale) -> list[str]:
    names = [f"{value}_s", f"{value}_z"]
    graph.initializer.extend(
        numpy_helper.from_array(np.asarray(array), name) for array, name in zip((scale.scale, scale.zero_point), names)
    )
    return names


def _axis(scale: Scale) -> dict:
    return {} if scale.axis is None else {"axis": scale.axis}


def _quantize_value(graph: onnx.GraphProto, value: str, scale: Scale, only: set[str] | None) -> None:
    """Readers of the value, all or those of `only`, read what is left of it; an output of the model is what is left
    of it."""
    outputs = {output.name for output in graph.output}
    place = next((i + 1 for i, node in enumerate(graph.node) if value in node.output), 0)
    source, result = value, f"{value}_d"
    readers = [node for node in graph.node if value in node.input and (only is None or node.name in only)]
    for node in readers:
        node.input[:] = [result if name == value else name for name in node.input]
    if value in outputs and not readers:
        source, result = f"{value}_f", value
        producer = graph.node[place - 1]
        producer.output[:] = [source if name == value else name for name in producer.output]
    parameters = _constants(graph, value, scale)
    made = [
        helper.make_node("QuantizeLinear", [source, *parameters], [f"{value}_i"], name=f"{value}_q", **_axis(scale)),
        helper.make_node("DequantizeLinear", [f"{value}_i", *parameters], [result], name=f"{value}_dq", **_axis(scale)),
    ]
    for i, node in enumerate(made):
        graph.node.insert(place + i, node)


def _quantize_weight(graph: onnx.GraphProto, name: str, scale: Scale) -> None:
    """The weight stays in floats in the file, before nodes that quantize it, as training with quantization exports
    it."""
    for node in graph.node:
        node.input[:] = [f"{name}_d" if given == name else given for given in node.input]
    parameters = _constants(graph, name, scale)
    for i, (kind, source, made) in enumerate((("Quantize", name, "i"), ("Dequantize", f"{name}_i", "d"))):
        graph.node.insert(
            i,
            helper.make_node(
                f"{kind}Linear",
                [source, *parameters],
                [f"{name}_{made}"],
                name=f"{name}_{'q' if made == 'i' else 'dq'}",
                **_axis(scale),
            ),
        )


def quantized(
    model: onnx.ModelProto, scales: dict[str, Scale], weights: dict[str, Scale], only: dict[str, set[str]] | None = None
) -> onnx.ModelProto:
    """The model with these values and weights in integers. `only` names the readers of a value that get what is left
    of it."""
    made = copy.deepcopy(model)
    for value, scale in scales.items():
        _quantize_value(made.graph, value, scale, (only or {}).get(value))
    for name, scale in weights.items():
        _quantize_weight(made.graph, name, scale)
    del made.graph.value_info[:]
    onnx.checker.check_model(made, full_check=True)
    return made


def blamed(model: onnx.ModelProto, *values: str) -> frozenset[str]:
    """Lists what may be named where values are quantized badly: the nodes that do it, and that which makes the value.

    The scale belongs to the pair of nodes; but a diagnosis that names the node whose result is stored so badly is as
    useful.
    """
    makers = frozenset(node.name for node in model.graph.node if set(node.output) & set(values) and node.name)
    return around(*values) | makers
