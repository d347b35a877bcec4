"""Cases of where and how is quantized: weights, activations, joins of branches, and layers that bear none (B24 to
B27, B30)."""

import copy

import numpy as np
from onnx import helper, numpy_helper

from case import Case
from nets import Net
from planting import recorded
from quantized_cases import ONNXRUNTIME, by_model, in_int8, real, samples_of, weight_of
from quantizing import activations, around, blamed, int8, quantized, weight_scales


def depthwise():
    """A depthwise convolution whose channels are far apart, and a pointwise one that makes up for it."""
    net = Net(24, x=(1, 32, 16, 16))
    gain = 2.0 ** (net.draw.permutation(32) / 4)
    n = net.conv(
        "x", 32, group=32, weight=net.draw.normal(0, 0.4, (32, 1, 3, 3)) * gain[:, None, None, None], bias=np.zeros(32)
    )
    deep, weight = net.last, f"w{len(net.weights) - 1}"
    n = net.op("Relu", n)
    return (
        net.model(net.conv(n, 16, 1, weight=net.draw.normal(0, 0.25, (16, 32, 1, 1)) / gain[None, :, None, None])),
        deep,
        weight,
    )


def uneven(source, first: str, second: str, spread: float, seed: int):
    """The same function, with the channels of one convolution scaled up and down, and the next one to make up for
    it."""

    def build():
        model, draw = copy.deepcopy(source()), np.random.default_rng(seed)
        tensors = {tensor.name: tensor for tensor in model.graph.initializer}
        inputs = {node.name: node.input for node in model.graph.node}
        weight, bias, after = inputs[first][1], inputs[first][2], inputs[second][1]
        count = tensors[weight].dims[0]
        gain = np.float32(2.0 ** np.linspace(-spread, spread, count)[draw.permutation(count)])
        for name, factor in ((weight, gain.reshape(-1, 1, 1, 1)), (bias, gain), (after, 1 / gain.reshape(1, -1, 1, 1))):
            tensors[name].CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensors[name]) * factor, name))
        return model

    return build


def weights_in_int8(source, *nodes: str, per_tensor=()):
    return lambda: quantized(source(), {}, weight_scales(source(), nodes, per_tensor))


def uneven_weights() -> list[Case]:
    """B24: one scale for all channels of weights. Only the weights are quantized, so that nothing else is to blame."""
    model, deep, weight = depthwise()
    own, face = lambda: model, real("yunet-120x160")
    data = samples_of(3, 24, lambda draw: {"x": draw.normal(0, 1, (1, 32, 16, 16))})
    faces, spread = recorded("yunet-120x160"), uneven(face, "Conv_13", "Conv_15", 4, 3)
    early = uneven(face, "Conv_0", "Conv_2", 4, 5)
    names = ("Conv_12", "Conv_13", "Conv_16", "Conv_19")
    starts = ("Conv_0", "Conv_3", "Conv_6")
    return [
        by_model(
            "B24/own-graph",
            weights_in_int8(own, deep, per_tensor=[deep]),
            weights_in_int8(own, deep),
            data,
            around(weight) | {deep},
        ),
        by_model(
            "B24/yunet-120x160",
            weights_in_int8(spread, *names, per_tensor=["Conv_13"]),
            weights_in_int8(spread, *names),
            faces,
            around(weight_of(face(), "Conv_13")) | {"Conv_13"},
            runner=ONNXRUNTIME,
        ),
        by_model(
            "B24/yunet-first",
            weights_in_int8(early, *starts, per_tensor=["Conv_0"]),
            weights_in_int8(early, *starts),
            faces,
            around(weight_of(face(), "Conv_0")) | {"Conv_0"},
        ),
    ]


def silu():
    """SiLU, whose results are mostly in the tail below zero; few channels reach far above."""
    net = Net(25, x=(1, 8, 20, 20))
    bias = np.full(24, -2.5)
    bias[0] = 18.0
    n = net.conv("x", 24, weight=net.draw.normal(0, 0.12, (24, 8, 3, 3)), bias=bias)
    active = net.op("Mul", n, net.op("Sigmoid", n))
    net.channels[active] = 24
    mixing = net.draw.normal(0, 0.3, (12, 24, 1, 1))
    mixing[:, 0] = 0
    return net.model(net.conv(active, 12, 1, weight=mixing)), active


def gelu_block(seed: int = 26):
    net = Net(seed, x=(1, 32, 48))
    n = net.op(
        "Add", net.matmul("x", 96, 48, 0.6), net.weight(np.float32(np.where(np.arange(96) % 24 == 0, 14.0, -1.4)))
    )
    erf = net.op("Erf", net.op("Mul", n, net.weight(np.float32(0.70710677))))
    half = net.op("Mul", net.op("Mul", n, net.op("Add", erf, net.weight(np.float32(1)))), net.weight(np.float32(0.5)))
    out = net.draw.normal(0, 0.2, (96, 48))
    out[::24] = 0
    return net.model(net.op("MatMul", half, net.weight(np.float32(out)))), half


def with_silu(source, name: str, reader: str, low: float, high: float):
    """A variant of a model in which one Relu is SiLU: most channels stay in its tail, and one that is hardly read is
    far above."""

    def build():
        model = copy.deepcopy(source())
        nodes = {node.name: node for node in model.graph.node}
        weight = next(tensor for tensor in model.graph.initializer if tensor.name == nodes[reader].input[1])
        array = numpy_helper.to_array(weight).copy()
        array[:, 0] = 0
        weight.CopyFrom(numpy_helper.from_array(array, weight.name))
        offset = np.full((1, array.shape[1], 1, 1), low, np.float32)
        offset[0, 0] = high
        old, moved, gate = nodes[name], f"{name}_m", f"{name}_g"
        model.graph.initializer.append(numpy_helper.from_array(offset, f"{name}_c"))
        made = [
            helper.make_node("Add", [old.input[0], f"{name}_c"], [moved], name=moved),
            helper.make_node("Sigmoid", [moved], [gate], name=gate),
            helper.make_node("Mul", [moved, gate], old.output, name=name),
        ]
        place = list(model.graph.node).index(old)
        model.graph.node.remove(old)
        for i, node in enumerate(made):
            model.graph.node.insert(place + i, node)
        return model

    return build


def tails() -> list[Case]:
    """B25: the tail below zero shares a symmetric scale with what is far above. The twin keeps that value in floats."""
    model, active = silu()
    own = lambda: model
    block, half = gelu_block()
    gelu = lambda: block
    plate = with_silu(real("plate-recog-ctc"), "Relu_3", "Conv_4", -4.0, 30.0)
    face = with_silu(real("yunet-120x160"), "Relu_14", "Conv_15", -2.0, 25.0)
    data = samples_of(3, 25, lambda draw: {"x": draw.normal(0, 1, (1, 8, 20, 20))})
    words = samples_of(3, 26, lambda draw: {"x": draw.normal(0, 1, (1, 32, 48))})
    plates, faces = recorded("plate-recog-ctc"), recorded("yunet-120x160")
    early, few = ("Conv_2", "Conv_4", "Conv_6"), ("Conv_12", "Conv_15", "Conv_19")
    return [
        by_model(
            "B25/own-graph",
            in_int8(own, data, scheme=int8, without=("x",)),
            in_int8(own, data, without=(active, "x")),
            data,
            blamed(model, active),
        ),
        by_model(
            "B25/gelu",
            in_int8(gelu, words, scheme=int8, without=("x",)),
            in_int8(gelu, words, without=(half, "x")),
            words,
            blamed(block, half),
        ),
        by_model(
            "B25/plate-recog-ctc",
            in_int8(plate, plates, scheme=int8, nodes=early),
            in_int8(plate, plates, without=("92",), nodes=early),
            plates,
            blamed(plate(), "92"),
        ),
        by_model(
            "B25/yunet-120x160",
            in_int8(face, faces, scheme=int8, nodes=few),
            in_int8(face, faces, without=("196",), nodes=few),
            faces,
            blamed(face(), "196"),
            runner=ONNXRUNTIME,
        ),
    ]


def last_is_sensitive():
    """Ten convolutions; the last takes the difference of features that are large and nearly alike."""
    net = Net(30, x=(1, 8, 16, 16))
    n = "x"
    for _ in range(8):
        n = net.block(n, 16)
    lift = net.draw.normal(0, 0.05, (16, 16, 1, 1))
    n = net.op("Relu", net.conv(n, 16, 1, weight=lift, bias=np.full(16, 30.0)))
    weight = np.float32(net.draw.normal(0, 1, (6, 16, 1, 1)))
    return (
        net.model(net.conv(n, 6, 1, weight=weight - weight.mean(axis=1, keepdims=True), bias=np.zeros(6))),
        net.last,
        n,
    )


def spread_evenly():
    """A deep chain of narrow layers, each of which adds a little."""
    net = Net(31, x=(1, 8, 16, 16))
    n = "x"
    for _ in range(24):
        n = net.op("Tanh", net.conv(n, 8, weight=net.draw.normal(0, 0.125, (8, 8, 3, 3))))
    return net.model(net.conv(n, 6, 1))


def sensitive_layers() -> list[Case]:
    """B30: the scales are as good as eight bits allow, and still too coarse: for one layer, or for so many."""
    model, last, before = last_is_sensitive()
    bearing = [node.name for node in model.graph.node if node.op_type == "Conv" and node.name != last]
    own, jets, cards = lambda: model, real("deepjet-lstm"), real("mscn-cardinality")
    data = samples_of(3, 30, lambda draw: {"x": draw.normal(0, 1, (1, 8, 16, 16))})
    jet, card = recorded("deepjet-lstm"), recorded("mscn-cardinality")
    stem = "/InputProcess/vtx_conv{}/bn/BatchNormalization_output_0"
    coarse = (
        stem.format(2),
        stem.format(3),
        "/InputProcess/cpf_conv1/bn/BatchNormalization_output_0",
        "/InputProcess/cpf_conv3/bn/BatchNormalization_output_0",
    )
    weights = around(*weight_scales(spread_evenly()))
    fewer = [node.name for node in cards().graph.node if node.op_type == "Gemm"][1:]
    return [
        by_model(
            "B30/own-graph",
            in_int8(own, data),
            in_int8(own, data, nodes=bearing),
            data,
            blamed(model, before) | around(weight_of(model, last)) | {last},
        ),
        by_model(
            "B30/own-graph-spread",
            in_int8(spread_evenly, data),
            in_int8(spread_evenly, data, nodes=["conv_1", "conv_3"]),
            data,
            around(*activations(spread_evenly())) | weights | {node.name for node in spread_evenly().graph.node},
        ),
        by_model(
            "B30/deepjet-lstm",
            in_int8(jets, jet),
            in_int8(jets, jet, without=coarse, nodes=wide_enough(jets())),
            jet,
            blamed(jets(), *coarse[:2]) | {"/InputProcess/vtx_conv3/lin/Conv", "/InputProcess/vtx_conv4/lin/Conv"},
        ),
        by_model(
            "B30/mscn-cardinality",
            in_int8(cards, card),
            in_int8(cards, card, nodes=fewer),
            card,
            around(*activations(cards()), *weight_scales(cards()))
            | {node.name for node in cards().graph.node if node.name},
        ),
    ]


def wide_enough(model) -> list[str]:
    """The layers of the jet tagger that bear eight bits."""
    return [
        node.name
        for node in model.graph.node
        if node.op_type in ("Conv", "Gemm")
        and ("LinLayer" in node.name or "npf" in node.name)
        and "LinLayer1/" not in node.name
    ]


def cases() -> list[Case]:
    return [*uneven_weights(), *tails(), *sensitive_layers()]
