"""The simulated accelerator on the command line: simulated_test.py VERNIER SOURCE_DIR"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import onnx
from onnx import TensorProto, helper

VERNIER, ROOT = "", pathlib.Path()


class Simulated(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.model = ROOT / "examples/digits/digits.onnx"

    def run_with(self, *options):
        report = self.folder / "report.json"
        report.unlink(missing_ok=True)
        done = subprocess.run([VERNIER, "run", str(self.model), "--reference", "--simulated=4", *options, "--shapes", "image:2x1x8x8", "--json", str(report)],
                              capture_output=True, text=True, timeout=120)
        return done.returncode, done.stderr, json.loads(report.read_text()) if report.exists() else {}

    def test_it_computes_what_the_reference_does(self):
        for options in ([], ["--streams", "4"], ["--lacks", "Conv"], ["--lacks", "MaxPool,Relu", "--streams", "1"]):
            status, err, report = self.run_with(*options)
            self.assertEqual(status, 0, err)
            self.assertEqual(report["comparisons"][0]["actual"], "simulated")
            self.assertEqual(report["comparisons"][0]["verdict"], "pass")

    def test_each_planted_defect_is_found(self):
        # Of the image, and of the probabilities. The first run is when the engine is finished; it is not compared.
        found = [self.run_with("--inject-fault", f"drop-copy:{copy}")[0] for copy in range(5)]
        self.assertEqual(found, [0, 0, 1, 1, 2])
        self.assertIn("there were 4", self.run_with("--inject-fault", "drop-copy:4")[1])
        nodes = [helper.make_node("Relu", ["x"], ["a"]), helper.make_node("Neg", ["x"], ["b"]), helper.make_node("Add", ["a", "b"], ["y"])]
        value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [4])
        branches = self.folder / "branches.onnx"
        onnx.save(helper.make_model(helper.make_graph(nodes, "g", [value("x")], [value("y")]), opset_imports=[helper.make_opsetid("", 17)], ir_version=8), branches)
        done = subprocess.run([VERNIER, "run", branches, "--reference", "--simulated", "--inject-fault", "drop-wait:0"], capture_output=True, text=True, timeout=120)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("race", done.stdout + done.stderr)

    def test_what_it_does_not_know_is_a_usage_error(self):
        for options, named in ((["--lacks", "Nosuch"], "Nosuch"), (["--streams", "0"], "--streams"), (["--streams", "many"], "many"), (["--inject-fault", "drop-wait"], "drop-wait"), (["--inject-fault", "free-early:0"], "free-early"), (["--inject-fault", "residual"], "residual")):
            status, err, _ = self.run_with(*options)
            self.assertEqual(status, 2, (options, err))
            self.assertIn(named, err)
        done = subprocess.run([VERNIER, "run", str(self.model), "--reference", "--cpu", "--lacks", "Conv"], capture_output=True, text=True, timeout=120)
        self.assertEqual((done.returncode, "--lacks" in done.stderr), (2, True), done.stderr)


if __name__ == "__main__":
    ROOT = pathlib.Path(sys.argv.pop())
    VERNIER = sys.argv.pop()
    unittest.main(verbosity=2)
