"""Changes of a network as changes of its ONNX model, for which the package onnx is needed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..errors import Unsupported

Output = tuple[str, int, list[str]]  # name, TensorProto.DataType, sizes as Vernier prints them
_INLINE_BYTES = 1 << 30  # beyond, weights go to a file of their own, because protobuf ends at twice that


class GraphEdits:
    """Holds what a script has changed."""

    def __init__(self) -> None:
        self.outputs_changed = False
        self.sizes: dict[str, list[int]] = {}  # of inputs
        self.names: dict[str, str] = {}  # of inputs and outputs, by what the model calls them

    def applied(self, model: Path, outputs: list[Output], folder: str) -> Path:
        """The model itself where nothing changed, or a new file in `folder`."""
        if not (self.outputs_changed or self.sizes or self.names):
            return model
        try:
            import onnx
        except ImportError:
            why = "networks that a script changes are written anew, for which the package onnx is needed"
            raise Unsupported(why, advice="pip install onnx") from None
        proto = onnx.load(str(model))
        if self.sizes:
            _resize(proto.graph, self.sizes)
        if self.outputs_changed:
            _set_outputs(onnx, proto.graph, outputs)
        if self.names:
            _rename(proto.graph, self.names)
        path = Path(folder) / model.name
        large = sum(each.ByteSize() for each in proto.graph.initializer) > _INLINE_BYTES
        onnx.save(proto, str(path), save_as_external_data=large, location=f"{model.name}.weights" if large else None)
        return path


def _resize(graph: Any, sizes: dict[str, list[int]]) -> None:
    for each in graph.input:
        for dim, size in zip(each.type.tensor_type.shape.dim, sizes.get(each.name, ())):
            dim.dim_value = size
    # Other declarations may contradict them, so they are inferred.
    del graph.value_info[:]
    for each in graph.output:
        for dim in each.type.tensor_type.shape.dim:
            dim.Clear()


def _rename(graph: Any, names: dict[str, str]) -> None:
    """In branches and loops, too, which see the values around them."""
    for each in [*graph.input, *graph.output, *graph.value_info, *graph.initializer]:
        each.name = names.get(each.name, each.name)
    for node in graph.node:
        for side in (node.input, node.output):
            side[:] = [names.get(name, name) for name in side]
        for attribute in node.attribute:
            for inner in [attribute.g] if attribute.HasField("g") else attribute.graphs:
                _rename(inner, names)


def _set_outputs(onnx: Any, graph: Any, outputs: list[Output]) -> None:
    known = {each.name: each for each in graph.output}
    made = [known.get(name) or onnx.helper.make_tensor_value_info(name, kind, [_size(each) for each in sizes]) for name, kind, sizes in outputs]
    del graph.output[:]
    graph.output.extend(made)


def _size(text: str) -> int | str | None:
    """A number, a symbol, or nothing for an expression, which the importer finds itself."""
    return int(text) if text.isdigit() else text if text.isidentifier() else None
