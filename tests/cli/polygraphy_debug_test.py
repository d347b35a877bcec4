"""`polygraphy debug` with a program as --check: polygraphy_debug_test.py VERNIER SOURCE_DIR

The program's exit status is the verdict on what each step made, and nothing of ours is.
"""
import os
import pathlib
import re
import subprocess
import sys
import unittest.mock

import judging
import numpy as np
import onnx
from judging import Case, info, node

NODES = 6


class PolygraphyDebug(Case):
    def setUp(self):
        super().setUp()
        weights = {"w": np.eye(4, dtype=np.float32)}
        nodes = [node("MatMul", "x w", "v0")] + [node("Tanh", f"v{i}", f"v{i + 1}") for i in range(NODES - 1)]
        self.path = self.model("chain", nodes, [info("x", [2, 4])], [info(f"v{NODES - 1}", [2, 4])], weights)
        self.log = self.folder / "asked.txt"

    def program(self, body):
        """A program in Python that also counts how often it is asked."""
        path = self.folder / "check.py"
        path.write_text(f"#!{sys.executable}\nimport json, os, pathlib, re, subprocess, sys\nlog = open({str(self.log)!r}, 'a'); log.write('x'); log.flush()\n"
                        f"times = os.path.getsize({str(self.log)!r})\nVERNIER = {judging.VERNIER!r}\n{body}\n")  # fmt: skip
        path.chmod(0o755)
        return path

    def debug(self, *words):
        self.log.unlink(missing_ok=True)
        done = subprocess.run([judging.VERNIER, "polygraphy", "debug", *map(str, words)], capture_output=True, text=True, timeout=300, cwd=self.folder)
        return done.returncode, done.stdout, done.stderr

    def asked(self):
        return len(self.log.read_text()) if self.log.exists() else 0

    def test_precision_asks_the_program_of_every_engine(self):
        # The engine is there, and can be run, at every step; the program decides by how often it was asked.
        check = self.program("""
done = subprocess.run([VERNIER, "inspect", "polygraphy_debug.engine"], capture_output=True, text=True)
sys.exit(done.returncode)""")
        status, out, err = self.debug("precision", self.path, "--fp16", "--stand-in", "cpu", "--check", check)
        self.assertEqual(status, 0, out + err)
        self.assertIn("Accuracy is acceptable with no layer in higher precision", out)
        self.assertEqual(self.asked(), out.count("RUNNING | Iteration"))
        self.assertRegex(out, r"\[I\]     PASSED \| Iteration 1 \| Duration ")
        self.assertIn("Pass Rate: 100%", out)
        self.assertRegex(out.splitlines()[-1], r"^\[I\] PASSED \| Runtime: [\d.]+s \| Command: vernier polygraphy debug precision ")
        self.assertFalse((self.folder / "polygraphy_debug.engine").exists())

    def test_precision_finds_how_many_layers_it_takes(self):
        # Only our own output has what the step selected; the program knows the order in which halving asks: 6, 3, 1 (bad), 2 (good).
        check = self.program("sys.exit(0 if times in (1, 2, 4) else 3)")
        status, out, err = self.debug("precision", self.path, "--fp16", "--stand-in", "cpu", "--check", check)
        self.assertEqual(status, 0, out + err)
        self.assertEqual(re.findall(r"Selecting first (\d+) layer", out), ["6", "3", "1", "2"])
        self.assertIn("try running the first 2 layer(s) in higher precision", out)
        self.assertIn("equivalent: vernier build", out)
        self.assertIn("--layer-precisions the_MatMul_v0:fp32,the_Tanh_v1:fp32 ", out.splitlines()[-2])
        self.assertIn("[E]     FAILED | Iteration 3", out)
        status, out, _ = self.debug("precision", self.path, "--fp16", "--stand-in", "cpu", "--dir", "reverse", "--mode", "linear", "--check", check)
        self.assertIn("Accuracy is acceptable with no layer", out)
        check = self.program("sys.exit(0 if times == 3 else 1)")
        status, out, _ = self.debug("precision", self.path, "--fp16", "--stand-in", "cpu", "--dir", "reverse", "--mode", "linear", "--check", check)
        self.assertIn("try running the last 2 layer(s)", out)
        self.assertIn("the_Tanh_v4:fp32,the_Tanh_v5:fp32", out)

    def test_precision_builds_engines_of_tensorrt(self):
        stand_in = pathlib.Path(__file__).parent / "children/tensorrt_stand_in"
        check = self.program("sys.exit(0 if os.path.getsize('polygraphy_debug.engine') else 1)")
        with unittest.mock.patch.dict(os.environ, {"PYTHONPATH": str(stand_in)}):
            status, out, err = self.debug("precision", self.path, "--fp16", "--check", check)
        self.assertEqual(status, 0, out + err)
        self.assertIn("equivalent: vernier run", out)
        self.assertIn("--tensorrt --fp16 --no-tf32 --runner-option save_engine=polygraphy_debug.engine", out)
        self.assertEqual(self.asked(), out.count("PASSED | Iteration"))

    def test_precision_fails_where_nothing_helps(self):
        status, out, _ = self.debug("precision", self.path, "--fp16", "--stand-in", "cpu", "--check", self.program("sys.exit(1)"))
        self.assertEqual(status, 1)
        self.assertIn("Could not find a configuration that satisfied accuracy requirements", out)
        self.assertRegex(out.splitlines()[-1], r"^\[E\] FAILED \| Runtime: ")

    def test_a_program_that_is_not_there_is_no_verdict(self):
        status, _, err = self.debug("precision", self.path, "--fp16", "--stand-in", "cpu", "--check", "./no_such_program", "polygraphy_debug.engine")
        self.assertEqual(status, 3, err)
        self.assertIn("'./no_such_program' cannot be started", err)
        status, _, err = self.debug("precision", self.path, "--stand-in", "cpu", "--check", "true")
        self.assertEqual(status, 2, err)
        self.assertIn("add --fp16", err)
        (self.folder / "polygraphy_debug.engine").write_text("mine")
        status, _, err = self.debug("precision", self.path, "--fp16", "--stand-in", "cpu", "--check", "true")
        self.assertEqual(status, 2, err)
        self.assertEqual((self.folder / "polygraphy_debug.engine").read_text(), "mine")

    def test_which_ends_of_the_program_fail(self):
        def repeat(body, *options):
            _, out, err = self.debug("repeat", "--until", "1", *options, "--check", self.program(body))
            return "FAILED | Iteration 1" in out, out + err

        for body, options, fails in (("sys.exit(3)", [], True), ("sys.exit(3)", ["--fail-code", "2", "4"], False), ("sys.exit(3)", ["--fail-code", "3"], True),
                                     ("sys.exit(3)", ["--ignore-fail-code", "3"], False), ("sys.exit(1)", ["--ignore-fail-code", "3"], True),
                                     ("print('a NaN')", ["--fail-regex", "N.N"], True), ("sys.exit('other')", ["--fail-regex", "NaN", "Inf"], False),
                                     ("sys.exit('Inf')", ["--fail-regex", "NaN", "Inf"], True),
                                     ("print('NaN')", ["--fail-regex", "NaN", "--fail-code", "3"], False),
                                     ("os.kill(os.getpid(), 11)", ["--fail-code", "-11"], True)):  # fmt: skip
            with self.subTest(body=body, options=options):
                failed, all_of_it = repeat(body, *options)
                self.assertEqual(failed, fails, all_of_it)
        _, shown = repeat("print('heard'); sys.exit(1)")
        self.assertIn("CAPTURED STDOUT", shown)
        self.assertIn("\nheard\n", shown)
        self.assertNotIn("\nheard\n", repeat("print('heard'); sys.exit(1)", "--hide-fail-output")[1])
        self.assertNotIn("\nheard\n", repeat("print('heard')")[1])
        self.assertIn("\nheard\n", repeat("print('heard')", "--show-output")[1])

    def test_repeat_ends_when_it_should(self):
        check = self.program("sys.exit(0 if times < 3 else 1)")
        for until, steps in (("bad", 3), ("good", 1), ("5", 5)):
            status, out, err = self.debug("repeat", "--until", until, "--check", check)
            self.assertEqual((status, self.asked()), (0, steps), out + err)
            self.assertIn(f"Finished {steps} iteration(s)", out)
        status, _, err = self.debug("repeat", "--check", check)
        self.assertEqual(status, 2)
        self.assertIn("--until is missing", err)

    def test_repeat_runs_our_own_polygraphy(self):
        status, out, err = self.debug("repeat", "--until", "2", "--show-output", "--check", "polygraphy", "run", self.path, "--onnxrt")
        self.assertEqual(status, 0, out + err)
        self.assertEqual(out.count("PASSED | simple | All outputs matched"), 2, out)
        self.assertIn("Passed: 2/2", out)

    def test_build_makes_an_engine_for_every_step_and_sorts_files(self):
        check = self.program("""
assert json.loads(pathlib.Path("info.json").read_text()) == {"iteration": times - 1}
assert os.path.getsize("mine.engine") > 0
pathlib.Path("replay.json").write_text(str(times))
sys.exit(times % 2)""")
        status, out, err = self.debug("build", self.path, "--stand-in", "cpu", "--until", "3", "--artifacts", "replay.json", "absent.json", "--artifacts-dir", "kept",
                                      "--iter-artifact", "mine.engine", "--iteration-info", "info.json", "--no-remove-intermediate", "--check", check)  # fmt: skip
        self.assertEqual(status, 0, out + err)
        sorted_files = {kind: [path.read_text() for path in sorted((self.folder / "kept" / kind).iterdir(), key=lambda path: path.name[-7:])]
                        for kind in ("good", "bad")}  # fmt: skip
        self.assertEqual(sorted_files, {"good": ["2"], "bad": ["1", "3"]})
        self.assertIn("Artifact: absent.json does not exist", out)
        self.assertTrue((self.folder / "mine.engine").exists())
        self.assertFalse((self.folder / "info.json").exists())
        self.assertNotIn("AssertionError", out)

    def test_reduce_keeps_what_the_program_fails_on(self):
        check = self.program("""
import onnx
sys.exit(any(node.op_type == "MatMul" for node in onnx.load("polygraphy_debug.onnx").graph.node))""")
        status, out, err = self.debug("reduce", self.path, "-o", "reduced.onnx", "--check", check, "polygraphy_debug.onnx")
        self.assertEqual(status, 0, out + err)
        made = onnx.load(self.folder / "reduced.onnx")
        onnx.checker.check_model(made)
        self.assertEqual([each.op_type for each in made.graph.node], ["MatMul"])
        self.assertIn("Minimum failing model: 1 of 6 nodes, saved to reduced.onnx", out)
        self.assertGreater(self.asked(), 1)
        status, _, err = self.debug("reduce", self.path, "-o", "again.onnx", "--check", "true")
        self.assertEqual(status, 3)
        self.assertIn("the program of --check passes on the whole model", err)
        self.assertFalse((self.folder / "again.onnx").exists())

    def test_reduce_asks_our_polygraphy_where_its_output_counts(self):
        # The whole model passes by its exit status; what is wanted is a line.
        status, out, err = self.debug("reduce", self.path, "-o", "reduced.onnx", "--fail-regex", "Output: 'v1'", "--check", "polygraphy", "run",
                                      "polygraphy_debug.onnx", "--onnxrt", "--onnx-outputs", "mark", "all")  # fmt: skip
        self.assertEqual(status, 0, out + err)
        made = onnx.load(self.folder / "reduced.onnx")
        self.assertEqual([each.op_type for each in made.graph.node], ["Tanh"])


if __name__ == "__main__":
    judging.main()
