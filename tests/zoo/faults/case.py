"""A case of the fault zoo has a model, its data, what goes wrong in the engine, and what a diagnosis must name."""

import hashlib
import pathlib
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import onnx


@dataclass(frozen=True, eq=False)
class Case:
    """One planted fault. A case without `klass` is a healthy twin, of which the diagnosis must say so."""

    name: str  # unique, "B32/own-graph"
    klass: str  # "B32"; empty for a healthy twin
    model: Callable[[], onnx.ModelProto] | pathlib.Path  # builds the model, or the file of a real one
    inputs: Callable[[], list[dict[str, np.ndarray]]]  # samples, each by input name; the same at every call
    nodes: frozenset[str] = (
        frozenset()
    )  # nodes of which the first root cause must name one first; empty: outside the graph
    # Inputs or outputs, where the fault is outside the graph. Nobody outside can tell an output that is copied wrongly
    # from a node that makes it wrong: then `nodes` names that one.
    values: frozenset[str] = frozenset()
    fault: dict | None = None  # what the black box does: {"kind": …, "node": …, …}; None: nothing
    runner: tuple[str, ...] = ()  # words of the command line instead of the black box: ("--cpu", "--fp16")
    # The healthy twin where it is more than the same without the fault: words of another runner, or another case.
    twin: "tuple[str, ...] | Case | None" = None
    also: frozenset[str] = frozenset()  # other classes that are as right; a comment beside it says why
    taps: str = "shown"  # what the black box shows: "shown", "refused", "partly" or "heals" (black_box.py)
    least: float = 1e-4  # relative L2 of the outputs that the fault must at least make


def held_out(case: Case) -> bool:
    """Whether the case is kept for judging, and not looked at while a diagnosis is being written."""
    return int.from_bytes(hashlib.sha256(case.name.encode()).digest()[:8], "little") % 3 == 0


def without_fault(words: tuple[str, ...]) -> tuple[str, ...]:
    """The words of a runner without `--inject-fault KIND`."""
    dropped = {i for i, word in enumerate(words) for i in (i, i + 1) if word == "--inject-fault"}
    return tuple(word for i, word in enumerate(words) if i not in dropped)


def twin_of(case: Case) -> Case:
    """The healthy twin: the same model and data by an engine without the fault, unless the case says otherwise."""
    if isinstance(case.twin, Case):
        return case.twin
    words = case.twin if case.twin is not None else without_fault(case.runner)
    if case.fault is None and words == case.runner:
        raise ValueError(f"{case.name}: the twin would be the case itself; give one")
    return replace(
        case,
        name=f"{case.name}/twin",
        klass="",
        nodes=frozenset(),
        values=frozenset(),
        fault=None,
        runner=words,
        twin=None,
        also=frozenset(),
    )


def load_model(case: Case) -> onnx.ModelProto:
    """The model, with its weights in it."""
    return onnx.load(case.model) if isinstance(case.model, pathlib.Path) else case.model()
