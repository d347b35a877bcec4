"""Small float graphs with neutral names, from which the own graphs of the zoo are made."""

import numpy as np
import onnx
import onnx.shape_inference
from onnx import TensorProto, helper, numpy_helper

from planting import builder


class Net:
    """Nodes are called "conv_1", values "n1" and weights "w1", by the order in which they are made."""

    def __init__(self, seed: int, **inputs: tuple):
        self.draw = np.random.default_rng(seed)
        self.inputs, self.weights, self.nodes, self.channels = (
            inputs,
            {},
            [],
            {k: v[1] for k, v in inputs.items() if len(v) > 1},
        )

    def weight(self, array) -> str:
        name = f"w{len(self.weights) + 1}"
        self.weights[name] = np.asarray(array)
        return name

    def op(self, kind: str, *inputs: str, domain: str | None = None, **attributes) -> str:
        made = f"n{len(self.nodes) + 1}"
        name = f"{kind.lower()}_{len(self.nodes) + 1}"
        self.nodes.append(onnx.helper.make_node(kind, inputs, [made], name=name, domain=domain, **attributes))
        self.channels[made] = self.channels.get(inputs[0])
        return made

    @property
    def last(self) -> str:
        """The name of the node that was made last."""
        return self.nodes[-1].name

    def conv(self, x: str, out: int, kernel: int = 3, group: int = 1, weight=None, bias=None, **attributes) -> str:
        fan = self.channels[x] // group
        if weight is None:
            weight = self.draw.normal(0, np.sqrt(2 / (fan * kernel * kernel)), (out, fan, kernel, kernel))
        bias = self.draw.normal(0, 0.1, out) if bias is None else bias
        made = self.op(
            "Conv",
            x,
            self.weight(np.float32(weight)),
            self.weight(np.float32(bias)),
            pads=[kernel // 2] * 4,
            group=group,
            **attributes,
        )
        self.channels[made] = out
        return made

    def block(self, x: str, out: int, kernel: int = 3, activation: str = "Relu", **more) -> str:
        return self.op(activation, self.conv(x, out, kernel, **more))

    def matmul(self, x: str, out: int, size: int, scale: float = 1.0) -> str:
        weight = self.draw.normal(0, scale / np.sqrt(size), (size, out))
        return self.op("MatMul", x, self.weight(np.float32(weight)))

    def model(
        self, *outputs: str, opset: int = 17, kinds: dict | None = None, shapes: dict | None = None
    ) -> onnx.ModelProto:
        """A model with these outputs, whose types and sizes are inferred where `shapes` does not give sizes of
        floats."""
        inputs = {name: ((kinds or {}).get(name, TensorProto.FLOAT), shape) for name, shape in self.inputs.items()}
        given = dict(shapes or {})
        missing = [name for name in outputs if name not in given]
        results = {name: (TensorProto.FLOAT, given[name]) for name in outputs if name in given}
        return builder(self.nodes, inputs, results | self.inferred(inputs, missing, opset), self.weights, opset)

    def inferred(self, inputs: dict, names: list[str], opset: int) -> dict:
        if not names:
            return {}
        graph = helper.make_graph(
            self.nodes,
            "g",
            [helper.make_tensor_value_info(name, *kind) for name, kind in inputs.items()],
            [onnx.ValueInfoProto(name=name) for name in names],
            [numpy_helper.from_array(array, name) for name, array in self.weights.items()],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
        types = {value.name: value.type.tensor_type for value in onnx.shape_inference.infer_shapes(model).graph.output}
        return {
            name: (types[name].elem_type, [size.dim_param or size.dim_value for size in types[name].shape.dim])
            for name in names
        }
