"""The command line end to end on the bundled model: run_test.py VERNIER SOURCE_DIR"""
import json
import os
import pathlib
import pty
import subprocess
import sys
import tempfile
import unittest

import jsonschema
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

VERNIER, ROOT = "", pathlib.Path()


def vernier(*arguments):
    done = subprocess.run([VERNIER, *map(str, arguments)], capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


class Digits(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.digits = ROOT / "examples/digits"
        cls.model = cls.digits / "digits.onnx"
        cls.data = cls.folder / "some.npz"
        np.savez(cls.data, image=np.load(cls.digits / "held_out.npz")["image"][:20])
        np.save(cls.folder / "labels.npy", np.load(cls.digits / "labels.npy")[:20])
        cls.broken = cls.folder / "broken.onnx"
        subprocess.run([sys.executable, cls.digits / "break_weight.py", cls.model, "block2_1.weight", cls.broken], check=True)

    def report(self, *arguments):
        path = self.folder / "report.json"
        status, out, err = vernier("run", *arguments, "--json", path)
        self.assertIn(status, (0, 1), err)
        report = json.loads(path.read_text())
        jsonschema.validate(report, json.loads((ROOT / "docs/report.schema.json").read_text()))
        return status, report, out

    def test_the_trained_model_passes(self):
        status, report, out = self.report(self.model, "--reference", "--onnxruntime", "--layers", "--data", self.data, "--labels", self.folder / "labels.npy")
        self.assertEqual(status, 0, out)
        self.assertEqual(report["verdict"], "pass")
        tensors = {tensor["value"]: tensor for tensor in report["comparisons"][0]["tensors"]}
        self.assertIn("block1_2_bn", tensors)
        self.assertEqual(tensors["probabilities"]["metrics"]["elements"], 200)
        self.assertEqual({each["runner"]: each["rows"] for each in report["accuracies"]}, {"reference": 20, "onnxruntime": 20})
        self.assertGreaterEqual(min(each["right"] for each in report["accuracies"]), 19)

    def test_an_engine_computes_what_its_plan_promises(self):
        for precision in ("--bf16", "--fp16"):
            status, report, out = self.report(self.model, "--reference=planned", "--cpu", precision, "--data", self.data)
            self.assertEqual(status, 0, out)
            self.assertEqual(report["comparisons"][0]["reference"], "reference=planned")
        status, report, out = self.report(self.model, "--cpu", "--cpu", "--bf16", "--rtol", "0", "--atol", "0", "--data", self.data)
        self.assertEqual(status, 1)  # the second is another engine

    def test_what_was_asked_for_and_is_not_done_stops_the_engine(self):
        model = self.folder / "arg_max.onnx"
        x, y = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3]), helper.make_tensor_value_info("y", TensorProto.INT64, [2, 1])
        graph = helper.make_graph([helper.make_node("ArgMax", ["x"], ["y"], name="which", axis=1)], "g", [x], [y])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), model)
        asked = ["bench", model, "--duration", "0.01", "--warmup", "0", "--runs", "1", "--cpu", "--layer-precisions", "which:bf16"]
        status, out, err = vernier(*asked)
        self.assertEqual(status, 1, err)
        self.assertIn("'which'", err)
        status, out, err = vernier(*asked, "--precision-constraints", "prefer")
        self.assertEqual(status, 0, err)
        self.assertIn("stored i64, not bf16", out)

    def test_one_broken_weight_is_found_at_its_node(self):
        status, report, out = self.report(self.model, self.broken, "--reference", "--layers", "--data", self.data)
        self.assertEqual(status, 1)
        self.assertEqual(report["comparisons"][0]["first_difference"]["nodes"], ["block2_1_conv"])
        self.assertIn("block2_1_conv", out)

    def test_without_layers_the_broken_output_fails_too(self):
        status, report, _ = self.report(self.model, self.broken, "--reference", "--data", self.data)
        self.assertEqual((status, report["verdict"]), (1, "fail"))

    def test_recorded_runs_are_judged_again(self):
        good, bad = self.folder / "good.run", self.folder / "bad.run"
        self.assertEqual(vernier("run", self.model, "--reference", "--save-run", good, "--data", self.data)[0], 0)
        self.assertEqual(vernier("run", self.broken, "--reference", "--save-run", bad, "--data", self.data)[0], 0)
        self.assertEqual(vernier("run", "--load-run", good, "--load-run", bad)[0], 1)
        self.assertEqual(vernier("run", "--load-run", good, "--load-run", bad, "--atol", "1", "--quiet")[0], 1)  # so wide that it proves nothing
        status, report, _ = self.report(self.model, "--reference", "--load-run", good, "--data", self.data)
        self.assertEqual((status, report["verdict"]), (0, "pass"))
        self.assertEqual(vernier("inspect", good)[0], 0)

    def test_a_recorded_run_of_other_inputs_is_refused(self):
        good = self.folder / "other.run"
        self.assertEqual(vernier("run", self.model, "--reference", "--save-run", good, "--data", self.data)[0], 0)
        self.assertEqual(vernier("run", self.model, "--reference", "--load-run", good)[0], 1)

    def test_random_data_is_said(self):
        status, report, out = self.report(self.model, "--reference", "--onnxruntime")
        self.assertEqual(status, 0, out)
        self.assertTrue(report["comparisons"][0]["random_data_only"])
        self.assertIn("image", report["drawn"])
        self.assertGreater(len(report["samples"]), 1)

    def test_one_runner_alone_proves_nothing(self):
        status, report, _ = self.report(self.model, "--reference", "--data", self.data)
        self.assertEqual((status, report["verdict"]), (1, "not_compared"))

    def test_expected_outputs_in_the_data_are_compared(self):
        run = self.folder / "expected.npz"
        image = np.load(self.data)["image"]
        wrong = np.full((20, 10), 0.1, np.float32)
        np.savez(run, image=image, probabilities=wrong)
        status, report, _ = self.report(self.model, "--reference", "--data", run)
        self.assertEqual((status, report["comparisons"][0]["reference"]), (1, "expected"))

    def test_a_runner_that_dies_is_a_failure_with_its_words(self):
        status, _, err = vernier("run", self.model, "--reference", "--runner", "mine=echo help me >&2; exit 7", "--data", self.data)
        self.assertNotEqual(status, 0)
        self.assertIn("help me", err)

    def test_the_documented_example_runner(self):
        command = f"mine={sys.executable} {ROOT / 'docs/example_runner.py'}"
        status, report, out = self.report(self.model, "--reference", "--runner", command, "--data", self.data)
        self.assertEqual(status, 0, out)

    def test_inspect_and_check(self):
        path = self.folder / "inspect.json"
        status, out, _ = vernier("inspect", self.model, "--show", "layers,weights,attrs", "--json", path)
        self.assertEqual(status, 0)
        summary = json.loads(path.read_text())
        self.assertEqual(summary["operators"]["Conv"], 5)
        self.assertEqual(summary["symbols"], ["N"])
        self.assertIn("stem_conv", out)
        self.assertEqual(vernier("inspect", self.data)[0], 0)
        self.assertEqual(vernier("check", self.model)[0], 0, "a healthy model has no findings")

    def test_check_finds_and_ranks(self):
        x, y = helper.make_tensor_value_info("x", TensorProto.FLOAT, [4]), helper.make_tensor_value_info("y", TensorProto.UINT8, [4])
        nodes = [helper.make_node("QuantizeLinear", ["x", "s"], ["y"], name="quant"), helper.make_node("Exp", ["x"], ["unused"], name="dead")]
        sick = helper.make_model(helper.make_graph(nodes, "g", [x], [y], [numpy_helper.from_array(np.float32(0), "s")]), opset_imports=[helper.make_opsetid("", 17)])
        sick.ir_version = 8
        onnx.save(sick, self.folder / "sick.onnx")
        status, out, _ = vernier("check", self.folder / "sick.onnx", "--json", self.folder / "check.json")
        self.assertEqual(status, 1)
        findings = json.loads((self.folder / "check.json").read_text())["findings"]
        self.assertEqual([(each["class"], each["node"]) for each in findings], [("B23", "quant"), ("S3", "dead")])

    def test_check_with_data(self):
        self.assertEqual(vernier("check", self.model, "--data", self.data)[0], 0, "a healthy model has no findings")
        x, y = helper.make_tensor_value_info("x", TensorProto.FLOAT, [4]), helper.make_tensor_value_info("y", TensorProto.FLOAT, [4])
        sick = helper.make_model(helper.make_graph([helper.make_node("Sqrt", ["x"], ["r"], name="root"), helper.make_node("Exp", ["r"], ["y"], name="exp")], "g", [x], [y]), opset_imports=[helper.make_opsetid("", 17)])
        sick.ir_version = 8
        path, report = self.folder / "root.onnx", self.folder / "check.json"
        onnx.save(sick, path)
        for name, last, status, found in (("bad", -1, 1, [("B16-first-nan", "root")]), ("good", 1, 0, [])):
            np.savez(self.folder / f"{name}.npz", x=np.array([1, 2, 3, last], np.float32))
            code, out, err = vernier("check", path, "--data", self.folder / f"{name}.npz", "--json", report)
            self.assertEqual((code, err), (status, ""), out)
            self.assertEqual([(each["rule"], each["node"]) for each in json.loads(report.read_text())["findings"]], found)
        self.assertEqual(vernier("check", path, "--data", self.data)[0], 3, "data of another model")

    def test_images_are_samples(self):
        folder = self.folder / "images"
        folder.mkdir()
        for i, image in enumerate(np.load(self.data)["image"][:3]):
            (folder / f"{i}.pgm").write_bytes(f"P5 {image.shape[-1]} {image.shape[-2]} 255\n".encode() + np.round(image / image.max() * 255).astype(np.uint8).tobytes())
        status, report, out = self.report(self.model, "--reference", "--onnxruntime", "--data", folder, "--preprocess", "zero-one")
        self.assertEqual((status, len(report["samples"]), report["options"]["preprocess"]), (0, 3, "zero-one"), out)
        self.assertFalse(report["comparisons"][0]["random_data_only"])
        (folder / "1.pgm").write_bytes(b"P5 9 9 255\n")
        status, _, err = vernier("run", self.model, "--reference", "--data", folder)
        self.assertEqual(status, 3)
        self.assertIn("1.pgm", err)

    def test_sizes_that_an_operator_refuses_are_replaced(self):
        x, y = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", "sequence"]), helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
        nodes = [helper.make_node("TopK", ["x", "k"], ["y", "i"], name="top", axis=1)]
        model = helper.make_model(helper.make_graph(nodes, "g", [x], [y], [numpy_helper.from_array(np.array([20], np.int64), "k")]), opset_imports=[helper.make_opsetid("", 17)])
        model.ir_version = 8
        onnx.save(model, self.folder / "top.onnx")
        status, report, out = self.report(self.folder / "top.onnx", "--reference", "--onnxruntime")
        self.assertEqual(status, 0, out)
        self.assertEqual(len(report["samples"]), 4)
        self.assertIn("sequence=32", report["samples"][0])
        self.assertEqual(len([each for each in report["withdrawn"] if "'top'" in each and "TopK of 20 elements" in each]), len(report["withdrawn"]))
        self.assertIn("size not taken: random, seed 1, sample 0, N=1, sequence=1: ", out)
        self.assertEqual(vernier("run", self.folder / "top.onnx", "--reference", "--shapes", "x:1x4")[0], 3)

    def test_progress(self):
        def shown(*options):
            """Gives what standard error gets where it is a terminal."""
            terminal, end = pty.openpty()
            done = subprocess.Popen([VERNIER, "run", self.model, "--reference", "--reference=ideal", "--data", self.data, *options], stdout=subprocess.DEVNULL, stderr=end)
            os.close(end)
            text = b""
            try:
                while part := os.read(terminal, 4096):
                    text += part
            except OSError:
                pass  # how Linux says that the other end is closed
            os.close(terminal)
            self.assertIn(done.wait(), (0, 1))
            return text.decode()

        self.assertIn("[............] 0/2 sample 0: reference".replace("............", "." * 24), shown())
        self.assertIn("[############............] 1/2 sample 0: reference=ideal", shown())
        self.assertTrue(shown().endswith("\r\x1b[K"), "the bar is wiped away")
        self.assertEqual(shown("--quiet"), "")
        run = ("run", self.model, "--reference", "--data", self.data)
        self.assertEqual(vernier(*run)[2], "")
        self.assertEqual(vernier(*run, "-v")[2], "sample 0: reference\n")
        self.assertEqual(vernier(*run, "-v", "--quiet")[2], "")
        self.assertEqual(vernier("check", self.model, "--data", self.data, "-v")[2], "sample 0: reference\n")

    def test_export_round_trips(self):
        again, twice = self.folder / "again.onnx", self.folder / "twice.onnx"
        self.assertEqual(vernier("export", self.model, "-o", again)[0], 0)
        self.assertEqual(vernier("export", again, "-o", twice)[0], 0)
        self.assertEqual(again.read_bytes(), twice.read_bytes())
        onnx.checker.check_model(str(again), full_check=True)
        self.assertEqual(self.report(self.model, again, "--reference", "--data", self.data)[1]["comparisons"][0]["tensors"][0]["metrics"]["max_abs"], 0)


if __name__ == "__main__":
    VERNIER, ROOT = sys.argv.pop(1), pathlib.Path(sys.argv.pop(1))
    unittest.main()
