"""Engines: built and judged by the program, run in this process by `Session`."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ._program import Progress, option_words, require_file, run
from .data import Data, data_words
from .errors import BadInput
from .results import Audit, BuildReport
from .results._convert import load_fields

Shapes = Mapping[str, Sequence[int]] | Sequence[Mapping[str, Sequence[int]]]


class Engine:
    """An engine file, and what is known of it. True where its verdict is a pass; other engines are no files, and only their
    report is there. Whatever takes a path takes an engine."""

    def __init__(self, path: Path | None, report: BuildReport, keeps: Any = None) -> None:
        self._path, self.report, self._keeps = path, report, keeps

    @property
    def verdict(self) -> str:
        """pass, mistrusted, not_compared, fail, or not_verified."""
        return self.report.verdict

    @property
    def audit(self) -> Audit:
        """Says what each node computes in, against what was asked for."""
        return self.report.audit

    @property
    def model(self) -> str:
        """The model that it was built from."""
        return self.report.model

    def html(self, path: str | os.PathLike[str]) -> None:
        """Writes the page of its report."""
        self.report.html(path)

    def show(self) -> None:
        """Shows the page of its report: below the cell in a notebook, else in the browser."""
        self.report.show()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Copies the engine file."""
        shutil.copyfile(os.fspath(self), path)

    def __bool__(self) -> bool:
        return self.verdict in ("pass", "not_verified")

    def __fspath__(self) -> str:
        if self._path is None:
            reasons = "; ".join(self.report.accuracy.reasons if self.report.accuracy else ())
            raise BadInput(f"no engine was written, for its verdict is {self.verdict}: {reasons or 'see its report'}", file=self.model)
        return str(self._path)

    def __repr__(self) -> str:
        return f"Engine({self.model!r}, verdict={self.verdict!r})"

    def __str__(self) -> str:
        return str(self.report)

    def _repr_html_(self) -> str:
        return self.report._repr_html_()


def build(
    model: str | os.PathLike[str],
    *,
    output: str | os.PathLike[str] | None = None,
    data: Data | None = None,
    min_shapes: Shapes | None = None,
    opt_shapes: Shapes | None = None,
    max_shapes: Shapes | None = None,
    bf16: bool = False,
    fp16: bool = False,
    int8: bool = False,
    plan: str | os.PathLike[str] | None = None,
    calibration: str | os.PathLike[str] | None = None,
    timing_cache: str | os.PathLike[str] | None = None,
    verify: bool = True,
    threads: int = 0,
    progress: Progress = False,
    page: bool = True,
    **options: Any,
) -> Engine:
    """Builds an engine, and judges it against what it promises. The other options are those of `vernier build`.

    An engine whose verdict is no pass is given all the same, for its report. Without `output` the file goes with the engine.
    """
    options |= {"min_shapes": min_shapes, "opt_shapes": opt_shapes, "max_shapes": max_shapes, "bf16": bf16, "fp16": fp16,
                "int8": int8, "plan": plan, "calibration": calibration, "timing_cache": timing_cache,
                "threads": threads or None, "no_verify": not verify}  # fmt: skip
    keeps = None if output is not None else TemporaryDirectory(prefix="vernier-engine-")
    path = Path(output) if output is not None else Path(keeps.name) / (Path(model).stem + ".engine")  # type: ignore[union-attr]
    with ExitStack() as stack:
        words = [require_file(model), "-o", str(path), *option_words(options), *data_words(data, stack)]
        done = run("build", words, progress, page)
    report = load_fields(BuildReport, done.result, json=done.result, text=done.text, page=done.page)
    return Engine(path if report.file else None, report, keeps)
