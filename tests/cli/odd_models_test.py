"""Models that break the rules of ONNX and that ONNX Runtime runs: they run here, with equal results and a note. odd_models_test.py VERNIER

Every case is a model with one oddity, and data. The reference, the CPU engine and ONNX Runtime must agree on all values; where
the case names a rule, `vernier check` must find it, and where it names words, the report must hold them as a note.
"""
import dataclasses
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

VERNIER = ""
GENERATOR = np.random.default_rng(0)
node = helper.make_node


def info(name, shape=(2,), element=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, element, shape)


def constant(name, value, element=np.float32):
    return numpy_helper.from_array(np.array(value, element), name)


def positive(*shape):
    """All outputs differ from zero, so that agreement means something."""
    return GENERATOR.uniform(0.5, 2, shape).astype(np.float32)


@dataclasses.dataclass
class Case:
    model: onnx.ModelProto
    data: dict
    rule: str = ""  # of `vernier check`
    note: str = ""  # of the report of `vernier run`


CASES = {}


def case(name, nodes, inputs, outputs, data, weights=(), opsets=(("", 17),), functions=(), rule="", note=""):
    graph = helper.make_graph(nodes, "g", inputs, outputs, list(weights))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid(*opset) for opset in opsets], functions=list(functions))
    model.ir_version = 8
    CASES[name] = Case(model, data, rule, note)


def dimensions():
    for name, text, rule, note in (("question_mark", "?", "S5-dimension-names", "named `?`"), ("star", "*", "S5-dimension-names", "named `*`"), ("none", "None", "S5-dimension-names", "named None"),
                                   ("minus_one", "-1", "S5-dimension-names", "named `-1`"), ("empty", "", "", ""), ("same", "N", "", "dimension N is 2 at axis 0 of input 'x', but 3 at axis 0 of input 'y'")):
        case(f"dimension_{name}", [node("Concat", ["x", "y"], ["z"], axis=0, name="c")], [info("x", (text, 4)), info("y", (text, 4))], [info("z", (text, 4))], {"x": positive(2, 4), "y": positive(3, 4)}, rule=rule, note=note)
    case("dimension_twice_in_one_input", [node("Transpose", ["x"], ["z"], name="t")], [info("x", ("N", "N"))], [info("z", ("N", "N"))], {"x": positive(2, 3)}, note="dimension N")
    case("dimension_broadcasts", [node("Add", ["x", "y"], ["z"], name="a")], [info("x", ("N", 4)), info("y", ("N", 4))], [info("z", ("N", 4))], {"x": positive(2, 4), "y": positive(1, 4)}, note="dimension N")
    # The engine knows by name that the sizes of x are those of y, and may not rely on it: Expand does nothing only if they are.
    case("dimension_expands", [node("Shape", ["x"], ["s"], name="s"), node("Expand", ["y", "s"], ["z"], name="e")], [info("x", ("N", 4)), info("y", ("N", 4))], [info("z", ("N", 4))], {"x": positive(3, 4), "y": positive(1, 4)}, note="dimension N")
    case("dimension_reshapes", [node("Shape", ["x"], ["s"], name="s"), node("Reshape", ["y", "s"], ["r"], name="r"), node("Exp", ["r"], ["z"], name="e")], [info("x", ("M", "N")), info("y", ("M", "N"))], [info("z", None)], {"x": positive(2, 6), "y": positive(3, 4)}, note="dimension")
    joined = [node("Concat", ["x", "w"], ["c"], axis=0, name="c"), node("Shape", ["c"], ["s"], name="s"), node("Expand", ["y", "s"], ["e"], name="e"), node("Exp", ["e"], ["z"], name="z")]
    for rows, name, note in ((5, "dimension_expression", ""), (1, "dimension_expression_that_data_contradict", "dimension M + N is 1 at axis 0 of input 'y', where the others make 5")):
        case(name, joined, [info("x", ("M", 4)), info("w", ("N", 4)), info("y", ("M + N", 4))], [info("z", ("M + N", 4))], {"x": positive(2, 4), "w": positive(3, 4), "y": positive(rows, 4)}, note=note)
    case("dimension_expression_of_other_names", [node("Exp", ["x"], ["z"], name="z")], [info("x", ("M + N", "N + 1"))], [info("z", None)], {"x": positive(2, 4)})
    case("dimension_that_the_graph_contradicts", [node("MatMul", ["x", "w"], ["z"], name="m")], [info("x", (1, "D"))], [info("z", (1, "D"))], {"x": positive(1, 4)}, [constant("w", positive(4, 3))])


def loop_body(state="s_in", made="next_in"):
    return helper.make_graph([node("Identity", ["c_in"], ["c_out"], name="b_id"), node("Add", [state, "one"], [made], name="b_add")], "body", [info("i", (), TensorProto.INT64), info("c_in", (), TensorProto.BOOL), info(state)],
                             [info("c_out", (), TensorProto.BOOL), info(made)])


def names():
    numbers = [constant("trip", 3, np.int64), constant("cond", True, bool), constant("one", [1])]
    loop = lambda source, target, name="l", **names: node("Loop", ["trip", "cond", source], [target], body=loop_body(**names), name=name)
    data = {"x": positive(2)}
    case("loop_name_outside_later", [loop("x", "y"), node("Sqrt", ["y"], ["next_in"], name="o"), node("Add", ["next_in", "one"], ["z"], name="p")], [info("x")], [info("z")], data, numbers)
    case("two_loops_of_one_body", [loop("x", "y"), loop("y", "z", "l2")], [info("x")], [info("z")], data, numbers)
    case("loop_input_named_as_outside", [loop("x", "z", state="x")], [info("x")], [info("z")], data, numbers)
    case("loop_input_named_as_its_output", [loop("x", "y", state="y"), node("Sqrt", ["y"], ["z"], name="o")], [info("x")], [info("z")], data, numbers)
    case("loop_value_named_as_its_output", [loop("x", "z", made="z")], [info("x")], [info("z")], data, numbers)
    weighted = lambda value: helper.make_graph([node("Add", ["x", "k"], ["b"], name=f"a{value}")], f"g{value}", [], [info("b")], [constant("k", [value])])
    case("weights_of_two_branches", [node("If", ["cond"], ["y"], then_branch=weighted(1), else_branch=weighted(2), name="if"), node("Mul", ["y", "k"], ["z"], name="m")], [info("x")], [info("z")], data, [numbers[1], constant("k", [5])])
    scan = helper.make_graph([node("Add", ["s", "e"], ["next_in"], name="sa"), node("Identity", ["next_in"], ["o"], name="si")], "scan", [info("s"), info("e")], [info("next_in"), info("o")])
    case("scan_name_outside_later", [node("Scan", ["x", "xs"], ["y", "ys"], body=scan, num_scan_inputs=1, name="sc"), node("Sqrt", ["y"], ["next_in"], name="r"), node("Add", ["next_in", "ys"], ["z"], name="a")], [info("x"), info("xs", (3, 2))], [info("z", (3, 2))], {"x": positive(2), "xs": positive(3, 2)})
    function = helper.make_function("local", "F", ["a"], ["b"], [node("Exp", ["a"], ["t"], name="n"), node("Neg", ["t"], ["b"], name="m")], [helper.make_opsetid("", 17)])
    case("function_names_outside", [node("F", ["x"], ["t"], domain="local"), node("F", ["t"], ["n"], domain="local"), node("Abs", ["n"], ["z"], name="F")], [info("x")], [info("z")], data, (), (("", 17), ("local", 1)), [function])
    case("output_listed_twice", [node("Exp", ["x"], ["z"], name="r")], [info("x")], [info("z"), info("z")], data)


def names_of_passes():
    """Names that bodies and the graph around them share, where passes fuse, move and copy what bears them."""
    numbers = [constant("trip", 3, np.int64), constant("half", [0.5]), constant("k", positive(2, 2, 3, 3))]
    image = (1, 2, 5, 5)
    flag, data = info("cond", (), TensorProto.BOOL), {"x": positive(*image), "cond": np.array(True)}

    def chain(source, name, target, label):
        return [node("Mul", [source, "half"], [name], name=f"{label}_m"), node("Abs", [name], [f"{label}_value"], name=f"{label}_s"),
                node("Add", [f"{label}_value", source], [target], name=f"{label}_a")]

    def branch(operator, name, label):
        return helper.make_graph([node(operator, ["x"], ["e"], name=label), *chain("e", name, "b", label)], label, [], [info("b", image)])

    def either(name, target):
        return node("If", ["cond"], [target], then_branch=branch("Exp", name, "then"), else_branch=branch("Neg", name, "else"), name="if")

    def repeated(nodes, source, target):
        body = helper.make_graph([node("Identity", ["c_in"], ["c_out"], name="b_id"), *nodes], "body",
                                 [info("i", (), TensorProto.INT64), info("c_in", (), TensorProto.BOOL), info("s_in", image)],
                                 [info("c_out", (), TensorProto.BOOL), info("next_in", image)])
        return node("Loop", ["trip", "cond", source], [target], body=body, name="l")

    def convolution(source, target, label):
        return node("FusedConv", [source, "k", "", "x"], [target], domain="com.microsoft", activation="Relu", pads=[1] * 4, name=label)

    def outside(name, nodes):
        case(name, nodes, [info("x", image), flag], [info("z", image)], data, numbers, (("", 17), ("com.microsoft", 1)))

    outside("branch_name_outside_later", [either("t", "y"), node("Exp", ["y"], ["t"], name="r"), node("Sub", ["t", "y"], ["z"], name="s")])
    for name in ("fused_result", "y/copy", "z#1"):
        both = [either(name, "w"), repeated(chain("s_in", name, "next_in", "body"), "w", "y"), *chain("y", name, "z", "after")]
        outside(f"{name.replace('/', '_')}_in_bodies_and_outside", both)
    constant_in_body = [*chain("x", "fused_result", "v", "body"), node("Mul", ["s_in", "v"], ["next_in"], name="b_mul")]
    outside("fused_result_that_a_loop_does_not_change", [repeated(constant_in_body, "x", "y"), *chain("y", "fused_result", "z", "after")])
    for name in ("fused_result", "z/convolved", "next_in/summed"):
        convolved = [convolution("s_in", name, "b_conv"), node("Sigmoid", [name], ["next_in"], name="b_s")]
        both = [repeated(convolved, "x", "y"), convolution("y", name, "p"), convolution(name, "z", "q")]
        outside(f"{name.replace('/', '_')}_of_fused_convolutions", both)


def names_that_passes_make():
    """Values of the model whose names are those that passes would give to what they make."""
    image, numbers = (1, 2, 5, 5), [constant("half", [0.5]), constant("two", 2), constant("k", positive(2, 2, 3, 3)), constant("b", positive(2))]

    def made(name, nodes, label):
        before = node("Sigmoid", ["x"], [name], name="first")
        case(f"{label}_is_taken", [before, *nodes], [info("x", image)], [info("z", None)], {"x": positive(*image)}, numbers)

    folded = node("Add", ["half", "half"], ["t"], name="f")
    made("t/constant", [folded, node("Mul", ["t/constant", "t"], ["z"], name="m")], "name_of_a_folded_constant")
    for part in ("weights", "bias"):
        normed = [node("Conv", [f"n/{part}", "k"], ["c"], name="c"), node("BatchNormalization", ["c", "b", "b", "b", "b"], ["n"], name="n")]
        made(f"n/{part}", [*normed, node("Exp", ["n"], ["z"], name="e")], f"name_of_folded_{part}")
    squares = [node("Pow", ["n/scale", "two"], ["d"], name="d"), node("ReduceMean", ["d"], ["m"], name="m", axes=[-1]), node("Add", ["m", "half"], ["e"], name="e"),
               node("Sqrt", ["e"], ["q"], name="q"), node("Div", ["n/scale", "q"], ["n"], name="n"), node("Exp", ["n"], ["z"], name="z")]
    made("n/scale", squares, "name_of_a_scale")
    for k in range(1, 5):
        one = f"o/attention_{k}"
        scores = [node("Transpose", [one], ["t"], name="t", perm=[0, 1, 3, 2]), node("MatMul", [one, "t"], ["s"], name="s"), node("Mul", ["s", "half"], ["s1"], name="h"),
                  node("Softmax", ["s1"], ["p"], name="p", axis=-1), node("MatMul", ["p", one], ["o"], name="o"), node("Exp", ["o"], ["z"], name="z")]
        made(one, scores, f"name_of_attention_{k}")


def rules():
    image = positive(2, 4)
    case("microsoft_not_imported", [node("Gelu", ["x"], ["z"], domain="com.microsoft", name="g")], [info("x", (2, 4))], [info("z", (2, 4))], {"x": image}, rule="S6-domain-not-imported", note="com.microsoft")
    case("ml_not_imported", [node("Scaler", ["x"], ["z"], domain="ai.onnx.ml", name="g", offset=[1.5], scale=[2.0])], [info("x", (2, 4))], [info("z", (2, 4))], {"x": image}, rule="S6-domain-not-imported", note="ai.onnx.ml")
    case("onnx_not_imported", [node("Exp", ["x"], ["z"], name="g")], [info("x", (2, 4))], [info("z", (2, 4))], {"x": image}, opsets=(("com.microsoft", 1),), rule="S6-domain-not-imported", note="ai.onnx")
    case("attribute_of_a_tool", [node("Exp", ["x"], ["z"], name="g", __wobble=3)], [info("x", (2, 4))], [info("z", (2, 4))], {"x": image}, rule="S7-internal-attribute", note="__wobble")
    case("initializer_twice", [node("Add", ["x", "w"], ["z"], name="a")], [info("x")], [info("z")], {"x": positive(2)}, [constant("w", [1, 2]), constant("w", [3, 4])], rule="S4-initializer-twice", note="'w' is there twice")
    window = [constant("step", 16, np.int64), constant("window", np.hanning(32))]
    for name, shape, said in (("declared", ("b", "l"), {"rule": "S9-signal-rank", "note": "has 2 axes"}), ("undeclared", None, {})):
        case(f"stft_of_rank_2_{name}", [node("STFT", ["x", "step", "window"], ["z"], name="s")], [info("x", shape)], [info("z", None)], {"x": positive(2, 64)}, window, **said)
    constants = [node("Constant", [], ["w"], name="first", value=constant("w", [1, 2])), node("Constant", [], ["w"], name="last", value=constant("w", [3, 4]))]
    sums = [node("Add", ["x", "w"], ["z"], name="a")]
    case("constant_twice", [constants[0], *sums, constants[1]], [info("x")], [info("z")], {"x": positive(2)}, rule="S4-initializer-twice", note="the last one counts")
    case("constant_and_initializer", [constants[0], *sums], [info("x")], [info("z")], {"x": positive(2)}, [constant("w", [3, 4])], rule="S4-initializer-twice", note="the node counts")
    case("constant_and_input", [constants[0], *sums], [info("x"), info("w")], [info("z")], {"x": positive(2), "w": positive(2)}, rule="S4-initializer-twice", note="the input of that name counts")
    case("scalar_given_as_vector", [node("Add", ["x", "k"], ["z"], name="s")], [info("x"), info("k", ())], [info("z")], {"x": positive(2), "k": positive(1)}, note="input 'k' is declared f32[] and given as [1]")
    case("vector_given_as_scalar", [node("Add", ["x", "k"], ["z"], name="s")], [info("x"), info("k", (1,))], [info("z")], {"x": positive(2), "k": np.array(3, np.float32)}, note="input 'k' is declared f32[1] and given as []")


def functions():
    local = (("", 17), ("local", 1))
    clip = helper.make_function("local", "F", ["a", "k"], ["b"], [node("Clip", ["a", "k"], ["b"], name="n")], [helper.make_opsetid("", 17)])
    nested = helper.make_function("local", "H", ["a", "k"], ["b"], [node("F", ["a", "k"], ["b"], domain="local", name="n")], [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)])
    for name, call, inputs, own in (("without_input", "F", ["x"], [clip]), ("with_empty_input", "F", ["x", ""], [clip]), ("with_input", "F", ["x", "one"], [clip]), ("nested_without_input", "H", ["x"], [clip, nested])):
        case(f"function_{name}", [node(call, inputs, ["z"], domain="local", name="c")], [info("x")], [info("z")], {"x": positive(2)}, [constant("one", 1)], local, own)
    older = helper.make_function("local", "F", ["a"], ["b"], [node("Exp", ["a"], ["b"], name="n")], [helper.make_opsetid("", 12)])
    case("function_of_another_opset", [node("F", ["x"], ["t"], domain="local", name="c"), node("Exp", ["t"], ["z"], name="e")], [info("x")], [info("z")], {"x": positive(2)}, (), local, [older])


def removed_operators():
    """Experimental operators that ONNX removed; ONNX Runtime runs them up to opset 9, MeanVarianceNormalization of opset 1 up to 8."""
    image = GENERATOR.standard_normal((2, 3, 5, 4)).astype(np.float32)
    limits = [constant("a", [0, 1], np.int64), constant("b", [2, -1], np.int64), constant("c", [1, 2], np.int64)]
    for name, one, weights in (("image_scaler", node("ImageScaler", ["x"], ["z"], name="n", scale=0.5, bias=[1.0, 2.0, 3.0]), ()),
                               ("affine", node("Affine", ["x"], ["z"], name="n", alpha=2.0, beta=3.0), ()),
                               ("affine_of_defaults", node("Affine", ["x"], ["z"], name="n"), ()),
                               ("crop", node("Crop", ["x"], ["z"], name="n", border=[1, 1, 0, 2]), ()),
                               ("crop_to_scale", node("Crop", ["x"], ["z"], name="n", border=[1, 2, 0, 0], scale=[2, 3]), ()),
                               ("parametric_softplus", node("ParametricSoftplus", ["x"], ["z"], name="n", alpha=2.0, beta=3.0), ()),
                               ("scaled_tanh", node("ScaledTanh", ["x"], ["z"], name="n", alpha=2.0, beta=3.0), ()),
                               ("thresholded_relu", node("ThresholdedRelu", ["x"], ["z"], name="n", alpha=0.5), ()),
                               ("dynamic_slice", node("DynamicSlice", ["x", "a", "b", "c"], ["z"], name="n"), limits),
                               ("dynamic_slice_of_first_axes", node("DynamicSlice", ["x", "a", "b"], ["z"], name="n"), limits[:2]),
                               ("scale", node("Scale", ["x"], ["z"], name="n", scale=2.0), ()),
                               ("normalization", node("MeanVarianceNormalization", ["x"], ["z"], name="n"), ()),
                               ("normalization_across", node("MeanVarianceNormalization", ["x"], ["z"], name="n", across_channels=1, normalize_variance=0), ())):
        case(f"removed_{name}", [one], [info("x", image.shape)], [info("z", None)], {"x": image}, weights, (("", 7),), rule="S8-removed-operator", note="ONNX has removed it")


def vernier(*arguments):
    done = subprocess.run([VERNIER, *map(os.fsencode, map(str, arguments))], capture_output=True)
    return done.returncode, (done.stdout + done.stderr).decode(errors="replace")


class OddModels(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def test_they_run_as_in_onnx_runtime(self):
        for name, each in CASES.items():
            with self.subTest(name):
                path, data, report = (self.folder / f"{name}{ending}" for ending in (".onnx", ".npz", ".json"))
                path.write_bytes(each.model.SerializeToString())
                np.savez(data, **each.data)
                status, text = vernier("run", path, "--reference", "--onnxruntime", "--cpu", "--layers", "--data", data, "--json", report)
                self.assertEqual(status, 0, text)
                self.assertNotRegex(text, "shows '.*' twice")
                found = json.loads(report.read_text())
                self.assertEqual([comparison["verdict"] for comparison in found["comparisons"]], ["pass", "pass"])
                self.assertTrue(any(each.note in note for note in found["notes"]) if each.note else found["notes"] == [], found["notes"])
                self.assertIn(each.note, text)
                _, text = vernier("check", path)
                self.assertIn(each.rule, text)

    def hub(self):
        """The layout of a model hub's cache: names are links to blobs."""
        blobs, snapshot = self.folder / "blobs", self.folder / "snapshots" / "1f2e"
        blobs.mkdir(), snapshot.mkdir(parents=True)
        weight = constant("w", positive(2))
        (blobs / "aa").write_bytes(weight.raw_data)
        weight.ClearField("raw_data")
        weight.data_location = TensorProto.EXTERNAL
        weight.external_data.add(key="location", value="model.onnx_data")
        graph = helper.make_graph([node("Add", ["x", "w"], ["z"], name="a")], "g", [info("x")], [info("z")], [weight])
        (blobs / "bb").write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString())
        (snapshot / "model.onnx").symlink_to("../../blobs/bb")
        (snapshot / "model.onnx_data").symlink_to("../../blobs/aa")
        return snapshot

    def test_links_of_a_hub_are_followed(self):
        status, text = vernier("run", self.hub() / "model.onnx", "--reference", "--onnxruntime", "--cpu", "--shapes", "x:2")
        self.assertIn(status, (0, 1), text)  # 1: random data alone prove nothing
        self.assertIn("verdict: pass", text)

    def test_links_elsewhere_are_refused(self):
        snapshot = self.hub()
        (self.folder / "secret").write_bytes(bytes(8))
        data = snapshot / "model.onnx_data"
        for target in ("../../secret", "../../blobs/../secret", str(self.folder / "secret"), "/etc/passwd"):
            with self.subTest(target):
                data.unlink()
                data.symlink_to(target)
                status, text = vernier("run", snapshot / "model.onnx", "--reference")
                self.assertEqual(status, 3, text)
                self.assertIn("leads out of the folder", text)

    def test_a_model_that_is_no_link_has_one_folder(self):
        snapshot = self.hub()
        content = (snapshot / "model.onnx").read_bytes()
        (snapshot / "model.onnx").unlink()
        (snapshot / "model.onnx").write_bytes(content)
        status, text = vernier("run", snapshot / "model.onnx", "--reference")
        self.assertEqual(status, 3, text)
        self.assertIn("leads out of the folder", text)

    def test_locations_out_of_a_linked_folder_are_refused(self):
        for location, words in (("../blobs/aa", "leads out"), ("../../blobs/aa", "leads out"), (str(self.folder / "blobs" / "aa"), "absolute")):
            with self.subTest(location), tempfile.TemporaryDirectory() as folder:
                self.folder = pathlib.Path(folder)
                snapshot = self.hub()
                blob = self.folder / "blobs" / "bb"
                model = onnx.load(blob, load_external_data=False)
                model.graph.initializer[0].external_data[0].value = location
                blob.write_bytes(model.SerializeToString())
                status, text = vernier("run", snapshot / "model.onnx", "--reference")
                self.assertEqual(status, 3, text)
                self.assertIn(words, text)


class OddPaths(unittest.TestCase):
    """Paths are bytes and may be as long as file systems allow; reports stay UTF-8."""

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        graph = helper.make_graph([node("Exp", ["x"], ["z"], name="a")], "g", [info("x")], [info("z")])
        self.content = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()

    def test_paths_need_not_be_utf8(self):
        for name in (b"m\xff\xe9.onnx", b"d\xff/m.onnx"):
            path = pathlib.Path(os.fsdecode(os.path.join(os.fsencode(self.folder), name)))
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(self.content)
            report, engine = path.parent / "report.json", path.parent / "engine"
            for arguments in (["inspect", path], ["check", path], ["run", path, "--reference", "--cpu", "--data", self.data()], ["build", path, "-o", engine, "--timing-cache", path.parent / "timings"],
                              ["inspect", engine], ["run", path, "--reference", "--engine", engine, "--data", self.data()], ["bench", path, "--runs", "1", "--duration", "0", "--warmup", "0"], ["export", path, "-o", path.parent / "again.onnx"]):
                with self.subTest(f"{name} {arguments[0]}"):
                    report.unlink(missing_ok=True)
                    status, text = vernier(*arguments, "--json", report)
                    self.assertEqual(status, 0, text)
                    if report.exists():
                        json.loads(report.read_bytes().decode())
            with self.subTest(f"{name} onnxruntime"):
                status, text = vernier("run", path, "--reference", "--onnxruntime")
                self.assertEqual(status, 3, text)
                self.assertIn("not UTF-8", text)

    def data(self):
        np.savez(self.folder / "data.npz", x=positive(2))
        return self.folder / "data.npz"

    def test_names_of_files_may_be_as_long_as_any(self):
        (self.folder / "m.onnx").write_bytes(self.content)
        report = self.folder / ("r" * 250 + ".json")
        status, text = vernier("run", self.folder / "m.onnx", "--reference", "--cpu", "--data", self.data(), "--json", report)
        self.assertEqual(status, 0, text)
        json.loads(report.read_text())

    def test_names_of_dimensions_are_exported_word_for_word(self):
        dims = ["M", "N", "M + N", "a b", "N + 1"]
        graph = helper.make_graph([node("Exp", ["x"], ["z"], name="a")], "g", [info("x", dims)], [info("z", dims)])
        path, again = self.folder / "m.onnx", self.folder / "again.onnx"
        path.write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString())
        status, text = vernier("export", path, "-o", again)
        self.assertEqual(status, 0, text)
        for value in [*onnx.load(again).graph.input, *onnx.load(again).graph.output]:
            self.assertEqual([dim.dim_param for dim in value.type.tensor_type.shape.dim], dims)

    def test_sizes_that_others_make_are_drawn_so(self):
        graph = helper.make_graph([node("Concat", ["x", "w"], ["c"], axis=0, name="c"), node("Add", ["c", "y"], ["z"], name="a")], "g",
                                  [info("x", ("M", 4)), info("w", ("N", 4)), info("y", ("M + N", 4))], [info("z", ("M + N", 4))])
        path = self.folder / "m.onnx"
        path.write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString())
        status, text = vernier("run", path, "--reference", "--onnxruntime", "--cpu")
        self.assertEqual(status, 0, text)
        self.assertNotIn("size not taken", text)

    def test_names_of_values_may_be_of_any_length(self):
        name = "v/" * 2049
        graph = helper.make_graph([node("Exp", ["i" * 249], ["v" * 249], name="a"), node("Exp", ["v" * 249], [name], name="b")], "g", [info("i" * 249)], [info("v" * 249), info(name)])
        path, data, saved = self.folder / "m.onnx", self.folder / "d.npz", self.folder / "saved.safetensors"
        path.write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString())
        np.savez(data, **{"i" * 249: positive(2)})
        status, text = vernier("run", path, "--reference", "--onnxruntime", "--save-run", saved, "--cpu", "--layers", "--data", data)
        self.assertEqual(status, 0, text)
        status, text = vernier("run", path, "--reference", "--load-run", saved, "--data", data)
        self.assertEqual(status, 0, text)


for make in (dimensions, names, names_of_passes, names_that_passes_make, rules, functions, removed_operators):
    make()

if __name__ == "__main__":
    VERNIER = sys.argv.pop(1)
    unittest.main()
