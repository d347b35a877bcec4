"""The fixture `vernier`: assertions about models, for tests that pytest runs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .results import Evaluation, Report
    from .runners import AnyRunner


class Assertions:
    """The fixture gives this; reports are left in `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def assert_engine_matches(
        self, model: str | os.PathLike[str], runner: AnyRunner, *, against: AnyRunner | None = None, **options: Any
    ) -> Report:
        """Fails unless a runner makes what another one makes (default: the reference), with the first node that differs. The
        options are those of `compare`."""
        __tracebackhide__ = True
        from . import compare, reference

        report = compare(model, against or reference(), runner, **{"layers": True, "keep_runs": False, **options})
        if not report:
            path = self.folder / f"{Path(model).stem}-report.json"
            report.save(path)
            pytest.fail(_message(report, model, path), pytrace=False)
        return report


    def assert_metric(
        self, model: str | os.PathLike[str], runner: AnyRunner, *, metric: str, drop: float, against: AnyRunner | None = None, **options: Any
    ) -> Evaluation:
        """Fails unless the metric of a runner is less than `drop` worse than that of another one (default: the reference), with 95 %
        confidence. The options are those of `evaluate`."""
        __tracebackhide__ = True
        from . import evaluate, reference

        found = evaluate(model, [against or reference(), runner], metric=metric, drop=drop, **options)
        if not found:
            path = self.folder / f"{Path(model).stem}-evaluation.json"
            found.save(path)
            pytest.fail(_metric_message(found, model, path), pytrace=False)
        return found


def _metric_message(found: Evaluation, model: str | os.PathLike[str], path: Path) -> str:
    lines = [f"{os.fspath(model)}: {found.verdict}"]
    lines += [f"  {each.name} failed on {each.failures} samples: {each.failure}" for each in found.runners if each.failures]
    for each in found.differences:
        value = found[each.baseline][each.metric].value
        lines.append(f"  {each.runner}: {each.metric} {value + each.difference:.4g}, and {each.baseline} has {value:.4g}")
        if each.gate is not None:
            lines.append(f"  {each.gate.sentence}")
        lines += [f"  lost: sample {flip.sample}, row {flip.row}, {flip.origin}" for flip in each.flipped[:5] if flip.lost > 0]
    return "\n".join([*lines, f"  all of it: {path}"])


def _message(report: Report, model: str | os.PathLike[str], path: Path) -> str:
    lines = []
    for comparison in report.comparisons:
        if comparison:
            continue
        lines.append(f"{os.fspath(model)}: {comparison.actual} against {comparison.reference}: {comparison.verdict}")
        lines += [f"  {reason}" for reason in comparison.reasons]
        if first := comparison.first_difference:
            lines.append(f"  the first that differs is '{first.value}', made by {', '.join(first.nodes) or 'no node'}")
        for tensor in [each for each in comparison.tensors if each.output and not each]:
            lines += [f"  '{tensor.value}': {reason}" for reason in tensor.reasons]
    lines += [f"  {failure}" for failure in report.failures]
    return "\n".join([*lines, f"  all of it: {path}"])


@pytest.fixture
def vernier(tmp_path: Path) -> Assertions:
    """Assertions about models: vernier.assert_engine_matches("model.onnx", vernier_engine.cpu(), data="val.npz")."""
    return Assertions(tmp_path)
