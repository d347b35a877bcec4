"""A calibrator that is derived from the common base, names its algorithm, and gives device allocations as they are."""
import numpy as np
import pycuda.driver as cuda
import tensorrt as trt

MODEL, TOLERANCE = "static", 0.1


class Calibrator(trt.IInt8Calibrator):
    def __init__(self, data):
        trt.IInt8Calibrator.__init__(self)
        self.memory, self.data = cuda.mem_alloc(data[0].nbytes), iter(data)

    def get_algorithm(self):
        return trt.CalibrationAlgoType.MINMAX_CALIBRATION

    def get_batch_size(self):
        return 2

    def get_batch(self, names):
        for batch in self.data:
            cuda.memcpy_htod(self.memory, batch)
            return [self.memory]
        return []

    def read_calibration_cache(self):
        return b""

    def write_calibration_cache(self, cache):
        assert len(cache) > 0


def main(model, feeds, folder):
    logger = trt.Logger(trt.Logger.WARNING)
    builder = trt.Builder(logger)
    network = builder.create_network(1)
    assert trt.OnnxParser(network, logger).parse(open(model, "rb").read(), path=model)
    config = builder.create_builder_config()
    config.flags = 1 << int(trt.BuilderFlag.INT8) | 1 << int(trt.BuilderFlag.FP16)
    config.int8_calibrator = Calibrator([feeds["input"], feeds["input"] / 2])
    engine = builder.build_engine(network, config)
    assert engine.vernier.audit["conv1"].executed.accumulate == "i32"
    context = engine.create_execution_context()
    result = np.full((2, 5), np.nan, np.float32)
    assert context.execute_v2([feeds["input"].ctypes.data, result.ctypes.data])
    return {"output": result}
