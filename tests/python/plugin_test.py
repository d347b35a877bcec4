"""The pytest plugin, in tests of its own."""

import json
from importlib.metadata import entry_points

from conftest import DIGITS

pytest_plugins = ["pytester"]

# Where the package is installed pytest knows the plugin; in a build folder it is told.
PLUGIN = [] if "vernier_engine" in entry_points(group="pytest11").names else ["-p", "vernier_engine.pytest_plugin"]

TESTS = f'''
import vernier_engine as vn
import numpy as np

DATA = {{"image": np.load("{DIGITS}/held_out.npz")["image"][:2]}}

def test_sound(vernier):
    report = vernier.assert_engine_matches("{DIGITS}/digits.onnx", vn.cpu(), data=DATA)
    assert report["cpu"].tensors

def test_narrow(vernier):
    vernier.assert_engine_matches("{DIGITS}/digits.onnx", vn.cpu(bf16=True), data=DATA)

def test_wrong(vernier):
    vernier.assert_engine_matches("{DIGITS}/digits.onnx", vn.cpu(inject_fault="residual"), data=DATA)
'''

METRICS = f'''
import vernier_engine as vn

DATA = dict(data="{DIGITS}/held_out.npz", labels="{DIGITS}/labels.npy", metric="top1", batch=64)

def test_sound(vernier):
    assert vernier.assert_metric("{DIGITS}/digits.onnx", vn.reference("ideal"), drop=0.02, **DATA).verdict == "pass"

def test_wrong(vernier):
    vernier.assert_metric("{DIGITS}/digits.onnx", vn.cpu(inject_fault="residual"), drop=0.02, **DATA)
'''


def test_what_differs_fails_with_its_first_node_and_leaves_its_report(pytester):
    pytester.makepyfile(TESTS)
    result = pytester.runpytest_subprocess(*PLUGIN, "--basetemp", str(pytester.path / "kept"))
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["*cpu against reference: fail*", "*the first that differs is 'block1_relu2', made by block1_*", "*all of it: *digits-report.json"])
    (kept,) = (pytester.path / "kept").rglob("digits-report.json")
    assert json.loads(kept.read_text())["verdict"] == "fail"


def test_the_fixture_is_listed_with_its_documentation(pytester):
    result = pytester.runpytest_subprocess("--fixtures", *PLUGIN)
    result.stdout.fnmatch_lines(["vernier *", "*assert_engine_matches*"])


def test_a_metric_that_drops_fails_with_the_samples_that_lost(pytester):
    pytester.makepyfile(METRICS)
    result = pytester.runpytest_subprocess(*PLUGIN, "--basetemp", str(pytester.path / "kept"))
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*digits.onnx: fail*", "*cpu: top1 *, and reference has 0.9*", "*the drop is above 0.02*", "*lost: sample *", "*all of it: *digits-evaluation.json"])
