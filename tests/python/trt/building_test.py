"""Builds: what a script asks for becomes options, the verdict goes to the logger, and errors are said."""

import dataclasses
import re
import sys

import numpy as np
import pytest
import vernier_engine as vn
import vernier_engine.trt as trt
from conftest import save
from emulation import log, parsed  # noqa: F401
from onnx import TensorProto, helper

ERROR, WARNING, INFO = trt.ILogger.ERROR, trt.ILogger.WARNING, trt.ILogger.INFO


def indefinite(folder):
    """0 / 0, of which no data show whether an engine computes it."""
    nodes = [helper.make_node("Sub", ["x", "x"], ["d"], "sub"), helper.make_node("Div", ["d", "d"], ["y"], "div")]
    return save(folder / "indefinite.onnx", nodes, [("x", TensorProto.FLOAT, [4, 8])], [("y", TensorProto.FLOAT, [4, 8])])


def test_a_pass_is_told_and_goes_with_the_plan(parsed, log):
    builder, network, config, _ = parsed()
    assert builder.is_network_supported(network, config)
    plan = builder.build_serialized_network(network, config)
    assert plan.vernier.verdict == "pass" and plan.nbytes == len(plan) > 1000 and isinstance(plan, bytes)
    told = log.of(INFO)
    assert any(line.startswith("accuracy verdict: pass; relative L2 against what it promises: output ") for line in told)
    assert any(line.startswith("precision audit: 0 of 6 nodes differ") for line in told) and not log.of(ERROR) and not log.of(WARNING)


def test_an_engine_that_fails_its_verdict_is_none_unless_it_is_asked_for(parsed, log, monkeypatch):
    builder, network, config, feeds = parsed("digits")
    config.vernier_options = {"inject_fault": "residual"}
    assert builder.build_serialized_network(network, config) is None
    (line,) = log.of(ERROR)
    assert line.startswith("accuracy verdict: fail: ") and "no engine is given" in line
    config.vernier_keep_failed = True

    def build(model, **options):  # no engine with a fault that is injected is ever written
        return vn.build(model, **{name: value for name, value in options.items() if name != "inject_fault" or "verify" not in options})

    monkeypatch.setattr("vernier_engine.trt.builder.build", build)
    plan = builder.build_serialized_network(network, config)
    assert plan.vernier.verdict == "fail" and log.of(ERROR)[1].endswith("the engine is given all the same")
    assert trt.Runtime(log).deserialize_cuda_engine(plan).num_io_tensors == 2


def test_an_engine_that_data_do_not_judge_is_given_with_a_warning(tmp_path, log):
    builder = trt.Builder(log)
    network = builder.create_network()
    assert trt.OnnxParser(network, log).parse_from_file(indefinite(tmp_path))
    plan = builder.build_serialized_network(network, builder.create_builder_config())
    assert plan.vernier.verdict == "mistrusted" and not log.of(ERROR)
    assert any(line.startswith("accuracy verdict: mistrusted: y: ") for line in log.of(WARNING))
    y = np.zeros((4, 8), np.float32)
    assert trt.Runtime(log).deserialize_cuda_engine(plan).create_execution_context().execute_v2([y.copy().ctypes.data, y.ctypes.data])
    assert np.isnan(y).all()


@pytest.mark.parametrize(
    "flags, types, why",
    [(2, ["FP16"], "strongly typed network.*BuilderFlag.FP16"), (1, ["FP16", "BF16"], "FP16 and BuilderFlag.BF16.*one of the two")],
)
def test_flags_that_contradict_give_no_engine(parsed, log, flags, types, why):
    builder, network, config, _ = parsed(flags=flags)
    for name in types:
        config.set_flag(trt.BuilderFlag[name])
    assert not builder.is_network_supported(network, config)
    assert builder.build_engine(network, config) is None
    (line,) = log.of(ERROR)
    assert re.search(why, line)


def test_constraints_decide_whether_a_build_stops(parsed, log):
    class Calibrator(trt.IInt8MinMaxCalibrator):
        left = 1

        def get_batch_size(self):
            return 4

        def get_batch(self, names):
            self.left -= 1
            return [feeds["x"]] if self.left >= 0 else None

    for flag, built in (("OBEY_PRECISION_CONSTRAINTS", False), ("PREFER_PRECISION_CONSTRAINTS", True)):
        builder, network, config, feeds = parsed("mlp")
        config.set_flag(trt.BuilderFlag.INT8)
        config.set_flag(trt.BuilderFlag[flag])
        config.int8_calibrator = Calibrator()
        next(layer for layer in network if layer.name == "softmax").precision = trt.int8
        assert (builder.build_serialized_network(network, config) is not None) == built, log.lines
    assert "'softmax'" in log.of(ERROR)[0] and "int8 is for contractions, and not for: softmax" in log.of(WARNING)


def test_types_of_layers_become_options(parsed, tmp_path, log):
    builder, network, config, _ = parsed("tokens")
    for layer in network:
        layer.precision = trt.float16
        layer.set_output_type(0, trt.float32)
    assert network[0].precision_is_set and network[0].output_type_is_set(0)
    options = builder._options(network, config, tmp_path, "")
    assert options["layer_precisions"] == dict.fromkeys(("embed", "wide", "mul", "mean"), "fp16") and options["precision_constraints"] == "prefer"
    assert set(options["layer_output_types"].values()) == {"fp32"}
    for layer in network:
        layer.reset_precision()
        layer.reset_output_type(0)
    assert builder._options(network, config, tmp_path, "") == {"opt_level": 3}


def test_names_with_commas_and_layers_without_floats(tmp_path, log):
    nodes = [helper.make_node("Relu", ["x"], ["r"], "a,b*c"), helper.make_node("Shape", ["r"], ["s"], "shape"), helper.make_node("Cast", ["s"], ["y"], "cast", to=1)]
    path = save(tmp_path / "names.onnx", nodes, [("x", TensorProto.FLOAT, ["n", 4])], [("r", TensorProto.FLOAT, ["n", 4]), ("y", TensorProto.FLOAT, [2])])
    builder = trt.Builder(log)
    network = builder.create_network()
    assert trt.OnnxParser(network, log).parse_from_file(path)
    assert [layer.type for layer in network] == [trt.LayerType.ACTIVATION, trt.LayerType.SHAPE, trt.LayerType.CAST]
    for layer in network:
        layer.precision = trt.float16
    config = builder.create_builder_config()
    config.set_flag(trt.BuilderFlag.OBEY_PRECISION_CONSTRAINTS)
    plan = builder.build_serialized_network(network, config)
    assert plan.vernier.audit["a,b*c"].requested.store == "f16"
    assert "types of layers that make no floats are left as they are: shape" in log.of(WARNING)


def test_int8_without_ranges_is_said(parsed, log):
    builder, network, config, _ = parsed()
    config.set_flag(trt.BuilderFlag.INT8)
    assert builder.build_serialized_network(network, config).vernier.verdict == "pass"
    assert any("INT8 without calibrator or ranges" in line for line in log.of(WARNING))


class Fixed(trt.IInt8EntropyCalibrator2):
    """Gives what it was made with, once."""

    def __init__(self, *given):
        super().__init__()
        self.given = list(given)

    def get_batch_size(self):
        return 2

    def get_batch(self, names):
        return self.given.pop() if self.given else None


@pytest.mark.parametrize(
    "given, why",
    [([], "data hold no sample"), ([[np.zeros((2, 3, 12, 12)), np.zeros(1)]], "get_batch gave 2 values for 1 inputs .input"),
     ([[64]], "the batch of 'input' is at address 0x40"), ([[np.zeros((2, 3, 12, 11), np.float32)]], "input")],
)  # fmt: skip
def test_calibrators_that_go_wrong_give_no_engine(parsed, log, given, why):
    builder, network, config, _ = parsed()
    config.set_flag(trt.BuilderFlag.INT8)
    config.int8_calibrator = Fixed(*given)
    assert builder.build_serialized_network(network, config) is None
    assert why in log.of(ERROR)[0].replace("(input)", ".input")


def test_calibration_needs_sizes_and_a_calibrator(parsed, log):
    builder, network, config, feeds = parsed("tokens")
    config.set_flag(trt.BuilderFlag.INT8)
    config.int8_calibrator = Fixed([each.ctypes.data for each in feeds.values()])
    assert builder.build_serialized_network(network, config) is None
    assert "sizes of 'input_ids'" in log.of(ERROR)[0] and "set_calibration_profile" in log.of(ERROR)[0]
    with pytest.raises(TypeError, match="derived from no calibrator"):
        config.int8_calibrator = object()


def test_a_cache_of_tensorrt_is_read(parsed, log):
    class Cached(trt.IInt8EntropyCalibrator2):
        def read_calibration_cache(self):
            return b"TRT-8601-EntropyCalibration2\ninput: 3d010a14\nc: 3d010a14\nr: 3d010a14\np: 3c810a14\nf: 3c810a14\n"

    builder, network, config, _ = parsed()
    config.set_flag(trt.BuilderFlag.INT8)
    config.int8_calibrator = Cached()
    assert builder.build_serialized_network(network, config).vernier.audit["conv1"].executed.accumulate == "i32"
    assert "int8: scales of the calibration cache" in log.of(INFO)


def test_nodes_that_differ_from_what_was_asked_for_are_told(parsed, log, monkeypatch):
    def build(model, **options):
        made = vn.build(model, **options)
        nodes = tuple(dataclasses.replace(each, difference="wider" if each.node == "conv1" else "") for each in made.audit.nodes)
        made.report = dataclasses.replace(made.report, audit=dataclasses.replace(made.audit, nodes=nodes))
        return made

    monkeypatch.setattr("vernier_engine.trt.builder.build", build)
    builder, network, config, _ = parsed()
    assert builder.build_serialized_network(network, config) is not None
    assert log.of(WARNING) == ["precision audit: 1 of 6 nodes differ from what was asked for", "precision audit: conv1: wider, computes in f32 instead of f32"]


def test_networks_that_changed_need_onnx(parsed, log, monkeypatch):
    builder, network, config, _ = parsed()
    network.mark_output(network[0].get_output(0))
    monkeypatch.setitem(sys.modules, "onnx", None)
    assert builder.build_serialized_network(network, config) is None
    assert "the package onnx is needed (pip install onnx)" in log.of(ERROR)[0]


def test_a_workspace_that_is_too_small_is_left_out_and_said(parsed, log):
    builder, network, config, _ = parsed()
    config.set_memory_pool_limit(trt.MemoryPoolType.WORKSPACE, 16)
    assert config.max_workspace_size == config.get_memory_pool_limit(trt.MemoryPoolType.WORKSPACE) == 16
    assert builder.build_serialized_network(network, config) is not None
    assert any(line.startswith("the limit of the workspace is left out: ") for line in log.of(WARNING))
    config.max_workspace_size = 1 << 26
    assert builder.build_serialized_network(network, config).vernier.report.options["workspace"] == "67108864B"


def test_timing_caches_of_tensorrt_are_left_out(log):
    config = trt.Builder(log).create_builder_config()
    cache = config.create_timing_cache(b"\x13\x37 something of TensorRT")
    assert cache.serialize() == b"" and "no timing cache of Vernier" in log.of(WARNING)[0]
    assert cache.combine(config.create_timing_cache(b"{}"), True) and cache.serialize() == b"{}" and cache.reset() and cache.serialize() == b""


def test_networks_and_profiles_that_are_empty(log):
    builder = trt.Builder(log)
    config, network = builder.create_builder_config(), builder.create_network()
    assert builder.build_engine(network, config) is None and "no parser has read a model" in log.of(ERROR)[0]
    assert config.add_optimization_profile(builder.create_optimization_profile()) == -1 and "no sizes" in log.of(ERROR)[1]
    with pytest.raises(ValueError, match="do not rise"):
        builder.create_optimization_profile().set_shape("x", (2,), (1,), (3,))
    with pytest.raises(TypeError, match="ILogger"):
        trt.Builder(None)
    with pytest.raises(vn.Usage, match="EXPLICIT_BATCH"):
        builder.create_network(1 << 7)


def test_loggers_filter_and_print(capsys):
    logger = trt.Logger(trt.Logger.WARNING)
    logger.log(trt.Logger.INFO, "quiet")
    logger.log(trt.Logger.ERROR, "loud\nlines")
    lines = capsys.readouterr().err.splitlines()
    assert [line.split("] ", 1)[1] for line in lines] == ["[TRT] [E] loud", "[TRT] [E] lines"]
    with pytest.raises(NotImplementedError, match="no method log"):
        trt.ILogger().log(trt.ILogger.INFO, "nothing")
