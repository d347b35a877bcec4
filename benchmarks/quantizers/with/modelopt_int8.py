"""nvidia-modelopt's int8 quantizer: modelopt_int8.py MODEL SAMPLES.npz OUTPUT"""
import sys

import numpy as np
from modelopt.onnx.quantization import quantize

model, samples, output = sys.argv[1:]
data = np.load(samples)
keys = [key for key in sorted(data.files) if data[key].shape == data[sorted(data.files)[0]].shape]
(name,) = {key.split("/", 1)[1] for key in keys}
quantize(model, quantize_mode="int8", calibration_data={name: np.concatenate([data[key] for key in keys])}, calibration_eps=["cpu"],
         high_precision_dtype="fp32", output_path=output)  # fmt: skip
