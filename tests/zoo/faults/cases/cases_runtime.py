"""Cases of kernels, batches, races, custom operators and state: what changes from run to run or start to
start (B42 to B46)."""

import numpy as np

from case import Case
from edits_runtime import with_function
from nets import Net
from planting import loaded, real_model, recorded
from quantized_cases import real, samples_of


def black_box(
    name: str, model, inputs, nodes=(), values=(), taps: str = "shown", least: float = 1e-4, also=(), **fault
) -> Case:
    """A case of the black box. A fault of a node is blamed on that node, where no others are named."""
    blamed = frozenset(nodes) or frozenset({fault["node"]} if "node" in fault else ())
    return Case(
        name,
        name.split("/")[0],
        model,
        inputs,
        blamed,
        frozenset(values),
        fault=fault,
        taps=taps,
        least=least,
        also=frozenset(also),
    )


def makers(model, value: str) -> list[str]:
    """The node that makes a value of a real model."""
    return [node.name for node in loaded(model).graph.node if value in node.output]


def convs(seed: int, batch: int | str = 1):
    def build():
        net = Net(seed, x=(batch, 4, 14, 14))
        n = net.block(net.block("x", 16), 16)
        return net.model(net.conv(net.op("Add", net.block(n, 16), n), 6, 1))

    return build


def pixels(seed: int, batch: int = 1, count: int = 3, shape=(4, 14, 14)):
    return samples_of(count, seed, lambda draw: {"x": draw.normal(0, 1, (batch, *shape))})


def batched(name: str, rows: int):
    """Batches of the recorded inputs, each row another: the second half are mixtures of the recorded ones."""

    def read():
        sets = recorded(name)()
        draw = np.random.default_rng(43)
        shares = [np.float32(draw.dirichlet(np.ones(len(sets)))) for _ in range(rows)]
        return [
            {
                value: np.concatenate([sum(share[i] * one[value] for i, one in enumerate(sets)) for share in shares])
                for value in sets[0]
            }
        ]

    return read


def kernels() -> list[Case]:
    """B42: each start takes another kernel; what is wrong then vanishes with the next start, or is another thing."""
    wrong = lambda kind, node, **more: {"kind": kind, "node": node, **more}
    lots = lambda name, model, inputs, node, *faults: Case(
        name, "B42", model, inputs, frozenset({node}), fault={"kind": "lottery", "faults": list(faults)}
    )
    yunet, plate, vit = (real_model(name) for name in ("yunet-120x160", "plate-recog-ctc", "vit-cifar-pgd"))
    gemm = "/2/2.2/Gemm"
    return [
        lots(
            "B42/own-graph",
            convs(42),
            pixels(42),
            "conv_3",
            wrong("tile-scaled", "conv_3"),
            None,
            wrong("tile-scaled", "conv_3", factor=0.8, share=0.5),
        ),
        lots(
            "B42/yunet-120x160",
            yunet,
            recorded("yunet-120x160"),
            "Conv_20",
            wrong("tile-nan", "Conv_20", channel=7),
            None,
            None,
        ),
        lots(
            "B42/plate-recog-ctc",
            plate,
            recorded("plate-recog-ctc"),
            "Conv_14",
            wrong("tile-scaled", "Conv_14", factor=0.97, share=0.5),
            None,
        ),
        lots(
            "B42/vit-cifar-pgd",
            vit,
            recorded("vit-cifar-pgd"),
            gemm,
            wrong("tile-scaled", gemm, share=0.1),
            None,
            wrong("tile-scaled", gemm, factor=1.3, share=0.3),
        ),
    ]


def batches() -> list[Case]:
    """B43: rows of a batch are exchanged, lost, or read from their neighbours."""
    game, jet, vit = (real_model(name) for name in ("connect4-alphazero", "deepjet-lstm", "vit-cifar-pgd"))
    return [
        black_box("B43/own-graph", convs(43, "N"), pixels(43, 4), kind="rows-drift", node="conv_5"),
        black_box(
            "B43/own-graph-output",
            convs(44, "N"),
            pixels(44, 3),
            ["conv_8"],
            ["n8"],
            kind="rows-turned",
            outputs=["n8"],
        ),
        black_box(
            "B43/connect4-alphazero",
            game,
            batched("connect4-alphazero", 3),
            kind="rows-odd",
            node="/backbone/backbone.1/conv1/Conv",
        ),
        black_box(
            "B43/deepjet-lstm",
            jet,
            batched("deepjet-lstm", 4),
            kind="rows-first",
            node="/DenseClassifier/LinLayer2/lin/Gemm",
        ),
        black_box(
            "B43/vit-cifar-pgd",
            vit,
            batched("vit-cifar-pgd", 4),
            kind="rows-turned",
            node="/1/1.0/1.0.1/fn/fn.1/fn.1.0/MatMul",
            taps="refused",
        ),
    ]


def races() -> list[Case]:
    """B44: part of a buffer is read before it is written, always or in some runs."""
    yunet, plate, game = (real_model(name) for name in ("yunet-120x160", "plate-recog-ctc", "connect4-alphazero"))
    conv = "/backbone/backbone.1/conv2/Conv"
    plates = lambda: recorded("plate-recog-ctc")() * 3
    return [
        black_box("B44/own-graph", convs(45), pixels(45, count=6), kind="late-copy", node="add_7", every=2, seed=3),
        Case(
            "B44/own-graph-missed-sync",
            "B44",
            convs(46),
            pixels(46),
            frozenset({"conv_3"}),
            runner=("--cpu", "--inject-fault", "missed-sync:conv_3"),
        ),
        black_box("B44/yunet-120x160", yunet, recorded("yunet-120x160"), kind="late-copy", node="Conv_29", share=0.3),
        black_box(
            "B44/plate-recog-ctc",
            plate,
            plates,
            makers(plate, "output_1"),
            ["output_1"],
            kind="late-copy",
            outputs=["output_1"],
            every=3,
            clock=True,
        ),
        black_box(
            "B44/plate-recog-ctc-input",
            plate,
            recorded("plate-recog-ctc"),
            values=["images"],
            kind="late-input",
            input="images",
        ),
        Case(
            "B44/connect4-alphazero",
            "B44",
            game,
            recorded("connect4-alphazero"),
            frozenset({conv}),
            runner=("--cpu", "--inject-fault", f"missed-sync:{conv}"),
        ),
    ]


def custom_norm():
    """A custom operator whose body normalises rows, between two products."""
    net = Net(47, x=(2, 12, 32))
    n = net.matmul("x", 32, 32)
    return net.model(net.matmul(net.op("Softmax", net.op("Tanh", n), axis=-1), 16, 32, 8.0))


def custom_operators() -> list[Case]:
    """B45: operators of a domain of their own, with a function body in the model, are computed by a plugin that is
    wrong."""
    own = lambda: with_function(custom_norm(), "softmax_3", "op_1")
    yunet = lambda: with_function(real("yunet-120x160")(), "Relu_24", "op_1")
    mesh = lambda: with_function(real("facemesh-192")(), prelu(), "op_1")
    plate = lambda: with_function(real("plate-recog-ctc")(), "MaxPool_13", "op_1")
    words = samples_of(3, 47, lambda draw: {"x": draw.normal(0, 1, (2, 12, 32))})
    return [
        black_box("B45/own-graph", own, words, kind="past-rows", node="softmax_3"),
        black_box("B45/yunet-120x160", yunet, recorded("yunet-120x160"), kind="axes-swapped", node="Relu_24"),
        black_box("B45/facemesh-192", mesh, recorded("facemesh-192", 1), kind="past-rows", node=prelu(), by=8),
        black_box("B45/plate-recog-ctc", plate, recorded("plate-recog-ctc"), kind="unwritten", node="MaxPool_13"),
    ]


def prelu() -> str:
    return [node.name for node in loaded(real_model("facemesh-192")).graph.node if node.op_type == "PRelu"][3]


def state() -> list[Case]:
    """B46: results of the run before, sums that are not cleared, memory that was never written."""
    yunet, plate, game = (real_model(name) for name in ("yunet-120x160", "plate-recog-ctc", "connect4-alphazero"))
    plates = lambda: recorded("plate-recog-ctc")() * 2
    conv = "/backbone/backbone.0/conv2/Conv"
    return [
        black_box("B46/own-graph", convs(48), pixels(48), kind="old-result", node="conv_3"),
        black_box(
            "B46/own-graph-sums", convs(49), pixels(49, count=4), kind="state-left", node="conv_5", taps="partly"
        ),
        black_box(
            "B46/yunet-120x160",
            yunet,
            recorded("yunet-120x160"),
            makers(yunet, "loc"),
            ["loc"],
            kind="old-result",
            outputs=["loc"],
        ),
        black_box("B46/plate-recog-ctc", plate, plates, kind="unwritten", node="Conv_11", first_only=True),
        Case(
            "B46/connect4-alphazero",
            "B46",
            game,
            recorded("connect4-alphazero"),
            frozenset({conv}),
            runner=("--cpu", "--inject-fault", f"stale-buffer:{conv}"),
        ),
    ]


def cases() -> list[Case]:
    return [*kernels(), *batches(), *races(), *custom_operators(), *state()]
