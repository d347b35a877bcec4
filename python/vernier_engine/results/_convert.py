"""JSON of the program as dataclasses: fields by their names, nested by their types."""

from __future__ import annotations

import dataclasses
import functools
import math
import types
import typing
from collections.abc import Mapping
from typing import Any

_WORDS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


@functools.cache
def _hints(cls: type) -> dict[str, Any]:
    return typing.get_type_hints(cls)


def load(cls: Any, value: Any) -> Any:
    """`value` as a `cls`. What a dataclass has no field for is left out, and what is missing has its default."""
    origin, arguments = typing.get_origin(cls), typing.get_args(cls)
    if value is None:
        return None
    if origin in (typing.Union, types.UnionType):
        return load(next(each for each in arguments if each is not type(None)), value)
    if origin is tuple and len(arguments) == 2 and arguments[1] is Ellipsis:
        return tuple(load(arguments[0], each) for each in value)
    if origin is tuple:
        return tuple(load(kind, each) for kind, each in zip(arguments, value))
    if origin is dict:
        return {key: load(arguments[1], each) for key, each in value.items()}
    if dataclasses.is_dataclass(cls):
        return load_fields(cls, value)
    if cls is float:
        return _WORDS.get(value, value) if isinstance(value, str) else float(value)
    return value


def load_fields(cls: Any, value: Mapping[str, Any], **more: Any) -> Any:
    """A dataclass of an object of JSON, with `more` for fields that are not in it."""
    hints = _hints(cls)
    given = {
        each.name: load(hints[each.name], value[key])
        for each in dataclasses.fields(cls)
        if each.init and (key := each.metadata.get("key", each.name)) in value
    }
    return cls(**{**given, **more})


def key(name: str, **options: Any) -> Any:
    """A field that JSON calls otherwise."""
    return dataclasses.field(metadata={"key": name}, **options)
