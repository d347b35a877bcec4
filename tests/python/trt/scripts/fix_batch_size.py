"""The batch of a model for any size, fixed in the network before it is built; an input with another name."""
import numpy as np
import tensorrt as trt

MODEL, TOLERANCE = "digits", 1e-5


def main(model, feeds, folder):
    logger = trt.Logger(trt.Logger.WARNING)
    builder = trt.Builder(logger)
    network = builder.create_network(1)
    with open(model, "rb") as file:
        assert trt.OnnxParser(network, logger).parse(file.read())
    assert network.get_input(0).shape[0] == -1
    network.get_input(0).shape = [4, 1, 8, 8]
    assert tuple(network.get_output(0).shape) == (4, 10)
    network.get_input(0).name = "input"
    engine = builder.build_engine(network, builder.create_builder_config())
    assert engine.get_tensor_shape("input") == (4, 1, 8, 8) and tuple(engine.get_tensor_shape("probabilities")) == (4, 10)
    result = np.full((4, 10), np.nan, np.float32)
    assert engine.create_execution_context().execute_v2([feeds["image"].ctypes.data, result.ctypes.data])
    return {"probabilities": result}
