"""B33: pooling. B34: Resize and GridSample."""

import numpy as np
import onnx
from onnx import TensorProto, helper

from case import Case
from planting import builder, own, planted, real_model, recorded, samples

FLOAT = TensorProto.FLOAT


def pooled(operator: str, size: int = 12, **attributes):
    """Conv, the pooling, and Conv."""

    def build() -> onnx.ModelProto:
        rng = np.random.default_rng(33)
        nodes = [
            helper.make_node("Conv", ["x", "w", "b"], ["v1"], name="n1", pads=[1, 1, 1, 1]),
            helper.make_node(operator, ["v1"], ["v2"], name="n2", **attributes),
            helper.make_node("Conv", ["v2", "u"], ["y"], name="n3"),
        ]
        weights = {
            "w": rng.standard_normal((8, 3, 3, 3), np.float32) / 5,
            "b": np.ones(8, np.float32),
            "u": rng.standard_normal((4, 8, 1, 1), np.float32) / 3,
        }
        return builder(nodes, {"x": (FLOAT, ["N", 3, size, size])}, {"y": (FLOAT, ["N", 4, "H", "W"])}, weights)

    return build


def pooling_cases() -> list[Case]:
    image, window = samples(x=(2, 3, 12, 12)), {"kernel_shape": [3, 3], "strides": [2, 2]}
    average = pooled("AveragePool", pads=[1, 1, 1, 1], count_include_pad=1, **window)
    overhanging = pooled("AveragePool", ceil_mode=1, **window)
    fast, plate, yunet = "fastestdet-352", "plate-recog-ctc", "yunet-120x160"
    return [
        own("B33/own-count-include-pad", average, image, "n2", "attribute", key="count_include_pad", value=0),
        own("B33/own-overhang", overhanging, image, "n2", "average-counts-overhang", taps="heals", overhang=[1, 1]),
        own(
            "B33/own-ceil-mode",
            pooled("MaxPool", ceil_mode=1, **window),
            image,
            "n2",
            "last-windows-lost",
            taps="refused",
            lost=[1, 1],
        ),
        own(
            "B33/own-pads",
            pooled("MaxPool", pads=[0, 0, 1, 1], **window),
            image,
            "n2",
            "attribute",
            key="pads",
            value=[1, 1, 0, 0],
        ),
        Case(
            "B33/own-engine-stride",
            "B33",
            average,
            image,
            frozenset({"n2"}),
            runner=("--cpu", "--inject-fault", "stride:n2"),
        ),
        planted("B33/fastestdet-count", fast, "/avg_pool/AveragePool", "attribute", key="count_include_pad", value=0),
        planted("B33/fastestdet-pads", fast, "/backbone/maxpool/MaxPool", "attribute", key="pads", value=[0, 0, 2, 2]),
        planted("B33/plate-ceil-mode", plate, "MaxPool_13", "last-windows-lost", taps="partly", lost=[1, 1]),
        planted("B33/yunet-windows", yunet, "MaxPool_18", "windows-shifted", taps="heals"),
        Case(
            "B33/yunet-engine-stride",
            "B33",
            real_model(yunet),
            recorded(yunet),
            frozenset({"MaxPool_25"}),
            runner=("--cpu", "--inject-fault", "stride:MaxPool_25"),
        ),
    ]


def resized(sizes: tuple[int, int], made: tuple[int, int], **attributes):
    """Conv, Resize, and Conv."""

    def build() -> onnx.ModelProto:
        rng = np.random.default_rng(34)
        nodes = [
            helper.make_node("Conv", ["x", "w"], ["v1"], name="n1", pads=[1, 1, 1, 1]),
            helper.make_node("Resize", ["v1", "", "", "s"], ["v2"], name="n2", **attributes),
            helper.make_node("Conv", ["v2", "u"], ["y"], name="n3"),
        ]
        weights = {
            "w": rng.standard_normal((4, 2, 3, 3), np.float32) / 4,
            "u": rng.standard_normal((2, 4, 1, 1), np.float32),
            "s": np.asarray([1, 4, *made]),
        }
        return builder(nodes, {"x": (FLOAT, [1, 2, *sizes])}, {"y": (FLOAT, [1, 2, *made])}, weights)

    return build


def sampled() -> onnx.ModelProto:
    rng = np.random.default_rng(35)
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["v1"], name="n1", pads=[1, 1, 1, 1]),
        helper.make_node("GridSample", ["v1", "p"], ["v2"], name="n2", mode="bilinear", align_corners=0),
        helper.make_node("Relu", ["v2"], ["y"], name="n3"),
    ]
    weights = {"w": rng.standard_normal((4, 2, 3, 3), np.float32) / 4}
    return builder(
        nodes, {"x": (FLOAT, [1, 2, 9, 11]), "p": (FLOAT, [1, 8, 8, 2])}, {"y": (FLOAT, [1, 4, 8, 8])}, weights
    )


def resizing_cases() -> list[Case]:
    mode = "coordinate_transformation_mode"
    small, wide = samples(x=(1, 2, 5, 5)), samples(x=(1, 2, 7, 26))
    near = lambda **more: resized((7, 26), (14, 104), mode="nearest", **more)
    return [
        own(
            "B34/own-half-pixel",
            resized((5, 5), (8, 8), mode="linear"),
            small,
            "n2",
            "attribute",
            key=mode,
            value="asymmetric",
        ),
        own(
            "B34/own-align-corners",
            resized((5, 5), (8, 8), mode="linear", coordinate_transformation_mode="align_corners"),
            small,
            "n2",
            "attribute",
            taps="refused",
            key=mode,
            value="half_pixel",
        ),
        own(
            "B34/own-nearest-mode",
            near(coordinate_transformation_mode="asymmetric", nearest_mode="floor"),
            wide,
            "n2",
            "attribute",
            key="nearest_mode",
            value="round_prefer_floor",
        ),
        own("B34/own-nearest-half-pixel", near(), wide, "n2", "attribute", taps="heals", key=mode, value="asymmetric"),
        own(
            "B34/own-cubic",
            resized((5, 5), (8, 8), mode="cubic"),
            small,
            "n2",
            "attribute",
            key="cubic_coeff_a",
            value=-0.5,
        ),
    ]


def grid_cases() -> list[Case]:
    return [
        own(
            "B34/own-grid",
            sampled,
            samples(x=(1, 2, 9, 11), p=(1, 8, 8, 2)),
            "n2",
            "attribute",
            key="align_corners",
            value=1,
        ),
        own(
            "B34/own-grid-outside",
            sampled,
            samples(x=(1, 2, 9, 11), p=(1, 8, 8, 2)),
            "n2",
            "attribute",
            key="padding_mode",
            value="border",
        ),
    ]


def real_resizing_cases() -> list[Case]:
    fast, sinet, mlsd, nano = "fastestdet-352", "sinet-portrait", "mlsd-tiny-320", "nanodet-m-320"
    mode = "coordinate_transformation_mode"
    return [
        planted(
            "B34/fastestdet-nearest",
            fast,
            "/upsample/Resize",
            "attribute",
            key="nearest_mode",
            value="round_prefer_ceil",
        ),
        planted("B34/sinet-corners", sinet, "Resize_161", "attribute", key=mode, value="half_pixel"),
        planted("B34/mlsd-asymmetric", mlsd, "Resize__179", "attribute", taps="heals", key=mode, value="asymmetric"),
        planted("B34/nanodet-corners", nano, "Resize_374", "attribute", taps="partly", key=mode, value="align_corners"),
    ]


def cases() -> list[Case]:
    return pooling_cases() + resizing_cases() + grid_cases() + real_resizing_cases()
