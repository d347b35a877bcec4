"""Networks that scikit-learn trains in seconds on the data that come with it, by a fixed seed, as ONNX."""
import pathlib
import warnings

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from sklearn import datasets
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

from .tested_model import TestedModel

SETS = {"digits-mlp": datasets.load_digits, "cancer-mlp": datasets.load_breast_cancer, "wine-mlp": datasets.load_wine}
HIDDEN = (256, 256)
EPOCHS, SEED = 20, 1
LEAST_CALIBRATED = 64
LEAST_SPREAD = 0.05  # of a column that is brought to a spread of 1


def as_onnx(network: MLPClassifier, mean: np.ndarray, spread: np.ndarray) -> onnx.ModelProto:
    """(x - mean) / spread, then a Gemm for each layer, with Relu between them: scores before the softmax."""
    constants, nodes, value = {"mean": mean, "spread": spread}, [], "standard"
    nodes.append(helper.make_node("Sub", ["x", "mean"], ["centred"], "centre"))
    nodes.append(helper.make_node("Div", ["centred", "spread"], ["standard"], "scale"))
    last = len(network.coefs_) - 1
    for i, (weights, bias) in enumerate(zip(network.coefs_, network.intercepts_)):
        if weights.shape[1] == 1:  # of two classes scikit-learn keeps the second one's score alone
            weights, bias = np.hstack([-weights, weights]) / 2, np.hstack([-bias, bias]) / 2
        constants |= {f"weights{i}": weights, f"bias{i}": bias}
        result = "scores" if i == last else f"sums{i}"
        nodes.append(helper.make_node("Gemm", [value, f"weights{i}", f"bias{i}"], [result], f"layer{i}"))
        if i < last:
            value = f"relu{i}"
            nodes.append(helper.make_node("Relu", [result], [value], f"activation{i}"))
    classes = constants[f"bias{last}"].size
    graph = helper.make_graph(
        nodes,
        "mlp",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", mean.size])],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["N", classes])],
        [numpy_helper.from_array(content.astype(np.float32), name) for name, content in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    return model


def trained(name: str, folder: pathlib.Path) -> TestedModel:
    """Writes NAME.onnx into the folder. Half of the rows are held out; a quarter of the others serves to calibrate."""
    rows, labels = SETS[name](return_X_y=True)
    rows = rows.astype(np.float32)
    learnt, held_out, learnt_labels, held_out_labels = train_test_split(rows, labels, test_size=0.5, random_state=SEED, stratify=labels)
    mean, spread = learnt.mean(0), learnt.std(0)
    spread[spread < LEAST_SPREAD] = 1  # constant here, and perhaps not in other rows
    network = MLPClassifier(HIDDEN, max_iter=EPOCHS, random_state=SEED)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        network.fit((learnt - mean) / spread, learnt_labels)
    path = folder / f"{name}.onnx"
    onnx.save(as_onnx(network, mean, spread), path)
    calibrated = max(len(learnt) // 4, LEAST_CALIBRATED)
    return TestedModel(name, path, "x", learnt[:calibrated], learnt_labels[:calibrated], held_out, held_out_labels)
