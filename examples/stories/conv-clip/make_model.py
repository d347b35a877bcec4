"""Writes model.onnx, a convolution of a picture in (-0.5, 0.5) and a Clip to this range, max-min.onnx, the same with
Max and Min in place of Clip, and data.npz.
"""
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).absolute().parents[1]))

from building import Builder  # noqa: E402

SIDE = 96


def picture_filter(clip: bool) -> Builder:
    net = Builder(seed=3)
    weight, bias = net.normal("w", (3, 3, 3, 3), 0.3), net.normal("b", (3,), 0.1)
    net.op("Conv", "image", weight, bias, makes="filtered", pads=[1, 1, 1, 1])
    low, high = net.weight("low", np.float32(-0.5)), net.weight("high", np.float32(0.5))
    if clip:
        net.op("Clip", "filtered", low, high, makes="y")
    else:
        net.op("Max", "filtered", low, makes="raised")
        net.op("Min", "raised", high, makes="y")
    return net


for file, clip in (("model.onnx", True), ("max-min.onnx", False)):
    picture_filter(clip).save(file, {"image": [1, 3, SIDE, SIDE]}, {"y": [1, 3, SIDE, SIDE]})
np.savez("data.npz", image=np.random.default_rng(4).uniform(-0.5, 0.5, (1, 3, SIDE, SIDE)).astype(np.float32))
