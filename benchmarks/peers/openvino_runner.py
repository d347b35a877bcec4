"""OpenVINO behind the runner protocol. Options: precision=f32 (default) or bf16."""
import os
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python/vernier_runners"))

import openvino
from protocol import Failure, serve


class Handler:
    def hello(self):
        return {"engine": "openvino", "version": openvino.__version__, "capabilities": ["repeat"]}

    def load(self, model, options, threads):
        precision = options.get("precision", "f32")
        if precision not in ("f32", "bf16"):
            raise Failure(f"precision={precision} is not f32 or bf16")
        core = openvino.Core()
        config = {"INFERENCE_PRECISION_HINT": precision, "PERFORMANCE_HINT": "LATENCY", "NUM_STREAMS": "1",
                  "INFERENCE_NUM_THREADS": str(threads or os.cpu_count())}
        # Read again with the sizes of the data: OpenVINO is faster where sizes are fixed.
        self.core, self.config, self.path, self.compiled = core, config, model, {}
        return {"description": {"openvino": openvino.__version__, "precision": precision}}

    def request(self, inputs):
        key = tuple((name, array.shape) for name, array in sorted(inputs.items()))
        if key not in self.compiled:
            model = self.core.read_model(self.path)
            model.reshape({name: array.shape for name, array in inputs.items()})
            self.compiled[key] = self.core.compile_model(model, "CPU", self.config).create_infer_request()
        return self.compiled[key]

    def run(self, inputs, taps):
        request = self.request(inputs)
        begin = time.perf_counter()
        results = request.infer(inputs)
        seconds = time.perf_counter() - begin
        return {output.get_any_name(): array.copy() for output, array in results.items()}, [], seconds

    def time(self, inputs, repeat):
        request = self.request(inputs)
        request.infer(inputs)
        times = []
        for _ in range(repeat):
            begin = time.perf_counter()
            request.infer()
            times.append(time.perf_counter() - begin)
        return times


serve(Handler())
