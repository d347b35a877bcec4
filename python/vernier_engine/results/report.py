"""Results of `compare`: docs/report.md, as objects."""

from __future__ import annotations

import html
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import Usage
from ._base import File, PagedResult, Result
from ._convert import load_fields

_VERDICTS = ("pass", "mistrusted", "not_compared", "fail")  # from good to bad


@dataclass(frozen=True)
class Metrics:
    """Distances of a tensor from its reference; None where one does not apply."""

    elements: int = 0
    mismatching: int = 0
    nan_mismatches: int = 0
    inf_mismatches: int = 0
    nan_in_both: int = 0
    inf_in_both: int = 0
    max_abs: float | None = None
    mean_abs: float | None = None
    rmse: float | None = None
    relative_l2: float | None = None
    cosine: float | None = None
    sqnr_db: float | None = None
    max_ulp: float | None = None
    required_atol: float | None = None
    required_rtol: float | None = None
    argmax_agreement: float | None = None
    top_k_agreement: float | None = None
    histogram: Histogram | None = None


@dataclass(frozen=True)
class Histogram:
    """Elements by the size of their error: decades["-7"] counts errors from 1e-7 up to 1e-6."""

    exact: int
    not_finite: int
    decades: dict[str, int]


@dataclass(frozen=True)
class Tolerance:
    """`|actual - reference| <= atol + rtol * |reference|`, and where it comes from."""

    atol: float
    rtol: float
    source: str


@dataclass(frozen=True)
class Worst:
    """The element that is farthest off."""

    sample: int
    part: str
    index: tuple[int, ...]
    expected: Any
    actual: Any


@dataclass(frozen=True)
class TensorResult:
    """A tensor of one runner against the reference, over all samples."""

    value: str
    output: bool
    verdict: str
    reasons: tuple[str, ...]
    type: str
    dims: tuple[int, ...]
    samples: int
    failed_samples: int
    nodes: tuple[str, ...]
    tolerance: Tolerance
    metrics: Metrics
    worst: Worst | None = None

    def __bool__(self) -> bool:
        return self.verdict == "pass"


@dataclass(frozen=True)
class FirstDifference:
    """The first tensor that differs, in the order of execution, and the nodes that make it."""

    value: str
    nodes: tuple[str, ...]


@dataclass(frozen=True)
class Comparison:
    """One runner against the reference; comparison["y"] is one of its tensors."""

    reference: str
    actual: str
    verdict: str
    reasons: tuple[str, ...]
    notes: tuple[str, ...]
    samples: int
    random_data_only: bool
    tensors: tuple[TensorResult, ...]
    first_difference: FirstDifference | None = None

    def __getitem__(self, value: str) -> TensorResult:
        for tensor in self.tensors:
            if tensor.value == value:
                return tensor
        raise KeyError(f"'{value}' was not compared (there are {', '.join(each.value for each in self.tensors) or 'none'})")

    def __bool__(self) -> bool:
        return self.verdict == "pass"


@dataclass(frozen=True)
class Accuracy:
    """Rows whose largest element was the label."""

    runner: str
    right: int
    rows: int


@dataclass(frozen=True)
class Change:
    """A tensor whose verdict or error is not what it was in another report; None where it is in one of them alone."""

    runner: str
    value: str
    verdicts: tuple[str | None, str | None]
    relative_l2: tuple[float | None, float | None]


@dataclass(frozen=True)
class ReportDiff(Result):
    """Holds what changed from one report to another."""

    changes: tuple[Change, ...]

    def __bool__(self) -> bool:
        return bool(self.changes)

    def __len__(self) -> int:
        return len(self.changes)

    def __iter__(self) -> Iterator[Change]:
        return iter(self.changes)

    def _title(self) -> str:
        return f"{len(self.changes)} tensors changed"

    def _rows(self) -> list[dict[str, Any]]:
        return [{"runner": each.runner, "value": each.value, "verdict before": each.verdicts[0], "verdict": each.verdicts[1],
                 "relative L2 before": each.relative_l2[0], "relative L2": each.relative_l2[1]} for each in self.changes]  # fmt: skip


@dataclass(frozen=True)
class Report(PagedResult):
    """Runners compared on the same inputs. True where all pass; report["cpu"] is the comparison of a runner."""

    command: str
    verdict: str
    options: dict[str, str]
    environment: dict[str, str]
    comparisons: tuple[Comparison, ...]
    samples: tuple[str, ...]
    drawn: dict[str, str]
    withdrawn: tuple[str, ...]
    failures: tuple[str, ...]
    noise: dict[str, float]
    accuracies: tuple[Accuracy, ...]
    notes: tuple[str, ...] = ()
    runs: tuple[File, ...] = field(default=(), repr=False, compare=False)  # what each runner made, the reference first

    def __bool__(self) -> bool:
        return self.verdict == "pass"

    def __getitem__(self, runner: str) -> Comparison:
        for exact in (True, False):  # a recorded run is "cpu from cpu.run", and there is "onnxruntime=cuda"
            for comparison in self.comparisons:
                if comparison.actual == runner or (not exact and comparison.actual.startswith((f"{runner} from ", f"{runner}="))):
                    return comparison
        raise KeyError(f"'{runner}' was not compared (there are {', '.join(each.actual for each in self.comparisons) or 'none'})")

    def rejudge(self, **options: Any) -> Report:
        """The same runs judged with other options of `compare`: atol, rtol, … Nothing is run again."""
        from ..verbs import judge_runs

        if not self.runs:
            raise Usage("this report has no runs to judge again", advice="compare with keep_runs=True, and keep the report itself")
        return judge_runs(self.runs, options)

    def diff(self, later: Report) -> ReportDiff:
        """Gives what is not in `later` as it is here."""
        before, after = self._errors(), later._errors()
        changes = []
        for runner, value in {**before, **after}:
            old, new = (side.get((runner, value), (None, None)) for side in (before, after))
            if old != new:
                changes.append(Change(runner, value, (old[0], new[0]), (old[1], new[1])))
        return ReportDiff(tuple(changes))

    def _errors(self) -> dict[tuple[str, str], tuple[str, float | None]]:
        return {
            (comparison.actual, tensor.value): (tensor.verdict, tensor.metrics.relative_l2)
            for comparison in self.comparisons
            for tensor in comparison.tensors
        }

    def _title(self) -> str:
        return f"{self.verdict}: {len(self.comparisons)} runners, {len(self.samples)} samples"

    def _rows(self) -> list[dict[str, Any]]:
        return [
            {"runner": comparison.actual, "value": tensor.value, "verdict": tensor.verdict, "type": tensor.type, "dims": tensor.dims,
             "relative_l2": tensor.metrics.relative_l2, "max_abs": tensor.metrics.max_abs, "cosine": tensor.metrics.cosine,
             "sqnr_db": tensor.metrics.sqnr_db, "max_ulp": tensor.metrics.max_ulp, "elements": tensor.metrics.elements,
             "mismatching": tensor.metrics.mismatching, "nodes": tensor.nodes, "reasons": tensor.reasons}
            for comparison in self.comparisons for tensor in comparison.tensors
        ]  # fmt: skip

    def _repr_html_(self) -> str:
        shown = super()._repr_html_()
        reasons = [f"{each.actual}: {reason}" for each in self.comparisons for reason in each.reasons] + list(self.failures)
        return shown + "".join(f"<p>{html.escape(reason)}</p>" for reason in reasons)


def load_report(path: str | os.PathLike[str]) -> Report:
    """A report that `save`, or `vernier run --json`, wrote."""
    import json

    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
    except ValueError as error:
        raise Usage(f"{os.fspath(path)} is no JSON: {error}", file=os.fspath(path)) from None
    if not isinstance(found, dict) or found.get("schema") != "vernier-report" or found.get("version") != 1:
        raise Usage(f"{os.fspath(path)} is no report of version 1", file=os.fspath(path))
    return load_fields(Report, found, json=found)
