"""ONNX Runtime with all its optimisations, inputs and outputs bound."""
import numpy as np
import onnxruntime as ort

from . import Caches


class Session:
    def __init__(self, session: ort.InferenceSession):
        self.session = session

    def bind(self, inputs):
        self.binding = self.session.io_binding()
        for name, array in inputs.items():
            self.binding.bind_cpu_input(name, array)
        for output in self.session.get_outputs():
            self.binding.bind_output(output.name)
        return lambda: self.session.run_with_iobinding(self.binding)

    def outputs(self):
        return {output.name: value.numpy() for output, value in zip(self.session.get_outputs(), self.binding.get_outputs())}


class Decoder:
    """The outputs of a step are the inputs of the next, without a copy."""

    def __init__(self, session: ort.InferenceSession, caches: Caches):
        self.session, self.caches = session, caches
        empty = ort.OrtValue.ortvalue_from_numpy(np.zeros(caches.dims(0), np.float32))
        self.past = dict.fromkeys(caches.pairs, empty)

    def step(self, ids, mask):
        binding = self.session.io_binding()
        binding.bind_cpu_input("input_ids", ids)
        binding.bind_cpu_input("attention_mask", mask)
        for name, value in self.past.items():
            binding.bind_ortvalue_input(name, value)
        names = ["logits", *self.caches.pairs.values()]
        for name in names:
            binding.bind_output(name)
        self.session.run_with_iobinding(binding)
        logits, *present = binding.get_outputs()
        self.past = dict(zip(self.caches.pairs, present))
        return logits.numpy()


class Engine:
    def __init__(self, model, threads):
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        self.inference = ort.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])

    def session(self):
        return Session(self.inference)

    def decoder(self, caches):
        return Decoder(self.inference, caches)
