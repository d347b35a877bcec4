"""OpenVINO: latency with one stream, or throughput with as many as there are sessions. Sizes are fixed where `sizes` names them."""
import numpy as np
import openvino

from . import Caches


class Session:
    def __init__(self, compiled: openvino.CompiledModel):
        self.compiled, self.request = compiled, compiled.create_infer_request()

    def bind(self, inputs):
        for name, array in inputs.items():
            self.request.set_tensor(name, openvino.Tensor(array, shared_memory=True))
        self.bound = inputs  # which the tensors do not keep alive
        return self.request.infer

    def outputs(self):
        return {output.get_any_name(): self.request.get_tensor(output).data.copy() for output in self.compiled.outputs}


class Decoder:
    """Two requests in turn: what one has written the other reads, without a copy."""

    def __init__(self, compiled: openvino.CompiledModel, caches: Caches):
        self.caches = caches
        self.next, self.last = compiled.create_infer_request(), compiled.create_infer_request()
        self.past = dict.fromkeys(caches.pairs, openvino.Tensor(np.zeros(caches.dims(0), np.float32)))

    def step(self, ids, mask):
        request = self.next
        request.set_tensor("input_ids", openvino.Tensor(ids, shared_memory=True))
        request.set_tensor("attention_mask", openvino.Tensor(mask, shared_memory=True))
        for name, tensor in self.past.items():
            request.set_tensor(name, tensor)
        request.infer()
        self.past = {name: request.get_tensor(output) for name, output in self.caches.pairs.items()}
        self.next, self.last = self.last, request
        return request.get_tensor("logits").data


class StatefulDecoder:
    """The caches are states of the request, as OpenVINO's own text generation has them."""

    def __init__(self, compiled: openvino.CompiledModel):
        self.request = compiled.create_infer_request()

    def step(self, ids, mask):
        self.request.set_tensor("input_ids", openvino.Tensor(ids, shared_memory=True))
        self.request.set_tensor("attention_mask", openvino.Tensor(mask, shared_memory=True))
        self.request.infer()
        return self.request.get_tensor("logits").data


def with_states(model: openvino.Model, pairs: dict[str, str]) -> None:
    from openvino._offline_transformations import apply_make_stateful_transformation

    model.reshape({value.get_any_name(): [1, *list(value.get_partial_shape())[1:]] for value in model.inputs})
    apply_make_stateful_transformation(model, pairs)


class Engine:
    def __init__(self, model, threads, precision="f32", sizes=None, streams=1, stateful=None):
        core = openvino.Core()
        read = core.read_model(str(model))
        if sizes:  # OpenVINO is faster where sizes are fixed
            read.reshape(sizes)
        self.stateful = stateful is not None
        if self.stateful:
            with_states(read, stateful)
        hint = "LATENCY" if streams == 1 else "THROUGHPUT"
        self.compiled = core.compile_model(read, "CPU", {"INFERENCE_PRECISION_HINT": precision, "PERFORMANCE_HINT": hint,
                                                         "NUM_STREAMS": str(streams), "INFERENCE_NUM_THREADS": str(threads)})

    def session(self):
        return Session(self.compiled)

    def decoder(self, caches):
        return StatefulDecoder(self.compiled) if self.stateful else Decoder(self.compiled, caches)
