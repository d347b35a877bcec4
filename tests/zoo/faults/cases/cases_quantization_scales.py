"""Cases of scales that are zero, next to zero, or infinite, from ranges of nothing (B23)."""

from dataclasses import replace

import numpy as np

from case import Case
from nets import Net
from planting import recorded
from quantized_cases import by_model, in_int8, real, samples_of, weight_of
from quantizing import activations, around, blamed, quantized, weight_scales


def experts():
    """Two branches, of which a gate lets one through; calibration has never seen the second."""
    net = Net(23, x=(1, 8, 16, 16), g=(1, 1, 1, 1))
    closed = net.op("Sub", net.weight(np.ones((1, 1, 1, 1), np.float32)), "g")
    first = net.block(net.op("Mul", "x", "g"), 16, bias=np.zeros(16))
    second_in = net.op("Mul", "x", closed)
    net.channels[first], net.channels[second_in] = 16, 8
    second = net.block(second_in, 16, bias=np.zeros(16))
    return net.model(net.conv(net.op("Add", first, second), 4, 1)), second_in


def nothing_seen() -> list[Case]:
    """B23: a scale of zero for what was masked off, next to zero for one channel or for silence, infinite by
    overflow."""
    own, hidden = experts()
    gated = samples_of(
        3, 9, lambda draw: {"x": draw.uniform(0.2, 2.0, (1, 8, 16, 16)), "g": np.full((1, 1, 1, 1), 0.3)}
    )
    zero = lambda scales, ranges: scales | {hidden: replace(scales[hidden], scale=np.float32(0))}
    face, games, digits = real("yunet-120x160"), recorded("connect4-alphazero"), recorded("mnist-cntk")
    game, digit, faces = real("connect4-alphazero"), real("mnist-cntk"), recorded("yunet-120x160")
    inner, pooled = "/backbone/backbone.1/Relu_output_0", activations(digit())[1]
    infinite = lambda scales, ranges: scales | {inner: replace(scales[inner], scale=np.float32(np.inf))}
    silent = lambda scales, ranges: scales | {pooled: replace(scales[pooled], scale=np.float32(1e-9))}
    return [
        by_model(
            "B23/own-graph",
            in_int8(lambda: own, gated, spoil=zero),
            in_int8(lambda: own, gated),
            gated,
            blamed(own, hidden),
        ),
        by_model(
            "B23/yunet-120x160",
            scale_of_channel(face, "Conv_12", 1e-9),
            scale_of_channel(face, "Conv_12", 1.0),
            faces,
            around(weight_of(face(), "Conv_12")) | {"Conv_12"},
        ),
        by_model(
            "B23/connect4-alphazero",
            in_int8(game, games, spoil=infinite),
            in_int8(game, games),
            games,
            blamed(game(), inner),
        ),
        by_model(
            "B23/mnist-cntk",
            in_int8(digit, digits, spoil=silent),
            in_int8(digit, digits),
            digits,
            blamed(digit(), pooled),
        ),
    ]


def scale_of_channel(source, node: str, factor: float):
    """The weights of one node in int8, whose fifth channel has `factor` times the scale that it should have."""

    def build():
        name = weight_of(source(), node)
        scales = weight_scales(source(), [node])
        steps = scales[name].scale.copy()
        steps[5] *= factor
        return quantized(source(), {}, {name: replace(scales[name], scale=steps)})

    return build


def cases() -> list[Case]:
    return nothing_seen()
