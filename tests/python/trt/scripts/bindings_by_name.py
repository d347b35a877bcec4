"""A wrapper that keeps a record for each binding by its name, at the largest sizes first, as model zoos have it."""
from collections import OrderedDict, namedtuple

import numpy as np
import tensorrt as trt

MODEL, TOLERANCE = "tokens", 1e-5
Binding = namedtuple("Binding", ("name", "dtype", "shape", "data", "ptr"))


class Model:
    def __init__(self, plan):
        with trt.Runtime(trt.Logger(trt.Logger.INFO)) as runtime:
            self.engine = runtime.deserialize_cuda_engine(plan)
        self.context, self.bindings = self.engine.create_execution_context(), OrderedDict()
        old = hasattr(self.engine, "num_bindings")
        assert old
        for i in range(self.engine.num_bindings):
            if self.engine.binding_is_input(i) and -1 in tuple(self.engine.get_binding_shape(i)):
                self.context.set_binding_shape(i, tuple(self.engine.get_profile_shape(0, i)[2]))
        for i in range(self.engine.num_bindings):
            self.bind(self.engine.get_binding_name(i), tuple(self.context.get_binding_shape(i)))

    def bind(self, name, shape):
        dtype = trt.nptype(self.engine.get_binding_dtype(self.engine.get_binding_index(name)))
        data = np.zeros(shape, dtype=dtype)
        self.bindings[name] = Binding(name, dtype, shape, data, int(data.ctypes.data))

    def __call__(self, **feeds):
        for name, array in feeds.items():
            index = self.engine.get_binding_index(name)
            if array.shape != self.bindings[name].shape:
                self.context.set_binding_shape(index, array.shape)
                self.bind(name, array.shape)
            self.bindings[name].data[...] = array
        self.bind("pooled", tuple(self.context.get_binding_shape(self.engine.get_binding_index("pooled"))))
        assert self.context.execute_v2([each.ptr for each in self.bindings.values()])
        return self.bindings["pooled"].data


def main(model, feeds, folder):
    logger = trt.Logger(trt.Logger.INFO)
    builder = trt.Builder(logger)
    network, config = builder.create_network(1), builder.create_builder_config()
    assert trt.OnnxParser(network, logger).parse_from_file(model)
    profile = builder.create_optimization_profile()
    for i in range(network.num_inputs):
        profile.set_shape(network.get_input(i).name, min=(1, 1), opt=(2, 8), max=(4, 16))
    config.add_optimization_profile(profile)
    run = Model(builder.build_serialized_network(network, config))
    run(input_ids=np.zeros((4, 16), np.int64), mask=np.ones((4, 16), np.float32))
    return {"pooled": run(**feeds)}
