"""nncf's post-training quantizer: nncf_int8.py MODEL SAMPLES.npz OUTPUT"""
import sys

import nncf
import numpy as np
import onnx

model, samples, output = sys.argv[1:]
data = np.load(samples)
rows = [{key.split("/", 1)[1]: data[key]} for key in sorted(data.files)]
onnx.save(nncf.quantize(onnx.load(model), nncf.Dataset(rows), subset_size=len(rows)), output)
