"""The part of TensorRT's Python package that the runner uses, for tests: an engine runs the model with ONNX Runtime on the device
in software of cuda.bindings.runtime, and checks that sizes and addresses were set before. STAND_IN_TENSORRT chooses what it
plays: "10" (the default), "11" (no weak typing), and a fault: "nan" (outputs are NaN), "late" (outputs are written one run
late, as if the caller did not wait), "unbuildable" (the builder gives its reason to the logger, and no engine), "no_gpu" (there is no
builder), "crash" (the parser ends the process).
"""
import enum
import os

import numpy as np
import onnx
import onnxruntime
from cuda.bindings import runtime as cudart

VERSION, _, FAULT = os.environ.get("STAND_IN_TENSORRT", "10").partition(",")
__version__ = f"{VERSION}.1.0"


class DataType(enum.Enum):
    FLOAT, HALF, INT32, INT64, BOOL, INT8, UINT8, BF16 = range(8)


float32, float16, bfloat16, int8 = DataType.FLOAT, DataType.HALF, DataType.BF16, DataType.INT8
NUMPY = {DataType.FLOAT: np.float32, DataType.HALF: np.float16, DataType.INT32: np.int32, DataType.INT64: np.int64,
         DataType.BOOL: np.bool_, DataType.INT8: np.int8, DataType.UINT8: np.uint8}
ONNX = {1: DataType.FLOAT, 10: DataType.HALF, 6: DataType.INT32, 7: DataType.INT64, 9: DataType.BOOL, 3: DataType.INT8, 2: DataType.UINT8}


class TensorIOMode(enum.Enum):
    NONE, INPUT, OUTPUT = range(3)


class TensorLocation(enum.Enum):
    DEVICE, HOST = range(2)


class MemoryPoolType(enum.Enum):
    WORKSPACE = 0


WEAK = ("FP16", "BF16", "INT8", "OBEY_PRECISION_CONSTRAINTS", "PREFER_PRECISION_CONSTRAINTS")
BuilderFlag = enum.Enum("BuilderFlag", ["TF32", "REFIT", *(WEAK if VERSION == "10" else ())])


class ILogger:
    INTERNAL_ERROR, ERROR, WARNING = range(3)


class Logger(ILogger):
    def __init__(self, severity):
        self.severity = severity

    def log(self, severity, message):
        pass


class NetworkDefinitionCreationFlag(enum.IntEnum):
    STRONGLY_TYPED = 1


class IInt8EntropyCalibrator2:
    pass


class IOutputAllocator:
    pass


class Tensor:
    def __init__(self, value):
        self.name, self.is_shape_tensor = value.name, False
        self.dtype = ONNX.get(value.type.tensor_type.elem_type, DataType.FLOAT)
        self.shape = [each.dim_value if each.HasField("dim_value") else -1 for each in value.type.tensor_type.shape.dim]


class Layer:
    def __init__(self, node):
        self.name, self.precision, self.types = node.name, None, {}
        self.outputs = [Tensor(onnx.helper.make_tensor_value_info(name, 1, None)) for name in node.output]

    num_outputs = property(lambda self: len(self.outputs))

    def get_output(self, index):
        return self.outputs[index]

    def set_output_type(self, index, kind):
        self.types[index] = kind


class Network:
    model, marked = None, ()

    num_layers = property(lambda self: len(self.layers))
    num_inputs = property(lambda self: len(self.inputs))
    num_outputs = property(lambda self: len(self.model.graph.output))

    def take(self, model):
        self.model, self.marked = model, []
        self.layers = [Layer(node) for node in model.graph.node]
        self.inputs = [Tensor(value) for value in model.graph.input]

    def get_layer(self, index):
        return self.layers[index]

    def get_input(self, index):
        return self.inputs[index]

    def get_output(self, index):
        return Tensor(self.model.graph.output[index])

    def mark_output(self, tensor):
        self.marked.append(tensor.name)


class ParserError:
    def __init__(self, text, node):
        self.text, self.node = text, node

    def desc(self):
        return self.text

    def node_name(self):
        return self.node


class OnnxParser:
    def __init__(self, network, logger):
        self.network, self.errors = network, []

    num_errors = property(lambda self: len(self.errors))

    def get_error(self, index):
        return ParserError(*self.errors[index])

    def parse_from_file(self, path):
        model = onnx.load(path)
        if FAULT == "crash":
            os._exit(9)
        unknown = [node for node in model.graph.node if node.op_type == "Unique"]
        if unknown:
            self.errors = [(f"no importer registered for op: {unknown[0].op_type}\n[here] Error Code 1: Cuda Runtime (no driver)", unknown[0].name)]
            return False
        self.network.take(model)
        return True


class OptimizationProfile:
    def __init__(self):
        self.shapes = {}

    def set_shape(self, name, low, middle, high):
        self.shapes[name] = (tuple(low), tuple(middle), tuple(high))


class TimingCache:
    def __init__(self, content):
        self.content = content

    def serialize(self):
        return self.content + b"timed;"


class BuilderConfig:
    def __init__(self):
        self.flags, self.limits, self.profiles, self.cache = {BuilderFlag.TF32}, {}, [], None
        self.builder_optimization_level, self.int8_calibrator = 3, None

    def set_flag(self, flag):
        self.flags.add(flag)

    def clear_flag(self, flag):
        self.flags.discard(flag)

    def set_memory_pool_limit(self, pool, size):
        self.limits[pool] = size

    def add_optimization_profile(self, profile):
        self.profiles.append(profile)

    def create_timing_cache(self, content):
        return TimingCache(content)

    def set_timing_cache(self, cache, ignore_mismatch):
        self.cache = cache

    def get_timing_cache(self):
        return self.cache


class Builder:
    def __init__(self, logger):
        self.logger = logger
        if FAULT == "no_gpu":
            logger.log(ILogger.ERROR, "no CUDA-capable device is detected")
            raise TypeError("factory function returned nullptr")

    def create_network(self, flags):
        return Network()

    def create_builder_config(self):
        return BuilderConfig()

    def create_optimization_profile(self):
        return OptimizationProfile()

    def build_serialized_network(self, network, config):
        free = [tensor for tensor in network.inputs if any(size < 0 for size in tensor.shape)]
        if free and not config.profiles:
            return None  # TensorRT wants a profile then
        if FAULT == "unbuildable":
            self.logger.log(ILogger.ERROR, "no implementation for the_Softmax_y")
            return None
        Builder.last = (network, config)
        inner = onnx.shape_inference.infer_shapes(network.model)
        known = {value.name: value for value in [*inner.graph.value_info, *inner.graph.output]}
        network.model.graph.output.extend(known[name] for name in network.marked)
        return network.model.SerializeToString()


class Runtime:
    def __init__(self, logger):
        pass

    def deserialize_cuda_engine(self, plan):
        return CudaEngine(plan, *Builder.last)


class CudaEngine:
    def __init__(self, plan, network, config):
        self.network, self.profiles = network, config.profiles
        self.session = onnxruntime.InferenceSession(plan, providers=["CPUExecutionProvider"])
        self.inputs = {tensor.name: tensor for tensor in network.inputs}
        self.outputs = {value.name: Tensor(value) for value in network.model.graph.output}
        self.names = [*self.inputs, *self.outputs]

    num_io_tensors = property(lambda self: len(self.names))

    def get_tensor_name(self, index):
        return self.names[index]

    def get_tensor_mode(self, name):
        return TensorIOMode.INPUT if name in self.inputs else TensorIOMode.OUTPUT

    def get_tensor_dtype(self, name):
        return (self.inputs | self.outputs)[name].dtype

    def get_tensor_location(self, name):
        return TensorLocation.DEVICE

    def create_execution_context(self):
        return ExecutionContext(self)


class ExecutionContext:
    def __init__(self, engine):
        self.engine, self.shapes, self.addresses, self.allocators, self.late = engine, {}, {}, {}, {}

    def set_input_shape(self, name, shape):
        ranges = [profile.shapes[name] for profile in self.engine.profiles if name in profile.shapes]
        fits = not ranges or any(all(low <= size <= high for low, size, high in zip(each[0], shape, each[2])) for each in ranges)
        if fits:
            self.shapes[name] = tuple(shape)
        return fits

    def set_tensor_address(self, name, address):
        assert address in cudart.memory and address not in cudart.freed, f"'{name}' has no memory of the device"
        self.addresses[name] = address

    def set_output_allocator(self, name, allocator):
        self.allocators[name] = allocator

    def infer_shapes(self):
        return [name for name in self.engine.inputs if name not in self.shapes]

    def get_tensor_shape(self, name):
        assert not self.infer_shapes(), "sizes are asked for before those of the inputs are set"
        if name in self.shapes:
            return self.shapes[name]
        zeros = {key: np.zeros(shape, NUMPY[self.engine.inputs[key].dtype]) for key, shape in self.shapes.items()}
        declared = self.engine.outputs[name].shape
        data_decide = any(node.op_type == "NonZero" for node in self.engine.network.model.graph.node) and -1 in declared
        return (-1,) * len(declared) if data_decide else self.engine.session.run([name], zeros)[0].shape

    def execute_async_v3(self, stream):
        lacking = [name for name in self.engine.names if name not in self.addresses and name not in self.allocators]
        assert not lacking, f"no address was set for {lacking}"
        cudart.streams[stream].append(lambda: self.execute(stream))
        return True

    def execute(self, stream):
        feeds = {}
        for name, tensor in self.engine.inputs.items():
            count = int(np.prod(self.shapes[name], dtype=np.int64))
            feeds[name] = np.frombuffer(bytes(cudart.memory[self.addresses[name]]), NUMPY[tensor.dtype], count).reshape(self.shapes[name])
        names = list(self.engine.outputs)
        for name, value in zip(names, self.engine.session.run(names, feeds)):
            if FAULT == "nan":
                value = np.full_like(value, np.nan)
            if FAULT == "late":
                value, self.late[name] = self.late.get(name, np.zeros_like(value)), value
            address = self.addresses.get(name)
            if name in self.allocators:
                address = self.allocators[name].reallocate_output_async(name, 0, value.nbytes, 256, stream)
                self.allocators[name].notify_shape(name, value.shape)
            data = np.ascontiguousarray(value).tobytes()
            cudart.memory[address][: len(data)] = data
