"""Writes single-operator test cases in the layout of the ONNX backend tests, with ONNX Runtime as the oracle."""

import pathlib
import zlib

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

MICROSOFT = "com.microsoft"
OPSETS = {"": 21, MICROSOFT: 1}


def generator(name):
    """Random numbers that depend on the name of the case alone."""
    return np.random.default_rng(zlib.crc32(name.encode()))


def type_of(value, open_sizes=False):
    """The TypeProto of an array, a dictionary of numbers or strings, or a list of such."""
    if isinstance(value, dict):
        keys, values = arrays_of(value)
        return helper.make_map_type_proto(type_of(keys).tensor_type.elem_type, type_of(values))
    if isinstance(value, list):
        return helper.make_sequence_type_proto(type_of(value[0]))
    shape = [None] * value.ndim if open_sizes else None
    return helper.make_tensor_type_proto(helper.np_dtype_to_tensor_dtype(value.dtype), shape)


def arrays_of(dictionary):
    """Keys and values; its numbers are floats where they have no type of their own."""
    array = lambda items, kind: np.array(items, object if isinstance(items[0], str) else getattr(items[0], "dtype", kind))
    return array(list(dictionary), np.int64), array(list(dictionary.values()), np.float32)


def proto_of(value, name):
    if isinstance(value, dict):
        keys, values = arrays_of(value)
        proto = onnx.MapProto(name=name, key_type=helper.np_dtype_to_tensor_dtype(keys.dtype))
        if keys.dtype == object:
            proto.string_keys.extend(key.encode() for key in keys)
        else:
            proto.keys.extend(keys.tolist())
        proto.values.elem_type = onnx.SequenceProto.TENSOR
        proto.values.tensor_values.extend(numpy_helper.from_array(values[i : i + 1].reshape(())) for i in range(len(values)))
        return proto
    if isinstance(value, list):
        return onnx.SequenceProto(name=name, elem_type=onnx.SequenceProto.MAP, map_values=[proto_of(element, "") for element in value])
    return numpy_helper.from_array(np.asarray(value), name)


class CaseWriter:
    """Writes <folder>/<category>/<case>/{model.onnx, test_data_set_0/*.pb}."""

    def __init__(self, folder, category):
        self.folder = pathlib.Path(folder) / category
        self.count = 0

    def case(self, name, op, inputs, attributes=None, outputs=1, domain=MICROSOFT, expected=None, version=None, constants=(),
             types=None):
        """One node `op` over `inputs` (arrays; None: left out). `outputs` is their number or a list of wanted flags.

        `expected` replaces ONNX Runtime where it has no CPU kernel: the arrays that an independent formula gives.
        `constants` are the inputs that are initializers. The sizes of all others are left open, so that loading the model
        also exercises symbolic inference. `types` are those of the outputs, where ONNX Runtime cannot infer them.
        """
        if expected is None:
            expected = self.run(op, inputs, attributes, outputs, domain, version, constants, types)
        types = [type_of(value) for value in expected]
        model, given = self._model(op, inputs, attributes, outputs, domain, version, constants, types)
        self._write(name, model, given.values(), expected)

    def run(self, op, inputs, attributes=None, outputs=1, domain=MICROSOFT, version=None, constants=(), types=None):
        """Gives what ONNX Runtime makes of the node that `case` writes."""
        model, given = self._model(op, inputs, attributes, outputs, domain, version, constants, types)
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.log_severity_level = 4
        options.intra_op_num_threads = 1  # how work is divided must not show
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
        return session.run(None, given)

    def _model(self, op, inputs, attributes, outputs, domain, version, constants, types):
        wanted = [True] * outputs if isinstance(outputs, int) else outputs
        node = helper.make_node(
            op,
            ["" if array is None else f"in{i}" for i, array in enumerate(inputs)],
            [f"out{i}" if flag else "" for i, flag in enumerate(wanted)],
            domain=domain,
            **(attributes or {}),
        )
        arrays = {f"in{i}": array for i, array in enumerate(inputs) if array is not None}
        initializers = [numpy_helper.from_array(arrays.pop(f"in{i}"), f"in{i}") for i in constants if f"in{i}" in arrays]
        graph_inputs = [helper.make_value_info(key, type_of(array, True)) for key, array in arrays.items()]
        names = [name for name in node.output if name]
        typed = [helper.make_tensor_type_proto(kind, None) if isinstance(kind, int) else kind for kind in types or []]
        graph_outputs = [
            helper.make_value_info(name, typed[i]) if typed else onnx.ValueInfoProto(name=name) for i, name in enumerate(names)
        ]
        graph = helper.make_graph([node], op, graph_inputs, graph_outputs, initializers)
        opsets = dict(OPSETS, **({domain: version} if version else {}))
        imports = [helper.make_opsetid(*opset) for opset in opsets.items()]
        return helper.make_model(graph, opset_imports=imports, ir_version=10), arrays

    def _write(self, name, model, inputs, outputs):
        case = self.folder / f"test_{name}"
        data = case / "test_data_set_0"
        data.mkdir(parents=True, exist_ok=True)
        (case / "model.onnx").write_bytes(model.SerializeToString())
        for kind, arrays in (("input", inputs), ("output", outputs)):
            for i, value in enumerate(arrays):
                (data / f"{kind}_{i}.pb").write_bytes(proto_of(value, f"{kind}_{i}").SerializeToString())
        self.count += 1
