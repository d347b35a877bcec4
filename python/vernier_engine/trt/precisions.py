"""Turns what a script asks of layers into the options of `build`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from ._strict import NotOffered
from .enums import LayerType
from .layers import ILayer
from .types import DataType, precision_name

_FLOATS = (DataType.FLOAT, DataType.HALF, DataType.BF16)
_CONTRACTIONS = (LayerType.CONVOLUTION, LayerType.DECONVOLUTION, LayerType.MATRIX_MULTIPLY)
_MOST_LETTERS = 100_000  # of one word of a command line, Linux takes 128 KiB


def layer_options(layers: Iterable[ILayer], obey: bool) -> tuple[dict[str, dict[str, str]], list[str]]:
    """Options, and what is to be said of layers that they leave out. What cannot be obeyed goes to the build, which refuses it."""
    precisions, outputs, left_out, no_contractions = {}, {}, [], []
    for layer in layers:
        if layer._precision is None and not layer._output_types:
            continue
        if not any(_is_float(each) for each in layer._outputs):
            left_out.append(layer.name)
            continue
        pattern = re.sub("[,*?]", "?", layer.name)  # a comma ends a pair; a ? stands for any letter
        if layer._precision == DataType.INT8 and layer.type not in _CONTRACTIONS and not obey:
            no_contractions.append(layer.name)
        elif layer._precision is not None:
            precisions[pattern] = precision_name(layer._precision)
        kinds = {kind for index, kind in layer._output_types.items() if _is_float(layer._outputs[index])}
        if len(kinds) > 1:
            raise NotOffered(f"ILayer.set_output_type: the outputs of '{layer.name}' have types of their own, and a node stores one here")
        if kinds:
            outputs[pattern] = precision_name(kinds.pop())
    options = {name: value for name, value in (("layer_precisions", precisions), ("layer_output_types", outputs)) if value}
    for name, value in options.items():
        if sum(len(each) + 6 for each in value) > _MOST_LETTERS:
            raise NotOffered(f"{name}: the names of {len(value)} layers do not fit into a command line; write a plan for vernier_options")
    said = (("types of layers that make no floats are left as they are", left_out), ("int8 is for contractions, and not for", no_contractions))
    return options, [f"{text}: {', '.join(names)}" for text, names in said if names]


def _is_float(tensor: Any) -> bool:
    return tensor._type in ("f32", "f16", "bf16", "f64")
