"""Cases of callers, of whom the engine gets something else than it should, and of operators that draw at random
(B48)."""

from case import Case
from cases_quantization import pictures
from cases_runtime import black_box
from edits_runtime import with_random
from nets import Net
from planting import real_model, recorded
from quantized_cases import real, samples_of


def one_input():
    net = Net(60, x=(1, 3, 24, 24))
    return net.model(net.conv(net.block(net.block("x", 16), 16), 6, 1))


def two_inputs():
    """Two inputs of one size, and two outputs of one size."""
    net = Net(61, x=(1, 4, 12, 12), y=(1, 4, 12, 12))
    a, b = net.block("x", 8), net.block("y", 8)
    return net.model(net.conv(net.op("Add", a, b), 4, 1), net.conv(net.op("Mul", a, b), 4, 1))


def caller(name: str, model, inputs, kind: str, value: str, **more) -> Case:
    return black_box(name, model, inputs, values=[value], kind=kind, input=value, **more)


def misgiven() -> list[Case]:
    """Layouts, the order of channels, normalisation, strides."""
    yunet, plate, mobile, digit = (
        real_model(name) for name in ("yunet-120x160", "plate-recog-ctc", "tinymobilenet-cifar-extdata", "mnist-cntk")
    )
    mesh, faces = real_model("facemesh-192"), recorded("facemesh-192", 1)
    data = pictures(3, 60)
    return [
        caller("B48/own-graph-layout", one_input, data, "given-channels-last", "x"),
        caller("B48/own-graph-colours", one_input, pictures(3, 61), "given-turned", "x"),
        caller("B48/yunet-120x160-layout", yunet, recorded("yunet-120x160"), "given-channels-last", "input"),
        caller(
            "B48/plate-recog-ctc-colours", plate, recorded("plate-recog-ctc"), "given-turned", "images", taps="refused"
        ),
        caller("B48/facemesh-192-colours", mesh, faces, "given-turned", "input_1", axis=3),
        caller(
            "B48/tinymobilenet-missing-mean",
            mobile,
            recorded("tinymobilenet-cifar-extdata"),
            "given-scaled",
            "input",
            factor=0.22,
            offset=0.45,
        ),
        caller("B48/facemesh-192-scaled-twice", mesh, faces, "given-scaled", "input_1", factor=1 / 255),
        caller("B48/mnist-cntk-stride", digit, recorded("mnist-cntk"), "given-strided", "Input3"),
    ]


def exchanged() -> list[Case]:
    """Bindings in the wrong order."""
    hand, hands = real_model("hand-landmark-224"), lambda: recorded("hand-landmark-224")()[:1]
    pairs = samples_of(
        3, 61, lambda draw: {"x": draw.normal(0, 1, (1, 4, 12, 12)), "y": draw.uniform(0, 3, (1, 4, 12, 12))}
    )
    results = [value.name for value in two_inputs().graph.output]
    return [
        black_box(
            "B48/own-graph-inputs", two_inputs, pairs, values=["x", "y"], kind="given-exchanged", first="x", second="y"
        ),
        black_box(
            "B48/own-graph-outputs",
            two_inputs,
            pairs,
            values=results,
            kind="given-exchanged",
            first=results[0],
            second=results[1],
            outputs=True,
        ),
        black_box(
            "B48/hand-landmark-224",
            hand,
            hands,
            values=["Identity", "Identity_3"],
            kind="given-exchanged",
            first="Identity",
            second="Identity_3",
            outputs=True,
        ),
    ]


def random_left() -> list[Case]:
    """Operators of training are still in the graph: two runs on one input differ."""
    own = one_input()
    plate, yunet = real("plate-recog-ctc"), real("yunet-120x160")

    def case(name, source, inputs, value, kind, amount):
        twin = Case(f"{name}/twin", "", source, inputs, runner=("--onnxruntime",))
        nodes = {f"{value}_x"} | ({f"{value}_y"} if kind != "Dropout" else set())
        return Case(
            name,
            "B48",
            lambda: with_random(source(), value, kind, amount),
            inputs,
            frozenset(nodes),
            runner=("--onnxruntime",),
            twin=twin,
        )

    return [
        case("B48/own-graph-noise", lambda: own, pictures(3, 62), "n2", "RandomNormalLike", 0.05),
        case("B48/plate-recog-ctc-dropout", plate, recorded("plate-recog-ctc"), "119", "Dropout", 0.1),
        case("B48/yunet-120x160-noise", yunet, recorded("yunet-120x160"), "209", "RandomNormalLike", 0.1),
    ]


def cases() -> list[Case]:
    return [*misgiven(), *exchanged(), *random_left()]
