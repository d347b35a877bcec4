"""FP16 where the platform is said to have it, a plan in a file, and loading it in a second step."""
import numpy as np
import tensorrt as trt
from cuda import cudart

MODEL, TOLERANCE = "digits", 1e-2


def export(path, plan_file):
    logger = trt.Logger(trt.Logger.ERROR)
    builder = trt.Builder(logger)
    network = builder.create_network(1 << int(trt.NetworkDefinitionCreationFlag.EXPLICIT_BATCH))
    parser = trt.OnnxParser(network, logger)
    assert parser.parse_from_file(path)
    config = builder.create_builder_config()
    config.set_memory_pool_limit(trt.MemoryPoolType.WORKSPACE, 1 << 30)
    if builder.platform_has_fast_fp16:
        config.set_flag(trt.BuilderFlag.FP16)
    profile = builder.create_optimization_profile()
    shape = network.get_input(0).shape
    profile.set_shape(network.get_input(0).name, *[(n, *shape[1:]) for n in (1, 4, 8)])
    config.add_optimization_profile(profile)
    with builder.build_serialized_network(network, config) as plan, open(plan_file, "wb") as file:
        file.write(plan)


def main(model, feeds, folder):
    export(model, folder / "digits.plan")
    runtime = trt.Runtime(trt.Logger(trt.Logger.ERROR))
    engine = runtime.deserialize_cuda_engine((folder / "digits.plan").read_bytes())
    context = engine.create_execution_context()
    image = feeds["image"]
    context.set_input_shape("image", image.shape)
    assert context.all_binding_shapes_specified
    result = np.full(tuple(context.get_tensor_shape("probabilities")), np.nan, np.float32)
    pointers = {}
    for name, array in (("image", image), ("probabilities", result)):
        error, pointers[name] = cudart.cudaMalloc(array.nbytes)
        assert error == cudart.cudaError_t.cudaSuccess
        context.set_tensor_address(name, pointers[name])
    _, stream = cudart.cudaStreamCreate()
    cudart.cudaMemcpyAsync(pointers["image"], image.ctypes.data, image.nbytes, cudart.cudaMemcpyKind.cudaMemcpyHostToDevice, stream)
    assert context.execute_async_v3(stream)
    cudart.cudaMemcpyAsync(result.ctypes.data, pointers["probabilities"], result.nbytes, cudart.cudaMemcpyKind.cudaMemcpyDeviceToHost, stream)
    cudart.cudaStreamSynchronize(stream)
    for pointer in pointers.values():
        assert cudart.cudaFree(pointer)[0] == 0
    return {"probabilities": result}
