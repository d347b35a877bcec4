"""Results of `evaluate`, as objects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ._base import PagedResult


@dataclass(frozen=True)
class Metric:
    """Names what was measured; `kind` is hits (the share of rows that are right), mean, or pooled (a figure of all rows together)."""

    name: str
    kind: str
    unit: str
    higher_is_better: bool
    description: str
    intervals: str
    test: str


@dataclass(frozen=True)
class MetricValue:
    """A metric of a runner, with the interval that holds it with 95 % confidence."""

    metric: str
    value: float
    ci95: tuple[float, float]
    rows: int


@dataclass(frozen=True)
class EvaluatedRunner:
    """A runner. `value` and `ci95` are those of the first metric; `runner["f1"]` is that of another one."""

    name: str
    values: tuple[MetricValue, ...]
    failures: int
    failure: str
    description: dict[str, str]

    def __getitem__(self, metric: str) -> MetricValue:
        for each in self.values:
            if each.metric == metric:
                return each
        raise KeyError(f"{metric}; there are {', '.join(each.metric for each in self.values) or 'none, for it failed'}")

    @property
    def value(self) -> float:
        return self._first().value

    @property
    def ci95(self) -> tuple[float, float]:
        return self._first().ci95

    def _first(self) -> MetricValue:
        if not self.values:
            raise ValueError(f"{self.name} failed on {self.failures} samples: {self.failure}")
        return self.values[0]


@dataclass(frozen=True)
class Flip:
    """A row that two runners score differently; `lost` is the margin that went, or else the score."""

    sample: int
    row: int
    origin: str
    baseline: float
    runner: float
    lost: float


@dataclass(frozen=True)
class Gate:
    """Whether the drop is below the limit with 95 % confidence. True for pass alone."""

    limit: float
    verdict: str
    drop: float
    bound95: float
    p: float
    p_holm: float
    sentence: str
    samples_needed: float | None = None

    def __bool__(self) -> bool:
        return self.verdict == "pass"


@dataclass(frozen=True)
class Difference:
    """A runner against another on the same rows: its value less that of the other, with 95 % confidence, and p where both were
    equally good. `lost` and `gained` count rows."""

    runner: str
    baseline: str
    metric: str
    difference: float
    ci95: tuple[float, float]
    p: float
    p_holm: float
    lost: int
    gained: int
    flipped: tuple[Flip, ...]
    gate: Gate | None = None


@dataclass(frozen=True)
class EvaluatedData:
    """Names the data; `hash` is of the content of all samples."""

    format: str
    samples: int
    hash: str
    classes: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Evaluation(PagedResult):
    """Runners on labelled data. True unless a gate does not pass, or a runner failed."""

    model: str
    model_hash: str
    verdict: str | None
    against: str
    data: EvaluatedData
    metrics: tuple[Metric, ...]
    runners: tuple[EvaluatedRunner, ...]
    differences: tuple[Difference, ...]
    options: dict[str, str]
    environment: dict[str, str]
    notes: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.verdict in (None, "pass")

    def __getitem__(self, runner: str) -> EvaluatedRunner:
        for each in self.runners:
            if each.name == runner:
                return each
        raise KeyError(f"{runner}; there are {', '.join(each.name for each in self.runners)}")

    def difference(self, runner: str, baseline: str | None = None, metric: str | None = None) -> Difference:
        """A runner against the one that all are compared with, in a metric (default: the first)."""
        metric = metric or self.metrics[0].name
        for each in self.differences:
            if each.runner == runner and each.metric == metric and baseline in (None, each.baseline):
                return each
        known = ", ".join(f"{each.runner} against {each.baseline} in {each.metric}" for each in self.differences)
        raise KeyError(f"{runner} against {baseline or self.against} in {metric}; there are {known or 'none'}")

    def _title(self) -> str:
        return f"{self.verdict or 'measured'}: {self.model} on {self.data.samples} samples"

    def _rows(self) -> list[dict[str, Any]]:
        rows = []
        for runner in self.runners:
            for each in runner.values:
                against = [d for d in self.differences if (d.runner, d.metric) == (runner.name, each.metric)]
                rows.append({"runner": runner.name, "metric": each.metric, "value": each.value, "ci95": each.ci95,
                             "difference": against[0].difference if against else None,
                             "difference_ci95": against[0].ci95 if against else None})  # fmt: skip
        return rows
