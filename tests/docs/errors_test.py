"""docs/errors.md is what the program says of itself, and whatever it names can be met: errors_test.py VERNIER SOURCE_DIR

A code is met where a test names what it expects; the codes that no other test names are met here.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

VERNIER, ROOT = "", pathlib.Path()
FINDING = re.compile(r'"((?:B|S|E|TRT|ORT)\d+-[a-z0-9-]+)"')
GROUPS = re.compile(r'rules\.push_back\(\s*\{\s*"[^"]*"')  # names of rules, which report findings under names of their own
FLOAT, HALF, BOOL, INT64 = TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BOOL, TensorProto.INT64

# Makes of the outputs whatever the file `fault` says, and answers to taps.
ENGINE = """
import sys
sys.path.insert(0, {runners!r})
import numpy as np
from protocol import serve

class Odd:
    def hello(self):
        return {{"engine": "odd", "version": "1", "capabilities": ["taps"]}}
    def load(self, model, options, threads):
        return {{}}
    def run(self, inputs, taps):
        x = inputs["x"]
        pooled, y = x[..., ::2], np.maximum(x[..., ::2], 0)
        {fault}
        made = {{"y": y.astype(np.float32), "pooled": pooled.astype(np.float32)}}
        return {{name: value for name, value in made.items() if name == "y" or name in taps}}, [], 0.0

serve(Odd())
"""


def unlisted(reported, listed):
    """The codes that sources report and the program does not list, and the other way round."""
    return sorted(set(reported) ^ set(listed))


def reported_codes(sources):
    return {code for text in sources for code in FINDING.findall(GROUPS.sub("", text))}


def save(path, nodes, inputs, outputs, weights=(), value_info=(), opset=21):
    """Inputs, outputs and declared values are (name, element type, dims)."""
    values = [[helper.make_tensor_value_info(*each) for each in side] for side in (inputs, outputs, value_info)]
    initializers = [numpy_helper.from_array(np.asarray(value), name) for name, value in weights]
    graph = helper.make_graph(nodes, "graph", values[0], values[1], initializers, value_info=values[2])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10), path)
    return path


def loop(path, state, trips, keep_on):
    """x is added to itself, in a type; trips and condition are constants, or none."""
    info = helper.make_tensor_value_info
    body = helper.make_graph(
        [helper.make_node("Add", ["carried", "carried"], ["more"], "twice"), helper.make_node("Identity", ["go"], ["again"], "again")] if keep_on is None else
        [helper.make_node("Add", ["carried", "carried"], ["more"], "twice"), helper.make_node("Constant", [], ["again"], "again", value=numpy_helper.from_array(np.array(True)))],
        "body", [info("trip", INT64, []), info("go", BOOL, []), info("carried", state, [2])], [info("again", BOOL, []), info("more", state, [2])])
    nodes = [helper.make_node("Loop", ["trips" if trips else "", "", "x"], ["y"], "loop", body=body)]
    return save(path, nodes, [("x", state, [2])], [("y", state, [2])], [("trips", np.int64(3))] if trips else [])


class Errors(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.program = json.loads(subprocess.run([VERNIER, "help", "--format", "json"], capture_output=True, text=True, check=True).stdout)
        cls.sources = [path.read_text() for path in (ROOT / "src/vernier").rglob("*.cpp") if path.name != "finding_codes.cpp"]
        cls.tests = [path.read_text() for kind in ("*_test.cpp", "*_test.py", "*.c", "*.toml", "run_*.py") for path in (ROOT / "tests").rglob(kind)]

    def rules(self, model, *words):
        report = self.folder / "check.json"
        report.unlink(missing_ok=True)
        done = subprocess.run([VERNIER, "check", model, *map(str, words), "--json", report, "--quiet"], capture_output=True, text=True, timeout=120)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return {finding["rule"] for finding in json.loads(report.read_text())["findings"]}

    def answer(self, *words):
        """The exit status, and the event of its error."""
        reads, writes = os.pipe()
        with os.fdopen(reads) as events:
            done = subprocess.run([VERNIER, *map(str, words), "--progress-fd", str(writes)], capture_output=True, pass_fds=[writes], timeout=120)
            os.close(writes)
            told = [event for event in map(json.loads, events) if event["event"] == "error"]
        return done.returncode, told[0]["code"] if told else ""

    def test_the_page_is_what_the_program_says(self):
        made = self.folder / "errors.md"
        subprocess.run([sys.executable, ROOT / "packaging/manual.py", VERNIER, "errors", made], check=True)
        self.assertEqual((ROOT / "docs/errors.md").read_text(), made.read_text(), "packaging/manual.py VERNIER errors docs/errors.md makes it again")

    def test_every_page_and_heading_exists(self):
        pages = {each["page"] for name in ("exit_statuses", "errors", "verdicts", "classes", "findings") for each in self.program[name]}
        for page in pages:
            file, _, heading = page.partition("#")
            headings = re.findall(r"^#+ (.*)$", (ROOT / file).read_text(), re.MULTILINE)
            anchors = [re.sub(r"[^\w -]", "", each).lower().replace(" ", "-") for each in headings]
            self.assertTrue(not heading or heading in anchors, page)

    def test_findings_are_those_that_sources_report(self):
        listed = [each["code"] for each in self.program["findings"]]
        self.assertEqual(len(listed), len(set(listed)))
        self.assertEqual(unlisted(reported_codes(self.sources), listed), [])
        explained = set(FINDING.findall('"' + re.sub(r"[,|` ]+", '" "', (ROOT / "docs/hazards.md").read_text()) + '"'))
        self.assertEqual(unlisted(explained, listed), [], "docs/hazards.md explains each")

    def test_a_code_that_is_not_listed_is_seen(self):
        source = 'findings.push_back({.rule = "B99-new",\nrules.push_back({"B98-group", "a title", run});'
        self.assertEqual(unlisted(reported_codes([source]), ["B97-gone"]), ["B97-gone", "B99-new"])

    def test_exit_statuses_and_their_errors_are_met(self):
        model = ROOT / "examples/digits/digits.onnx"
        broken = self.folder / "broken.onnx"
        broken.write_bytes(b"no model")
        unknown = save(self.folder / "unknown.onnx", [helper.make_node("Nosuch", ["x"], ["y"], "unknown")], [("x", FLOAT, [2])], [("y", FLOAT, [2])])
        met = {self.answer("run", model, "--reference", "--cpu"), self.answer("run", model, "--reference", "--cpu", "--inject-fault", "residual"),
               self.answer("run", model), self.answer("check", broken), self.answer("run", unknown, "--reference")}  # fmt: skip
        self.assertEqual(met, {(0, ""), (1, ""), (2, "usage"), (3, "bad_input"), (4, "unsupported")})
        named = {each["status"] for each in self.program["exit_statuses"]}
        self.assertEqual(named - {status for status, _ in met}, {5})  # a defect, which nobody knows how to meet

    def test_errors_classes_and_verdicts_are_named_by_tests(self):
        texts = "\n".join(self.tests)
        kinds = {each["code"]: rf"\b({each['python']}|VERNIER_ERROR_{each['code'].upper()}|k{each['code'].title().replace('_', '')})\b" for each in self.program["errors"]}
        kinds |= {each["name"]: rf"[\"']{each['name']}[\"']" for each in self.program["verdicts"]}
        kinds |= {each["code"]: rf"\b{each['code']}\b|FailureClass\({each['code'][1:]}\)" for each in self.program["classes"]}
        self.assertEqual([name for name, words in kinds.items() if not re.search(words, texts)], [])

    def test_every_finding_is_met(self):
        met = self.findings_of_models() | self.findings_of_engines()
        named = {code for text in self.tests if "def findings_of_models" not in text for code in re.findall(r"\b(?:B|S|E|TRT|ORT)\d+-[a-z0-9-]+", text)}
        self.assertEqual({each["code"] for each in self.program["findings"]} - met - named, set())

    def findings_of_models(self):
        path, x, y = self.folder / "model.onnx", ("x", FLOAT, [2]), ("y", FLOAT, [2])
        then = helper.make_graph([helper.make_node("Relu", ["x"], ["a"], "then")], "then", [], [helper.make_tensor_value_info("a", FLOAT, [2])])
        other = helper.make_graph([helper.make_node("Neg", ["x"], ["b"], "else")], "else", [], [helper.make_tensor_value_info("b", FLOAT, [2])])
        relu = helper.make_node("Relu", ["x"], ["y"], "relu")
        expected = {
            "B18-narrow-feedback": self.rules(loop(path, HALF, trips=True, keep_on=True)),
            "B41-endless-loop": self.rules(loop(path, FLOAT, trips=False, keep_on=True)),
            "B41-constant-branch": self.rules(save(path, [helper.make_node("If", ["c"], ["y"], "if", then_branch=then, else_branch=other)], [x], [y], [("c", np.array(True))])),
            "B32-clip-rank": self.rules(save(path, [helper.make_node("Clip", ["x", "low"], ["y"], "clip")], [x], [y], [("low", np.zeros(1, np.float32))])),
            "B48-random": self.rules(save(path, [helper.make_node("RandomNormalLike", ["x"], ["y"], "noise")], [x], [y])),
            "S1-declared-type": self.rules(save(path, [relu, helper.make_node("Neg", ["y"], ["z"], "neg")], [x], [("z", FLOAT, [2])], value_info=[("y", FLOAT, [3])])),
            "S2-unused-input": self.rules(save(path, [relu], [x, ("unused", FLOAT, [2])], [y])),
            "ORT2-not-loaded": self.rules(save(path, [helper.make_node("Relu", ["x"], ["y"], "relu"), helper.make_node("Neg", ["x"], ["n"], "relu")], [x], [y, ("n", FLOAT, [3])]), "--for", "onnxruntime"),
        }
        for code, found in expected.items():
            self.assertIn(code, found)
        self.assertEqual(self.rules(save(path, [relu], [x], [y])), set())
        return set(expected)

    def findings_of_engines(self):
        path = save(self.folder / "pool.onnx", [helper.make_node("MaxPool", ["x"], ["pooled"], "pool", kernel_shape=[2], strides=[2]), helper.make_node("Relu", ["pooled"], ["y"], "relu")],
                    [("x", FLOAT, [1, 1, 8])], [("y", FLOAT, [1, 1, 4])])  # fmt: skip
        faults = {"B31-range": "y = y - 1", "B33-range": "pooled = pooled + 100", "B44-not-repeatable": "y = y + np.random.default_rng().random()"}
        for code, fault in faults.items():
            script = self.folder / "engine.py"
            script.write_text(ENGINE.format(runners=str(ROOT / "python/vernier_runners"), fault=fault))
            self.assertIn(code, self.rules(path, "--runner", f"odd={sys.executable} {script}"))
        return set(faults)


if __name__ == "__main__":
    ROOT, VERNIER = pathlib.Path(sys.argv.pop()).resolve(), str(pathlib.Path(sys.argv.pop()).resolve())
    unittest.main(verbosity=2)
