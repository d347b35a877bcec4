"""Engines that are wrong in one way, for the stories, as runners."""
import pathlib
import sys
import tempfile

import numpy as np
import onnx
import onnx.reference

sys.path.insert(0, str(pathlib.Path(__file__).absolute().parents[2] / "python/vernier_runners"))

from onnxruntime_runner import OnnxRuntime  # noqa: E402
from protocol import serve  # noqa: E402

SOUND = "--sound" in sys.argv  # the same engine without its fault


class Rewriting(OnnxRuntime):
    """ONNX Runtime behind an optimiser that makes a mistake: `rewrite` changes the graph, and nobody is told."""

    def __init__(self, rewrite):
        self.rewrite = rewrite

    def hello(self):
        return {"engine": "story", "version": "1", "capabilities": ["taps"]}

    def load(self, model, options, threads):
        changed = onnx.load(model)
        if not SOUND:
            self.rewrite(changed.graph)
        self.folder = tempfile.TemporaryDirectory()
        path = pathlib.Path(self.folder.name) / "rewritten.onnx"
        onnx.save(changed, path)
        return super().load(str(path), {"optimisation": "basic"} | options, threads)


class Evaluating:
    """numpy, node by node, by the evaluator of the onnx package; `kernels` replace some of its own."""

    def __init__(self, kernels):
        self.kernels = [] if SOUND else kernels

    def hello(self):
        return {"engine": "story", "version": "1", "capabilities": ["taps"]}

    def load(self, model, options, threads):
        self.evaluator = onnx.reference.ReferenceEvaluator(model, new_ops=self.kernels)

    def run(self, inputs, taps):
        with np.errstate(all="ignore"):
            values = self.evaluator.run(None, inputs, intermediate=True)
        wanted = [*self.evaluator.output_names, *(name for name in taps if name in values)]
        return {name: np.asarray(values[name]) for name in wanted}, [], 0.0


def serve_rewriting(rewrite):
    serve(Rewriting(rewrite))


def serve_evaluating(*kernels):
    serve(Evaluating(list(kernels)))
