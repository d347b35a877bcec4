"""The size of the output follows from that of the input, and is asked before memory is allocated."""
import numpy as np
import pycuda.driver as cuda
import tensorrt as trt

MODEL, TOLERANCE = "doubled", 0


def main(model, feeds, folder):
    logger = trt.Logger(trt.Logger.WARNING)
    builder = trt.Builder(logger)
    network = builder.create_network(1)
    assert trt.OnnxParser(network, logger).parse_from_file(model)
    config, profile = builder.create_builder_config(), builder.create_optimization_profile()
    profile.set_shape("x", (1, 3), (2, 3), (8, 3))
    config.add_optimization_profile(profile)
    context = builder.build_engine(network, config).create_execution_context()
    assert not context.all_binding_shapes_specified and -1 in context.get_tensor_shape("y")
    context.set_input_shape("x", feeds["x"].shape)
    shape = tuple(context.get_tensor_shape("y"))
    assert shape == (6, 3)
    device = [cuda.to_device(feeds["x"]), cuda.mem_alloc(trt.volume(shape) * 4)]
    start, end = cuda.Event(), cuda.Event()
    start.record()
    assert context.execute_v2([int(each) for each in device])
    end.record().synchronize()
    assert start.time_till(end) >= 0
    return {"y": cuda.from_device(device[1], shape, np.float32)}
