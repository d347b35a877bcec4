"""Models, data and runs for the tests of verdicts. Where a tie is wanted there are two models with the same names: the second, run by
the reference, too, plays the engine that errs.
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import jsonschema
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

VERNIER, ROOT = "", pathlib.Path()
FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def vernier(*arguments):
    done = subprocess.run([VERNIER, *map(str, arguments)], capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs.split(), outputs.split(), name=f"the_{op}_{outputs.split()[-1]}", **attributes)


def info(name, shape, element=FLOAT):
    return helper.make_tensor_value_info(name, element, shape)


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def model(self, name, nodes, inputs, outputs, weights=None, opset=17):
        tensors = [numpy_helper.from_array(np.asarray(value), key) for key, value in (weights or {}).items()]
        made = helper.make_model(helper.make_graph(nodes, "g", inputs, outputs, tensors), opset_imports=[helper.make_opsetid("", opset)])
        made.ir_version = 8
        path = self.folder / f"{name}.onnx"
        onnx.save(made, path)
        return path

    def data(self, **arrays):
        path = self.folder / "data.npz"
        np.savez(path, **arrays)
        return path

    def run_models(self, *arguments):
        path = self.folder / "report.json"
        status, out, err = vernier("run", *arguments, "--json", path)
        self.assertIn(status, (0, 1), err)
        report = json.loads(path.read_text())
        jsonschema.validate(report, json.loads((ROOT / "docs/report.schema.json").read_text()))
        [comparison] = report["comparisons"]
        self.assertEqual(status, 0 if report["verdict"] == "pass" else 1)
        return comparison, {tensor["value"]: tensor for tensor in comparison["tensors"]}, out

    def refused(self, *arguments, status=2):
        code, _, err = vernier(*arguments)
        self.assertEqual(code, status, err)
        return err


def main():
    """Runs the tests of the script that was called: SCRIPT VERNIER SOURCE_DIR"""
    global VERNIER, ROOT
    VERNIER, ROOT = sys.argv.pop(1), pathlib.Path(sys.argv.pop(1))
    unittest.main()
