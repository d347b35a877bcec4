"""B35: scales that are folded, and transposed convolutions. B36: Softmax by opset."""

import numpy as np
import onnx
from onnx import TensorProto, helper

from case import Case
from planting import builder, own, planted, samples

FLOAT = TensorProto.FLOAT


def normalised(variance: float = 1.0):
    """Conv, BatchNormalization and a grouped ConvTranspose with output_padding."""

    def build() -> onnx.ModelProto:
        rng = np.random.default_rng(36)
        nodes = [
            helper.make_node("Conv", ["x", "w"], ["v1"], name="n1", pads=[1, 1, 1, 1]),
            helper.make_node("BatchNormalization", ["v1", "g", "b", "m", "v"], ["v2"], name="n2", epsilon=1e-5),
            helper.make_node("Relu", ["v2"], ["v3"], name="n3"),
            helper.make_node(
                "ConvTranspose",
                ["v3", "u"],
                ["y"],
                name="n4",
                strides=[2, 2],
                pads=[1, 1, 1, 1],
                output_padding=[1, 1],
                group=2,
            ),
        ]
        weight = rng.standard_normal((8, 2, 3, 3), np.float32) / 4
        weight[3] *= np.float32(variance**0.5)
        spread = np.ones(8, np.float32)
        spread[3] = variance
        weights = {
            "w": weight,
            "g": rng.uniform(0.5, 2, 8).astype(np.float32),
            "b": rng.standard_normal(8, np.float32),
            "m": rng.standard_normal(8, np.float32) * spread,
            "v": spread,
            "u": rng.standard_normal((8, 3, 3, 3), np.float32) / 4,
        }
        return builder(nodes, {"x": (FLOAT, ["N", 2, 9, 9])}, {"y": (FLOAT, ["N", 6, 18, 18])}, weights)

    return build


def folding_cases() -> list[Case]:
    image = samples(x=(2, 2, 9, 9))
    sinet, boosted, prisma, gtcrn, sed = (
        "sinet-portrait",
        "deepboosted-resnet1d",
        "prisma-portrait",
        "gtcrn-simple",
        "sed-unet-224",
    )
    return [
        own("B35/own-channel-order", normalised(), image, "n2", "constant-rolled", taps="heals", index=1, by=1),
        own("B35/own-eps", normalised(1e-6), image, "n2", "attribute", key="epsilon", value=1e-3),
        own("B35/own-output-padding", normalised(), image, "n4", "output-padding-lost"),
        own("B35/own-groups", normalised(), image, "n4", "groups-exchanged", taps="refused"),
        own("B35/own-kernel-mirrored", normalised(), image, "n4", "constant-flipped", index=1, axes=[2, 3]),
        planted(
            "B35/sinet-channel-order", sinet, "BatchNormalization_26", "constant-rolled", taps="heals", index=1, by=1
        ),
        planted("B35/deepboosted-eps", boosted, "jnet0_pfcand_batchnorm0_fwd", "attribute", key="epsilon", value=1e-2),
        planted("B35/sinet-eps", sinet, "BatchNormalization_50", "attribute", key="epsilon", value=0.037),
        planted("B35/prisma-pads", prisma, "conv2d_transpose_12", "attribute", sets=1, key="pads", value=[1, 1, 0, 0]),
        planted("B35/gtcrn-groups", gtcrn, "ConvTranspose_1098", "groups-exchanged", taps="partly"),
        planted("B35/sed-mirrored", sed, "/upconv1/ConvTranspose", "constant-flipped", sets=1, index=1, axes=[2, 3]),
    ]


def exponentials(operator: str, opset: int, **attributes):
    """MatMul, Softmax or its kin over [N, 3, 4], and MatMul."""

    def build() -> onnx.ModelProto:
        rng = np.random.default_rng(36)
        nodes = [
            helper.make_node("MatMul", ["x", "w"], ["v1"], name="n1"),
            helper.make_node(operator, ["v1"], ["v2"], name="n2", **attributes),
            helper.make_node("MatMul", ["v2", "u"], ["y"], name="n3"),
        ]
        weights = {"w": rng.standard_normal((6, 4), np.float32), "u": rng.standard_normal((4, 5), np.float32)}
        return builder(nodes, {"x": (FLOAT, ["N", 3, 6])}, {"y": (FLOAT, ["N", 3, 5])}, weights, opset)

    return build


def opset_cases() -> list[Case]:
    rows, fast, morse = samples(x=(4, 3, 6)), "fastestdet-352", "cw-decoder-ja-loop"
    output = "StatefulPartitionedCall/CRNN_Model_1/output_1/Softmax"
    return [
        own("B36/own-read-as-13", exponentials("Softmax", 11), rows, "n2", "softmax-of-one-axis", rank=3),
        own(
            "B36/own-read-as-13-log",
            exponentials("LogSoftmax", 11, axis=1),
            rows,
            "n2",
            "softmax-of-one-axis",
            taps="refused",
            rank=3,
        ),
        own("B36/own-read-as-11", exponentials("Softmax", 13), rows, "n2", "softmax-of-all-axes", taps="heals"),
        own("B36/own-read-as-11-hard", exponentials("Hardmax", 13), rows, "n2", "softmax-of-all-axes"),
        planted("B36/fastestdet-softmax", fast, "/detect_head/softmax/Softmax", "softmax-of-all-axes"),
        planted("B36/morse-softmax", morse, output, "softmax-of-all-axes", taps="refused"),
    ]


def cases() -> list[Case]:
    return folding_cases() + opset_cases()
