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


class CaseWriter:
    """Writes <folder>/<category>/<case>/{model.onnx, test_data_set_0/*.pb}."""

    def __init__(self, folder, category):
        self.folder = pathlib.Path(folder) / category
        self.count = 0

    def case(self, name, op, inputs, attributes=None, outputs=1, domain=MICROSOFT, expected=None, version=None, constants=()):
        """One node `op` over `inputs` (arrays; None: left out). `outputs` is their number or a list of wanted flags.

        `expected` replaces ONNX Runtime where it has no CPU kernel: the arrays that an independent formula gives.
        `constants` are the inputs that are initializers. The sizes of all others are left open, so that loading the model
        also exercises symbolic inference.
        """
        wanted = [True] * outputs if isinstance(outputs, int) else outputs
        node = helper.make_node(
            op,
            ["" if array is None else f"in{i}" for i, array in enumerate(inputs)],
            [f"out{i}" if flag else "" for i, flag in enumerate(wanted)],
            domain=domain,
            **(attributes or {}),
        )
        given = {f"in{i}": array for i, array in enumerate(inputs) if array is not None}
        initializers = {f"in{i}": given.pop(f"in{i}") for i in constants if f"in{i}" in given}
        opsets = dict(OPSETS, **({domain: version} if version else {}))
        names = [output for output in node.output if output]
        if expected is None:
            expected = self._run(self._model(name, node, given, initializers, names, [None] * len(names), opsets), given, names)
        types = [helper.np_dtype_to_tensor_dtype(array.dtype) for array in expected]
        self._write(name, self._model(name, node, given, initializers, names, types, opsets), given.values(), expected)

    def _model(self, name, node, feeds, constants, names, types, opsets):
        inputs = [
            helper.make_tensor_value_info(key, helper.np_dtype_to_tensor_dtype(array.dtype), [None] * array.ndim)
            for key, array in feeds.items()
        ]
        outputs = [
            onnx.ValueInfoProto(name=output) if kind is None else helper.make_tensor_value_info(output, kind, None)
            for output, kind in zip(names, types)
        ]
        graph = helper.make_graph([node], name, inputs, outputs, [numpy_helper.from_array(*item[::-1]) for item in constants.items()])
        imports = [helper.make_opsetid(domain, version) for domain, version in opsets.items()]
        return helper.make_model(graph, opset_imports=imports, ir_version=10)

    def _run(self, model, feeds, names):
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.log_severity_level = 4
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
        return session.run(names, feeds)

    def _write(self, name, model, inputs, outputs):
        case = self.folder / f"test_{name}"
        data = case / "test_data_set_0"
        data.mkdir(parents=True, exist_ok=True)
        (case / "model.onnx").write_bytes(model.SerializeToString())
        for kind, arrays in (("input", inputs), ("output", outputs)):
            for i, array in enumerate(arrays):
                tensor = numpy_helper.from_array(np.asarray(array), f"{kind}_{i}")
                (data / f"{kind}_{i}.pb").write_bytes(tensor.SerializeToString())
        self.count += 1
