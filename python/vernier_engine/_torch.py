"""Modules of torch as functions on arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ._bridge import input_names
from ._types import BEYOND_NUMPY


class ModuleFunction:
    """Calls a module without gradients, on the device of its parameters."""

    def __init__(self, module: Any, inputs: Sequence[str] | None, outputs: Sequence[str] | None) -> None:
        import torch

        self._torch, self._module = torch, module
        self._inputs, self._outputs = inputs, outputs
        self.description = {"torch": torch.__version__, "module": type(module).__name__}
        self.notes = ["the module is in training mode (call eval() on it)"] if module.training else []

    def load(self, model: str) -> None:
        if self._inputs is None:
            self._inputs = input_names(model)

    def __call__(self, feeds: dict[str, Any]) -> Any:
        device = next((each.device for each in self._module.parameters()), self._torch.device("cpu"))
        with self._torch.no_grad():
            made = self._module(*(self._tensor(feeds[name]).to(device) for name in self._inputs or feeds))
        if isinstance(made, Mapping):
            return {name: array_of_tensor(value) for name, value in made.items()}
        values = [array_of_tensor(value) for value in (made if isinstance(made, (list, tuple)) else [made])]
        return dict(zip(self._outputs, values, strict=True)) if self._outputs is not None else values

    def _tensor(self, array: np.ndarray) -> Any:
        if array.dtype not in BEYOND_NUMPY:
            return self._torch.from_numpy(np.require(array, requirements="W"))
        bits = np.array(array.view(np.int16 if array.dtype.itemsize == 2 else np.uint8))
        return self._torch.from_numpy(bits).view(getattr(self._torch, array.dtype.name))


def array_of_tensor(tensor: Any) -> np.ndarray:
    """A tensor of torch as an array, with a dtype of ml_dtypes where numpy has none."""
    import torch

    dense = tensor.detach().cpu().contiguous()
    dtype = next((each for each in BEYOND_NUMPY if each.name == str(dense.dtype).removeprefix("torch.")), None)
    if dtype is None:
        return dense.numpy()
    return dense.view(torch.int16 if dtype.itemsize == 2 else torch.uint8).numpy().view(dtype)
