"""nvidia-modelopt's AutoCast to fp16: modelopt_autocast.py MODEL SAMPLES.npz OUTPUT"""
import sys

import numpy as np
import onnx
from modelopt.onnx.autocast import convert_to_mixed_precision

model, samples, output = sys.argv[1:]
data = np.load(samples)
first = sorted(data.files)[0]
np.savez(output + ".sample.npz", **{first.split("/", 1)[1]: data[first]})
onnx.save(convert_to_mixed_precision(model, low_precision_type="fp16", keep_io_types=True, calibration_data=output + ".sample.npz", providers=["cpu"]), output)
