"""Layers by name in BF16, all others as the model declares; a strict flag of TensorRT 8."""
import numpy as np
import tensorrt as trt

MODEL, TOLERANCE = "static", 2e-2


def main(model, feeds, folder):
    logger = trt.Logger(trt.Logger.WARNING)
    builder = trt.Builder(logger)
    network = builder.create_network(1)
    assert trt.OnnxParser(network, logger).parse_from_file(model)
    config = builder.create_builder_config()
    config.set_flag(trt.BuilderFlag.STRICT_TYPES)
    for layer in network:
        if layer.name in ("conv1", "fc"):
            layer.precision = trt.bfloat16
            layer.set_output_type(0, trt.bfloat16)
    plan = builder.build_serialized_network(network, config)
    asked = {node: plan.vernier.audit[node].requested.compute for node in ("conv1", "fc", "softmax")}
    assert asked == {"conv1": "bf16", "fc": "bf16", "softmax": "f32"}, asked
    result = np.full((2, 5), np.nan, np.float32)
    context = trt.Runtime(logger).deserialize_cuda_engine(plan).create_execution_context()
    assert context.execute_v2([feeds["input"].ctypes.data, result.ctypes.data])
    return {"output": result}
