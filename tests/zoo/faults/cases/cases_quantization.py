"""Cases of calibration: ranges from the wrong data, by the wrong method or order, of another graph, or of nothing
(B19 to B23)."""

import numpy as np

from calibrators import entropy, first_batch, moving_average, percentile
from case import Case
from nets import Net
from planting import recorded
from quantized_cases import ONNXRUNTIME, by_model, changed, in_int8, real, samples_of
from quantizing import Range, Scale, activations, around, blamed, observed, uint8

MOBILE = "tinymobilenet-cifar-extdata"
MEAN, DEVIATION = np.float32(0.45), np.float32(0.22)


def three_convs(seed: int = 19):
    def build():
        net = Net(seed, x=(1, 3, 24, 24))
        n = net.block(net.block(net.block("x", 16), 16), 24)
        return net.model(net.conv(n, 8, 1))

    return build


def pictures(count: int, seed: int, shape=(1, 3, 24, 24), bright=lambda i: 1.0):
    """Smooth pictures in 0 to 1, the brightest of sample i at `bright(i)`."""

    def picture(draw, i):
        coarse = draw.random((*shape[:2], shape[2] // 4 + 1, shape[3] // 4 + 1))
        fine = coarse.repeat(4, 2).repeat(4, 3)[:, :, : shape[2], : shape[3]] * 0.8 + 0.2 * draw.random(shape)
        return {"x": np.float32(fine * bright(i))}

    def read():
        draw = np.random.default_rng(seed)
        return [picture(draw, i) for i in range(count)]

    return read


def all_around(source) -> frozenset[str]:
    """Any pair of nodes: where each range is wrong, none is more so than another."""
    return around(*activations(source()))


def unlike_data() -> list[Case]:
    """B19: the first case calibrates on pixels, the next on pixels where normalised ones are wanted, the last on
    bytes."""
    own, plate, mobile = three_convs(), real("plate-recog-ctc"), real(MOBILE)
    normal = changed(pictures(3, 1), lambda x: (x - MEAN) / DEVIATION)
    plates, thumbs = recorded("plate-recog-ctc"), recorded(MOBILE)
    tokens, views = real("vit-cifar-pgd"), recorded("vit-cifar-pgd")
    return [
        by_model("B19/own-graph", in_int8(own, pictures(3, 2)), in_int8(own, normal), normal, all_around(own)),
        by_model(
            "B19/plate-recog-ctc",
            in_int8(plate, changed(plates, lambda x: x * 0.02 + 0.1)),
            in_int8(plate, plates),
            plates,
            all_around(plate),
        ),
        by_model(
            "B19/tinymobilenet",
            in_int8(mobile, changed(thumbs, lambda x: x * 58 + 115)),
            in_int8(mobile, thumbs),
            thumbs,
            all_around(mobile),
            runner=ONNXRUNTIME,
        ),
        by_model(
            "B19/vit-cifar-pgd",
            in_int8(tokens, changed(views, lambda x: x * 0.02 + 0.1)),
            in_int8(tokens, views),
            views,
            all_around(tokens),
            runner=ONNXRUNTIME,
        ),
    ]


def heat_map():
    """A head whose map is near zero but for few peaks, which are all that matters."""
    net = Net(20, x=(1, 1, 40, 40))
    blob = np.zeros((4, 1, 3, 3), np.float32)
    blob[:, 0, 1, 1] = [1.0, 0.9, 1.1, 0.8]
    n = net.block("x", 4, weight=blob, bias=np.full(4, 0.01))
    return net.model(net.conv(n, 2, 1, weight=np.abs(net.draw.normal(0.5, 0.1, (2, 4, 1, 1))), bias=np.zeros(2)))


def spots(draw) -> dict:
    x = np.abs(draw.normal(0, 0.05, (1, 1, 40, 40)))
    for place in draw.integers(0, 40, (5, 2)):
        x[0, 0, place[0], place[1]] = draw.uniform(8, 12)
    return {"x": x}


def ranged(source, samples, value: str, observer, **more):
    """In int8 with the minimum and maximum of everything but of one value, whose range an observer makes."""
    spoil = lambda scales, ranges: scales | {value: uint8(observed(source(), samples(), observer)[value])}
    return in_int8(source, samples, spoil=spoil, **more)


def wrong_method() -> list[Case]:
    """B20: the divergence cuts off peaks, a percentile the strongest features, and minimum and maximum keep one
    outlier."""
    peaks, digits, games = samples_of(3, 5, spots), recorded("mnist-cntk"), recorded("connect4-alphazero")
    digit, game = real("mnist-cntk"), real("connect4-alphazero")
    face, faces = real("yunet-120x160"), recorded("yunet-120x160")
    pooled, inner = activations(digit())[1], "/backbone/backbone.0/Relu_1_output_0"
    outlier = lambda scales, ranges: scales | {inner: uint8(ranges[inner].hull(Range(0.0, ranges[inner].high * 60)))}
    return [
        by_model(
            "B20/own-graph",
            ranged(heat_map, peaks, "n2", entropy),
            in_int8(heat_map, peaks),
            peaks,
            blamed(heat_map(), "n2"),
        ),
        by_model(
            "B20/mnist-cntk",
            ranged(digit, digits, pooled, percentile(0.9)),
            in_int8(digit, digits),
            digits,
            blamed(digit(), pooled),
        ),
        by_model(
            "B20/connect4-alphazero",
            in_int8(game, games, spoil=outlier),
            in_int8(game, games),
            games,
            blamed(game(), inner),
        ),
        by_model(
            "B20/yunet-120x160",
            in_int8(face, faces, observer=percentile(0.97)),
            in_int8(face, faces),
            faces,
            all_around(face),
            runner=ONNXRUNTIME,
        ),
    ]


def wrong_order() -> list[Case]:
    """B21: the data are those of the calibration, in its order, so that the ranges can be compared with those of
    each batch."""
    dark = lambda i: 0.04 if i == 0 else 1.0
    own, plate, mobile = three_convs(21), real("plate-recog-ctc"), real(MOBILE)
    own_data = pictures(4, 6, bright=dark)

    def fading(name, factors):
        read = recorded(name)
        return lambda: [
            {value: array * np.float32(factor) for value, array in read()[i % 2].items()}
            for i, factor in enumerate(factors)
        ]

    plates, thumbs = fading("plate-recog-ctc", (1, 0.3, 0.2, 0.2)), fading(MOBILE, (0.02, 1.0, 0.8))
    return [
        by_model(
            "B21/own-graph",
            in_int8(own, own_data, observer=first_batch),
            in_int8(own, own_data),
            own_data,
            all_around(own),
        ),
        # An average that forgets the first batches stands for the last ones alone, which is data that do not represent.
        by_model(
            "B21/plate-recog-ctc",
            in_int8(plate, plates, observer=moving_average),
            in_int8(plate, plates),
            plates,
            all_around(plate),
            also=frozenset({"B19"}),
        ),
        by_model(
            "B21/tinymobilenet",
            in_int8(mobile, thumbs, observer=first_batch),
            in_int8(mobile, thumbs),
            thumbs,
            all_around(mobile),
        ),
    ]


def uneven_chain():
    """Convolutions whose results have ranges far apart."""
    net = Net(22, x=(1, 3, 20, 20))
    n = "x"
    for gain in (8.0, 0.02, 30.0, 0.05):
        fan = net.channels[n] * 9
        n = net.block(
            n, 12, weight=net.draw.normal(0, gain * np.sqrt(2 / fan), (12, net.channels[n], 3, 3)), bias=np.zeros(12)
        )
    return net.model(net.conv(n, 6, 1))


def shifted(by: int):
    """A table by place, used for a graph with so many values more before: each value has the scale of another one."""

    def spoil(scales: dict[str, Scale], ranges) -> dict[str, Scale]:
        values = list(scales)
        return {value: scales[values[max(i - by, 0)]] for i, value in enumerate(values)}

    return spoil


def drawn(seed: int):
    """A table whose entries belong to other values."""

    def spoil(scales: dict[str, Scale], ranges) -> dict[str, Scale]:
        values = list(scales)
        return {
            value: scales[values[i]] for value, i in zip(values, np.random.default_rng(seed).permutation(len(values)))
        }

    return spoil


def other_graph() -> list[Case]:
    """B22: the scales are those of another graph."""
    chain, plate, mobile = uneven_chain, real("plate-recog-ctc"), real(MOBILE)
    data, plates, thumbs = pictures(3, 8, (1, 3, 20, 20)), recorded("plate-recog-ctc"), recorded(MOBILE)
    game, games = real("connect4-alphazero"), recorded("connect4-alphazero")
    return [
        by_model(
            "B22/own-graph", in_int8(chain, data, spoil=shifted(1)), in_int8(chain, data), data, all_around(chain)
        ),
        by_model(
            "B22/plate-recog-ctc",
            in_int8(plate, plates, spoil=shifted(2)),
            in_int8(plate, plates),
            plates,
            all_around(plate),
        ),
        by_model(
            "B22/tinymobilenet",
            in_int8(mobile, thumbs, spoil=drawn(4)),
            in_int8(mobile, thumbs),
            thumbs,
            all_around(mobile),
        ),
        by_model(
            "B22/connect4-alphazero",
            in_int8(game, games, spoil=shifted(1)),
            in_int8(game, games),
            games,
            all_around(game),
        ),
    ]


def cases() -> list[Case]:
    return [*unlike_data(), *wrong_method(), *wrong_order(), *other_graph()]
