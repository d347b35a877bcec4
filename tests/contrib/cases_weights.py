"""Cases of operators whose weights are packed: tables, 4-bit floats, experts."""

import numpy as np
from ml_dtypes import int4, uint4

from case_writer import generator
from cases_matmul import normal, packed


def scales(rng, *shape):
    return (rng.random(shape) * 0.1 + 0.01).astype(np.float32)


def gather_block_quantized(writer):
    rows, columns, block = 7, 48, 16
    for bits in (2, 4, 8):
        for zero in ("none", "packed"):
            name = f"gather_block_quantized_uint8_{bits}_zero_{zero}"
            rng = generator(name)
            q, points = rng.integers(0, 2**bits, (rows, columns)), rng.integers(0, 2**bits, (rows, columns // block))
            zeros = packed(points, bits) if zero == "packed" else None
            writer.case(name, "GatherBlockQuantized",
                        [packed(q, bits), rng.integers(-rows, rows, (2, 3)), scales(rng, rows, columns // block), zeros],
                        dict(bits=bits, block_size=block, quantize_axis=1), constants=(0, 2, 3))
    for kind, dtype in (("int4", int4), ("uint4", uint4)):
        for gather_axis, quantize_axis in ((0, 1), (1, 0), (0, 2), (2, 1), (1, 1)):
            for zero in (False, True):
                name = f"gather_block_quantized_{kind}_{gather_axis}_{quantize_axis}{'_zero' if zero else ''}"
                rng = generator(name)
                shape, low = (18, 20, 34), -8 if kind == "int4" else 0
                grid = tuple(-(-size // block) if axis == quantize_axis else size for axis, size in enumerate(shape))
                q, points = (rng.integers(low, low + 16, sizes).astype(dtype) for sizes in (shape, grid))
                writer.case(name, "GatherBlockQuantized",
                            [q, rng.integers(-shape[gather_axis], shape[gather_axis], 3, dtype=np.int32), scales(rng, *grid), points if zero else None],
                            dict(block_size=block, gather_axis=gather_axis, quantize_axis=quantize_axis), constants=(0, 2, 3))
    rng = generator("gather_block_quantized_outside")
    writer.case("gather_block_quantized_outside", "GatherBlockQuantized",
                [packed(rng.integers(0, 16, (rows, columns)), 4), np.array([2, rows, -rows - 1, 0]), scales(rng, rows, columns // block)],
                dict(bits=4, block_size=block, quantize_axis=1), constants=(0, 2))


def bnb4(writer):
    for kind in (0, 1):
        for n, k, block in ((6, 64, 32), (5, 40, 16), (3, 48, 64)):
            name = f"matmul_bnb4_{'nf4' if kind else 'fp4'}_{n}_{k}_block{block}"
            rng = generator(name)
            count = n * k
            writer.case(name, "MatMulBnb4",
                        [normal(rng, 2, 3, k), rng.integers(0, 256, (count + 1) // 2, dtype=np.uint8), scales(rng, -(-count // block))],
                        dict(K=k, N=n, block_size=block, quant_type=kind), constants=(1, 2))
            # transB = 0, for which ONNX Runtime's CPU kernel transposes, too, and reads beyond the weights: its product
            # with the identity shows the weights for the formula of its documentation.
            weights = [rng.integers(0, 256, (count + 1) // 2, dtype=np.uint8), scales(rng, -(-count // block))]
            attributes = dict(K=k, N=n, block_size=block, quant_type=kind)
            transposed = writer.run("MatMulBnb4", [np.eye(k, dtype=np.float32), *weights], attributes, constants=(1, 2))[0]
            a = normal(rng, 3, n)
            writer.case(f"{name}_not_transposed", "MatMulBnb4", [a, *weights], dict(attributes, transB=0), constants=(1, 2),
                        expected=[(a.astype(np.float64) @ transposed.T).astype(np.float32)])


def write(writer):
    for family in (gather_block_quantized, bnb4):
        family(writer)
