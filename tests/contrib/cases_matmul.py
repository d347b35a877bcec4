"""Cases of the matrix products of com.microsoft: quantized ones, packed weights, fused epilogues; and of pointwise fusions."""

import math

import numpy as np

from case_writer import generator
from cases_qlinear import TYPES, quantized, quantized_weights, scale


def normal(rng, *shape, dtype=np.float32):
    return rng.normal(0, 1, shape).astype(dtype)


def qgemm(writer):
    variants = {
        "plain": dict(),
        "transposed_b": dict(transB=1, alpha=0.73),
        "transposed_a": dict(transA=1),
        "both": dict(transA=1, transB=1, alpha=1.31),
    }
    m, k, n = 5, 7, 4
    for kind, dtype in TYPES.items():
        for variant, attributes in variants.items():
            for columns in (False, True):
                for real in (False, True):
                    name = f"qgemm_{kind}_{variant}_{'columns' if columns else 'tensor'}_{'real' if real else 'quantized'}"
                    rng = generator(name)
                    a = quantized(rng, dtype, *((k, m) if attributes.get("transA") else (m, k)))
                    b = quantized_weights(rng, np.int8, *((n, k) if attributes.get("transB") else (k, n)))
                    b_scale = np.array([0.011, 0.023, 0.0171, 0.0093], np.float32) if columns else scale(0.0117)
                    b_zero = np.array([1, -3, 0, 5], np.int8) if columns else np.array(-3, np.int8)
                    c = rng.integers(-9999, 9999, (n,) if columns else (m, n), dtype=np.int32)
                    inputs = [a, scale(0.0319), np.array(9, dtype), b, b_scale, b_zero, c]
                    if not real:
                        inputs += [scale(0.1371), np.array(13, dtype)]
                    writer.case(name, "QGemm", inputs, attributes)


def integer_to_float(writer):
    layouts = {"2d": ((5, 7), (7, 3)), "batched": ((2, 5, 7), (2, 7, 3)), "shared_b": ((2, 5, 7), (7, 3))}
    for kind, dtype in TYPES.items():
        for layout, (a_shape, b_shape) in layouts.items():
            for columns in (False, True):
                name = f"{kind}_{layout}_{'columns' if columns else 'tensor'}"
                rng = generator(name)
                b = quantized_weights(rng, dtype, *b_shape)
                if columns and b.ndim == 3:
                    continue
                b_scale = np.array([0.011, 0.023, 0.0171], np.float32) if columns else scale(0.0117)
                b_zero = np.array([1, 3, 7], dtype) if columns else np.array(3, dtype)
                bias = normal(rng, 3) if columns else None
                writer.case(f"matmul_integer_to_float_{name}", "MatMulIntegerToFloat",
                            [quantized(rng, np.uint8, *a_shape), b, scale(0.0319), b_scale, np.array(117, np.uint8), b_zero, bias])
                writer.case(f"dynamic_quantize_matmul_{name}", "DynamicQuantizeMatMul",
                            [normal(rng, *a_shape), b, b_scale, b_zero, bias])


def integer16(writer):
    rng = generator("matmul_integer16")
    inputs = [rng.integers(-9999, 9999, shape).astype(np.int16) for shape in ((2, 3, 4), (4, 5))]
    writer.case("matmul_integer16", "MatMulInteger16", inputs)


def packed(q, bits):
    """[..., count] integers to bytes, lowest bits first."""
    shape = q.shape[:-1]
    as_bits = ((q[..., None] >> np.arange(bits)) & 1).astype(np.uint8).reshape(*shape, -1)
    return np.packbits(as_bits, axis=-1, bitorder="little")


def nbits(writer):
    n = 6
    for bits in (2, 4, 8):
        for k, block in ((64, 32), (40, 16), (96, 32)):
            for zero in ("none", "packed", "real"):
                if bits != 4 and zero == "real":  # ONNX Runtime has no such kernel
                    continue
                name = f"matmul_nbits_{bits}_k{k}_block{block}_zero_{zero}"
                rng = generator(name)
                blocks = -(-k // block)
                q = rng.integers(0, 2**bits, (n, blocks, block))
                points = rng.integers(0, 2**bits, (n, blocks))
                zeros = {"none": None, "packed": packed(points, bits), "real": points.astype(np.float32) + np.float32(0.25)}[zero]
                bias = normal(rng, n) if zero == "packed" else None
                writer.case(name, "MatMulNBits",
                            [normal(rng, 2, 3, k), packed(q, bits), (rng.random((n, blocks)) * 0.1).astype(np.float32), zeros, None, bias],
                            dict(K=k, N=n, bits=bits, block_size=block), constants=(1, 2, 3, 5))
    for k, block in ((64, 32), (48, 16)):
        name = f"matmul_nbits_4_group_index_k{k}"
        rng = generator(name)
        blocks = k // block
        q = rng.integers(0, 16, (n, blocks, block))
        index = rng.permutation(np.arange(k, dtype=np.int32) // block).astype(np.int32)
        writer.case(name, "MatMulNBits",
                    [normal(rng, 3, k), packed(q, 4), (rng.random((n, blocks)) * 0.1).astype(np.float32), None, index],
                    dict(K=k, N=n, bits=4, block_size=block), constants=(1, 2, 3, 4))


def fused_gemm(writer):
    activations = {
        "Relu": {}, "Sigmoid": {}, "Tanh": {}, "LeakyRelu": dict(activation_alpha=0.13),
        "HardSigmoid": dict(activation_alpha=0.31, activation_beta=0.4), "Elu": dict(activation_alpha=0.7),
        "Softplus": {}, "Softsign": {}, "ThresholdedRelu": dict(activation_alpha=0.6),
    }
    for activation, parameters in activations.items():
        name = f"fused_gemm_{activation.lower()}"
        rng = generator(name)
        writer.case(name, "FusedGemm", [normal(rng, 4, 5), normal(rng, 5, 3), normal(rng, 3)],
                    dict(activation=activation, **parameters))
    rng = generator("fused_gemm_transposed")
    writer.case("fused_gemm_transposed", "FusedGemm", [normal(rng, 5, 4), normal(rng, 3, 5), normal(rng, 4, 1)],
                dict(activation="Relu", transA=1, transB=1, alpha=0.7, beta=1.3))
    writer.case("fused_gemm_no_bias", "FusedGemm", [normal(rng, 5, 4), normal(rng, 4, 5)], dict(activation="Tanh", alpha=0.2))


def fused_matmul(writer):
    variants = {
        "plain": ((2, 3, 4), (4, 5), {}),
        "trans_a": ((4, 3), (4, 5), dict(transA=1, alpha=0.7)),
        "trans_b": ((2, 3, 4), (2, 5, 4), dict(transB=1)),
        "trans_both": ((2, 1, 4, 3), (3, 5, 4), dict(transA=1, transB=1, alpha=-1.5)),
        "batch_a": ((3, 2, 4), (2, 4, 5), dict(transBatchA=1)),
        "batch_b": ((2, 6, 3, 4), (4, 2, 6, 5), dict(transBatchB=1)),
        "batch_a_trans_a": ((4, 2, 3), (2, 4, 5), dict(transBatchA=1, transA=1)),
    }
    for variant, (a, b, attributes) in variants.items():
        for kind, dtype in (("float", np.float32), ("double", np.float64)):
            rng = generator(f"fused_matmul_{variant}")
            inputs = [normal(rng, *a, dtype=dtype), normal(rng, *b, dtype=dtype)]
            writer.case(f"fused_matmul_{variant}_{kind}", "FusedMatMul", inputs, attributes)
            if kind == "float" and "batch" not in variant:
                writer.case(f"transpose_matmul_{variant}", "TransposeMatMul", inputs, attributes)


erf = np.vectorize(math.erf)


def gelu(x):
    return 0.5 * x * (1 + erf(x / math.sqrt(2)))


def fast_gelu(x):
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def pointwise(writer):
    for shape in ((7,), (3, 4), (2, 3, 5)):
        rank = len(shape)
        rng = generator(f"gelu_{rank}")
        # Not far below zero, where gelu is the difference of nearly equal numbers and float has no digits left.
        x, bias, skip = np.clip(normal(rng, *shape) * 2, -2, 5), np.abs(normal(rng, shape[-1])), normal(rng, *shape)
        writer.case(f"gelu_{rank}d", "Gelu", [x])
        writer.case(f"bias_gelu_{rank}d", "BiasGelu", [x, bias])
        writer.case(f"fast_gelu_{rank}d", "FastGelu", [x])
        writer.case(f"fast_gelu_bias_{rank}d", "FastGelu", [x, bias])
        writer.case(f"quick_gelu_{rank}d", "QuickGelu", [x], dict(alpha=0.9 + rank))
        writer.case(f"scaled_silu_{rank}d", "ScaledSiLU", [x], dict(alpha=0.9 + rank))
        writer.case(f"scaled_silu_input_{rank}d", "ScaledSiLU", [x, np.array(0.7, np.float32)])
        writer.case(f"gated_add_{rank}d", "GatedAdd", [x, skip, normal(rng, *shape[:-1], 1)])
        # No CPU kernels in ONNX Runtime: the formulas of its documentation.
        writer.case(f"bias_add_{rank}d", "BiasAdd", [x, bias, skip], expected=[x + bias + skip])
    for half in (1, 4, 7):
        rng = generator(f"bias_split_gelu_{half}")
        x, bias = normal(rng, 2, 3, 2 * half), normal(rng, 2 * half)
        left, right = np.split((x + bias).astype(np.float64), 2, -1)
        writer.case(f"bias_split_gelu_{half}", "BiasSplitGelu", [x, bias], expected=[(left * gelu(right)).astype(np.float32)])
        w, b = normal(rng, 2 * half, 5), normal(rng, 5)
        for kind, given in (("", None), ("_bias", b)):
            y = fast_gelu(x.astype(np.float64) @ w + (0 if given is None else b))
            writer.case(f"gemm_fast_gelu_{half}{kind}", "GemmFastGelu", [x, w, given], expected=[y.astype(np.float32)])


def write(writer):
    for family in (qgemm, integer_to_float, integer16, nbits, fused_gemm, fused_matmul, pointwise):
        family(writer)
