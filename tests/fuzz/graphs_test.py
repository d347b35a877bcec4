#!/usr/bin/env python3
"""The fuzzer of graphs finds what is broken, and nothing where nothing is: graphs_test.py DRIVER

Runs a hundred graphs of fixed seeds, which must have no finding; then graphs with a fault in the engine (docs/fault-injection.md), each of
which it must find and shrink to at most three nodes, with a folder that shows the finding again.
"""

import math
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

GRAPHS = pathlib.Path(__file__).parent / "graphs"
DRIVER = sys.argv.pop()
NAN = math.nan
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

    def judged(self, op, reference, tuned, noisy):
        """The findings about a build whose verdict is "fail": of a model of x = 1 and one operator behind another, what each makes of it."""
        sys.path.insert(0, str(GRAPHS))
        import numpy as np
        from case import Case
        from judge import judge
        from onnx import TensorProto, helper

        infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in "xy"]
        nodes = [helper.make_node("Cos", ["x"], ["inside"]), helper.make_node(op, ["inside"], ["y"])]
        model = helper.make_model(helper.make_graph(nodes, "two", infos[:1], infos[1:]), opset_imports=[helper.make_opsetid("", 17)])
        runs = {"reference": reference, "tuned": tuned, "noise1": noisy}
        done = {name: {"values": [{"y": np.float32(values)}]} for name, values in runs.items()}
        done |= {"import": {}, "build": {"verdict": "fail", "reasons": ["1 of 1 elements are outside the tolerance"]}}
        findings, _ = judge(Case(model, [{"x": np.float32([1])}]), done, {"values": done["reference"]["values"]}, None)
        return [(finding.kind, finding.who) for finding in findings]

    def test_a_verdict_may_fail_where_rounding_decides_and_nowhere_else(self):
        failed = [("verdict", "build")]
        # Beside 1, where an ulp moves Atanh by a thousandth, and in the middle of its domain.
        self.assertEqual(self.judged("Atanh", reference=[6.533], tuned=[6.541], noisy=[6.538]), [])
        self.assertEqual(self.judged("Atanh", reference=[0.5493061], tuned=[0.5493062], noisy=[0.5493063]), failed)
        # A number that noise makes negative has a root or none.
        self.assertEqual(self.judged("Sqrt", reference=[NAN, 2], tuned=[0, 2], noisy=[0, 2]), [])
        self.assertEqual(self.judged("Sqrt", reference=[2], tuned=[2], noisy=[2]), failed)
        # It excuses no other element: 8.1 is within the fuzzer's bound here, since another is so large, and not within the tool's tolerance.
        self.assertEqual(self.judged("Sqrt", reference=[NAN, 8, 10000], tuned=[0, 8.1, 10000], noisy=[0, 8, 10000]), failed)

    def test_values_take_names_that_passes_would_give(self):
        sys.path.insert(0, str(GRAPHS))
        from case import NAMES_OF_PASSES, draw_case
        from registry import load_families

        graphs = [draw_case(seed, load_families()).model.graph for seed in range(12)]
        taken = [name for graph in graphs for node in graph.node for name in node.output if name.endswith(tuple(NAMES_OF_PASSES))]
        self.assertGreater(len(taken), 3)

    def test_what_the_reference_refuses_an_engine_must_refuse(self):
        sys.path.insert(0, str(GRAPHS))
        import numpy as np
        from case import Case
        from judge import judge
        from misfit import misfit_of
        from onnx import TensorProto, helper

        infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 3]) for name in "xyz"]
        graph = helper.make_graph([helper.make_node("Add", ["x", "y"], ["z"])], "sum", infos[:2], infos[2:])
        case = Case(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), [dict.fromkeys("xy", np.float32([[1, 2, 3], [4, 5, 6]]))])
        for case.seed in range(20):
            wrong = misfit_of(case)
            sizes = [[size for name in "xy" for size in sample[name].shape] for sample in wrong.samples]
            self.assertEqual(sizes[0], [2, 3, 2, 3])
            self.assertEqual(sum(a != b for a, b in zip(*sizes)), 1)
        refusal = {"error": {"code": 3, "message": "sizes that do not fit"}}
        answer, nothing = ({"values": [{"z": np.float32(values)}]} for values in ([1], []))
        for untuned, findings in ((answer, [("accepted", "untuned")]), (nothing, []), (refusal, []), ({"crash": "signal 11"}, [("crash", "untuned")])):
            found, _ = judge(wrong, {"import": {}, "reference": refusal, "untuned": untuned}, refusal, None)
            self.assertEqual([(finding.kind, finding.who) for finding in found], findings)

    def test_an_overflow_is_not_judged_inside_a_recurrence_only(self):
        overflow = {"reference": [1, 1e9, math.inf, 0], "tuned": [1, 1e9, math.inf, NAN], "noisy": [1, 1e9, math.inf, 0]}
        wrong = [("wrong number", "tuned")]
        self.assertEqual(self.judged("GRU", **overflow), [])
        self.assertEqual(self.judged("Exp", **overflow), wrong)
        self.assertEqual(self.judged("GRU", reference=[1, 1e9], tuned=[1, NAN], noisy=[1, 1e9]), wrong)


if __name__ == "__main__":
    unittest.main()
