"""INT8 by extremes, of arrays of the host, at the sizes of a calibration profile."""
import numpy as np
import tensorrt as trt

MODEL, TOLERANCE = "mlp", 0.2


class Calibrator(trt.IInt8MinMaxCalibrator):
    def __init__(self, batches):
        super().__init__()
        self.batches, self.written = iter(batches), None

    def get_batch_size(self):
        return 2

    def get_batch(self, names):
        assert names == ["x"]
        try:
            self.current = np.ascontiguousarray(next(self.batches))
        except StopIteration:
            return None
        return [self.current.ctypes.data]

    def read_calibration_cache(self):
        return None

    def write_calibration_cache(self, cache):
        self.written = bytes(cache)


def main(model, feeds, folder):
    logger = trt.Logger(trt.Logger.WARNING)
    builder = trt.Builder(logger)
    network = builder.create_network(0)
    assert trt.OnnxParser(network, logger).parse_from_file(model)
    config = builder.create_builder_config()
    config.set_flag(trt.BuilderFlag.INT8)
    run, calibration = builder.create_optimization_profile(), builder.create_optimization_profile()
    run.set_shape("x", (1, 16), (4, 16), (8, 16))
    calibration.set_shape("x", (2, 16), (2, 16), (2, 16))
    config.add_optimization_profile(run)
    config.set_calibration_profile(calibration)
    config.int8_calibrator = Calibrator([feeds["x"][:2], feeds["x"][2:]])
    plan = builder.build_serialized_network(network, config)
    assert config.int8_calibrator.written and plan.vernier.audit["gemm"].executed.accumulate == "i32"
    engine = trt.Runtime(logger).deserialize_cuda_engine(plan)
    context = engine.create_execution_context()
    context.set_input_shape("x", (4, 16))
    result = np.full((4, 8), np.nan, np.float32)
    context.set_tensor_address("x", feeds["x"].ctypes.data)
    context.set_tensor_address("y", result.ctypes.data)
    context.execute_async_v3(0)
    return {"y": result}
