"""`vernier export` with a plan: export_test.py VERNIER SOURCE_DIR"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

VERNIER, ROOT = "", pathlib.Path()
ort.set_default_logger_severity(4)


def vernier(*arguments, **environment):
    done = subprocess.run([VERNIER, *map(str, arguments)], capture_output=True, text=True, timeout=120, env={**os.environ, **environment})
    return done.returncode, done.stdout, done.stderr


def element_types(model):
    return {tensor.name: tensor.data_type for tensor in onnx.load(model).graph.initializer}


class Export(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.model = ROOT / "examples/digits/digits.onnx"
        cls.data = cls.folder / "some.npz"
        cls.images = np.load(ROOT / "examples/digits/held_out.npz")["image"][:20]
        np.savez(cls.data, image=cls.images)
        cls.scales = cls.folder / "scales.json"
        cls.scales.write_text(json.dumps({"tensors": cls.ranges()}))

    @classmethod
    def ranges(cls):
        """The least and largest of every float value, as ONNX Runtime computes them."""
        model = onnx.shape_inference.infer_shapes(onnx.load(cls.model))
        floats = [value for value in model.graph.value_info if value.type.tensor_type.elem_type == TensorProto.FLOAT]
        model.graph.output.extend(floats)
        names = [value.name for value in floats]
        results = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(names, {"image": cls.images})
        ranges = {name: {"min": float(result.min()), "max": float(result.max())} for name, result in zip(names, results, strict=True)}
        return {**ranges, "image": {"min": float(cls.images.min()), "max": float(cls.images.max())}}

    def export(self, *options, status=0, **environment):
        path = self.folder / "typed.onnx"
        path.unlink(missing_ok=True)
        found, out, err = vernier("export", self.model, "-o", path, *options, **environment)
        self.assertEqual(found, status, out + err)
        return path, out + err

    def run_of(self, model, level=ort.GraphOptimizationLevel.ORT_DISABLE_ALL):
        options = ort.SessionOptions()
        options.graph_optimization_level = level
        return ort.InferenceSession(str(model), options, providers=["CPUExecutionProvider"]).run(None, {"image": self.images})[0]

    def test_half_precision_agrees_with_the_reference_and_the_plan(self):
        path, out = self.export("--fp16", "--save-plan", self.folder / "plan.json")
        self.assertIn("f16", out)
        onnx.checker.check_model(str(path), full_check=True)
        status, out, err = vernier("run", path, "--reference", "--onnxruntime", "--data", self.data)
        self.assertEqual(status, 0, out + err)
        # The engine of the model by the same plan promises the same numbers.
        promised = self.folder / "promised.run"
        vernier("run", self.model, "--reference=planned", "--save-run", promised, "--cpu", "--plan", self.folder / "plan.json", "--data", self.data)
        status, out, err = vernier("run", path, "--reference", "--load-run", promised, "--data", self.data)
        self.assertEqual(status, 0, out + err)

    def test_brain_float_means_what_onnx_says(self):
        """ONNX Runtime has no kernels for it, but ONNX's own evaluator has."""
        path, _ = self.export("--bf16")
        onnx.checker.check_model(str(path), full_check=True)
        result = ReferenceEvaluator(str(path)).run(None, {"image": self.images})[0].astype(np.float32)
        for expected, status in ((result, 0), (np.roll(result, 1, axis=0), 1)):
            data = self.folder / "evaluated.npz"
            np.savez(data, image=self.images, probabilities=expected)
            self.assertEqual(vernier("run", path, "--reference", "--data", data)[0], status)

    def test_weights_are_rounded_once_and_kept_narrow(self):
        types = element_types(self.export("--fp16")[0])
        convolutions = [node.input[1] for node in onnx.load(self.folder / "typed.onnx").graph.node if node.op_type == "Conv"]
        self.assertEqual({types[name] for name in convolutions}, {TensorProto.FLOAT16})
        self.assertLess((self.folder / "typed.onnx").stat().st_size, 0.75 * self.model.stat().st_size)

    def test_a_plan_that_was_saved_gives_the_same_file(self):
        plan = self.folder / "saved.json"
        first = self.export("--bf16", "--keep-fp32", "stem_conv", "--save-plan", plan)[0].read_bytes()
        self.assertEqual(self.export("--plan", plan)[0].read_bytes(), first)
        layers = json.loads(plan.read_text())["layers"]
        self.assertEqual((layers["stem_conv"]["store"], layers["stem_conv"]["by"]), ("f32", "user"))

    def test_what_the_file_declares_is_the_plan(self):
        for option in ("--bf16", "--fp16", "--int8"):
            options = [option, "--calibration", self.scales] if option == "--int8" else [option]
            plan, again = self.folder / "first.json", self.folder / "again.json"
            path, _ = self.export(*options, "--save-plan", plan)
            self.assertEqual(vernier("export", path, "-o", self.folder / "twice.onnx", "--save-plan", again)[0], 0)
            first, second = (json.loads(file.read_text())["layers"] for file in (plan, again))
            # BatchNormalization goes into int8 weights, and its node with it.
            folded = set(first) - set(second)
            self.assertEqual({node for node in first if node.endswith("_bn")} if option == "--int8" else set(), folded)
            for node, layer in first.items():
                if node in folded:
                    continue
                self.assertEqual(second[node]["store"], layer["store"], node)
                if layer["compute"] not in ("f32", second[node]["store"]):
                    self.assertEqual(second[node]["compute"], layer["compute"], node)

    def test_int8_runs_in_onnx_runtime_as_the_reference_says(self):
        path, _ = self.export("--int8", "--calibration", self.scales)
        onnx.checker.check_model(str(path), full_check=True)
        self.assertIn(TensorProto.INT8, element_types(path).values())
        status, out, err = vernier("run", path, "--reference", "--onnxruntime", "--optimization", "disable", "--data", self.data)
        self.assertEqual(status, 0, out + err)
        self.assertLess(np.abs(self.run_of(path) - self.run_of(self.model)).max(), 0.1)
        self.assertTrue((self.run_of(path).argmax(1) == self.run_of(self.model).argmax(1)).mean() > 0.9)

    def test_a_wrong_scale_is_seen(self):
        """The comparison above would find it: it is no test that anything passes."""
        path, _ = self.export("--int8", "--calibration", self.scales)
        model = onnx.load(path)
        scale = next(tensor for tensor in model.graph.initializer if tensor.name.endswith("/scale"))
        scale.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(scale) * np.float32(1.5), scale.name))
        wrong = self.folder / "wrong.onnx"
        onnx.save(model, wrong)
        status, _, _ = vernier("run", path, wrong, "--reference", "--data", self.data)
        self.assertEqual(status, 1)

    def test_for_tensorrt_the_rules_hold(self):
        path, out = self.export("--int8", "--calibration", self.scales, status=0)
        status, out, _ = vernier("check", path, "--for", "tensorrt")
        self.assertEqual(status, 1)
        self.assertIn("TRT2-code-type", out)  # ranges that are not negative are unsigned codes
        path, out = self.export("--int8", "--calibration", self.scales, "--for", "tensorrt")
        status, out, _ = vernier("check", path, "--for", "tensorrt")
        self.assertEqual(status, 0, out)

    def test_an_operator_that_onnx_runtime_cannot_compute_is_named(self):
        _, out = self.export("--bf16", "--for", "onnxruntime", status=1)
        self.assertIn("ORT1-no-kernel at 'stem_conv'", out)
        self.assertIn("Conv", out)
        self.assertEqual(vernier("check", self.folder / "typed.onnx", "--for", "onnxruntime")[0], 1)
        self.assertEqual(vernier("check", self.model, "--for", "onnxruntime")[0], 0)
        self.export("--fp16", "--for", "onnxruntime")

    def computed_on_codes(self, path):
        """The operators on codes, and those on floats, that ONNX Runtime's optimiser makes of a file."""
        options, made = ort.SessionOptions(), self.folder / "optimised.onnx"
        options.optimized_model_filepath = str(made)
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED  # and no layouts
        ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        operators = [node.op_type for node in onnx.load(made).graph.node]
        return [name for name in operators if name.startswith("QLinear")], [name for name in operators if name in ("Conv", "FusedConv", "Add")]

    def test_for_onnx_runtime_int8_stays_codes_between_products(self):
        path, out = self.export("--int8", "--calibration", self.scales, "--for", "onnxruntime")
        self.assertIn("codes for all that read them", out)
        onnx.checker.check_model(str(path), full_check=True)
        codes, floats = self.computed_on_codes(path)
        self.assertEqual((codes.count("QLinearConv"), codes.count("QLinearAdd"), floats), (5, 2, []))
        status, out, err = vernier("run", path, "--reference", "--onnxruntime", "--optimization", "disable", "--data", self.data)
        self.assertEqual(status, 0, out + err)
        self.assertGreater((self.run_of(path).argmax(1) == self.run_of(self.model).argmax(1)).mean(), 0.9)
        # Without the option ONNX Runtime computes floats: the test above can fail.
        self.assertEqual(self.computed_on_codes(self.export("--int8", "--calibration", self.scales)[0])[0].count("QLinearAdd"), 0)

    def test_ranges_that_codes_between_products_lack_are_told(self):
        some = self.folder / "some.json"
        wanted = ("image", "stem_relu", "block1_relu1", "pool1", "block2_relu1", "flatten")
        some.write_text(json.dumps({"tensors": {name: entry for name, entry in self.ranges().items() if name in wanted}}))
        _, out = self.export("--int8", "--calibration", some, "--for", "onnxruntime")
        self.assertIn("calibrate with --all-tensors", out)

    def test_damaged_and_foreign_plans_are_refused(self):
        plan = self.folder / "bad.json"
        layer = {"compute": "bf16", "accumulate": "f32", "store": "bf16"}
        head = {"schema": "vernier-plan", "version": 1}
        for text, words in ((b"", ["not JSON"]), (b"[1]", ["object"]), (b"{}", ["no precision plan"]),
                            ({**head}, ["layers"]),
                            ({**head, "layers": {"stem_conv": {**layer, "compute": 3}}}, ["'compute'", "stem_conv", "a text is needed"]),
                            ({**head, "layers": {"stem_conv": {**layer, "store": "b16"}}}, ["'store'", "b16"]),
                            ({**head, "layers": {"stem_conv": {**layer, "by": "me"}}}, ["'by'", "'me'"]),
                            ({**head, "layers": {"stem_conv": {**layer, "quant": [{"input": 0, "type": "i8", "scale": "x", "zero_point": 0}]}}}, ["'scale'"]),
                            ({**head, "layers": {"nobody": layer}}, ["'nobody'"]),
                            ({**head, "model": "1234", "layers": {}}, ["1234", "make the plan again"])):
            plan.write_bytes(text if isinstance(text, bytes) else json.dumps(text).encode())
            _, out = self.export("--plan", plan, status=3)
            for word in [*words, "bad.json"]:
                self.assertIn(word, out)
        self.export("--plan", self.folder / "missing.json", status=3)

    def test_the_plan_of_another_model_is_refused(self):
        broken, plan = self.folder / "broken.onnx", self.folder / "of_this.json"
        subprocess.run([sys.executable, ROOT / "examples/digits/break_weight.py", self.model, "block2_1.weight", broken], check=True)
        self.export("--bf16", "--save-plan", plan)
        status, _, err = vernier("export", broken, "-o", self.folder / "x.onnx", "--plan", plan)
        self.assertEqual(status, 3, err)
        self.assertIn("of_this.json", err)

    def test_plans_are_shown_and_compared(self):
        one, other = self.folder / "one.json", self.folder / "other.json"
        self.export("--bf16", "--save-plan", one)
        self.export("--bf16", "--keep-fp32", "stem_conv", "--save-plan", other)
        status, out, _ = vernier("inspect", one)
        self.assertEqual(status, 0)
        self.assertIn("stem_conv", out)
        self.assertIn("bf16/f32/bf16", out)
        report = self.folder / "diff.json"
        status, out, _ = vernier("inspect", one, "--diff", other, "--json", report)
        self.assertEqual(status, 0)
        self.assertIn("stem_conv", out)
        self.assertIn("stem_conv", [row["node"] for row in json.loads(report.read_text())["nodes"]])
        self.assertIn("the same types", vernier("inspect", one, "--diff", one)[1])
        self.assertEqual(vernier("inspect", one, "--diff", self.model)[0], 3)

    def test_tf32_is_noted(self):
        plan = self.folder / "tf32.json"
        _, out = self.export("--bf16", "--save-plan", plan)
        self.assertNotIn("TF32", out)
        _, out = self.export("--bf16", "--no-tf32", "--save-plan", plan)
        self.assertIn("TF32 is off", out)
        self.assertIs(json.loads(plan.read_text())["tf32"], False)
        _, out = self.export("--bf16", NVIDIA_TF32_OVERRIDE="0")
        self.assertIn("NVIDIA_TF32_OVERRIDE=0", out)
        self.assertNotIn("TF32", self.export("--bf16", NVIDIA_TF32_OVERRIDE="1")[1])
        _, out = self.export("--tf32", "--save-plan", plan)
        self.assertRegex(out, r"[1-9]\d* nodes are TF32 in the plan; .* f32 in the file")
        self.assertIn("tf32", {layer["compute"] for layer in json.loads(plan.read_text())["layers"].values()})

    def test_options_that_do_not_apply(self):
        self.export("--deterministic", status=2)
        self.export("--int8", status=2)
        self.export("--bf16", "--fp16", status=2)
        self.export("--layer-precisions", "nobody:bf16", status=2)
        status, _, _ = vernier("export", self.model, "-o", self.folder / "y.onnx", "--bf16", "--save-plan", self.folder / "y.onnx")
        self.assertEqual(status, 2)

    def test_opsets_are_raised_where_a_type_needs_it(self):
        old = self.folder / "old.onnx"
        x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 4, 6, 6]) for name in "xy")
        weights = numpy_helper.from_array(np.random.default_rng(1).standard_normal((4, 4, 1, 1)).astype(np.float32), "w")
        nodes = [helper.make_node("Conv", ["x", "w"], ["c"], name="conv"), helper.make_node("Clip", ["c"], ["y"], name="clip", min=0.0, max=6.0)]
        graph = helper.make_graph(nodes, "g", [x, helper.make_tensor_value_info("w", TensorProto.FLOAT, [4, 4, 1, 1])], [y], [weights])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 7)], ir_version=3), old)
        path, report = self.folder / "raised.onnx", self.folder / "raised.json"
        status, out, err = vernier("export", old, "-o", path, "--bf16", "--json", report)
        self.assertEqual(status, 0, err)
        onnx.checker.check_model(str(path), full_check=True)
        self.assertEqual((json.loads(report.read_text())["opset_before"], json.loads(report.read_text())["opset"]), (7, 22))
        self.assertEqual([value.name for value in onnx.load(path).graph.input], ["x"])
        status, out, _ = vernier("check", old, "--for", "tensorrt")
        self.assertEqual(status, 0, out)  # its documents begin with opset 9, and its parser reads 7
        self.assertIn("note TRT13-opset", out)
        self.assertEqual(vernier("export", old, "-o", path, "--for", "tensorrt")[0], 0)
        self.assertEqual(onnx.load(path).opset_import[0].version, 13)


if __name__ == "__main__":
    VERNIER, ROOT = sys.argv.pop(1), pathlib.Path(sys.argv.pop(1))
    unittest.main()
