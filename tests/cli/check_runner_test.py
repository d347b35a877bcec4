"""`vernier check MODEL RUNNER` judges an engine without a reference: check_runner_test.py VERNIER"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from fault_test import residual_block

VERNIER = ""
HERE = pathlib.Path(__file__).resolve().parent


def batch_model():
    """A product and a Softmax over samples of a free batch."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 6])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 4])
    weights = np.random.default_rng(1).normal(size=(6, 4)).astype(np.float32)
    nodes = [helper.make_node("MatMul", ["x", "w"], ["a"], name="product"), helper.make_node("Softmax", ["a"], ["y"], name="softmax")]
    model = helper.make_model(helper.make_graph(nodes, "g", [x], [y], [numpy_helper.from_array(weights, "w")]), opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    return model


# A runner that computes the model above and gives the last sample of a batch something more.
UNEVEN = """
import sys
sys.path.insert(0, {runners!r})
import numpy as np
import onnx
from onnx import numpy_helper
from protocol import serve

class Uneven:
    def hello(self):
        return {{"engine": "uneven", "version": "1", "capabilities": []}}
    def load(self, model, options, threads):
        self.weights = numpy_helper.to_array(onnx.load(model).graph.initializer[0])
        return {{}}
    def run(self, inputs, taps):
        exponents = np.exp(inputs["x"] @ self.weights)
        result = exponents / exponents.sum(axis=-1, keepdims=True)
        result[-1] *= {factor}
        return {{"y": result.astype(np.float32)}}, [], 0.0

serve(Uneven())
"""


class CheckRunner(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        onnx.save(residual_block(), cls.folder / "block.onnx")
        onnx.save(batch_model(), cls.folder / "batch.onnx")
        np.savez(cls.folder / "data.npz", x=np.random.default_rng(2).normal(size=(3, 6)).astype(np.float32))

    def rules(self, model, *words):
        report = self.folder / "check.json"
        command = [VERNIER, "check", self.folder / model, *words, "--json", report, "--quiet"]
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=120)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        found = [finding["rule"] for finding in json.loads(report.read_text())["findings"]]
        self.assertEqual(done.returncode, 1 if found else 0)
        return found

    def uneven(self, factor):
        path = self.folder / f"uneven_{factor}.py"
        path.write_text(UNEVEN.format(runners=str(HERE.parents[1] / "python/vernier_runners"), factor=factor))
        return ["--runner", f"uneven={sys.executable} {path}", "--data", self.folder / "data.npz"]

    def test_sound_engines_have_no_finding(self):
        self.assertEqual(self.rules("block.onnx", "--cpu"), [])
        self.assertEqual(self.rules("block.onnx", "--onnxruntime"), [])
        self.assertEqual(self.rules("batch.onnx", *self.uneven(1.0)), [])

    def test_a_range_that_is_left_is_seen_without_a_reference(self):
        self.assertEqual(self.rules("block.onnx", "--cpu", "--inject-fault", "clip-bound"), ["B32-range"])

    def test_what_a_run_leaves_is_seen(self):
        self.assertIn("B46-state", self.rules("block.onnx", "--cpu", "--inject-fault", "stale-buffer:pool"))

    def test_answers_that_depend_on_the_place_in_the_batch_are_seen(self):
        found = self.rules("batch.onnx", *self.uneven(1.5))
        self.assertIn("B43-equal-rows", found)
        self.assertIn("B43-row-order", found)
        self.assertIn("B31-softmax-sum", found)


if __name__ == "__main__":
    VERNIER = sys.argv.pop()
    unittest.main(verbosity=2)
