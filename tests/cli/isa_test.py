"""--isa, which limits what the CPU engine uses of the processor: isa_test.py VERNIER SOURCE_DIR

On the bundled model, and on small quantized networks of the same input.
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

VERNIER, ROOT = "", pathlib.Path()
LEVELS = ("avx2", "avx512", "amx")
SHORT = ("--duration", "0.05", "--warmup", "0", "--shapes", "image:4x1x8x8")


def vernier(*arguments):
    done = subprocess.run([VERNIER, *map(str, arguments)], capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


def level_of(environment):
    return environment["instruction sets"].split(":")[0]


def made(op, sources, target, **attributes):
    return helper.make_node(op, sources, [target], name=target, **attributes)


def quantize(source, target, zero):
    return made("QuantizeLinear", [source, "s", zero], target)


def dequantize(source, target, zero, scale="s"):
    return made("DequantizeLinear", [source, scale, zero], target)


def cast(source, target):
    return made("Cast", [source], target, to=TensorProto.FLOAT)


def quantized_networks():
    """A convolution, one of each channel alone, and a product, in the three forms that ONNX has for integers."""
    first, apart = {"pads": [1] * 4}, {"pads": [1] * 4, "group": 16}
    image = quantize("image", "x", "middle")
    yield "pairs", [image, dequantize("x", "x_real", "middle"), dequantize("w", "w_real", "i8"), dequantize("b", "b_real", "i32", "s_bias"),
                    made("Conv", ["x_real", "w_real", "b_real"], "c", **first), made("Relu", ["c"], "r"), quantize("r", "r_q", "u8"),
                    dequantize("r_q", "r_real", "u8"), dequantize("d", "d_real", "i8"), made("Conv", ["r_real", "d_real"], "e", **apart),
                    quantize("e", "e_q", "u8"), dequantize("e_q", "e_real", "u8"), made("Flatten", ["e_real"], "rows"),
                    dequantize("f", "f_real", "i8"), made("Gemm", ["rows", "f_real"], "y")]
    yield "operators", [image, made("QLinearConv", ["x", "s", "middle", "w", "s", "i8", "s", "u8"], "c", **first),
                        made("QLinearConv", ["c", "s", "u8", "d", "s", "i8", "s", "u8"], "e", **apart), made("Flatten", ["e"], "rows"),
                        made("QLinearMatMul", ["rows", "s", "u8", "f", "s", "i8", "s_y", "middle"], "y_q"),
                        dequantize("y_q", "y", "middle", "s_y")]
    yield "integers", [image, made("ConvInteger", ["x", "w", "middle"], "c", **first), cast("c", "c_real"),
                       made("Mul", ["c_real", "s_bias"], "m"), quantize("m", "m_q", "u8"),
                       made("ConvInteger", ["m_q", "d", "u8"], "e", **apart), cast("e", "e_real"), made("Mul", ["e_real", "s_bias"], "k"),
                       quantize("k", "k_q", "u8"), made("Flatten", ["k_q"], "rows"),
                       made("MatMulInteger", ["rows", "f", "u8"], "p"), cast("p", "y")]


def model_of(nodes):
    generator = np.random.default_rng(0)
    constants = {"s": np.float32(0.02), "s_bias": np.float32(0.0004), "s_y": np.float32(0.5), "u8": np.uint8(0), "middle": np.uint8(128),
                 "i8": np.int8(0), "i32": np.int32(0), "b": np.arange(-800, 800, 100, np.int32)}
    for name, shape in (("w", (16, 1, 3, 3)), ("d", (16, 1, 3, 3)), ("f", (1024, 10))):
        constants[name] = generator.integers(-127, 128, shape).astype(np.int8)
    read = {source for node in nodes for source in node.input}
    weights = [numpy_helper.from_array(value, name) for name, value in constants.items() if name in read]
    image = helper.make_tensor_value_info("image", TensorProto.FLOAT, [4, 1, 8, 8])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, 10])
    graph = helper.make_graph(nodes, "g", [image], [y], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


class Isa(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.model = ROOT / "examples/digits/digits.onnx"
        report = cls.folder / "native.json"
        status, _, err = vernier("bench", cls.model, *SHORT, "--json", report)
        assert status == 0, err
        cls.native = level_of(json.loads(report.read_text())["environment"])
        cls.levels = LEVELS[:LEVELS.index(cls.native) + 1]

    def bench(self, *arguments):
        report = self.folder / "bench.json"
        status, _, err = vernier("bench", *arguments, *SHORT, "--profile", "--json", report)
        self.assertEqual(status, 0, err)
        return json.loads(report.read_text())

    def test_the_limit_is_in_force_and_in_the_report(self):
        report = self.bench(self.model, "--isa", "avx2")
        self.assertEqual(level_of(report["environment"]), "avx2")
        self.assertEqual(report["options"]["isa"], "avx2")
        for step in report["profile"]["steps"]:
            self.assertNotIn("avx512", step["kernel"])

    def test_the_engine_agrees_with_the_reference_at_each_level(self):
        for level in self.levels:
            status, out, err = vernier("run", self.model, "--reference", "--cpu", "--isa", level)
            self.assertEqual(status, 0, out + err)

    def test_quantized_networks_need_no_reference_at_any_level(self):
        for name, nodes in quantized_networks():
            model = self.folder / f"{name}.onnx"
            onnx.save(model_of(nodes), model)
            for level in self.levels:
                with self.subTest(name, level=level):
                    report = self.bench(model, "--isa", level)
                    self.assertEqual(level_of(report["environment"]), level)
                    self.assertEqual(report["environment"]["accuracy"], "pass")
                    self.assertEqual(report["fallback"], {"steps": 0, "share": 0})
                    self.assertEqual([step for step in report["profile"]["steps"] if step["fallback_ms"] > 0], [])

    def test_an_engine_file_and_a_timing_cache_know_their_level(self):
        engine, cache = self.folder / "limited.engine", self.folder / "times.json"
        status, _, err = vernier("build", self.model, "--opt-shapes", "image:4x1x8x8", "--isa", "avx2", "--timing-cache", cache, "-o", engine)
        self.assertEqual(status, 0, err)
        self.assertIn("avx2: oneDNN avx2", cache.read_text())
        self.assertEqual(level_of(self.bench(engine, "--isa", "avx2")["environment"]), "avx2")
        self.assertEqual(level_of(self.bench(self.model, "--engine", engine, "--isa", "avx2")["environment"]), "avx2")
        status, out, err = vernier("run", self.model, "--reference", "--engine", engine, "--isa", "avx2", "--shapes", "image:4x1x8x8")
        self.assertEqual(status, 0, out + err)
        if self.native == "avx2":
            return
        status, _, err = vernier("bench", engine, *SHORT)
        self.assertEqual(status, 4)
        self.assertIn("the engine was built for processor 'avx2: ", err)
        self.assertIn("--isa", err)

    def test_what_the_machine_lacks_is_not_supported_here(self):
        for level in LEVELS[len(self.levels):]:
            status, _, err = vernier("bench", self.model, "--isa", level, *SHORT)
            self.assertEqual(status, 4, level)
            self.assertIn(f"this processor has no {level}", err)

    def test_what_makes_no_sense_is_a_usage_error(self):
        for arguments in (("bench", self.model, "--isa", "sse9"), ("run", self.model, "--reference", "--isa", "avx2"),
                          ("run", self.model, "--cpu", "--cpu", "--isa", "avx2")):
            status, _, err = vernier(*arguments)
            self.assertEqual(status, 2, arguments)
            self.assertIn("isa" if "sse9" not in arguments else "sse9", err)


if __name__ == "__main__":
    VERNIER, ROOT = sys.argv.pop(1), pathlib.Path(sys.argv.pop(1))
    unittest.main()
