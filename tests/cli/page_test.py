"""Tests what --html, --node-data and --trace write: page_test.py VERNIER SOURCE_DIR"""
import base64
import gzip
import hashlib
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper

VERNIER, ROOT = "", pathlib.Path()
HOSTILE = "</script><script>alert(1)</script>"


def vernier(*arguments):
    done = subprocess.run([VERNIER, *map(str, arguments)], capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


def payload_of(page):
    [packed] = re.findall(r'<script type="application/gzip;base64" id="payload">([A-Za-z0-9+/=]+)</script>', page)
    return json.loads(gzip.decompress(base64.b64decode(packed, validate=True)))


class Page(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.model = ROOT / "examples/digits/digits.onnx"
        self.data = self.folder / "some.npz"
        np.savez(self.data, image=np.load(ROOT / "examples/digits/held_out.npz")["image"][:2])

    def written(self, verb, *arguments, status=0):
        """The payload of the page, whose report is what --json says."""
        html, report = self.folder / f"{verb}.html", self.folder / f"{verb}.json"
        got, out, err = vernier(verb, *arguments, "--html", html, "--json", report)
        if got == 4 and "takes Node.js to build" in err and shutil.which("npm") is None:
            self.skipTest("this build has no page")
        self.assertEqual(got, status, out + err)
        page = html.read_text()
        self.assertLessEqual(html.stat().st_size, 5_000_000)
        payload = payload_of(page)
        self.assertEqual(payload["report"], json.loads(report.read_text()))
        self.assertTrue(payload["command"].startswith(f"vernier {verb} "), payload["command"])
        self.assertIn("--html", payload["command"])
        self.assertGreater(len(payload["sentence"]), 20)
        return payload, page

    def test_run_shows_the_network_that_was_run(self):
        payload, page = self.written("run", self.model, "--reference", "--cpu", "--layers", "--data", self.data)
        self.assertEqual(payload["verdict"], "pass")
        self.assertEqual(payload["sentence"], "cpu and reference agree.")
        graph, model = payload["graph"], onnx.load(self.model)
        self.assertEqual({node["name"] for node in graph["nodes"]}, {node.name for node in model.graph.node})
        self.assertEqual(graph["outputs"], [value.name for value in model.graph.output])
        [conv] = [node for node in graph["nodes"] if node["name"] == "stem_conv"]
        self.assertEqual(conv["precision"]["compute"], "f32")
        self.assertIn("stem_conv", sum((step["nodes"] for step in graph["steps"]), []))
        self.assertIn(["image", "f32[N, 1, 8, 8]"], graph["types"])

    def test_the_page_may_run_its_own_script_and_call_nobody(self):
        _, page = self.written("run", self.model, "--reference", "--cpu", "--data", self.data)
        [policy] = re.findall(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', page)
        rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
        self.assertEqual(rules["default-src"], "'none'")
        self.assertNotIn("unsafe", policy)
        script = page[page.rindex("<script>") + len("<script>") : page.rindex("</script>")]
        self.assertEqual(rules["script-src"], f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'")
        self.assertEqual(set(rules) - {"style-src"}, {"default-src", "script-src", "img-src", "worker-src", "base-uri", "form-action"})
        self.assertEqual(re.findall(r'(?:src|href)="(?!data:)[^"]*"', page[: page.index("<script>")]), [])

    def test_a_page_that_cannot_be_written_leaves_the_report(self):
        for verb, words in (("build", ()), ("bench", ("--duration", 0.01, "--warmup", 0))):
            report = self.folder / "report.json"
            report.unlink(missing_ok=True)
            got, out, err = vernier(verb, self.model, *words, "--json", report, "--html", self.folder)
            if got == 4:
                self.skipTest("this build has no page")
            self.assertEqual(got, 2, out + err)
            self.assertIn("model", json.loads(report.read_text()))

    def test_build_shows_steps_and_what_they_compute_in(self):
        payload, _ = self.written("build", self.model, "--bf16")
        self.assertIn("computes what its plan promises", payload["sentence"])
        self.assertIn("bf16", {node["precision"]["store"] for node in payload["graph"]["nodes"] if "precision" in node})

    def test_bench_shows_every_run(self):
        trace, nodes = self.folder / "trace.json", self.folder / "nodes.json"
        payload, _ = self.written("bench", self.model, "--profile", "--duration", "0.1", "--warmup", "0", "--vs", "onnxruntime", "--trace", trace, "--node-data", nodes)
        report = payload["report"]
        self.assertEqual({runner: len(runs) for runner, runs in payload["runs_ms"].items()},
                         {"cpu": report["latency_ms"]["runs"], "onnxruntime": report["versus"][0]["latency_ms"]["runs"]})
        self.assertEqual(payload["verdict"], "")
        events, steps = json.loads(trace.read_text())["traceEvents"], report["profile"]["steps"]
        self.assertEqual(len(events), len(steps))
        for event, step in zip(events, steps):
            self.assertEqual(event["args"]["nodes"], step["nodes"])
            self.assertAlmostEqual(event["dur"], step["ms"] * 1000)
        self.assertTrue(all(a["ts"] <= b["ts"] for a, b in zip(events, events[1:])))
        [(name, data)] = json.loads(nodes.read_text()).items()
        self.assertEqual(name, onnx.load(self.model).graph.name)
        self.assertAlmostEqual(sum(each["value"] for each in data["results"].values()), sum(step["ms"] for step in steps if step["nodes"]))

    def test_diagnose_compares_inner_values_for_the_page(self):
        broken, nodes = self.folder / "large.onnx", self.folder / "nodes.json"
        subprocess.run([sys.executable, ROOT / "examples/digits/grow_activation.py", self.model, "block2_1_bn", "block2_2_conv", broken], check=True)
        payload, _ = self.written("diagnose", broken, "--cpu", "--fp16", "--data", self.data, "--node-data", nodes, status=1)
        self.assertEqual(payload["sentence"], payload["report"]["sentence"])
        [comparison] = payload["layers"]["comparisons"]
        shown = {tensor["value"]: tensor["metrics"] for tensor in comparison["tensors"] if "relative_l2" in tensor["metrics"]}
        self.assertGreater(len(shown), 3)
        self.assertIn("f16", {node["precision"]["store"] for node in payload["graph"]["nodes"] if "precision" in node})
        results = next(iter(json.loads(nodes.read_text()).values()))["results"]
        for value, metrics in shown.items():
            if not isinstance(metrics["relative_l2"], str):
                self.assertEqual(results[value]["value"], metrics["relative_l2"])

    def test_tune_shows_the_plan_that_it_chose(self):
        payload, _ = self.written("tune", self.model, "-o", self.folder / "plan.json", "--data", self.data, "--tolerance", "0.1", "--types", "bf16",
                                  "--budget", "10", "--duration", "0.2")
        layers = json.loads((self.folder / "plan.json").read_text())["layers"]
        drawn = {node["name"]: node["precision"]["requested"] for node in payload["graph"]["nodes"] if "precision" in node}
        self.assertEqual(drawn, {name: layer["compute"] for name, layer in layers.items() if name in drawn})
        self.assertGreater(len(drawn), 0)

    def test_names_are_packed_and_nowhere_else(self):
        nodes = [helper.make_node("Relu", ["x"], [HOSTILE], name="<b>one"), helper.make_node("Neg", [HOSTILE], ["y"], name='"two')]
        info = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [4])
        model = helper.make_model(helper.make_graph(nodes, HOSTILE, [info("x")], [info("y")]), opset_imports=[helper.make_opsetid("", 17)])
        model.ir_version = 8
        path = self.folder / "<img src=x onerror=alert(1)>.onnx"
        onnx.save(model, path)
        payload, page = self.written("run", path, "--reference", "--cpu", "--layers")
        self.assertEqual([node["name"] for node in payload["graph"]["nodes"]], ["<b>one", '"two'])
        self.assertEqual(payload["graph"]["name"], path.name)
        for name in (HOSTILE, "<b>one", "<img", "alert(1)"):
            self.assertNotIn(name, page)

    def test_a_page_is_no_input(self):
        status, _, err = vernier("run", self.model, "--reference", "--cpu", "--html", self.model)
        self.assertEqual((status, "would overwrite" in err), (2, True), err)

    def test_times_of_steps_need_a_profile(self):
        for option in ("--trace", "--node-data"):
            status, _, err = vernier("bench", self.model, option, self.folder / "x.json")
            self.assertEqual((status, "add --profile" in err), (2, True), err)


if __name__ == "__main__":
    ROOT = pathlib.Path(sys.argv.pop())
    VERNIER = sys.argv.pop()
    unittest.main(verbosity=2)
