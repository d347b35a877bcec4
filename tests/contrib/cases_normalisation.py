"""Cases of the normalisations of com.microsoft."""

import numpy as np

from case_writer import generator
from cases_matmul import normal
from cases_qlinear import TYPES, quantized, scale


def skip(writer):
    shapes = {"plain": (2, 3, 8), "one_row": (1, 1, 16), "wide": (3, 2, 5)}
    for variant, shape in shapes.items():
        hidden = shape[-1]
        for extras in ("none", "beta", "bias"):
            name = f"skip_layer_normalization_{variant}_{extras}"
            rng = generator(name)
            inputs = [normal(rng, *shape), normal(rng, *shape), normal(rng, hidden)]
            if extras != "none":
                inputs.append(normal(rng, hidden))
            if extras == "bias":
                inputs.append(normal(rng, hidden))
            writer.case(name, "SkipLayerNormalization", inputs, dict(epsilon=1e-5), outputs=[True, False, False, extras != "none"])
            simplified = [*inputs[:3], *([normal(rng, hidden)] if extras == "bias" else [])]
            writer.case(name.replace("layer", "simplified_layer"), "SkipSimplifiedLayerNormalization", simplified,
                        dict(epsilon=1e-5), outputs=[True, False, False, extras != "none"])
    rng = generator("skip_broadcast")
    inputs = [normal(rng, 3, 4, 6), normal(rng, 4, 6), normal(rng, 6), normal(rng, 6)]
    writer.case("skip_layer_normalization_shared_skip", "SkipLayerNormalization", inputs)
    inputs[1] = inputs[1][None]
    writer.case("skip_layer_normalization_shared_skip_3d", "SkipLayerNormalization", inputs)
    half = [array.astype(np.float16) for array in inputs]
    writer.case("skip_layer_normalization_float16", "SkipLayerNormalization", half, dict(epsilon=1e-3))


def simplified(writer):
    for shape, axis in (((2, 3, 8), -1), ((4, 6), 1), ((2, 3, 4), 1)):
        name = f"simplified_layer_normalization_{len(shape)}d_axis{axis % len(shape)}"
        rng = generator(name)
        scale_shape = shape[axis % len(shape):]
        for kind, dtype in (("float", np.float32), ("double", np.float64)):
            inputs = [normal(rng, *shape, dtype=dtype), normal(rng, *scale_shape, dtype=dtype)]
            attributes = dict(axis=axis, epsilon=1e-5, stash_type=11 if dtype == np.float64 else 1)
            writer.case(f"{name}_{kind}", "SimplifiedLayerNormalization", inputs, attributes, domain="")


def embedding(writer):
    batch, length, hidden = 2, 5, 8
    for variant in ("words", "segments", "mask", "positions", "sum"):
        name = f"embed_layer_normalization_{variant}"
        rng = generator(name)
        words = rng.integers(0, 11, (batch, length), dtype=np.int32)
        inputs = [words, None, normal(rng, 11, hidden), normal(rng, 7, hidden), None, normal(rng, hidden), normal(rng, hidden)]
        if variant != "words":
            inputs[1], inputs[4] = rng.integers(0, 2, (batch, length), dtype=np.int32), normal(rng, 2, hidden)
        if variant in ("mask", "positions"):
            inputs.append((np.arange(length) < np.array([[3], [5]])).astype(np.int32))
        if variant == "positions":
            inputs.append(rng.integers(0, 7, (batch, length), dtype=np.int32))
        attributes = dict(epsilon=1e-5)
        writer.case(name, "EmbedLayerNormalization", inputs, attributes, outputs=3 if variant == "sum" else 2, constants=(2, 3, 4, 5, 6))


def quantized_embedding(writer):
    batch, length, hidden = 2, 5, 8
    for kind, dtype in TYPES.items():
        for segments in (False, True):
            name = f"qembed_layer_normalization_{kind}{'_segments' if segments else ''}"
            rng = generator(name)
            words = rng.integers(0, 11, (batch, length), dtype=np.int32)
            tables = [quantized(rng, dtype, *shape) for shape in ((11, hidden), (7, hidden), (2, hidden), (hidden,), (hidden,))]
            scales = [scale(0.0131 + 0.0017 * i) for i in range(5)]
            points = [np.array(100 + i if kind == "uint8" else i - 2, dtype) for i in range(5)]
            ids, mask = None, (np.arange(length) < np.array([[3], [5]])).astype(np.int32)
            if segments:
                ids = rng.integers(0, 2, (batch, length), dtype=np.int32)
            else:
                tables[2] = scales[2] = points[2] = None
            writer.case(name, "QEmbedLayerNormalization", [words, ids, *tables, mask, *scales, *points], dict(epsilon=1e-5),
                        outputs=2, constants=(2, 3, 4, 5, 6))


def groups(writer):
    """Without a CPU kernel in ONNX Runtime: the formula of its documentation."""
    for shape, count in (((2, 3, 4, 6), 2), ((1, 5, 2, 9), 3), ((2, 2, 2, 4), 4)):
        for last in (0, 1):
            for activation in (0, 1):
                name = f"group_norm_{count}_last{last}_activation{activation}"
                rng = generator(name)
                channels = shape[-1]
                x, gamma, beta = normal(rng, *shape), normal(rng, channels), normal(rng, channels)
                grouped = x.astype(np.float64).reshape(*shape[:3], count, channels // count)
                mean = grouped.mean((1, 2, 4), keepdims=True)
                variance = grouped.var((1, 2, 4), keepdims=True)
                y = ((grouped - mean) / np.sqrt(variance + 1e-5)).reshape(shape) * gamma + beta
                if activation:
                    y = y / (1 + np.exp(-y))
                layout = (lambda a: a) if last else (lambda a: np.ascontiguousarray(np.moveaxis(a, -1, 1)))
                writer.case(name, "GroupNorm", [layout(x), gamma, beta],
                            dict(groups=count, channels_last=last, activation=activation, epsilon=1e-5),
                            expected=[layout(y).astype(np.float32)])


def skip_groups(writer):
    """Without a CPU kernel in ONNX Runtime: the formula of its documentation."""
    batch, height, width, channels, count = 2, 3, 4, 6, 2
    for variant, skip_shape in (("image", (batch, height, width, channels)), ("pixel", (batch, 1, 1, channels)), ("vector", (batch, channels))):
        for last in (0, 1):
            name = f"skip_group_norm_{variant}_last{last}"
            rng = generator(name)
            x, added, bias = normal(rng, batch, height, width, channels), normal(rng, *skip_shape), normal(rng, channels)
            gamma, beta = normal(rng, channels), normal(rng, channels)
            total = x + (added[:, None, None] if added.ndim == 2 else added) + bias
            grouped = total.astype(np.float64).reshape(batch, height, width, count, -1)
            mean, variance = grouped.mean((1, 2, 4), keepdims=True), grouped.var((1, 2, 4), keepdims=True)
            y = ((grouped - mean) / np.sqrt(variance + 1e-5)).reshape(x.shape) * gamma + beta
            layout = (lambda a: a) if last else (lambda a: np.ascontiguousarray(np.moveaxis(a, -1, 1)) if a.ndim == 4 else a)
            writer.case(name, "SkipGroupNorm", [layout(x), gamma, beta, layout(added), bias],
                        dict(groups=count, channels_last=last, activation=0, epsilon=1e-5), expected=[layout(y).astype(np.float32), layout(total)], outputs=2)


def branches(writer):
    for activation in ("silu", "sigmoid"):
        for shape, size in (((2, 3, 8), 8), ((4, 12), 4)):
            name = f"gated_rms_norm_{activation}_{shape[-1]}_{size}"
            rng = generator(name)
            writer.case(name, "GatedRMSNorm", [normal(rng, *shape), normal(rng, size), normal(rng, *shape)], dict(activation=activation))
    for variant, shape, scale_shape, count in (("grouped", (2, 3, 4, 5), (4, 5), 0), ("shared", (2, 3, 4, 5), (5,), 0), ("flat", (2, 3, 20), (20,), 4),
                                               ("no_scale", (2, 4, 5), None, 0)):
        name = f"branchwise_rms_norm_{variant}"
        rng = generator(name)
        writer.case(name, "BranchwiseRMSNorm", [normal(rng, *shape), normal(rng, *scale_shape) if scale_shape else None], dict(num_branches=count))


def hyper_connections(writer):
    rows, count, size = 3, 4, 5
    for flat in (False, True):
        attributes = dict(num_branches=count) if flat else {}
        shape = (2, rows, count * size) if flat else (2, rows, count, size)
        for variant, gate_shape in (("stream", (2, rows, count)), ("column", (2, rows, count, 1)), ("element", (2, rows, count, size))):
            name = f"hyper_connection_{'flat' if flat else 'grouped'}_{variant}"
            rng = generator(name)
            x, gates, result = normal(rng, *shape), normal(rng, *gate_shape), normal(rng, 2, rows, size)
            writer.case(f"{name}_pre", "HyperConnectionPreMix", [x, gates], dict(attributes, reduction_scale=0.7))
            for mix in (None, normal(rng, 2, rows, count, count)):
                writer.case(f"{name}_post{'' if mix is None else '_mix'}", "HyperConnectionPostMix", [x, result, gates, mix], attributes)


def write(writer):
    for family in (skip, simplified, embedding, quantized_embedding, groups, skip_groups, branches, hyper_connections):
        family(writer)
