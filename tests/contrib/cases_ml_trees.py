"""Cases of the tree ensembles of ai.onnx.ml."""

import itertools

import numpy as np
from onnx import numpy_helper

from case_writer import generator
from ml_formulas import DOMAIN, TRANSFORMS, both, classifier_types, labels, top_labels, transformed

FEATURES = 4
MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")
# Labels, the ids that leaves vote for, and the range of the weights.
ENSEMBLES = {
    "one_id_positive": (2, [0], (0, 0.3)),
    "one_id_mixed": (2, [0], (-0.5, 0.5)),
    "second_id_positive": (2, [1], (0, 0.3)),
    "second_id_mixed": (2, [1], (-0.5, 0.5)),
    "both_ids": (2, [0, 1], (0.01, 0.15)),
    "both_ids_mixed": (2, [0, 1], (-0.5, 0.5)),
    "single_label": (1, [0], (0, 0.3)),
    "three": (3, [0, 1, 2], (0.01, 0.15)),
    "three_mixed": (3, [0, 1, 2], (-0.5, 0.5)),
    "three_one_absent": (3, [0, 2], (-0.5, 0.5)),
}


def full_trees(rng, votes, ids, low_high, trees=3, depth=3, modes=("BRANCH_LEQ",)):
    """Full binary trees in the lists of TreeEnsembleClassifier and TreeEnsembleRegressor; a leaf votes for each of `ids`."""
    inner, count = 2**depth - 1, 2 ** (depth + 1) - 1
    nodes = {name: [] for name in ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids")}
    leaves = {name: [] for name in ("treeids", "nodeids", "ids", "weights")}
    for tree, node in itertools.product(range(trees), range(count)):
        leaf = node >= inner
        row = dict(treeids=tree, nodeids=node, featureids=0 if leaf else int(rng.integers(FEATURES)),
                   values=0.0 if leaf else float(rng.integers(-2, 3)), modes="LEAF" if leaf else str(rng.choice(modes)),
                   truenodeids=0 if leaf else 2 * node + 1, falsenodeids=0 if leaf else 2 * node + 2)
        for name, value in row.items():
            nodes[name].append(value)
        for target in ids if leaf else ():
            for name, value in dict(treeids=tree, nodeids=node, ids=target, weights=float(np.float32(rng.uniform(*low_high)))).items():
                leaves[name].append(value)
    return {f"nodes_{name}": values for name, values in nodes.items()} | {f"{votes}_{name}": values for name, values in leaves.items()}


def samples(rng, rows=9, dtype=np.float32):
    """Small integers, which often equal a threshold."""
    return rng.integers(-3, 4, (rows, FEATURES)).astype(dtype)


def tree_classifier(kind, strings=False):
    """The generator and the attributes of a kind of ENSEMBLES."""
    count, ids, weights = ENSEMBLES[kind]
    rng = generator(f"tree_classifier_{kind}")
    # The single label is what ONNX Runtime answers, whatever it is.
    named = labels(count, strings, "classlabels_int64s") if count > 1 else dict(classlabels_int64s=[1])
    return rng, full_trees(rng, "class", ids, weights) | named


def answer(writer, x, attributes):
    """Gives what ONNX Runtime makes of it: labels and scores."""
    types = classifier_types("classlabels_strings" in attributes)
    return writer.run("TreeEnsembleClassifier", [x], attributes, 2, DOMAIN, 3, (), types)


def classifier(writer, name, x, attributes, version=3, expected=None):
    # ONNX Runtime refuses version 5, which deprecates the operator and changes nothing.
    expected = expected or answer(writer, x, attributes)
    writer.case(f"tree_classifier_{name}", "TreeEnsembleClassifier", [x], attributes, 2, DOMAIN, expected, version,
                types=classifier_types("classlabels_strings" in attributes))


def classifiers(writer):
    for i, (kind, transform) in enumerate(itertools.product(ENSEMBLES, TRANSFORMS)):
        count, ids, weights = ENSEMBLES[kind]
        if transform == "PROBIT" and weights[0] < 0:
            continue  # no probability
        rng, attributes = tree_classifier(kind, count > 1 and i % 2 == 1)
        x = samples(rng)
        names, scores = answer(writer, x, attributes)
        attributes["post_transform"] = transform
        expected = None
        if count == 1 or (ids == [0] and transform != "NONE"):  # ONNX Runtime transforms few scores that stand alone
            if ids == [0] and count == 2:
                scores = both(scores[:, 1], transform == "PROBIT")
                names = top_labels(scores, attributes)
            expected = [names, transformed(transform, scores)]
        elif count == 2 and ids != [0]:  # and does not name the top class
            expected = [top_labels(scores, attributes), answer(writer, x, attributes)[1]]
        classifier(writer, f"{kind}_{transform.lower()}", x, attributes, (1, 3, 5)[i % 3], expected)


def classifier_base_values(writer):
    for kind in ("one_id_positive", "one_id_mixed", "both_ids_mixed", "second_id_mixed", "single_label", "three_one_absent"):
        rng, attributes = tree_classifier(kind)
        x, count = samples(rng), ENSEMBLES[kind][0]
        base = np.array([0.125, -0.25, 0.5][:count], np.float32)
        if count != 2:
            classifier(writer, f"{kind}_base_{count}", x, attributes | dict(base_values=base.tolist()))
            continue
        scores = answer(writer, x, attributes)[1]
        if kind.startswith("one_id"):
            classifier(writer, f"{kind}_base_1", x, attributes | dict(base_values=base[:1].tolist()))
        else:  # ONNX Runtime loses votes
            classifier(writer, f"{kind}_base_2", x, attributes | dict(base_values=base.tolist()),
                       expected=[top_labels(scores + base, attributes), scores + base])
        if kind == "both_ids_mixed":
            base[1] = 0  # a single one is that of the first class
            classifier(writer, f"{kind}_base_1", x, attributes | dict(base_values=base[:1].tolist()),
                       expected=[top_labels(scores + base, attributes), scores + base])


def classifier_disagreements(writer):
    """ONNX Runtime's own answers where they are not ONNX's, listed in expected_failures.tsv."""
    changes = {
        "one_id_mixed": dict(post_transform="SOFTMAX"),
        "one_id_positive": dict(base_values=[0.125, -0.25]),
        "second_id_positive": {},
        "second_id_mixed": dict(base_values=[0.125, -0.25]),
        "both_ids": {},
        "both_ids_mixed": dict(base_values=[0.125, -0.25]),
        "single_label": dict(classlabels_int64s=[5]),
    }
    for kind, change in changes.items():
        rng, attributes = tree_classifier(kind)
        classifier(writer, f"{kind}_as_onnxruntime", samples(rng), attributes | change)


def classifier_inputs(writer):
    for kind, dtype in (("double", np.float64), ("int32", np.int32), ("int64", np.int64)):
        rng, attributes = tree_classifier("three_mixed", True)
        classifier(writer, kind, samples(rng, dtype=dtype), attributes)
    rng, attributes = tree_classifier("three_mixed")
    classifier(writer, "one_row", samples(rng, 1), attributes)
    for name in ("nodes_values", "class_weights"):
        attributes[f"{name}_as_tensor"] = numpy_helper.from_array(np.array(attributes.pop(name), np.float64))
    classifier(writer, "tensors", samples(rng, dtype=np.float64), attributes)


def missing_values(writer):
    """NaN features, with and without nodes_missing_value_tracks_true."""
    for tracked in (False, True):
        rng, attributes = tree_classifier("three_mixed")
        if tracked:
            attributes["nodes_missing_value_tracks_true"] = rng.integers(0, 2, len(attributes["nodes_modes"])).tolist()
        x = samples(rng, 20)
        x[rng.random(x.shape) < 0.4] = np.nan
        classifier(writer, f"missing_{'tracked' if tracked else 'false'}", x, attributes)


def regressor(writer, name, x, attributes, version=3, expected=None):
    expected = expected or writer.run("TreeEnsembleRegressor", [x], attributes, 1, DOMAIN, 3, (), [1])
    writer.case(f"tree_regressor_{name}", "TreeEnsembleRegressor", [x], attributes, 1, DOMAIN, expected, version, types=[1])


def regressors(writer):
    for i, (aggregate, targets) in enumerate(itertools.product(("SUM", "AVERAGE", "MIN", "MAX"), (1, 3))):
        rng = generator(f"tree_regressor_{aggregate}_{targets}")
        attributes = full_trees(rng, "target", range(targets), (-1, 1), modes=MODES) | dict(n_targets=targets, aggregate_function=aggregate)
        regressor(writer, f"{aggregate.lower()}_{targets}", samples(rng), attributes, (1, 3, 5)[i % 3])
        attributes["base_values"] = [0.5, -1.5, 2.5][:targets]
        regressor(writer, f"{aggregate.lower()}_{targets}_base", samples(rng), attributes)
    for targets, transform in itertools.product((1, 3), TRANSFORMS[1:]):
        rng = generator(f"tree_regressor_{transform}_{targets}")
        attributes = full_trees(rng, "target", range(targets), (0.2, 0.3)) | dict(n_targets=targets)
        x = samples(rng)
        y = writer.run("TreeEnsembleRegressor", [x], attributes, 1, DOMAIN, 3, (), [1])[0]
        attributes["post_transform"] = transform
        # ONNX Runtime transforms a single target with PROBIT alone.
        regressor(writer, f"{transform.lower()}_{targets}", x, attributes, expected=[transformed(transform, y)] if targets == 1 else None)
    regressor(writer, "logistic_as_onnxruntime", x, attributes | dict(n_targets=1, target_ids=[0] * len(attributes["target_ids"]),
                                                                     post_transform="LOGISTIC"))


def small_tree(dtype, mode):
    """TreeEnsemble's own lists: a root, an inner node, three leaves; two targets."""
    tensor = lambda values, kind=dtype: numpy_helper.from_array(np.array(values, kind))
    attributes = dict(n_targets=2, tree_roots=[0], nodes_featureids=[0, 2], nodes_modes=tensor([mode, 1], np.uint8), nodes_splits=tensor([1, -1]),
                      nodes_truenodeids=[1, 0], nodes_trueleafs=[0, 1], nodes_falsenodeids=[2, 1], nodes_falseleafs=[1, 1],
                      leaf_targetids=[0, 1, 0], leaf_weights=tensor([0.25, 0.375, 0.75]))
    return attributes | (dict(membership_values=tensor([-1, 2, 3, np.nan])) if mode == 6 else {})


def ensembles(writer):
    for kind, dtype in (("float", np.float32), ("double", np.float64)):
        for mode in range(7):
            name = f"tree_ensemble_{kind}_mode_{mode}"
            writer.case(name, "TreeEnsemble", [samples(generator(name), dtype=dtype)], small_tree(dtype, mode), 1, DOMAIN, version=5)
    for number, transform in enumerate(TRANSFORMS[:4]):
        name = f"tree_ensemble_{transform.lower()}"
        x, attributes = samples(generator(name)), small_tree(np.float32, 0)
        # ONNX Runtime numbers SOFTMAX and LOGISTIC the other way round.
        expected = [transformed(transform, writer.run("TreeEnsemble", [x], attributes, 1, DOMAIN, 5)[0])]
        attributes["post_transform"] = number
        writer.case(name, "TreeEnsemble", [x], attributes, 1, DOMAIN, expected, 5)
        if transform == "SOFTMAX":
            writer.case(f"{name}_as_onnxruntime", "TreeEnsemble", [x], attributes, 1, DOMAIN, version=5)


def write(writer):
    for family in (classifiers, classifier_base_values, classifier_disagreements, classifier_inputs, missing_values, regressors, ensembles):
        family(writer)
