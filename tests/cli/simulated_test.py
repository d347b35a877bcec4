"""The simulated accelerator on the command line: simulated_test.py VERNIER SOURCE_DIR"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import onnx
from onnx import TensorProto, helper

VERNIER, ROOT = "", pathlib.Path()


class Simulated(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.model = ROOT / "examples/digits/digits.onnx"

    def run_with(self, *options, **environment):
        report = self.folder / "report.json"
        report.unlink(missing_ok=True)
        done = subprocess.run([VERNIER, "run", str(self.model), "--reference", "--simulated=4", *options, "--shapes", "image:2x1x8x8", "--json", str(report)],
                              capture_output=True, text=True, timeout=120, env=os.environ | environment)
        return done.returncode, done.stderr, json.loads(report.read_text()) if report.exists() else {}

    @staticmethod
    def vernier(*arguments):
        done = subprocess.run([VERNIER, *map(str, arguments)], capture_output=True, text=True, timeout=120)
        return done.returncode, done.stdout, done.stderr

    def build(self, *options, name="digits"):
        engine, report = self.folder / f"{name}.engine", self.folder / f"{name}.json"
        status, out, err = self.vernier("build", self.model, "--simulated=4", *options, "--opt-shapes", "image:2x1x8x8", "-o", engine, "--json", report)
        self.assertEqual(status, 0, out + err)
        return engine, out, json.loads(report.read_text())

    def test_bench_says_how_much_is_replayed_and_what_splits_it(self):
        def captured(*options):
            status, out, err = self.vernier("bench", self.model, "--simulated=4", *options, "--no-verify", "--duration", "0.2", "--json", self.folder / "bench.json")
            self.assertEqual(status, 0, out + err)
            return [text for name, text in json.loads((self.folder / "bench.json").read_text())["environment"].items() if name.endswith(": captured")]
        [whole] = captured("--streams", "1")
        self.assertRegex(whole, r"^(\d+) of \d+ steps in 1 replay$")
        [split] = captured("--streams", "1", "--lacks", "MaxPool")
        self.assertRegex(split, r"steps in [2-9] replays; split by .*'pool1' runs on the CPU: the simulated device lacks MaxPool")
        self.assertEqual(captured("--no-capture"), [])

    def test_products_round_to_tf32_where_it_is_asked_for(self):
        def output(*options, **environment):
            status, err, report = self.run_with(*options, **environment)
            self.assertEqual(status, 0, err)
            [tensor] = report["comparisons"][0]["tensors"]
            said = report["environment"]
            return said["simulated: precision"], said.get("simulated: notes", ""), tensor["metrics"]["relative_l2"]

        strict, notes, error = output()
        self.assertNotIn("tf32", strict)
        self.assertLess(error, 1e-6)
        precision, notes, error = output("--tf32")
        self.assertRegex(precision, r"tf32 [1-9]\d* nodes")
        self.assertEqual(notes, "")
        self.assertGreater(error, 1e-5)
        for options, environment, why in (("--no-tf32",), {}, "--no-tf32"), ((), {"NVIDIA_TF32_OVERRIDE": "0"}, "NVIDIA_TF32_OVERRIDE=0"):
            precision, notes, error = output("--tf32", *options, **environment)
            self.assertEqual(precision, strict)
            self.assertIn(f"TF32 is off ({why}", notes)
            self.assertLess(error, 1e-6)

    def test_an_engine_says_which_products_round_to_tf32(self):
        def rounding(*options):
            _, _, report = self.build(*options, name="tf32")
            self.assertEqual(report["accuracy"]["verdict"], "pass")
            return {node for step in report["plans"][0]["steps"] if "operands tf32" in step["contract"] for node in step["nodes"]}
        self.assertEqual(rounding(), set())
        whole = rounding("--tf32")
        self.assertGreater(len(whole), 2)
        # A convolution has the node of the normalisation that is folded into it.
        alone = rounding("--layer-precisions", "block1_1_conv:tf32")
        self.assertIn("block1_1_conv", alone)
        self.assertLess(alone, whole)
        self.assertEqual(rounding("--tf32", "--keep-fp32", "block1_1_conv"), whole - alone)

    def test_a_cpu_has_no_tf32(self):
        for options in (["--tf32"], ["--layer-precisions", "*:tf32"]):
            status, _, err = self.vernier("run", self.model, "--reference", "--cpu", *options, "--shapes", "image:2x1x8x8")
            self.assertEqual(status, 4, err)
            self.assertIn("a CPU multiplies floats as they are", err)
            self.assertIn("--cuda", err)
        status, _, err = self.vernier("run", self.model, "--reference", "--cpu", "--layer-output-types", "*:tf32", "--shapes", "image:2x1x8x8")
        self.assertEqual(status, 2, err)
        self.assertIn("no result is stored in TF32", err)

    def test_build_lists_what_is_left_to_the_cpu_and_what_that_costs(self):
        engine, out, report = self.build("--lacks", "MaxPool,Softmax", "--streams", "3")
        self.assertEqual({name: report["options"].get(name) for name in ("simulated", "lacks", "streams")}, {"simulated": "seed 4", "lacks": "MaxPool,Softmax", "streams": "3"})
        self.assertEqual(report["accuracy"]["verdict"], "pass")
        [plan] = report["plans"]
        refused = {node: step for step in plan["steps"] if step["refusal"] for node in step["nodes"]}
        self.assertEqual({node: step["refusal"] for node, step in refused.items()},
                         {"pool1": "the simulated device lacks MaxPool", "pool2": "the simulated device lacks MaxPool", "probabilities": "the simulated device lacks Softmax"})
        self.assertEqual({step["device"] for step in refused.values()}, {"cpu"})
        self.assertIn("simulated", {step["device"] for step in plan["steps"] if not step["refusal"]})
        copies = [step for step in plan["steps"] if step["kernel"].startswith("copy to ")]
        self.assertEqual({step["kernel"] for step in copies}, {"copy to simulated", "copy to cpu"})
        self.assertEqual(plan["copies"], {"count": len(copies), "bytes": sum(step["copied_bytes"] for step in copies)})
        # The image goes there; into each pool and out of it again; and the logits come back: 2 images, floats.
        self.assertEqual(len(copies), 6)
        self.assertEqual(refused["probabilities"]["copied_bytes"], 2 * 10 * 4)
        self.assertEqual(plan["copies"]["bytes"], 2 * 64 * 4 + sum(step["copied_bytes"] for step in refused.values()))
        self.assertIn(f"6 copies between them move {plan['copies']['bytes'] / 1000:.1f} kB", out)
        for text in (out, self.vernier("inspect", engine)[1]):
            for node in ("pool1", "pool2", "probabilities"):
                self.assertRegex(text, rf"{node} .*the simulated device lacks (MaxPool|Softmax)")

    def test_an_engine_of_the_cpu_alone_tells_nothing_of_devices(self):
        report = self.folder / "cpu.json"
        status, out, err = self.vernier("build", self.model, "--opt-shapes", "image:2x1x8x8", "--no-verify", "--json", report)
        self.assertEqual(status, 0, err)
        [plan] = json.loads(report.read_text())["plans"]
        self.assertEqual((plan["copies"], {step["device"] for step in plan["steps"]}), ({"count": 0, "bytes": 0}, {"cpu"}))
        self.assertNotIn("left to the CPU", out)

    def test_its_engine_files_run(self):
        engine, _, _ = self.build("--lacks", "MaxPool", name="runs")
        data = ["--shapes", "image:2x1x8x8"]
        built, loaded = self.folder / "built.run", self.folder / "loaded.run"
        status, out, err = self.vernier("run", self.model, "--reference", "--engine", engine, *data)
        self.assertEqual(status, 0, out + err)
        self.vernier("run", self.model, "--simulated=4", "--lacks", "MaxPool", "--save-run", built, *data)
        self.vernier("run", self.model, "--engine", engine, "--save-run", loaded, *data)
        status, out, err = self.vernier("run", "--load-run", built, "--load-run", loaded, "--atol", "0", "--rtol", "0")
        self.assertEqual(status, 0, out + err)
        inspected = self.vernier("inspect", engine)[1]
        self.assertRegex(inspected, r"device simulated: .*lacks 'MaxPool', number '4', streams '2'")
        report = self.folder / "bench.json"
        status, out, err = self.vernier("bench", engine, *data, "--duration", "0.05", "--warmup", "0", "--sessions", "2", "--profile", "-v", "--json", report)
        self.assertEqual(status, 0, out + err)
        bench = json.loads(report.read_text())
        self.assertEqual(bench["device"], "simulated")
        self.assertEqual(sum(step["kernel"] == "copy to simulated" for step in bench["profile"]["steps"]), 3)
        self.assertEqual(sum(step["kernel"] == "copy to cpu" for step in bench["profile"]["steps"]), 3)
        self.assertIn("copy to simulated", out)

    def test_its_engine_files_take_weights_again(self):
        full, _, _ = self.build("--lacks", "MaxPool", name="full")
        bare, _, _ = self.build("--lacks", "MaxPool", "--strip-weights", name="bare")
        again = self.folder / "again.engine"
        status, out, err = self.vernier("build", self.model, "--refit", bare, "-o", again)
        self.assertEqual(status, 0, out + err)
        difference = self.vernier("inspect", full, "--diff", again)[1]
        self.assertIn("the same kernels", difference)
        self.assertNotIn("device", difference)
        status, out, err = self.vernier("run", self.model, "--reference", "--engine", again, "--shapes", "image:2x1x8x8")
        self.assertEqual(status, 0, out + err)
        self.assertEqual(self.vernier("build", self.model, "--refit", bare, "--simulated")[0], 2)

    def test_bench_builds_for_it(self):
        report = self.folder / "built_bench.json"
        status, out, err = self.vernier("bench", self.model, "--simulated", "--lacks", "MaxPool", "--shapes", "image:2x1x8x8", "--duration", "0.05", "--warmup", "0", "--profile", "-v", "--json", report)
        self.assertEqual(status, 0, out + err)
        bench = json.loads(report.read_text())
        self.assertEqual((bench["device"], bench["options"]["simulated"], bench["environment"]["accuracy"]), ("simulated", "seed 0", "pass"))
        self.assertEqual(sum(step["kernel"].startswith("copy to ") for step in bench["profile"]["steps"]), 6)

    def test_build_finds_each_planted_defect(self):
        engine = self.folder / "faulty.engine"
        for copy in range(3):
            status, out, err = self.vernier("build", self.model, "--simulated", "--inject-fault", f"drop-copy:{copy}", "--opt-shapes", "image:2x1x8x8", "-o", engine)
            self.assertEqual(status, 1, out + err)
            self.assertFalse(engine.exists())

    def test_it_computes_what_the_reference_does(self):
        for options in ([], ["--streams", "4"], ["--lacks", "Conv"], ["--lacks", "MaxPool,Relu", "--streams", "1"]):
            status, err, report = self.run_with(*options)
            self.assertEqual(status, 0, err)
            self.assertEqual(report["comparisons"][0]["actual"], "simulated")
            self.assertEqual(report["comparisons"][0]["verdict"], "pass")

    def test_each_planted_defect_is_found(self):
        # First constants, once for all runs, then the image, and the probabilities, of each run. The first run is when the
        # engine is finished; it is not compared.
        status, err, _ = self.run_with("--inject-fault", "drop-copy:1000")
        self.assertEqual(status, 2)
        copies = int(re.search(r"there were (\d+)", err)[1])
        constants = copies - 4
        self.assertGreater(constants, 5)
        self.assertLess(constants, 28)
        found = [self.run_with("--inject-fault", f"drop-copy:{copy}")[0] for copy in range(copies + 1)]
        self.assertEqual(found, [1] * constants + [0, 0, 1, 1, 2])
        nodes = [helper.make_node("Relu", ["x"], ["a"]), helper.make_node("Neg", ["x"], ["b"]), helper.make_node("Add", ["a", "b"], ["y"])]
        value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [4])
        branches = self.folder / "branches.onnx"
        onnx.save(helper.make_model(helper.make_graph(nodes, "g", [value("x")], [value("y")]), opset_imports=[helper.make_opsetid("", 17)], ir_version=8), branches)
        done = subprocess.run([VERNIER, "run", branches, "--reference", "--simulated", "--inject-fault", "drop-wait:0"], capture_output=True, text=True, timeout=120)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("race", done.stdout + done.stderr)

    def test_a_fault_in_a_kernel_is_found_at_its_node(self):
        status, err, report = self.run_with("--inject-fault", "swapped-axis", "--layers")
        self.assertEqual(status, 1, err)
        note = next(text for text in report["comparisons"][0]["notes"] if "on purpose" in text)
        node = re.search(r"swapped-axis at '(.*)'", note)[1]
        self.assertIn(node, report["comparisons"][0]["first_difference"]["nodes"])

    def test_a_lost_device_is_told_with_the_kernel(self):
        status, _, report = self.run_with("--inject-fault", "lose-device:0")
        self.assertEqual(status, 1)
        self.assertRegex(json.dumps(report), r"simulated is lost: simulated:\w+ of node '.+' used an address that is none")

    def test_a_wrong_tactic_is_named_and_not_used(self):
        status, err, report = self.run_with("--inject-fault", "wrong-tactic:0", "-v")
        self.assertEqual(status, 0, err)
        notes = json.dumps(report)
        self.assertRegex(notes, r"in quarantine: simulated:twice for '[^:]+: .* is no rounding")

    def test_what_it_does_not_know_is_a_usage_error(self):
        for options, named in ((["--lacks", "Nosuch"], "Nosuch"), (["--streams", "0"], "streams"), (["--streams", "many"], "many"), (["--inject-fault", "drop-wait"], "drop-wait"), (["--inject-fault", "free-early:0"], "free-early"), (["--inject-fault", "fp16-accumulator"], "fp16-accumulator")):
            status, err, _ = self.run_with(*options)
            self.assertEqual(status, 2, (options, err))
            self.assertIn(named, err)
        for arguments in (["run", self.model, "--reference", "--cpu", "--lacks", "Conv"], ["build", self.model, "--lacks", "Conv"], ["bench", self.model, "--streams", "2"],
                          ["build", self.model, "--bf16", "--simulated"], ["build", self.model, "--simulated=x"]):
            status, _, err = self.vernier(*arguments)
            self.assertEqual(status, 2, err)
        self.assertIn("'x'", err)


if __name__ == "__main__":
    ROOT = pathlib.Path(sys.argv.pop())
    VERNIER = sys.argv.pop()
    unittest.main(verbosity=2)
