"""TensorRT as a runner, by its Python package (10 and 11), and CUDA by cuda-python or PyTorch.

An engine is built for the sizes of the first sample, or for the profiles of min_shapes, opt_shapes and max_shapes. Options:
fp16, bf16, int8, best, no_tf32 (1), precision_constraints (none, prefer, obey), layer_precisions (NODE:fp32,…; * and ? match as in a
shell), calibration (a calibration cache of TensorRT), min_shapes, opt_shapes, max_shapes (x:1x3x4+y:2, a semicolon between
profiles), workspace (bytes, or with KiB, MiB, GiB), optimization_level, timing_cache and save_engine (files).
"""

import fnmatch
import os
import sys
import time

import numpy as np
from cuda_memory import open_device
from protocol import Failure, serve
from tensorrt_engine import Engine

KNOWN = ("fp16", "bf16", "int8", "best", "no_tf32", "precision_constraints", "layer_precisions", "calibration", "min_shapes", "opt_shapes",
         "max_shapes", "workspace", "optimization_level", "timing_cache", "save_engine")  # fmt: skip
LAYER_TYPES = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16", "int8": "int8"}
UNITS = {"GiB": 1 << 30, "MiB": 1 << 20, "KiB": 1 << 10, "B": 1}


def import_tensorrt():
    try:
        import tensorrt
    except ImportError as error:
        raise Failure(f"{sys.executable} cannot import tensorrt: {error}", "unsupported",
                      advice=f"install it with '{sys.executable} -m pip install tensorrt', or name a Python that has it by --tensorrt=PYTHON; "
                             "without it --cpu, or --stand-in cpu of `vernier polygraphy`, runs Vernier's engine in its place") from error  # fmt: skip
    return tensorrt


def parse_bytes(text):
    for unit, factor in UNITS.items():
        if text.endswith(unit):
            return int(float(text[: -len(unit)]) * factor)
    return int(text)


def parse_profiles(options):
    """One {input: (min, opt, max)} for each profile; sizes that are not given are as the next that are."""

    def sets(key):
        texts = [text for text in options.get(key, "").split(";") if text]
        return [{name: tuple(int(size) for size in sizes.split("x") if size) for name, _, sizes in
                 (part.rpartition(":") for part in text.split("+"))} for text in texts]  # fmt: skip

    lows, middles, highs = sets("min_shapes"), sets("opt_shapes"), sets("max_shapes")
    profiles = []
    for i in range(max(len(lows), len(middles), len(highs))):
        low, middle, high = (shapes[i] if i < len(shapes) else {} for shapes in (lows, middles, highs))
        middle = {**low, **high, **middle}
        profiles.append({name: (low.get(name, sizes), sizes, high.get(name, sizes)) for name, sizes in middle.items()})
    return profiles


class TensorRt:
    def hello(self):
        self.trt = import_tensorrt()
        return {"engine": "tensorrt", "version": self.trt.__version__, "capabilities": ["taps", "repeat"]}

    def load(self, model, options, threads):
        unknown = options.keys() - set(KNOWN)
        if unknown:
            raise Failure(f"unknown option '{min(unknown)}'", "unsupported", advice=f"known are {', '.join(KNOWN)}")
        self.path, self.options = model, options
        self.profiles = parse_profiles(options)
        self.device = open_device()
        self.logger = self.trt.Logger(self.trt.Logger.WARNING)
        self.engine, self.built_for, self.shape_inputs = None, None, []
        return {"description": {"device": self.device.name, **{key: value for key, value in options.items() if key != "save_engine"}}}

    def run(self, inputs, taps):
        notes = self.prepare(inputs, tuple(taps))
        notes += self.engine.bind(inputs)
        begin = time.perf_counter()
        self.engine.execute()
        outputs = self.engine.read()
        return outputs, notes, time.perf_counter() - begin

    def time(self, inputs, repeat):
        self.prepare(inputs, ())
        self.engine.bind(inputs)
        self.device.synchronize()
        times = []
        for _ in range(repeat):
            begin = time.perf_counter()
            self.engine.execute()
            self.device.synchronize()
            times.append(time.perf_counter() - begin)
        return times

    def prepare(self, inputs, taps):
        """An engine for these sizes that shows these inner values; gives notes."""
        sizes = {name: tuple(np.shape(value) if isinstance(value, np.ndarray) else value.shape) for name, value in inputs.items()}
        fixed = {name: inputs[name].tobytes() for name in self.shape_inputs if name in inputs}  # values that decide sizes
        wanted = (None if self.profiles else sizes, fixed, taps)
        if self.engine is None or self.built_for != wanted:
            self.engine, self.notes = None, []
            self.engine = self.build(inputs, sizes, taps)
            fixed = {name: inputs[name].tobytes() for name in self.shape_inputs if name in inputs}
            self.built_for = (wanted[0], fixed, taps)
        return list(self.notes)

    def build(self, inputs, sizes, taps):
        trt = self.trt
        builder = trt.Builder(self.logger)
        network = builder.create_network(0)
        parser = trt.OnnxParser(network, self.logger)
        if not parser.parse_from_file(self.path):
            errors = "; ".join(str(parser.get_error(i).desc()) for i in range(parser.num_errors))
            raise Failure(f"TensorRT cannot read the model: {errors}", "unsupported")
        config = builder.create_builder_config()
        self.set_precision(network, config)
        self.set_limits(config)
        self.add_profiles(builder, network, config, inputs, sizes)
        self.mark(network, taps)
        plan = builder.build_serialized_network(network, config)
        if plan is None:
            raise Failure("TensorRT could not build an engine; its reason stands above", "unsupported")
        self.keep(config, plan)
        self.runtime = trt.Runtime(self.logger)  # as long as its engine
        engine = self.runtime.deserialize_cuda_engine(plan)
        if engine is None:
            raise Failure("TensorRT could not load the engine that it built")
        return Engine(trt, engine, self.device)

    def set_precision(self, network, config):
        flags = self.trt.BuilderFlag
        wanted = [key for key in ("fp16", "bf16", "int8") if key in self.options or ("best" in self.options and key != "bf16")]
        weak = wanted + [key for key in ("layer_precisions", "precision_constraints") if self.options.get(key, "none") != "none"]
        if weak and not hasattr(flags, "FP16"):
            raise Failure(f"TensorRT {self.trt.__version__} takes precision from the model alone, and no {', '.join(weak)}", "unsupported",
                          advice="write a typed model with `vernier export MODEL --plan`, and run that")  # fmt: skip
        for key in wanted:
            config.set_flag(getattr(flags, key.upper()))
        if "no_tf32" in self.options:
            config.clear_flag(flags.TF32)
        constraints = self.options.get("precision_constraints", "none")
        if constraints != "none":
            config.set_flag(getattr(flags, f"{constraints.upper()}_PRECISION_CONSTRAINTS"))
        for rule in filter(None, self.options.get("layer_precisions", "").split(",")):
            self.set_layers(network, *rule.rsplit(":", 1))
        if "calibration" in self.options:
            config.int8_calibrator = make_calibrator(self.trt, self.options["calibration"])

    def set_layers(self, network, pattern, name):
        if name not in LAYER_TYPES:
            raise Failure(f"'{name}' is no precision of TensorRT", "unsupported")
        kind, found = getattr(self.trt, LAYER_TYPES[name]), False
        for i in range(network.num_layers):
            layer = network.get_layer(i)
            if not fnmatch.fnmatchcase(layer.name, pattern):
                continue
            found = True
            layer.precision = kind
            for k in range(layer.num_outputs):
                if layer.get_output(k).dtype in (self.trt.float32, self.trt.float16):
                    layer.set_output_type(k, kind)
        if not found:
            raise Failure(f"no layer of TensorRT has a name like '{pattern}'")

    def set_limits(self, config):
        if "workspace" in self.options:
            config.set_memory_pool_limit(self.trt.MemoryPoolType.WORKSPACE, parse_bytes(self.options["workspace"]))
        if "optimization_level" in self.options:
            config.builder_optimization_level = int(self.options["optimization_level"])
        if "timing_cache" in self.options:
            path = self.options["timing_cache"]
            content = open(path, "rb").read() if os.path.exists(path) else b""
            config.set_timing_cache(config.create_timing_cache(content), False)

    def add_profiles(self, builder, network, config, inputs, sizes):
        declared = [network.get_input(i) for i in range(network.num_inputs)]
        self.shape_inputs = [each.name for each in declared if each.is_shape_tensor]
        free = [each.name for each in declared if any(size < 0 for size in each.shape)]
        if not free and not self.shape_inputs:
            return
        for ranges in self.profiles or [{}]:
            profile = builder.create_optimization_profile()
            for name in free:
                profile.set_shape(name, *(ranges[name] if name in ranges else (sizes[name],) * 3))
            for name in self.shape_inputs:
                profile.set_shape_input(name, *([int(value) for value in np.ravel(inputs[name])],) * 3)
            config.add_optimization_profile(profile)

    def mark(self, network, taps):
        if not taps:
            return
        outputs = {network.get_output(i).name for i in range(network.num_outputs)}
        made = {}
        for i in range(network.num_layers):
            layer = network.get_layer(i)
            made.update({layer.get_output(k).name: layer.get_output(k) for k in range(layer.num_outputs)})
        added = [name for name in dict.fromkeys(taps) if name in made and name not in outputs]
        for name in added:
            network.mark_output(made[name])
        self.notes += [f"'{name}' is not shown: TensorRT has no tensor of that name" for name in taps if name not in made]
        if added:
            self.notes.append(f"{len(added)} inner values were made outputs, which limits fusion: the engine that ran is not the model's")

    def keep(self, config, plan):
        if "save_engine" in self.options:
            with open(self.options["save_engine"], "wb") as file:
                file.write(bytes(plan))
        if "timing_cache" in self.options:
            with open(self.options["timing_cache"], "wb") as file:
                file.write(bytes(config.get_timing_cache().serialize()))


def make_calibrator(trt, path):
    with open(path, "rb") as file:
        cache = file.read()
    if cache.lstrip()[:1] == b"{":
        raise Failure(f"{path} is no calibration cache of TensorRT", advice="`vernier calibrate --cache FILE` writes one")

    class Calibrator(trt.IInt8EntropyCalibrator2):
        """Ranges that were found before; there are no data to find others by."""

        def get_batch_size(self):
            return 1

        def get_batch(self, names):
            return None

        def read_calibration_cache(self):
            return cache

        def write_calibration_cache(self, content):
            pass

    return Calibrator()


if __name__ == "__main__":
    serve(TensorRt())
