"""Cases of the linear models and support vector machines of ai.onnx.ml."""

import itertools

import numpy as np

from case_writer import generator
from cases_matmul import normal
from ml_formulas import DOMAIN, TRANSFORMS, both, classifier_types, labels, top_labels, transformed

FEATURES = 4
KERNELS = {"LINEAR": None, "POLY": [0.3, 0.5, 3.0], "RBF": [0.2, 0.0, 0.0], "SIGMOID": [0.1, 0.25, 0.0]}


def numbers(rng, *shape, scale=1.0):
    return (normal(rng, *shape) * np.float32(scale)).reshape(-1).tolist()


def names(count, strings=False):
    return labels(count, strings, "classlabels_ints")


def answer(writer, op, x, attributes):
    """Gives what ONNX Runtime makes of it: labels and scores."""
    return writer.run(op, [x], attributes, 2, DOMAIN, 1, (), classifier_types("classlabels_strings" in attributes))


def classifier(writer, op, name, x, attributes, expected=None):
    types = classifier_types("classlabels_strings" in attributes)
    writer.case(name, op, [x], attributes, 2, DOMAIN, expected, 1, types=types)


def linear_model(rng, rows, transform="NONE"):
    # Scores that are probabilities, where PROBIT wants them.
    scale, intercept = (0.03, 0.3) if transform == "PROBIT" else (1, -0.5)
    return dict(coefficients=numbers(rng, rows, FEATURES, scale=scale), intercepts=[intercept] * rows)


def regressor(writer, op, name, x, attributes, expected=None):
    writer.case(name, op, [x], attributes, 1, DOMAIN, expected, 1)


def linear_regressors(writer):
    op = "LinearRegressor"
    for targets, transform in itertools.product((1, 3), TRANSFORMS):
        name = f"linear_regressor_{targets}_{transform.lower()}"
        rng = generator(name)
        attributes, x = linear_model(rng, targets, transform) | dict(targets=targets), normal(rng, 6, FEATURES)
        # ONNX Runtime transforms a single target with PROBIT alone.
        expected = [transformed(transform, writer.run(op, [x], attributes, 1, DOMAIN, 1)[0])] if targets == 1 else None
        attributes["post_transform"] = transform
        regressor(writer, op, name, x, attributes, expected)
        if targets == 1 and transform == "LOGISTIC":
            regressor(writer, op, f"{name}_as_onnxruntime", x, attributes)
    rng = generator("linear_regressor_no_intercepts")
    attributes = dict(coefficients=numbers(rng, 2, FEATURES), targets=2)
    regressor(writer, op, "linear_regressor_no_intercepts", normal(rng, 6, FEATURES), attributes)


def linear_classifiers(writer):
    op = "LinearClassifier"
    for (rows, count), transform in itertools.product(((3, 3), (2, 2), (1, 2)), TRANSFORMS):
        name = f"linear_classifier_{rows}_rows_{count}_labels_{transform.lower()}"
        rng = generator(name)
        attributes = linear_model(rng, rows, transform) | dict(multi_class=rows % 2) | names(count, transform in ("SOFTMAX", "NONE"))
        x, expected = normal(rng, 9, FEATURES), None
        if rows < count and transform != "NONE":  # ONNX Runtime leaves out most transforms
            named, scores = answer(writer, op, x, attributes)
            expected = [named, transformed(transform, both(scores[:, 1], transform == "PROBIT"))]
        attributes["post_transform"] = transform
        classifier(writer, op, name, x, attributes, expected)
        if rows < count and transform == "SOFTMAX":
            classifier(writer, op, f"{name}_as_onnxruntime", x, attributes)
    rng = generator("linear_classifier_no_intercepts")
    x, attributes = normal(rng, 9, FEATURES), dict(coefficients=numbers(rng, 3, FEATURES)) | names(3)
    # ONNX Runtime counts the classes by their intercepts.
    classifier(writer, op, "linear_classifier_no_intercepts", x, attributes, answer(writer, op, x, attributes | dict(intercepts=[0.0] * 3)))
    for kind, dtype in (("double", np.float64), ("int32", np.int32)):
        name = f"linear_classifier_{kind}"
        rng = generator(name)
        classifier(writer, op, name, rng.integers(-4, 5, (9, FEATURES)).astype(dtype), linear_model(rng, 3) | names(3, True))


def machine(rng, kernel, vectors_per_class):
    """The lists of SVMClassifier."""
    count, vectors = len(vectors_per_class), sum(vectors_per_class)
    attributes = dict(kernel_type=kernel, vectors_per_class=vectors_per_class, support_vectors=numbers(rng, vectors, FEATURES),
                      coefficients=numbers(rng, count - 1, vectors), rho=numbers(rng, count * (count - 1) // 2, scale=0.3))
    attributes["kernel_params"] = KERNELS[kernel] or [0.0, 0.0, 0.0]
    return attributes


def probabilities(rng, pairs):
    return dict(prob_a=(-1 - rng.random(pairs)).tolist(), prob_b=(rng.random(pairs) - 0.5).tolist())


def svm_classifiers(writer):
    op = "SVMClassifier"
    for kernel, vectors, probable in itertools.product(KERNELS, ([2, 3], [2, 1, 3], [1, 2, 3, 2]), (False, True)):
        count = len(vectors)
        name = f"svm_classifier_{kernel.lower()}_{count}{'_probabilities' if probable else ''}"
        rng = generator(name)
        attributes = machine(rng, kernel, vectors) | names(count, probable)
        if probable:
            attributes |= probabilities(rng, count * (count - 1) // 2)
        classifier(writer, op, name, normal(rng, 9, FEATURES), attributes)
    for transform, count, probable in itertools.product(TRANSFORMS[1:], (2, 3), (False, True)):
        if not probable and transform == "PROBIT":
            continue  # no probability
        name = f"svm_classifier_{transform.lower()}_{count}{'_probabilities' if probable else ''}"
        rng = generator(name)
        attributes, x, expected = machine(rng, "RBF", [2] * count) | names(count), normal(rng, 9, FEATURES), None
        if probable:
            attributes |= probabilities(rng, count * (count - 1) // 2)
        elif count == 2:  # ONNX Runtime leaves out most transforms
            named, scores = answer(writer, op, x, attributes)
            expected = [named, transformed(transform, scores)]
        attributes["post_transform"] = transform
        classifier(writer, op, name, x, attributes, expected)
        if expected and transform == "SOFTMAX":
            classifier(writer, op, f"{name}_as_onnxruntime", x, attributes)


def svm_special_classifiers(writer):
    op = "SVMClassifier"
    for count in (2, 4):
        name = f"svm_classifier_without_vectors_{count}"
        rng = generator(name)
        attributes = dict(coefficients=numbers(rng, count, FEATURES), rho=[0.25], kernel_params=[0.0, 0.0, 0.0]) | names(count)
        x = normal(rng, 9, FEATURES)
        scores = answer(writer, op, x, attributes)[1]
        classifier(writer, op, name, x, attributes, [top_labels(scores, attributes), scores])
        if count == 2:  # ONNX Runtime names the second class as soon as any score is positive
            classifier(writer, op, f"{name}_as_onnxruntime", x, attributes)
    for kind, dtype in (("double", np.float64), ("int32", np.int32), ("int64", np.int64)):
        name = f"svm_classifier_{kind}"
        rng = generator(name)
        attributes = machine(rng, "POLY", [2, 2, 2]) | names(3, True) | probabilities(rng, 3)
        classifier(writer, op, name, rng.integers(-2, 3, (9, FEATURES)).astype(dtype), attributes)
    # The machines prefer each class once: the first of equals wins.
    attributes = dict(kernel_type="LINEAR", kernel_params=[0.0, 0.0, 0.0], vectors_per_class=[1, 1, 1], support_vectors=[0.0] * 3 * FEATURES,
                      coefficients=[0.0] * 6, rho=[1.0, -1.0, 1.0]) | names(3)
    classifier(writer, op, "svm_classifier_tie", np.zeros((2, FEATURES), np.float32), attributes)


def svm_regressors(writer):
    for kernel, one_class in itertools.product(KERNELS, (0, 1)):
        name = f"svm_regressor_{kernel.lower()}{'_one_class' if one_class else ''}"
        rng = generator(name)
        attributes = dict(kernel_type=kernel, kernel_params=KERNELS[kernel] or [0.0, 0.0, 0.0], n_supports=5, one_class=one_class,
                          support_vectors=numbers(rng, 5, FEATURES), coefficients=numbers(rng, 5), rho=[0.125])
        regressor(writer, "SVMRegressor", name, normal(rng, 9, FEATURES), attributes)
    rng = generator("svm_regressor_without_vectors")
    attributes = dict(coefficients=numbers(rng, FEATURES), rho=[0.5], kernel_params=[0.0, 0.0, 0.0])
    regressor(writer, "SVMRegressor", "svm_regressor_without_vectors", normal(rng, 9, FEATURES), attributes)


def write(writer):
    for family in (linear_regressors, linear_classifiers, svm_classifiers, svm_special_classifiers, svm_regressors):
        family(writer)
