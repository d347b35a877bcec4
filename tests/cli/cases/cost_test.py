"""Tests what looking into a model costs: memory is bound by what is asked, work by a few runs of the reference.
cases_cost_test.py VERNIER ROOT sanitizers=SANITIZERS"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unittest

import onnx

VERNIER, ROOT = "", pathlib.Path()
CASE = "shared/cases/mark_all_memory/model.onnx"


class MarkAllMemory(unittest.TestCase):
    """61 nodes of the size of an image."""

    @classmethod
    def setUpClass(cls):
        cls.case = ROOT.parent / CASE
        if not cls.case.is_file():
            print(f"SKIPPED {cls.__name__}: ../{CASE} is not here")
            raise unittest.SkipTest(f"../{CASE} is not here")
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))

    def diagnose(self, model, *arguments):
        """The report, and the largest resident memory in MB that the process had itself, without its children."""
        report, most = self.folder / "report.json", 0
        process = subprocess.Popen([VERNIER, "diagnose", model, "--quiet", "--json", report, *map(str, arguments)])
        while process.poll() is None:
            peak = re.search(r"VmHWM:\s+(\d+) kB", pathlib.Path(f"/proc/{process.pid}/status").read_text())
            most = max(most, int(peak.group(1)) / 1024 if peak else 0)  # none once it has ended
            time.sleep(0.02)
        self.assertEqual(process.returncode, 0)
        return json.loads(report.read_text()), most

    def test_memory_is_bound_by_what_is_asked(self):
        for engine in ("--cpu", "--onnxruntime"):
            report, memory = self.diagnose(self.case, engine, "--inner-memory", 0.005)
            self.assertTrue(report["split"], report)
            # Without any inner value a process that has an engine takes 60 MB, and a node that is looked at 40.
            self.assertLess(memory, 150, engine)

    def test_larger_model_ends_in_a_diagnosis(self):
        large = onnx.load(self.case)
        for axis in (2, 3):
            large.graph.input[0].type.tensor_type.shape.dim[axis].dim_value = 224
        model = self.folder / "large.onnx"
        onnx.save(large, model)
        report, _ = self.diagnose(model, "--cpu", "--inner-memory", 0.05)
        self.assertTrue(report["split"], report)
        self.assertFalse([note for note in report["notes"] if "could not be looked into" in note])


if __name__ == "__main__":
    VERNIER, ROOT = sys.argv[1], pathlib.Path(sys.argv[2])
    if sys.argv[3:4] == ["sanitizers="]:
        unittest.main(argv=sys.argv[:1] + sys.argv[4:])
    print("SKIPPED under sanitizers: their memory is not the program's")
