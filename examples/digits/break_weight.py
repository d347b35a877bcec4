#!/usr/bin/env python3
"""Copies a model with one weight tensor broken: break_weight.py MODEL WEIGHT TO. Half of the tensor's rows change sign."""
import sys

import onnx
from onnx import numpy_helper


def main() -> int:
    source, name, target = sys.argv[1:4]
    model = onnx.load(source)
    for tensor in model.graph.initializer:
        if tensor.name == name:
            values = numpy_helper.to_array(tensor).copy()
            values[::2] *= -1
            tensor.CopyFrom(numpy_helper.from_array(values, name))
            onnx.save(model, target)
            return 0
    print(f"break_weight: {source} has no weight {name!r}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
