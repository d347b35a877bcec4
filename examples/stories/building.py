"""The stories need this to build small models: nodes one behind the other, weights, and samples in a file."""
import numpy as np
import onnx
from onnx import helper, numpy_helper


class Builder:
    def __init__(self, seed: int):
        self.random = np.random.default_rng(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []

    def op(self, kind: str, *inputs: str, makes: str, **attributes) -> str:
        """A node, which has the name of its first result; that. Names of several results are parted by blanks."""
        results = makes.split()
        self.nodes.append(helper.make_node(kind, list(inputs), results, name=results[0], **attributes))
        return results[0]

    def weight(self, name: str, values) -> str:
        self.weights.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def normal(self, name: str, shape: tuple, sigma: float) -> str:
        return self.weight(name, self.random.normal(0, sigma, shape).astype(np.float32))

    def save(self, path: str, inputs: dict, outputs: dict) -> None:
        """`inputs` and `outputs`: the sizes of floats by name."""
        values = [[helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, dims) for name, dims in named.items()]
                  for named in (inputs, outputs)]  # fmt: skip
        graph = helper.make_graph(self.nodes, "story", *values, self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.checker.check_model(model, full_check=True)
        onnx.save(model, path)
