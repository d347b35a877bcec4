"""Cases of the convolutions of com.microsoft and of QLinearConv, which ONNX's own tests hardly cover."""

import itertools

import numpy as np

from case_writer import MICROSOFT, generator
from cases_matmul import normal
from cases_qlinear import TYPES, quantized, quantized_weights, scale

GEOMETRIES = {
    "plain": ((2, 4, 7, 6), (3, 4, 3, 3), {}),
    "strides_pads": ((1, 4, 7, 6), (6, 4, 3, 2), dict(strides=[2, 1], pads=[1, 0, 2, 1])),
    "groups": ((2, 6, 5, 5), (4, 3, 3, 3), dict(group=2, dilations=[1, 2], pads=[0, 1, 0, 1])),
    "depthwise": ((1, 5, 6, 6), (5, 1, 3, 3), dict(group=5, auto_pad="SAME_UPPER", strides=[2, 2])),
    "pointwise": ((2, 5, 4, 3), (7, 5, 1, 1), {}),
    "one_dimension": ((2, 3, 9), (4, 3, 4), dict(pads=[1, 2])),
}


def qlinear_conv(writer):
    for (geometry, (x_shape, w_shape, attributes)), (kind, dtype) in itertools.product(GEOMETRIES.items(), TYPES.items()):
        for channels in (False, True):
            name = f"qlinear_conv_{kind}_{geometry}_{'channels' if channels else 'tensor'}"
            rng = generator(name)
            outputs = w_shape[0]
            w_scale = (rng.random(outputs) * 0.02 + 0.001).astype(np.float32) if channels else scale(0.0117)
            w_zero = np.zeros(outputs, np.int8) if channels else np.array(-3, np.int8)
            inputs = [quantized(rng, dtype, *x_shape), scale(0.0319), np.array(9, dtype), quantized_weights(rng, np.int8, *w_shape),
                      w_scale, w_zero, scale(0.1371), np.array(13, dtype)]
            if channels:
                inputs.append(rng.integers(-9999, 9999, outputs, dtype=np.int32))
            writer.case(name, "QLinearConv", inputs, attributes, domain="")
            if len(x_shape) == 4 and kind == "uint8":
                last = [np.ascontiguousarray(np.moveaxis(inputs[0], 1, -1)), *inputs[1:]]
                writer.case(f"microsoft_{name}", "QLinearConv", last, dict(attributes, channels_last=1))


def fused_conv(writer):
    activations = {"Relu": None, "Tanh": None, "Sigmoid": None, "LeakyRelu": [0.13], "Clip": [-0.5, 0.7], "HardSigmoid": [0.3, 0.4]}
    for activation, parameters in activations.items():
        name = f"fused_conv_{activation.lower()}"
        rng = generator(name)
        attributes = dict(activation=activation, pads=[1, 1, 1, 1])
        if parameters:
            attributes["activation_params"] = parameters
        writer.case(name, "FusedConv", [normal(rng, 1, 3, 5, 6), normal(rng, 4, 3, 3, 3), normal(rng, 4)], attributes)
    for geometry, (x_shape, w_shape, attributes) in GEOMETRIES.items():
        name = f"fused_conv_{geometry}"
        rng = generator(name)
        inputs = [normal(rng, *x_shape), normal(rng, *w_shape), normal(rng, w_shape[0])]
        writer.case(name, "FusedConv", inputs, dict(attributes, activation="Relu"))
    rng = generator("fused_conv_residual")
    writer.case("fused_conv_residual", "FusedConv",
                [normal(rng, 2, 3, 5, 6), normal(rng, 4, 3, 3, 3), normal(rng, 4), normal(rng, 2, 4, 3, 4)], dict(activation="Relu"))


def nhwc_conv(writer):
    """Without a CPU kernel in ONNX Runtime: its Conv between transpositions."""
    for geometry, (x_shape, w_shape, attributes) in GEOMETRIES.items():
        name = f"nhwc_conv_{geometry}"
        rng = generator(name)
        x, w, b = normal(rng, *x_shape), normal(rng, *w_shape), normal(rng, w_shape[0])
        y = writer.run("Conv", [x, w, b], attributes, domain="")[0]
        writer.case(name, "NhwcConv", [np.ascontiguousarray(np.moveaxis(x, 1, -1)), w, b], attributes,
                    expected=[np.ascontiguousarray(np.moveaxis(y, 1, -1))], domain=MICROSOFT)


def conv_transpose_with_dynamic_pads(writer):
    variants = {
        "plain": ((2, 4, 5, 6), (4, 3, 3, 2), [0, 0, 0, 0], {}),
        "strides": ((1, 4, 5, 6), (4, 3, 3, 2), [1, 0, 2, 1], dict(strides=[2, 3], output_padding=[1, 0])),
        "groups": ((2, 6, 4, 4), (6, 2, 3, 3), [1, 1, 1, 1], dict(group=3, dilations=[2, 1])),
        "one_dimension": ((2, 3, 9), (3, 4, 4), [1, 2], {}),
    }
    for variant, (x_shape, w_shape, pads, attributes) in variants.items():
        for bias in (False, True):
            name = f"conv_transpose_with_dynamic_pads_{variant}{'_bias' if bias else ''}"
            rng = generator(name)
            inputs = [normal(rng, *x_shape), normal(rng, *w_shape), np.array(pads)]
            if bias:
                inputs.append(normal(rng, w_shape[1] * attributes.get("group", 1)))
            writer.case(name, "ConvTransposeWithDynamicPads", inputs, dict(attributes, kernel_shape=w_shape[2:]))


def nhwc_max_pool(writer):
    variants = {"plain": dict(kernel_shape=[2, 3]), "pads": dict(kernel_shape=[3, 3], pads=[1, 0, 1, 2], strides=[2, 1]),
                "dilations": dict(kernel_shape=[2, 2], dilations=[2, 1], ceil_mode=1, strides=[2, 2]), "same": dict(kernel_shape=[3, 2], auto_pad="SAME_UPPER")}
    for kind, dtype in TYPES.items():
        for variant, attributes in variants.items():
            name = f"nhwc_max_pool_{kind}_{variant}"
            writer.case(name, "NhwcMaxPool", [quantized(generator(name), dtype, 2, 7, 6, 3)], attributes)


def write(writer):
    for family in (qlinear_conv, fused_conv, nhwc_conv, conv_transpose_with_dynamic_pads, nhwc_max_pool):
        family(writer)
