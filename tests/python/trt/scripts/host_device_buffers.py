"""The helper that most samples carry along: a pair of host and device memory for each binding, a stream, execute_async_v2."""
import numpy as np
import pycuda.autoinit
import pycuda.driver as cuda
import tensorrt as trt

MODEL, TOLERANCE = "pair", 1e-6


class Buffer:
    def __init__(self, host, device):
        self.host, self.device = host, device


def allocate(engine):
    sides, bindings = {True: [], False: []}, []
    for binding in engine:
        size = trt.volume(engine.get_binding_shape(binding))
        host = cuda.pagelocked_empty(size, trt.nptype(engine.get_binding_dtype(binding)))
        device = cuda.mem_alloc(host.nbytes)
        bindings.append(int(device))
        sides[engine.binding_is_input(binding)].append(Buffer(host, device))
    return sides[True], sides[False], bindings, cuda.Stream()


def main(model, feeds, folder):
    logger = trt.Logger()
    with trt.Builder(logger) as builder, builder.create_network(1) as network, trt.OnnxParser(network, logger) as parser:
        with open(model, "rb") as file:
            assert parser.parse(file.read())
        with builder.create_builder_config() as config:
            plan = builder.build_serialized_network(network, config)
    with trt.Runtime(logger) as runtime, runtime.deserialize_cuda_engine(plan) as engine, engine.create_execution_context() as context:
        inputs, outputs, bindings, stream = allocate(engine)
        for buffer, name in zip(inputs, ("a", "b")):
            np.copyto(buffer.host, feeds[name].ravel())
        [cuda.memcpy_htod_async(each.device, each.host, stream) for each in inputs]
        context.execute_async_v2(bindings=bindings, stream_handle=stream.handle)
        [cuda.memcpy_dtoh_async(each.host, each.device, stream) for each in outputs]
        stream.synchronize()
        names = [name for name in engine if not engine.binding_is_input(name)]
        return {name: each.host.reshape(2, 3) for name, each in zip(names, outputs)}
