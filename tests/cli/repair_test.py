"""`vernier diagnose --repair` finds what cures an engine, and proves it: repair_test.py VERNIER SOURCE_DIR"""
import json
import os
import pathlib
import shlex
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

VERNIER, ROOT = "", pathlib.Path()
FLOAT = TensorProto.FLOAT


def model_of(nodes, weights, inputs, outputs) -> onnx.ModelProto:
    value = lambda name, sizes: helper.make_tensor_value_info(name, FLOAT, sizes)
    graph = helper.make_graph(nodes, "g", [value(*each) for each in inputs.items()], [value(*each) for each in outputs.items()],
                              [numpy_helper.from_array(np.asarray(array), name) for name, array in weights.items()])  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    onnx.checker.check_model(model, full_check=True)
    return model


def clipped() -> onnx.ModelProto:
    rng = np.random.default_rng(1)
    step = helper.make_node
    nodes = [step("MatMul", ["x", "w"], ["v1"], name="product"), step("Add", ["v1", "b"], ["v2"], name="bias"),
             step("Clip", ["v2", "lo", "hi"], ["v3"], name="clip"), step("MatMul", ["v3", "u"], ["y"], name="last")]  # fmt: skip
    weights = {"w": rng.standard_normal((24, 32), np.float32), "b": np.full(32, 1.5, np.float32), "lo": np.float32(0),
               "hi": np.float32(6), "u": rng.standard_normal((32, 8), np.float32)}  # fmt: skip
    return model_of(nodes, weights, {"x": [5, 24]}, {"y": [5, 8]})


def growing() -> onnx.ModelProto:
    """Residual blocks whose weights grow beyond what fp16 holds, and a normalisation that makes the result tame."""
    rng = np.random.default_rng(2)
    nodes, weights, x = [], {"one": np.ones(64, np.float32), "zero": np.zeros(64, np.float32)}, "x"
    for i in range(6):
        weights[f"w{i}"] = (rng.standard_normal((64, 64)) * 9.0**i / 8).astype(np.float32)
        nodes += [helper.make_node("MatMul", [x, f"w{i}"], [f"p{i}"], name=f"product_{i}"),
                  helper.make_node("Add", [x, f"p{i}"], [f"s{i}"], name=f"sum_{i}")]  # fmt: skip
        x = f"s{i}"
    nodes.append(helper.make_node("LayerNormalization", [x, "one", "zero"], ["y"], name="norm", axis=-1))
    return model_of(nodes, weights, {"x": [16, 64]}, {"y": [16, 64]})


class Repair(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.model = self.folder / "model.onnx"

    def words(self, model: onnx.ModelProto, *faults: dict) -> list:
        """The command line of a black box with faults in it."""
        onnx.save(model, self.model)
        before = {"operators": {node.name: node.op_type for node in model.graph.node}, "outputs": [value.name for value in model.graph.output]}  # fmt: skip
        fault = {"kind": "several", "faults": list(faults), "before": before}
        box = [sys.executable, str(ROOT / "tests/zoo/faults/black_box.py"), "--fault", json.dumps(fault)]
        return ["--runner", f"engine={shlex.join(box)}"]

    def diagnose(self, *words, model=None):
        report = self.folder / "diagnosis.json"
        report.unlink(missing_ok=True)
        command = [VERNIER, "diagnose", model or self.model, *words, "--json", report]
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=120)
        return done, json.loads(report.read_text()) if report.exists() else None

    def first_repair(self, *words) -> dict:
        done, found = self.diagnose(*words, "--repair")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.said = done.stdout
        return found["culprits"][0]["repair"]

    def test_a_rewritten_model_passes(self):
        words = self.words(clipped(), {"kind": "clip-max-lost", "node": "clip"})
        repair = self.first_repair(*words)
        self.assertEqual(repair["kind"], "rewrite", self.said)
        self.assertIn("Max and Min", repair["sentence"])
        self.assertEqual(pathlib.Path(repair["file"]).parent, self.folder / "vernier-repair")
        verified = repair["verified"]
        self.assertGreater(verified["relative_l2_before"], 1e-2)
        self.assertLess(verified["relative_l2_after"], 1e-5)
        self.assertTrue(verified["passes"])
        self.assertGreaterEqual(verified["samples"], 2)
        self.assertIn("verified: the error falls", self.said)
        operators = [node.op_type for node in onnx.load(repair["file"]).graph.node]
        self.assertEqual(operators.count("Clip"), 0)
        done, found = self.diagnose(*words, model=repair["file"])
        self.assertEqual(done.returncode, 0, done.stdout)
        # The command that the sentence tells does what it says.
        told = repair["sentence"].split(": vernier ", 1)[1].rsplit(" (verified", 1)[0]
        done = subprocess.run([VERNIER, *shlex.split(told)], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_without_the_option_nothing_is_tried(self):
        words = self.words(clipped(), {"kind": "clip-max-lost", "node": "clip"})
        _, found = self.diagnose(*words)
        repair = found["culprits"][0]["repair"]
        self.assertIsNone(repair["verified"])
        self.assertIsNone(repair["file"])
        self.assertFalse((self.folder / "vernier-repair").exists())

    def test_the_second_candidate_is_taken_where_the_first_fails(self):
        words = self.words(clipped(), {"kind": "operand-lost", "node": "bias", "index": 1})
        repair = self.first_repair(*words)
        self.assertEqual(repair["kind"], "rewrite", self.said)
        self.assertIn("outputs of the model", repair["rejected"][0]["what"])
        self.assertIn("the error goes from", repair["rejected"][0]["why"])
        self.assertTrue(repair["verified"]["passes"])

    def test_where_nothing_helps_it_says_so(self):
        words = self.words(clipped(), {"kind": "clip-max-lost", "node": "clip"},
                           {"kind": "operand-lost", "node": "bias", "index": 1},
                           *({"kind": "operand-lost", "node": f"bias~{heir}", "index": 0} for heir in ("Sub", "Add")),
                           {"kind": "operand-lost", "node": "clip~Min", "index": 1})  # fmt: skip
        done, found = self.diagnose(*words, "--repair")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        clip = next(culprit for culprit in found["culprits"] if "clip" in culprit["nodes"])
        self.assertEqual(clip["repair"]["kind"], "none", done.stdout)
        self.assertIsNone(clip["repair"]["verified"])
        self.assertTrue(clip["repair"]["rejected"])
        self.assertIn("none of the repairs", clip["repair"]["sentence"])

    def test_a_plan_with_nodes_in_float_passes(self):
        onnx.save(growing(), self.model)
        repair = self.first_repair("--cpu", "--fp16")
        self.assertEqual(repair["kind"], "plan", self.said)
        plan = json.loads(pathlib.Path(repair["file"]).read_text())
        self.assertEqual(plan["schema"], "vernier-plan")
        self.assertTrue(repair["verified"]["passes"], self.said)
        self.assertLess(repair["verified"]["relative_l2_after"], 1e-2)
        self.assertIsNotNone(repair["verified"]["cost_percent"])
        self.assertIn("--plan", repair["sentence"])

    def test_an_overflow_between_fused_kernels_is_named_and_repaired(self):
        # The kernel that reads what overflows is a group of nodes, which the reference must be right about, too.
        digits, data = ROOT / "examples/digits", self.folder / "some.npz"
        subprocess.run([sys.executable, digits / "grow_activation.py", digits / "digits.onnx", "block2_1_bn", "block2_2_conv", self.model], check=True)
        np.savez(data, image=np.load(digits / "held_out.npz")["image"][:8])
        repair = self.first_repair("--cpu", "--fp16", "--data", data)
        self.assertIn("(B2, overflow", self.said)
        self.assertIn("block2_", self.said.splitlines()[0])
        self.assertEqual(repair["kind"], "plan", self.said)
        self.assertTrue(repair["verified"]["passes"], self.said)

    def test_an_interruption_leaves_what_was_found(self):
        words = self.words(clipped(), {"kind": "clip-max-lost", "node": "clip"})
        report = self.folder / "diagnosis.json"
        command = [VERNIER, "diagnose", self.model, *words, "--repair", "-v", "--json", report]
        process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for line in process.stderr:
            if "repair: " in line:
                break
        os.kill(process.pid, signal.SIGINT)
        said, _ = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 1, said)
        self.assertEqual(json.loads(report.read_text())["culprits"][0]["class"], "B32")


if __name__ == "__main__":
    ROOT, VERNIER = pathlib.Path(sys.argv.pop()).resolve(), str(pathlib.Path(sys.argv.pop()).resolve())
    unittest.main(verbosity=2)
