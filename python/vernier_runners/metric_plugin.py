"""Runs the metric of a user: metric_plugin.py PLUGIN LABELS

PLUGIN is a file with `def metric(outputs, labels) -> float`; LABELS is a .npy file, or "". Requests and answers are lines of
JSON: {"outputs": [files], "labels": [[first, last], …]} is answered with {"value": …} or {"error": …}. Outputs of several
samples are put behind one another along the first dimension. Needs numpy.
"""

import importlib.util
import json
import math
import os
import sys
import traceback

import numpy as np
from protocol import read_values


def load(path):
    spec = importlib.util.spec_from_file_location("metric_plugin_of_user", path)
    if spec is None or not os.path.exists(path):
        raise ValueError("this is no file of Python")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if not callable(getattr(module, "metric", None)):
        raise ValueError("there is no function metric(outputs, labels) in it")
    return module.metric


def joined(samples):
    return {name: np.concatenate([np.atleast_1d(sample[name]) for sample in samples]) for name in samples[0]}


def measure(metric, labels, request):
    outputs = joined([read_values(file) for file in request["outputs"]])
    rows = [row for first, last in request["labels"] for row in range(first, last)]
    value = float(metric(outputs, None if labels is None else labels[rows]))
    if not math.isfinite(value):
        raise ValueError(f"metric gives {value}, which is no finite number")
    return {"value": value}


def where(error):
    """The line of the user's file, if the error comes from there."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == sys.argv[1]]
    return f" (line {frames[-1].lineno})" if frames else ""


def main():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the plug-in prints is no answer
    metric = labels = None
    for line in sys.stdin:
        try:
            request = json.loads(line)
            if metric is None:
                metric = load(sys.argv[1])
                labels = np.load(sys.argv[2], mmap_mode="r") if sys.argv[2] else None
            answer = {"value": 0} if "hello" in request else measure(metric, labels, request)
        except Exception as error:  # whatever a plug-in throws is for its author
            answer = {"error": f"{type(error).__name__}: {error}{where(error)}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
