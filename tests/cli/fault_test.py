"""A fault injected through the command line is found, and named: fault_test.py VERNIER"""
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


def upsampling():
    """A transposed convolution, which the tactic `sub-pixel` serves on every processor, and a product behind it."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 16, 12, 12])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    nodes = [
        helper.make_node("ConvTranspose", ["x", "w"], ["a"], name="up", strides=[2, 2], kernel_shape=[2, 2]),
        helper.make_node("Relu", ["a"], ["y"], name="relu"),
    ]
    weights = np.random.default_rng(1).normal(size=(16, 16, 2, 2)).astype(np.float32)
    model = helper.make_model(helper.make_graph(nodes, "g", [x], [y], [numpy_helper.from_array(weights, "w")]), opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    return model


def tower():
    """Four products with a residual around each."""
    rng = np.random.default_rng(1)
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [8, 64])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    nodes, constants, value = [], [], "x"
    for i in range(4):
        constants.append(numpy_helper.from_array((rng.normal(size=(64, 64)) / 8).astype(np.float32), f"w{i}"))
        nodes += [
            helper.make_node("MatMul", [value, f"w{i}"], [f"p{i}"], name=f"product_{i}"),
            helper.make_node("Tanh", [f"p{i}"], [f"t{i}"], name=f"tanh_{i}"),
            helper.make_node("Add", [f"t{i}", value], [f"s{i}" if i < 3 else "y"], name=f"skip_{i}"),
        ]
        value = f"s{i}"
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

    def test_inner_values_of_narrow_engines_pass_by_their_bounds(self):
        """A tower of products: what bf16 makes of its inner values is far beyond the tolerance of floats."""
        model = self.folder / "tower.onnx"
        onnx.save(tower(), model)
        for precision in ("--bf16", "--fp16"):
            run = ["run", model, "--reference", "--cpu", precision, "--layers", "--json", self.folder / "tower.json"]
            status, out, _ = vernier(*run)
            self.assertEqual(status, 0, out)
            status, out, _ = vernier(*run, "--inject-fault", "residual:skip_2")
            self.assertEqual(status, 1, out)
            [comparison] = json.loads((self.folder / "tower.json").read_text())["comparisons"]
            self.assertIn("skip_2", comparison["first_difference"]["nodes"])

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
        self.assertIn("no engine is written: it does not compute what it promises; --opt-level 4 verifies every kernel", out)
        self.assertEqual(vernier("build", self.model, "--inject-fault", "stride")[0], 2)
        self.assertEqual(vernier("build", self.model, "--inject-fault", "residual", "--no-verify", "-o", engine)[0], 2)
        self.assertFalse(engine.exists())


    def test_a_fault_that_the_default_tolerance_accepts_is_found(self):
        """Elements of float16 hold eleven bits of each sum: less than 1e-3 of it is lost, and far more than a float loses."""
        run = ["run", self.model, "--reference", "--cpu", "--inject-fault", "fp16-accumulator"]
        status, out, _ = vernier(*run)
        self.assertEqual(status, 1, out)
        self.assertIn("within the tolerance of its type, but not explainable by f32", out)
        self.assertEqual(vernier(*run, "--rtol", "1e-3")[0], 0)
        status, out, _ = vernier("build", self.model, "--inject-fault", "fp16-accumulator")
        self.assertEqual(status, 1, out)
        self.assertIn("y: within the tolerance of its type, but not explainable by f32", out)


class FaultsThatStopTheProcess(unittest.TestCase):
    """Without --isolate-trials they end the build, with it the tactic is in quarantine."""

    CRASHED = "crashed: signal 11 (Segmentation fault), in its trial"

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.model = cls.folder / "up.onnx"
        onnx.save(upsampling(), cls.model)

    def expect_crash(self, *arguments):
        status, out, err = vernier(*arguments)
        # A sanitizer's handler of the signal ends the process by exit.
        self.assertTrue(status == -11 or "AddressSanitizer" in err, (status, out, err))

    def test_a_crash_ends_what_is_not_isolated(self):
        for verb in (["build", self.model], ["bench", self.model, "--duration", "0.1", "--warmup", "0"], ["run", self.model, "--reference", "--cpu"]):
            self.expect_crash(*verb, "--inject-fault", "crash@sub-pixel")

    def build(self, *options):
        path = self.folder / "report.json"
        status, out, err = vernier("build", self.model, "--isolate-trials", "--json", path, *options)
        self.assertEqual(status, 0, out + err)
        self.assertEqual(err, "")
        return out, json.loads(path.read_text())

    def test_sound_tactics_are_found_as_ever(self):
        out, report = self.build()
        self.assertEqual(report["quarantine"], [])
        self.assertIn("sub-pixel", report["tactics"])
        self.assertEqual(report["options"]["isolate-trials"], "yes")

    def test_a_crash_is_in_quarantine_and_the_build_goes_on(self):
        timings = self.folder / "timings.json"
        out, report = self.build("--inject-fault", "crash@sub-pixel", "--timing-cache", timings)
        self.assertRegex(out, "in quarantine: sub-pixel for .*'up'.*: " + re.escape(self.CRASHED))
        self.assertIn("a fault is injected on purpose: crash of sub-pixel", out)
        self.assertEqual({(each["tactic"], each["reason"]) for each in report["quarantine"]}, {("sub-pixel", self.CRASHED)})
        self.assertIn("up", report["quarantine"][0]["nodes"])
        self.assertEqual(report["accuracy"]["verdict"], "pass")
        self.assertFalse(any("transposed_convolution" in (step["kernel"] or "") for step in report["plans"][0]["steps"]))
        # It is known from now on, so it need not be tried again.
        status, out, err = vernier("build", self.model, "--timing-cache", timings)
        self.assertEqual(status, 0, err)
        self.assertIn(self.CRASHED, out)

    def test_where_every_kernel_crashes_the_reference_stands(self):
        _, report = self.build("--inject-fault", "crash:up", "--opt-level", "4")
        self.assertIn("", [each["tactic"] for each in report["quarantine"]])
        self.assertTrue(any(step["kernel"] is None and "up" in step["nodes"] for step in report["plans"][0]["steps"]))
        self.assertEqual(report["accuracy"]["verdict"], "pass")

    def test_a_tactic_that_hangs_is_in_quarantine(self):
        arguments = [VERNIER, "build", str(self.model), "--inject-fault", "hang@sub-pixel"]
        process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL)
        with self.assertRaises(subprocess.TimeoutExpired):
            process.wait(timeout=5)
        process.kill()
        process.wait()
        out, report = self.build("--inject-fault", "hang@sub-pixel")
        self.assertEqual({each["reason"] for each in report["quarantine"]}, {"did not end within 10 s, in its trial"})

    def test_other_verbs_isolate_too(self):
        status, out, err = vernier("run", self.model, "--reference", "--cpu", "--isolate-trials", "--inject-fault", "crash@sub-pixel")
        self.assertEqual(status, 0, out + err)
        self.assertIn(self.CRASHED, out)
        status, out, err = vernier("bench", self.model, "--isolate-trials", "--inject-fault", "crash@sub-pixel", "--duration", "0.1", "--warmup", "0", "-v")
        self.assertEqual(status, 0, out + err)
        self.assertIn(self.CRASHED, out)

    def test_faults_of_tactics_must_make_sense(self):
        for fault, words in (("crash@nothing", "no tactic"), ("residual@sub-pixel", "not one of a tactic"), ("crash@", "is not KIND"), ("crash@winograd", "applies to no node")):
            status, _, err = vernier("build", self.model, "--isolate-trials", "--inject-fault", fault)
            self.assertEqual(status, 2, err)
            self.assertIn(words, err)


if __name__ == "__main__":
    VERNIER = sys.argv.pop(1)
    unittest.main()
