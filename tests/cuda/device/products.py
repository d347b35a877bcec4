#!/usr/bin/env python3
"""Models of randomly drawn products and convolutions, for suite.py: products.py FOLDER [--seed N] [--count N]

Writes FOLDER/products_{fp32,fp16,bf16}/model.onnx, and but for bf16 data.npz beside it: integers whose sums are exact in float, so that all that may differ from
the reference is a result that is rounded more than once. Each model has so many MatMuls, Gemms and convolutions of that type, of odd and of even sizes, with and without batches,
transposition, factors, addends, windows, groups, and what follows a convolution in its kernel, one behind the other in no way: each has inputs and an output of its own,
so a run against the reference checks every element of every one by its bound. Needs the Python package onnx.
"""
import argparse
import pathlib
import random

import numpy
import onnx
from onnx import TensorProto, helper

TYPES = {"fp32": TensorProto.FLOAT, "fp16": TensorProto.FLOAT16, "bf16": TensorProto.BFLOAT16}


def size(draw):
    return draw.choice([1, 2, 3, 7, 8, 16, 17, 33, 64, 96, 127, 128, 200, 257, draw.randint(1, 400)])


def matmul(draw):
    m, k, n = size(draw), size(draw) * draw.choice([1, 1, 4]), size(draw)
    batch = draw.choice([[], [], [draw.randint(1, 7)], [2, draw.randint(1, 5)]])
    a, b = draw.choice([(batch, batch), (batch, []), ([], batch)])
    return "MatMul", [a + [m, k], b + [k, n]], batch + [m, n], {}


def gemm(draw):
    m, k, n = size(draw), size(draw) * draw.choice([1, 1, 4]), size(draw)
    turn_a, turn_b = draw.randint(0, 1), draw.randint(0, 1)
    shapes = [[k, m] if turn_a else [m, k], [n, k] if turn_b else [k, n]]
    shapes += draw.choice([[], [[n]], [[n]], [[1, n]], [[m, n]], [[m, 1]], [[1]]])
    return "Gemm", shapes, [m, n], {"transA": turn_a, "transB": turn_b, "alpha": draw.choice([1.0, 1.0, 0.5]), "beta": draw.choice([1.0, 1.0, 2.0])}


def convolution(draw):
    images, channels, filters, height, width = draw.randint(1, 4), size(draw), size(draw), draw.randint(1, 29), draw.randint(1, 29)
    return "Conv", [[images, channels, height, width], [filters, channels, 1, 1]] + draw.choice([[], [[filters]]]), [images, filters, height, width], {}


def windows(draw):
    axes, groups = draw.choice([1, 2, 2, 2, 2, 3]), draw.choice([1, 1, 1, 2, 4, 32])
    channels, filters = groups * draw.choice([1, 2, 3, 8, 16, 40]), groups * draw.choice([1, 2, 5, 8, 16, 40])
    if groups == 32:  # each of single channels
        channels, filters = groups, groups * draw.choice([1, 1, 2])
    kernel = [draw.choice([1, 2, 3, 3, 3, 5]) for _ in range(axes)]
    strides, dilations = [draw.choice([1, 1, 2, 3]) for _ in range(axes)], [draw.choice([1, 1, 1, 2]) for _ in range(axes)]
    pads = [draw.randint(0, size // 2) for size in kernel] if draw.randint(0, 1) else [draw.randint(0, 1) for _ in range(2 * axes)]
    pads = pads + pads if len(pads) == axes else pads
    sizes = [draw.randint(9, 29 if axes < 3 else 14) for _ in range(axes)]
    result = [(sizes[a] + pads[a] + pads[a + axes] - dilations[a] * (kernel[a] - 1) - 1) // strides[a] + 1 for a in range(axes)]
    images = draw.randint(1, 3)
    shapes = [[images, channels] + sizes, [filters, channels // groups] + kernel] + draw.choice([[], [[filters]]])
    return "Conv", shapes, [images, filters] + result, {"group": groups, "strides": strides, "dilations": dilations, "pads": pads}


def model(element, draw, count):
    nodes, inputs, outputs = [], [], []
    for i in range(count):
        op, shapes, result, attributes = draw.choice([matmul, gemm, gemm, convolution, windows, windows])(draw)
        names = [f"{chr(97 + j)}{i}" for j in range(len(shapes))]
        # In float16 a kernel that computes several nodes rounds once, where the reference rounds each: no bit for bit comparison.
        follows = draw.choice([[], ["Relu"], ["Add"], ["Add", "Relu"]]) if op == "Conv" and element != TensorProto.FLOAT16 else []
        last = f"t{i}" if follows else f"y{i}"
        nodes.append(helper.make_node(op, names, [last], name=f"{op}_{i}", **attributes))
        for j, follower in enumerate(follows):
            operands = [last]
            if follower == "Add":
                names.append(f"r{i}")
                shapes.append(result)
                operands.insert(draw.randint(0, 1), names[-1])
            last = f"y{i}" if j + 1 == len(follows) else f"s{i}"
            nodes.append(helper.make_node(follower, operands, [last], name=f"{follower}_{i}"))
        inputs += [helper.make_tensor_value_info(name, element, shape) for name, shape in zip(names, shapes)]
        outputs.append(helper.make_tensor_value_info(f"y{i}", element, result))
    graph = helper.make_graph(nodes, "products", inputs, outputs)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
    onnx.checker.check_model(made)
    return made


def integers(made, kind, seed):
    draw = numpy.random.default_rng(seed)
    addends = {node.input[2] for node in made.graph.node if len(node.input) > 2} | {name for node in made.graph.node if node.op_type == "Add" for name in node.input}
    shapes = {value.name: [dim.dim_value for dim in value.type.tensor_type.shape.dim] for value in made.graph.input}
    return {name: draw.integers(*((-2048, 2049) if name in addends else (-16, 17)), shape).astype(kind) for name, shape in shapes.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=80)
    arguments = parser.parse_args()
    draw = random.Random(arguments.seed)
    for name, element in TYPES.items():
        folder = arguments.folder / f"products_{name}"
        folder.mkdir(parents=True, exist_ok=True)
        made = model(element, draw, arguments.count)
        onnx.save(made, folder / "model.onnx")
        if name != "bf16":
            numpy.savez(folder / "data.npz", **integers(made, numpy.float16 if name == "fp16" else numpy.float32, arguments.seed))


if __name__ == "__main__":
    main()
