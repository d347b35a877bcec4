"""Cases of engines that have other weights than the model (B47)."""

from case import Case
from cases_runtime import black_box
from edits_runtime import WEIGHTED
from nets import Net
from planting import loaded, nodes_of, real_model, recorded
from quantized_cases import samples_of


def perceptron():
    net = Net(50, x=(4, 24))
    n = "x"
    for size, out in ((24, 48), (48, 48), (48, 10)):
        n = net.op("Tanh", net.matmul(n, out, size))
    return net.model(n)


def weighted(model) -> set[str]:
    return {
        node.name
        for node in (loaded(model) if not hasattr(model, "graph") else model).graph.node
        if node.op_type in WEIGHTED
    }


def cases() -> list[Case]:
    """B47: the weights are those of another model, or one layer's are those from before a refit."""
    yunet, vit, plate, game = (
        real_model(name) for name in ("yunet-120x160", "vit-cifar-pgd", "plate-recog-ctc", "connect4-alphazero")
    )
    rows = samples_of(3, 50, lambda draw: {"x": draw.normal(0, 1, (4, 24))})
    return [
        black_box("B47/own-graph", perceptron, rows, nodes=weighted(perceptron()), kind="other-weights"),
        black_box("B47/own-graph-refit", perceptron, rows, kind="old-weights", node="matmul_3"),
        black_box(
            "B47/yunet-120x160", yunet, recorded("yunet-120x160"), kind="old-weights", node="Conv_36", change=0.5
        ),
        black_box(
            "B47/vit-cifar-pgd", vit, recorded("vit-cifar-pgd"), nodes=weighted(vit), kind="other-weights", seed=7
        ),
        black_box(
            "B47/connect4-alphazero",
            game,
            recorded("connect4-alphazero"),
            kind="old-weights",
            node=nodes_of(game, "Gemm")[0].name,
        ),
        black_box(
            "B47/plate-recog-ctc",
            plate,
            recorded("plate-recog-ctc"),
            kind="old-weights",
            node="Conv_16",
            taps="refused",
        ),
    ]
