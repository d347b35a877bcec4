"""Precision plans found by measurement, on the bundled model: tune_test.py VERNIER SOURCE_DIR"""
import json
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import numpy as np
import onnx
import onnxruntime

VERNIER, ROOT = "", pathlib.Path()


def vernier(*arguments):
    done = subprocess.run([VERNIER, *map(str, arguments)], capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


def ranges_of(model, image):
    """The least and the largest element of every inner value, as scales.json has them."""
    model = onnx.shape_inference.infer_shapes(onnx.load(model))
    known = {output.name for output in model.graph.output}
    model.graph.output.extend(value for value in model.graph.value_info if value.name not in known)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    names = [output.name for output in session.get_outputs()]
    values = dict(zip(names, session.run(names, {"image": image})), image=image)
    return {"tensors": {name: {"min": float(value.min()), "max": float(value.max())}
                        for name, value in values.items() if value.dtype == np.float32}}


class Tune(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.shared = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.model = ROOT / "examples/digits/digits.onnx"
        cls.held_out, cls.labels = ROOT / "examples/digits/held_out.npz", ROOT / "examples/digits/labels.npy"
        cls.image = np.load(cls.held_out)["image"]
        cls.some = cls.shared / "some.npz"
        np.savez(cls.some, image=cls.image[:16])
        cls.some_labels = cls.shared / "some_labels.npy"
        np.save(cls.some_labels, np.load(cls.labels)[:16])
        cls.scales = cls.shared / "scales.json"
        cls.scales.write_text(json.dumps(ranges_of(cls.model, cls.image[:64])))

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.plan, self.json = self.folder / "plan.json", self.folder / "tune.json"

    def command(self, *arguments, data=None):
        return ["tune", self.model, "--data", data or self.some, "-o", self.plan, "--json", self.json, "--duration", 0.3, *arguments]

    def tune(self, *arguments, data=None, status=0):
        code, out, err = vernier(*self.command(*arguments, data=data))
        self.assertEqual(code, status, out + err)
        return json.loads(self.json.read_text()), out

    def refused(self, *arguments, status=3, data=None):
        code, _, err = vernier(*self.command(*arguments, data=data))
        self.assertEqual(code, status, err)
        self.assertFalse(self.plan.exists())
        return err

    def relative_l2(self, plan):
        out = self.folder / "run.json"
        vernier("run", self.model, "--reference", "--cpu", "--plan", plan, "--data", self.some, "--rtol", 1, "--json", out)
        return json.loads(out.read_text())["comparisons"][0]["tensors"][0]["metrics"]["relative_l2"]

    def test_no_label_is_lost_at_no_more_than_the_cost_of_floats(self):
        report, out = self.tune("--metric", "top1", "--labels", self.labels, "--max-loss", 0.1, "--calibration", self.scales, "--opt-level", 1, data=self.held_out)
        self.assertEqual((report["schema"], report["version"], report["verdict"]), ("vernier-tune", 1, "pass"))
        self.assertLessEqual(report["chosen"]["ratio"], 1)
        self.assertLessEqual(report["confirmed"]["deviation"], 0.1)
        self.assertGreater(report["probes"], 0)
        run = self.folder / "run.json"
        vernier("run", self.model, "--reference", "--cpu", "--plan", self.plan, "--data", self.held_out, "--labels", self.labels, "--json", run)
        reference, engine = (each["right"] for each in json.loads(run.read_text())["accuracies"])
        self.assertLessEqual(100 * (reference - engine) / 359, 0.1)
        self.assertEqual(vernier("build", self.model, "--plan", self.plan, "--no-verify", "-o", self.folder / "e.engine")[0], 0)
        self.assertIn("confirmed on", out)

    def test_the_front_is_of_plans_that_are_what_it_says(self):
        report, _ = self.tune("--tolerance", 0.02, "--opt-level", 1)
        front = report["front"]
        self.assertEqual(sorted(front, key=lambda point: point["latency_ms"]), front)
        self.assertEqual(sorted(front, key=lambda point: -point["selection"]["error"]), front)
        for i, point in enumerate(front):
            self.assertEqual(point["plan"], str(self.folder / f"plan.{i + 1}.json"))
            # The error is of all rows together, where tune gives that of the worst one.
            error = self.relative_l2(point["plan"])
            self.assertLessEqual(error, 1.2 * point["error"] + 1e-6)
            self.assertGreater(error, 0.1 * point["error"])
        self.assertLessEqual(report["chosen"]["error"], 0.02)
        layers = json.loads(self.plan.read_text())["layers"]
        if report["chosen"]["types"] != "as it was":
            self.assertIn("search", {layer["by"] for layer in layers.values()})
        self.assertEqual(report["baseline"]["plan"], "declared")
        self.assertIn("int8 is left out", " ".join(report["notes"]))

    def test_a_target_that_nothing_keeps_is_a_failure_that_says_how_far_it_is(self):
        report, out = self.tune("--tolerance", 1e-12, "--opt-level", 0, status=1)
        self.assertIsNone(report["chosen"])
        self.assertGreater(report["closest"]["error"], 1e-12)
        self.assertIn("no plan keeps the target", out)
        self.assertFalse(self.plan.exists())

    def test_elements_are_judged_as_run_judges_them(self):
        report, _ = self.tune("--atol", 0.05, "--rtol", 0.02, "--opt-level", 0, "--types", "bf16")
        self.assertLessEqual(report["chosen"]["selection"]["deviation"], 1)
        status, out, _ = vernier("run", self.model, "--reference", "--cpu", "--plan", self.plan, "--data", self.some, "--atol", 0.05, "--rtol", 0.02)
        self.assertEqual(status, 0, out)

    def test_frozen_and_named_nodes_stay(self):
        given = self.folder / "given.json"
        float_layer = {"compute": "f32", "accumulate": "f32", "store": "f32", "by": "user", "why": "mine", "frozen": True}
        given.write_text(json.dumps({"schema": "vernier-plan", "version": 1, "model": "", "layers": {"block1_1_conv": float_layer}}))
        nodes = {node.name for node in onnx.load(self.model).graph.node}
        self.assertIn("block1_1_conv", nodes)
        self.tune("--tolerance", 0.5, "--opt-level", 0, "--types", "fp16", "--plan", given, "--keep-fp32", "block2_1_conv")
        layers = json.loads(self.plan.read_text())["layers"]
        self.assertEqual((layers["block1_1_conv"]["compute"], layers["block1_1_conv"]["why"]), ("f32", "mine"))
        self.assertEqual(layers["block2_1_conv"]["compute"], "f32")

    def plugin(self, body):
        path = self.folder / "mine.py"
        path.write_text(body)
        return path

    def test_a_metric_of_ones_own_counts_as_the_built_in_one(self):
        mine = self.plugin("import numpy\nprint('hello')\ndef metric(outputs, labels):\n    (scores,) = outputs.values()\n"
                           "    return numpy.mean(scores.argmax(axis=1) == labels)\n")
        arguments = ("--labels", self.some_labels, "--opt-level", 0, "--types", "bf16")
        own, _ = self.tune("--metric", mine, *arguments)
        built_in, _ = self.tune("--metric", "top1", *arguments)
        for part in ("selection", "held_out"):
            self.assertEqual(own["baseline"][part]["metric"], built_in["baseline"][part]["metric"])

    def test_bad_metrics_and_labels_are_refused(self):
        few = self.folder / "few.npy"
        np.save(few, np.zeros(7, np.int64))
        high = self.folder / "high.npy"
        np.save(high, np.full(16, 10))
        error = self.refused("--metric", "top1", "--labels", few)
        self.assertIn("few.npy", error)
        self.assertIn("7 labels", error)
        self.assertIn("label 10 at index", self.refused("--metric", "top1", "--labels", high))
        self.assertIn("--labels", self.refused("--metric", "top1"))
        self.assertIn("no.npy", self.refused("--metric", "top5", "--labels", self.folder / "no.npy"))
        self.assertIn("none of top1", self.refused("--metric", "beauty", status=2))
        for body, words in (("def metric(outputs, labels):\n    raise KeyError('here')", "KeyError: 'here' (line 2)"), ("x = 1", "no function metric"),
                            ("def metric(", "SyntaxError"), ("import os\nos._exit(3)", "exit status 3"),
                            ("def metric(outputs, labels):\n    return float('nan')", "no finite number")):
            error = self.refused("--metric", self.plugin(body), "--labels", self.some_labels)
            self.assertIn(words, error)
            self.assertIn("mine.py", error)
        self.assertIn("absent.py", self.refused("--metric", self.folder / "absent.py"))

    def test_bad_files_and_data_are_refused(self):
        bad = self.folder / "bad.json"
        bad.write_text('{"tensors": {"image": {"scale": -1}}}')
        self.assertIn("bad.json", self.refused("--tolerance", 0.1, "--calibration", bad))
        bad.write_text('{"schema": "vernier-plan", "version": 1, "model": "0123456789abcdef", "layers": {}}')
        self.assertIn("0123456789abcdef", self.refused("--tolerance", 0.1, "--plan", bad))
        bad.write_text("{}")
        self.assertIn("bad.json", self.refused("--tolerance", 0.1, "--state", bad))
        one = self.folder / "one.npz"
        np.savez(one, image=self.image[:1])
        self.assertIn("one sample", self.refused("--tolerance", 0.1, data=one))
        self.assertIn("no target", self.refused(status=2))
        self.assertIn("more than one", self.refused("--tolerance", 0.1, "--metric", "cosine", status=2))
        self.assertIn("--types", self.refused("--tolerance", 0.1, "--bf16", status=2))
        self.assertIn("--calibration", self.refused("--tolerance", 0.1, "--types", "int8", status=2))

    def test_an_interrupted_search_gives_the_best_so_far_and_goes_on_later(self):
        state = self.folder / "state.json"
        # Some parts cannot be lowered under this tolerance, so each is probed.
        arguments = self.command("--tolerance", 2e-4, "--opt-level", 0, "--types", "bf16", "--state", state)
        arguments[arguments.index("--data") + 1] = self.held_out
        process = subprocess.Popen([VERNIER, *map(str, arguments), "-v"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.stderr.close)
        for line in process.stderr:
            if line.startswith("timing bf16"):
                break
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=30), 0)
        report = json.loads(self.json.read_text())
        self.assertTrue(report["interrupted"])
        self.assertFalse(report["finished"])
        self.assertLessEqual(report["chosen"]["error"], 2e-4)
        self.assertTrue(state.exists())
        finished, _ = self.tune("--tolerance", 2e-4, "--opt-level", 0, "--types", "bf16", "--state", state, data=self.held_out)
        self.assertTrue(finished["finished"])
        again, _ = self.tune("--tolerance", 2e-4, "--opt-level", 0, "--types", "bf16", "--state", state, data=self.held_out)
        self.assertEqual(again["remembered"], finished["probes"])

    def test_a_small_budget_ends_with_what_there_is(self):
        start = time.monotonic()
        report, out = self.tune("--tolerance", 2e-4, "--budget", 0.01)
        self.assertLess(time.monotonic() - start, 20)
        self.assertFalse(report["finished"])
        self.assertEqual(report["chosen"]["types"], "as it was")
        self.assertIn("budget was spent", out)


if __name__ == "__main__":
    ROOT = pathlib.Path(sys.argv.pop())
    VERNIER = sys.argv.pop()
    unittest.main()
