"""The network that a parser read: layers are the nodes of the ONNX graph, by the names that Vernier gives them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from .. import verbs
from ..errors import Usage
from ._strict import Ignored, Reporting
from .edit import GraphEdits
from .enums import NetworkDefinitionCreationFlag
from .layers import ILayer, ITensor
from .logger import ILogger
from .types import onnx_number

class INetworkDefinition(Reporting):
    """Empty until a parser has read a model into it."""

    _refused = {
        "add_*": "networks come from ONNX models: build the layer with onnx.helper, or export it",
        "remove_tensor": "change the ONNX model",
        "set_weights_name": "weights have the names of the ONNX model",
    }
    error_recorder = Ignored(None, "errors go to the logger")
    has_implicit_batch_dimension, has_explicit_precision = False, False

    def __init__(self, logger: ILogger, flags: int) -> None:
        super().__init__(logger)
        self.name, self.flags = "model", flags
        self._model: Path | None = None
        self._edits = GraphEdits()
        self._inputs: list[ITensor] = []
        self._outputs: list[ITensor] = []
        self._layers: list[ILayer] = []
        self._values: dict[str, ITensor] = {}

    name, flags = "", 0

    def _read(self, model: Path, keeps: TemporaryDirectory | None) -> None:
        """Gives what `vernier inspect` finds in a model; `keeps` is the folder of a temporary file."""
        found = verbs.inspect(model, show="layers").json
        self._model, self._keeps = model, keeps
        self._values = {name: ITensor(self, name, described) for name, described in _described(found).items()}
        self._inputs = [self._values[each["name"]] for each in found["inputs"]]
        for layer in own_layers(found):
            self._layers.append(ILayer(layer, *([self._values[name] for name, _ in _pairs(layer[side])] for side in ("inputs", "outputs"))))
        self._outputs = [self._values[each["name"]] for each in found["outputs"]]

    def _inspect_again(self) -> None:
        """Sizes follow from those of inputs."""
        with TemporaryDirectory(prefix="vernier-network-") as folder:
            described = _described(verbs.inspect(self._model_to_build(folder), show="layers").json)
        for each in self._values.values():
            each._describe(described.get(each.name, f"{each._type}[{', '.join(each._sizes)}]"))

    def _model_to_build(self, folder: str) -> Path:
        """The model with what the script changed."""
        if self._model is None:
            raise Usage("the network is empty: no parser has read a model into it")
        outputs = [(each._declared, onnx_number(each.dtype), each._sizes) for each in self._outputs] if self._edits.outputs_changed else []
        return self._edits.applied(self._model, outputs, folder)

    def get_flag(self, flag: NetworkDefinitionCreationFlag) -> bool:
        """As the network was created."""
        return flag == NetworkDefinitionCreationFlag.EXPLICIT_BATCH or bool(self.flags >> flag & 1)

    @property
    def num_inputs(self) -> int:
        """Counts the inputs of the model."""
        return len(self._inputs)

    @property
    def num_outputs(self) -> int:
        """With those that are marked."""
        return len(self._outputs)

    @property
    def num_layers(self) -> int:
        """Nodes of the graph, without those inside of branches and loops."""
        return len(self._layers)

    def get_input(self, index: int) -> ITensor:
        """An input of the model."""
        return self._inputs[index]

    def get_output(self, index: int) -> ITensor:
        """An output of the network."""
        return self._outputs[index]

    def get_layer(self, index: int) -> ILayer:
        """In the order of the model."""
        return self._layers[index]

    def __len__(self) -> int:
        return len(self._layers)

    def __getitem__(self, index: int) -> ILayer:
        return self._layers[index]

    def __iter__(self) -> Iterator[ILayer]:
        return iter(self._layers)

    def mark_output(self, tensor: ITensor) -> None:
        """Makes a value an output, too."""
        if not tensor.is_network_output:
            self._outputs.append(tensor)
            self._edits.outputs_changed = True

    def unmark_output(self, tensor: ITensor) -> None:
        """An output is none any more."""
        if not tensor.is_network_output:
            raise Usage(f"'{tensor.name}' is no output of the network")
        self._outputs = [each for each in self._outputs if each is not tensor]
        self._edits.outputs_changed = True

    def _ranges(self) -> dict[str, dict[str, float]]:
        """Gives what the script knows of values, as scales.json has it."""
        found = [*self._inputs, *(each for layer in self._layers for each in layer._outputs)]
        return {each.name: {"min": each._range[0], "max": each._range[1]} for each in found if each._range is not None}


def own_layers(found: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Nodes that `inspect` shows, without those of branches and loops, which are inside of their node."""
    return [layer for layer in found["layers"] if layer["depth"] == 0]


def _pairs(values: list[str]) -> list[list[str]]:
    """Names and types; inputs that are left out have neither."""
    return [each.rsplit(": ", 1) for each in values if ": " in each]


def _described(found: Mapping[str, Any]) -> dict[str, str]:
    """Gives what `inspect` says of each value."""
    sides = [layer[side] for layer in own_layers(found) for side in ("inputs", "outputs")]
    described = {each["name"]: each["type"] for side in ("outputs", "inputs") for each in found[side]}
    return described | {name: text for side in sides for name, text in _pairs(side)}
