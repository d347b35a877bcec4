#!/usr/bin/env python3
"""The fuzzer of graphs finds what is broken, and nothing where nothing is: graphs_test.py DRIVER

Runs a hundred graphs of fixed seeds, which must have no finding; then graphs with a fault in the engine (docs/fault-injection.md), each of
which it must find and shrink to at most three nodes, with a folder that shows the finding again.
"""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

GRAPHS = pathlib.Path(__file__).parent / "graphs"
DRIVER = sys.argv.pop()
FINDING = re.compile(r"wrong number \(untuned\) (\S+): \d+ graphs, e\.g\. seed \d+ (\S+)")


def fuzz(*arguments):
    command = [sys.executable, GRAPHS, *map(str, arguments), "--driver", DRIVER]
    return subprocess.run(command, capture_output=True, text=True, timeout=240)


class Graphs(unittest.TestCase):
    def test_a_hundred_graphs_have_no_finding(self):
        with tempfile.TemporaryDirectory() as folder:
            done = fuzz(100, "--seed", 50200, "--findings", folder)
        self.assertEqual(done.returncode, 0, done.stdout[-3000:] + done.stderr[-2000:])
        self.assertIn("fuzz: 0 findings of 0 sorts in 100 graphs", done.stdout)

    def test_levels_of_instruction_sets_reach_the_engines(self):
        done = subprocess.run([DRIVER, "--isa", "avx1"], input="", capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, "avx1" in done.stderr), (2, True), done.stderr)
        with tempfile.TemporaryDirectory() as folder:
            done = fuzz(25, "--seed", 50200, "--isa", "avx2", "--findings", folder)
        self.assertEqual(done.returncode, 0, done.stdout[-3000:] + done.stderr[-2000:])

    def faulty(self, fault, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            done = fuzz(*arguments, "--inject", fault, "--findings", folder)
            self.assertEqual(done.returncode, 1, done.stdout[-3000:] + done.stderr[-2000:])
            found = FINDING.findall(done.stdout)
            self.assertTrue(found, done.stdout[-3000:])
            for operators, at in found:
                self.assertLessEqual(len(operators.split("+")), 3, operators)
                again = fuzz("--replay", at, "--inject", fault)
                self.assertEqual(again.returncode, 1, again.stdout)
                self.assertIn("wrong number (untuned)", again.stdout)
                sound = fuzz("--replay", at)
                self.assertNotIn("untuned", sound.stdout, sound.stdout)
        return {operator for operators, _ in found for operator in operators.split("+")}

    def test_a_lost_upper_bound_is_found(self):
        self.assertIn("Clip", self.faulty("clip-bound", 25, "--seed", 1, "--only", "Clip", "--only", "Relu", "--only", "Conv"))

    def test_a_wrong_stride_is_found(self):
        self.assertTrue({"Conv", "MaxPool"} & self.faulty("stride", 25, "--seed", 1, "--only", "Conv", "--only", "MaxPool", "--only", "Add"))

    def test_a_wrong_zero_point_is_found(self):
        self.faulty("zero-point", 25, "--seed", 1, "--only", "QuantizeLinear", "--only", "DequantizeLinear", "--only", "QLinearMatMul")

    def test_a_swapped_axis_is_found(self):
        self.faulty("swapped-axis", 25, "--seed", 1, "--only", "MatMul", "--only", "Softmax", "--only", "Transpose")

    def test_explanations_are_strict(self):
        """An entry that explained everything of one sort, or one with an unknown field, is an error of the table."""
        sys.path.insert(0, str(GRAPHS))
        from explanations import Explanations

        explanations = Explanations()
        for entry in explanations.entries:
            self.assertTrue(entry["reason"])
            self.assertTrue("message" in entry or "features" in entry or "op" in entry, entry["name"])
            self.assertNotIn(entry["who"], ("untuned", "tuned", "untuned+tuned"), "a difference of the engine alone is never explained")
        names = [entry["name"] for entry in explanations.entries]
        self.assertEqual(len(names), len(set(names)))
        with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
            file.write('[[known]]\nname = "a"\nkind = "refusal"\nwho = "onnxruntime"\nreasons = "misspelt"\n')
            file.flush()
            with self.assertRaises(ValueError):
                Explanations(pathlib.Path(file.name))


if __name__ == "__main__":
    unittest.main()
