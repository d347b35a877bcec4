"""B8 to B10: sums, products and whole numbers that lose digits."""

import numpy as np
from onnx import TensorProto

from case import Case
from cases_floats_range import planted
from graphs_floats import FLOAT, Net, names, normal, weights
from planting import real_model, recorded

INT = TensorProto.INT64


def counting():
    """A sum of 4096 numbers of one sign, as pooling and counting have it."""
    net = Net()
    a = net("Sigmoid", "x")
    total = net("ReduceSum", a, np.array([-1]), keepdims=1)
    net("MatMul", net("Mul", total, np.float32(1 / 4096)), weights(101, 1, 8), result="y")
    return net.model({"x": (FLOAT, [8, 4096])}, {"y": (FLOAT, [8, 8])}), net.node(total)


def long_product():
    net = Net()
    a = net("MatMul", net("Relu", "x"), np.abs(weights(102, 4096, 24)))
    net("Tanh", net("Mul", a, np.float32(0.05)), result="y")
    return net.model({"x": (FLOAT, [4, 4096])}, {"y": (FLOAT, [4, 24])}), net.node(a)


def b8() -> list[Case]:
    model, total = counting()
    product, node = long_product()
    x = lambda rows, seed: lambda: [{"x": normal(seed, rows, 4096)}]
    inject = lambda where: ("--cpu", "--inject-fault", f"fp16-accumulator:{where}")
    unet, hand = "/decoder2/decoder2.0/Conv", "TFLITE2ONNX_FAF_model_1/model/re_lu_31/R"
    hand = next(name for name in sorted(names(real_model("hand-landmark-224"), "Conv")) if name.startswith(hand))
    return [
        planted(
            "B8/own-graph", lambda: model, x(8, 103), {total}, {"kind": "running-sum-in", "type": "fp16", "node": total}
        ),
        planted(
            "B8/own-product",
            lambda: product,
            x(4, 104),
            {node},
            {"kind": "partial-sums-in", "type": "fp16", "node": node},
        ),
        Case("B8/own-engine", "B8", lambda: product, x(4, 104), frozenset({node}), runner=inject(node)),
        Case(
            "B8/sed-unet",
            "B8",
            real_model("sed-unet-224"),
            recorded("sed-unet-224", 1),
            frozenset({unet}),
            runner=inject(unet),
        ),
        Case(
            "B8/hand-landmark",
            "B8",
            real_model("hand-landmark-224"),
            recorded("hand-landmark-224", 1),
            frozenset({hand}),
            runner=inject(hand),
        ),
        planted(
            "B8/own-product-bf16",
            lambda: product,
            x(4, 104),
            {node},
            {"kind": "partial-sums-in", "type": "bf16", "node": node, "width": 64},
            taps="partly",
        ),
    ]


def copying():
    """A product with the unit matrix, and what is left when most of what was given is taken away."""
    net = Net()
    a = net("MatMul", "x", np.eye(256, dtype=np.float32))
    net("Add", a, net("Mul", "x", np.float32(-0.9)), result="y")
    return net.model({"x": (FLOAT, [16, 256])}, {"y": (FLOAT, [16, 256])}), {net.node(a)}


def cancelling_chain():
    """Products one after the other; what each adds to the last is nearly taken away by the next."""
    net, x, inner = Net(), "x", set()
    for i in range(8):
        w = weights(110 + i, 256, 256)
        there = net("MatMul", x, w)
        back = net("MatMul", there, np.linalg.inv(w.astype(np.float64)).astype(np.float32))
        inner |= {net.node(there), net.node(back)}
        x = net("Add", net("Sub", back, x), net("Mul", x, np.float32(0.5)))
    net("Mul", x, np.float32(256), result="y")
    return net.model({"x": (FLOAT, [8, 256])}, {"y": (FLOAT, [8, 256])}), inner


def b9() -> list[Case]:
    copy, at = copying()
    chain, inner = cancelling_chain()
    tf32 = lambda *operators: {"kind": "operands-in", "type": "tf32", "operators": list(operators)}
    x = lambda rows: lambda: [{"x": normal(111, rows, 256)}]
    real = lambda name, *operators: planted(
        f"B9/{name}", real_model(name), recorded(name, 1), names(real_model(name), *operators), tf32(*operators)
    )
    one = sorted(names(real_model("superres-x3"), "Conv"))[1]
    return [
        planted("B9/own-graph", lambda: copy, x(16), at, tf32("MatMul")),
        planted("B9/own-chain", lambda: chain, x(8), inner, tf32("MatMul")),
        real("facemesh-192", "Conv"),
        real("deepjet-lstm", "Conv", "Gemm"),
        planted(
            "B9/superres",
            real_model("superres-x3"),
            recorded("superres-x3", 1),
            {one},
            {"kind": "operands-in", "type": "tf32", "node": one},
        ),
    ]


def half_slice():
    """The first half of a sequence, whose length is worked out in floats."""
    net = Net()
    length = net("Gather", net("Shape", "x"), np.int64(1))
    part = net("Mul", net("Cast", length, to=FLOAT), np.float32(0.5))
    end = net("Cast", net("Floor", part), to=INT)
    kept = net("Slice", "x", np.array([0]), net("Unsqueeze", end, np.array([0])), np.array([1]))
    net("ReduceMean", net("Relu", kept), axes=[1], result="y")
    return net.model({"x": (FLOAT, [1, "L", 8])}, {"y": (FLOAT, [1, 1, 8])}), net.node(part), net.node(kept)


def looked_up():
    """Rows of a table by number."""
    net = Net()
    a = net("Gather", normal(120, 3000, 16), net("Add", "ids", np.int64(1)))
    net("MatMul", a, weights(121, 16, 8), result="y")
    return net.model({"ids": (INT, [1, 32])}, {"y": (FLOAT, [1, 32, 8])}), net.node(a), net.nodes[0].name


def b10() -> list[Case]:
    slice_model, part, kept = half_slice()
    table, gather, add = looked_up()
    long = lambda: [{"x": normal(122, 1, 4102, 8) * np.linspace(0, 2, 4102, dtype=np.float32)[None, :, None]}]
    ids = lambda: [{"ids": np.random.default_rng(123).integers(2049, 2990, (1, 32))}]
    mlsd, cast = real_model("mlsd-tiny-320"), "Identity_1__212"

    def jets():
        """Sixty-three jets, so that neighbours are counted beyond 2048."""
        rng = np.random.default_rng(124)
        return [
            {
                name: np.concatenate(
                    [value * np.float32(1 if "mask" in name else rng.uniform(0.8, 1.2)) for _ in range(63)]
                )
                for name, value in recorded("particlenet-ak4", 1)()[0].items()
            }
        ]

    def boxes(seed: int = 125):
        """A detection with 6000 places, of which the better ones lie at the end."""
        rng = np.random.default_rng(seed)
        sample = recorded("yolov8-nms-graph", 1)()[0]
        rows = sample["detection"].shape[1]
        places = np.zeros((1, rows, 6000), np.float32)
        places[0, :2] = rng.uniform(20, 600, (2, 6000))
        places[0, 2:4] = rng.uniform(5, 30, (2, 6000))
        places[0, 4:, 4001::97] = rng.uniform(0.5, 1, places[0, 4:, 4001::97].shape)
        return [sample | {"detection": places}]

    particle = real_model("particlenet-ak4")
    gathers = names(real_model("yolov8-nms-graph"), "Gather")
    return [
        planted(
            "B10/own-graph",
            lambda: slice_model,
            long,
            {part, kept},
            {"kind": "computed-in", "type": "bf16", "nodes": [part]},
        ),
        planted(
            "B10/own-ids",
            lambda: table,
            ids,
            {gather, add},
            {"kind": "integers-through", "type": "fp16", "node": gather},
        ),
        planted(
            "B10/mlsd",
            mlsd,
            recorded("mlsd-tiny-320", 1),
            {cast, "Identity_1"},
            {"kind": "integers-through", "type": "fp16", "node": cast, "input": 0},
        ),
        planted(
            "B10/particlenet",
            particle,
            jets,
            {"Gather_67", "Add_59", "Reshape_61"},
            {"kind": "integers-through", "type": "fp16", "node": "Reshape_61", "input": 0},
        ),
        planted(
            "B10/yolov8-nms",
            real_model("yolov8-nms-graph"),
            boxes,
            gathers,
            {"kind": "integers-through", "type": "fp16", "node": max(gathers)},
        ),
    ]


def cases() -> list[Case]:
    return [*b8(), *b9(), *b10()]
