"""TensorRT 10: names, modes and types of tensors, BF16, addresses of host arrays."""
import numpy as np
import tensorrt as trt

MODEL, TOLERANCE = "mlp", 2e-2


def main(model, feeds, folder):
    logger = trt.Logger(trt.Logger.INFO)
    builder = trt.Builder(logger)
    network = builder.create_network(0)
    parser = trt.OnnxParser(network, logger)
    assert parser.parse_from_file(model), parser.get_error(0).desc()
    config = builder.create_builder_config()
    config.set_flag(trt.BuilderFlag.BF16)
    config.builder_optimization_level = 1
    profile = builder.create_optimization_profile()
    for index in range(network.num_inputs):
        tensor = network.get_input(index)
        profile.set_shape(tensor.name, min=(1, 16), opt=(4, 16), max=(16, 16))
    config.add_optimization_profile(profile)
    engine = trt.Runtime(logger).deserialize_cuda_engine(builder.build_serialized_network(network, config))
    context = engine.create_execution_context()
    arrays = {}
    for name in [engine.get_tensor_name(i) for i in range(engine.num_io_tensors)]:
        if engine.get_tensor_mode(name) == trt.TensorIOMode.INPUT:
            arrays[name] = np.ascontiguousarray(feeds[name])
            assert context.set_input_shape(name, arrays[name].shape)
        else:
            arrays[name] = np.full(tuple(context.get_tensor_shape(name)), np.nan, trt.nptype(engine.get_tensor_dtype(name)))
        context.set_tensor_address(name, arrays[name].ctypes.data)
    assert context.execute_async_v3(stream_handle=0)
    return {"y": arrays["y"]}
