"""ONNX Runtime's static quantizer: onnxruntime_int8.py MODEL SAMPLES.npz OUTPUT"""
import pathlib
import sys
import tempfile

import numpy as np
from onnxruntime.quantization import CalibrationDataReader, CalibrationMethod, QuantFormat, QuantType, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process


class Samples(CalibrationDataReader):
    def __init__(self, path: str):
        data = np.load(path)
        (self.name,) = {key.split("/", 1)[1] for key in data.files}
        self.samples = iter([{self.name: data[key]} for key in sorted(data.files)])

    def get_next(self):
        return next(self.samples, None)


model, samples, output = sys.argv[1:]
with tempfile.TemporaryDirectory() as folder:
    prepared = str(pathlib.Path(folder) / "prepared.onnx")
    quant_pre_process(model, prepared, skip_symbolic_shape=True)
    for per_channel in (True, False):
        try:
            quantize_static(prepared, output, Samples(samples), quant_format=QuantFormat.QDQ, per_channel=per_channel,
                            activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8, calibrate_method=CalibrationMethod.MinMax)  # fmt: skip
            break
        except ValueError as error:  # it compares scales of channels as if there was one, where a bias follows a MatMul
            if not per_channel:
                raise
            print(f"per tensor, for it fails by channel: {error}", file=sys.stderr)
