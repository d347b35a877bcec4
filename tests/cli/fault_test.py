"""A fault injected through the command line is found, and named: fault_test.py VERNIER"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

VERNIER = ""


def vernier(*arguments):
    done = subprocess.run([VERNIER, *map(str, arguments)], capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


def residual_block():
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 8, 10, 10])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"], name="conv", pads=[1, 1, 1, 1]),
        helper.make_node("Add", ["a", "x"], ["s"], name="skip"),
        helper.make_node("Clip", ["s", "low", "high"], ["c"], name="clip"),
        helper.make_node("GlobalAveragePool", ["c"], ["y"], name="pool"),
    ]
    weights = np.random.default_rng(1).normal(size=(8, 8, 3, 3)).astype(np.float32)
    constants = [numpy_helper.from_array(np.float32(0), "low"), numpy_helper.from_array(np.float32(1), "high"), numpy_helper.from_array(weights, "w")]
    model = helper.make_model(helper.make_graph(nodes, "g", [x], [y], constants), opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    return model


class Faults(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.model = cls.folder / "block.onnx"
        onnx.save(residual_block(), cls.model)

    def run_with(self, *options):
        path = self.folder / "report.json"
        status, out, err = vernier("run", self.model, "--reference", "--cpu", *options, "--layers", "--json", path)
        return status, out, json.loads(path.read_text()) if status < 2 else err

    def test_without_a_fault_it_passes(self):
        status, out, report = self.run_with()
        self.assertEqual(status, 0, out)
        self.assertNotIn("FAULT INJECTED", report["options"])

    def test_a_fault_is_found_at_its_node(self):
        for fault, node in (("residual", "skip"), ("clip-bound", "clip"), ("missed-sync", "pool"), ("swapped-axis", "conv")):
            status, out, report = self.run_with("--inject-fault", f"{fault}:{node}")
            self.assertEqual(status, 1, out)
            self.assertIn(node, report["comparisons"][0]["first_difference"]["nodes"])
            self.assertEqual(report["options"]["FAULT INJECTED"], f"{fault}:{node}")
            self.assertIn(f"a fault is injected on purpose: {fault} at '{node}'", out)

    def test_a_fault_that_goes_nowhere_is_an_error(self):
        for fault in ("residual:conv", "zero-point", "clip-bound:nowhere", "unheard-of"):
            status, _, error = self.run_with("--inject-fault", fault)
            self.assertEqual(status, 2, error)
            self.assertIn(fault.partition(":")[0], error)

    def test_a_build_finds_it_and_writes_no_engine(self):
        engine = self.folder / "faulty.engine"
        self.assertEqual(vernier("build", self.model)[0], 0)
        status, out, err = vernier("build", self.model, "--inject-fault", "residual", "-o", engine)
        self.assertEqual(status, 1, err)
        self.assertIn("a fault is injected on purpose: residual at 'skip'", out)
        self.assertEqual(vernier("build", self.model, "--inject-fault", "stride")[0], 2)
        self.assertEqual(vernier("build", self.model, "--inject-fault", "residual", "--no-verify", "-o", engine)[0], 2)
        self.assertFalse(engine.exists())


if __name__ == "__main__":
    VERNIER = sys.argv.pop(1)
    unittest.main()
