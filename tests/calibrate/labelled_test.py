"""int8 and tuned plans of trained models, judged by labels: labelled_test.py VERNIER SOURCE_DIR"""
import functools
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import onnx

VERNIER, ROOT = sys.argv[1], pathlib.Path(sys.argv[2])
sys.path[:0] = [str(ROOT / "benchmarks/quantizers"), str(ROOT / "tests/isa")]
from compared import tested_models  # noqa: E402
from processor import has_vnni  # noqa: E402

NAMES = ("digits", "digits-mlp", "cancer-mlp", "wine-mlp")
INT8_LOSS, TUNED_LOSS = 1.0, 0.1  # points
# int8 is faster than floats for certain where one instruction multiplies and adds four codes. Elsewhere the cheapest plan may well be one of floats.
INT8_IS_FASTER = has_vnni()


def vernier(*arguments) -> str:
    done = subprocess.run([VERNIER, *map(str, arguments)], capture_output=True, text=True, timeout=120)
    if done.returncode not in (0, 1):
        raise RuntimeError(done.stderr)
    return done.stdout


class Labelled(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.tested = {}
        for name in NAMES:
            (cls.folder / name).mkdir()
            tested = cls.tested[name] = tested_models.MAKERS[name](cls.folder / name)
            tested.write(cls.folder / name)
            vernier("calibrate", tested.model, "--data", cls.folder / name / "data", "-o", cls.folder / name / "scales.json")

    def lost(self, name, *engine) -> float:
        """Points of the reference, less those of the engine, on rows that nothing was chosen by."""
        folder = self.folder / name
        vernier("run", self.tested[name].model, "--reference", "--cpu", *engine, "--data", folder / "held_out", "--labels", folder / "held_out.npy",
                "--json", folder / "run.json")  # fmt: skip
        exact, actual = (100 * each["right"] / each["rows"] for each in json.loads((folder / "run.json").read_text())["accuracies"])
        self.assertGreater(exact, 90)  # it is trained
        return exact - actual

    def test_int8_loses_less_than_a_point(self):
        for name in NAMES:
            with self.subTest(name):
                self.assertLess(self.lost(name, "--int8", "--calibration", self.folder / name / "scales.json"), INT8_LOSS)

    def test_ranges_that_clip_nearly_all_lose_more(self):
        for name in NAMES:
            with self.subTest(name):
                scales = json.loads((self.folder / name / "scales.json").read_text())
                for entry in scales["tensors"].values():
                    entry["scale"] /= 1000
                wrong = self.folder / name / "wrong.json"
                wrong.write_text(json.dumps(scales))
                self.assertGreater(self.lost(name, "--int8", "--calibration", wrong), INT8_LOSS)

    @classmethod
    @functools.cache
    def tuned(cls, name) -> tuple[pathlib.Path, dict]:
        """The plan, and the report of how it was found."""
        folder, tested = cls.folder / name, cls.tested[name]
        plan, report = folder / "plan.json", folder / "tune.json"
        vernier("tune", tested.model, "--data", folder / "data", "--metric", "top1", "--labels", folder / "data.npy", "--max-loss", TUNED_LOSS,
                "--calibration", folder / "scales.json", "-o", plan, "--json", report, "--duration", 0.2, "--budget", 20)  # fmt: skip
        return plan, json.loads(report.read_text())

    def test_tune_keeps_the_metric_at_no_higher_cost(self):
        for name in NAMES:
            with self.subTest(name):
                plan, report = self.tuned(name)
                self.assertLessEqual(self.lost(name, "--plan", plan), TUNED_LOSS)
                self.assertLessEqual(report["chosen"]["latency_ms"], report["baseline"]["latency_ms"])

    @unittest.skipUnless(INT8_IS_FASTER, "int8 need not be faster here: no VNNI, or kernels under a sanitizer")
    def test_tune_is_faster_with_less_than_half_of_the_layers_wide(self):
        for name in NAMES:
            with self.subTest(name):
                plan, report = self.tuned(name)
                self.assertLess(report["chosen"]["latency_ms"], report["baseline"]["latency_ms"])
                layers = json.loads(plan.read_text())["layers"]
                contractions = [node.name for node in onnx.load(self.tested[name].model).graph.node if node.op_type in ("Conv", "Gemm", "MatMul")]
                wide = [node for node in contractions if layers[node]["compute"] == "f32"]
                self.assertLess(len(wide), len(contractions) / 2)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
