"""`vernier diagnose` names the node, the class and the experiment: diagnose_test.py VERNIER"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import onnx

from fault_test import residual_block

VERNIER = ""


class Diagnose(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.model = cls.folder / "block.onnx"
        onnx.save(residual_block(), cls.model)

    def diagnose(self, *runners):
        report = self.folder / "diagnosis.json"
        report.unlink(missing_ok=True)
        command = [VERNIER, "diagnose", self.model, *runners, "--json", report]
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=120)
        return done, json.loads(report.read_text()) if report.exists() else None

    def test_a_sound_engine_is_healthy(self):
        for runner in (["--cpu"], ["--cpu", "--bf16"], ["--simulated=1"], ["--onnxruntime"]):
            done, found = self.diagnose(*runner)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertEqual((found["schema"], found["version"]), ("vernier-diagnosis", 1))
            self.assertTrue(found["healthy"])
            self.assertEqual(found["culprits"], [])
            self.assertIn("is healthy", done.stdout.splitlines()[0])
            for split in found["split"]:
                self.assertLessEqual(split["needs"], split["bound"])

    def test_a_fault_is_found_with_its_node_and_class(self):
        for fault, node, failure in (("clip-bound", "clip", "B32"), ("residual", "skip", "B31"), ("stale-buffer:pool", "pool", "B46")):
            with self.subTest(fault):
                done, found = self.diagnose("--cpu", "--inject-fault", fault)
                self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
                self.assertFalse(found["healthy"])
                first = found["culprits"][0]
                self.assertIn(node, first["nodes"])
                self.assertEqual(first["class"], failure, done.stdout)
                self.assertIn(failure, done.stdout.splitlines()[0])
                self.assertGreater(first["confidence"], 0.4)
                self.assertTrue(first["evidence"] and found["experiments"])

    def test_what_is_diagnosed_must_be_one_engine(self):
        done, _ = self.diagnose()
        self.assertEqual(done.returncode, 2)
        self.assertIn("no engine to diagnose", done.stderr)

    def test_a_reference_beside_an_engine_judges_it(self):
        done, found = self.diagnose("--reference", "--cpu")
        self.assertEqual(done.returncode, 0, done.stderr)
        done, found = self.diagnose("--cpu", "--against", "--onnxruntime")
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    VERNIER = sys.argv.pop()
    unittest.main(verbosity=2)
