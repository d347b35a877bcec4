"""Changes of a network as changes of its ONNX model, for which the package onnx is needed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..errors import Unsupported

Output = tuple[str, int, list[str]]  # name, TensorProto.DataType, sizes as Vernier prints them
_INLINE_BYTES = 1 << 30  # beyond, weights go to a file of their own, because protobuf ends at twice that


class GraphEdits:
    """What a script has changed."""

    def __init__(self) -> None:
        self.outputs_changed = False
        self.sizes: dict[str, dict[str, int]] = {}  # by input: which symbols have become numbers

    def applied(self, model: Path, outputs: list[Output], folder: str) -> Path:
        """The model itself where nothing changed, or a new file in `folder`."""
        if not self.outputs_changed and not self.sizes:
            return model
        try:
            import onnx
        except ImportError:
            raise Unsupported("marking outputs and fixing sizes rewrite the model, for which the package onnx is needed", advice="pip install onnx") from None
        proto = onnx.load(str(model))
        known = {symbol: size for sizes in self.sizes.values() for symbol, size in sizes.items()}
        for each in [*proto.graph.input, *proto.graph.output, *proto.graph.value_info]:
            for dim in each.type.tensor_type.shape.dim:
                if dim.dim_param in known:
                    dim.dim_value = known[dim.dim_param]
        for each in proto.graph.input:
            for dim, size in zip(each.type.tensor_type.shape.dim, self.sizes.get(each.name, {}).values()):
                dim.dim_value = size
        if self.outputs_changed:
            _set_outputs(onnx, proto.graph, outputs)
        path = Path(folder) / model.name
        large = sum(each.ByteSize() for each in proto.graph.initializer) > _INLINE_BYTES
        onnx.save(proto, str(path), save_as_external_data=large, location=f"{model.name}.weights" if large else None)
        return path


def _set_outputs(onnx: Any, graph: Any, outputs: list[Output]) -> None:
    known = {each.name: each for each in graph.output}
    made = [known.get(name) or onnx.helper.make_tensor_value_info(name, kind, [_size(each) for each in sizes]) for name, kind, sizes in outputs]
    del graph.output[:]
    graph.output.extend(made)


def _size(text: str) -> int | str | None:
    """A number, a symbol, or nothing for an expression, which the importer finds itself."""
    return int(text) if text.isdigit() else text if text.isidentifier() else None
