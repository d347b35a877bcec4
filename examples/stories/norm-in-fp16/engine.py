"""An engine that computes each node in the types that the model says. With --disobey it computes normalisations in
fp16, whatever the model says.
"""
import pathlib
import sys

import numpy as np
from onnx.reference.op_run import OpRun

sys.path.insert(0, str(pathlib.Path(__file__).absolute().parents[1]))

from engines import serve_evaluating  # noqa: E402


def half(x):
    return x.astype(np.float16).astype(x.dtype)


class Pow(OpRun):
    def _run(self, x, exponent):
        return (half(half(x) ** exponent),)


class ReduceSum(OpRun):
    def _run(self, x, axes, keepdims=1, noop_with_empty_axes=0):
        return (half(np.sum(half(x), axis=tuple(axes), keepdims=bool(keepdims), dtype=np.float32)),)


class Clip(OpRun):
    def _run(self, x, low):
        return (np.maximum(half(x), half(low)),)


serve_evaluating(*([Pow, ReduceSum, Clip] if "--disobey" in sys.argv else []))
