"""A built engine of TensorRT, the memory of its tensors, and one run: inputs, run and outputs on one stream."""

import numpy as np
from protocol import Failure, Packed

# trt.DataType -> (ONNX's name, numpy's type, or None where numpy has none)
TYPES = {"FLOAT": ("FLOAT", np.float32), "HALF": ("FLOAT16", np.float16), "BF16": ("BFLOAT16", None), "INT64": ("INT64", np.int64),
         "INT32": ("INT32", np.int32), "INT8": ("INT8", np.int8), "UINT8": ("UINT8", np.uint8), "BOOL": ("BOOL", np.bool_),
         "FP8": ("FLOAT8E4M3FN", None)}  # fmt: skip
BYTES_BEYOND_NUMPY = {"BFLOAT16": 2, "FLOAT8E4M3FN": 1}


class Engine:
    """A built engine, and memory for its tensors."""

    def __init__(self, trt, engine, device):
        self.trt, self.engine, self.device = trt, engine, device
        self.context = engine.create_execution_context()
        if self.context is None:
            raise Failure("TensorRT could not make an execution context")
        names = [engine.get_tensor_name(i) for i in range(engine.num_io_tensors)]
        self.inputs = [name for name in names if engine.get_tensor_mode(name) == trt.TensorIOMode.INPUT]
        self.outputs = [name for name in names if name not in self.inputs]
        self.kinds = {name: self.kind_of(engine.get_tensor_dtype(name)) for name in names}
        self.allocators, self.on_host = {}, {}
        on_host = [name for name in self.outputs if engine.get_tensor_location(name) == trt.TensorLocation.HOST]
        if on_host:
            raise Failure(f"TensorRT yields '{on_host[0]}' on the host, as a size, which this runner does not read", "unsupported")

    def kind_of(self, dtype):
        if dtype.name not in TYPES:
            raise Failure(f"tensors of TensorRT's type {dtype.name} cannot be handed on", "unsupported")
        return TYPES[dtype.name]

    def bind(self, inputs):
        """Copies inputs to the device and makes room for outputs, all in the order of the stream; gives notes."""
        notes = []
        for name in self.inputs:
            if name not in inputs:
                raise Failure(f"TensorRT wants the input '{name}'")
            data, shape, note = self.bytes_of(name, inputs[name])
            notes += note
            if not self.context.set_input_shape(name, shape):
                raise Failure(f"TensorRT refuses the sizes {list(shape)} of '{name}'", advice="give profiles that hold them")
            self.context.set_tensor_address(name, self.place(name, data))
        lacking = self.context.infer_shapes()
        if lacking:
            raise Failure(f"TensorRT cannot infer sizes for want of {', '.join(lacking)}")
        for name in self.outputs:
            shape = tuple(self.context.get_tensor_shape(name))
            if any(size < 0 for size in shape):  # what the data decide
                self.allocators[name] = make_allocator(self.trt, self.device)
                self.context.set_output_allocator(name, self.allocators[name])
            else:
                self.allocators.pop(name, None)
                self.context.set_tensor_address(name, self.device.room(name, max(1, self.size_of(name, shape))))
        return notes

    def place(self, name, data):
        """The address of an input: TensorRT reads what decides sizes where the host has it."""
        if self.engine.get_tensor_location(name) != self.trt.TensorLocation.HOST:
            return self.device.upload(name, data)
        self.on_host[name] = np.frombuffer(data, np.uint8)
        return self.on_host[name].ctypes.data

    def execute(self):
        if not self.context.execute_async_v3(self.device.stream):
            raise Failure("TensorRT could not enqueue the run")

    def read(self):
        """The outputs; the stream has done all before anything of them is looked at."""
        shapes = {name: tuple(self.context.get_tensor_shape(name)) for name in self.outputs if name not in self.allocators}
        if self.allocators:
            self.device.synchronize()  # only then is known how large they are
            shapes.update({name: allocator.shape for name, allocator in self.allocators.items()})
        pending = {}
        for name in self.outputs:
            key = self.allocators[name].key if name in self.allocators else name
            pending[name] = self.device.download(key, self.size_of(name, shapes[name]))
        self.device.synchronize()
        return {name: self.value_of(name, shapes[name], data) for name, data in pending.items()}

    def size_of(self, name, shape):
        onnx_type, numpy_type = self.kinds[name]
        return int(np.prod(shape, dtype=np.int64)) * (np.dtype(numpy_type).itemsize if numpy_type else BYTES_BEYOND_NUMPY[onnx_type])

    def value_of(self, name, shape, data):
        onnx_type, numpy_type = self.kinds[name]
        return np.frombuffer(data, numpy_type).reshape(shape) if numpy_type else Packed(onnx_type, shape, bytes(data))

    def bytes_of(self, name, value):
        onnx_type, numpy_type = self.kinds[name]
        if isinstance(value, Packed):
            if value.type != onnx_type:
                raise Failure(f"TensorRT takes '{name}' as {onnx_type}, not as {value.type}", "unsupported")
            return value.data, tuple(value.shape), []
        if not isinstance(value, np.ndarray) or numpy_type is None:
            raise Failure(f"TensorRT takes no such value for '{name}'", "unsupported")
        if value.dtype == numpy_type:
            return np.ascontiguousarray(value).tobytes(), value.shape, []
        narrowed = value.astype(numpy_type)
        if (value.dtype, np.dtype(numpy_type)) not in ((np.float64, np.float32), (np.int64, np.int32)):
            raise Failure(f"TensorRT takes '{name}' as {onnx_type}, not as {value.dtype}", "unsupported")
        if value.dtype == np.int64 and not np.array_equal(narrowed, value):
            raise Failure(f"'{name}' holds numbers beyond 32 bits, and TensorRT takes no others", "unsupported")
        return narrowed.tobytes(), value.shape, [f"TensorRT takes '{name}' as {onnx_type}, narrower than it is given"]


def make_allocator(trt, device):
    class Allocator(trt.IOutputAllocator):
        """Room for an output whose sizes only the run tells."""

        def __init__(self):
            super().__init__()
            self.key, self.shape = f"allocated {id(self)}", None

        def reallocate_output(self, tensor_name, memory, size, alignment):
            return device.room(self.key, max(1, size))

        def reallocate_output_async(self, tensor_name, memory, size, alignment, stream):
            return device.room(self.key, max(1, size))

        def notify_shape(self, tensor_name, shape):
            self.shape = tuple(shape)

    return Allocator()
