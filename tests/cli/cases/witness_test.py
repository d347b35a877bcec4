"""Who is right, who is wrong and who did not run: cases_witness_test.py VERNIER SOURCE_DIR

The models are those of ../shared/cases, and small ones made here.
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

VERNIER, CASES = "", pathlib.Path()


class Witness(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def vernier(self, *arguments, status=0):
        """The JSON report, and what is printed."""
        report = self.folder / "report.json"
        report.unlink(missing_ok=True)
        command = [VERNIER, *arguments, "--json", report]
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return json.loads(report.read_text()) if report.exists() else None, done.stdout + done.stderr

    def npz(self, name, **arrays):
        path = self.folder / name
        np.savez(path, **arrays)
        return path

    def model(self, nodes, inputs, outputs, weights=(), imports=("",)):
        tensors = [numpy_helper.from_array(np.asarray(value), name) for name, value in dict(weights).items()]
        graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs.items()],
                                  [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in outputs.items()], tensors)
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid(domain, 1 if domain else 17) for domain in imports], ir_version=8)
        path = self.folder / "model.onnx"
        onnx.save(made, path)
        return path


class ExpectedValues(Witness):
    """A4 and B8: what came with the data is one more witness, the first among equals."""

    def setUp(self):
        super().setUp()
        self.case = CASES / "masked_scatter_export"
        self.inputs = dict(np.load(self.case / "inputs.npz"))
        self.expected = dict(np.load(self.case / "expected.npz"))

    def diagnose(self, model, data, *engines, status):
        found, text = self.vernier("diagnose", self.case / model, *(engines or ["--cpu"]), *data, status=status)
        return found, text

    def test_a_wrong_export_is_told_though_engines_agree(self):
        files = ["--data", self.case / "inputs.npz", "--data", self.case / "expected.npz"]
        found, text = self.diagnose("bad.onnx", files, "--cpu", "--onnxruntime", status=1)
        first = found["culprits"][0]
        self.assertEqual((found["healthy"], found["verdict"], first["class"]), (False, "fail", "B16"))
        self.assertIn("not the engine but the model is wrong: it was exported wrongly", text.splitlines()[0])
        self.assertIn("wrong_order", first["nodes"])
        self.diagnose("good.onnx", files, "--cpu", "--onnxruntime", status=0)

    def test_inner_values_tell_from_which_node_on(self):
        flat = self.inputs["feat"].reshape(-1)
        data = self.npz("all.npz", **self.inputs, **self.expected, fl=flat, ft=self.inputs["feat"].T)
        found, _ = self.diagnose("bad.onnx", ["--data", data], status=1)
        first = found["culprits"][0]
        self.assertEqual((first["class"], first["nodes"]), ("B16", ["flatten"]))
        self.assertIn("from 'flatten' on", first["sentence"])

    def test_values_of_another_type_or_size_are_at_fault_themselves(self):
        for wrong, said in ((self.expected["y"].astype(np.float64), "DOUBLE"), (self.expected["y"][:, :5], "size mismatch")):
            data = self.npz("wrong.npz", **self.inputs, y=wrong)
            found, text = self.diagnose("good.onnx", ["--data", data], status=1)
            first = found["culprits"][0]
            self.assertEqual((first["class"], first["nodes"], first["values"]), ("B48", [], ["y"]), text)
            self.assertIn(said, first["sentence"])

    def test_types_that_are_too_narrow_are_told(self):
        case = CASES / "fp16_declared_norm"
        found, text = self.vernier("diagnose", case / "model.onnx", "--cpu", "--data", case / "inputs.npz", "--data", case / "expected.npz", status=1)
        self.assertTrue(any(each["class"] == "B16" and "without the roundings of the types" in each["sentence"] for each in found["culprits"]), text)

    def test_an_engine_that_errs_is_diagnosed_as_before(self):
        data = self.npz("right.npz", x=np.linspace(-2, 2, 8, dtype=np.float32), y=np.clip(np.linspace(-2, 2, 8, dtype=np.float32) * 2, -1, 1))
        model = self.model([helper.make_node("Mul", ["x", "two"], ["d"], "twice"), helper.make_node("Clip", ["d", "low", "high"], ["y"], "clip")],
                           {"x": [8]}, {"y": [8]}, {"two": np.float32(2), "low": np.float32(-1), "high": np.float32(1)})
        found, _ = self.vernier("diagnose", model, "--cpu", "--inject-fault", "clip-bound", "--data", data, status=1)
        self.assertEqual((found["culprits"][0]["class"], found["culprits"][0]["nodes"]), ("B32", ["clip"]))
        self.vernier("diagnose", model, "--cpu", "--data", data)

    def test_the_value_that_came_with_the_data_is_the_expected_one(self):
        data = self.npz("both.npz", **self.inputs, **self.expected)
        report, text = self.vernier("run", self.case / "bad.onnx", "--reference", "--data", data, status=1)
        [comparison] = report["comparisons"]
        self.assertEqual((comparison["reference"], comparison["actual"]), ("expected", "reference"))
        self.assertIn("reference against expected: fail", text)
        worst = comparison["tensors"][0]["worst"]
        self.assertAlmostEqual(worst["expected"], float(self.expected["y"][tuple(worst["index"])]), 6)


class RunnersThatDoNotLoad(Witness):
    """B4: the others are compared, and what did not load is a row."""

    def setUp(self):
        super().setUp()
        self.case = CASES / "bf16_slstm"
        self.data = ["--data", self.case / "inputs.npz"]

    def test_run_compares_the_others(self):
        for runners in (["--reference", "--onnxruntime", "--cpu"], ["--onnxruntime", "--reference", "--cpu"]):
            report, text = self.vernier("run", self.case / "model.onnx", *runners, *self.data, status=4)
            verdicts = {each["actual"]: each["verdict"] for each in report["comparisons"]}
            self.assertEqual(verdicts, {"cpu": "pass", "onnxruntime": "not_compared"})
            self.assertIn("could not load: runner 'onnxruntime', stage load", text)

    def test_run_alone_says_why(self):
        self.vernier("run", self.case / "model.onnx", "--onnxruntime", *self.data, status=4)

    def test_a_program_that_does_not_start_is_bad_input(self):
        report, _ = self.vernier("run", self.case / "model.onnx", "--reference", "--runner", "mine=false", "--cpu", *self.data, status=3)
        self.assertEqual({each["actual"]: each["verdict"] for each in report["comparisons"]}, {"cpu": "pass", "mine": "not_compared"})

    def test_a_comparison_that_fails_is_worse(self):
        self.vernier("run", self.case / "model.onnx", "--reference", "--onnxruntime", "--cpu", "--atol", "0", "--rtol", "0", *self.data, status=1)

    def test_diagnose_judges_the_others(self):
        found, text = self.vernier("diagnose", self.case / "model.onnx", "--onnxruntime", "--cpu", *self.data, status=4)
        self.assertEqual({each["name"]: each["verdict"] for each in found["engines"]}["cpu"], "pass", text)
        found, _ = self.vernier("diagnose", self.case / "model.onnx", "--onnxruntime", *self.data, status=4)
        self.assertIn("Could not find an implementation", found["sentence"])
        found, _ = self.vernier("diagnose", self.case / "model.onnx", "--runner", "mine=false", "--cpu", *self.data, status=3)
        self.assertTrue(any("mine could not load" in note for note in found["notes"]))

    def test_bench_times_the_others(self):
        report, text = self.vernier("bench", self.case / "model.onnx", "--vs", "onnxruntime", "--duration", 0.05, "--warmup", 0, "--runs", 1,
                                    "--opt-level", 0, "--no-verify", *self.data, status=4)
        self.assertEqual([each["runner"] for each in report["versus"]], ["onnxruntime"])
        self.assertIn("could not load", report["versus"][0]["failure"])
        self.assertGreater(report["latency_ms"]["p50"], 0)
        self.assertIn("onnxruntime: could not load", text)

    def test_check_looks_at_the_rest(self):
        report, text = self.vernier("check", self.case / "model.onnx", "--onnxruntime", *self.data, status=4)
        self.assertIn("E1-not-loaded", {each["rule"] for each in report["findings"]}, text)


class References(Witness):
    """B11: references beside each other, operators and attributes that nobody knows."""

    def test_references_stand_in_any_order(self):
        case = CASES / "cast_mul_one"
        for runners in (["--reference", "--reference=ideal"], ["--reference=ideal", "--reference"]):
            self.vernier("run", case / "model.onnx", *runners, "--data", case / "inputs.npz")

    def test_the_default_may_be_named(self):
        case = CASES / "cast_mul_one"
        self.vernier("diagnose", case / "model.onnx", "--cpu", "--against", "reference", "--data", case / "inputs.npz")
        report, _ = self.vernier("run", case / "model.onnx", "--cpu", "--against", "reference", "--data", case / "inputs.npz")
        self.assertEqual([(each["reference"], each["actual"]) for each in report["comparisons"]], [("reference", "cpu")])
        _, text = self.vernier("run", case / "model.onnx", "--cpu", "--against", "nobody", "--data", case / "inputs.npz", status=2)
        self.assertIn("is no runner", text)

    def unknown(self, imports):
        return self.model([helper.make_node("Exp", ["x"], ["a"], "exp"), helper.make_node("Foo", ["a"], ["b"], "foo", domain="my.domain"),
                           helper.make_node("Relu", ["b"], ["y"], "relu"), helper.make_node("Add", ["x", "x"], ["c"], "dead")],
                          {"x": [2, 4]}, {"y": [2, 4]}, imports=imports)

    def test_an_unknown_operator_is_told_at_once(self):
        for imports in (("",), ("", "my.domain")):
            _, text = self.vernier("run", self.unknown(imports), "--reference", status=4)
            self.assertIn("operator Foo of domain 'my.domain'", text)
            self.assertNotIn("opset_import", text)

    def test_check_and_inspect_look_at_the_rest(self):
        model = self.unknown(("", "my.domain"))
        report, text = self.vernier("check", model, status=1)
        self.assertLessEqual({"S11-unknown-operator", "S3-dead-node"}, {each["rule"] for each in report["findings"]}, text)
        report, text = self.vernier("inspect", model)
        self.assertIn("Foo", text)
        self.vernier("check", model, "--cpu", status=4)

    def test_an_unknown_attribute_is_a_finding(self):
        model = self.model([helper.make_node("LayerNormalization", ["x", "s"], ["y"], "norm", epsion=1e-3)], {"x": [2, 4]}, {"y": [2, 4]}, {"s": np.ones(4, np.float32)})
        report, text = self.vernier("check", model, status=1)
        [finding] = [each for each in report["findings"] if each["rule"] == "S10-unknown-attribute"]
        self.assertEqual(finding["node"], "norm")
        self.assertIn("epsion", finding["message"])
        self.assertIn("epsilon", finding["message"])
        self.vernier("run", model, "--reference", "--onnxruntime")


class Remedies(Witness):
    """B6: where the tool has a remedy it names it."""

    def test_an_optimiser_that_makes_an_invalid_model(self):
        case = CASES / "cast_mul_one"
        found, text = self.vernier("diagnose", case / "model.onnx", "--onnxruntime", "--data", case / "inputs.npz", status=1)
        first = found["culprits"][0]
        self.assertEqual(first["class"], "B31", text)
        self.assertIn("optimiser makes an invalid model", first["sentence"])
        self.assertEqual(first["repair"]["kind"], "option")
        self.assertIn("--optimization disable", first["repair"]["sentence"])
        self.vernier("diagnose", case / "model.onnx", "--onnxruntime", "--optimization", "disable", "--data", case / "inputs.npz")

    def activations(self):
        """Two convolutions, with what exporters write for SiLU, GELU, HardSwish and Mish between them."""
        rng = np.random.default_rng(1)
        weights = {"w": rng.normal(size=(8, 3, 3, 3)).astype(np.float32), "v": rng.normal(size=(8, 8, 3, 3)).astype(np.float32) / 8,
                   "root": np.float32(2**0.5), "one": np.float32(1), "half": np.float32(0.5), "three": np.float32(3), "six": np.float32(6), "zero": np.float32(0)}
        nodes = [("Conv", "x w", "c"), ("Sigmoid", "c", "gate"), ("Mul", "c gate", "silu"), ("Conv", "silu v", "d"),
                 ("Div", "d root", "scaled"), ("Erf", "scaled", "erf"), ("Add", "erf one", "shifted"), ("Mul", "d shifted", "doubled"), ("Mul", "doubled half", "gelu"), ("Conv", "gelu v", "e"),
                 ("Add", "e three", "moved"), ("Clip", "moved zero six", "clipped"), ("Div", "clipped six", "hard"), ("Mul", "e hard", "hard_swish"), ("Conv", "hard_swish v", "f"),
                 ("Softplus", "f", "plus"), ("Tanh", "plus", "tanh"), ("Mul", "f tanh", "mish"), ("Conv", "mish v", "y")]
        made = [helper.make_node(op, inputs.split(), [output], output, **({"pads": [1] * 4} if op == "Conv" else {})) for op, inputs, output in nodes]
        return self.model(made, {"x": [1, 3, 8, 8]}, {"y": [1, 8, 8, 8]}, weights)

    def calibrate(self, model, *options):
        samples = [self.npz(f"x{i}.npz", x=np.random.default_rng(i).normal(size=(1, 3, 8, 8)).astype(np.float32)) for i in range(4)]
        scales = self.folder / "scales.json"
        self.vernier("calibrate", model, *[word for each in samples for word in ("--data", each)], "-o", scales, "--method", "minmax", *options)
        return scales, json.loads(scales.read_text())

    def test_all_tensors_have_ranges_inside_of_fused_activations_too(self):
        model = self.activations()
        scales, content = self.calibrate(model, "--all-tensors")
        ranged = {tensor["name"] for tensor in content["tensors"]} if isinstance(content["tensors"], list) else set(content["tensors"])
        self.assertLessEqual({"gate", "silu", "erf", "doubled", "gelu", "clipped", "hard_swish", "tanh", "mish"}, ranged)
        _, text = self.vernier("export", model, "--int8", "--calibration", scales, "--for", "onnxruntime", "-o", self.folder / "int8.onnx")
        self.assertNotIn("calibrate with --all-tensors", text)

    def test_a_gap_in_a_calibration_is_told(self):
        model = self.activations()
        _, content = self.calibrate(model)
        cache = self.folder / "calibration.cache"
        cache.write_text("x 3.5\nsilu 4.5\n")
        _, text = self.vernier("build", model, "--int8", "--calibration", cache, "-o", self.folder / "a.engine", "--opt-level", 0, "--no-verify", "-v")
        self.assertIn("has no range for 'gelu', 'hard_swish', 'mish'", text)
        self.assertIn("vernier calibrate", text)
        cache.write_text("x 3.5\nsilu 4.5\ngelu 4\nhard_swish 4\nmish 4\n")
        _, text = self.vernier("build", model, "--int8", "--calibration", cache, "-o", self.folder / "b.engine", "--opt-level", 0, "--no-verify", "-v")
        self.assertNotIn("has no range for", text)


class Sizes(Witness):
    """B7: random sizes are those that operators take."""

    def test_a_bias_of_scores_has_an_element_for_each_key(self):
        model = CASES / "mha_attention_bias/model.onnx"
        report, text = self.vernier("run", model, "--reference", "--onnxruntime", "--cpu")
        self.assertEqual(report["verdict"], "pass", text)
        self.assertGreaterEqual(len(report["samples"]), 3)
        self.assertNotIn("size not taken", text)

    def test_a_bias_that_broadcasts_along_keys_is_refused(self):
        data = dict(np.load(CASES / "mha_attention_bias/inputs.npz"))
        data["bias"] = data["bias"][..., :1]
        _, text = self.vernier("run", CASES / "mha_attention_bias/model.onnx", "--reference", "--data", self.npz("short.npz", **data), status=3)
        self.assertIn("the bias of scores", text)


class Hazards(Witness):
    """Tests what `check` finds in files, and `bench --decode` in a merged decoder."""

    def rules(self, model, *options, status=1):
        report, _ = self.vernier("check", model, *options, status=status)
        return {each["rule"]: each for each in report["findings"]}

    def test_a_bias_that_int32_cuts_off(self):
        found = self.rules(CASES / "dead_channel_int8/qdq.onnx")
        self.assertEqual(found["B28-saturated-bias"]["node"], "conv1")

    def test_indices_that_half_precision_does_not_hold(self):
        found = self.rules(CASES / "yolo10_head_fp16/model.onnx", "--assume", "f16")
        self.assertEqual(found["B10-integers-in-floats"]["node"], "to_float")
        self.assertIn("indices up to 23999", found["B10-integers-in-floats"]["message"])
        self.assertNotIn("B10-integers-in-floats", self.rules(CASES / "yolo10_head_fp16/model.onnx", status=0))

    def test_a_merged_decoder_is_decoded(self):
        report, text = self.vernier("bench", CASES / "merged_decoder/model.onnx", "--decode", 6, "--prompt", 4, "--duration", 0, "--warmup", 0, "--runs", 1, "--opt-level", 0)
        decode = report["decode"]
        self.assertEqual((decode["prompt"], decode["tokens"], decode["caches"]), (4, 6, 2), text)
        self.assertEqual(decode["first"]["token_ms"]["runs"], 6)


if __name__ == "__main__":
    VERNIER, source = sys.argv.pop(1), pathlib.Path(sys.argv.pop(1))
    CASES = source.parent / "shared/cases"
    if not CASES.is_dir():
        print(f"cases: SKIPPED, {CASES} is not here")
        sys.exit(0)
    unittest.main()
