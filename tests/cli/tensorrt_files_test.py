"""Tests that files which ONNX Runtime quantized are rewritten by `export --for tensorrt`: tensorrt_files_test.py VERNIER SOURCE_DIR

Each file is made by ONNX Runtime's own quantizer. TensorRT has INT8 around zero alone, no bias of INT32 and no operator on codes.
"""
import json
import logging
import re

import judging
import numpy as np
import onnx
import onnxruntime as ort
from judging import FLOAT, Case, info, node, vernier
from onnx import TensorProto, numpy_helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_dynamic, quantize_static

ort.set_default_logger_severity(4)
logging.disable(logging.WARNING)
SHAPE = [2, 3, 12, 12]
TYPES = {"u8": (QuantType.QUInt8, QuantType.QUInt8), "u8s8": (QuantType.QUInt8, QuantType.QInt8), "s8": (QuantType.QInt8, QuantType.QInt8)}


class Reader(CalibrationDataReader):
    def __init__(self, samples):
        self.samples = iter(samples)

    def get_next(self):
        return next(self.samples, None)


def run(path, inputs):
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"]).run(None, inputs)[0]


class TensorRtFiles(Case):
    def setUp(self):
        super().setUp()
        random = np.random.default_rng(5)
        self.inputs = {"x": random.normal(0, 1, SHAPE).astype(np.float32)}
        weights = {"w1": random.normal(0, 0.3, (6, 3, 3, 3)), "b1": random.normal(0, 0.3, 6), "w2": random.normal(0, 0.3, (6, 6, 1, 1)),
                   "b2": random.normal(0, 0.3, 6), "w3": random.normal(0, 0.1, (216, 7)), "b3": random.normal(0, 0.5, 7),
                   "low": np.float32(-0.5), "high": np.float32(2)}  # fmt: skip
        weights = {name: np.asarray(value, np.float32) for name, value in weights.items()} | {"flat": np.array([2, 216], np.int64)}
        nodes = [node("Conv", "x w1 b1", "c1", pads=[1, 1, 1, 1]), node("Relu", "c1", "r1"), node("MaxPool", "r1", "m", kernel_shape=[2, 2], strides=[2, 2]),
                 node("Conv", "m w2 b2", "c2"), node("Clip", "c2 low high", "k"), node("Add", "k m", "a"), node("Reshape", "a flat", "f"),
                 node("MatMul", "f w3", "p"), node("Add", "p b3", "y")]  # fmt: skip
        self.float = self.model("float", nodes, [info("x", SHAPE)], [info("y", [2, 7])], weights)
        self.data = [{"x": random.normal(0, 1, SHAPE).astype(np.float32)} for _ in range(8)]

    def rewritten(self, quantized):
        file, report = self.folder / "rewritten.onnx", self.folder / "report.json"
        status, out, err = vernier("export", quantized, "--for", "tensorrt", "-o", file, "--json", report)
        self.assertEqual(status, 0, out + err)
        onnx.checker.check_model(str(file), full_check=True)
        self.assertEqual(vernier("check", file, "--for", "tensorrt")[0], 0)
        stated = re.search(r"the rewritten file is off by (\S+) in output 'y'", out)
        self.assertIsNotNone(stated, out)
        return onnx.load(file), float(stated[1]), file

    def assert_symmetric(self, model, pairs):
        constants = {each.name: each for each in model.graph.initializer}
        quantizing = [each for each in model.graph.node if each.op_type in ("QuantizeLinear", "DequantizeLinear")]
        self.assertGreaterEqual(len(quantizing), pairs)
        for each in quantizing:
            zero = constants[each.input[2]]
            self.assertEqual(zero.data_type, TensorProto.INT8, each.name)
            self.assertFalse(numpy_helper.to_array(zero).any(), each.name)
        others = [each.op_type for each in model.graph.node if each.domain or "Integer" in each.op_type or each.op_type.startswith("QLinear")]
        self.assertEqual(others, [])

    def near(self, a, b, bound):
        self.assertLess(float(np.linalg.norm(a - b) / np.linalg.norm(b)), bound)

    def test_static_files_become_int8_around_zero(self):
        for form in (QuantFormat.QDQ, QuantFormat.QOperator):
            for name, (activations, weights) in TYPES.items():
                with self.subTest(f"{form} {name}"):
                    quantized = self.folder / "quantized.onnx"
                    quantize_static(str(self.float), str(quantized), Reader(self.data), quant_format=form, per_channel=name != "u8",
                                    activation_type=activations, weight_type=weights)
                    model, stated, file = self.rewritten(quantized)
                    self.assert_symmetric(model, 6)
                    wanted = run(quantized, self.inputs)
                    self.near(run(file, self.inputs), wanted, 0.06)
                    self.near(run(file, self.inputs), run(self.float, self.inputs), 0.1)
                    self.assertLess(stated, 0.06)
                    biases = [each.input[2] for each in model.graph.node if each.op_type == "Conv"]
                    self.assertEqual({each.data_type for each in model.graph.initializer if each.name in biases}, {FLOAT})

    def test_what_codes_cut_off_is_cut_off_before(self):
        """ONNX Runtime leaves out a Relu or a Clip that the codes of its result imply."""
        quantized = self.folder / "quantized.onnx"
        quantize_static(str(self.float), str(quantized), Reader(self.data), quant_format=QuantFormat.QDQ, activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)
        self.assertNotIn("Relu", {each.op_type for each in onnx.load(quantized).graph.node})
        model, _, _ = self.rewritten(quantized)
        self.assertIn("Relu", {each.op_type for each in model.graph.node})
        self.assertIn("Clip", {each.op_type for each in model.graph.node})

    def test_dynamic_files_keep_weights_of_int8_alone(self):
        quantized = self.folder / "dynamic.onnx"
        for weights in (QuantType.QInt8, QuantType.QUInt8):
            quantize_dynamic(str(self.float), str(quantized), weight_type=weights)
            self.assertIn("DynamicQuantizeLinear", {each.op_type for each in onnx.load(quantized).graph.node})
            file, out = self.folder / "rewritten.onnx", None
            status, out, err = vernier("export", quantized, "--for", "tensorrt", "-o", file)
            self.assertEqual(status, 1, out + err)  # a warning: products of which one operand is quantized
            self.assertIn("TRT7-one-operand", out)
            self.assertNotIn("error TRT", out)
            self.assert_symmetric(onnx.load(file), 1)
            self.near(run(file, self.inputs), run(quantized, self.inputs), 0.03)

    def test_codes_of_inputs_and_outputs_are_computed(self):
        scale, zero = {"s": np.float32(0.02), "z": np.uint8(100)}, TensorProto.UINT8
        nodes = [node("DequantizeLinear", "q s z", "x"), node("Sin", "x", "t"), node("QuantizeLinear", "t s z", "y")]
        model = self.model("borders", nodes, [info("q", [4, 64], zero)], [info("y", [4, 64], zero)], scale)
        file, inputs = self.folder / "rewritten.onnx", {"q": np.arange(256, dtype=np.uint8).reshape(4, 64)}
        status, out, err = vernier("export", model, "--for", "tensorrt", "-o", file)
        self.assertEqual(status, 0, out + err)
        self.assertEqual({each.op_type for each in onnx.load(file).graph.node} & {"QuantizeLinear", "DequantizeLinear"}, set())
        np.testing.assert_array_equal(run(file, inputs), run(model, inputs))

    def test_a_size_from_an_input_of_floats_is_told(self):
        nodes = [node("Cast", "k", "n", to=TensorProto.INT64), node("TopK", "x n", "v i")]
        model = self.model("counts", nodes, [info("x", [8]), info("k", [1])], [info("v", ["m"])])
        report = self.folder / "report.json"
        status, out, _ = vernier("export", model, "--for", "tensorrt", "-o", self.folder / "same.onnx", "--json", report)
        self.assertEqual(status, 1, out)
        [finding] = json.loads(report.read_text())["findings"]
        self.assertEqual((finding["rule"], finding["node"]), ("TRT16-float-sizes", "the_TopK_i"))
        self.assertIn("'k', an input of FLOAT", finding["message"])


if __name__ == "__main__":
    judging.main()
