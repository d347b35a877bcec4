"""Does what ONNX Runtime's kernel does on an x86 processor without VNNI: its instruction multiplies unsigned with signed
bytes, and adds two products at a time in 16 bits, where 32767 is the largest number. With --sound all sums have 32
bits, as with VNNI.
"""
import pathlib
import sys

import numpy as np
from onnx.reference.op_run import OpRun

sys.path.insert(0, str(pathlib.Path(__file__).absolute().parents[1]))

from engines import serve_evaluating  # noqa: E402


class MatMulInteger(OpRun):
    def _run(self, a, b, a_zero=0, b_zero=0):
        wide_a, wide_b = a.astype(np.int64), b.astype(np.int64)
        products = wide_a[:, :, None] * wide_b
        pairs = np.clip(products[:, ::2] + products[:, 1::2], -32768, 32767)
        return ((pairs.sum(axis=1) - a_zero * wide_b.sum(axis=0)).astype(np.int32),)


serve_evaluating(MatMulInteger)
