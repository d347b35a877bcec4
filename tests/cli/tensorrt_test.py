"""The runner of TensorRT, with a package that stands in for it: tensorrt_test.py VERNIER SOURCE_DIR

children/tensorrt_stand_in has the calls of TensorRT's package and a device in software that does nothing before somebody waits.
"""
import os
import pathlib
import sys
import unittest
import unittest.mock

import judging
import numpy as np
from judging import INT64, Case, info, node

STAND_IN = pathlib.Path(__file__).parent / "children/tensorrt_stand_in"


class TensorRt(Case):
    def setUp(self):
        super().setUp()
        self.plays("10")
        weights = {"w": np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)}
        nodes = [node("MatMul", "x w", "product"), node("Softmax", "product", "y")]
        self.path = super().model("small", nodes, [info("x", ["n", 3])], [info("y", ["n", 4])], weights)
        self.npz = self.data(x=np.arange(6, dtype=np.float32).reshape(2, 3) / 4)

    def plays(self, what):
        patch = unittest.mock.patch.dict(os.environ, {"PYTHONPATH": str(STAND_IN), "STAND_IN_TENSORRT": what})
        patch.start()
        self.addCleanup(patch.stop)

    def test_it_agrees_with_the_reference(self):
        comparison, tensors, _ = self.run_models(self.path, "--reference", f"--tensorrt={sys.executable}", "--data", self.npz)
        self.assertEqual((comparison["actual"], tensors["y"]["verdict"]), ("tensorrt", "pass"))

    def test_inner_values_are_shown_and_said_to_change_the_engine(self):
        comparison, tensors, out = self.run_models(self.path, "--reference", f"--tensorrt={sys.executable}", "--data", self.npz, "--layers")
        self.assertEqual(tensors["product"]["verdict"], "pass")
        self.assertIn("inner values were made outputs", out + str(comparison["notes"]))

    def test_samples_of_several_sizes_are_run(self):
        comparison, _, _ = self.run_models(self.path, "--reference", f"--tensorrt={sys.executable}", "--shapes", "x:1x3", "--shapes", "x:5x3",
                                           "--shapes", "x:2x3")
        self.assertEqual((comparison["verdict"], comparison["samples"]), ("pass", 3))

    def test_sizes_outside_of_a_profile_are_refused_by_name(self):
        runner = (f"--tensorrt={sys.executable}", "--runner-option", "min_shapes=x:1x3,max_shapes=x:4x3")
        _, tensors, _ = self.run_models(self.path, "--reference", *runner, "--shapes", "x:4x3")
        self.assertEqual(tensors["y"]["verdict"], "pass")
        status, out, err = judging.vernier("run", self.path, "--reference", *runner, "--shapes", "x:5x3")
        self.assertNotEqual(status, 0)
        self.assertIn("refuses the sizes [5, 3] of 'x'", out + err)

    def test_an_output_whose_size_the_data_decide(self):
        path = super().model("nonzero", [node("NonZero", "x", "where")], [info("x", [2, 3])], [info("where", [2, "found"], INT64)])
        data = self.data(x=np.array([[0, 1, 0], [2, 0, 3]], np.float32))
        _, tensors, _ = self.run_models(path, "--reference", f"--tensorrt={sys.executable}", "--data", data)
        self.assertEqual((tensors["where"]["verdict"], tensors["where"]["dims"]), ("pass", [2, 3]))

    def test_nan_fails(self):
        self.plays("10,nan")
        comparison, tensors, _ = self.run_models(self.path, "--reference", f"--tensorrt={sys.executable}", "--data", self.npz)
        self.assertEqual((comparison["verdict"], tensors["y"]["metrics"]["nan_mismatches"]), ("fail", 8))

    def test_outputs_that_come_a_run_late_fail(self):
        self.plays("10,late")
        comparison, _, _ = self.run_models(self.path, "--reference", f"--tensorrt={sys.executable}", "--data", self.npz)
        self.assertEqual(comparison["verdict"], "fail")

    def test_version_11_takes_no_weak_precision(self):
        self.plays("11")
        comparison, _, _ = self.run_models(self.path, "--reference", f"--tensorrt={sys.executable}", "--no-tf32", "--data", self.npz)
        self.assertEqual(comparison["verdict"], "pass")
        status, out, err = judging.vernier("run", self.path, "--reference", f"--tensorrt={sys.executable}", "--fp16", "--data", self.npz)
        self.assertNotEqual(status, 0)
        self.assertIn("takes precision from the model alone", out + err)

    def test_options_reach_the_build(self):
        engine, timings = self.folder / "kept.engine", self.folder / "timings"
        options = f"save_engine={engine},timing_cache={timings},workspace=1GiB,optimization_level=2"
        self.run_models(self.path, "--reference", f"--tensorrt={sys.executable}", "--fp16", "--layer-precisions", "the_*:fp32",
                        "--precision-constraints", "obey", "--runner-option", options, "--data", self.npz)
        self.assertGreater(engine.stat().st_size, 0)
        self.assertEqual(timings.read_bytes(), b"timed;")
        status, out, err = judging.vernier("run", self.path, "--reference", f"--tensorrt={sys.executable}", "--layer-precisions", "nobody:fp32",
                                           "--data", self.npz)
        self.assertNotEqual(status, 0)
        self.assertIn("no layer of TensorRT has a name like 'nobody'", out + err)

    def test_an_operator_that_it_lacks_is_named(self):
        path = super().model("unique", [node("Unique", "x", "y", sorted=1)], [info("x", [6])], [info("y", ["n"])])
        status, out, err = judging.vernier("run", path, "--reference", f"--tensorrt={sys.executable}")
        self.assertNotEqual(status, 0)
        self.assertIn("no importer registered for op: Unique", out + err)

    def test_without_the_package_the_message_says_what_to_do(self):
        with unittest.mock.patch.dict(os.environ, {"PYTHONPATH": ""}):
            err = self.refused("run", self.path, "--reference", f"--tensorrt={sys.executable}", status=4)
        self.assertIn("cannot import tensorrt", err)
        self.assertIn("--stand-in cpu", err)

    def test_polygraphy_runs_it_or_what_stands_in(self):
        status, out, err = judging.vernier("polygraphy", "run", self.path, "--trt", "--onnxrt", "--", "--timeout", "60")
        self.assertEqual(status, 0, out + err)
        self.assertIn("--onnxruntime --tensorrt --no-tf32", out)
        status, out, err = judging.vernier("polygraphy", "run", self.path, "--trt", "--onnxrt", "--stand-in", "cpu")
        self.assertEqual(status, 0, out + err)
        self.assertIn("--onnxruntime --cpu", out)


if __name__ == "__main__":
    judging.main()
