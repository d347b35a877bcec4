"""Cases of engines that compute integers in another way than the graph says (B24, B28, B29)."""

import numpy as np
from onnx import TensorProto

from case import Case
from cases_quantization import pictures
from nets import Net
from planting import recorded
from quantized_cases import in_int8, real, samples_of, weight_of
from quantizing import Scale, around, int8, quantized, uint8


def engine(
    name: str, source, inputs, nodes, kind: str, node: str, least: float = 1e-4, taps: str = "shown", **more
) -> Case:
    """A case of the black box; nodes beside that of the fault make or read the same integers."""
    return Case(
        name,
        name.split("/")[0],
        source,
        inputs,
        frozenset({node, *nodes}),
        fault={"kind": kind, "node": node, **more},
        least=least,
        taps=taps,
    )


def net_in_int8(seed: int):
    def build():
        net = Net(seed, x=(1, 3, 20, 20))
        return net.model(net.conv(net.block(net.block("x", 12), 16), 6, 1))

    return build


def ties():
    """Sums of numbers on grids of 0.25 and 0.5, kept on the grid of 0.5: a quarter of all results lie in the middle."""
    net = Net(28, x=(1, 8, 16, 16), y=(1, 8, 16, 16))
    model = net.model(net.op("Add", "x", "y"))
    return quantized(
        model,
        {
            "x": Scale(np.float32(0.25), np.int8(0)),
            "y": Scale(np.float32(0.5), np.int8(0)),
            "n1": Scale(np.float32(0.5), np.int8(0)),
        },
        {},
    )


def simulation_and_kernel() -> list[Case]:
    """B28: rounding, the factor of requantization, zero points, borders, biases."""
    plate, mobile, game = real("plate-recog-ctc"), real("tinymobilenet-cifar-extdata"), real("connect4-alphazero")
    plates, faces, games = (
        recorded("plate-recog-ctc"),
        recorded("tinymobilenet-cifar-extdata"),
        recorded("connect4-alphazero"),
    )
    grids = samples_of(
        3, 28, lambda draw: {"x": draw.normal(0, 8, (1, 8, 16, 16)), "y": draw.normal(0, 12, (1, 8, 16, 16))}
    )
    own, data = in_int8(net_in_int8(280), pictures(3, 280, (1, 3, 20, 20))), pictures(3, 280, (1, 3, 20, 20))
    inner, face, faces_ = "/backbone/backbone.1/Relu_output_0", real("yunet-120x160"), recorded("yunet-120x160")
    return [
        engine("B28/own-graph-ties", ties, grids, {"add_1", "n1_dq"}, "ties-away", "n1_q"),
        engine("B28/own-graph-factor", own, data, {"n2_dq", "conv_1", "relu_2"}, "coarse-multiplier", "n2_q"),
        engine(
            "B28/plate-recog-ctc",
            in_int8(plate, plates, nodes=["Conv_4"]),
            plates,
            around("92") | {"Conv_2", "Relu_3"},
            "fraction-dropped",
            "92_q",
        ),
        engine(
            "B28/yunet-120x160-border",
            in_int8(face, faces_, nodes=["Conv_6", "Conv_7", "Conv_9"]),
            faces_,
            around("185"),
            "pads-with-code-zero",
            "Conv_7",
        ),
        engine(
            "B28/tinymobilenet",
            in_int8(mobile, faces, nodes=["node_Conv_235"]),
            faces,
            around("hardtanh_7"),
            "zero-point-moved",
            "hardtanh_7_dq",
        ),
        engine(
            "B28/connect4-alphazero",
            in_int8(game, games),
            games,
            around(inner),
            "coarse-bias",
            "/backbone/backbone.1/conv2/Conv",
            step=4096.0,
        ),
        Case(
            "B28/own-graph-zero-point",
            "B28",
            in_int8(net_in_int8(281), data, scheme=uint8),
            data,
            around("w3") | {"conv_3"},
            runner=("--cpu", "--inject-fault", "zero-point:w3_dq"),
        ),
    ]


def scales_of_channels() -> list[Case]:
    """B24, the other half: weights have a scale per channel, of which the engine makes something else."""
    plate, face = real("plate-recog-ctc"), real("yunet-120x160")
    plates, faces = recorded("plate-recog-ctc"), recorded("yunet-120x160")
    deep = ("Conv_12", "Conv_13", "Conv_15")
    weight, other = weight_of(plate(), "Conv_11"), weight_of(face(), "Conv_13")
    data = pictures(3, 282, (1, 3, 20, 20))
    return [
        engine(
            "B24/plate-recog-ctc-first-scale",
            in_int8(plate, plates),
            plates,
            around(weight) | {"Conv_11"},
            "first-scale",
            f"{weight}_dq",
        ),
        engine(
            "B24/yunet-120x160-turned",
            in_int8(face, faces, nodes=deep),
            faces,
            around(other) | {"Conv_13"},
            "scales-turned",
            f"{other}_dq",
            taps="refused",
        ),
        Case(
            "B24/own-graph-first-scale",
            "B24",
            in_int8(net_in_int8(282), data),
            data,
            around("w3") | {"conv_3"},
            runner=("--cpu", "--inject-fault", "channel-scale:w3_dq"),
        ),
    ]


def bytes_product():
    """A product of bytes, with sums of neighbours up to 64770."""
    net = Net(29, x=(6, 64))
    weights = net.draw.integers(-60, 128, (64, 24)).astype(np.int8)
    product = net.op("MatMulInteger", "x", net.weight(weights))
    return net.model(net.op("Cast", product, to=TensorProto.FLOAT), kinds={"x": TensorProto.UINT8})


def saturation() -> list[Case]:
    """B29: 16 bits for two products of bytes, or for a whole sum."""
    plate, vit = real("plate-recog-ctc"), real("vit-cifar-pgd")
    plates, pictures_ = recorded("plate-recog-ctc"), recorded("vit-cifar-pgd")

    def bright():
        draw = np.random.default_rng(29)
        return [{"x": draw.integers(90, 256, (6, 64)).astype(np.uint8)} for _ in range(3)]

    head, first = "/2/2.2/Gemm", ["MatMul_43"]
    card, cards = real("mscn-cardinality"), recorded("mscn-cardinality")
    read = lambda source, name: around(*next(node.input[:2] for node in source().graph.node if node.name == name))
    return [
        engine("B29/own-graph", bytes_product, bright, (), "pairs-saturate", "matmulinteger_1"),
        engine("B29/vit-cifar-pgd", in_int8(vit, pictures_), pictures_, read(vit, head), "pairs-saturate", head),
        engine(
            "B29/mscn-cardinality",
            in_int8(card, cards, nodes=first),
            cards,
            read(card, first[0]),
            "pairs-saturate",
            first[0],
        ),
        engine(
            "B29/plate-recog-ctc",
            in_int8(plate, plates, scheme=int8),
            plates,
            read(plate, "Conv_21"),
            "accumulator-wraps",
            "Conv_21",
        ),
    ]


def cases() -> list[Case]:
    return [*scales_of_channels(), *simulation_and_kernel(), *saturation()]
