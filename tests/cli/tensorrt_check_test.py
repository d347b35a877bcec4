"""Tests what TensorRT's own parser and builder say of a file, quoted by `check`: tensorrt_check_test.py VERNIER SOURCE_DIR

With a package that stands in for it, and with the real one where VERNIER_TENSORRT_PYTHON names an interpreter that has `tensorrt` or
`tensorrt_rtx`.
"""
import json
import os
import pathlib
import sys
import unittest.mock

import judging
import numpy as np
from judging import FLOAT, Case, info, node, vernier
from onnx import TensorProto

STAND_IN = pathlib.Path(__file__).parent / "children/tensorrt_stand_in"
REAL = os.environ.get("VERNIER_TENSORRT_PYTHON", "")


class TensorRtCheck(Case):
    def setUp(self):
        super().setUp()
        weights = {"w": np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)}
        nodes = [node("MatMul", "x w", "product"), node("Softmax", "product", "y")]
        self.path = super().model("small", nodes, [info("x", ["n", 3])], [info("y", ["n", 4])], weights)

    def plays(self, what):
        patch = unittest.mock.patch.dict(os.environ, {"PYTHONPATH": str(STAND_IN), "STAND_IN_TENSORRT": what})
        patch.start()
        self.addCleanup(patch.stop)

    def findings(self, path, *words, status):
        report = self.folder / "check.json"
        code, out, err = vernier("check", path, "--for", "tensorrt", *words, "--json", report)
        self.assertEqual(code, status, out + err)
        return {finding["rule"]: finding for finding in json.loads(report.read_text())["findings"]}

    def test_a_file_that_it_takes(self):
        self.plays("11")
        for word in (f"--tensorrt={sys.executable}",), ("--tensorrt", sys.executable):
            taken = self.findings(self.path, *word, status=0)["TRT0-taken"]
            self.assertIn("parser and builder of tensorrt 11.1.0 take the file", taken["message"])

    def test_what_the_parser_refuses_is_quoted_with_the_node(self):
        self.plays("11")
        path = super().model("unique", [node("Unique", "x", "y", sorted=1)], [info("x", [6])], [info("y", ["n"])])
        refused = self.findings(path, f"--tensorrt={sys.executable}", status=1)["TRT0-refused"]
        self.assertEqual((refused["severity"], refused["node"]), ("error", "the_Unique_y"))
        self.assertIn("the parser of tensorrt 11.1.0 says: no importer registered for op: Unique", refused["message"])
        self.assertNotIn("Cuda Runtime", refused["message"])  # says nothing of the model

    def test_what_the_builder_refuses_is_quoted(self):
        self.plays("11,unbuildable")
        refused = self.findings(self.path, f"--tensorrt={sys.executable}", status=1)["TRT0-refused"]
        self.assertIn("the builder of tensorrt 11.1.0 says: no implementation for the_Softmax_y", refused["message"])

    def test_a_process_that_ends_is_a_finding(self):
        self.plays("11,crash")
        refused = self.findings(self.path, f"--tensorrt={sys.executable}", status=1)["TRT0-refused"]
        self.assertIn("exit status 9", refused["message"])

    def test_without_the_package_or_a_builder_it_says_so(self):
        err = self.refused("check", self.path, "--for", "tensorrt", f"--tensorrt={sys.executable}", status=4)
        self.assertIn("can import neither tensorrt nor tensorrt_rtx", err)
        self.plays("11,no_gpu")
        err = self.refused("check", self.path, "--for", "tensorrt", f"--tensorrt={sys.executable}", status=4)
        self.assertIn("no CUDA-capable device is detected", err)

    def test_the_real_one(self):
        if not REAL:
            print("SKIPPED the real TensorRT: VERNIER_TENSORRT_PYTHON names no interpreter that has it")
            self.skipTest("VERNIER_TENSORRT_PYTHON is not set")
        self.findings(self.path, f"--tensorrt={REAL}", status=0)
        weights = {"w": np.zeros((1, 1, 2, 2), np.float32)}
        up = super().model("up", [node("ConvTranspose", "x w", "y")], [info("x", [1, 1, 4, 4])], [info("y", [1, 1, 5, 5])], weights)
        file = self.folder / "bf16.onnx"
        status, out, err = vernier("export", up, "--bf16", "--for", "tensorrt", "-o", file)
        self.assertEqual(status, 0, out + err)
        self.assertIn("stay f32, 'the_ConvTranspose_y' first", out)
        self.findings(file, f"--tensorrt={REAL}", status=0)
        status, out, err = vernier("export", up, "--bf16", "-o", file)  # as ONNX has it
        self.assertIn("TRT0-refused", self.findings(file, f"--tensorrt={REAL}", status=1))


class Kept(Case):
    def test_convtranspose_stays_float_for_tensorrt_alone(self):
        weights = {"v": np.ones((1, 1, 1, 1), np.float32), "w": np.ones((1, 1, 2, 2), np.float32)}
        nodes = [node("Conv", "x v", "c"), node("ConvTranspose", "c w", "y")]
        model = super().model("up", nodes, [info("x", [1, 1, 4, 4])], [info("y", [1, 1, 5, 5])], weights)
        for target, type_of_weights in ((("--for", "tensorrt"), FLOAT), ((), TensorProto.BFLOAT16)):
            file = self.folder / "typed.onnx"
            status, out, err = vernier("export", model, "--bf16", *target, "--no-verify", "-o", file)
            self.assertEqual(status, 0, out + err)
            self.assertEqual("TensorRT has no ConvTranspose of bf16" in out, bool(target))
            typed = judging.onnx.load(file)
            up = next(each for each in typed.graph.node if each.op_type == "ConvTranspose")
            self.assertEqual({each.data_type for each in typed.graph.initializer if each.name == up.input[1]}, {type_of_weights})


if __name__ == "__main__":
    judging.main()
