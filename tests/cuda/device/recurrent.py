#!/usr/bin/env python3
"""Models of recurrent operators, for suite.py: recurrent.py FOLDER [--seed N]

Writes FOLDER/recurrent_{fp32,fp16,bf16,fp64}/model.onnx: LSTM, GRU and RNN of every hidden size and batch below, with directions, layouts, lengths, activations and
operands drawn for each, one behind the other in no way. Weights are inputs that a Mul makes small, so that gates are seldom saturated and the files are small. Each node has outputs
of its own, so `vernier run FOLDER/recurrent_fp32/model.onnx --reference --cuda` checks every element of every one by its bound. Needs the Python package onnx.
"""
import argparse
import pathlib
import random

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

TYPES = {"fp32": TensorProto.FLOAT, "fp16": TensorProto.FLOAT16, "bf16": TensorProto.BFLOAT16, "fp64": TensorProto.DOUBLE}
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
ACTIVATIONS = {"LSTM": 3, "GRU": 2, "RNN": 1}  # of one direction
SIZES = [7, 64, 256, 600, 1024]
BATCHES = [1, 3, 32]
BOUNDED = ["Tanh", "Sigmoid", "Softsign", "HardSigmoid", "ScaledTanh"]
OTHERS = ["Relu", "LeakyRelu", "ThresholdedRelu", "Elu", "Softplus", "Affine"]


class Models:
    def __init__(self, element, draw):
        self.element, self.draw = element, draw
        self.nodes, self.inputs, self.outputs, self.known = [], [], [], []

    def input(self, name, shape):
        self.inputs.append(helper.make_tensor_value_info(name, self.element, shape))
        return name

    def constant(self, name, values):
        self.known.append(numpy_helper.from_array(values, name))
        return name

    def weights(self, name, shape):
        """An input times 1 / sqrt(length of a row)."""
        scale = helper.make_tensor(f"scale_{name}", self.element, [], [shape[-1] ** -0.5])
        self.known.append(scale)
        self.nodes.append(helper.make_node("Mul", [self.input(f"{name}_drawn", shape), scale.name], [name], name=f"Mul_{name}"))
        return name

    def attributes(self, op, hidden, directions):
        draw = self.draw
        made = {"hidden_size": hidden, "direction": draw.choice(["forward", "reverse"]) if directions == 1 else "bidirectional"}
        if draw.random() < 0.3:
            made["clip"] = draw.choice([0.5, 3.0])
        if op == "GRU":
            made["linear_before_reset"] = draw.randint(0, 1)
        if op == "LSTM" and draw.random() < 0.3:
            made["input_forget"] = 1
        if draw.random() < 0.4:
            # Gates stay between -1 and 1; unbounded states would grow from step to step.
            made["activations"] = [draw.choice(BOUNDED + (OTHERS if "clip" in made else [])) for _ in range(ACTIVATIONS[op] * directions)]
            takes_both = {"HardSigmoid", "ScaledTanh", "Affine"}
            takes_one = takes_both | {"LeakyRelu", "ThresholdedRelu", "Elu"}
            made["activation_alpha"] = [0.5 for each in made["activations"] if each in takes_one]
            made["activation_beta"] = [0.75 for each in made["activations"] if each in takes_both]
            made = {name: value for name, value in made.items() if value != []}
        return made

    def add(self, op, hidden, batch):
        draw, i = self.draw, len(self.nodes)
        work = hidden * hidden * batch
        steps = 20 if work < 1 << 18 else 12 if work < 1 << 21 else 6
        size, directions, layout, gates = draw.choice([1, 5, 16, 40]), draw.choice([1, 1, 2]), draw.choice([0, 0, 1]), GATES[op]
        state = [batch, directions, hidden] if layout else [directions, batch, hidden]
        names = [self.input(f"x{i}", [batch, steps, size] if layout else [steps, batch, size]), self.weights(f"w{i}", [directions, gates * hidden, size]),
                 self.weights(f"r{i}", [directions, gates * hidden, hidden])]  # fmt: skip
        names.append(self.input(f"b{i}", [directions, 2 * gates * hidden]) if draw.random() < 0.7 else "")
        lengths = numpy.array([draw.randint(0 if k else 1, steps) for k in range(batch)], numpy.int32)  # one is not empty
        names.append(self.constant(f"n{i}", lengths) if draw.random() < 0.5 else "")
        names.append(self.input(f"h{i}", state) if draw.random() < 0.5 else "")
        if op == "LSTM":
            names.append(self.input(f"c{i}", state) if draw.random() < 0.5 else "")
            names.append(self.input(f"p{i}", [directions, 3 * hidden]) if draw.random() < 0.3 else "")
        while not names[-1]:
            names.pop()
        shapes = [[batch, steps, directions, hidden] if layout else [steps, directions, batch, hidden], state, state][: 3 if op == "LSTM" else 2]
        made = [f"y{i}_{k}" if draw.random() < 0.8 else "" for k in range(len(shapes))]
        if not any(made):
            made[1] = f"y{i}_1"
        self.outputs += [helper.make_tensor_value_info(name, self.element, shape) for name, shape in zip(made, shapes) if name]
        attributes = self.attributes(op, hidden, directions)
        self.nodes.append(helper.make_node(op, names, made, name=f"{op}_{hidden}_{batch}", layout=layout, **attributes))

    def model(self):
        graph = helper.make_graph(self.nodes, "recurrent", self.inputs, self.outputs, self.known)
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
        onnx.checker.check_model(made)
        return made


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=2)
    arguments = parser.parse_args()
    for name, element in TYPES.items():
        folder = arguments.folder / f"recurrent_{name}"
        folder.mkdir(parents=True, exist_ok=True)
        models = Models(element, random.Random(arguments.seed))
        for op in GATES:
            for hidden in SIZES:
                for batch in BATCHES:
                    models.add(op, hidden, batch)
        onnx.save(models.model(), folder / "model.onnx")


if __name__ == "__main__":
    main()
