"""An engine behind the runner protocol that takes one operator for another, in the main graph and in every region:

    swap=Sigmoid:HardSigmoid   what is wrong; left out: nothing
    slow=2                     seconds that each run takes longer
"""
import pathlib
import sys
import time

import onnx
from onnxruntime import InferenceSession, SessionOptions

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "python" / "vernier_runners"))
from protocol import serve  # noqa: E402


def swap(graph, old, new):
    for node in graph.node:
        if node.op_type == old:
            node.op_type = new
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                swap(attribute.g, old, new)


class InnerEngine:
    def hello(self):
        return {"engine": "inner", "version": "1", "capabilities": []}

    def load(self, path, options, threads):
        self.pause = float(options.get("slow", 0))
        model = onnx.load(path)
        if "swap" in options:
            swap(model.graph, *options["swap"].split(":"))
        settings = SessionOptions()
        settings.intra_op_num_threads = 1
        self.session = InferenceSession(model.SerializeToString(), settings)
        return {}

    def run(self, inputs, taps):
        time.sleep(self.pause)
        names = [output.name for output in self.session.get_outputs()]
        return dict(zip(names, self.session.run(names, inputs))), [], 0.0


serve(InnerEngine())
