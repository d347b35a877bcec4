"""Runs a model that needs every worked example of adding/: added.py VERNIER, as scripts/adding builds it."""
import pathlib
import subprocess
import sys
import tempfile

import onnx
from onnx import TensorProto, helper

VERNIER = sys.argv[1]


def run(model, *options):
    """The exit status of a run beside the reference, and what it says."""
    done = subprocess.run([VERNIER, "run", str(model), "--reference", *options], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def kernels(model, *options):
    done = subprocess.run([VERNIER, "build", str(model), *options, "-o", str(model.with_suffix(".engine")), "--quiet"], capture_output=True, text=True)
    if done.returncode:
        return done.stderr
    shown = subprocess.run([VERNIER, "inspect", str(model.with_suffix(".engine")), "--show", "layers"], capture_output=True, text=True, check=True)
    return shown.stdout


with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder) / "cube.onnx"
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 3]) for name in "xy")
    nodes = [helper.make_node("Cube", ["x"], ["c"], domain="com.example"), helper.make_node("Neg", ["c"], ["y"])]
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("com.example", 1)]
    onnx.save(helper.make_model(helper.make_graph(nodes, "g", [x], [y]), opset_imports=imports, ir_version=8), path)
    for engine, kernel in (("--cpu", "cpu:cube"), ("--mirror", "mirror:Cube")):
        status, report = run(path, engine)
        assert status == 0, report
        layers = kernels(path, engine)
        assert kernel in layers, layers
    status, report = run(path, "--cpu", "--most-nodes", "1")
    assert status != 0 and "--most-nodes is 1" in report, (status, report)
print("adding: an operator, a kernel, a backend and an option work")
