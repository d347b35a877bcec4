"""Results of the verbs, as objects over the JSON of the program."""

from ._base import File, PagedResult, Result
from .engineering import (
    Audit, AuditedNode, Bench, BuildAccuracy, BuildReport, Check, Export, Finding, FiredPass, Inspection, Latency, Memory,
    OutputAccuracy, Step, Types, Versus,
)  # fmt: skip
from .evaluation import Difference, EvaluatedData, EvaluatedRunner, Evaluation, Flip, Gate, Metric, MetricValue
from .pareto import Plot
from .precision import (
    Calibration, Culprit, DiagnosedEngine, Diagnosis, Evidence, Experiment, Plan, Range, Rejected, Repair, Scales, Score, Split,
    Target, TunedPlan, Tuning, Verified,
)  # fmt: skip
from .report import (
    Accuracy, Change, Comparison, FirstDifference, Histogram, Metrics, Report, ReportDiff, TensorResult, Tolerance, Worst,
    load_report,
)  # fmt: skip

__all__ = [name for name in dir() if not name.startswith("_") and name[0].isupper()] + ["load_report"]
