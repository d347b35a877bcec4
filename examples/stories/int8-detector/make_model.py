"""Writes float.onnx, a detector whose boxes (pixels up to 640) and scores (up to 1) are joined for its
postprocessing, model.onnx, the same in int8 as calibrators make it, one scale behind each node, apart.onnx, in which
boxes and scores have a scale each and the Concat none; and data.npz.
"""
import pathlib
import sys

import numpy as np
from onnx.reference import ReferenceEvaluator

sys.path.insert(0, str(pathlib.Path(__file__).absolute().parents[1]))

from building import Builder  # noqa: E402

SIDE, CHANNELS, CLASSES = 48, 16, 8
PLACES = (SIDE // 4) ** 2


class Detector:
    """`ranges`: smallest and largest value of what is to be quantized, by name."""

    def __init__(self, ranges: dict[str, tuple[float, float]]):
        self.net, self.ranges = Builder(seed=10), ranges

    def in_int8(self, name: str) -> str:
        """QuantizeLinear and DequantizeLinear behind a value that is to be quantized."""
        if name not in self.ranges:
            return name
        low, high = min(self.ranges[name][0], 0), max(self.ranges[name][1], 0)
        step = np.float32((high - low) / 255)
        scale = self.net.weight(f"{name}_scale", step), self.net.weight(f"{name}_zero", np.uint8(round(-low / step)))
        self.net.op("QuantizeLinear", name, *scale, makes=f"{name}_q")
        return self.net.op("DequantizeLinear", f"{name}_q", *scale, makes=f"{name}_dq")

    def conv(self, x: str, shape: tuple, makes: str, shift: float = 0, **attributes) -> str:
        weight = self.net.random.normal(0, np.prod(shape[1:]) ** -0.5, shape).astype(np.float32)
        if self.ranges:
            scale = np.abs(weight).max(axis=(1, 2, 3)) / 63  # 7 bits: pairs of products fit in 16 bits where there is no VNNI
            codes = np.rint(weight / scale.reshape(-1, 1, 1, 1)).astype(np.int8)
            parts = (self.net.weight(f"{makes}_codes", codes), self.net.weight(f"{makes}_scales", scale))
            given = self.net.op("DequantizeLinear", *parts, makes=f"{makes}_w", axis=0)
        else:
            given = self.net.weight(f"{makes}_w", weight)
        bias = self.net.weight(f"{makes}_b", np.full(shape[0], shift, np.float32))
        return self.net.op("Conv", x, given, bias, makes=makes, **attributes)

    def build(self) -> Builder:
        net, x = self.net, self.in_int8("image")
        for i, read in enumerate((3, CHANNELS)):
            self.conv(x, (CHANNELS, read, 3, 3), f"conv_{i}", strides=[2, 2], pads=[1, 1, 1, 1])
            x = self.in_int8(net.op("Relu", f"conv_{i}", makes=f"relu_{i}"))
        self.conv(x, (4, CHANNELS, 1, 1), "box_logits")
        net.op("Sigmoid", "box_logits", makes="box_shares")
        net.op("Mul", "box_shares", net.weight("pixels", np.float32(640)), makes="box_map")
        self.conv(x, (CLASSES, CHANNELS, 1, 1), "score_logits", shift=-2)
        net.op("Sigmoid", "score_logits", makes="score_map")
        for side, count in (("box", 4), ("score", CLASSES)):
            dims = net.weight(f"{side}_dims", [1, count, PLACES])
            net.op("Reshape", self.in_int8(f"{side}_map"), dims, makes=f"{side}_list")
        net.op("Concat", "box_list", "score_list", makes="detections", axis=1)
        net.op("Split", self.in_int8("detections"), net.weight("sizes", [4, CLASSES]), makes="boxes scores", axis=1)
        return net


def save(file: str, ranges: dict) -> None:
    outputs = {"boxes": [1, 4, PLACES], "scores": [1, CLASSES, PLACES]}
    Detector(ranges).build().save(file, {"image": [1, 3, SIDE, SIDE]}, outputs)


image = np.random.default_rng(11).uniform(0, 1, (1, 3, SIDE, SIDE)).astype(np.float32)
np.savez("data.npz", image=image)
save("float.onnx", {})
values = ReferenceEvaluator("float.onnx").run(None, {"image": image}, intermediate=True)


def ranges_of(*names: str) -> dict:
    return {name: (values[name].min(), values[name].max()) for name in names}


save("model.onnx", ranges_of("image", "relu_0", "relu_1", "detections"))
save("apart.onnx", ranges_of("image", "relu_0", "relu_1", "box_map", "score_map"))
