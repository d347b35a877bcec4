"""An inner value as a second output, to look for the layer that goes wrong; another one gone."""
import numpy as np
import onnx
import onnxruntime
import pycuda.driver as cuda
import tensorrt as trt

MODEL, TOLERANCE = "static", 1e-5


def reference(model, feeds, names):
    proto = onnx.load(model)
    proto.graph.output.append(onnx.helper.make_tensor_value_info("f", onnx.TensorProto.FLOAT, None))
    return onnxruntime.InferenceSession(proto.SerializeToString()).run(names, feeds)


def main(model, feeds, folder):
    logger = trt.Logger(trt.Logger.WARNING)
    builder = trt.Builder(logger)
    network = builder.create_network(1)
    assert trt.OnnxParser(network, logger).parse_from_file(model)
    flatten = next(layer for layer in network if layer.type == trt.LayerType.SHUFFLE)
    network.mark_output(flatten.get_output(0))
    network.unmark_output(network.get_output(0))
    assert network.num_outputs == 1 and network.get_output(0).name == "f" and flatten.get_output(0).is_network_output
    engine = builder.build_engine(network, builder.create_builder_config())
    assert engine.num_bindings == 2 and engine["f"] == 1
    result = np.full(tuple(engine.get_binding_shape("f")), np.nan, np.float32)
    device = [cuda.to_device(feeds["input"]), cuda.mem_alloc_like(result)]
    assert engine.create_execution_context().execute_v2(device)
    cuda.memcpy_dtoh(result, device[1])
    return {"f": result}
