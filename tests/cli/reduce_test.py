"""The reduced model still shows the verdict, with Vernier and without it: reduce_test.py VERNIER ROOT"""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from odd_engines_test import model as chain

VERNIER, ROOT = "", pathlib.Path()


def value(name, shape, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def saved(path, nodes, inputs, outputs, weights=()):
    graph = helper.make_graph(nodes, "secret", inputs, outputs, [numpy_helper.from_array(array, name) for name, array in weights])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    made.ir_version = 8
    onnx.checker.check_model(made, full_check=True)
    onnx.save(made, path)
    return path


def loop_model(path):
    """A Loop whose body has an If, whose branch has a Sigmoid."""
    sub = lambda name, nodes, inputs, outputs: helper.make_graph(nodes, name, inputs, outputs)
    then = sub("then", [helper.make_node("Sigmoid", ["u"], ["t"], "squash")], [], [value("t", [2, 3])])
    other = sub("other", [helper.make_node("Abs", ["u"], ["e"], "abs")], [], [value("e", [2, 3])])
    body = sub("body", [helper.make_node("Identity", ["k"], ["k1"], "go"), helper.make_node("Tanh", ["v"], ["u"], "tanh"),
                        helper.make_node("If", ["c"], ["w"], "if", then_branch=then, else_branch=other)],
               [value("i", [], TensorProto.INT64), value("k", [], TensorProto.BOOL), value("v", [2, 3])],
               [value("k1", [], TensorProto.BOOL), value("w", [2, 3])])
    nodes = [helper.make_node("Exp", ["x"], ["a"], "exp"), helper.make_node("Loop", ["m", "c", "a"], ["b"], "loop", body=body),
             helper.make_node("Neg", ["b"], ["y"], "neg")]
    return saved(path, nodes, [value("x", [2, 3])], [value("y", [2, 3])], [("m", np.array(5)), ("c", np.array(True))])


def convolution(path):
    draw = np.random.default_rng(1).standard_normal
    nodes = [helper.make_node("Conv", ["secret_x", "w1", "b1"], ["c1"], "conv_1", pads=[1, 1, 1, 1]), helper.make_node("Relu", ["c1"], ["r1"], "relu_1"),
             helper.make_node("Conv", ["r1", "w2"], ["c2"], "conv_2"), helper.make_node("Sigmoid", ["c2"], ["s2"], "squash"),
             helper.make_node("GlobalAveragePool", ["s2"], ["y"], "pool")]
    weights = [("w1", draw((16, 8, 3, 3), np.float32)), ("b1", draw(16, np.float32)), ("w2", draw((12, 16, 1, 1), np.float32))]
    return saved(path, nodes, [value("secret_x", [2, 8, 10, 10])], [value("y", [2, 12, 1, 1])], weights)


class Reduce(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.model = self.folder / "m.onnx"
        onnx.save(chain(), self.model)
        self.repro = self.folder / "repro"

    def engine(self, script, *options):
        command = f"exec '{sys.executable}' '{ROOT}/tests/cli/children/{script}.py'"
        return ["--runner", f"bad={command}", *(word for option in options for word in ("--runner-option", option))]

    def run_it(self, *arguments, status=0, model=None):
        report = self.folder / "r.json"
        report.unlink(missing_ok=True)
        words = [VERNIER, "reduce", model or self.model, *arguments, "-o", self.repro, "--json", report]
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return json.loads(report.read_text()) if report.exists() else done.stderr

    def shows(self, status=1):
        """With Vernier, and without it."""
        done = subprocess.run([self.repro / "command.sh"], env=os.environ | {"VERNIER": VERNIER}, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        done = subprocess.run([sys.executable, self.repro / "repro.py"], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("it goes wrong", done.stdout)
        return done.stdout

    def test_one_node(self):
        report = self.run_it(*self.engine("odd_engine", "wrong=k3"))
        self.assertEqual((report["schema"], report["version"]), ("vernier-reduction", 1))
        self.assertEqual((report["before"]["nodes"], report["after"]["nodes"]), (10, 1), report)
        self.assertEqual(report["verdict"]["kind"], "wrong values")
        self.assertTrue(report["finished"])
        self.assertEqual([node.name for node in onnx.load(self.repro / "model.onnx").graph.node], ["k3"])
        self.assertLessEqual({"model.onnx", "inputs.npz", "expected.npz", "actual.npz", "README.md", "command.sh", "repro.py"}, set(report["files"]))
        self.assertTrue(all((self.repro / name).exists() for name in report["files"]))
        self.assertIn("elements beyond", self.shows())

    def test_a_script_says_so_when_it_is_right(self):
        self.run_it(*self.engine("odd_engine", "wrong=k3"))
        script = self.repro / "repro.py"
        script.write_text(script.read_text().replace('{"wrong":"k3"}', "{}"))
        done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("it is right", done.stdout)

    def test_nodes_that_are_needed_together(self):
        report = self.run_it(*self.engine("odd_engine", "fused=k2+k3+k4"))
        names = {node.name for node in onnx.load(self.repro / "model.onnx").graph.node}
        self.assertLessEqual({"k2", "k3", "k4"}, names)
        self.assertLessEqual(len(names), 5, report)  # behind a softmax the error is too small at first
        self.shows()

    def test_an_engine_that_dies(self):
        report = self.run_it(*self.engine("odd_engine", "dies=k4"))
        self.assertEqual((report["verdict"]["kind"], report["after"]["nodes"]), ("crash", 1), report)
        self.assertFalse((self.repro / "actual.npz").exists())
        self.assertIn("ended with status 3", self.shows())

    def test_an_engine_that_refuses(self):
        report = self.run_it(*self.engine("odd_engine", "refuses=k4"))
        self.assertEqual((report["verdict"]["kind"], report["after"]["nodes"]), ("error", 1), report)
        self.shows()

    def test_an_engine_that_hangs(self):
        """It says hello, and nothing any more."""
        hello = json.dumps({"id": 1, "protocol": "vernier-runner/1", "engine": "mute", "version": "1"})
        report = self.run_it("--runner", f"bad=read line; echo '{hello}'; sleep 600", "--timeout", "0.5")
        self.assertEqual((report["verdict"]["kind"], report["after"]["nodes"]), ("time-out", 1), report)
        self.assertIn("no answer within", self.shows(status=3))

    def test_an_engine_that_does_not_start(self):
        """That is no matter of the model."""
        self.assertIn("stage start", self.run_it("--runner", "bad=exit 3", status=3))

    def test_inside_of_loops_and_branches(self):
        model = loop_model(self.folder / "loop.onnx")
        report = self.run_it(*self.engine("inner_engine", "swap=Sigmoid:HardSigmoid"), model=model)
        self.assertEqual(report["before"]["nodes"], 8)
        self.assertEqual([node.op_type for node in onnx.load(self.repro / "model.onnx").graph.node], ["Sigmoid"], report["steps"])
        self.shows()

    def test_a_confidential_model(self):
        model = convolution(self.folder / "conv.onnx")
        report = self.run_it(*self.engine("inner_engine", "swap=Relu:Sigmoid"), "--anonymise", model=model)
        self.assertEqual(report["after"]["nodes"], 1)
        self.assertTrue(report["anonymised"]["names"])
        for name in ("model.onnx", "README.md", "inputs.npz", "repro.py", "command.sh"):
            content = (self.repro / name).read_bytes()
            for word in (b"secret", b"relu_1", b"r1"):
                self.assertNotIn(word, content, name)
        self.shows()

    def test_sizes(self):
        model = convolution(self.folder / "conv.onnx")
        report = self.run_it(*self.engine("inner_engine", "swap=Conv:Conv"), status=3, model=model)
        self.assertIn("nothing is to be reduced", report)
        report = self.run_it("--cpu", "--inject-fault", "residual:skip", model=self.residual(), status=0)
        self.assertEqual(report["after"]["nodes"], 1, report)
        self.assertLess(report["after"]["input_bytes"], report["before"]["input_bytes"])
        self.assertIn("cpu: ", self.shows())

    def residual(self):
        nodes = [helper.make_node("Tanh", ["x"], ["a"], "tanh"), helper.make_node("Add", ["a", "x"], ["b"], "skip"), helper.make_node("Softmax", ["b"], ["y"], "softmax")]
        return saved(self.folder / "skip.onnx", nodes, [value("x", [8, 32])], [value("y", [8, 32])])

    def test_an_own_engine_that_crashes(self):
        report = self.run_it("--cpu", "--inject-fault", "crash:skip", model=self.residual())
        self.assertEqual((report["verdict"]["kind"], report["after"]["nodes"]), ("crash", 1), report)

    def test_onnxruntime_and_another_engine(self):
        """One that is right by a tolerance of nothing is wrong enough."""
        report = self.run_it("--onnxruntime", "--against", "--cpu", "--atol", "0", "--rtol", "0")
        self.assertLessEqual(report["after"]["nodes"], 3, report)
        self.shows()

    def test_a_sound_engine(self):
        for engine in (self.engine("odd_engine"), ["--cpu"]):
            message = self.run_it(*engine, status=3)
            self.assertIn("nothing is to be reduced", message)
            self.assertIn("vernier run", message)
            self.assertFalse(self.repro.exists())

    def test_wrong_commands(self):
        self.assertIn("no engine to reduce", self.run_it(status=2))
        self.assertIn("knows one model only", self.run_it("--load-run", "none.run", status=2))
        self.assertIn("one is to be reduced", self.run_it("--cpu", "--onnxruntime", status=2))
        self.repro.mkdir()
        (self.repro / "thesis.txt").write_text("dear")
        self.assertIn("thesis.txt", self.run_it("--cpu", status=2))
        shutil.rmtree(self.repro)
        self.repro.mkdir()
        shutil.copy(self.model, self.repro / "model.onnx")
        self.assertIn("written over", self.run_it("--cpu", status=2, model=self.repro / "model.onnx"))

    def test_an_interruption_leaves_the_best_so_far(self):
        words = [VERNIER, "reduce", self.model, *self.engine("inner_engine", "swap=Tanh:Sigmoid,slow=0.5"), "-o", self.repro, "--json", self.folder / "r.json", "-v"]
        process = subprocess.Popen([str(word) for word in words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.stderr.close)
        for line in process.stderr:
            if "nodes" in line:
                break
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=30), 0)
        report = json.loads((self.folder / "r.json").read_text())
        self.assertFalse(report["finished"])
        self.shows()


if __name__ == "__main__":
    ROOT = pathlib.Path(sys.argv.pop())
    VERNIER = sys.argv.pop()
    unittest.main(verbosity=2)
