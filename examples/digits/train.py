#!/usr/bin/env python3
"""Trains the bundled model: a small residual CNN on scikit-learn's handwritten digits (8x8 images, ten classes).

    train.py [--to DIR]     writes digits.onnx, held_out.npz (input `image` [359, 1, 8, 8]) and labels.npy (int64 [359])

Needs torch, scikit-learn and onnx (not part of Vernier's own environment). BatchNormalization stays a node of its own, as
exporters in training mode leave it, so that the example shows what a compiler has to fold. Same seed, same model up to the
rounding of the machine that trains it.
"""
import argparse
import pathlib

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn

CHANNELS = 48
EPOCHS = 40


class Block(nn.Module):
    def __init__(self, channels: int):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)

    def forward(self, x):
        y = torch.relu(self.bn1(self.conv1(x)))
        return torch.relu(x + self.bn2(self.conv2(y)))


class Digits(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(1, CHANNELS, 3, padding=1, bias=False)
        self.stem_bn = nn.BatchNorm2d(CHANNELS)
        self.block1 = Block(CHANNELS)
        self.block2 = Block(CHANNELS)
        self.head = nn.Linear(CHANNELS * 4, 10)

    def forward(self, x):
        x = torch.relu(self.stem_bn(self.stem(x)))
        x = torch.max_pool2d(self.block1(x), 2)
        x = torch.max_pool2d(self.block2(x), 2)
        return self.head(x.flatten(1))


def train(images: np.ndarray, labels: np.ndarray) -> Digits:
    model = Digits()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=1e-2)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, EPOCHS)
    x, y = torch.from_numpy(images), torch.from_numpy(labels)
    for _ in range(EPOCHS):
        model.train()
        for batch in torch.randperm(len(x)).split(64):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x[batch]), y[batch], label_smoothing=0.05).backward()
            optimizer.step()
        schedule.step()
    return model.eval()


class Builder:
    """Writes the trained network as ONNX, one node per layer."""

    def __init__(self):
        self.nodes, self.weights = [], []

    def constant(self, name: str, value: torch.Tensor) -> str:
        self.weights.append(numpy_helper.from_array(value.detach().numpy().astype(np.float32), name))
        return name

    def node(self, op: str, name: str, *inputs: str, **attributes) -> str:
        self.nodes.append(helper.make_node(op, list(inputs), [name], name=name, **attributes))
        return name

    def conv_bn(self, name: str, x: str, conv: nn.Conv2d, bn: nn.BatchNorm2d) -> str:
        y = self.node("Conv", f"{name}_conv", x, self.constant(f"{name}.weight", conv.weight), kernel_shape=[3, 3], pads=[1, 1, 1, 1])
        parts = {"scale": bn.weight, "bias": bn.bias, "mean": bn.running_mean, "var": bn.running_var}
        names = [self.constant(f"{name}.bn.{key}", value) for key, value in parts.items()]
        return self.node("BatchNormalization", f"{name}_bn", y, *names, epsilon=bn.eps)

    def block(self, name: str, x: str, block: Block) -> str:
        y = self.node("Relu", f"{name}_relu1", self.conv_bn(f"{name}_1", x, block.conv1, block.bn1))
        y = self.node("Add", f"{name}_add", x, self.conv_bn(f"{name}_2", y, block.conv2, block.bn2))
        return self.node("Relu", f"{name}_relu2", y)

    def model(self, net: Digits) -> onnx.ModelProto:
        x = self.node("Relu", "stem_relu", self.conv_bn("stem", "image", net.stem, net.stem_bn))
        x = self.node("MaxPool", "pool1", self.block("block1", x, net.block1), kernel_shape=[2, 2], strides=[2, 2])
        x = self.node("MaxPool", "pool2", self.block("block2", x, net.block2), kernel_shape=[2, 2], strides=[2, 2])
        x = self.node("Flatten", "flatten", x)
        x = self.node("Gemm", "head", x, self.constant("head.weight", net.head.weight), self.constant("head.bias", net.head.bias), transB=1)
        self.node("Softmax", "probabilities", x, axis=-1)
        image = helper.make_tensor_value_info("image", TensorProto.FLOAT, ["N", 1, 8, 8])
        output = helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, ["N", 10])
        graph = helper.make_graph(self.nodes, "digits", [image], [output], self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], producer_name="vernier examples/digits")
        model.ir_version = 8
        onnx.checker.check_model(model, full_check=True)
        return model


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--to", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent)
    folder = parser.parse_args().to
    torch.manual_seed(1)
    digits = load_digits()
    images = (digits.images[:, None] / 16).astype(np.float32)
    x, held_out, y, labels = train_test_split(images, digits.target.astype(np.int64), test_size=359, random_state=1, stratify=digits.target)
    net = train(x, y)
    with torch.no_grad():
        accuracy = float((net(torch.from_numpy(held_out)).argmax(1).numpy() == labels).mean())
    print(f"held-out accuracy {accuracy:.4f} on {len(labels)} images")
    onnx.save(Builder().model(net), folder / "digits.onnx")
    np.savez(folder / "held_out.npz", image=held_out)
    np.save(folder / "labels.npy", labels)


if __name__ == "__main__":
    main()
