"""Scripts for TensorRT, as people write them, run by Vernier after their imports have changed. What they compute is compared with
ONNX Runtime. A script has MODEL, a function of models.py, TOLERANCE, and main(model, feeds, folder), which returns outputs by name."""

import pathlib
import re

import models
import numpy as np
import onnxruntime
import pytest

SCRIPTS = sorted((pathlib.Path(__file__).parent / "scripts").glob("*.py"))
# docs/python.md says that these are to be changed in a script.
IMPORTS = {
    "import tensorrt as trt": "import vernier_engine.trt as trt",
    "import pycuda.driver as cuda": "import vernier_engine.trt.cuda as cuda",
    "import pycuda.autoinit": "",
    "from cuda import cudart": "from vernier_engine.trt import cudart",
}


def loaded(text, name):
    """The names of a script."""
    for line, other in IMPORTS.items():
        text = re.sub(rf"^{re.escape(line)}\b", other, text, flags=re.MULTILINE)
    assert not re.search(r"^(import|from) (tensorrt|pycuda|cuda)\b", text, re.MULTILINE)
    names = {"__name__": "script"}
    exec(compile(text, name, "exec"), names)
    return names


def expected(model, feeds, names):
    """By ONNX Runtime; names that are no outputs of the model are refused by it."""
    return onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"]).run(names, feeds)


def judge(script, folder, model=None):
    """Raises AssertionError where an output is missing or differs."""
    path, feeds = getattr(models, script["MODEL"])(folder)
    made = script["main"](str(path), feeds, folder)
    reference = script.get("reference", expected)
    assert made, "a script has to return outputs"
    for name, value in zip(made, reference(str(path), feeds, list(made))):
        assert made[name].dtype == value.dtype and made[name].shape == value.shape, name
        error = np.linalg.norm(made[name].astype(np.float64) - value) / max(np.linalg.norm(value.astype(np.float64)), 1e-30)
        assert error <= script["TOLERANCE"], f"{name}: relative L2 {error}"


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_computes_what_onnx_runtime_computes(path, tmp_path):
    judge(loaded(path.read_text(), str(path)), tmp_path)


def test_there_are_twenty_scripts_and_more():
    assert len(SCRIPTS) >= 20


@pytest.mark.parametrize("body", ["{'y': np.zeros((4, 8), np.float32)}", "{'y': np.full((4, 8), np.nan, np.float32)}", "{'y': np.zeros((4, 7), np.float32)}", "{}"])
def test_a_script_that_computes_something_else_is_found(body, tmp_path):
    script = loaded(f"import numpy as np\nMODEL, TOLERANCE = 'mlp', 1e-2\ndef main(model, feeds, folder):\n    return {body}\n", "wrong")
    with pytest.raises(AssertionError):
        judge(script, tmp_path)
