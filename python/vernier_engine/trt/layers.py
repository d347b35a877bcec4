"""Values and nodes of a network."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import Usage, VernierError
from ._strict import NotOffered, Only, Strict
from .enums import TensorFormat, TensorLocation, layer_type
from .types import DataType, Dims, data_type

if TYPE_CHECKING:
    from .network import INetworkDefinition

_TYPES_STAY = "inputs and outputs have the types of the model: put a Cast into the ONNX model"


class ITensor(Strict):
    """A value of the graph."""

    location = Only(TensorLocation.DEVICE, "tensors have one place")
    allowed_formats = Only(1 << TensorFormat.LINEAR, "inputs and outputs have the layout of the model")
    is_shape_tensor, is_execution_tensor, broadcast_across_batch = False, True, False

    def __init__(self, network: INetworkDefinition, name: str, described: str) -> None:
        self._network, self._name, self._declared = network, name, name
        self._range: tuple[float, float] | None = None
        self._describe(described)

    def _describe(self, described: str) -> None:
        """By what `inspect` prints: f32[N, 3]."""
        self._type, sizes = re.match(r"([^\[]*)(?:\[(.*)\])?", described).groups()  # type: ignore[union-attr]
        self._sizes = sizes.split(", ") if sizes else []

    @property
    def name(self) -> str:
        """Gives the name of the ONNX value, or what the script has made of it."""
        return self._name

    @name.setter
    def name(self, name: str) -> None:
        """Renames an input or output."""
        if name == self._name:
            return
        if not (self.is_network_input or self.is_network_output):
            raise NotOffered(f"ITensor.name = {name!r}: only inputs and outputs are renamed: rename '{self._name}' in the ONNX model")
        if name in (each.name for each in self._network._values.values()):
            raise Usage(f"there is a tensor '{name}' already")
        self._network._edits.names[self._declared] = self._name = name

    @property
    def shape(self) -> Dims:
        """Sizes, -1 for those that are known only when running."""
        return Dims(int(each) if re.fullmatch(r"\d+", each) else -1 for each in self._sizes)

    @shape.setter
    def shape(self, shape: Sequence[int]) -> None:
        """Other sizes of an input; those of all that follows from it change with them, and errors say where they cannot."""
        if not self.is_network_input or len(shape) != len(self._sizes) or any(size < 0 for size in shape):
            raise NotOffered(f"ITensor.shape = {tuple(shape)}: only inputs take sizes, as many as they have ('{self._name}' has {self.shape})")
        if self.shape != list(shape):
            sizes = self._network._edits.sizes
            before = dict(sizes)
            sizes[self._declared] = list(map(int, shape))
            try:
                self._network._inspect_again()
            except VernierError:
                self._network._edits.sizes = before
                raise

    @property
    def dtype(self) -> DataType:
        """As the model declares it."""
        return data_type(self._type)

    @dtype.setter
    def dtype(self, dtype: DataType) -> None:
        if dtype != self.dtype:
            raise NotOffered(f"ITensor.dtype = {DataType(dtype)}: {_TYPES_STAY}")

    @property
    def dynamic_range(self) -> tuple[float, float] | None:
        """The range of values that int8 quantizes, where the script sets one."""
        return self._range

    @dynamic_range.setter
    def dynamic_range(self, values: Sequence[float]) -> None:
        self.set_dynamic_range(*values)

    def set_dynamic_range(self, min: float, max: float) -> bool:  # noqa: A002 (TensorRT calls it so)
        """Sets it; False where it is no range."""
        if not (math.isfinite(min) and math.isfinite(max) and min < max):
            return False
        self._range = (float(min), float(max))
        return True

    def reset_dynamic_range(self) -> None:
        """Forgets it."""
        self._range = None

    @property
    def is_network_input(self) -> bool:
        """True for an input of the model."""
        return any(self is each for each in self._network._inputs)

    @property
    def is_network_output(self) -> bool:
        """True for an output of the network."""
        return any(self is each for each in self._network._outputs)


class ILayer(Strict):
    """A node."""

    metadata = ""

    def __init__(self, described: Mapping[str, Any], inputs: list[ITensor], outputs: list[ITensor]) -> None:
        self.type, self._operator = layer_type(described["op"]), described["op"]
        self._name, self._inputs, self._outputs = described["name"], inputs, outputs
        self._precision: DataType | None = None
        self._output_types: dict[int, DataType] = {}

    type: Any = None

    @property
    def name(self) -> str:
        """As in Vernier's reports: nodes without a name have one of their operator."""
        return self._name

    @name.setter
    def name(self, name: str) -> None:
        raise NotOffered(f"ILayer.name = {name!r}: layers have the names of the ONNX nodes: rename '{self._name}' there")

    @property
    def num_inputs(self) -> int:
        """With constants."""
        return len(self._inputs)

    @property
    def num_outputs(self) -> int:
        """How many values it makes."""
        return len(self._outputs)

    def get_input(self, index: int) -> ITensor | None:
        """None where there is none."""
        return self._inputs[index] if 0 <= index < len(self._inputs) else None

    def get_output(self, index: int) -> ITensor | None:
        """None where there is none."""
        return self._outputs[index] if 0 <= index < len(self._outputs) else None

    @property
    def precision(self) -> DataType:
        """Gives the type it is to compute in; float32 unless that is set."""
        return DataType.FLOAT if self._precision is None else self._precision

    @precision.setter
    def precision(self, precision: DataType) -> None:
        self._precision = DataType(precision)

    @property
    def precision_is_set(self) -> bool:
        """True if the script has set it."""
        return self._precision is not None

    def reset_precision(self) -> None:
        """Leaves it to the builder again."""
        self._precision = None

    def get_output_type(self, index: int) -> DataType:
        """Gives the type an output is to be stored in, or is declared as."""
        return self._output_types.get(index) or self._outputs[index].dtype

    def set_output_type(self, index: int, dtype: DataType) -> None:
        """Sets the type an output is to be stored in. A node of Vernier stores all of them in one type."""
        self._output_types[index] = DataType(dtype)

    def output_type_is_set(self, index: int) -> bool:
        """True if the script has set it."""
        return index in self._output_types

    def reset_output_type(self, index: int) -> None:
        """Leaves it to the builder again."""
        self._output_types.pop(index, None)
