"""FP16, but normalisations and the softmax in FP32, by kinds of layers and their names, under OBEY_PRECISION_CONSTRAINTS."""
import numpy as np
import tensorrt as trt

MODEL, TOLERANCE = "mlp", 1e-2


def keep_in_float(network):
    kept = []
    for index in range(network.num_layers):
        layer = network.get_layer(index)
        if layer.type in (trt.LayerType.SHAPE, trt.LayerType.CONSTANT):
            continue
        if layer.type == trt.LayerType.SOFTMAX or "norm" in layer.name.lower():
            layer.precision = trt.float32
            for output in range(layer.num_outputs):
                layer.set_output_type(output, trt.DataType.FLOAT)
            kept.append(layer.name)
    return kept


def main(model, feeds, folder):
    logger = trt.Logger(trt.Logger.WARNING)
    builder = trt.Builder(logger)
    network = builder.create_network(1)
    assert trt.OnnxParser(network, logger).parse_from_file(model)
    config = builder.create_builder_config()
    config.set_flag(trt.BuilderFlag.FP16)
    config.set_flag(trt.BuilderFlag.OBEY_PRECISION_CONSTRAINTS)
    assert keep_in_float(network) == ["norm", "softmax"]
    profile = builder.create_optimization_profile()
    profile.set_shape("x", (4, 16), (4, 16), (4, 16))
    config.add_optimization_profile(profile)
    plan = builder.build_serialized_network(network, config)
    audit = plan.vernier.audit
    assert (audit["norm"].requested.store, audit["gemm"].requested.compute, audit["gemm"].requested.store) == ("f32", "f16", "f16")
    context = trt.Runtime(logger).deserialize_cuda_engine(plan).create_execution_context()
    context.set_input_shape("x", (4, 16))
    result = np.full((4, 8), np.nan, np.float32)
    assert context.execute_v2([feeds["x"].ctypes.data, result.ctypes.data])
    return {"y": result}
