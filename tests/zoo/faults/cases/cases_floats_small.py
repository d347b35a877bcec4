"""B4 to B7: numbers that a type makes zero, sentinels that it does not hold, and exponentials."""

import numpy as np

from case import Case
from cases_floats_range import planted, silent
from graphs_floats import (
    FLOAT,
    Net,
    changed,
    mask_scores,
    names,
    normal,
    shrink_rows,
    weights,
)
from planting import real_model, recorded


def small_rows():
    """A convolution whose weights are tiny, and a product per channel that makes its result large again."""
    net = Net()
    a = net("Conv", "x", normal(50, 16, 8, 3, 3, scale=1e-8), pads=[1, 1, 1, 1])
    b = net("Mul", a, np.full((1, 16, 1, 1), 1e7, np.float32))
    net("Conv", net("Relu", b), normal(51, 4, 16, 1, 1), result="y")
    return net.model({"x": (FLOAT, [1, 8, 16, 16])}, {"y": (FLOAT, [1, 4, 16, 16])}), net.node(a)


def b4() -> list[Case]:
    model, conv = small_rows()
    image = lambda: [{"x": normal(52, 1, 8, 16, 16)}]
    superres = changed(real_model("superres-x3"), lambda m: shrink_rows(m, "Conv_2", 2.0**-20))
    unet = changed(
        real_model("sed-unet-224"), lambda m: shrink_rows(m, "/bottleneck/bottleneck.0/Conv", 2.0**-24, 0.25)
    )
    return [
        planted(
            "B4/own-graph",
            lambda: model,
            image,
            {conv},
            {"kind": "constants-in", "type": "fp16", "flush": True, "node": conv},
        ),
        planted(
            "B4/superres",
            superres,
            recorded("superres-x3", 1),
            {"Conv_2"},
            {"kind": "constants-in", "type": "fp16", "flush": True, "node": "Conv_2"},
        ),
        planted(
            "B4/sed-unet",
            unet,
            recorded("sed-unet-224", 1),
            {"/bottleneck/bottleneck.0/Conv"},
            {"kind": "constants-in", "type": "fp16", "flush": False, "node": "/bottleneck/bottleneck.0/Conv"},
        ),
        planted(
            "B4/superres-results",
            superres,
            recorded("superres-x3", 1),
            {"Conv_2", "Relu_3"},
            {"kind": "computed-in", "type": "fp16", "flush": True, "nodes": ["Conv_2", "Relu_3"]},
            taps="partly",
        ),
    ]


def zero_rows():
    """A normalisation by the length of rows, of which some are zero; the constant keeps it from dividing by zero."""
    net = Net()
    a = net("Relu", "x")
    total = net("ReduceSum", net("Mul", a, a), np.array([-1]))
    kept = net("Add", total, np.float32(1e-12))
    net("MatMul", net("Div", a, net("Sqrt", kept)), weights(60, 64, 16), result="y")
    model = net.model({"x": (FLOAT, [2, 32, 64])}, {"y": (FLOAT, [2, 32, 16])})
    return model, {"add": net.node(kept), "div": next(node.name for node in net.nodes if node.op_type == "Div")}


def b5() -> list[Case]:
    model, at = zero_rows()

    def rows():
        x = normal(61, 2, 32, 64)
        x[:, ::7] = -1
        return [{"x": x}]

    pitch = real_model("basic-pitch")
    log = next(node for node in sorted(names(pitch, "Add")) if "normalized_log" in node)
    return [
        planted(
            "B5/own-graph",
            lambda: model,
            rows,
            at.values(),
            {"kind": "constants-in", "type": "fp16", "node": at["add"]},
        ),
        # The constant is lost in the Clip or Add, and the quotient or logarithm shows it.
        planted(
            "B5/oww-melspec",
            real_model("oww-melspec"),
            silent("oww-melspec", "input"),
            {"Clip_16", "Log_17"},
            {"kind": "constants-in", "type": "fp16", "node": "Clip_16"},
        ),
        planted(
            "B5/basic-pitch",
            pitch,
            silent("basic-pitch", "serving_default_input_2:0"),
            {log},
            {"kind": "constants-in", "type": "fp16", "node": log},
        ),
    ]


def mask_graph():
    """Attention with a mask of a very large negative number that is added to the scores."""
    net = Net()
    scores = net("MatMul", "q", net("Transpose", "k", perm=[0, 1, 3, 2]))
    mask = net("Mul", net("Sub", np.float32(1), "m"), np.float32(-3.4028e38))
    masked = net("Add", scores, mask)
    net("MatMul", net("Softmax", masked, axis=-1), "v", result="y")
    heads = (FLOAT, [1, 2, 8, 16])
    model = net.model({"q": heads, "k": heads, "v": heads, "m": (FLOAT, [1, 1, 8, 8])}, {"y": heads})
    return model, {net.node(mask), net.node(masked)}, net.node(mask)


def b6() -> list[Case]:
    model, at, mask = mask_graph()

    def inputs():
        m = np.tril(np.ones((8, 8), np.float32))[None, None]
        m[..., 5, :] = 0  # a row that is masked wholly
        return [
            {
                "q": normal(70, 1, 2, 8, 16, scale=2),
                "k": normal(71, 1, 2, 8, 16, scale=2),
                "v": normal(72, 1, 2, 8, 16),
                "m": m,
            }
        ]

    silero = changed(real_model("silero-vad-v3-transformer"), lambda m: mask_scores(m, "Softmax_163", 63))
    fault = lambda node, **given: {"kind": "constants-in", "type": "fp16", "node": node, **given}
    return [
        planted("B6/own-graph", lambda: model, inputs, at, fault(mask)),
        planted("B6/own-clamped", lambda: model, inputs, at, fault(mask, saturate=True)),
        planted(
            "B6/silero", silero, recorded("silero-vad-v3-transformer", 1), {"Softmax_163_a"}, fault("Softmax_163_a")
        ),
        planted(
            "B6/particlenet", real_model("particlenet-ak4"), recorded("particlenet-ak4", 1), {"Mul_19"}, fault("Mul_19")
        ),
        planted(
            "B6/particlenet-partly",
            real_model("particlenet-ak4"),
            recorded("particlenet-ak4", 1),
            {"Mul_19"},
            fault("Mul_19"),
            taps="partly",
        ),
    ]


def attention(factor: float):
    """Attention whose scores are large before they are scaled."""
    net = Net()
    scores = net("MatMul", "q", net("Transpose", "k", perm=[0, 1, 3, 2]))
    scaled_scores = net("Mul", scores, np.float32(factor))
    soft = net("Softmax", scaled_scores, axis=-1)
    net("MatMul", soft, "v", result="y")
    heads = (FLOAT, [1, 4, 128, 64])
    return net.model({name: heads for name in "qkv"}, {"y": heads}), {
        name: net.node(value) for name, value in {"scores": scores, "scaled": scaled_scores, "soft": soft}.items()
    }


def b7() -> list[Case]:
    model, at = attention(0.125)
    qkv = lambda sigma: (
        lambda: [
            {
                "q": normal(80, 1, 4, 128, 64, scale=sigma),
                "k": normal(81, 1, 4, 128, 64, scale=sigma),
                "v": normal(82, 1, 4, 128, 64),
            }
        ]
    )
    bare = lambda node: {"kind": "softmax-without-max", "type": "fp16", "node": node}
    return [
        planted("B7/own-graph", lambda: model, qkv(2.5), {at["soft"]}, bare(at["soft"])),
        planted(
            "B7/own-scores",
            lambda: model,
            qkv(50),
            {at["scores"]},
            {"kind": "results-in", "type": "fp16", "nodes": [at["scores"], at["scaled"]]},
        ),
        planted(
            "B7/silero",
            real_model("silero-vad-v3-transformer"),
            recorded("silero-vad-v3-transformer", 1),
            {"Softmax_163"},
            bare("Softmax_163"),
        ),
        planted(
            "B7/tashkeel", real_model("tashkeel-fp32"), recorded("tashkeel-fp32", 1), {"/Softmax"}, bare("/Softmax")
        ),
        planted(
            "B7/silero-floats",
            real_model("silero-vad-v3-transformer"),
            recorded("silero-vad-v3-transformer", 1),
            {"Softmax_410"},
            {"kind": "softmax-without-max", "node": "Softmax_410"},
        ),
    ]


def cases() -> list[Case]:
    return [*b4(), *b5(), *b6(), *b7()]
