"""Data of Python as files that the program reads."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from .errors import Usage

Sample = Mapping[str, Any]
# Paths as --data takes them, one sample, or many, which are read one by one.
Data = str | os.PathLike[str] | Sample | Iterable[str | os.PathLike[str] | Sample]


def data_words(data: Data | None, stack: ExitStack) -> list[str]:
    """As words of the command line; samples of arrays are written to a temporary folder, which goes with `stack`."""
    if data is None:
        return []
    if isinstance(data, (str, os.PathLike, Mapping)):
        data = [data]
    paths, folder, count = [], None, 0
    for each in data:
        if isinstance(each, (str, os.PathLike)):
            paths.append(os.fspath(each))
            continue
        if not isinstance(each, Mapping):
            raise Usage(f"data hold a {type(each).__name__}, which is neither a path nor a mapping of arrays by name")
        if folder is None:
            folder = Path(stack.enter_context(TemporaryDirectory(prefix="vernier-data-")))
        write_sample(folder / f"sample-{count:06}.safetensors", each)
        count += 1
    if folder is not None:
        paths.append(str(folder))
    if not paths:
        raise Usage("data hold no sample")
    return [word for path in paths for word in ("--data", path)]


def write_sample(path: Path, sample: Sample) -> None:
    """Arrays by name, of numpy, ml_dtypes or torch, as a safetensors file."""
    from ._bridge import packed
    from ._protocol import write_values

    write_values(path, {name: packed(name, array_of(value)) for name, value in sample.items()})


def array_of(value: Any) -> Any:
    """As an array of numpy; sequences stay what they are."""
    if isinstance(value, (np.ndarray, list, tuple)):
        return value
    if type(value).__module__.split(".")[0] == "torch":
        from ._torch import array_of_tensor

        return array_of_tensor(value)
    return np.asarray(value)
