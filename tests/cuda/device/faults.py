#!/usr/bin/env python3
"""Models, and what is made to go wrong in engines of them, for the suite `faults`: faults.py FOLDER

Writes FOLDER/*.onnx and FOLDER/cases.json: for each case the model, the fault (docs/fault-injection.md; *: any of the first 20), the options of the engine, the node
that a comparison of all layers has to name (null: the verdict of `vernier build` without trials, which would find it before, has to fail), and a word that `vernier diagnose` has to say (null: it is not asked).
Needs the Python package onnx.
"""
import json
import pathlib
import sys

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper


def save(path, nodes, inputs, output, constants):
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs.items()]
    graph = helper.make_graph(nodes, path.stem, values, [helper.make_tensor_value_info(output, TensorProto.FLOAT, None)],
                              [numpy_helper.from_array(value, name) for name, value in constants.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(onnx.shape_inference.infer_shapes(model), path)


def write(folder):
    draw = numpy.random.default_rng(1)

    def drawn(*shape, low=-1.0, high=1.0):
        return draw.uniform(low, high, shape).astype(numpy.float32)

    save(folder / "block.onnx", [
        helper.make_node("Conv", ["x", "w1", "b1"], ["a"], name="conv", pads=[1, 1, 1, 1]),
        helper.make_node("Add", ["a", "x"], ["s"], name="skip"),
        helper.make_node("Clip", ["s", "low", "high"], ["c"], name="clip"),
        helper.make_node("Conv", ["c", "w2"], ["d"], name="down", strides=[2, 2], pads=[1, 1, 1, 1]),
        helper.make_node("Mul", ["d", "scales"], ["e"], name="scale"),
        helper.make_node("GlobalAveragePool", ["e"], ["y"], name="pool"),
    ], {"x": [1, 32, 28, 28]}, "y", {"w1": drawn(32, 32, 3, 3), "b1": drawn(32), "low": numpy.float32(0), "high": numpy.float32(1), "w2": drawn(48, 32, 3, 3),
                                     "scales": drawn(1, 48, 1, 1, low=0.5, high=2)})
    save(folder / "rows.onnx", [
        helper.make_node("MatMul", ["x", "w"], ["a"], name="product"),
        helper.make_node("Softmax", ["a"], ["y"], name="softmax", axis=-1),
    ], {"x": [3, 40, 500]}, "y", {"w": drawn(500, 40)})
    save(folder / "long.onnx", [
        helper.make_node("MatMul", ["x", "w"], ["a"], name="product"),
        helper.make_node("Abs", ["a"], ["y"], name="abs"),
    ], {"x": [2, 131072]}, "y", {"w": drawn(131072, 4, low=0)})
    fp16 = ["--fp16"]
    cases = [("block", fault, options, fault.split(":")[1], None)
             for options in ([], fp16)
             for fault in ("clip-bound:clip", "channel-scale:scale", "residual:skip", "stride:down", "stale-buffer:conv", "missed-sync:down", "swapped-axis:conv")]
    cases += [("rows", fault, options, "product", None) for options in ([], fp16) for fault in ("stale-buffer:product", "missed-sync:product", "swapped-axis:product")]
    cases += [("block", "fp16-accumulator:down", [], "down", "float16"), ("block", "tf32:conv", [], "conv", "TF32"), ("rows", "tf32:product", [], "product", "TF32"),
              ("rows", "fp16-accumulator:product", [], "product", "float16"), ("long", "accumulation:product", [], "product", None),
              ("block", "drop-copy:0", [], None, None), ("block", "drop-wait:*", [], None, None)]
    (folder / "cases.json").write_text(json.dumps([dict(zip(("model", "fault", "options", "node", "says"), case)) for case in cases], indent=1))


if __name__ == "__main__":
    target = pathlib.Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    write(target)
