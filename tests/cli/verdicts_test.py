"""The verdict on an engine is one, whoever builds it: the command line, C++ and C. verdicts_test.py VERNIER API_BUILD_VERDICT SOURCE_FOLDER"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

VERNIER, TOOL, ROOT = "", "", pathlib.Path()
VERDICTS = ["pass", "mistrusted", "not_compared", "fail", "not_verified"]


def model_of(nodes, shape, **constants):
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    initializers = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    model = helper.make_model(helper.make_graph(nodes, "g", [x], [y], initializers), opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    return model


def weights(*shape):
    return np.random.default_rng(1).normal(size=shape).astype(np.float32)


def block():
    """Every fault of floats has a place in it."""
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"], name="conv", pads=[1, 1, 1, 1]),
        helper.make_node("Add", ["a", "x"], ["s"], name="skip"),
        helper.make_node("Clip", ["s", "low", "high"], ["c"], name="clip"),
        helper.make_node("Mul", ["c", "scale"], ["m"], name="scale"),
        helper.make_node("MaxPool", ["m"], ["y"], name="pool", kernel_shape=[2, 2], strides=[2, 2]),
    ]
    scale = np.linspace(0.5, 2, 8).astype(np.float32).reshape(8, 1, 1)
    return model_of(nodes, [1, 8, 10, 10], w=weights(8, 8, 3, 3), low=np.float32(-1), high=np.float32(1), scale=scale)


def codes():
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "step", "zero"], ["q"], name="q"),
        helper.make_node("DequantizeLinear", ["q", "step", "zero"], ["y"], name="dq"),
    ]
    return model_of(nodes, [2, 3, 4, 4], step=np.float32(0.1), zero=np.uint8(128))


def product():
    """Multiplies positive numbers: what is cut off of each partial sum adds up, over sums of many terms."""
    nodes = [helper.make_node("Abs", ["x"], ["a"], name="abs"), helper.make_node("MatMul", ["a", "w"], ["y"], name="product")]
    return model_of(nodes, [2, 60000], w=np.abs(weights(60000, 4)))


def short_sums():
    """Four positive terms each: elements of 16 bits lose less of such a sum than the tolerance of floats accepts, and far more than a float loses."""
    nodes = [helper.make_node("Abs", ["x"], ["a"], name="abs"), helper.make_node("Conv", ["a", "w"], ["y"], name="conv")]
    return model_of(nodes, [1, 4, 6, 6], w=np.abs(weights(8, 4, 1, 1)))


def upsampling():
    """A transposed convolution, which the tactic `sub-pixel` serves on every processor."""
    nodes = [helper.make_node("ConvTranspose", ["x", "w"], ["a"], name="up", strides=[2, 2], kernel_shape=[2, 2]), helper.make_node("Relu", ["a"], ["y"], name="relu")]
    return model_of(nodes, [1, 16, 12, 12], w=weights(16, 16, 2, 2))


# A model for each kind that a page of the documents lists, and what else is said of the build.
WITHOUT_TRIALS, ISOLATED = {"optimization_level": "0"}, {"isolate_trials": "1"}
CASES = {
    "clip-bound": (block, "", WITHOUT_TRIALS),
    "channel-scale": (block, "", WITHOUT_TRIALS),
    "zero-point": (codes, "", WITHOUT_TRIALS),
    "stride": (block, "", WITHOUT_TRIALS),
    "residual": (block, "", WITHOUT_TRIALS),
    "stale-buffer": (block, "", WITHOUT_TRIALS),
    "swapped-axis": (block, "", WITHOUT_TRIALS),
    "missed-sync": (block, "", WITHOUT_TRIALS),
    "accumulation": (product, "", WITHOUT_TRIALS),
    "fp16-accumulator": (block, "", WITHOUT_TRIALS),
    "tf32": (block, "", WITHOUT_TRIALS),
    "crash": (upsampling, "@sub-pixel", ISOLATED),
    "hang": (upsampling, "@sub-pixel", ISOLATED),
}


class Verdicts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))

    def by_command_line(self, model, settings):
        path = self.folder / "report.json"
        options = []
        for name, value in settings.items():
            options += {"optimization_level": ["--opt-level", value], "isolate_trials": ["--isolate-trials"], "inject_fault": ["--inject-fault", value]}[name]
        done = subprocess.run([VERNIER, "build", model, "--json", path, *options], capture_output=True, text=True, timeout=200)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        report = json.loads(path.read_text())
        quarantine = [line for line in done.stdout.splitlines() if line.startswith("in quarantine: ")]
        self.assertEqual(done.returncode == 0, report["accuracy"]["verdict"] == "pass")
        return [report["accuracy"]["verdict"], *report["accuracy"]["reasons"], *quarantine]

    def by_library(self, language, model, settings):
        done = subprocess.run([TOOL, language, model, *(f"{name}={value}" for name, value in settings.items())], capture_output=True, text=True, timeout=200)
        self.assertEqual(done.returncode, 0, done.stderr)
        verdict, *reasons = done.stdout.splitlines()
        return [VERDICTS[int(verdict)], *reasons]

    def everybody_says(self, model, settings):
        path = self.folder / "model.onnx"
        onnx.save(model, path)
        said = self.by_command_line(path, settings)
        for language in ("cpp", "c"):
            self.assertEqual(self.by_library(language, path, settings), said, language)
        return said

    def test_every_fault_that_the_documents_list_has_a_case(self):
        page = (ROOT / "docs/fault-injection.md").read_text()
        self.assertEqual(set(re.findall(r"^\| `([\w-]+)` \|", page, re.MULTILINE)), set(CASES))

    def test_of_sound_engines(self):
        for make in (block, codes, product):
            self.assertEqual(self.everybody_says(make(), WITHOUT_TRIALS)[0], "pass", make.__name__)

    def test_of_every_fault(self):
        for fault, (make, tactic, settings) in CASES.items():
            with self.subTest(fault):
                said = self.everybody_says(make(), {"inject_fault": fault + tactic, **settings})
                if tactic:  # the tactic is not used, so that the engine is sound
                    self.assertEqual(said[0], "pass")
                    self.assertIn("in quarantine: sub-pixel", said[-1])
                else:
                    self.assertEqual(said[0], "fail", said)

    def test_of_a_fault_that_the_tolerance_accepts(self):
        said = self.everybody_says(short_sums(), {"inject_fault": "fp16-accumulator", **WITHOUT_TRIALS})
        self.assertEqual(said[0], "fail")
        self.assertIn("within the tolerance of its type, but not explainable by f32", said[1])


if __name__ == "__main__":
    ROOT = pathlib.Path(sys.argv.pop())
    TOOL = sys.argv.pop()
    VERNIER = sys.argv.pop()
    unittest.main()
