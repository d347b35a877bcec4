"""ONNX Runtime as a runner. Options: provider (cpu, cuda), optimisation (disable, basic, extended, all), entries of its session's configuration."""

import ctypes
import os
import sys
import time

import numpy as np
from protocol import Failure, Packed, serve

ELEMENT_TYPES = {
    "BFLOAT16": 16, "FLOAT8E4M3FN": 17, "FLOAT8E4M3FNUZ": 18, "FLOAT8E5M2": 19, "FLOAT8E5M2FNUZ": 20,
    "UINT4": 21, "INT4": 22, "FLOAT4E2M1": 23, "FLOAT8E8M0": 24, "UINT2": 25, "INT2": 26,
}  # fmt: skip
ELEMENT_TYPE_NAMES = {number: name for name, number in ELEMENT_TYPES.items()}
TYPES_BEYOND_NUMPY = {f"tensor({name.lower()})" for name in ELEMENT_TYPES}
PROVIDERS = {"cpu": ["CPUExecutionProvider"], "cuda": ["CUDAExecutionProvider", "CPUExecutionProvider"]}
EXTERNAL_FOLDER = "session.model_external_initializers_file_folder_path"


def import_or_explain(module, package):
    try:
        return __import__(module)
    except ImportError as error:
        raise Failure(f"{sys.executable} cannot import {module}: {error}", "unsupported",
                      advice=f"install it with '{sys.executable} -m pip install {package}', or set VERNIER_PYTHON "
                             "to a Python that has it") from error  # fmt: skip


class OnnxRuntime:
    entries = {}  # of the configuration of sessions

    def hello(self):
        ort = import_or_explain("onnxruntime", "onnxruntime")
        return {"engine": "onnxruntime", "version": ort.__version__, "capabilities": ["taps", "repeat"]}

    def load(self, model, options, threads):
        self.path, self.threads, self.tapped = model, threads, ()
        self.provider = self.choose(options, "provider", "cpu", PROVIDERS)
        self.optimisation = self.choose(options, "optimisation", "all", ("disable", "basic", "extended", "all"))
        self.entries = {key: value for key, value in options.items() if "." in key}
        unknown = options.keys() - self.entries.keys() - {"provider", "optimisation"}
        if unknown:
            raise Failure(f"unknown option '{min(unknown)}'", "unsupported",
                          advice="known are provider, optimisation, and entries of the session's configuration, session.x64quantprecision for example")  # fmt: skip
        self.session = self.make_session(model)
        self.outputs = [output.name for output in self.session.get_outputs()]
        return {"description": {"optimisation": self.optimisation, "provider": ", ".join(self.session.get_providers()), **self.entries}}

    @staticmethod
    def choose(options, name, default, allowed):
        value = options.get(name, default)
        if value not in allowed:
            raise Failure(f"{name} must be one of {', '.join(allowed)}, not '{value}'", "unsupported")
        return value

    def make_session(self, model, folder=None):
        import onnxruntime as ort

        missing = set(PROVIDERS[self.provider]) - set(ort.get_available_providers())
        if missing:
            raise Failure(f"this onnxruntime lacks {', '.join(missing)}", "unsupported", advice="install onnxruntime-gpu")
        settings = ort.SessionOptions()
        settings.graph_optimization_level = {
            "disable": ort.GraphOptimizationLevel.ORT_DISABLE_ALL,
            "basic": ort.GraphOptimizationLevel.ORT_ENABLE_BASIC,
            "extended": ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED,
            "all": ort.GraphOptimizationLevel.ORT_ENABLE_ALL,
        }[self.optimisation]
        if self.threads > 0:
            settings.intra_op_num_threads = self.threads
        for key, value in self.entries.items():
            settings.add_session_config_entry(key, value)
        if folder:
            settings.add_session_config_entry(EXTERNAL_FOLDER, folder)
        try:
            session = ort.InferenceSession(model, settings, providers=PROVIDERS[self.provider])
        except Exception as error:
            if not lacks_kernel(error):
                raise
            raise Failure(f"{type(error).__name__}: {error}", "unsupported") from error
        session.disable_fallback()  # another provider than asked for would be another engine
        if self.provider == "cuda" and "CUDAExecutionProvider" not in session.get_providers():
            raise Failure("onnxruntime could not start CUDA and fell back to the CPU", "unsupported")
        return session

    def run(self, inputs, taps):
        notes = self.set_taps(tuple(taps))
        names = [output.name for output in self.session.get_outputs()]
        begin = time.perf_counter()
        results = self.run_session(names, inputs)
        seconds = time.perf_counter() - begin
        return dict(zip(names, map(value_of, results))), notes, seconds

    def run_session(self, names, inputs):
        import onnxruntime as ort

        types = {given.name: given.type for given in self.session.get_inputs()}
        feeds = {name: feed_of(value, types.get(name, "")) for name, value in inputs.items()}
        if all(output.type not in TYPES_BEYOND_NUMPY for output in self.session.get_outputs()):
            return self.session.run(names, feeds)
        for name, feed in feeds.items():
            if not isinstance(feed, ort.OrtValue):
                if not isinstance(feed, np.ndarray) or feed.dtype == object:
                    raise Failure(f"onnxruntime's Python interface cannot take '{name}' together with outputs of types "
                                  "that numpy lacks", "unsupported")  # fmt: skip
                feeds[name] = ort.OrtValue.ortvalue_from_numpy(feed)
        return self.session.run_with_ort_values(names, feeds)

    def time(self, inputs, repeat):
        """Seconds of each run, with inputs and outputs bound once where the types allow it."""
        self.set_taps(())
        binding = self.session.io_binding()
        for name, value in inputs.items():
            if not isinstance(value, np.ndarray) or value.dtype == object:
                return self.time_plainly(inputs, repeat)
            binding.bind_cpu_input(name, value)
        for name in self.outputs:
            binding.bind_output(name)
        return timed(lambda: self.session.run_with_iobinding(binding), repeat)

    def time_plainly(self, inputs, repeat):
        return timed(lambda: self.run_session(self.outputs, inputs), repeat)

    def set_taps(self, taps):
        """Makes the tapped values outputs of a copy of the model."""
        if taps != self.tapped:
            self.session, self.tap_notes = self.tap(taps) if taps else (self.make_session(self.path), [])
            self.tapped = taps
        return self.tap_notes if taps else []

    def tap(self, taps):
        onnx = import_or_explain("onnx", "onnx")
        model = onnx.load(self.path, load_external_data=False)
        made = {name for node in model.graph.node for name in node.output if name}
        added = [name for name in dict.fromkeys(taps) if name in made and name not in self.outputs]
        model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in added)
        notes = [f"'{name}' is not shown: no node of the main graph makes it" for name in taps if name not in made]
        if added:
            notes.append(f"{len(added)} inner values were made outputs, which limits fusion: "
                         "the graph that ran is not the model's")  # fmt: skip
        folder = os.path.dirname(os.path.abspath(self.path))
        return self.make_session(model.SerializeToString(), folder), notes


def lacks_kernel(error):
    """Whether the model is as it should be, and onnxruntime has nothing that runs one of its operators on its types."""
    return type(error).__name__ == "NotImplemented" or "is not a registered function/op" in str(error)


def timed(run, repeat):
    times = []
    for _ in range(repeat):
        begin = time.perf_counter()
        run()
        times.append(time.perf_counter() - begin)
    return times


def feed_of(value, kind):
    if kind.startswith("map("):
        return {key.item() if hasattr(key, "item") else key: entry for key, entry in zip(value[0], value[1].tolist())}
    if not isinstance(value, Packed):
        return value
    import onnxruntime as ort

    made = ort.OrtValue.ortvalue_from_shape_and_type(list(value.shape), ELEMENT_TYPES[value.type])
    if made.tensor_size_in_bytes() != len(value.data):
        raise Failure(f"onnxruntime stores {value.type} in another way than ONNX", "unsupported")
    ctypes.memmove(made.data_ptr(), value.data, len(value.data))
    return made


def value_of(result):
    """Gives what the session returned, as write_values takes it."""
    if isinstance(result, list):
        return [value_of(element) for element in result]
    if isinstance(result, dict):  # a map is its keys, which ascend, and its values
        keys = sorted(result)
        return [np.array(keys, object if isinstance(keys[0], str) else np.int64) if keys else np.zeros(0, np.int64),
                np.array([result[key] for key in keys], np.float32)]  # all that operators make have floats
    if not hasattr(result, "data_ptr"):  # no OrtValue
        return result
    if result.is_tensor() and result.element_type() in ELEMENT_TYPE_NAMES:
        data = ctypes.string_at(result.data_ptr(), result.tensor_size_in_bytes())
        return Packed(ELEMENT_TYPE_NAMES[result.element_type()], tuple(result.shape()), data)
    return result.numpy()


if __name__ == "__main__":
    serve(OnnxRuntime())
