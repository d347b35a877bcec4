"""Tests what `run --layers` costs in memory: layers_test.py VERNIER sanitizers=LIST"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

VERNIER, SANITIZERS = "", ""
LAYERS, ELEMENTS = 40, 1 << 20  # of 4 MiB each, of which two are needed at a time


def deep_model(path):
    """A chain of layers, no two of which are one kernel."""
    nodes, before = [], "x"
    for i in range(LAYERS):
        nodes.append(helper.make_node("CumSum" if i % 2 else "Sin", [before, "axis"][: 1 + i % 2], [f"v{i}"], name=f"n{i}"))
        before = f"v{i}"
    sizes = [1, ELEMENTS // 4, 4]
    graph = helper.make_graph(
        nodes,
        "deep",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, sizes)],
        [helper.make_tensor_value_info(before, TensorProto.FLOAT, sizes)],
        [numpy_helper.from_array(np.array(2, np.int64), "axis")],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def peak_of(*arguments):
    """Exit status of a run, and the most memory that it had, in MiB."""
    child = subprocess.Popen([VERNIER, "run", *map(str, arguments), "--quiet"])
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return child.returncode, usage.ru_maxrss / 1024


class Layers(unittest.TestCase):
    def peak(self, *arguments):
        status, memory = peak_of(*arguments)
        self.assertEqual(status, 0)
        return memory

    def test_values_that_are_compared_are_not_all_in_memory(self):
        with tempfile.TemporaryDirectory() as folder:
            model = pathlib.Path(folder) / "deep.onnx"
            deep_model(model)
            report = pathlib.Path(folder) / "report.json"
            plain = self.peak(model, "--reference", "--cpu")
            layers = self.peak(model, "--reference", "--cpu", "--layers", "--json", report)
            self.assertIn(f'"v{LAYERS // 2}"', report.read_text())  # it did look inside
            all_values = 2 * LAYERS * 4
            self.assertLess(layers - plain, all_values / 4)
            # Memory of the first layers serves the later ones, wherever the allocator put it. Sanitizers keep it aside.
            if not SANITIZERS:
                self.assertLess(plain, all_values / 4)


if __name__ == "__main__":
    VERNIER, SANITIZERS = sys.argv.pop(1), sys.argv.pop(1).removeprefix("sanitizers=")
    unittest.main()
