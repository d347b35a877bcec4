"""`vernier diagnose` tells the cause of real engines that go wrong in their own way: cases_causes_test.py VERNIER SOURCE

The models are those of ../shared/cases, the engine is ONNX Runtime.
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

CLI = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(CLI), str(CLI.parent / "isa")]
import judging
from processor import has_vnni

VERNIER = ""
CASES = pathlib.Path()


class Causes(unittest.TestCase):
    def first_of(self, model, folder):
        with tempfile.TemporaryDirectory() as work:
            report = pathlib.Path(work) / "diagnosis.json"
            command = [VERNIER, "diagnose", CASES / model, "--onnxruntime", "--data", CASES / folder / "inputs.npz", "--json", report]
            done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=300)
            self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
            return json.loads(report.read_text())["culprits"][0]

    def test_a_bias_that_leaves_int32(self):
        found = self.first_of("dead_channel_int8/qdq.onnx", "dead_channel_int8")
        self.assertEqual((found["nodes"], found["class"]), (["conv1"], "B28"), found["sentence"])
        self.assertIn("its bias leaves int32", found["sentence"])
        if has_vnni():  # elsewhere sums of 16 bits saturate beside it
            self.assertGreaterEqual(found["confidence"], 0.8)
        self.assertNotIn("stream", found["repair"]["sentence"])

    def test_activations_that_are_quantized_by_blocks_when_it_runs(self):
        found = self.first_of("int4_axis0_matmul/model.onnx", "int4_axis0_matmul")
        self.assertEqual((found["nodes"][0], found["class"]), ("mm", "B15"), found["sentence"])
        self.assertIn("its activations are held in int8 with a scale for each 32 numbers", found["sentence"])
        self.assertGreaterEqual(found["confidence"], 0.8)


if __name__ == "__main__":
    VERNIER, source = sys.argv.pop(1), pathlib.Path(sys.argv.pop(1))
    CASES = source.parent / "shared/cases"
    if not CASES.is_dir():
        print(f"cases: SKIPPED, {CASES} is not here")
        sys.exit(0)
    unittest.main()
