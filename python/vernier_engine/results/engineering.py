"""Results of `build`, `bench`, `export`, `check` and `inspect`, as objects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ._base import PagedResult, Result
from ._convert import key


@dataclass(frozen=True)
class Types:
    """Says what a node computes, accumulates and stores in; "-" where bits are moved, or nothing is stored."""

    compute: str
    accumulate: str
    store: str


@dataclass(frozen=True)
class AuditedNode:
    """A node: the types that the plan asks for, and those that are executed. `difference` is "" where they agree."""

    node: str
    operator: str
    how: str
    kernel: str
    executed: Types
    difference: str
    requested: Types | None = None
    why: str = ""


@dataclass(frozen=True)
class Audit:
    """Compares what an engine computes in with what it was asked for. True where they agree."""

    differences: int
    nodes: tuple[AuditedNode, ...]

    def __bool__(self) -> bool:
        return self.differences == 0

    def __getitem__(self, node: str) -> AuditedNode:
        for each in self.nodes:
            if each.node == node:
                return each
        raise KeyError(node)


@dataclass(frozen=True)
class OutputAccuracy:
    """Relative L2 of an output of the engine: from what it promises, from the model as declared, from the model without rounding."""

    name: str
    planned: float | None = None
    declared: float | None = None
    ideal: float | None = None


@dataclass(frozen=True)
class BuildAccuracy:
    """The verdict on an engine, reached while it was built."""

    verdict: str
    reasons: tuple[str, ...]
    samples: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    relative_l2: tuple[OutputAccuracy, ...] = ()


@dataclass(frozen=True)
class FiredPass:
    """A pass that changed the graph; `numerics` says what it may do to the numbers."""

    name: str
    rewrites: int
    numerics: str = key("class")


@dataclass(frozen=True)
class Step:
    """One step of a plan."""

    kernel: str | None
    nodes: tuple[str, ...]
    contract: str = ""
    device: str = "cpu"
    reason: str = ""
    refusal: str = ""


@dataclass(frozen=True)
class Plan:
    """Describes what runs at some sizes."""

    sizes: str
    arena: int
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class BuildReport(PagedResult):
    """How an engine was built, and what is known of it."""

    model: str
    audit: Audit
    accuracy: BuildAccuracy | None
    options: dict[str, str]
    environment: dict[str, str]
    notes: tuple[str, ...]
    passes: tuple[FiredPass, ...]
    plans: tuple[Plan, ...]
    weights: int
    build_s: float
    file: int | None = None

    @property
    def verdict(self) -> str:
        """pass, mistrusted, not_compared, fail, or not_verified."""
        return self.accuracy.verdict if self.accuracy else "not_verified"

    def _title(self) -> str:
        return f"{self.verdict}: {self.model}, {self.audit.differences} of {len(self.audit.nodes)} nodes differ from the plan"

    def _rows(self) -> list[dict[str, Any]]:
        return [
            {"node": each.node, "operator": each.operator, "kernel": each.kernel, "computes": each.executed.compute,
             "stores": each.executed.store, "difference": each.difference, "why": each.why} for each in self.audit.nodes
        ]  # fmt: skip


@dataclass(frozen=True)
class Latency:
    """Milliseconds."""

    p50: float
    p90: float
    p95: float
    p99: float
    mean: float
    min: float
    max: float
    runs: int = 0


@dataclass(frozen=True)
class Versus:
    """Another runner, timed in turn: its time is `ratio` times that of the engine, with a 95 % interval."""

    runner: str
    ratio: float | None = None
    ci95: tuple[float, float] | None = None
    latency: Latency | None = key("latency_ms", default=None)
    failure: str | None = None  # why it was not timed


@dataclass(frozen=True)
class Memory:
    """Bytes."""

    weights: int
    arena: int
    peak_rss: int


@dataclass(frozen=True)
class Bench(PagedResult):
    """How long runs of an engine take; bench.versus["onnxruntime"] is another runner beside it."""

    model: str
    sample: str
    device: str
    options: dict[str, str]
    environment: dict[str, str]
    throughput_per_s: float
    sessions: int
    memory: Memory
    latency: Latency = key("latency_ms")
    build_s: float | None = None
    load_ms: float | None = None
    first_run_ms: float | None = None
    runners: tuple[Versus, ...] = key("versus", default=())

    @property
    def versus(self) -> dict[str, Versus]:
        """The other runners by name; "onnxruntime:disable" and "onnxruntime=cuda" by "onnxruntime", too."""
        return {name: each for whole in (False, True) for each in self.runners
                for name in [each.runner if whole else each.runner.replace(":", "=").partition("=")[0]]}  # fmt: skip

    def _title(self) -> str:
        return f"{self.latency.p50:.3f} ms (p99 {self.latency.p99:.3f} ms): {self.model}"

    def _rows(self) -> list[dict[str, Any]]:
        rows = [{"runner": self.device, "p50_ms": self.latency.p50, "p99_ms": self.latency.p99, "ratio": 1.0, "ci95": (1.0, 1.0)}]
        return rows + [{"runner": each.runner, "p50_ms": each.latency and each.latency.p50, "p99_ms": each.latency and each.latency.p99,
                        "ratio": each.ratio, "ci95": each.ci95} for each in self.runners]  # fmt: skip


@dataclass(frozen=True)
class Finding:
    """A fault or hazard of a model: `severity` is error, warning or note, `failure` the class of it."""

    rule: str
    severity: str
    node: str
    message: str
    remedy: str
    effect: Any = None
    count: int = 1
    failure: str = key("class", default="")


@dataclass(frozen=True)
class Check(Result):
    """Holds what the lint found. True where nothing is an error."""

    file: str
    findings: tuple[Finding, ...]

    def __bool__(self) -> bool:
        return not any(each.severity == "error" for each in self.findings)

    def _title(self) -> str:
        return f"{len(self.findings)} findings: {self.file}"

    def _rows(self) -> list[dict[str, Any]]:
        return [{"rule": each.rule, "severity": each.severity, "node": each.node, "message": each.message, "remedy": each.remedy}
                for each in self.findings]  # fmt: skip


@dataclass(frozen=True)
class Inspection(Result):
    """Tells what a model, engine, plan, file of tensors or recorded run is made of; all of it is in `json`."""

    file: str = ""
    operators: dict[str, int] | None = None
    opsets: dict[str, int] | None = None
    types: dict[str, int] | None = None
    producer: str | None = None
    flops: float | None = None
    notes: tuple[str, ...] = ()

    def _title(self) -> str:
        return self.file

    def _rows(self) -> list[dict[str, Any]]:
        return [{"operator": name, "nodes": count} for name, count in (self.operators or {}).items()]


@dataclass(frozen=True)
class Export(Result):
    """A model that was written with the types of a plan."""

    model: str
    file: str
    types: str
    casts: int
    quantized: int
    opset: int
    opset_before: int
    notes: tuple[str, ...]
    findings: tuple[Finding, ...] = ()

    def __fspath__(self) -> str:
        return self.file

    def _title(self) -> str:
        return f"{self.file}: {self.types}"
