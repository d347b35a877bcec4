"""Results of `diagnose`, `tune` and `calibrate`, as objects."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ._base import File, PagedResult, Result
from ._convert import key
from .pareto import Plot, pareto_plot
from .report import FirstDifference


class Plan(File):
    """A precision plan: build(model, plan=…), export(model, plan=…)."""


class Scales(File):
    """Ranges of values: build(model, int8=True, calibration=…)."""


@dataclass(frozen=True)
class Split:
    """Relative L2 of an output, by where it comes from: rounding to the declared types, the plan, the kernels."""

    output: str
    ideal_declared: float
    declared_planned: float
    planned_engine: float
    needs: float
    bound: float
    sentence: str


@dataclass(frozen=True)
class Evidence:
    """Holds what an experiment showed."""

    experiment: str
    figure: float
    sentence: str


@dataclass(frozen=True)
class Rejected:
    """A cause that was thought of, and why it is none."""

    residual: float
    why: str
    failure: str = key("class")


@dataclass(frozen=True)
class Verified:
    """Holds what a repair did on samples that were held out."""

    relative_l2_before: float
    relative_l2_after: float
    cost_percent: float | None
    samples: int
    passes: bool


@dataclass(frozen=True)
class Repair:
    """Cures a root cause: kind is plan, rewrite, option, caller or none. `file` is a plan or a model, where one was written."""

    kind: str
    sentence: str
    file: str | None = None
    verified: Verified | None = None

    @property
    def plan(self) -> str | None:
        """The plan that cures it; None where it is no plan, or none was written (diagnose with repair=True)."""
        return self.file if self.kind == "plan" else None


@dataclass(frozen=True)
class Culprit:
    """Where an engine is wrong, and by which cause; `failure` is its class, as B31."""

    rank: int
    nodes: tuple[str, ...]
    values: tuple[str, ...]
    title: str
    sentence: str
    confidence: float
    share: float
    evidence: tuple[Evidence, ...]
    rejected: tuple[Rejected, ...]
    repair: Repair
    failure: str = key("class", default="unexplained")


@dataclass(frozen=True)
class DiagnosedEngine:
    """One of several runners that were looked at."""

    name: str
    verdict: str
    agrees_with: tuple[str, ...]
    first_difference: FirstDifference | None = None


@dataclass(frozen=True)
class Experiment:
    """Counts what was run to find out."""

    name: str
    runs: int
    seconds: float


@dataclass(frozen=True)
class Diagnosis(PagedResult):
    """Where an engine is wrong, and why. True where it is healthy."""

    verdict: str
    healthy: bool
    sentence: str
    options: dict[str, str]
    environment: dict[str, str]
    split: tuple[Split, ...]
    culprits: tuple[Culprit, ...]
    engines: tuple[DiagnosedEngine, ...]
    experiments: tuple[Experiment, ...]
    notes: tuple[str, ...]
    seconds: float
    keeps: Any = field(default=None, repr=False, compare=False)  # the folder of repairs

    def __bool__(self) -> bool:
        return self.healthy

    def _title(self) -> str:
        return self.sentence

    def _rows(self) -> list[dict[str, Any]]:
        return [{"rank": each.rank, "nodes": each.nodes, "class": each.failure, "title": each.title, "share": each.share,
                 "confidence": each.confidence, "sentence": each.sentence, "repair": each.repair.sentence} for each in self.culprits]  # fmt: skip


@dataclass(frozen=True)
class Score:
    """How a plan did on some samples."""

    error: float
    deviation: float
    metric: float | None
    samples: int
    beyond: int
    holds: bool


@dataclass(frozen=True)
class TunedPlan:
    """A plan, its latency and its error; ratio is its latency to that of the model as declared."""

    types: str
    latency_ms: float
    error: float
    metric: float | None
    ratio: float
    ratio_ci95: tuple[float, float]
    holds: bool
    selection: Score
    held_out: Score
    file: str = key("plan")
    keeps: Any = field(default=None, repr=False, compare=False)

    @property
    def plan(self) -> Plan:
        """The file, for build and export."""
        return Plan(self.file, self.keeps)

    def __fspath__(self) -> str:
        return self.file


@dataclass(frozen=True)
class Target:
    """Says what a plan had to meet."""

    text: str
    unit: str
    limit: float


@dataclass(frozen=True)
class Tuning(PagedResult):
    """The front of plans that `tune` found, from fast to exact. True where one meets the target: it is `chosen`."""

    model: str
    verdict: str
    target: Target
    front: tuple[TunedPlan, ...]
    dominated: tuple[TunedPlan, ...]
    baseline: TunedPlan
    options: dict[str, str]
    environment: dict[str, str]
    notes: tuple[str, ...]
    probes: int
    seconds: float
    finished: bool
    chosen: TunedPlan | None = None
    closest: TunedPlan | None = None

    def __bool__(self) -> bool:
        return self.verdict == "pass"

    def __iter__(self) -> Iterator[TunedPlan]:
        return iter(self.front)

    def __len__(self) -> int:
        return len(self.front)

    def plot(self) -> Plot:
        """Error against latency, as a picture that notebooks show and `save` writes."""
        return pareto_plot(self)

    def _title(self) -> str:
        best = self.chosen or self.closest
        return f"{self.verdict}: {self.target.text}" + (f"; {best.types}, {best.latency_ms:.3f} ms" if best else "")

    def _rows(self) -> list[dict[str, Any]]:
        return [{"types": each.types, "latency_ms": each.latency_ms, "error": each.error, "metric": each.metric, "ratio": each.ratio,
                 "holds": each.holds, "plan": os.path.basename(each.file)} for each in self.front]  # fmt: skip


@dataclass(frozen=True)
class Range:
    """The range of a tensor, and how it is quantized."""

    name: str
    method: str
    type: str
    scale: float | tuple[float, ...]
    zero_point: int
    observed: tuple[float, float]
    values: int
    clipped: float
    coverage: float | None
    spread: float | None
    channels: int
    dead_channels: int


@dataclass(frozen=True)
class Calibration(Result):
    """Ranges of values, from data. Anything that takes `calibration` takes this."""

    model: str
    tensors: tuple[Range, ...]
    samples: int
    warnings: tuple[str, ...]
    files: tuple[str, ...]
    options: dict[str, str]
    environment: dict[str, str]
    seconds: float
    scales: Scales | None = field(default=None, repr=False, compare=False)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Copies the ranges, scales.json; the report is `json`."""
        assert self.scales is not None
        self.scales.save(path)

    def __fspath__(self) -> str:
        assert self.scales is not None
        return os.fspath(self.scales)

    def _title(self) -> str:
        return f"{len(self.tensors)} ranges from {self.samples} samples"

    def _rows(self) -> list[dict[str, Any]]:
        return [{"tensor": each.name, "method": each.method, "type": each.type, "scale": each.scale, "zero_point": each.zero_point,
                 "observed": each.observed, "clipped": each.clipped} for each in self.tensors]  # fmt: skip
