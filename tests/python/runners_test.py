"""Runners as values: what words they are, and functions and programs that run."""

import os
import sys
from contextlib import ExitStack

import ml_dtypes
import numpy as np
import pytest
import vernier_engine as vn
from conftest import ROOT, save
from onnx import TensorProto, helper
from vernier_engine._bridge import packed, unpacked


def words(runner):
    with ExitStack() as stack:
        return runner.words(stack)


def test_runners_are_words_of_the_command_line():
    assert words(vn.reference()) == ["--reference"]
    assert words(vn.reference("ideal")) == ["--reference=ideal"]
    assert words(vn.cpu(bf16=True, keep_fp32="/norm/*")) == ["--cpu", "--bf16", "--keep-fp32", "/norm/*"]
    assert words(vn.cpu(precision="f32")) == ["--cpu"] and words(vn.cpu(precision="f16")) == ["--cpu", "--fp16"]
    assert words(vn.cpu(layer_precisions={"a": "fp32", "b": "bf16"})) == ["--cpu", "--layer-precisions", "a:fp32,b:bf16"]
    assert words(vn.cuda(1, fp16=True)) == ["--cuda=1", "--fp16"]
    assert words(vn.onnxruntime()) == ["--onnxruntime"]
    assert words(vn.onnxruntime(provider="cuda", optimization="disable")) == ["--onnxruntime=cuda", "--optimization", "disable"]
    assert words(vn.onnxruntime(session={"session.x64quantprecision": "1"})) == ["--onnxruntime", "--runner-option", "session.x64quantprecision=1"]
    assert words(vn.tensorrt(python="/opt/trt/bin/python", fp16=True)) == ["--tensorrt=/opt/trt/bin/python", "--fp16"]
    assert words(vn.command("edge", "ssh jetson runner", timeout=5, level=3)) == ["--runner", "edge=ssh jetson runner", "--runner-option", "level=3", "--timeout", "5"]
    assert words(vn.load_run("a.run")) == ["--load-run", "a.run"]
    with pytest.raises(vn.Usage, match="no runner"):
        vn.compare("model.onnx", 3)


def test_options_are_words_as_people_would_write_them():
    from vernier_engine._program import option_words

    assert option_words({"opt_shapes": [{"x": (1, 3), "y": (2,)}, {"x": (8, 3), "y": (4,)}]}) == ["--opt-shapes", "x:1x3,y:2", "--opt-shapes", "x:8x3,y:4"]
    assert option_words({"atol": {"y": 1e-3, "z": 1.0}, "rtol": 0.01}) == ["--atol", "y:0.001", "--atol", "z:1.0", "--rtol", "0.01"]
    assert option_words({"shapes": {"x": (1, 3)}, "val_range": {"x": (-1, 1)}}) == ["--shapes", "x:1x3", "--val-range", "x:[-1,1]"]
    assert option_words({"cuda": True, "simulated": 3}) == ["--cuda", "--simulated=3"]
    assert option_words({"layers": True, "quiet": False, "data": None, "constant_output": ["a", "b"]}) == ["--layers", "--constant-output", "a", "--constant-output", "b"]


def test_a_program_that_speaks_the_protocol_is_a_runner(digits, images):
    mine = vn.command("mine", f"exec {sys.executable} {ROOT / 'docs/example_runner.py'}")
    assert vn.compare(digits, vn.cpu(), mine, data={"image": images[:2]}, keep_runs=False)["mine"]


def test_a_function_is_a_runner_in_this_process(chain, rows):
    seen = []

    def double(feeds):
        seen.append((os.getpid(), feeds["x"].shape))
        raise ValueError("not today") if len(seen) == 2 else None

    found = vn.compare(chain, vn.reference(), double, data=[{"x": rows}, {"x": rows[:2]}], keep_runs=False)
    assert seen == [(os.getpid(), (4, 16)), (os.getpid(), (2, 16))]
    assert not found and "double" in found.comparisons[0].actual
    assert any("not today" in failure and "runners_test.py" in failure for failure in found.failures)

    session = vn.Session(chain, threads=1, verify=False)
    for function in (lambda feeds: session.run(None, feeds), lambda feeds: session(feeds), lambda feeds: session.run(None, feeds)[0]):
        assert vn.compare(chain, vn.reference(), vn.callable(function, "mine"), data={"x": rows}, keep_runs=False)["mine"]
    found = vn.compare(chain, vn.reference(), vn.callable(lambda feeds: [rows, rows], "two"), data={"x": rows}, keep_runs=False)
    assert any("2 values came back, and the model has 1 outputs: y" in failure for failure in found.failures)


@pytest.mark.parametrize("element_type, dtype", [(TensorProto.BFLOAT16, ml_dtypes.bfloat16), (TensorProto.FLOAT8E4M3FN, ml_dtypes.float8_e4m3fn),
                                                 (TensorProto.INT4, ml_dtypes.int4), (TensorProto.UINT4, ml_dtypes.uint4), (TensorProto.DOUBLE, np.float64)])  # fmt: skip
def test_functions_get_and_give_every_element_type(tmp_path, element_type, dtype):
    model = save(tmp_path / "same.onnx", [helper.make_node("Identity", ["x"], ["y"])], [("x", element_type, [5])], [("y", element_type, [5])])
    seen = []

    def same(feeds):
        seen.append(feeds["x"])
        return {"y": feeds["x"]}

    x = np.array([0, 1, 2, 7, 3]).astype(dtype)
    found = vn.compare(model, vn.reference(), same, data={"x": x}, keep_runs=False)
    assert seen[0].dtype == dtype and np.array_equal(seen[0].astype(float), x.astype(float))
    assert found["same"]["y"].metrics.mismatching == 0


@pytest.mark.parametrize("dtype", [ml_dtypes.int4, ml_dtypes.uint4, ml_dtypes.int2, ml_dtypes.uint2, ml_dtypes.float4_e2m1fn, ml_dtypes.float8_e5m2])
def test_packing_is_undone_by_unpacking(dtype):
    for count in range(1, 9):
        x = np.arange(count).astype(np.float32).astype(dtype) if dtype is ml_dtypes.float4_e2m1fn else (np.arange(count) % 4 - 2 * (np.dtype(dtype).name[0] == "i")).astype(dtype)
        again = unpacked(packed("x", x))
        assert again.dtype == x.dtype and np.array_equal(again.astype(np.float32), x.astype(np.float32))


def test_a_module_of_torch_is_a_runner(chain, rows):
    torch = pytest.importorskip("torch")
    import onnx

    weights = {each.name: torch.from_numpy(onnx.numpy_helper.to_array(each).copy()) for each in onnx.load(chain).graph.initializer}

    class Chain(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = torch.nn.Parameter(weights["w"]), torch.nn.Parameter(weights["v"])

        def forward(self, x):
            return torch.softmax(torch.relu(x @ self.first + weights["b"]) @ self.second, dim=-1)

    module = Chain().eval()
    for runner in (vn.torch(module, inputs=["x"]), vn.torch(module), vn.torch(module, outputs=["y"]), module):
        found = vn.compare(chain, vn.reference(), runner, data={"x": rows}, keep_runs=False)
        assert found["torch"] and found.environment["torch: module"] == "Chain"
    noted = vn.compare(chain, vn.reference(), vn.torch(Chain()), data={"x": torch.from_numpy(rows)}, keep_runs=False)
    assert any("training mode" in note for note in noted["torch"].notes)


def test_openvino_is_a_runner(chain, rows):
    pytest.importorskip("openvino")
    found = vn.compare(chain, vn.reference(), vn.openvino(), data={"x": rows}, keep_runs=False)
    assert found["openvino"], found
    timed = vn.bench(chain, versus=vn.openvino(), shapes={"x": (4, 16)}, duration=0.2, warmup=0)
    assert timed.versus["openvino"].ratio > 0
    wrong = vn.compare(chain, vn.reference(), vn.openvino(precision="f31"), data={"x": rows}, keep_runs=False)
    assert wrong["openvino"].verdict == "not_compared" and "f31" in wrong["openvino"].reasons[0]


@pytest.mark.parametrize("runner, package", [(vn.tensorrt(), "tensorrt"), (vn.openvino(), "openvino")])
def test_a_package_that_is_not_there_is_said(chain, rows, runner, package):
    try:
        __import__(package)
    except ImportError:
        found = vn.compare(chain, vn.reference(), vn.cpu(), runner, data={"x": rows})
        assert not found and found["cpu"] and found[package].verdict == "not_compared"
        assert any(f"cannot import {package}" in reason for reason in found[package].reasons)
        assert found.rejudge()["cpu"]  # of the runners that made something
