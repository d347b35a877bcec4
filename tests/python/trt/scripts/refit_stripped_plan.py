"""A plan without weights, which get into it from the ONNX model where it is loaded."""
import numpy as np
import tensorrt as trt

MODEL, TOLERANCE = "static", 1e-5


def main(model, feeds, folder):
    logger = trt.Logger(trt.Logger.WARNING)
    builder = trt.Builder(logger)
    network, config = builder.create_network(1), builder.create_builder_config()
    assert trt.OnnxParser(network, logger).parse_from_file(model)
    whole = builder.build_serialized_network(network, config)
    config.set_flag(trt.BuilderFlag.STRIP_PLAN)
    stripped = builder.build_serialized_network(network, config)
    assert len(stripped) < len(whole)
    engine = trt.Runtime(logger).deserialize_cuda_engine(stripped)
    refitter = trt.Refitter(engine, logger)
    assert refitter.get_missing_weights()
    assert trt.OnnxParserRefitter(refitter, logger).refit_from_file(model)
    assert refitter.get_missing_weights() == [] and refitter.refit_cuda_engine()
    result = np.full(tuple(engine.get_tensor_shape("output")), np.nan, np.float32)
    assert engine.create_execution_context().execute_v2([feeds["input"].ctypes.data, result.ctypes.data])
    return {"output": result}
