"""Features that Vernier does not have are refused by name with the reason, and options without effect are named once."""

import types

import pytest
import vernier_engine as vn
import vernier_engine.trt as trt
from conftest import DIGITS, save
from emulation import log, parsed  # noqa: F401
from onnx import TensorProto, helper


@pytest.fixture(scope="module")
def world():
    """Everything that a script may hold."""
    builder = trt.Builder(trt.Logger())
    network, config = builder.create_network(), builder.create_builder_config()
    assert trt.OnnxParser(network, trt.Logger()).parse_from_file(DIGITS / "digits.onnx")
    engine = builder.build_engine(network, config)
    return types.SimpleNamespace(
        builder=builder, network=network, config=config, engine=engine, context=engine.create_execution_context(),
        image=network.get_input(0), layer=network.get_layer(0), runtime=trt.Runtime(trt.Logger()), registry=trt.get_plugin_registry(),
        parser=trt.OnnxParser(network, trt.Logger()), cache=config.create_timing_cache(b"{}"), profile=builder.create_optimization_profile(),
    )  # fmt: skip


REFUSED = {
    "w.config.set_flag(trt.BuilderFlag.FP8)": "FP8: .*QuantizeLinear",
    "w.config.set_flag(trt.BuilderFlag.INT4)": "INT4: .*calibration",
    "w.config.set_flag(trt.BuilderFlag.FP4)": "FP4: no kernel",
    "w.config.set_flag(trt.BuilderFlag.SAFETY_SCOPE)": "SAFETY_SCOPE: there is no safety runtime",
    "w.config.set_flag(trt.BuilderFlag.ERROR_ON_TIMING_CACHE_MISS)": "ERROR_ON_TIMING_CACHE_MISS: a build times",
    "w.config.set_flag(trt.BuilderFlag.REFIT_INDIVIDUAL)": "REFIT_INDIVIDUAL: weights come from an ONNX model",
    "setattr(w.config, 'flags', 1 << int(trt.BuilderFlag.FP8))": "FP8",
    "setattr(w.config, 'default_device_type', trt.DeviceType.DLA)": "default_device_type = DeviceType.DLA: there is no DLA",
    "setattr(w.config, 'DLA_core', 0)": "DLA_core = 0: there is no DLA",
    "w.config.set_device_type(w.layer, trt.DeviceType.DLA)": "set_device_type.stem_conv.*there is no DLA",
    "w.config.set_memory_pool_limit(trt.MemoryPoolType.DLA_LOCAL_DRAM, 1)": "DLA_LOCAL_DRAM: there is no DLA",
    "setattr(w.config, 'engine_capability', trt.EngineCapability.SAFETY)": "engine_capability = .*no safety runtime",
    "setattr(w.config, 'plugins_to_serialize', ['a.so'])": "plugins_to_serialize.*compiled for its interface",
    "setattr(w.config, 'algorithm_selector', None)": "algorithm_selector: tactics are chosen by vernier_options",
    "setattr(w.config, 'progress_monitor', None)": "progress_monitor: give vernier_options",
    "setattr(w.config, 'fp16_mode', True)": "IBuilderConfig.fp16_mode: this emulation of TensorRT has no such name",
    "setattr(w.builder, 'fp16_mode', True)": "Builder.fp16_mode: set BuilderFlag.FP16",
    "setattr(w.builder, 'int8_mode', True)": "Builder.int8_mode: set BuilderFlag.INT8",
    "setattr(w.builder, 'max_workspace_size', 1)": "Builder.max_workspace_size: set it of the configuration",
    "setattr(w.builder, 'gpu_allocator', 1)": "gpu_allocator = 1: sessions get their working memory",
    "w.builder.build_cuda_engine": "build_cuda_engine: TensorRT 8 has it no more",
    "w.network.add_convolution_nd": "add_convolution_nd: networks come from ONNX",
    "w.network.add_input": "add_input: networks come from ONNX",
    "w.network.remove_tensor": "remove_tensor: change the ONNX model",
    "setattr(w.layer.get_output(0), 'name', 'other')": "only inputs and outputs are renamed: rename 'stem_conv'",
    "setattr(w.image, 'dtype', trt.float16)": "dtype = DataType.HALF: inputs and outputs have the types of the model",
    "setattr(w.image, 'allowed_formats', 1 << int(trt.TensorFormat.CHW4))": "allowed_formats = .*layout of the model",
    "setattr(w.image, 'location', trt.TensorLocation.HOST)": "location = TensorLocation.HOST",
    "setattr(w.image, 'shape', (-1, 1, 8, 8))": "only inputs take sizes",
    "setattr(w.layer.get_output(0), 'shape', (4, 48, 8, 8))": "only inputs take sizes",
    "setattr(w.image, 'shape', (4, 3))": "only inputs take sizes",
    "setattr(w.layer, 'name', 'other')": "names of the ONNX nodes: rename 'stem_conv'",
    "w.parser.parse_with_weight_descriptors": "parse_with_weight_descriptors: give the file",
    "w.parser.load_initializer": "load_initializer: weights are those of the model",
    "w.cache.combine(w.config.create_timing_cache(b'{ }'), False)": "two caches are not merged",
    "w.profile.extra_memory_target": "extra_memory_target: memory of the CPU",
    "w.runtime.load_runtime": "load_runtime: there is no lean runtime",
    "setattr(w.runtime, 'DLA_core', 1)": "DLA_core = 1: there is no DLA",
    "setattr(w.runtime, 'gpu_allocator', 1)": "gpu_allocator = 1",
    "w.engine.weight_streaming_budget": "weight_streaming_budget: memory of the CPU",
    "w.context.execute_async": "execute_async: engines with an implicit batch are gone",
    "w.context.execute": "execute: engines with an implicit batch are gone",
    "w.context.set_shape_input": "set_shape_input: values of inputs are read",
    "setattr(w.context, 'temporary_allocator', 1)": "temporary_allocator = 1: sessions get",
    "w.registry.register_creator": "register_creator: .*takes no plugins",
    "w.registry.load_library": "load_library: .*takes no plugins",
    "type('Mine', (trt.IPluginV2DynamicExt,), {})": "Mine is derived from IPluginV2DynamicExt: .*takes no plugins",
    "type('Mine', (trt.IPluginV3,), {})": "Mine is derived from IPluginV3",
    "type('Mine', (trt.IPluginCreator,), {})": "Mine is derived from IPluginCreator",
    "trt.PluginField('a', b'', None)": "PluginField: .*takes no plugins",
    "trt.Refitter(w.engine, trt.Logger()).set_named_weights": "set_named_weights: weights come from an ONNX model",
    "trt.Refitter(w.engine, trt.Logger()).get_all_weights": "get_all_weights: weights come from an ONNX model",
    "trt.IAlgorithmSelector": "IAlgorithmSelector: tactics",
    "trt.IProgressMonitor": "IProgressMonitor: give",
    "trt.IGpuAllocator": "IGpuAllocator: sessions",
    "trt.UffParser": "UffParser: TensorRT has it no more",
    "trt.NoSuchThing": "NoSuchThing: this emulation of TensorRT has no such name",
}  # fmt: skip


@pytest.mark.parametrize("use", REFUSED)
def test_what_is_not_done_is_refused_by_name(world, use):
    with pytest.raises(trt.NotOffered, match=REFUSED[use]) as caught:
        eval(use, {"w": world, "trt": trt})
    assert isinstance(caught.value, vn.Unsupported) and isinstance(caught.value, AttributeError) and caught.value.code == "unsupported"


def test_scripts_can_ask_what_there_is():
    assert not hasattr(trt, "IGpuAllocator") and hasattr(trt, "IInt8EntropyCalibrator2")
    assert not hasattr(trt.Builder(trt.Logger()), "build_cuda_engine")


def test_layers_ask_for_types_that_there_are(parsed, tmp_path, log):
    builder, network, config, _ = parsed()
    network.get_layer(0).precision = trt.int64
    with pytest.raises(vn.Unsupported, match="not in DataType.INT64"):
        builder._options(network, config, tmp_path, "")
    split = save(tmp_path / "split.onnx", [helper.make_node("Split", ["x"], ["a", "b"], "split", num_outputs=2)], [("x", TensorProto.FLOAT, [4])],
                 [("a", TensorProto.FLOAT, [2]), ("b", TensorProto.FLOAT, [2])])  # fmt: skip
    network = builder.create_network()
    assert trt.OnnxParser(network, log).parse_from_file(split)
    network[0].set_output_type(0, trt.float16)
    network[0].set_output_type(1, trt.float32)
    with pytest.raises(trt.NotOffered, match="outputs of 'split' have types of their own"):
        builder.build_serialized_network(network, config)


IGNORED = {
    "TF32": "set_flag(trt.BuilderFlag.TF32)", "GPU_FALLBACK": "set_flag(trt.BuilderFlag.GPU_FALLBACK)", "DEBUG": "set_flag(trt.BuilderFlag.DEBUG)",
    "DIRECT_IO": "set_flag(trt.BuilderFlag.DIRECT_IO)", "SPARSE_WEIGHTS": "set_flag(trt.BuilderFlag.SPARSE_WEIGHTS)",
    "REFIT_IDENTICAL": "set_flag(trt.BuilderFlag.REFIT_IDENTICAL)", "VERSION_COMPATIBLE": "set_flag(trt.BuilderFlag.VERSION_COMPATIBLE)",
    "set_tactic_sources": "set_tactic_sources(1 << int(trt.TacticSource.CUDNN))", "avg_timing_iterations": "__setattr__('avg_timing_iterations', 8)",
    "profiling_verbosity": "__setattr__('profiling_verbosity', trt.ProfilingVerbosity.DETAILED)",
    "hardware_compatibility_level": "__setattr__('hardware_compatibility_level', trt.HardwareCompatibilityLevel.AMPERE_PLUS)",
    "TACTIC_DRAM": "set_memory_pool_limit(trt.MemoryPoolType.TACTIC_DRAM, 1)",
    "PROFILE_SHARING_0806": "set_preview_feature(trt.PreviewFeature.PROFILE_SHARING_0806, True)",
    "CALIBRATE_BEFORE_FUSION": "set_quantization_flag(trt.QuantizationFlag.CALIBRATE_BEFORE_FUSION)",
}  # fmt: skip


@pytest.mark.parametrize("name", IGNORED)
def test_what_has_no_effect_is_said_once(log, name):
    config = trt.Builder(log).create_builder_config()
    for _ in range(2):
        eval(f"config.{IGNORED[name]}", {"config": config, "trt": trt})
    (line,) = log.of(trt.ILogger.WARNING)
    assert f"{name} is accepted without effect: " in line and log.lines == [(trt.ILogger.WARNING, line)]


def test_what_has_no_effect_elsewhere_is_said_too(log, parsed):
    builder, network, config, _ = parsed()
    builder.max_batch_size = 8
    builder.create_optimization_profile().set_shape_input("shape", (1,), (2,), (3,))
    trt.OnnxParser(network, log).set_flag(trt.OnnxParserFlag.NATIVE_INSTANCENORM)
    engine = builder.build_engine(network, config)
    context = engine.create_execution_context_without_device_memory()
    context.device_memory = engine.device_memory_size
    context.debug_sync = True
    engine.create_execution_context(trt.ExecutionContextAllocationStrategy.USER_MANAGED).set_device_memory(0, 0)
    warned = " ".join(log.of(trt.ILogger.WARNING))
    assert builder.max_batch_size == 8 and all(name in warned for name in 
        ("Builder.max_batch_size", "set_shape_input('shape')", "OnnxParser.flags", "IExecutionContext.device_memory", "USER_MANAGED", "debug_sync", "set_device_memory"))


def test_flags_that_have_an_effect_warn_of_nothing(log):
    config = trt.Builder(log).create_builder_config()
    for name in ("FP16", "BF16", "INT8", "OBEY_PRECISION_CONSTRAINTS", "PREFER_PRECISION_CONSTRAINTS", "STRICT_TYPES", "DISABLE_TIMING_CACHE", "REFIT", "STRIP_PLAN"):
        config.set_flag(trt.BuilderFlag[name])
        assert config.get_flag(trt.BuilderFlag[name])
    config.clear_flag(trt.BuilderFlag.FP16)
    assert not config.get_flag(trt.BuilderFlag.FP16) and log.lines == []
    config.reset()
    assert config.flags == 1 << int(trt.BuilderFlag.TF32)
