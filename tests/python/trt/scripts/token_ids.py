"""Two inputs of a language model, int64 ids and a mask, both with two sizes that are not known."""
import numpy as np
import tensorrt as trt
from cuda import cudart

MODEL, TOLERANCE = "tokens", 1e-5


def check(result):
    error, *values = result
    if int(error) != 0:
        raise RuntimeError(cudart.cudaGetErrorString(error)[1])
    return values[0] if values else None


def main(model, feeds, folder):
    logger = trt.Logger(trt.Logger.WARNING)
    builder = trt.Builder(logger)
    network = builder.create_network(0)
    assert trt.OnnxParser(network, logger).parse_from_file(model)
    config, profile = builder.create_builder_config(), builder.create_optimization_profile()
    for i in range(network.num_inputs):
        profile.set_shape(network.get_input(i).name, (1, 1), (3, 7), (8, 16))
    config.add_optimization_profile(profile)
    engine = trt.Runtime(logger).deserialize_cuda_engine(builder.build_serialized_network(network, config))
    context, stream = engine.create_execution_context(), check(cudart.cudaStreamCreate())
    held = {}
    for name, array in feeds.items():
        assert array.dtype == trt.nptype(engine.get_tensor_dtype(name))
        context.set_input_shape(name, array.shape)
        held[name] = check(cudart.cudaMallocAsync(array.nbytes, stream))
        check(cudart.cudaMemcpyAsync(held[name], array.ctypes.data, array.nbytes, cudart.cudaMemcpyKind.cudaMemcpyHostToDevice, stream))
        context.set_tensor_address(name, held[name])
    assert context.infer_shapes() == []
    result = np.full(tuple(context.get_tensor_shape("pooled")), np.nan, np.float32)
    held["pooled"] = check(cudart.cudaMalloc(result.nbytes))
    context.set_tensor_address("pooled", held["pooled"])
    assert context.execute_async_v3(stream)
    check(cudart.cudaMemcpy(result.ctypes.data, held["pooled"], result.nbytes, cudart.cudaMemcpyKind.cudaMemcpyDeviceToHost))
    check(cudart.cudaStreamDestroy(stream))
    for pointer in held.values():
        check(cudart.cudaFree(pointer))
    return {"pooled": result}
