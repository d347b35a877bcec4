"""Profiles for small and for large batches, which the old interface numbers one after the other."""
import numpy as np
import tensorrt as trt

MODEL, TOLERANCE = "mlp", 1e-5


def main(model, feeds, folder):
    logger = trt.Logger(trt.Logger.WARNING)
    builder = trt.Builder(logger)
    network = builder.create_network(1)
    assert trt.OnnxParser(network, logger).parse_from_file(model)
    config = builder.create_builder_config()
    for sizes in ((1, 1, 2), (3, 4, 8)):
        profile = builder.create_optimization_profile()
        profile.set_shape("x", *[(n, 16) for n in sizes])
        config.add_optimization_profile(profile)
    engine = builder.build_engine(network, config)
    assert engine.num_optimization_profiles == 2 and engine.num_bindings == 4
    assert [engine.get_profile_shape(1, 0)[i][0] for i in range(3)] == [3, 4, 8]
    context = engine.create_execution_context()
    assert not context.set_binding_shape(0, (4, 16))
    context.set_optimization_profile_async(1, 0)
    assert context.active_optimization_profile == 1
    first = engine.num_bindings // engine.num_optimization_profiles
    assert context.set_binding_shape(first, (4, 16)) and engine.get_binding_name(first) == "x [profile 1]"
    result = np.full((4, 8), np.nan, np.float32)
    bindings = [0] * engine.num_bindings
    bindings[first], bindings[first + 1] = feeds["x"].ctypes.data, result.ctypes.data
    assert context.execute_async_v2(bindings, 0)
    return {"y": result}
