"""`evaluate`: task metrics of runners over labelled data, in this process's place or in shards that an executor runs."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from concurrent.futures import Executor
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from ._program import Done, Progress, option_words, require_file, run, shown
from .data import Data, data_words
from .engine import Engine
from .errors import Usage
from .results import Evaluation
from .results._convert import load_fields
from .runners import AnyRunner, CallableRunner, as_runner

Path_ = str | os.PathLike[str]
# A drop for all metrics, or for each by name.
Drops = float | dict[str, float]


def evaluate(
    model: Path_ | Engine | Sequence[Path_],
    runners: AnyRunner | Sequence[AnyRunner] = (),
    *,
    data: Data,
    labels: Path_ | Sequence[int] | np.ndarray | None = None,
    metric: str | Path_ | Sequence[str | Path_],
    drop: Drops | None = None,
    against: str | None = None,
    scores: Path_ | None = None,
    executor: Executor | None = None,
    shards: int | None = None,
    threads: int = 0,
    seed: int | None = None,
    progress: Progress = False,
    page: bool = True,
    **options: Any,
) -> Evaluation:
    """A task metric, or several, of each runner over labelled data; the others are compared with the first runner, row by row.
    With `drop` they are judged: a runner passes where it is less than that worse with 95 % confidence. The other options are
    those of `vernier evaluate`.

    `executor` is any executor of concurrent.futures: the samples are run in `shards` jobs (default: one for each worker), whose
    processes must see the same files. The result is the same as without.
    """
    named = list(runners) if isinstance(runners, (list, tuple)) else [runners]
    with ExitStack() as stack:
        options |= {"metric": metric, "drop": _drops(drop), "against": against, "seed": seed}
        models = [model] if isinstance(model, (str, os.PathLike, Engine)) else list(model)
        words = [*map(require_file, map(os.fspath, models)), *option_words(options), *data_words(data, stack)]
        words += _label_words(labels, stack)
        for runner in map(as_runner, named):
            if executor is not None and isinstance(runner, CallableRunner):
                raise Usage("a function of this process cannot be run by jobs", advice="leave out executor=, or give vernier_engine.command()")
            words += runner.words(stack)
        kept = option_words({"scores": scores})
        if executor is None:
            done = run("evaluate", words + kept + option_words({"threads": threads or None}), progress, page)
        else:
            done = _run_shards(words, kept, threads, executor, shards, progress, page)
    return load_fields(Evaluation, done.result, json=done.result, text=done.text, page=done.page)


def _drops(drop: Drops | None) -> list[str] | None:
    if drop is None:
        return None
    return [f"{name}={value}" for name, value in drop.items()] if isinstance(drop, dict) else [str(drop)]


def _label_words(labels: Any, stack: ExitStack) -> list[str]:
    """Labels of Python go to a file of the temporary folder."""
    if labels is None:
        return []
    if isinstance(labels, (str, os.PathLike)):
        return ["--labels", os.fspath(labels)]
    folder = Path(stack.enter_context(TemporaryDirectory(prefix="vernier-labels-")))
    np.save(folder / "labels.npy", np.asarray(labels))
    return ["--labels", str(folder / "labels.npy")]


def run_shard(words: Sequence[str], index: int, count: int) -> str:
    """A job: the text of the partial result of a shard."""
    return json.dumps(run("evaluate", [*words, "--shard", f"{index}/{count}"]).result)


def _run_shards(
    words: Sequence[str], kept: list[str], threads: int, executor: Any, shards: int | None, progress: Progress, page: bool
) -> Done:
    """Only submit() and result() are asked of the executor, which those of Dask and submitit have, too."""
    count = shards or getattr(executor, "_max_workers", None) or os.cpu_count() or 1
    each = [*words, *option_words({"threads": threads or 1})]
    jobs = [executor.submit(run_shard, each, index, count) for index in range(1, count + 1)]
    with TemporaryDirectory(prefix="vernier-shards-") as folder:
        parts = []
        with shown(progress, "evaluate") as show:
            for index, job in enumerate(jobs, 1):
                parts.append(Path(folder) / f"{index}.json")
                parts[-1].write_text(job.result(), encoding="utf-8")
                show(f"shard {index}", index, count)
        return run("merge", [*map(str, parts), *kept], page=page)
