"""An engine behind the runner protocol that goes wrong as its options say:

    fused=A+B+C   these nodes are one kernel, which loses the factor of a Mul among them; where a value between them is an output, they
                  run apart, and are right
    wrong=A       the factor of the Mul A is lost, always
    off=A*1.001   the factor of the Mul A is so many times as large
    dies=A        the process ends when a model with this node runs
    dies_at_load=A   the same when it is loaded
    refuses=A     an error in the answer to a run of a model with this node
    hangs=A       no answer to a run of a model with this node
    draws=A       its result is another one each time
    lacks=y       this output is missing in the answers
    again=dies    the process ends in its second run
    taps=no       no inner values by taps; taps=none: no other outputs than those of the model either
"""
import os
import pathlib
import sys
import time

import numpy as np
import onnx
from onnx import helper, numpy_helper
from onnxruntime import InferenceSession, SessionOptions

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "python" / "vernier_runners"))
from protocol import Failure, serve  # noqa: E402


def change_factor(model, name, change):
    """Changes the Mul: `change` makes another array of it."""
    [node] = [node for node in model.graph.node if node.name == name]
    [old] = [tensor for tensor in model.graph.initializer if tensor.name == node.input[1]]
    model.graph.initializer.append(numpy_helper.from_array(change(numpy_helper.to_array(old)), name + "_changed"))
    node.input[1] = name + "_changed"


class OddEngine:
    def __init__(self):
        self.runs = 0

    def hello(self):
        taps = "taps=no" not in sys.argv and "taps=none" not in sys.argv
        return {"engine": "odd", "version": "1", "capabilities": ["taps"] if taps else []}

    def load(self, path, options, threads):
        self.options = options
        self.model = onnx.load(path)
        if self.has(options.get("dies_at_load")):
            os._exit(3)
        declared = int(options.get("outputs", "0"))
        if declared and len(self.model.graph.output) != declared:
            raise Failure("only the outputs of the model can be given out", "unsupported")

    def has(self, name):
        return any(node.name == name for node in self.model.graph.node)

    def edited(self, taps):
        model = onnx.ModelProto()
        model.CopyFrom(self.model)
        options = self.options
        known = {output.name for output in model.graph.output}
        model.graph.output.extend(helper.make_empty_tensor_value_info(tap) for tap in taps if tap not in known)
        if self.has(options.get("wrong")):
            change_factor(model, options["wrong"], np.ones_like)
        name, _, times = options.get("off", "").partition("*")
        if self.has(name):
            change_factor(model, name, lambda factor: factor * np.float32(times))
        members = options.get("fused", "").split("+")
        if all(self.has(name) for name in members):
            inside = {output for node in model.graph.node if node.name in members for output in node.output}
            read_outside = {value for node in model.graph.node if node.name not in members for value in node.input}
            shown = {output.name for output in model.graph.output}
            if not (inside - read_outside) & (shown - {"y"}):
                change_factor(model, next(node.name for node in model.graph.node if node.name in members and node.op_type == "Mul"), np.ones_like)
        return model

    def run(self, inputs, taps):
        options = self.options
        self.runs += 1
        if self.has(options.get("dies")) or (options.get("again") == "dies" and self.runs > 1):
            os._exit(3)
        if self.has(options.get("hangs")):
            time.sleep(1000)
        if self.has(options.get("refuses")):
            raise Failure("no kernel", "unsupported", node=options["refuses"])
        settings = SessionOptions()
        settings.intra_op_num_threads = 1
        session = InferenceSession(self.edited(taps).SerializeToString(), settings, providers=["CPUExecutionProvider"])
        read = {value.name for value in session.get_inputs()}
        names = [output.name for output in session.get_outputs()]
        made = dict(zip(names, session.run(None, {name: value for name, value in inputs.items() if name in read})))
        if self.has(options.get("draws")):
            name = next(node.output[0] for node in self.model.graph.node if node.name == options["draws"])
            for value in {name, "y"} & set(made):
                made[value] = made[value] + np.random.default_rng().normal(size=made[value].shape).astype(np.float32)
        made.pop(options.get("lacks"), None)
        return made, [], 0.0


serve(OddEngine())
