"""Models of ../shared/cases on which verdicts were wrong: whole numbers kept in floats, and groups that run as a sequence of kernels.
cases_engine_test.py VERNIER ROOT"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

VERNIER, ROOT = "", pathlib.Path()


def case(name):
    folder = ROOT.parent / "shared/cases" / name
    if not folder.exists():
        print(f"SKIPPED: ../shared/cases/{name} is not there")
        raise unittest.SkipTest(f"../shared/cases/{name} is not there")
    return folder


def resized(mode):
    """Twice as large, by sizes that arithmetic in floats makes: the shape as float, times two, floored."""
    nodes = [
        helper.make_node("Shape", ["x"], ["shape"], name="shape"),
        helper.make_node("Cast", ["shape"], ["real"], name="real", to=TensorProto.FLOAT),
        helper.make_node("Mul", ["real", "factors"], ["product"], name="product"),
        helper.make_node("Floor", ["product"], ["floor"], name="floor"),
        helper.make_node("Cast", ["floor"], ["sizes"], name="sizes", to=TensorProto.INT64),
        helper.make_node("Resize", ["x", "", "", "sizes"], ["y"], name="resize", mode="linear", coordinate_transformation_mode=mode),
    ]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, "h", "w"])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    made = helper.make_model(helper.make_graph(nodes, "g", [x], [y], [numpy_helper.from_array(np.array([1, 1, 2, 2], np.float32), "factors")]), opset_imports=[helper.make_opsetid("", 17)])
    made.ir_version = 8
    return made


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def vernier(self, *arguments, status=0):
        done = subprocess.run([VERNIER, *map(str, arguments)], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout

    def recorded(self, model, data, answers):
        """A run of an engine that answers so, whatever it is asked."""
        graph = onnx.load(model).graph
        nodes = [helper.make_node("Constant", [], [name], name=f"answer_{name}", value=numpy_helper.from_array(value)) for name, value in answers.items()]
        made = helper.make_model(helper.make_graph(nodes, "g", list(graph.input), list(graph.output)), opset_imports=[helper.make_opsetid("", 17)])
        made.ir_version = 8
        onnx.save(made, self.folder / "answers.onnx")
        run = self.folder / "answers.run"
        self.vernier("run", self.folder / "answers.onnx", "--reference", f"--save-run={run}", "--data", data)
        return run


class FloorNoise(Case):
    def test_a_sound_engine_is_sound(self):
        folder = case("floor_noise")
        for verb in (["run", folder / "model.onnx", "--reference", "--cpu"], ["diagnose", folder / "model.onnx", "--cpu"]):
            out = self.vernier(*verb, "--data", folder / "inputs.npz")
            self.assertNotIn("ill-conditioned", out)

    def test_a_wrong_answer_is_a_failure(self):
        folder = case("floor_noise")
        model, data = folder / "model.onnx", folder / "inputs.npz"
        run = self.recorded(model, data, dict(np.load(folder / "wrong_answer.npz")))
        report = self.folder / "report.json"
        self.vernier("run", model, "--reference", "--load-run", run, "--data", data, "--json", report, status=1)
        self.assertEqual(json.loads(report.read_text())["comparisons"][0]["verdict"], "fail")
        out = self.vernier("diagnose", model, "--load-run", run, "--data", data, status=1)
        self.assertNotIn("ill-conditioned", out)

    def test_expected_outputs_that_are_wrong_are_told(self):
        folder = case("floor_noise")
        data = self.folder / "wrong.npz"
        np.savez(data, **np.load(folder / "inputs.npz"), **np.load(folder / "wrong_answer.npz"))
        report = self.folder / "report.json"
        self.vernier("run", folder / "model.onnx", "--reference", "--cpu", "--data", data, "--json", report, status=1)
        self.assertIn("fail", [each["verdict"] for each in json.loads(report.read_text())["comparisons"]])


class SizesMadeInFloats(Case):
    def test_a_resampling_behind_them_is_judged(self):
        model, data, run = self.folder / "model.onnx", self.folder / "data.npz", self.folder / "other.run"
        onnx.save(resized("half_pixel"), model)
        onnx.save(resized("asymmetric"), self.folder / "other.onnx")
        np.savez(data, x=np.random.default_rng(1).normal(size=(1, 3, 12, 16)).astype(np.float32))
        self.vernier("run", self.folder / "other.onnx", "--reference", f"--save-run={run}", "--data", data)
        out = self.vernier("run", model, "--reference", "--load-run", run, "--data", data, status=1)
        self.assertNotIn("ill-conditioned", out)
        out = self.vernier("diagnose", model, "--load-run", run, "--data", data, status=1)
        self.assertNotIn("ill-conditioned", out)
        self.assertIn("resize", out)
        self.vernier("diagnose", model, "--cpu", "--data", data)


def behind_winograd():
    """A convolution that processors with AVX-512 compute by Winograd's transforms, and three pointwise nodes behind it."""
    draw, shape = np.random.default_rng(0), [1, 64, 28, 28]
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in ("x", "a2", "a3")]
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["v0"], name="conv", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["v0"], ["v1"], name="relu"),
        helper.make_node("Add", ["a2", "v1"], ["v2"], name="add2"),
        helper.make_node("Add", ["a3", "v2"], ["y"], name="add3"),
    ]
    weights = [numpy_helper.from_array((draw.normal(size=(64, 64, 3, 3)) / 24).astype(np.float32), "w"), numpy_helper.from_array(draw.normal(size=64).astype(np.float32), "b")]
    made = helper.make_model(helper.make_graph(nodes, "g", inputs, [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], weights), opset_imports=[helper.make_opsetid("", 13)])
    made.ir_version = 8
    return made


class SequenceContract(Case):
    def test_kernels_behind_a_transform_are_held_to_its_bound(self):
        model = self.folder / "model.onnx"
        onnx.save(behind_winograd(), model)
        self.assertNotIn("in quarantine", self.vernier("build", model, "--opt-level", "4", "--tactics", "+winograd-4x4"))

    def test_sound_kernels_are_not_in_quarantine(self):
        model = case("sequence_contract") / "model.onnx"
        for level in ("3", "4"):
            out = self.vernier("build", model, "--opt-level", level)
            self.assertNotIn("in quarantine", out)


if __name__ == "__main__":
    ROOT = pathlib.Path(sys.argv.pop())
    VERNIER = sys.argv.pop()
    unittest.main()
