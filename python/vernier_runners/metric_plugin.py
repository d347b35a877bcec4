"""Measures a task in Python, sample by sample: metric_plugin.py METRIC

METRIC is the file of a user, or coco-map, wer or cer. The file has one of

    def metric(outputs, labels): ...    a number that is a mean over rows
    def score(outputs, label): ...      a number for a sample, or a list of numbers that value() reads
    def value(scores): ...              with score(): the figure over samples, where it is no mean
    def over(scores): ...               instead of being asked again and again: value as a function of how often each sample counts

and may say `higher_is_better = False` and `unit = "…"`. Outputs are arrays by name; labels are an array, or what JSON holds.

Requests and answers are lines of JSON:

    {"hello": {"output": NAME, "threshold": T}}      {"pooled": …, "higher_is_better": …, "unit": …, "description": …}
    {"score": {"outputs": FILE, "rows": N, "labels": FILE, "json": TEXT}}
                                                     {"rows": [{"value": …, "weight": …, "numbers": […]}]}
    {"keep": [[numbers of a row], …]}                {"set": K}
    {"set": K, "counts": [how often each row]}       {"value": …}

or {"error": TEXT}, or {"missing": PACKAGE}. Needs numpy.
"""

import importlib
import importlib.util
import json
import math
import os
import sys
import traceback

import numpy as np
from protocol import read_values

OWN = {"coco-map": "metric_coco", "coco-map:pycocotools": "metric_coco", "wer": "metric_text", "cer": "metric_text"}
CHECKED = 4  # samples, of which metric() must give the mean where it gets them together


def load(name):
    if name in OWN:
        module = importlib.import_module(OWN[name])
        module.start(name)
        return module
    spec = importlib.util.spec_from_file_location("metric_plugin_of_user", name)
    if spec is None or not os.path.exists(name):
        raise ValueError("this is no file of Python")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if not callable(getattr(module, "metric", None)) and not callable(getattr(module, "score", None)):
        raise ValueError("there is no function metric(outputs, labels), nor score(outputs, label), in it")
    return module


def finite(value, name):
    value = float(value)
    if not math.isfinite(value):
        raise ValueError(f"{name} gives {value}, which is no finite number")
    return value


def joined(samples):
    return {name: np.concatenate([np.atleast_1d(sample[name]) for sample in samples]) for name in samples[0]}


class Measure:
    """The functions of a module, asked about one sample after the other."""

    def __init__(self, module, options):
        self.module, self.options = module, options
        self.pooled = callable(getattr(module, "score", None)) and callable(getattr(module, "value", None))
        self.first, self.sets = [], []

    def hello(self):
        return {"pooled": self.pooled, "higher_is_better": bool(getattr(self.module, "higher_is_better", True)),
                "unit": str(getattr(self.module, "unit", "")), "description": str(getattr(self.module, "description", ""))}  # fmt: skip

    def score(self, request):
        outputs = read_values(request["outputs"])
        labels = read_values(request["labels"])["labels"] if "labels" in request else None
        if "json" in request:
            labels = json.loads(request["json"])
        if callable(getattr(self.module, "score", None)):
            numbers = np.atleast_1d(np.asarray(self.module.score(outputs, labels), np.float64)).ravel()
            value = self.module.value([numbers.tolist()]) if self.pooled else numbers[0]
            # One sample alone may have no figure, as an image without objects has none.
            value = float(value) if self.pooled and math.isnan(value) else finite(value, "score")
            return [{"value": 0 if math.isnan(value) else value, "weight": 1, "numbers": numbers.tolist() if self.pooled else []}]
        value, rows = finite(self.module.metric(outputs, labels), "metric"), max(1, request["rows"])
        self.check(outputs, labels, value, rows)
        return [{"value": value, "weight": rows, "numbers": []}]

    def check(self, outputs, labels, value, rows):
        """A metric that is no mean over rows would be another one when it is asked sample by sample."""
        if len(self.first) >= CHECKED or isinstance(labels, (dict, list, str)):
            return
        self.first.append((outputs, labels, value, rows))
        if len(self.first) < CHECKED:
            return
        together = self.module.metric(joined([each[0] for each in self.first]),
                                      None if labels is None else np.concatenate([each[1] for each in self.first]))  # fmt: skip
        mean = sum(each[2] * each[3] for each in self.first) / sum(each[3] for each in self.first)
        self.first = [None] * CHECKED
        if not math.isclose(float(together), mean, rel_tol=1e-5, abs_tol=1e-8):
            raise ValueError(f"metric gives {float(together):.6g} for {CHECKED} samples together and {mean:.6g} on average: "
                             "it is no mean over rows; write score(outputs, label) and value(scores)")  # fmt: skip

    def over(self, rows):
        """The figure of rows, as a function of how often each counts."""
        if callable(getattr(self.module, "over", None)):
            return self.module.over(rows)
        return lambda counts: self.module.value([row for row, count in zip(rows, counts) for _ in range(int(count))])

    def answer(self, request):
        if "score" in request:
            return {"rows": self.score(request["score"])}
        if "keep" in request:
            self.sets.append(self.over(request["keep"]))
            return {"set": len(self.sets) - 1}
        value = float(self.sets[request["set"]](np.array(request["counts"], float)))
        return {"value": value if math.isfinite(value) else 0}


def where(error):
    """The line of the user's file, if the error comes from there."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == sys.argv[1]]
    return f" (line {frames[-1].lineno})" if frames else ""


def main():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the plug-in prints is no answer
    measure = None
    for line in sys.stdin:
        try:
            request = json.loads(line)
            if "hello" in request:
                measure = Measure(load(sys.argv[1]), request["hello"])
                answer = measure.hello()
            else:
                answer = measure.answer(request)
        except ModuleNotFoundError as error:
            own = sys.argv[1] in OWN
            answer = {"missing": error.name} if own else {"error": f"{type(error).__name__}: {error}{where(error)}"}
        except Exception as error:  # whatever a plug-in throws is for its author
            answer = {"error": f"{type(error).__name__}: {error}{where(error)}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
