#!/usr/bin/env python3
"""Copies a model whose activation between two layers is made so large that fp16 does not hold it: grow_activation.py MODEL NORM CONV TO.
What the BatchNormalization NORM makes, and the Relu behind it, becomes 2**16 times as large, and the weights of the Conv CONV that
reads it as much smaller. In float nothing changes, for powers of two round nothing.
"""
import sys

import onnx
from onnx import numpy_helper

FACTOR = 2.0**16


def main() -> int:
    source, norm, conv, target = sys.argv[1:5]
    model = onnx.load(source)
    nodes = {node.name: node for node in model.graph.node}
    missing = [name for name in (norm, conv) if name not in nodes]
    if missing:
        print(f"grow_activation: {source} has no node {', '.join(missing)}", file=sys.stderr)
        return 2
    factors = {nodes[norm].input[1]: FACTOR, nodes[norm].input[2]: FACTOR, nodes[conv].input[1]: 1 / FACTOR}
    for tensor in model.graph.initializer:
        if tensor.name in factors:
            values = numpy_helper.to_array(tensor)
            tensor.CopyFrom(numpy_helper.from_array(values * values.dtype.type(factors[tensor.name]), tensor.name))
    onnx.save(model, target)
    return 0


if __name__ == "__main__":
    sys.exit(main())
