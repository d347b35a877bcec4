"""OpenVINO as a runner. Options: device (CPU), precision (f32, f16, bf16, dynamic: what the device likes)."""

import sys
import time

import numpy as np
from protocol import Failure, Packed, serve

PRECISIONS = ("f32", "f16", "bf16", "dynamic")


class OpenVino:
    def hello(self):
        try:
            import openvino
        except ImportError as error:
            raise Failure(f"{sys.executable} cannot import openvino: {error}", "unsupported",
                          advice=f"install it with '{sys.executable} -m pip install openvino'") from error  # fmt: skip
        return {"engine": "openvino", "version": openvino.__version__, "capabilities": ["repeat"]}

    def load(self, model, options, threads):
        import openvino

        unknown = options.keys() - {"device", "precision"}
        if unknown:
            raise Failure(f"unknown option '{min(unknown)}'", "unsupported", advice="known are device and precision")
        device, precision = options.get("device", "CPU"), options.get("precision", "f32")
        if precision not in PRECISIONS:
            raise Failure(f"precision must be one of {', '.join(PRECISIONS)}, not '{precision}'", "unsupported")
        settings = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": precision}
        if threads > 0:
            settings["INFERENCE_NUM_THREADS"] = str(threads)
        core = openvino.Core()
        try:
            read = core.read_model(model)
        except Exception as error:
            raise Failure(f"{type(error).__name__}: {error}", "unsupported") from error
        # The names of the model's inputs and outputs; a value may have several.
        self.inputs = [port.get_names() for port in read.inputs]
        self.outputs = [port.get_any_name() for port in read.outputs]
        self.compiled = core.compile_model(read, device, settings)
        self.request = self.compiled.create_infer_request()
        return {"description": {"device": device, "precision": precision}}

    def run(self, inputs, taps):
        feeds = self.feeds(inputs)
        begin = time.perf_counter()
        self.request.infer(feeds, share_inputs=True)
        seconds = time.perf_counter() - begin
        made = [self.request.get_output_tensor(i) for i in range(len(self.outputs))]
        return dict(zip(self.outputs, map(value_of, made))), [], seconds

    def time(self, inputs, repeat):
        feeds, seconds = self.feeds(inputs), []
        self.request.infer(feeds, share_inputs=True)
        for _ in range(repeat):
            begin = time.perf_counter()
            self.request.infer()
            seconds.append(time.perf_counter() - begin)
        return seconds

    def feeds(self, inputs):
        feeds = {}
        for index, names in enumerate(self.inputs):
            name = next((name for name in inputs if name in names), None)
            if name is not None:
                feeds[index] = tensor_of(name, inputs[name])
        return feeds


def tensor_of(name, value):
    import openvino

    if isinstance(value, Packed) and value.type == "BFLOAT16":
        return openvino.Tensor(np.frombuffer(value.data, np.uint16).reshape(value.shape), value.shape, openvino.Type.bf16)
    if not isinstance(value, np.ndarray):
        raise Failure(f"this runner cannot take '{name}'", "unsupported")
    return np.ascontiguousarray(value).reshape(value.shape)


def value_of(tensor):
    if tensor.element_type.get_type_name() == "bf16":
        return Packed("BFLOAT16", tuple(tensor.shape), tensor.data.tobytes())
    return tensor.data.copy()


serve(OpenVino())
