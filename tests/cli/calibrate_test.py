"""Ranges from data, and int8 engines by them: calibrate_test.py VERNIER SOURCE_DIR"""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper

VERNIER, ROOT = "", pathlib.Path()
CALIBRATED = 160  # of the 359 images; the rest are to be told apart


def vernier(*arguments):
    done = subprocess.run([VERNIER, *map(str, arguments)], capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


class Calibrate(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.digits = ROOT / "examples/digits/digits.onnx"
        images = np.load(ROOT / "examples/digits/held_out.npz")["image"]
        labels = np.load(ROOT / "examples/digits/labels.npy")
        cls.data = cls.folder / "data"
        cls.data.mkdir()
        for i in range(0, CALIBRATED, 4):
            np.savez(cls.data / f"{i:03}.npz", image=images[i : i + 4])
        np.savez(cls.folder / "test.npz", image=images[CALIBRATED:])
        np.save(cls.folder / "labels.npy", labels[CALIBRATED:])

    def calibrate(self, *options, model=None, data=None):
        """scales.json and the report."""
        scales, report = self.folder / "scales.json", self.folder / "report.json"
        code, out, err = vernier("calibrate", model or self.digits, "--data", data or self.data, "-o", scales, "--json", report, *options)
        self.assertEqual(code, 0, err)
        self.assertIn("wrote", out)
        return json.loads(scales.read_text()), json.loads(report.read_text())

    def refuse(self, status, text, *arguments):
        code, _, err = vernier(*arguments)
        self.assertEqual(code, status, err)
        self.assertIn(text, err)

    def right(self, *engine):
        """How many of a hundred digits the reference gets right, and how many an engine does."""
        report = self.folder / "run.json"
        code, _, err = vernier("run", self.digits, "--reference", *engine, "--data", self.folder / "test.npz", "--labels", self.folder / "labels.npy",
                               "--json", report)  # fmt: skip
        self.assertIn(code, (0, 1), err)
        shares = [100 * each["right"] / each["rows"] for each in json.loads(report.read_text())["accuracies"]]
        self.assertEqual(len(shares), 2)
        return shares

    def test_int8_by_the_ranges_is_as_accurate(self):
        for options in ((), ("--method", "entropy")):
            with self.subTest(str(options)):
                scales, report = self.calibrate(*options)
                self.assertEqual((report["schema"], report["version"]), ("vernier-calibrate", 1))
                self.assertEqual(len(report["tensors"]), 6)
                self.assertEqual({each["name"] for each in report["tensors"]}, set(scales["tensors"]))
                for each in report["tensors"]:
                    self.assertGreater(each["scale"], 0)
                    self.assertGreater(each["coverage"], 0.99)
                    self.assertIn("zero_point", each)
                exact, quantized = self.right("--cpu", "--int8", "--calibration", self.folder / "scales.json")
                self.assertGreater(exact, 95)
                self.assertGreater(quantized, exact - 1)

    def test_wrong_ranges_are_not(self):
        scales, _ = self.calibrate()
        for entry in scales["tensors"].values():
            entry["scale"] *= 1000
        wrong = self.folder / "wrong.json"
        wrong.write_text(json.dumps(scales))
        exact, quantized = self.right("--cpu", "--int8", "--calibration", wrong)
        self.assertLess(quantized, exact - 10)

    def test_a_cache_of_tensorrt_serves_as_well(self):
        cache = self.folder / "digits.cache"
        scales, _ = self.calibrate("--cache", cache)
        lines = cache.read_text().splitlines()
        self.assertRegex(lines[0], "^TRT-8601-(EntropyCalibration2|MinMaxCalibration)$")
        self.assertEqual({line.rsplit(": ", 1)[0] for line in lines[1:]}, set(scales["tensors"]))
        exact, quantized = self.right("--cpu", "--int8", "--calibration", cache)
        self.assertGreater(quantized, exact - 1)
        self.calibrate("--cache", cache, "--cache-version", 101401, "--all-tensors", "--method", "mse")
        self.assertTrue(cache.read_text().startswith("TRT-101401-EntropyCalibration2"))
        self.assertGreater(len(cache.read_text().splitlines()), len(lines))
        cache.write_text(cache.read_text() + "conv1: 3c0089\nbroken\n")
        self.refuse(3, "line ", "run", self.digits, "--reference", "--cpu", "--int8", "--calibration", cache)
        cache.write_text("TRT-8601-EntropyCalibration2\nother: 3c008912\n")
        self.refuse(3, "'other'", "run", self.digits, "--reference", "--cpu", "--int8", "--calibration", cache)
        cache.write_text("\n".join([*lines, "other: 3c008912"]) + "\n")
        code, out, err = vernier("build", self.digits, "--int8", "--calibration", cache, "--no-verify")
        self.assertEqual(code, 0, err)
        self.assertIn("'other'", out)

    def test_the_order_of_samples_does_not_count(self):
        first, _ = self.calibrate()
        turned = self.folder / "turned"
        turned.mkdir()
        for i, path in enumerate(sorted(self.data.iterdir(), reverse=True)):
            shutil.copy(path, turned / f"{i:03}.npz")
        second, _ = self.calibrate(data=turned)
        self.assertEqual(first, second)
        fewer, _ = self.calibrate("--rows", 1)
        self.assertEqual({name: each["observed"] for name, each in first["tensors"].items() if name == "image"},
                         {name: each["observed"] for name, each in fewer["tensors"].items() if name == "image"})  # fmt: skip
        self.assertEqual(fewer["samples"], 160)

    def test_float8(self):
        scales, report = self.calibrate("--type", "fp8")
        for each in report["tensors"]:
            self.assertEqual((each["type"], each["method"], each["zero_point"]), ("f8e4m3fn", "minmax", 0))
            largest = max(abs(bound) for bound in each["observed"])
            self.assertAlmostEqual(each["scale"] * 448, largest, delta=1e-6 * largest)
        self.refuse(3, "--type int8", "run", self.digits, "--reference", "--cpu", "--int8", "--calibration", self.folder / "scales.json")

    def test_without_data_it_is_refused(self):
        self.refuse(2, "needs data", "calibrate", self.digits, "-o", self.folder / "none.json")
        self.assertFalse((self.folder / "none.json").exists())
        self.refuse(2, "--random", "calibrate", self.digits, "--random", "--data", self.data)
        report = self.folder / "random.json"
        code, _, err = vernier("calibrate", self.digits, "--random", "--samples", 4, "--json", report)
        self.assertEqual(code, 0, err)
        self.assertIn("random inputs", json.loads(report.read_text())["warnings"][0])

    def test_options_that_make_no_sense(self):
        for options, text in ((["--method", "kl"], "'kl'"), (["--type", "int4"], "int4"), (["--percentile", "10"], "10"),
                              (["--type", "fp8", "--asymmetric"], "zero point"), (["--type", "fp8", "--method", "best"], "fp8"), (["--type", "fp8", "--cache", self.folder / "c"], "int8"),
                              (["-o", self.folder / "a", "--json", self.folder / "a"], "overwrite")):  # fmt: skip
            with self.subTest(str(options)):
                self.refuse(2, text, "calibrate", self.digits, "--data", self.data, *options)

    def test_what_is_not_finite_names_sample_and_tensor(self):
        bad = self.folder / "bad"
        shutil.copytree(self.data, bad)
        images = np.load(bad / "008.npz")["image"]
        images[1, 0, 2, 3] = np.nan
        np.savez(bad / "008.npz", image=images)
        code, _, err = vernier("calibrate", self.digits, "--data", bad)
        self.assertEqual(code, 3, err)
        for part in ("008.npz", "'image'", "NaN"):
            self.assertIn(part, err)

    def test_ranges_are_of_one_model(self):
        scales, _ = self.calibrate()
        x = helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 4])
        y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
        w = helper.make_tensor("w", TensorProto.FLOAT, [4, 2], np.ones(8, np.float32))
        other = self.folder / "other.onnx"
        onnx.save(helper.make_model(helper.make_graph([helper.make_node("MatMul", ["image", "w"], ["y"], name="m")], "g", [x], [y], [w]),
                                    opset_imports=[helper.make_opsetid("", 17)], ir_version=8), other)  # fmt: skip
        self.refuse(3, "the ranges are of model", "run", other, "--cpu", "--int8", "--calibration", self.folder / "scales.json")
        del scales["model"]
        (self.folder / "any.json").write_text(json.dumps(scales))
        self.refuse(3, "has no value", "run", other, "--cpu", "--int8", "--calibration", self.folder / "any.json")
        self.refuse(2, "nothing that int8 quantizes", "calibrate", self.relu(), "--random")

    def relu(self):
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])
        y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
        path = self.folder / "relu.onnx"
        onnx.save(helper.make_model(helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [x], [y]),
                                    opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)  # fmt: skip
        return path


if __name__ == "__main__":
    ROOT = pathlib.Path(sys.argv.pop())
    VERNIER = sys.argv.pop()
    unittest.main(verbosity=2)
