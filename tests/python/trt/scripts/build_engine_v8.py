"""TensorRT 8: build_engine, bindings by number, device memory of pycuda."""
import numpy as np
import pycuda.autoinit
import pycuda.driver as cuda
import tensorrt as trt

MODEL, TOLERANCE = "static", 1e-5
LOGGER = trt.Logger(trt.Logger.WARNING)


def build(path):
    builder = trt.Builder(LOGGER)
    builder.max_batch_size = 1
    network = builder.create_network(1 << int(trt.NetworkDefinitionCreationFlag.EXPLICIT_BATCH))
    config = builder.create_builder_config()
    config.max_workspace_size = 1 << 28
    parser = trt.OnnxParser(network, LOGGER)
    with open(path, "rb") as file:
        if not parser.parse(file.read()):
            raise RuntimeError([str(parser.get_error(i)) for i in range(parser.num_errors)])
    return builder.build_engine(network, config)


def main(model, feeds, folder):
    engine = build(model)
    context = engine.create_execution_context()
    source = np.ascontiguousarray(feeds["input"])
    result = np.full(trt.volume(engine.get_binding_shape(1)), np.nan, trt.nptype(engine.get_binding_dtype(1)))
    d_input, d_output = cuda.mem_alloc(source.nbytes), cuda.mem_alloc(result.nbytes)
    cuda.memcpy_htod(d_input, source)
    assert context.execute_v2(bindings=[int(d_input), int(d_output)])
    cuda.memcpy_dtoh(result, d_output)
    return {engine.get_binding_name(1): result.reshape(tuple(engine.get_binding_shape(1)))}
