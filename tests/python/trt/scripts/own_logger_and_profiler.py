"""A logger that goes to Python's logging, and a profiler that collects times of layers."""
import numpy as np
import tensorrt as trt

MODEL, TOLERANCE = "static", 1e-5


class Log(trt.ILogger):
    def __init__(self):
        trt.ILogger.__init__(self)
        self.lines = []

    def log(self, severity, msg):
        self.lines.append((severity, msg))


class Times(trt.IProfiler):
    def __init__(self):
        trt.IProfiler.__init__(self)
        self.layers = {}

    def report_layer_time(self, layer_name, ms):
        self.layers[layer_name] = self.layers.get(layer_name, 0) + ms


def main(model, feeds, folder):
    log = Log()
    builder = trt.Builder(log)
    network = builder.create_network(1)
    assert trt.OnnxParser(network, log).parse_from_file(model)
    config = builder.create_builder_config()
    config.profiling_verbosity = trt.ProfilingVerbosity.DETAILED
    engine = builder.build_engine(network, config)
    assert any("accuracy verdict: pass" in text for severity, text in log.lines if severity == trt.ILogger.INFO)
    assert [severity for severity, text in log.lines if "profiling_verbosity" in text] == [trt.ILogger.Severity.WARNING]
    context = engine.create_execution_context()
    context.profiler = Times()
    result = np.full((2, 5), np.nan, np.float32)
    assert context.execute_v2([feeds["input"].ctypes.data, result.ctypes.data])
    assert any("conv1" in name for name in context.profiler.layers) and min(context.profiler.layers.values()) >= 0
    return {"output": result}
