"""Command lines of Polygraphy: polygraphy_test.py VERNIER SOURCE_DIR

What Polygraphy lets pass must fail here: a NaN, an output that is missing, one that is there in one result only, an output of
another name, iterations that are missing.
"""
import base64
import io
import json
import pathlib
import re
import subprocess
import sys

import judging
import numpy as np
from judging import Case, info, node


def polygraphy(*arguments):
    return judging.vernier("polygraphy", *arguments)


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return {"array": base64.b64encode(file.getvalue()).decode(), "polygraphy_class": "ndarray"}


def results(*iterations, runner="golden"):
    """Makes what Polygraphy writes for --save-outputs."""
    made = [{"outputs": {name: {"values": npy(value), "polygraphy_class": "LazyArray"} for name, value in outputs.items()}, "runtime": 0.1,
             "runner_name": runner, "polygraphy_class": "IterationResult"} for outputs in iterations]  # fmt: skip
    return {"lst": [[runner, made]], "polygraphy_class": "RunResults"}


def told(text):
    """The lines by which scripts tell how a comparison ended, without what differs from run to run."""
    lines = [line for line in text.splitlines() if re.search(r"(PASSED|FAILED|RUNNING) \|| Summary \|", line)]
    lines = [re.sub(r"Runtime: [\d.]+s", "Runtime: 1s", line) for line in lines]
    lines = [re.sub(r"Command: \S*?polygraphy|Command: vernier polygraphy", "Command: polygraphy", line) for line in lines]
    return [re.sub(r"Summary \| .+? +vs\. .+? +\|", "Summary | a vs. b |", line) for line in lines]


class Polygraphy(Case):
    def setUp(self):
        super().setUp()
        self.weights = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)
        nodes = [node("MatMul", "x w", "out"), node("Softmax", "out", "y")]
        self.path = self.model("small", nodes, [info("x", ["n", 3])], [info("out", ["n", 4]), info("y", ["n", 4])], {"w": self.weights})
        self.x = np.arange(6, dtype=np.float32).reshape(2, 3) / 4
        product = self.x @ self.weights
        powers = np.exp(product)
        self.right = {"out": product, "y": powers / powers.sum(1, keepdims=True)}
        self.inputs = self.write("inputs.json", [{"x": npy(self.x)}])

    def write(self, name, content):
        path = self.folder / name
        path.write_text(json.dumps(content))
        return path

    def equivalent(self, *arguments):
        status, out, err = polygraphy("--print-only", *arguments)
        self.assertEqual(status, 0, err)
        [line] = [line for line in out.splitlines() if line.startswith("equivalent: ")]
        return line.removeprefix("equivalent: "), out

    def against_golden(self, *iterations, options=(), inputs=None):
        """Runs ONNX Runtime against results that Polygraphy saved."""
        golden = self.write("golden.json", results(*iterations))
        return polygraphy("run", self.path, "--onnxrt", "--load-inputs", inputs or self.inputs, "--load-outputs", golden, *options)

    def test_runners_are_compared(self):
        status, out, err = polygraphy("run", self.path, "--trt", "--onnxrt", "--stand-in", "cpu", "--iterations", "3", "--seed", "4",
                                      "--val-range", "x:[-1,1]", "--input-shapes", "x:[5,3]")  # fmt: skip
        self.assertEqual(status, 0, out + err)
        self.assertIn(f"equivalent: vernier run {self.path} --onnxruntime --cpu --seed 4 --samples 3 --val-range 'x:[-1,1]' --shapes x:5x3 "
                      "--atol 1e-5 --rtol 1e-5", out)  # fmt: skip
        self.assertIn("takes the place of TensorRT", out)

    def test_results_that_agree_pass(self):
        status, out, err = self.against_golden(self.right)
        self.assertEqual(status, 0, out + err)

    def test_wrong_results_fail(self):
        status, out, _ = self.against_golden({**self.right, "y": self.right["y"] + 0.01})
        self.assertEqual(status, 1, out)
        status, out, err = self.against_golden({**self.right, "y": self.right["y"] + 0.01}, options=("--atol", "y:0.02"))
        self.assertEqual(status, 0, out + err)

    def test_scripts_find_the_lines_that_polygraphy_prints(self):
        program = pathlib.Path(sys.executable).parent / "polygraphy"
        wrong = {**self.right, "y": self.right["y"] + 0.01}
        for name, iterations, count in (("right", [self.right], 1), ("wrong", [wrong], 1), ("half", [self.right, wrong], 2)):
            golden = self.write(f"{name}.json", results(*iterations))
            inputs = self.write("many.json", [{"x": npy(self.x)}] * count)
            words = ["run", str(self.path), "--onnxrt", "--load-inputs", str(inputs), "--load-outputs", str(golden)]
            theirs = subprocess.run([program, *words], capture_output=True, text=True, timeout=120)
            status, out, _ = polygraphy(*words)
            self.assertEqual(status, theirs.returncode, out)
            self.assertIn("Accuracy Summary", theirs.stdout)
            # Theirs are said of every iteration, ours of all of them.
            ours, wanted = set(told(out)), set(told(theirs.stdout))
            self.assertEqual(ours - wanted, set())
            if count == 1:
                self.assertEqual(wanted - ours, set())
            closing = out.splitlines()[-1]
            state = "[I] PASSED" if status == 0 else "[E] FAILED"
            self.assertRegex(closing, re.escape(state) + r" \| Runtime: [\d.]+s \| Command: vernier polygraphy run ")
        self.assertIn("| Passed: 1/2 iterations | Pass Rate: 50.00%", out)

    def test_no_line_says_passed_where_anything_failed(self):
        golden = self.write("golden.json", results({"y": self.right["y"]}))  # one output is missing
        for words in (["run", self.path, "--onnxrt", "--load-inputs", self.inputs, "--load-outputs", golden],
                      ["run", self.folder / "gone.onnx", "--onnxrt"], ["run", self.path, "--onnxrt", "--no-such-option"],
                      ["run", self.path, "--onnxrt", "--save-accuracy-results", "r.json"]):  # fmt: skip
            status, out, _ = polygraphy(*words)
            self.assertNotEqual(status, 0)
            self.assertRegex(out.splitlines()[-1], r"^\[E\] FAILED \| Runtime: ")
            self.assertNotRegex(out, r"PASSED \| Runtime|PASSED \| simple")
        for words in (["--print-only", "run", self.path, "--onnxrt"], ["run", "--help"]):
            self.assertNotIn("Runtime:", polygraphy(*words)[1])

    def test_validation_is_told_as_polygraphy_tells_it(self):
        _, out, _ = polygraphy("run", self.path, "--onnxrt", "--validate", "--input-shapes", "x:[2,3]")
        self.assertIn("[I]     PASSED | Output: y is valid\n", out)
        self.assertIn("[I] PASSED | Output Validation\n", out)
        path = self.model("log", [node("Log", "x", "y")], [info("x", [1, 3])], [info("y", [1, 3])])
        inputs = self.write("negative.json", [{"x": npy(np.array([[-1, 1, 2]], np.float32))}])
        _, out, _ = polygraphy("run", path, "--onnxrt", "--load-inputs", inputs, "--validate")
        self.assertIn("[E]     FAILED | Errors detected in output: y\n", out)
        self.assertIn("[E] FAILED | Output Validation\n", out)
        self.assertRegex(out.splitlines()[-1], r"^\[E\] FAILED \| Runtime: ")

    def test_nan_fails(self):
        nan = self.right["y"].copy()
        nan[0, 0] = np.nan
        status, out, _ = self.against_golden({**self.right, "y": nan})
        self.assertEqual(status, 1, out)

    def test_nan_on_both_sides_fails_where_outputs_are_validated(self):
        path = self.model("log", [node("Log", "x", "y")], [info("x", [1, 3])], [info("y", [1, 3])])
        inputs = self.write("negative.json", [{"x": npy(np.array([[-1, 1, 2]], np.float32))}])
        command = ("run", path, "--onnxrt", "--trt", "--stand-in", "cpu", "--load-inputs", inputs)
        status, out, err = polygraphy(*command, "--validate")
        self.assertEqual(status, 1, out)
        self.assertIn("output 'y' holds 1 values that are NaN or Inf", err)

    def test_a_missing_output_fails(self):
        status, out, err = self.against_golden({"y": self.right["y"]})
        self.assertEqual(status, 1, out + err)
        self.assertIn("out", out)

    def test_an_output_that_only_the_other_side_has_fails(self):
        status, out, err = self.against_golden({**self.right, "extra": self.right["y"]})
        self.assertEqual(status, 1, out + err)
        self.assertIn("extra", out)

    def test_an_output_of_a_similar_name_is_another_output(self):
        renamed = {"foo_out_7": self.right["out"], "y": self.right["y"]}
        self.assertEqual(self.against_golden(renamed)[0], 1)

    def test_another_type_fails(self):
        status, out, err = self.against_golden({**self.right, "y": self.right["y"].astype(np.int32)})
        self.assertNotEqual(status, 0, out + err)

    def test_iterations_that_are_missing_are_no_pass(self):
        two = self.write("two.json", [{"x": npy(self.x)}, {"x": npy(self.x)}])
        status, _, err = self.against_golden(self.right, inputs=two)
        self.assertEqual(status, 3)
        self.assertIn("there are more samples", err)
        status, _, err = self.against_golden(self.right, self.right)
        self.assertEqual(status, 3)
        self.assertIn("there are fewer samples", err)

    def test_a_large_error_at_a_large_value_fails(self):
        # Polygraphy passes where either tolerance is met: 500 at 1e8 is 5e-6 of it.
        path = self.model("same", [node("Identity", "x", "y")], [info("x", [1, 2])], [info("y", [1, 2])])
        x = np.array([[1e8, 1]], np.float32)
        inputs = self.write("large.json", [{"x": npy(x)}])
        golden = self.write("large_golden.json", results({"y": x + np.array([[0, 0.5]], np.float32)}))
        status, out, _ = polygraphy("run", path, "--onnxrt", "--load-inputs", inputs, "--load-outputs", golden, "--atol", "1", "--rtol", "0")
        self.assertEqual(status, 0, out)
        status, out, _ = polygraphy("run", path, "--onnxrt", "--load-inputs", inputs, "--load-outputs", golden, "--atol", "0.1", "--rtol", "0")
        self.assertEqual(status, 1, out)

    def test_files_of_polygraphy_go_round(self):
        saved, outputs = self.folder / "saved.json", self.folder / "outputs.json"
        status, out, err = polygraphy("run", self.path, "--onnxrt", "--save-inputs", saved, "--save-outputs", outputs, "--seed", "7",
                                      "--iterations", "2", "--input-shapes", "x:[2,3]")  # fmt: skip
        self.assertEqual(status, 0, out + err)
        self.assertIn("--onnxruntime --seed 7 --samples 2 --shapes x:2x3 --save-run outputs.run", out)
        content = json.loads(outputs.read_text())
        self.assertEqual(content["polygraphy_class"], "RunResults")
        self.assertEqual(set(content["lst"][0][1][0]["outputs"]), {"out", "y"})
        self.assertEqual(len(json.loads(saved.read_text())), 2)
        status, out, err = polygraphy("run", self.path, "--trt", "--stand-in", "cpu", "--load-inputs", saved, "--load-outputs", outputs)
        self.assertEqual(status, 0, out + err)
        status, out, err = polygraphy("run", "--load-outputs", outputs, outputs)
        self.assertEqual(status, 0, out + err)

    def test_one_runner_is_compared_with_the_reference(self):
        status, out, err = polygraphy("run", self.path, "--onnxrt")
        self.assertEqual(status, 0, out + err)
        self.assertIn(f"vernier run {self.path} --reference --onnxruntime\n", out)

    def test_layers(self):
        status, out, err = polygraphy("run", self.path, "--trt", "--onnxrt", "--stand-in", "cpu", "--trt-outputs", "mark", "all",
                                      "--onnx-outputs", "mark", "all", "--fail-fast")  # fmt: skip
        self.assertEqual(status, 0, out + err)
        self.assertIn("--layers", out)

    def test_what_options_become(self):
        line, _ = self.equivalent("run", "m.onnx", "--onnxrt", "--trt", "--fp16", "--abs", "1e-3", "y:2e-3", "--rel", ":1e-2", "--layer-precisions",
                                  "conv:float32", "--trt-min-shapes", "x:[1,3]", "z:[]", "--trt-max-shapes", "x:[8,3]", "z:[]", "--tf32",
                                  "--pool-limit", "workspace:1G", "--providers", "cuda", "cpu")  # fmt: skip
        self.assertEqual(line, "vernier run m.onnx --onnxruntime=cuda --tensorrt --fp16 --layer-precisions conv:fp32 "
                               "--runner-option 'min_shapes=x:1x3+z:' --runner-option 'max_shapes=x:8x3+z:' --runner-option workspace=1GiB "
                               "--shapes x:1x3,z: --shapes x:8x3,z: --atol 1e-3 --atol y:2e-3 --rtol 1e-2".replace("'", ""))  # fmt: skip
        line, _ = self.equivalent("convert", "m.onnx", "--int8", "--calibration-cache=c", "-o", "m.engine", "--trt-opt-shapes", "x:[1,3]")
        self.assertEqual(line, "vernier build m.onnx -o m.engine --opt-shapes x:1x3 --cpu --int8 --calibration c --precision-constraints prefer")
        line, out = self.equivalent("convert", "m.onnx", "--int8", "-o", "m.engine", "--", "--no-verify")
        self.assertEqual(line, "vernier build m.onnx -o m.engine --cpu --no-verify")
        self.assertIn("without ranges nothing is quantized", out)
        line, _ = self.equivalent("convert", "m.onnx", "-o", "other.onnx")
        self.assertEqual(line, "vernier export m.onnx -o other.onnx")
        line, out = self.equivalent("debug", "precision", "m.onnx", "--fp16", "--stand-in", "cpu", "--check", "polygraphy", "run",
                                    "polygraphy_debug.engine", "--trt", "--load-inputs", "i.json", "--load-outputs", "o.json", "--atol", "1e-2")  # fmt: skip
        self.assertEqual(line, "vernier diagnose m.onnx --cpu --fp16 --precision-constraints prefer --data i.json --atol 1e-2")
        self.assertIn("the reference is computed", out)
        # The command of --check also says what the engine and its data are.
        line, out = self.equivalent("debug", "reduce", "m.onnx", "-o", "r.onnx", "--check", "polygraphy", "run", "polygraphy_debug.onnx", "--trt",
                                    "--fp16", "--layer-precisions", "conv:float32", "--iterations", "3", "--seed", "5", "--val-range", "[0,2]",
                                    "--tf32", "--workspace", "1G", "--sparse-weights")  # fmt: skip
        self.assertEqual(line, "vernier reduce m.onnx -o r --tensorrt --fp16 --layer-precisions conv:fp32 --runner-option workspace=1GiB "
                               "--seed 5 --samples 3 --val-range ':[0,2]'")  # fmt: skip
        self.assertIn("--sparse-weights is ignored", out)
        line, _ = self.equivalent("debug", "reduce", "m.onnx", "-o", "r.onnx", "--model-input-shapes", "x:[1,3]", "--check", "polygraphy", "run", "--onnxrt")
        self.assertEqual(line, "vernier reduce m.onnx -o r --onnxruntime --shapes x:1x3")
        self.assertEqual(self.equivalent("inspect", "model", "m.onnx", "--show", "layers", "attrs")[0], "vernier inspect m.onnx --show layers,attrs")
        self.assertEqual(self.equivalent("check", "lint", "m.onnx", "-o", "r.json")[0], "vernier check m.onnx --json r.json")

    def test_subcommands_run(self):
        engine = self.folder / "small.engine"
        for words, what in ((["convert", self.path, "-o", engine], "accuracy"), (["inspect", "model", self.path, "--show", "layers"], "MatMul"),
                            (["inspect", "data", self.inputs], "x"), (["inspect", "capability", self.path], "build"),
                            (["check", "lint", self.path], ""), (["debug", "precision", self.path, "--stand-in", "cpu"], "")):
            status, out, err = polygraphy(*words)
            self.assertEqual(status, 0, out + err)
            self.assertIn(what, out)
        self.assertTrue(engine.exists())

    def test_unknown_options_and_commands(self):
        for words, what in ((["run", "m.onnx", "--trt", "--atoll", "1"], "the nearest is --atol"), (["run", "m.onnx"], "no runner"), (["walk"], "'walk'"),
                            (["run", "m.onnx", "n.onnx", "--trt"], "'n.onnx' is too many"), (["convert", "m.onnx"], "no output"),
                            (["run", "m.onnx", "--trt", "--check-error-stat", "worst"], "'worst'"), (["run", "--trt"], "no model"),
                            (["run", "m.onnx", "--trt", "--input-shapes", "x:[-1,3]"], "--input-shapes"),
                            (["run", "m.onnx", "--trt", "--trt-min-shapes", "x:[2,8],y:[2,1]"], "several inputs in one word")):
            status, _, err = polygraphy(*words)
            self.assertEqual(status, 2, err)
            self.assertIn(what, err)
        line, _ = self.equivalent("run", "m.onnx", "--onnxrt", "--load-input", "i.json")  # the beginning of a name will do
        self.assertIn("--data i.json", line)

    def test_what_has_no_counterpart_is_refused_with_a_reason(self):
        for words, what in ((["run", "m.onnx", "--trt", "--onnxrt", "--check-error-stat", "mean"], "every element is judged"),
                            (["run", "m.onnx", "--trt", "--data-loader-script", "d.py"], "Python scripts are not run"),
                            (["run", "m.onnx", "--trt", "--top-k", "5"], "top-k agreement"), (["run", "m.engine", "--trt"], "beside its ONNX model"),
                            (["surgeon", "sanitize", "m.onnx", "-o", "n.onnx"], "not edited"), (["debug", "build", "m.onnx"], "opt-level 4"),
                            (["debug", "precision", "m.onnx", "--check", "polygraphy", "run", "--trt", "--validate"], "--validate (NaN and Inf"),
                            (["run", "m.onnx", "--trt", "--compare", "indices"], "indices"), (["convert", "m.onnx", "--fp8", "-o", "e"], "--fp8")):
            status, _, err = polygraphy(*words)
            self.assertEqual(status, 4, err)
            self.assertIn(what, err)

    def test_help(self):
        status, out, err = polygraphy("--help")
        self.assertEqual(status, 0, err)
        self.assertIn("debug precision", out)
        _, out, _ = polygraphy("run", "--help")
        self.assertRegex(out, r"--onnxrt +--onnxruntime")


if __name__ == "__main__":
    judging.main()
