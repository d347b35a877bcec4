"""Computes what ai.onnx.ml says of labels and transforms, for cases in which ONNX Runtime does otherwise."""

import statistics

import numpy as np
from onnx import TensorProto

DOMAIN = "ai.onnx.ml"
TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")  # in the order of TreeEnsemble's numbers
NUMBERS = (5, -7, 11, 0)


def labels(count, strings, numbers):
    """The labels of `count` classes; `numbers` is the attribute of those that are integers."""
    return dict(classlabels_strings=[f"class {i}" for i in range(count)]) if strings else {numbers: NUMBERS[:count]}


def classifier_types(strings):
    return [TensorProto.STRING if strings else TensorProto.INT64, TensorProto.FLOAT]


def softmax(scores, zero=0.0):
    """Scores up to `zero` stay what they are, but for the common factor."""
    top = scores.max(axis=1, keepdims=True)
    powers = np.where(np.abs(scores) > zero, np.exp(scores - top), scores * np.exp(-top))
    return powers / powers.sum(axis=1, keepdims=True)


def transformed(transform, scores):
    """`scores` [N, E] after the post_transform."""
    scores = scores.astype(np.float64)
    return {
        "NONE": lambda: scores,
        "SOFTMAX": lambda: softmax(scores, -1.0),
        "LOGISTIC": lambda: 1 / (1 + np.exp(-scores)),
        "SOFTMAX_ZERO": lambda: softmax(scores, 1e-7),
        "PROBIT": lambda: np.vectorize(statistics.NormalDist().inv_cdf)(scores),
    }[transform]().astype(np.float32)


def both(second, probability=False):
    """The scores of two classes of which the second's is known."""
    return np.stack([1 - second if probability else -second, second], axis=1)


def top_labels(scores, attributes):
    """The labels of the largest scores, the first of equals."""
    named = attributes.get("classlabels_strings")
    numbers = attributes.get("classlabels_int64s") or attributes.get("classlabels_ints")
    return (np.array(named, object) if named else np.array(numbers))[scores.argmax(axis=1)]
