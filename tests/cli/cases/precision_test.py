"""Types that are asked for, on models that are narrow already: cases_precision_test.py VERNIER SOURCE_DIR

The models are those of ../shared/cases beside the source; without them the tests that need one say so and are skipped.
"""
import json
import pathlib
import sys
import re
import unittest

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))  # judging
import judging
from judging import vernier

FLOAT, HALF, BFLOAT = TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16
NORMS = "*/norm/*"
ort.set_default_logger_severity(4)


def case(name):
    for up in ("../shared", "../../shared"):
        folder = judging.ROOT / up / "cases" / name
        if folder.is_dir():
            return folder
    print(f"SKIPPED {name}: there is no ../shared/cases")
    raise unittest.SkipTest("there is no ../shared/cases")


def typed(path):
    """The element type of each value that nodes make, as the checker of ONNX infers it, and the nodes by name, those of regions, too."""
    model = onnx.shape_inference.infer_shapes(onnx.load(path), check_type=True, strict_mode=True)
    types, nodes = {}, {}

    def add(graph):
        for value in [*graph.value_info, *graph.output, *graph.input]:
            types[value.name] = value.type.tensor_type.elem_type
        for node in graph.node:
            nodes[node.name] = node
            for attribute in node.attribute:
                if attribute.type == onnx.AttributeProto.GRAPH:
                    add(attribute.g)

    add(model.graph)
    return types, nodes


def relative(found, right):
    return np.linalg.norm(found.astype(np.float64) - right) / np.linalg.norm(right)


class Narrow(judging.Case):
    def case(self, name):
        folder = case(name)
        self.model_path, self.inputs = folder / "model.onnx", folder / "inputs.npz"
        self.expected = np.load(folder / "expected.npz")
        return self.model_path

    def export(self, *options, status=0):
        self.case(self.name)
        path = self.folder / "typed.onnx"
        code, out, err = vernier("export", self.model_path, "-o", path, *options)
        self.assertEqual(code, status, out + err)
        return path, out + err

    def outputs(self, path):
        session = ort.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        names = [output.name for output in session.get_outputs()]
        return dict(zip(names, session.run(names, dict(np.load(self.inputs))), strict=True))

    def plan(self, *options):
        path = self.folder / "plan.json"
        self.export(*options, "--save-plan", path)
        return json.loads(path.read_text())["layers"]

    def audit(self, *options, engine=None):
        """The report of a build, and its text with the audit of every node."""
        self.case(self.name)
        report = self.folder / "build.json"
        code, out, err = vernier("build", self.model_path, "-o", engine or self.folder / "made.engine", *options, "-v", "--json", report)
        self.assertEqual(code, 0, out + err)
        return json.loads(report.read_text()), out


class DeclaredNorm(Narrow):
    """A network that a script converted to fp16: the squares of its norms overflow."""

    name = "fp16_declared_norm"
    norm_nodes = {f"layers.{layer}/norm/{op}" for layer in (0, 1) for op in ("Pow", "ReduceMean", "Add", "Sqrt", "Div", "Mul")}

    def assert_widened(self, path, wide):
        types, nodes = typed(path)
        for name, node in nodes.items():
            if name in self.norm_nodes or name == "head":
                made = types[node.output[0]]
                self.assertEqual(made, FLOAT if name in wide else HALF, name)

    def test_the_file_declares_float_and_means_what_was_meant(self):
        for options in (
            ["--keep-fp32", NORMS],
            ["--layer-precisions", f"{NORMS}:fp32"],
            ["--layer-output-types", f"{NORMS}:fp32"],
            ["--fp16", "--keep-fp32", NORMS],
        ):
            with self.subTest(options):
                path, _ = self.export(*options)
                self.assert_widened(path, self.norm_nodes)
                self.assertLess(relative(self.outputs(path)["logits"], self.expected["logits"]), 2e-3)
        declared, _ = self.export()
        self.assert_widened(declared, set())

    def test_values_between_widened_nodes_are_not_rounded(self):
        path, _ = self.export("--keep-fp32", NORMS)
        casts = [node for node in onnx.load(path).graph.node if node.op_type == "Cast"]
        # One in and one out for each norm, beside those of the model: Pow and Div read the same.
        self.assertEqual(len(casts), 2 + 4, [node.name for node in casts])

    def test_constants_keep_the_values_that_are_declared(self):
        path, _ = self.export("--keep-fp32", NORMS)
        before = {tensor.name: numpy_helper.to_array(tensor) for tensor in onnx.load(self.model_path).graph.initializer}
        after = {tensor.name: numpy_helper.to_array(tensor) for tensor in onnx.load(path).graph.initializer}
        for name in ("g_0", "g_1", "eps", "two"):
            [wide] = [array for key, array in after.items() if key.startswith(name) and array.dtype == np.float32]
            np.testing.assert_array_equal(wide, before[name].astype(np.float32))
        self.assertEqual(after["w1_0"].dtype, np.float16)

    def test_the_plan_says_so_and_is_obeyed_again(self):
        layers = self.plan("--keep-fp32", NORMS)
        for name in self.norm_nodes:
            self.assertEqual((layers[name]["compute"], layers[name]["store"], layers[name]["by"]), ("f32", "f32", "user"), name)
        self.assertEqual((layers["layers.0/up"]["store"], layers["layers.0/up"]["by"]), ("f16", "declared"))
        first, _ = self.export("--keep-fp32", NORMS)
        first = first.read_bytes()
        again, _ = self.export("--plan", self.folder / "plan.json")
        self.assertEqual(again.read_bytes(), first)

    def test_an_engine_obeys(self):
        found, out = self.audit("--cpu", "--keep-fp32", NORMS)
        self.assertEqual(found["accuracy"]["verdict"], "pass", out)
        self.assertIn("retype-nodes", [each["name"] for each in found["passes"]])
        self.assertRegex(out, r"layers\.0/norm/\S+ .*f32")

    def test_an_engine_means_what_was_meant_and_so_does_its_promise(self):
        self.case(self.name)
        tolerance = ["--data", self.inputs, "--rtol", "0.02", "--atol", "2e-3"]
        _, tensors, out = self.run_models(self.model_path, "--reference=ideal", "--cpu", "--keep-fp32", NORMS, *tolerance)
        self.assertEqual(tensors["logits"]["verdict"], "pass", out)
        _, tensors, out = self.run_models(self.model_path, "--reference=planned", "--cpu", "--keep-fp32", NORMS, "--data", self.inputs)
        self.assertEqual(tensors["logits"]["verdict"], "pass", out)
        # Without the kernel that computes a norm as one in float, the types alone decide.
        for options, verdict in (["--keep-fp32", NORMS], "pass"), ([], "fail"):
            engine = self.folder / "parts.engine"
            self.audit("--cpu", "--disable-pass", "recognise-rms-norm", "--no-verify", *options, engine=engine)
            _, tensors, out = self.run_models(self.model_path, "--reference=ideal", "--engine", engine, *tolerance)
            self.assertEqual(tensors["logits"]["verdict"], verdict, out)

    def test_command_lines_of_other_tools(self):
        self.case(self.name)
        for words in (
            ["trtexec", f"--onnx={self.model_path}", f"--layerPrecisions={NORMS}:fp32", "--precisionConstraints=obey", "--skipInference"],
            ["polygraphy", "convert", self.model_path, "--precision-constraints", "obey", "--layer-precisions", f"{NORMS}:float32"],
        ):
            engine = self.folder / "foreign.engine"
            target = f"--saveEngine={engine}" if words[0] == "trtexec" else "-o"
            code, out, err = vernier(*words, target, *([] if words[0] == "trtexec" else [engine]))
            self.assertEqual(code, 0, out + err)
            code, shown, err = vernier("inspect", engine, "--show", "layers")
            self.assertEqual(code, 0, err)
            self.assertTrue(any("norm" in line and "f32" in line for line in shown.splitlines()), shown)

    def test_what_bf16_cannot_lower_is_said(self):
        _, out = self.export("--bf16")
        self.assertIn("declared narrower than f32", out)

    def test_diagnose_says_that_the_model_overflows(self):
        self.case(self.name)
        report = self.folder / "diagnosis.json"
        for runner in ("--cpu", "--onnxruntime"):
            code, out, err = vernier("diagnose", self.model_path, runner, "--data", self.inputs, "--json", report)
            self.assertEqual(code, 1, out + err)
            first = json.loads(report.read_text())["culprits"][0]
            self.assertEqual(first["class"], "B1", out)
            self.assertIn(first["nodes"][0], ("layers.0/norm/Pow", "layers.1/norm/Pow"))
            self.assertRegex(first["sentence"], r"reaches 3\.7\d*e\+05, and float16 ends at 65504")
            self.assertIn("--keep-fp32", first["repair"]["sentence"])
            self.assertNotRegex(out, r"\b(inf|nan)\b")
            # The cure that it names is one.
            nodes = re.search(r"--keep-fp32 '([^']*)'", first["repair"]["sentence"])[1]
            path, _ = self.export("--keep-fp32", nodes)
            self.assertLess(relative(self.outputs(path)["logits"], self.expected["logits"]), 2e-3)
            code, out, err = vernier("diagnose", path, runner, "--data", self.inputs)
            self.assertEqual(code, 0, out + err)
        code, out, err = vernier("diagnose", self.model_path, "--cpu", "--keep-fp32", NORMS, "--data", self.inputs)
        self.assertNotIn("overflow", out)


class DeclaredCell(Narrow):
    """A recurrent cell in a Loop whose product is bfloat16."""

    name = "bf16_slstm"

    def test_a_node_in_a_loop_is_widened(self):
        layers = self.plan("--keep-fp32", "recurrent")
        self.assertEqual((layers["recurrent"]["compute"], layers["recurrent"]["by"]), ("f32", "user"))
        path, _ = self.export("--keep-fp32", "recurrent")
        types, nodes = typed(path)
        self.assertNotIn(BFLOAT, [types.get(name) for name in nodes["recurrent"].output])
        for name, right in self.expected.items():
            self.assertLess(relative(self.outputs(path)[name], right), 1e-2, name)

    def test_an_engine_computes_it_so(self):
        found, out = self.audit("--cpu", "--keep-fp32", "recurrent")
        self.assertEqual(found["accuracy"]["verdict"], "pass", out)

    def test_what_control_flow_carries_cannot_be_asked_for(self):
        _, out = self.export("--keep-fp32", "slstm", status=1)
        self.assertIn("'slstm'", out)
        self.assertIn("control flow", out)


class Indices(Narrow):
    """A head that computes indices beside its floats."""

    name = "yolo10_head_fp16"

    def test_a_pattern_leaves_out_integers_and_says_how_many(self):
        found, out = self.audit("--cpu", "--layer-precisions", "*:fp16", "--no-verify")
        [note] = [each for each in found["notes"] if "leaves out" in each]
        self.assertRegex(note, r"leaves out 3 of the 14 nodes")
        self.assertIn("leaves out", self.export("--layer-precisions", "*:fp16")[1])

    def test_an_exact_name_is_refused_by_name(self):
        self.case(self.name)
        for verb in (["export", "-o"], ["build", "--cpu", "-o"]):
            code, out, err = vernier(verb[0], self.model_path, *verb[1:], self.folder / "made", "--layer-precisions", "to_int:fp16")
            self.assertEqual(code, 1, out + err)
            self.assertIn("'to_int'", err)
            self.assertIn("stored i64, not f16", err)


if __name__ == "__main__":
    judging.main()
