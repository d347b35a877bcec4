"""B31: what a fusion or rewrite loses. B32: Clip."""

import numpy as np
import onnx
from onnx import TensorProto, helper

from case import Case
from planting import builder, nodes_of, own, pick, planted, real_model, recorded, samples

FLOAT = TensorProto.FLOAT


def attention() -> onnx.ModelProto:
    """Attention as PyTorch exports it: half of the scale on the queries, half on the keys."""
    rng = np.random.default_rng(31)
    width, heads, size = 96, 2, 48
    step = helper.make_node
    split = lambda i, made: [
        step("MatMul", ["x", f"w{i}"], [f"v{made}"], name=f"n{made}"),
        step("Reshape", [f"v{made}", "heads"], [f"v{made + 1}"], name=f"n{made + 1}"),
        step(
            "Transpose",
            [f"v{made + 1}"],
            [f"v{made + 2}"],
            name=f"n{made + 2}",
            perm=[0, 2, 3, 1] if i == 1 else [0, 2, 1, 3],
        ),
    ]
    nodes = [
        *split(0, 1),
        *split(1, 4),
        *split(2, 7),
        step("Mul", ["v3", "s"], ["v10"], name="n10"),
        step("Mul", ["v6", "s"], ["v11"], name="n11"),
        step("MatMul", ["v10", "v11"], ["v12"], name="n12"),
        step("Softmax", ["v12"], ["v13"], name="n13", axis=-1),
        step("MatMul", ["v13", "v9"], ["v14"], name="n14"),
        step("Transpose", ["v14"], ["v15"], name="n15", perm=[0, 2, 1, 3]),
        step("Reshape", ["v15", "flat"], ["v16"], name="n16"),
        step("Add", ["v16", "x"], ["y"], name="n17"),
    ]
    weights = {f"w{i}": rng.standard_normal((width, width), np.float32) / np.float32(width**0.5) for i in range(3)}
    weights |= {
        "s": np.float32(size**-0.25),
        "heads": np.asarray([0, -1, heads, size]),
        "flat": np.asarray([0, -1, width]),
    }
    return builder(nodes, {"x": (FLOAT, ["N", 33, width])}, {"y": (FLOAT, ["N", 33, width])}, weights)


def dense_chain() -> onnx.ModelProto:
    """MatMul, bias and Gelu twice, with a normalisation taken apart between them."""
    rng = np.random.default_rng(2)
    step = helper.make_node
    gelu = lambda given, made: [
        step("Div", [given, "r"], [f"v{made}"], name=f"n{made}"),
        step("Erf", [f"v{made}"], [f"v{made + 1}"], name=f"n{made + 1}"),
        step("Add", [f"v{made + 1}", "one"], [f"v{made + 2}"], name=f"n{made + 2}"),
        step("Mul", [given, f"v{made + 2}"], [f"v{made + 3}"], name=f"n{made + 3}"),
        step("Mul", [f"v{made + 3}", "half"], [f"v{made + 4}"], name=f"n{made + 4}"),
    ]
    nodes = [
        step("MatMul", ["x", "w0"], ["v1"], name="n1"),
        step("Add", ["v1", "b0"], ["v2"], name="n2"),
        *gelu("v2", 3),
        step("ReduceMean", ["v7"], ["v8"], name="n8", axes=[-1]),
        step("Sub", ["v7", "v8"], ["v9"], name="n9"),
        step("Mul", ["v9", "v9"], ["v10"], name="n10"),
        step("ReduceMean", ["v10"], ["v11"], name="n11", axes=[-1]),
        step("Add", ["v11", "eps"], ["v12"], name="n12"),
        step("Sqrt", ["v12"], ["v13"], name="n13"),
        step("Div", ["v9", "v13"], ["v14"], name="n14"),
        step("MatMul", ["v14", "w1"], ["v15"], name="n15"),
        step("Add", ["v15", "b1"], ["y"], name="n16"),
    ]
    weights = {
        "w0": rng.standard_normal((64, 128), np.float32) / np.float32(8),
        "b0": rng.standard_normal(128, np.float32),
        "w1": rng.standard_normal((128, 32), np.float32) / np.float32(11),
        "b1": rng.standard_normal(32, np.float32),
        "r": np.float32(2**0.5),
        "one": np.float32(1),
        "half": np.float32(0.5),
        "eps": np.float32(1e-3),
    }
    return builder(nodes, {"x": (FLOAT, ["N", 64])}, {"y": (FLOAT, ["N", 32])}, weights)


def fusion_cases() -> list[Case]:
    vit, prisma, vad = "vit-cifar-pgd", "prisma-portrait", "silero-vad-v3-transformer"
    block = nodes_of(real_model(vit), "Mul")[0].name
    branch = pick(real_model(prisma), "Add", 31)
    bias = next(node.name for node in nodes_of(real_model(vit), "Add") if "1.1.1/fn/fn.1/fn.1.0" in node.name)
    scale = next(node.name for node in nodes_of(real_model(vad), "Div") if node.output[0] == "288")
    elu = nodes_of(real_model("meshnet3d-elu"), "Elu")[3].name
    tokens, rows = samples(x=(2, 33, 96)), samples(x=(6, 64))
    return [
        own("B31/own-attention-scale", attention, tokens, "n11", "operand-lost", taps="heals", index=1),
        own("B31/own-attention-residual", attention, tokens, "n17", "operand-lost", taps="refused", index=1),
        own("B31/own-bias", dense_chain, rows, "n2", "operand-lost", taps="heals", index=1),
        own("B31/own-eps", dense_chain, rows, "n12", "constant-scaled", index=1, factor=100.0),
        planted("B31/vit-scale", vit, block, "operand-lost", taps="heals", index=1),
        planted("B31/vit-bias", vit, bias, "operand-lost", index=0),
        planted("B31/prisma-residual", prisma, branch, "operand-lost", taps="heals", sets=1, index=1),
        planted("B31/meshnet-function", "meshnet3d-elu", elu, "function-lost"),
        planted("B31/vad-scale", vad, scale, "operand-lost", taps="partly", index=1),
        Case(
            "B31/prisma-engine-residual",
            "B31",
            real_model(prisma),
            recorded(prisma, 1),
            frozenset({branch}),
            runner=("--cpu", "--inject-fault", f"residual:{branch}"),
        ),
        Case(
            "B31/own-engine-layout",
            "B31",
            attention,
            tokens,
            frozenset({"n16"}),
            runner=("--cpu", "--inject-fault", "swapped-axis:n16"),
            also=frozenset({"unexplained"}),
        ),  # no class is about layouts inside an engine
    ]


def clip_graph(low: bool = True) -> onnx.ModelProto:
    rng = np.random.default_rng(32)
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["v1"], name="n1"),
        helper.make_node("Add", ["v1", "b"], ["v2"], name="n2"),
        helper.make_node("Clip", ["v2", "lo" if low else "", "hi"], ["v3"], name="n3"),
        helper.make_node("MatMul", ["v3", "u"], ["y"], name="n4"),
    ]
    weights = {
        "w": rng.standard_normal((24, 32), np.float32),
        "b": np.full(32, 1.5, np.float32),
        "hi": np.float32(6),
        "u": rng.standard_normal((32, 8), np.float32),
    } | ({"lo": np.float32(0)} if low else {})
    return builder(nodes, {"x": (FLOAT, ["N", 24])}, {"y": (FLOAT, ["N", 8])}, weights)


def clip_given_bounds() -> onnx.ModelProto:
    """Conv and a Clip whose bounds the caller gives."""
    rng = np.random.default_rng(33)
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["v1"], name="n1", pads=[1, 1, 1, 1]),
        helper.make_node("Clip", ["v1", "p", "q"], ["v2"], name="n2"),
        helper.make_node("Add", ["v2", "k"], ["y"], name="n3"),
    ]
    weights = {
        "w": rng.standard_normal((3, 3, 3, 3), np.float32) / 4,
        "b": rng.standard_normal(3, np.float32) / 4,
        "k": np.float32(0.5),
    }
    return builder(
        nodes,
        {"x": (FLOAT, [1, 3, 24, 24]), "p": (FLOAT, []), "q": (FLOAT, [])},
        {"y": (FLOAT, [1, 3, 24, 24])},
        weights,
    )


def given_bounds() -> list[dict[str, np.ndarray]]:
    rng = np.random.default_rng(3)
    return [
        {
            "x": rng.uniform(-0.5, 0.5, (1, 3, 24, 24)).astype(np.float32),
            "p": np.asarray(-high, np.float32),
            "q": np.asarray(high, np.float32),
        }
        for high in (0.5, 0.2)
    ]


def with_nan() -> list[dict[str, np.ndarray]]:
    given = samples(x=(5, 24))()
    given[0]["x"][2, 7] = np.nan
    return given


def clip_cases() -> list[Case]:
    hand, cifar, melspec, depth = (
        "hand-landmark-224",
        "tinymobilenet-cifar-extdata",
        "oww-melspec",
        "deeplabv3-mnv2-257",
    )
    rows = samples(x=(5, 24))
    clip = lambda model, seed: pick(real_model(model), "Clip", seed)
    return [
        own("B32/own-max", clip_graph, rows, "n3", "clip-max-lost"),
        own("B32/own-min", clip_graph, rows, "n3", "clip-min-lost", taps="heals"),
        own("B32/own-omitted-min", lambda: clip_graph(low=False), rows, "n3", "clip-max-lost", taps="refused"),
        own("B32/own-given-bounds", clip_given_bounds, given_bounds, "n2", "clip-bounds-fixed", low=-0.5, high=0.5),
        own(
            "B32/own-nan", clip_graph, with_nan, "n3", "nan-becomes", value=0.0, also=frozenset({"B37"})
        ),  # NaN policies are in both
        Case(
            "B32/own-engine",
            "B32",
            clip_graph,
            rows,
            frozenset({"n3"}),
            runner=("--cpu", "--inject-fault", "clip-bound:n3"),
        ),
        planted("B32/hand-max", hand, clip(hand, 2), "clip-max-lost"),
        planted("B32/cifar-max", cifar, "n4_5", "clip-max-lost", taps="heals"),
        planted("B32/cifar-min", cifar, "n4_2", "clip-min-lost", taps="partly"),
        planted("B32/melspec-min", melspec, "Clip_28", "clip-min-lost"),
        Case(
            "B32/deeplab-engine",
            "B32",
            real_model(depth),
            recorded(depth),
            frozenset({"Relu6__12"}),
            runner=("--cpu", "--inject-fault", "clip-bound:Relu6__12"),
        ),
    ]


def cases() -> list[Case]:
    return fusion_cases() + clip_cases()
