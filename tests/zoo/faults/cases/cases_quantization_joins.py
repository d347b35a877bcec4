"""Cases of joins: Concat of unequal scales, and scales and places around the Add of a residual (B26, B27)."""

import copy

import numpy as np
from onnx import numpy_helper

from case import Case
from nets import Net
from planting import recorded
from quantized_cases import ONNXRUNTIME, by_model, in_int8, real, samples_of
from quantizing import around, blamed, observed, quantized, uint8


def two_heads():
    """Boxes in pixels beside scores, in one tensor."""
    net = Net(27, x=(1, 16, 12, 12))
    n = net.block("x", 24)
    boxes = net.op("Mul", net.op("Sigmoid", net.conv(n, 4, 1)), net.weight(np.float32(640)))
    scores = net.op("Sigmoid", net.conv(n, 3, 1, bias=np.full(3, -2.0)))
    join = net.op("Concat", boxes, scores, axis=1)
    part = lambda begin, end: net.op("Slice", join, *(net.weight(np.int64([i])) for i in (begin, end, 1)))
    return net.model(part(0, 4), part(4, 7)), join


def in_pixels(source, stride: float):
    """The detector with its boxes in pixels: the last convolutions of all heads make them so."""

    def build():
        model = copy.deepcopy(source())
        tensors = {tensor.name: tensor for tensor in model.graph.initializer}
        for node in model.graph.node:
            if node.name in ("Conv_50", "Conv_56", "Conv_62", "Conv_68"):
                for name in node.input[1:]:
                    array = numpy_helper.to_array(tensors[name]).copy()
                    array[np.arange(len(array)) % 17 < 14] *= stride
                    tensors[name].CopyFrom(numpy_helper.from_array(array, name))
        return model

    return build


def joined(source, samples, value: str, nodes=None):
    """In int8 with, and without, the result of a Concat in one scale."""
    return in_int8(source, samples, nodes=nodes, also=(value,)), in_int8(source, samples, nodes=nodes, without=(value,))


def unequal_joins() -> list[Case]:
    """B26: what is joined has ranges far apart, and gets one scale."""
    data = samples_of(3, 27, lambda draw: {"x": draw.normal(0, 1, (1, 16, 12, 12))})
    face, faces = in_pixels(real("yunet-120x160"), 48.0), recorded("yunet-120x160")
    grid, loads = real("ac-opf-118"), recorded("ac-opf-118")
    model, join = two_heads()
    own = lambda: model
    heads = ("Conv_6", "Conv_7", "Conv_9")
    return [
        by_model("B26/own-graph", *joined(own, data, join), data, blamed(model, join)),
        by_model("B26/yunet-120x160", *joined(face, faces, "297", heads), faces, blamed(face(), "297")),
        by_model(
            "B26/ac-opf-118",
            *joined(grid, loads, "194", ["/layers.0/Gemm"]),
            loads,
            blamed(grid(), "194"),
            runner=ONNXRUNTIME,
        ),
    ]


def residual():
    """y = f(x) + x: one channel of x is far from the rest, which a head of its own scale per channel reads."""
    net = Net(28, x=(1, 16, 16, 16))
    wide = np.ones(16, np.float32)
    wide[3] = 120.0
    skip = net.op("Mul", "x", net.weight(wide.reshape(1, 16, 1, 1)))
    weight = net.draw.normal(0, 0.06, (16, 16, 3, 3))
    weight[:, 3] = 0
    n = net.op("Add", net.conv("x", 16, weight=weight), skip)
    even = net.op("Mul", n, net.weight(1 / wide.reshape(1, 16, 1, 1)))
    return net.model(net.conv(even, 16, 1)), skip, n


def twice(model, value: str, factor: float, ranges):
    """One more pair of nodes behind a value that is quantized already, with a coarser scale."""
    return quantized(model, {f"{value}_d": uint8(ranges[value].times(factor))}, {})


def placed_badly(source, samples, value: str, factor: float):
    """In int8, and one value rounded twice: to its own scale, and to one that is `factor` times as coarse."""
    good = in_int8(source, samples, also=(value,))
    return lambda: twice(good(), value, factor, observed(source(), samples()))


def residuals() -> list[Case]:
    """B27: scales and places of QuantizeLinear around the Add of a residual."""
    model, skip, total = residual()
    own, game, mobile = lambda: model, real("connect4-alphazero"), real("tinymobilenet-cifar-extdata")
    data = samples_of(3, 28, lambda draw: {"x": draw.normal(0, 1, (1, 16, 16, 16))})
    games, faces = recorded("connect4-alphazero"), recorded("tinymobilenet-cifar-extdata")
    branch = "/backbone/backbone.0/conv2/Conv_output_0"
    add = next(node for node in mobile().graph.node if node.op_type == "Add")
    narrow = lambda scales, ranges: (
        scales
        | {add.input[0]: uint8(ranges[add.input[0]].times(0.1)), add.input[1]: uint8(ranges[add.input[1]].times(0.1))}
    )
    return [
        by_model(
            "B27/own-graph",
            in_int8(own, data, also=(skip, total)),
            in_int8(own, data),
            data,
            blamed(model, skip, total),
        ),
        by_model(
            "B27/connect4-alphazero",
            placed_badly(game, games, branch, 24),
            in_int8(game, games, also=(branch,)),
            games,
            blamed(game(), branch) | around(f"{branch}_d") | {"/backbone/backbone.0/Add"},
        ),
        by_model(
            "B27/tinymobilenet",
            in_int8(mobile, faces, also=tuple(add.input), spoil=narrow),
            in_int8(mobile, faces, also=tuple(add.input)),
            faces,
            blamed(mobile(), *add.input) | {add.name},
        ),
    ]


def cases() -> list[Case]:
    return [*unequal_joins(), *residuals()]
