"""Writes model.onnx, the head of a tracker: the features of a frame that was learnt from and of the one at hand go
through a layer of attention, a query makes a filter of them, and the filter looks for the target; and data.npz.
"""
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).absolute().parents[1]))

from building import Builder  # noqa: E402

CHANNELS, SIDE, HEADS = 64, 9, 4
PLACES, SIZE = SIDE * SIDE, CHANNELS // HEADS

net = Builder(seed=7)
flat = net.weight("flat", [1, CHANNELS, PLACES])
for frame in ("train", "test"):
    net.op("Reshape", f"{frame}_features", flat, makes=f"{frame}_places")
    net.op("Transpose", f"{frame}_places", makes=f"{frame}_tokens", perm=[0, 2, 1])
net.op("Concat", "train_tokens", "test_tokens", makes="tokens", axis=1)
net.op("Add", "tokens", net.normal("positions", (1, 2 * PLACES, CHANNELS), 0.5), makes="placed")
by_head = net.weight("by_head", [1, 2 * PLACES, HEADS, SIZE])
for name in ("q", "k", "v"):
    net.op("MatMul", "placed", net.normal(f"w_{name}", (CHANNELS, CHANNELS), CHANNELS**-0.5), makes=f"{name}_flat")
    net.op("Reshape", f"{name}_flat", by_head, makes=f"{name}_by_head")
    net.op("Transpose", f"{name}_by_head", makes=name, perm=[0, 2, 3, 1] if name == "k" else [0, 2, 1, 3])
net.op("Mul", "q", net.weight("scale", np.float32(SIZE**-0.5)), makes="q_scaled")
net.op("MatMul", "q_scaled", "k", makes="logits")
net.op("Softmax", "logits", makes="probabilities", axis=-1)
net.op("MatMul", "probabilities", "v", makes="attended")
net.op("Transpose", "attended", makes="by_token", perm=[0, 2, 1, 3])
net.op("Reshape", "by_token", net.weight("joined", [1, 2 * PLACES, CHANNELS]), makes="update")
net.op("Add", "placed", "update", makes="residual")
ones, zeros = (net.weight(name, np.full(CHANNELS, value, np.float32)) for name, value in (("ones", 1), ("zeros", 0)))
net.op("LayerNormalization", "residual", ones, zeros, makes="encoded", axis=-1)
net.op("Transpose", "encoded", makes="keys", perm=[0, 2, 1])
net.op("MatMul", net.normal("query", (1, 1, CHANNELS), CHANNELS**-0.5), "keys", makes="query_logits")
net.op("Softmax", "query_logits", makes="query_probabilities", axis=-1)
net.op("MatMul", "query_probabilities", "encoded", makes="found")
net.op("Reshape", "found", net.weight("as_filter", [1, CHANNELS, 1, 1]), makes="bbreg_weights")
net.op("Mul", "test_features", "bbreg_weights", makes="products")
net.op("ReduceSum", "products", net.weight("over_channels", [1]), makes="target_scores", keepdims=1)

features = [1, CHANNELS, SIDE, SIDE]
net.save("model.onnx", {"train_features": features, "test_features": features},
         {"bbreg_weights": [1, CHANNELS, 1, 1], "target_scores": [1, 1, SIDE, SIDE]})  # fmt: skip
random = np.random.default_rng(8)
train, test = random.standard_normal((2, *features), np.float32)
np.savez("data.npz", train_features=train, test_features=test)
