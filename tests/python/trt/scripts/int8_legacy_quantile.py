"""INT8 by a quantile."""
import numpy as np
import tensorrt as trt

MODEL, TOLERANCE = "static", 0.1


class Calibrator(trt.IInt8LegacyCalibrator):
    def __init__(self, batch):
        super().__init__()
        self.batch, self.left = batch, 1

    def get_quantile(self):
        return 0.999

    def get_regression_cutoff(self):
        return 1.0

    def get_batch_size(self):
        return len(self.batch)

    def get_batch(self, names):
        self.left -= 1
        return [self.batch] if self.left >= 0 else None


def main(model, feeds, folder):
    logger = trt.Logger(trt.Logger.WARNING)
    builder = trt.Builder(logger)
    network = builder.create_network(1)
    assert trt.OnnxParser(network, logger).parse_from_file(model)
    config = builder.create_builder_config()
    config.set_flag(trt.BuilderFlag.INT8)
    config.int8_calibrator = Calibrator(feeds["input"])
    engine = trt.Runtime(logger).deserialize_cuda_engine(builder.build_serialized_network(network, config))
    assert engine.vernier.audit["fc"].executed.accumulate == "i32"
    result = np.full((2, 5), np.nan, np.float32)
    engine.create_execution_context().execute_v2([feeds["input"].ctypes.data, result.ctypes.data])
    return {"output": result}
