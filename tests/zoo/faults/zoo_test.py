#!/usr/bin/env python3
"""The fault zoo in small: zoo_test.py VERNIER

A case of each kind of engine and fault is diagnosed rightly; and answers that are not right are counted as what they are.
"""

import json
import pathlib
import stat
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from confidence import Stated, calibration  # noqa: E402

DRAWN = 10  # of them, by a seed that nothing was planned on
VERNIER = pathlib.Path()
# With small graphs of their own: black boxes that show, refuse, or show some of their values, or are right when they are
# looked at; an engine of ours with a fault in it, and with a model that asks too much; faults of time, state, and of the caller.
SAMPLE = [
    "B3/own-engine",
    "B8/own-product-bf16",
    "B22/own-graph",
    "B32/own-graph",
    "B33/own-ceil-mode",
    "B36/own-read-as-13-log",
    "B39/own-duplicates",
    "B41/own-one-more",
    "B43/own-graph-output",
    "B45/own-graph",
    "B46/own-graph-sums",
    "B47/own-graph-refit",
    "B48/own-graph-layout",
]


def zoo(*words) -> tuple[int, list[str]]:
    done = subprocess.run([sys.executable, HERE / "run_zoo.py", *map(str, words)], capture_output=True, text=True)
    return done.returncode, (done.stdout + done.stderr).strip().splitlines()


def that_answers(folder: pathlib.Path, culprits: list[dict], notes=()) -> pathlib.Path:
    """A program that is called as `vernier diagnose`, and finds these, whatever it is given."""
    answer = json.dumps({"healthy": not culprits, "culprits": culprits, "notes": list(notes)})
    program = folder / "answers"
    program.write_text(
        f"#!{sys.executable}\nimport pathlib, sys\n"
        f"pathlib.Path(sys.argv[sys.argv.index('--json') + 1]).write_text({answer!r})\nsys.exit({int(bool(culprits))})\n"
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return program


class Zoo(unittest.TestCase):
    def test_a_case_of_each_kind(self):
        status, lines = zoo("--unchecked", "--jobs", 2, "--vernier", VERNIER, *SAMPLE)
        names = zoo("--list", *SAMPLE)[1]
        self.assertGreaterEqual(len(names), len(SAMPLE))
        self.assertEqual(lines[-1], f"zoo: {len(names)}/{len(names)} node and class right, 0 false alarms", "\n".join(lines))
        self.assertEqual(status, 0)

    def test_a_seed_draws_the_same_places_again_and_another_one_others(self):
        names = lambda seed: [line for line in zoo("--transplants", 2, "--seed", seed, "--list", "B33/")[1] if "~" in line]
        first = names(1)
        self.assertEqual(len(first), 2)
        self.assertEqual(names(1), first)
        self.assertNotEqual(names(2), first)

    def test_a_seed_draws_the_same_faults_again_and_another_one_others(self):
        names = lambda seed: [line for line in zoo("--drawn", 3, "--seed", seed, "--list")[1] if "~" in line]
        first = names(1)
        self.assertEqual(len(first), 3)
        self.assertEqual(names(1), first)
        self.assertNotEqual(names(2), first)

    def test_a_sample_of_what_is_drawn(self):
        _, lines = zoo("--jobs", 2, "--vernier", VERNIER, "--drawn", DRAWN, "--seed", 36)
        right = sum(line.startswith("right ") for line in lines)
        self.assertGreaterEqual(right, 0.9 * DRAWN, "\n".join(lines))
        self.assertEqual(lines[-1], f"zoo: {right}/{DRAWN} node and class right, 0 false alarms")
        self.assertTrue(any(line.startswith("confidence ") for line in lines))

    def test_what_is_drawn_and_not_found_is_wrong(self):
        with tempfile.TemporaryDirectory() as folder:
            status, lines = zoo("--vernier", that_answers(pathlib.Path(folder), []), "--drawn", 2, "--seed", 36)
        self.assertEqual((status, lines[-1]), (1, "zoo: 0/2 node and class right, 0 false alarms"))
        self.assertEqual(sum(line.startswith("WRONG ") for line in lines), 2)

    def test_confidence_is_counted_against_truth(self):
        stated = [Stated(0.85, True)] * 3 + [Stated(0.83, False)] + [Stated(0.4, False)] * 2
        self.assertEqual(calibration(stated)[1:], ["0.30 to 0.50      2   0.40    0.00", "0.80 to 0.90      4   0.84    0.75"])

    def test_cases_are_what_they_say(self):
        status, lines = zoo("--check", "--vernier", VERNIER, "B32/own-graph", "B33/own-pads")
        self.assertEqual((status, lines[-1].split(" ")[0]), (0, "checked:"), "\n".join(lines))

    def test_finding_nothing_is_wrong(self):
        with tempfile.TemporaryDirectory() as folder:
            status, lines = zoo("--unchecked", "--vernier", that_answers(pathlib.Path(folder), []), "B33/own-pads")
        self.assertEqual((status, lines[-1]), (1, "zoo: 0/1 node and class right, 0 false alarms"))
        self.assertIn("B33/own-pads: nothing found", lines)

    def test_always_finding_something_is_an_alarm(self):
        culprit = {"rank": 1, "nodes": ["n2"], "values": [], "class": "B33"}
        with tempfile.TemporaryDirectory() as folder:
            answers = that_answers(pathlib.Path(folder), [culprit])
            status, lines = zoo("--unchecked", "--vernier", answers, "B33/own-pads")
            self.assertEqual((status, lines[-1]), (1, "zoo: 1/1 node and class right, 1 false alarms"))
            answers = that_answers(pathlib.Path(folder), [culprit | {"nodes": ["n1"]}])
            status, lines = zoo("--unchecked", "--vernier", answers, "B33/own-pads")
            self.assertEqual((status, lines[-1]), (1, "zoo: 0/1 node and class right, 1 false alarms"))

    def test_an_experiment_that_ends_in_an_error_is_wrong(self):
        culprit = {"rank": 1, "nodes": ["n2"], "values": [], "class": "B33"}
        with tempfile.TemporaryDirectory() as folder:
            answers = that_answers(pathlib.Path(folder), [culprit], ["the model could not be looked into: elements are moved"])
            status, lines = zoo("--unchecked", "--vernier", answers, "B33/own-pads")
        self.assertEqual((status, lines[-1]), (1, "zoo: 0/1 node and class right, 1 false alarms"))


if __name__ == "__main__":
    VERNIER = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
