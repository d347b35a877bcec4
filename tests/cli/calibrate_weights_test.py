"""Weights that suit int8, int4 weights, and calibrations that somebody interrupts: calibrate_weights_test.py VERNIER SOURCE_DIR"""
import json
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

VERNIER, ROOT = "", pathlib.Path()
ADAPTING = ("--equalise", "--learn-rounding", "--correct-bias")


def vernier(*arguments):
    done = subprocess.run([VERNIER, *map(str, arguments)], capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


class CalibrateWeights(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.digits = ROOT / "examples/digits/digits.onnx"
        cls.images = np.load(ROOT / "examples/digits/held_out.npz")["image"]
        cls.data = cls.folder / "data.npz"
        np.savez(cls.data, image=cls.images[:160])
        cls.scales, cls.report = cls.folder / "scales.json", cls.folder / "report.json"

    def calibrate(self, *options, model=None, data=None):
        code, out, err = vernier("calibrate", model or self.digits, "--data", data or self.data, "--rows", 8, "-o", self.scales, "--json", self.report, *options)
        self.assertEqual(code, 0, err)
        return out, json.loads(self.report.read_text())

    def refuse(self, status, text, *arguments):
        code, _, err = vernier(*arguments)
        self.assertEqual(code, status, err)
        self.assertIn(text, err)

    def scores(self, model):
        return onnxruntime.InferenceSession(model).run(None, {"image": self.images[160:]})[0]

    def test_adapted_weights_are_a_model_of_their_own(self):
        adapted, quantized = self.folder / "adapted.onnx", self.folder / "adapted_int8.onnx"
        out, report = self.calibrate(*ADAPTING, "--adapted", adapted, "--qdq", quantized)
        self.assertIn("learnt rounding", out)
        self.assertGreater(sum(layer["flipped"] for layer in report["adapted"]["rounded"]), 0)
        self.assertGreater(report["adapted"]["corrected_biases"], 0)
        self.assertLess(report["adapted"]["error_after"], report["adapted"]["error_before"])
        exact = self.scores(self.digits)
        self.assertLess(np.abs(self.scores(adapted) - exact).max(), 0.1 * np.abs(exact).max())
        self.assertGreater((self.scores(quantized).argmax(1) == exact.argmax(1)).mean(), 0.98)
        code, _, err = vernier("build", adapted, "--int8", "--calibration", self.scales, "--no-verify")
        self.assertEqual(code, 0, err)
        self.refuse(3, "the ranges are of model", "run", self.digits, "--cpu", "--int8", "--calibration", self.scales, "--data", self.data)

    def test_what_is_adapted_must_be_written(self):
        self.refuse(2, "--adapted", "calibrate", self.digits, "--data", self.data, "--learn-rounding")
        self.refuse(2, "--adapted", "calibrate", self.digits, "--data", self.data, "--adapted", self.folder / "none.onnx")
        self.refuse(2, "--type int8", "calibrate", self.digits, "--data", self.data, "--type", "fp8", "--equalise", "--adapted", self.folder / "none.onnx")
        self.refuse(2, "int4", "calibrate", self.digits, "--data", self.data, "--weights", "int4", "--learn-rounding", "--adapted", self.folder / "none.onnx")
        self.assertFalse((self.folder / "none.onnx").exists())

    def wide_product(self):
        """relu(x W) V, of which W has enough rows for blocks."""
        random = np.random.default_rng(1)
        weights = [numpy_helper.from_array(random.standard_normal(dims).astype(np.float32), name) for name, dims in (("w", (64, 48)), ("v", (48, 10)))]
        nodes = [helper.make_node("MatMul", ["x", "w"], ["a"], "first"), helper.make_node("Relu", ["a"], ["r"], "relu"), helper.make_node("MatMul", ["r", "v"], ["y"], "second")]  # fmt: skip
        graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 64])],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 10])], weights)  # fmt: skip
        path = self.folder / "wide.onnx"
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
        rows = random.standard_normal((64, 64)).astype(np.float32)
        np.savez(self.folder / "rows.npz", x=rows)
        return path, self.folder / "rows.npz", rows

    def test_int4_weights_by_block(self):
        model, data, rows = self.wide_product()
        typed = self.folder / "int4.onnx"
        out, report = self.calibrate("--weights", "int4", "--block", 64, model=model, data=data)
        self.assertEqual(report["weights"], [{"node": "first", "type": "i4", "block": 64}])
        self.assertEqual(json.loads(self.scales.read_text())["weights"], {"first": {"type": "i4", "block": 64}})
        self.calibrate("--weights", "int4", "--block", 16, model=model, data=data)
        code, _, err = vernier("export", model, "--int4", "--calibration", self.scales, "-o", typed)
        self.assertEqual(code, 0, err)
        written = onnx.load(typed)
        onnx.checker.check_model(written, full_check=True)
        self.assertEqual(written.opset_import[0].version, 21)
        blocks = [attribute.i for node in written.graph.node if node.op_type == "DequantizeLinear" for attribute in node.attribute if attribute.name == "block_size"]
        self.assertEqual(blocks, [16, 16])
        exact, actual = (onnxruntime.InferenceSession(path).run(None, {"x": rows})[0] for path in (model, typed))
        error = np.linalg.norm(actual - exact) / np.linalg.norm(exact)
        self.assertTrue(0.001 < error < 0.2, error)  # 15 codes for what was drawn from a normal distribution
        # The file as it declares, an engine of the file, and one of the model by the same options are the same.
        for command in (["run", typed, "--reference", "--cpu"], ["run", model, "--reference=planned", "--cpu", "--int4", "--calibration", self.scales]):  # fmt: skip
            code, out, err = vernier(*command, "--data", data)
            self.assertEqual(code, 0, out + err)
        self.refuse(2, "--int4", "export", self.digits, "--int4", "-o", typed)

    def test_blocks_that_are_too_long_are_said(self):
        _, report = self.calibrate("--weights", "int4", "--block", 4096)
        self.assertTrue(any("i4" in warning for warning in report["warnings"]))
        self.assertNotIn("weights", json.loads(self.scales.read_text()))

    def interrupt(self, *options):
        """Ctrl-C, once the first samples have run."""
        self.scales.unlink(missing_ok=True)
        process = subprocess.Popen([VERNIER, "calibrate", self.digits, "--random", "--samples", "10000000", "-v", "-o", self.scales, "--json", self.report, *options],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)  # fmt: skip
        while "sample 3" not in process.stderr.readline():
            pass
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, err)
        self.assertIn("interrupted", out)
        report = json.loads(self.report.read_text())
        self.assertTrue(report["interrupted"])
        self.assertGreater(report["samples"], 0)
        return report

    def test_who_interrupts_gets_the_ranges_so_far(self):
        self.interrupt()
        code, out, err = vernier("build", self.digits, "--int8", "--calibration", self.scales, "--no-verify")
        self.assertEqual(code, 0, out + err)

    def test_who_interrupts_before_weights_are_adapted_gets_the_ranges_of_the_model(self):
        adapted = self.folder / "interrupted.onnx"
        report = self.interrupt("--learn-rounding", "--adapted", str(adapted))
        self.assertFalse(adapted.exists())
        self.assertTrue(any("model as it was" in warning for warning in report["warnings"]))
        code, out, err = vernier("build", self.digits, "--int8", "--calibration", self.scales, "--no-verify")
        self.assertEqual(code, 0, out + err)


if __name__ == "__main__":
    ROOT = pathlib.Path(sys.argv.pop())
    VERNIER = sys.argv.pop()
    unittest.main(verbosity=2)
