"""Tests what rounding to int8 explains, and what it does not: int8_test.py VERNIER SOURCE_DIR"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np

VERNIER, ROOT = "", pathlib.Path()


class Int8(unittest.TestCase):
    """The digits network in int8, by scales of the same images."""

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.digits, cls.images = ROOT / "examples/digits/digits.onnx", cls.folder / "images.npz"
        np.savez(cls.images, image=np.load(ROOT / "examples/digits/held_out.npz")["image"][:48])
        subprocess.run([VERNIER, "calibrate", cls.digits, "--data", cls.images, "--method", "minmax", "-o", cls.folder / "scales.json", "--quiet"], check=True)

    def changed(self, change):
        """A file of scales that are changed."""
        scales = json.loads((self.folder / "scales.json").read_text())
        for tensor in scales["tensors"].values():
            change(tensor)
        changed = self.folder / "changed.json"
        changed.write_text(json.dumps(scales))
        return changed

    def run_by(self, change, *engine):
        """Exit status and text of a comparison with the model in floats, by scales that are changed."""
        changed = self.changed(change)
        done = subprocess.run([VERNIER, "run", self.digits, "--reference", *engine, "--int8", "--calibration", changed, "--data", self.images],
                              capture_output=True, text=True, timeout=120)  # fmt: skip
        return done.returncode, done.stdout

    def test_an_engine_by_good_scales_is_explained(self):
        for engine in (["--cpu"], ["--simulated"]):
            code, out = self.run_by(lambda tensor: None, *engine)
            self.assertEqual(code, 0, out)
            self.assertIn("explained by int8", out)

    def refuse(self, change, *engine):
        code, out = self.run_by(change, *engine)
        self.assertEqual(code, 1, out)
        self.assertNotIn("explained by int8", out)

    def test_what_is_clipped_is_not(self):
        self.refuse(lambda tensor: tensor.update(scale=tensor["scale"] / 8), "--cpu")

    def test_steps_that_are_far_too_coarse_are_not(self):
        self.refuse(lambda tensor: tensor.update(scale=tensor["scale"] * 32), "--cpu")

    def test_a_kernel_that_is_wrong_is_not(self):
        self.refuse(lambda tensor: None, "--cpu", "--inject-fault", "residual")

    def diagnosis_by(self, change):
        report = self.folder / "report.json"
        subprocess.run([VERNIER, "diagnose", self.digits, "--cpu", "--int8", "--calibration", self.changed(change), "--data", self.images, "--json", report, "--quiet"],
                       timeout=300)  # fmt: skip
        return json.loads(report.read_text())

    def test_scales_that_do_not_suit_the_values_are_the_cause(self):
        for factor in (1 / 8, 32):
            found = self.diagnosis_by(lambda tensor: tensor.update(scale=tensor["scale"] * factor))
            self.assertIn("the scales of the plan are at fault", found["sentence"])
            self.assertIn(found["culprits"][0]["class"], ("B19", "B20"))
            self.assertGreater(found["culprits"][0]["share"], 0.9)

    def test_good_scales_are_not(self):
        found = self.diagnosis_by(lambda tensor: None)
        self.assertEqual((found["healthy"], found["culprits"]), (True, []), found["sentence"])


if __name__ == "__main__":
    VERNIER, ROOT = sys.argv.pop(1), pathlib.Path(sys.argv.pop(1))
    unittest.main()
