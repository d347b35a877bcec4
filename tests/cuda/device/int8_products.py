#!/usr/bin/env python3
"""A model of randomly drawn products and convolutions of int8, for suite.py: int8_products.py FOLDER [--seed N] [--count N]

Writes FOLDER/products_int8/model.onnx and data.npz beside it: so many MatMulInteger, ConvInteger, QLinearMatMul and QLinearConv, and Conv and MatMul between
DequantizeLinear and QuantizeLinear, whose scales are powers of two, of odd and of even sizes, of INT8 and UINT8, with and without zero points, of factors that
are known and others, one behind the other in no way. Sums are exact, so every bit has to be that of the reference. Needs the Python package onnx.
"""
import argparse
import pathlib
import random

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

from products import matmul, windows

INT8, UINT8 = numpy.int8, numpy.uint8
ELEMENT = {INT8: TensorProto.INT8, UINT8: TensorProto.UINT8}


class Graph:
    def __init__(self, seed):
        self.draw, self.numbers = random.Random(seed), numpy.random.default_rng(seed)
        self.nodes, self.inputs, self.outputs, self.known, self.data = [], [], [], [], {}

    def values(self, name, kind, shape, known):
        low, high = (-128, 128) if kind is INT8 else (0, 256)
        values = self.numbers.integers(low, high, shape).astype(kind)
        if known:
            return self.constant(name, values)
        self.inputs.append(helper.make_tensor_value_info(name, ELEMENT[kind], shape))
        self.data[name] = values
        return name

    def constant(self, name, values):
        self.known.append(numpy_helper.from_array(numpy.asarray(values), name))
        return name

    def zero(self, name, kind, shape=()):
        low, high = (-9, 10) if kind is INT8 else (100, 156)
        return self.constant(name, self.numbers.integers(low, high, shape).astype(kind))

    def node(self, op, inputs, output, **attributes):
        self.nodes.append(helper.make_node(op, inputs, [output], name=f"{op}_{output}", **attributes))
        return output

    def result(self, name, element, shape):
        self.outputs.append(helper.make_tensor_value_info(name, element, shape))

    def add(self, i):
        draw = self.draw
        op, shapes, result, attributes = draw.choice([matmul, windows])(draw)
        a_kind, b_kind, y_kind = (draw.choice([INT8, UINT8]) for _ in range(3))
        channels = shapes[1][0] if op == "Conv" else shapes[1][-1]
        known = len(shapes[1]) == 2 or op == "Conv"
        a = self.values(f"a{i}", a_kind, shapes[0], False)
        b = self.values(f"b{i}", b_kind, shapes[1], known and draw.randint(0, 3) > 0)
        a_zero, y = self.zero(f"az{i}", a_kind), f"y{i}"
        form = draw.choice(["integer", "linear", "groups"])
        if form == "integer":
            b_zero = self.zero(f"bz{i}", b_kind, draw.choice([(), (channels,)]) if known and op == "MatMul" else ())
            zeros = draw.choice([[], [a_zero], [a_zero, b_zero]])
            self.node(f"{op}Integer", [a, b, *zeros], y, **attributes)
            return self.result(y, TensorProto.INT32, result)
        depth = int(numpy.prod(shapes[1])) // channels
        a_scale, y_zero = self.constant(f"as{i}", numpy.float32(2.0 ** -7)), self.zero(f"yz{i}", y_kind)
        y_scale = self.constant(f"ys{i}", numpy.float32(0.37 * depth ** 0.5))
        if form == "linear":
            b_scales = self.constant(f"bs{i}", (self.numbers.random(channels if known else ()) / 8 + 0.01).astype(numpy.float32))
            b_zero = self.zero(f"cz{i}", b_kind, (channels,) if known else ())
            self.node(f"QLinear{op}", [a, a_scale, a_zero, b, b_scales, b_zero, y_scale, y_zero], y, **attributes)
            return self.result(y, ELEMENT[y_kind], result)
        b_scale = self.constant(f"bs{i}", numpy.float32(2.0 ** -5))
        real_a, real_b = (self.node("DequantizeLinear", operands, f"{operands[0]}_real") for operands in ([a, a_scale, a_zero], [b, b_scale, self.zero(f"cz{i}", b_kind)]))
        real = self.node(op, [real_a, real_b], f"r{i}", **attributes)
        if draw.randint(0, 1):
            real = self.node("Relu", [real], f"q{i}")
        self.node("QuantizeLinear", [real, y_scale, y_zero], y)
        return self.result(y, ELEMENT[y_kind], result)

    def model(self):
        graph = helper.make_graph(self.nodes, "products", self.inputs, self.outputs, self.known)
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
        onnx.checker.check_model(made)
        return made


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=80)
    arguments = parser.parse_args()
    graph = Graph(arguments.seed)
    for i in range(arguments.count):
        graph.add(i)
    folder = arguments.folder / "products_int8"
    folder.mkdir(parents=True, exist_ok=True)
    onnx.save(graph.model(), folder / "model.onnx")
    numpy.savez(folder / "data.npz", **graph.data)


if __name__ == "__main__":
    main()
