"""A model that was exported for two images, built for one, as scripts for YOLO do it."""
import numpy as np
import tensorrt as trt

MODEL, TOLERANCE = "static", 1e-5


def main(model, feeds, folder):
    logger = trt.Logger()
    with trt.Builder(logger) as builder, builder.create_network(1) as network, trt.OnnxParser(network, logger) as parser:
        assert parser.parse_from_file(model)
        shape = list(network.get_input(0).shape)
        shape[0] = 1
        network.get_input(0).shape = shape
        network.get_output(0).name = "scores"
        config = builder.create_builder_config()
        config.set_flag(trt.BuilderFlag.GPU_FALLBACK)
        profile = builder.create_optimization_profile()
        profile.set_shape("input", shape, shape, shape)
        config.add_optimization_profile(profile)
        engine = builder.build_engine(network, config)
    context, result = engine.create_execution_context(), np.full((2, 5), np.nan, np.float32)
    assert [tuple(engine.get_binding_shape(name)) for name in ("input", "scores")] == [(1, 3, 12, 12), (1, 5)]
    for row in range(2):
        assert context.execute_v2([feeds["input"][row:].ctypes.data, result[row:].ctypes.data])
    return {"output": result}
