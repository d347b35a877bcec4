"""ONNX Runtime, in this process, with its optimiser off: what is run is the model, not what an optimiser made of it."""

import onnxruntime as ort
from driver import packed, unpacked
from onnxruntime_runner import feed_of, value_of

ort.set_default_logger_severity(4)


def run_onnxruntime(case):
    """{"values": [{name: value}, …]} or {"error": {"message": …}}."""
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    try:
        session = ort.InferenceSession(case.model.SerializeToString(), options, ["CPUExecutionProvider"])
        return {"values": [run_sample(session, sample) for sample in case.samples]}
    except Exception as error:
        return {"error": {"message": str(error)}}


def run_sample(session, sample):
    kinds = {given.name: given.type for given in session.get_inputs()}
    names = [output.name for output in session.get_outputs()]
    kinds_of_outputs = [output.type for output in session.get_outputs()]
    feeds = {name: feed_of(packed(array), kinds[name]) for name, array in sample.items()}
    if all(kind.startswith("tensor") for kind in kinds_of_outputs):
        feeds = {name: feed if isinstance(feed, ort.OrtValue) else ort.OrtValue.ortvalue_from_numpy(feed) for name, feed in feeds.items()}
        results = session.run_with_ort_values(names, feeds)
    else:
        results = session.run(names, feeds)
    return {name: unpacked(value_of(result)) for name, result in zip(names, results)}
