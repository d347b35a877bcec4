"""The verbs of the program as functions: names and options are those of the command line, results are objects.

`progress=True` shows a bar; a function is called with the name of a stage, how many are done, and how many there are. Where `page` is true the
result has its page, for `show()` and `html()`; it costs `diagnose` another run of the first sample, and the others next to nothing."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ._program import Done, Progress, option_words, require_file, run
from .data import Data, data_words
from .engine import Engine
from .errors import Usage
from .results import Bench, Calibration, Check, Diagnosis, Export, File, Inspection, PagedResult, Report, Scales, Tuning
from .results._convert import load_fields
from .runners import AnyRunner, Runner, as_runner, reference

Path_ = str | os.PathLike[str]
# A tolerance for all outputs, or for each by name.
Tolerances = float | Mapping[str, float]


def _result(kind: Any, done: Done, **more: Any) -> Any:
    if issubclass(kind, PagedResult):
        more["page"] = done.page
    return load_fields(kind, done.result, json=done.result, text=done.text, **more)


def compare(
    model: Path_ | Sequence[Path_],
    *runners: AnyRunner,
    data: Data | None = None,
    layers: bool = False,
    against: str | None = None,
    atol: Tolerances | None = None,
    rtol: Tolerances | None = None,
    shapes: Mapping[str, Sequence[int]] | None = None,
    samples: int | None = None,
    threads: int = 0,
    seed: int | None = None,
    keep_runs: bool = True,
    progress: Progress = False,
    page: bool = True,
    **options: Any,
) -> Report:
    """Runs each runner on the same inputs, and compares every output (with `layers` every tensor that runners can show) with
    the first, or with the one that `against` names. The other options are those of `vernier run`.

    What each runner made is kept in a temporary folder as long as the report, for `rejudge`; keep_runs=False does without.
    """
    if len(runners) == 0:
        raise Usage("there is no runner to compare", advice="give vernier_engine.reference() and vernier_engine.cpu(), for example")
    options |= {"layers": layers, "against": against, "atol": atol, "rtol": rtol, "shapes": shapes, "samples": samples,
                "threads": threads or None, "seed": seed}  # fmt: skip
    models = [model] if isinstance(model, (str, os.PathLike)) else list(model)
    kept = TemporaryDirectory(prefix="vernier-runs-") if keep_runs else None
    runs = []
    with ExitStack() as stack:
        words = [*map(require_file, models), *option_words(options), *data_words(data, stack)]
        for number, runner in enumerate(map(as_runner, runners)):
            words += runner.words(stack)
            if kept is not None and runner_kind(runner) != "load-run":
                runs.append(File(Path(kept.name) / f"{number}-{runner.name}.run", kept))
                words += ["--save-run", str(runs[-1].path)]
            elif isinstance(runner, Runner) and runner_kind(runner) == "load-run":
                runs.append(File(runner.argument))
        done = run("run", words, progress, page)
    # A runner that could not be loaded has made nothing; what others are compared with comes first.
    named = [each for each in runs if each.path.exists()]
    if against is not None:
        named.sort(key=lambda each: not each.path.stem.endswith(f"-{against}"))
    return _result(Report, done, runs=tuple(named) if keep_runs else ())


def runner_kind(runner: Any) -> str:
    """As the command line calls it; a function is a --runner."""
    return runner.kind if isinstance(runner, Runner) else "runner"


def judge_runs(runs: Sequence[File], options: Mapping[str, Any]) -> Report:
    """Recorded runs, judged again; the first is what the others are compared with."""
    words = option_words(options) + [word for each in runs for word in ("--load-run", os.fspath(each))]
    return _result(Report, run("run", words, page=True), runs=tuple(runs))


def diagnose(
    model: Path_,
    *runners: AnyRunner,
    against: AnyRunner | None = None,
    data: Data | None = None,
    budget: float | None = None,
    repair: bool = False,
    repair_dir: Path_ | None = None,
    threads: int = 0,
    progress: Progress = False,
    page: bool = True,
    **options: Any,
) -> Diagnosis:
    """Where an engine is wrong, by which cause, and what proves it. With `repair` what may cure it is tried, too; plans and
    models that hold go to `repair_dir`, or stay as long as the diagnosis. The other options are those of `vernier diagnose`."""
    if not runners:
        raise Usage("there is no runner to diagnose", advice="give vernier_engine.cpu(), for example")
    kept = TemporaryDirectory(prefix="vernier-repair-") if repair and repair_dir is None else None
    options |= {"budget": budget, "repair": repair, "threads": threads or None,
                "repair_dir": kept.name if kept is not None else repair_dir}  # fmt: skip
    with ExitStack() as stack:
        words = [require_file(model), *option_words(options), *data_words(data, stack)]
        if against is not None and as_runner(against) != reference():
            words += ["--against", *as_runner(against).words(stack)]
        for runner in runners:
            words += as_runner(runner).words(stack)
        done = run("diagnose", words, progress, page)
    return _result(Diagnosis, done, keeps=kept)


def tune(
    model: Path_,
    *,
    data: Data,
    output: Path_ | None = None,
    tolerance: float | None = None,
    metric: str | Path_ | None = None,
    labels: Path_ | None = None,
    time_limit: float | None = None,
    threads: int = 0,
    progress: Progress = False,
    page: bool = True,
    **options: Any,
) -> Tuning:
    """The cheapest precision plan that meets a tolerance or a metric, in at most `time_limit` seconds (--budget). Without
    `output` the plans go with the result. The other options are those of `vernier tune`."""
    kept = TemporaryDirectory(prefix="vernier-plans-") if output is None else None
    path = str(output) if kept is None else os.path.join(kept.name, "plan.json")
    options |= {"tolerance": tolerance, "metric": metric, "labels": labels, "budget": time_limit, "threads": threads or None}
    with ExitStack() as stack:
        done = run("tune", [require_file(model), "-o", path, *option_words(options), *data_words(data, stack)], progress, page)
    plans = [*done.result["front"], *done.result["dominated"], done.result["chosen"], done.result["closest"]]
    for plan in filter(None, plans):  # beside the plan that was asked for
        plan["plan"] = os.path.join(os.path.dirname(path), os.path.basename(plan["plan"]))
    tuning = _result(Tuning, done)
    for plan in [*tuning.front, *tuning.dominated, tuning.chosen, tuning.closest]:
        if plan is not None:
            object.__setattr__(plan, "keeps", kept)
    return tuning


def calibrate(
    model: Path_,
    *,
    data: Data | None = None,
    output: Path_ | None = None,
    method: str | None = None,
    threads: int = 0,
    progress: Progress = False,
    **options: Any,
) -> Calibration:
    """The ranges of values that int8 and fp8 quantize, from data. The other options are those of `vernier calibrate`."""
    kept = TemporaryDirectory(prefix="vernier-scales-") if output is None else None
    path = os.fspath(output) if output is not None else os.path.join(kept.name, "scales.json")  # type: ignore[union-attr]
    options |= {"method": method, "threads": threads or None}
    with ExitStack() as stack:
        done = run("calibrate", [require_file(model), "-o", path, *option_words(options), *data_words(data, stack)], progress)
    return _result(Calibration, done, scales=Scales(path, kept))


def export(
    model: Path_, *, output: Path_, plan: Path_ | None = None, data: Data | None = None, progress: Progress = False, **options: Any
) -> Export:
    """Writes a model with the types of a plan, or of bf16=True and the like. The other options are those of `vernier export`
    (`for_="tensorrt"` for --for)."""
    if "for_" in options:
        options["for"] = options.pop("for_")
    options["plan"] = plan
    with ExitStack() as stack:
        done = run("export", [require_file(model), "-o", os.fspath(output), *option_words(options), *data_words(data, stack)], progress)
    return _result(Export, done)


def bench(
    model: Path_ | Engine,
    *,
    versus: AnyRunner | Sequence[AnyRunner] = (),
    data: Data | None = None,
    shapes: Mapping[str, Sequence[int]] | None = None,
    threads: int = 0,
    progress: Progress = False,
    page: bool = True,
    **options: Any,
) -> Bench:
    """Latency, throughput and memory of a model or engine, in turn with other runners. The other options are those of
    `vernier bench`. For an engine that `build` gave, the others run the model that it was built from."""
    others: list[Any] = list(versus) if isinstance(versus, (list, tuple)) else [versus]
    options |= {"shapes": shapes, "threads": threads or None}
    with ExitStack() as stack:
        what = [model.model, "--engine", os.fspath(model)] if isinstance(model, Engine) and others else [require_file(model)]
        words = [*what, *option_words(options), *data_words(data, stack)]
        commands = [as_runner(other).command(stack) for other in others]
        words += [word for command, _ in commands for word in ("--vs", command)]
        # The program gives one set of options to all commands.
        carried = [options for command, options in commands if "=" in command and not command.startswith("onnxruntime=")]
        if any(each != carried[0] for each in carried):
            raise Usage("runners with different options cannot be timed in one bench", advice="bench them one by one")
        words += option_words({"vs_option": carried[0] if carried else {}})
        done = run("bench", words, progress, page)
    return _result(Bench, done)


def check(
    model: Path_, *runners: AnyRunner, assume: str | None = None, data: Data | None = None, progress: Progress = False, **options: Any
) -> Check:
    """Structural faults and numerical hazards of a model, with `assume` as if its floats were "f16" or "bf16". The other options
    are those of `vernier check` (`for_="tensorrt"` for --for)."""
    if "for_" in options:
        options["for"] = options.pop("for_")
    options["assume"] = assume
    with ExitStack() as stack:
        words = [require_file(model), *option_words(options), *data_words(data, stack)]
        for runner in runners:
            words += as_runner(runner).words(stack)
        done = run("check", words, progress)
    return _result(Check, done)


def inspect(file: Path_, **options: Any) -> Inspection:
    """Tells what a model, engine, plan, file of tensors or recorded run is made of."""
    done = run("inspect", [require_file(file), *option_words(options)])
    return _result(Inspection, done, **({} if "file" in done.result else {"file": os.fspath(file)}))
