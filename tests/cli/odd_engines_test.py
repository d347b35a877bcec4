"""Engines that are hard to look into: they change when they are, die, hang or refuse. odd_engines_test.py VERNIER ROOT"""
import json
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

VERNIER, ROOT = "", pathlib.Path()


def model():
    """A product that is scaled, its softmax, another product, and a few nodes around them."""
    draw = np.random.default_rng(7).normal
    rows = [("MatMul", "x w0", "n1"), ("Relu", "n1", "n2"), ("MatMul", "n2 w1", "n3"), ("Mul", "n3 s", "n4"), ("Softmax", "n4", "n5"),
            ("MatMul", "n5 w2", "n6"), ("Add", "n6 n2", "n7"), ("Tanh", "n7", "n8"), ("Mul", "n8 t", "n9"), ("MatMul", "n9 w3", "y")]
    nodes = [helper.make_node(op, inputs.split(), [output], name=f"k{i}") for i, (op, inputs, output) in enumerate(rows)]
    weights = [numpy_helper.from_array(draw(size=(16, 16)).astype(np.float32), f"w{i}") for i in range(4)]
    weights += [numpy_helper.from_array(np.array([value], np.float32), name) for name, value in (("s", 0.125), ("t", 3))]
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [4, 16]) for name in "xy")
    made = helper.make_model(helper.make_graph(nodes, "g", [x], [y], weights), opset_imports=[helper.make_opsetid("", 17)])
    made.ir_version = 8
    return made


class Diagnose(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.model = cls.folder / "m.onnx"
        onnx.save(model(), cls.model)
        np.savez(cls.folder / "d.npz", x=np.random.default_rng(3).normal(size=(4, 16)).astype(np.float32))

    def engine(self, name="odd", **options):
        words = " ".join(f"{key}={value}" for key, value in options.items())
        command = f"exec '{sys.executable}' '{ROOT}/tests/cli/children/odd_engine.py' {words}"
        given = ",".join(f"{key}={value}" for key, value in options.items())
        return ["--runner", f"{name}={command}", *(["--runner-option", given] if given else [])]

    def diagnose(self, *arguments, status=1, verb="diagnose"):
        report = self.folder / "r.json"
        done = subprocess.run([VERNIER, verb, self.model, *map(str, arguments), "--data", self.folder / "d.npz", "--json", report],
                              capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return json.loads(report.read_text())

    def first(self, report):
        self.assertTrue(report["culprits"], report)
        return report["culprits"][0]

    def test_sound_engine(self):
        report = self.diagnose(*self.engine(), status=0)
        self.assertTrue(report["healthy"])
        self.assertEqual(report["engines"], [])

    def test_run_fails_what_no_rounding_explains(self):
        """The tolerance of floats accepts it, but the engine is far beyond the bound; one of the user accepts it."""
        engine = self.engine(off="k8*1.0008")
        report = self.diagnose("--reference", *engine, verb="run")
        [y] = report["comparisons"][0]["tensors"]
        self.assertEqual((y["verdict"], y["metrics"]["mismatching"]), ("fail", 0), y)
        self.assertIn("within the tolerance of its type, but not explainable by f32", "".join(y["reasons"]))
        for accepted in ([*engine, "--rtol", "1e-3"], self.engine(off="k8*1.0000001"), self.engine()):
            self.diagnose("--reference", *accepted, verb="run", status=0)
        record = self.folder / "off.run"
        self.diagnose(*engine, "--save-run", record, verb="run", status=0)
        self.diagnose("--reference", "--load-run", record, verb="run")
        self.diagnose(*self.engine("sound"), *engine, verb="run", status=0)  # of two engines none is the truth

    def test_fusion_that_comes_apart(self):
        first = self.first(self.diagnose(*self.engine(fused="k2+k3+k4")))
        self.assertEqual((first["class"], first["nodes"][0]), ("B31", "k3"), first)
        self.assertLessEqual({"k2", "k3", "k4"}, set(first["nodes"]))
        self.assertTrue(any("with 'n" in each["sentence"] for each in first["evidence"]), first)

    def test_fusion_seen_by_copies_of_the_model(self):
        first = self.first(self.diagnose(*self.engine(fused="k2+k3+k4", taps="no"), "--budget", 120))
        self.assertEqual((first["class"], first["nodes"][0]), ("B31", "k3"), first)

    def test_no_inner_values_at_all(self):
        first = self.first(self.diagnose(*self.engine(wrong="k3", taps="none", outputs=1), "--budget", 120))
        self.assertEqual((first["class"], first["nodes"][0]), ("B31", "k3"), first)

    def test_two_faults(self):
        report = self.diagnose(*self.engine(wrong="k8", fused="k2+k3+k4"))
        self.assertEqual({culprit["nodes"][0] for culprit in report["culprits"]}, {"k3", "k8"}, report["culprits"])
        shares = [culprit["share"] for culprit in report["culprits"]]
        self.assertEqual(shares, sorted(shares, reverse=True))

    def test_engine_that_dies(self):
        for option in ("dies", "dies_at_load", "refuses"):
            with self.subTest(option):
                status = 4 if option == "refuses" else 1  # it says itself that it has no kernel
                first = self.first(self.diagnose(*self.engine(**{option: "k6"}), "--budget", 120, status=status))
                self.assertEqual(first["nodes"], ["k6"], first)

    def test_engine_that_hangs(self):
        begin = time.monotonic()
        report = self.diagnose(*self.engine(hangs="k6"), "--timeout", 4, "--budget", 90)
        self.assertLess(time.monotonic() - begin, 100)
        self.assertEqual(self.first(report)["nodes"], ["k6"])
        left = subprocess.run(["pgrep", "-f", f"{ROOT}/tests/cli/children/odd_engine.py.*hangs=k6"], capture_output=True, text=True)
        self.assertEqual(left.stdout, "")

    def test_budget_ends_a_hang(self):
        begin = time.monotonic()
        report = self.diagnose(*self.engine(hangs="k6"), "--budget", 6)
        self.assertLess(time.monotonic() - begin, 12)
        self.assertEqual(report["verdict"], "fail")
        self.assertTrue(report["notes"])

    def test_missing_output(self):
        report = self.diagnose(*self.engine(lacks="y"))
        self.assertEqual(self.first(report)["nodes"], ["k9"])

    def test_engine_that_dies_in_its_second_run(self):
        first = self.first(self.diagnose(*self.engine(again="dies")))
        self.assertEqual((first["nodes"], first["values"], first["class"]), ([], ["y"], "B46"), first)

    def test_engine_that_draws_numbers(self):
        report = self.diagnose(*self.engine(draws="k8"))
        self.assertEqual(report["verdict"], "fail")
        self.assertIn("n9", self.first(report)["values"] + ["n9"])

    def test_little_memory(self):
        report = self.diagnose(*self.engine(wrong="k3"), "--inner-memory", 1e-6)
        self.assertEqual((self.first(report)["class"], self.first(report)["nodes"][0]), ("B31", "k3"))
        self.assertTrue(any("runs, since" in note for note in report["notes"]), report["notes"])

    def test_several_engines(self):
        record = self.folder / "bad.run"
        self.diagnose(*self.engine("bad", wrong="k3"), "--save-run", record, "--layers", verb="run", status=0)
        report = self.diagnose("--cpu", *self.engine("good"), *self.engine("bad", wrong="k3"), "--load-run", record)
        engines = {engine["name"]: engine for engine in report["engines"]}
        self.assertEqual(len(engines), 4)
        self.assertIn("good", engines["cpu"]["agrees_with"])
        self.assertNotIn("bad", engines["cpu"]["agrees_with"])
        self.assertEqual(engines["bad"]["agrees_with"], ["bad from bad.run"])
        self.assertEqual(engines["bad"]["first_difference"]["value"], "n4")
        self.assertEqual(engines["bad from bad.run"]["first_difference"], {"value": "n4", "nodes": ["k3"]})
        self.assertEqual(self.first(report)["nodes"][0], "k3")


if __name__ == "__main__":
    VERNIER, ROOT = sys.argv[1], pathlib.Path(sys.argv[2])
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
