"""A runner in 50 lines: ONNX's own reference evaluator behind Vernier's protocol (docs/runner-protocol.md).

    vernier run model.onnx --cpu --runner 'mine=python docs/example_runner.py'
"""

import json
import sys
import time

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator

DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1",
          "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "u1", "BOOL": "?"}  # fmt: skip
NAMES = {np.dtype(dtype): name for name, dtype in DTYPES.items()}


def read(path):
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        data = file.read()
    header.pop("__metadata__", None)
    return {name: np.ndarray(t["shape"], DTYPES[t["dtype"]], data, t["data_offsets"][0]) for name, t in header.items()}


def write(path, tensors):
    header, data = {}, b""
    for name, tensor in tensors.items():
        content = np.ascontiguousarray(tensor).tobytes()
        offsets = [len(data), len(data) + len(content)]
        header[name] = {"dtype": NAMES[tensor.dtype], "shape": list(tensor.shape), "data_offsets": offsets}
        data += content
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text + data)


for line in sys.stdin:
    request, answer = json.loads(line), {}
    if request["request"] == "hello":
        answer = {"protocol": "vernier-runner/1", "engine": "onnx.reference", "version": onnx.__version__}
    elif request["request"] == "load":
        model = ReferenceEvaluator(request["model"])
    elif request["request"] == "run":
        begin = time.perf_counter()
        outputs = dict(zip(model.output_names, model.run(None, read(request["inputs"]))))
        answer = {"outputs": list(outputs), "seconds": time.perf_counter() - begin}
        write(request["outputs"], outputs)
    print(json.dumps({"id": request["id"], **answer}), flush=True)
