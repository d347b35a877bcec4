"""Files in int8 are right in ONNX Runtime where a channel is dead: cases_dead_channel_test.py VERNIER SOURCE_DIR

Weights near zero beside a bias that is not: the codes of the bias, whose scale is that of the input times that of the weights, saturate
in INT32. What is written is run before it is said to be written, so a file that is wrong is a failure.
"""
import json
import pathlib
import sys

CLI = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(CLI), str(CLI.parent / "isa")]
import judging
import numpy as np
import onnxruntime as ort
from judging import Case, info, node, vernier
from processor import has_vnni

ort.set_default_logger_severity(4)
SEED, CHANNELS, DEAD = 3, 5, 2


def run(path, inputs):
    return ort.InferenceSession(str(path), providers=["CPUExecutionProvider"]).run(None, inputs)[0]


def error(found, wanted):
    return float(np.linalg.norm(found - wanted) / np.linalg.norm(wanted))


class DeadChannel(Case):
    def setUp(self):
        super().setUp()
        self.random = np.random.default_rng(SEED)

    def data_files(self, shape, count=4):
        paths = []
        for i in range(count):
            paths += ["--data", self.folder / f"sample{i}.npz"]
            np.savez(paths[-1], x=self.random.uniform(0, 1, shape).astype(np.float32))
        return paths

    def weights(self, shape, axis):
        values = self.random.normal(0, 0.3, shape).astype(np.float32)
        np.moveaxis(values, axis, 0)[DEAD] *= 1e-9
        return {"w": values, "b": np.full(CHANNELS, 0.8, np.float32)}

    def layers(self):
        """Models whose bias ONNX Runtime adds as codes: of a Conv, a Gemm, and an Add behind a MatMul."""
        relu = node("Relu", "s", "y")
        yield "conv", [node("Conv", "x w b", "s"), relu], [1, 3, 8, 8], [1, CHANNELS, 6, 6], self.weights((CHANNELS, 3, 3, 3), 0)
        yield "gemm", [node("Gemm", "x w b", "s"), relu], [4, 8], [4, CHANNELS], self.weights((8, CHANNELS), 1)
        yield "matmul", [node("MatMul", "x w", "p"), node("Add", "p b", "s"), relu], [4, 8], [4, CHANNELS], self.weights((8, CHANNELS), 1)

    def written(self, file, data, *command):
        """Gives what the command says, which writes a file that is right; None where ONNX Runtime's sums of 16 bits make it wrong here, which is said."""
        status, out, err = vernier(*command)
        if status == 0:
            return out
        self.assertFalse(has_vnni(), out + err)
        self.assertEqual(status, 1, out + err)
        self.assertRegex(out + err, "output 'y' is off by ")
        report = self.folder / "why.json"
        vernier("diagnose", file, "--onnxruntime", "--data", data, "--json", report)
        self.assertEqual(json.loads(report.read_text())["culprits"][0]["class"], "B29")  # not the bias
        return None

    def test_biases_of_dead_channels_fit_in_int32(self):
        for name, nodes, shape, result, weights in self.layers():
            with self.subTest(name):
                model = self.model(name, nodes, [info("x", shape)], [info("y", result)], weights)
                data, scales, file = self.data_files(shape), self.folder / "scales.json", self.folder / "int8.onnx"
                quantized = ("--calibration", scales, "--int8", "--for", "onnxruntime")
                for command in (("calibrate", model, *data, "--all-tensors", "-o", scales, "--qdq", file), ("export", model, *quantized, *data, "-o", file)):
                    inputs = dict(np.load(data[1]))
                    said = self.written(file, data[1], *command)
                    if said is not None:
                        self.assertIn("ONNX Runtime computes what the file says", said)
                        self.assertLess(error(run(file, inputs), run(model, inputs)), 0.02)

    def test_a_file_that_is_wrong_where_it_runs_is_a_failure(self):
        """The file as others quantize it, whose bias is saturated by ONNX Runtime's optimiser."""
        case = self.case()
        file, report = self.folder / "again.onnx", self.folder / "report.json"
        status, out, err = vernier("export", case / "qdq.onnx", "-o", file, "--data", case / "inputs.npz", "--json", report)
        self.assertEqual(status, 1, out + err)
        [finding] = json.loads(report.read_text())["findings"]
        self.assertEqual((finding["rule"], finding["severity"]), ("ORT3-disagrees", "error"))
        self.assertRegex(finding["message"], r"output 'y' is off by 0\.[2-9]\d* in ONNX Runtime")
        self.assertIn("wrote", out)
        status, out, err = vernier("export", case / "qdq.onnx", "-o", file, "--no-verify")
        self.assertEqual(status, 0, out + err)
        self.assertIn("not verified: --no-verify", out)

    def test_the_case_is_right_in_onnx_runtime(self):
        case = self.case()
        scales, file = self.folder / "scales.json", self.folder / "int8.onnx"
        data = [word for i in range(6) for word in ("--data", case / f"calibration{i}.npz")]
        inputs = dict(np.load(case / "inputs.npz"))
        wanted = run(case / "float.onnx", inputs)
        for command in (("calibrate", case / "float.onnx", *data, "--all-tensors", "-o", scales, "--qdq", file),
                        ("export", case / "float.onnx", "--calibration", scales, "--int8", "--for", "onnxruntime", "-o", file)):
            if self.written(file, case / "inputs.npz", *command) is not None:
                self.assertLess(error(run(file, inputs), wanted), 0.05)

    def case(self):
        path = judging.ROOT.parent / "shared/cases/dead_channel_int8"
        if not path.exists():
            print("SKIPPED dead_channel_int8: there is no ../shared/cases")
            self.skipTest("there is no ../shared/cases")
        return path


if __name__ == "__main__":
    judging.main()
