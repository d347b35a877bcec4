"""Cases of the quantized operators of com.microsoft.

Scales are no powers of two and zero points differ, so that hardly any result lies half way between two integers: there
ONNX Runtime, which rounds products of scales to float, may go to the other side than exact arithmetic.
"""

import numpy as np

from case_writer import generator

TYPES = {"uint8": np.uint8, "int8": np.int8}


def quantized(rng, dtype, *shape):
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)


def quantized_weights(rng, dtype, *shape):
    """Weights of any code, but signed ones of 7 bits: without VNNI, ONNX Runtime adds pairs of their products in 16 bits, which saturate."""
    return rng.integers(-64, 64, shape, dtype=dtype) if dtype == np.int8 else quantized(rng, dtype, *shape)


def scale(value):
    return np.array(value, np.float32)


def arithmetic(writer):
    shapes = {"same": ((3, 5), (3, 5)), "broadcast": ((2, 1, 5), (3, 1)), "scalar": ((), (4, 7))}
    for op in ("QLinearAdd", "QLinearMul"):
        for kind, dtype in TYPES.items():
            for layout, (a, b) in shapes.items():
                name = f"{op.lower()}_{kind}_{layout}"
                rng = generator(name)
                point = np.array(5, dtype)
                out_scale = 0.0737 if op == "QLinearAdd" else 1.0931
                zero = np.array(117 if kind == "uint8" else -13, dtype)
                writer.case(name, op, [quantized(rng, dtype, *a), scale(0.0319), point, quantized(rng, dtype, *b),
                                       scale(0.0417), zero, scale(out_scale), np.array(7, dtype)])
        name = f"{op.lower()}_no_output_zero_point"
        rng, zero = generator(name), np.array(0, np.uint8)
        writer.case(name, op, [quantized(rng, np.uint8, 6), scale(0.011), zero, quantized(rng, np.uint8, 6), scale(0.023),
                               zero, scale(0.0523)])


def activations(writer):
    for kind, dtype in TYPES.items():
        for shape in ((4, 9), (2, 3, 5)):
            name = f"qlinear_leaky_relu_{kind}_{len(shape)}d"
            x = quantized(generator(name), dtype, *shape)
            points = np.array(100 if kind == "uint8" else -7, dtype), np.array(3, dtype)
            writer.case(name, "QLinearLeakyRelu", [x, scale(0.0519), points[0], scale(0.0437), points[1]], {"alpha": 0.173})
            writer.case(f"qlinear_sigmoid_{kind}_{len(shape)}d", "QLinearSigmoid",
                        [x, scale(0.0519), points[0], scale(0.00437), points[1]])
    # ONNX Runtime crashes where the output has no zero point; the input may lack its own.
    name = "qlinear_leaky_relu_no_zero_point"
    x = quantized(generator(name), np.int8, 11)
    writer.case(name, "QLinearLeakyRelu", [x, scale(0.0519), None, scale(0.0337), np.array(0, np.int8)])


def softmax(writer):
    for kind, dtype in TYPES.items():
        for opset, axis in ((13, -1), (13, 1), (12, 1), (12, 2)):
            name = f"qlinear_softmax_{kind}_opset{opset}_axis{axis % 3}"
            x = quantized(generator(name), dtype, 2, 3, 7)
            zero = np.array(0 if kind == "uint8" else -128, dtype)
            writer.case(name, "QLinearSoftmax", [x, scale(0.0373), np.array(9, dtype), scale(1 / 256), zero],
                        {"axis": axis, "opset": opset})


def where_and_concat(writer):
    for kind, dtype in TYPES.items():
        for layout, (c, x, y) in {"same": ((3, 4),) * 3, "broadcast": ((3, 1), (4,), (2, 1, 1))}.items():
            name = f"qlinear_where_{kind}_{layout}"
            rng = generator(name)
            writer.case(name, "QLinearWhere",
                        [rng.random(c) < 0.5, quantized(rng, dtype, *x), scale(0.0319), np.array(3, dtype),
                         quantized(rng, dtype, *y), scale(0.0273), np.array(11, dtype), scale(0.0351), np.array(7, dtype)])
        for axis in (0, 1, -1):
            name = f"qlinear_concat_{kind}_axis{axis % 3}"
            rng = generator(name)
            shapes = [[2, 3, 4] for _ in range(3)]
            for i, shape in enumerate(shapes):
                shape[axis] = i + 1
            parts = []
            for i, shape in enumerate(shapes):
                parts += [quantized(rng, dtype, *shape), scale(0.0319 + 0.0047 * i), np.array(2 * i, dtype)]
            writer.case(name, "QLinearConcat", [scale(0.0389), np.array(5, dtype), *parts], {"axis": axis})


def means(writer):
    for kind, dtype in TYPES.items():
        for channels_last in (0, 1):
            for shape in ((2, 3, 5, 7), (1, 4, 6)):
                name = f"qlinear_global_average_pool_{kind}_{len(shape)}d_last{channels_last}"
                x = quantized(generator(name), dtype, *shape)
                writer.case(name, "QLinearGlobalAveragePool",
                            [x, scale(0.0519), np.array(9, dtype), scale(0.0137), np.array(3, dtype)],
                            {"channels_last": channels_last})
        # No CPU kernel in ONNX Runtime: the formula of its documentation.
        for axes, keepdims in (([1], 1), ([0, -1], 0), ([2], 1)):
            name = f"qlinear_reduce_mean_{kind}_{len(axes)}_{keepdims}_{axes[0]}"
            x = quantized(generator(name), dtype, 2, 3, 5)
            info = np.iinfo(dtype)
            mean = ((x.astype(np.float64) - 9) * np.float32(0.0519)).mean(tuple(axes), keepdims=bool(keepdims))
            y = np.clip(np.rint(mean / np.float32(0.0137)) + 3, info.min, info.max).astype(dtype)
            writer.case(name, "QLinearReduceMean",
                        [x, scale(0.0519), np.array(9, dtype), scale(0.0137), np.array(3, dtype)],
                        {"axes": axes, "keepdims": keepdims}, expected=[y])


def average_pool(writer):
    variants = {
        "plain": dict(kernel_shape=[2, 2]),
        "strides_pads": dict(kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 1]),
        "include_pad": dict(kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1),
        "ceil": dict(kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1),
        "same_upper": dict(kernel_shape=[2, 3], strides=[2, 2], auto_pad="SAME_UPPER"),
        "channels_last": dict(kernel_shape=[2, 2], strides=[1, 2], channels_last=1),
    }
    for kind, dtype in TYPES.items():
        for variant, attributes in variants.items():
            name = f"qlinear_average_pool_{kind}_{variant}"
            x = quantized(generator(name), dtype, 2, 6, 7, 5)
            writer.case(name, "QLinearAveragePool",
                        [x, scale(0.0519), np.array(9, dtype), scale(0.0417), np.array(3, dtype)], attributes)


def linear_quantization(writer):
    for kind, dtype in {**TYPES, "int16": np.int16, "uint16": np.uint16}.items():
        name = f"microsoft_quantize_linear_{kind}"
        x = generator(name).normal(0, 3, (3, 4, 5)).astype(np.float32)
        points = np.array([3, 0, 7, 1], dtype)
        scales = np.array([0.0319, 0.0717, 0.0113, 0.1311], np.float32)
        writer.case(name, "QuantizeLinear", [x, scales, points], {"axis": 1})
        writer.case(name + "_tensor", "QuantizeLinear", [x, scale(0.0371), np.array(3, dtype)])
        q = quantized(generator(name), dtype, 3, 4, 5)
        writer.case(f"microsoft_dequantize_linear_{kind}", "DequantizeLinear", [q, scales, points], {"axis": 1})
        writer.case(f"microsoft_dequantize_linear_{kind}_float16", "DequantizeLinear",
                    [q, np.array(0.0371, np.float16), np.array(3, dtype)])


def write(writer):
    for family in (arithmetic, activations, softmax, where_and_concat, means, average_pool, linear_quantization):
        family(writer)
