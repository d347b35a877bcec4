"""A network whose types are those of the model, float16 here."""
import numpy as np
import tensorrt as trt

MODEL, TOLERANCE = "half", 2e-3


def main(model, feeds, folder):
    logger = trt.Logger(trt.Logger.WARNING)
    builder = trt.Builder(logger)
    network = builder.create_network(1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED))
    assert network.get_flag(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED)
    assert trt.OnnxParser(network, logger).parse_from_file(model)
    engine = trt.Runtime(logger).deserialize_cuda_engine(builder.build_serialized_network(network, builder.create_builder_config()))
    assert engine.get_tensor_dtype("y") == trt.DataType.HALF and trt.DataType.HALF.itemsize == 2
    result = np.full(tuple(engine.get_tensor_shape("y")), np.nan, trt.nptype(trt.float16))
    context = engine.create_execution_context()
    assert context.execute_v2([feeds["x"].ctypes.data, result.ctypes.data])
    return {"y": result}
