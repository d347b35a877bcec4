"""Engines go wrong in these ways that no graph can say: faults of state, of time, of the place in a batch, and of the caller.

Most of them change one value, an inner one by the name of its node or an output by its own name, after each run of
the sound
model; what is behind it is then computed from the changed value, as in the engine that is imitated.
"""

import copy
import hashlib
import json
import os
import pathlib
import sys
import tempfile
import time

import numpy as np
import onnx
from onnx import helper

from edits import behaviour, edited, find


class Changed:
    """Runs the model, and again what is behind the result of a node, on what `change(value, count)` makes of it.

    `count` is the number of runs before this one. Without a node it is the outputs that are changed, all or those
    named.
    """

    def __init__(self, node: str = "", outputs: list[str] | None = None):
        self.node, self.outputs, self.count, self.cut = node, outputs, 0, None

    def change(self, name: str, value: np.ndarray, count: int) -> np.ndarray:
        raise NotImplementedError

    def run(self, session, inputs: dict, taps=()) -> dict:
        count, self.count = self.count, self.count + 1
        if not self.node:
            shown = session.run(inputs, taps)
            return {
                name: self.change(name, value, count) if name in (self.outputs or session.outputs) else value
                for name, value in shown.items()
            }
        value = next(name for name in find(session.model, self.node)[2].output if name)
        changed = self.change(value, np.asarray(session.run(inputs, [value])[value]), count)
        if value in session.outputs and not readers(session.model, value):
            return session.run(inputs, taps) | {value: changed}
        if self.cut is None:
            self.cut = type(session)(cut_at(session.model, value, changed))
        return self.cut.run(dict(inputs) | {value: changed}, taps) | ({value: changed} if value in taps else {})


def readers(model: onnx.ModelProto, value: str) -> list[onnx.NodeProto]:
    return [node for node in model.graph.node if value in node.input]


def cut_at(model: onnx.ModelProto, value: str, example: np.ndarray) -> onnx.ModelProto:
    """The model with this value as one more input, so that what is behind it can be computed from another one."""
    cut = copy.deepcopy(model)
    for node in cut.graph.node:
        node.output[:] = [f"{name}~" if name == value else name for name in node.output]
    kind = helper.np_dtype_to_tensor_dtype(example.dtype)
    cut.graph.input.append(helper.make_tensor_value_info(value, kind, [None] * example.ndim))
    if any(output.name == value for output in cut.graph.output):
        passed = next(i for i, node in enumerate(cut.graph.node) if value in node.input)
        for node in cut.graph.node:
            node.input[:] = [f"{name}^" if name == value else name for name in node.input]
        cut.graph.input[-1].name = f"{value}^"
        cut.graph.node.insert(passed, helper.make_node("Identity", [f"{value}^"], [value]))
    return cut


def mixed(fresh: np.ndarray, old: np.ndarray | None, share: float) -> np.ndarray:
    """The first elements as they are, the last share of them as they were before; zeros where there was nothing."""
    kept = round(fresh.size * (1 - share))
    flat = fresh.reshape(-1).copy()
    flat[kept:] = old.reshape(-1)[kept:] if old is not None and old.size == fresh.size else 0
    return flat.reshape(fresh.shape)


@behaviour("late-copy")
class LateCopy(Changed):
    """The last share of the value is copied before it is written, so that it is that of the run before.

    It happens in one of `every` runs, which are drawn by `seed`; with `clock` by the time, so that no two processes
    agree.
    """

    def __init__(
        self, node: str = "", outputs=None, share: float = 0.5, every: int = 1, seed: int = 0, clock: bool = False
    ):
        super().__init__(node, outputs)
        self.share, self.every, self.old = share, every, {}
        self.draw = np.random.default_rng(time.time_ns() if clock else seed)

    def change(self, name, value, count):
        happens = self.every == 1 or count == 0 or self.draw.integers(self.every) == 0
        old, self.old[name] = self.old.get(name), value
        return mixed(value, old, self.share) if happens else value


@behaviour("old-result")
class OldResult(LateCopy):
    """The whole value is that of the run before."""

    def __init__(self, node: str = "", outputs=None):
        super().__init__(node, outputs, share=1.0)


@behaviour("state-left")
class StateLeft(Changed):
    """An accumulator is not cleared: each run adds `part` of what is left of the runs before."""

    def __init__(self, node: str = "", outputs=None, part: float = 0.5):
        super().__init__(node, outputs)
        self.part, self.left = part, {}

    def change(self, name, value, count):
        old = self.left.get(name)
        changed = value if old is None or old.shape != value.shape else (value + self.part * old).astype(value.dtype)
        self.left[name] = changed
        return changed


@behaviour("unwritten")
class Unwritten(Changed):
    """Part of a buffer is never written: it holds what was in the memory, another thing at each run, or zeros after
    the first."""

    def __init__(self, node: str = "", outputs=None, share: float = 0.1, first_only: bool = False):
        super().__init__(node, outputs)
        self.share, self.first_only, self.draw = share, first_only, np.random.default_rng(time.time_ns())

    def change(self, name, value, count):
        if self.first_only and count > 0:
            return value
        rubbish = self.draw.integers(0, 2**32, value.size, dtype=np.uint64).astype(np.uint32).view(np.float32)
        tame = np.where(np.isfinite(rubbish) & (np.abs(rubbish) < 1e4), rubbish, 0).astype(value.dtype)
        return mixed(value, tame, self.share)


@behaviour("rows-turned")
class RowsTurned(Changed):
    """The rows of a batch come in another order."""

    def change(self, name, value, count):
        return np.roll(value, 1, axis=0)


@behaviour("rows-first")
class RowsFirst(Changed):
    """The kernel computes its offsets without the batch: all rows get what belongs to the first."""

    def change(self, name, value, count):
        return np.repeat(value[:1], len(value), axis=0)


@behaviour("rows-drift")
class RowsDrift(Changed):
    """Rows behind the first are wrong by `part` of their neighbour, whose memory they read into."""

    def __init__(self, node: str = "", outputs=None, part: float = 0.1):
        super().__init__(node, outputs)
        self.part = part

    def change(self, name, value, count):
        changed = value.copy()
        changed[1:] += (self.part * value[:-1]).astype(value.dtype)
        return changed


@behaviour("rows-odd")
class RowsOdd(Changed):
    """A kernel for pairs of rows loses the last row of an odd batch, or each second row."""

    def __init__(self, node: str = "", outputs=None, step: int = 2):
        super().__init__(node, outputs)
        self.step = step

    def change(self, name, value, count):
        changed = value.copy()
        changed[self.step - 1 :: self.step] = 0
        return changed


@behaviour("axes-swapped")
class AxesSwapped(Changed):
    """The result lies in memory with its last two axes the other way round."""

    def change(self, name, value, count):
        return np.ascontiguousarray(np.swapaxes(value, -1, -2)).reshape(value.shape)


@behaviour("past-rows")
class PastRows(Changed):
    """The kernel writes past the end of its rows: each row begins with what should have been behind the one before."""

    def __init__(self, node: str = "", outputs=None, by: int = 2):
        super().__init__(node, outputs)
        self.by = by

    def change(self, name, value, count):
        rows = value.reshape(-1, value.shape[-1]).copy()
        rows[1:, : self.by] = rows[:-1, -self.by :]
        return rows.reshape(value.shape)


@behaviour("lottery")
class Lottery:
    """Each start of the engine takes another of several kernels: `faults` has one for each start, None for a sound
    one."""

    def __init__(self, faults: list[dict | None]):
        self.fault, self.faulty = faults[started(faults) % len(faults)], None

    def run(self, session, inputs: dict, taps=()) -> dict:
        if self.fault is None:
            return session.run(inputs, taps)
        if self.faulty is None:
            self.faulty = type(session)(edited(session.model, self.fault))
        return self.faulty.run(inputs, taps)


def started(faults: list) -> int:
    """How often engines with these kernels were started before, on this terminal: a file counts it.

    Where the engine is no process of its own, as when the zoo checks its cases, it is always the first start.
    """
    if not sys.argv[0].endswith("black_box.py"):
        return 0
    name = hashlib.sha256(json.dumps([os.getsid(0), os.getuid(), faults]).encode()).hexdigest()[:16]
    path = pathlib.Path(tempfile.gettempdir()) / f"vernier-zoo-{name}"
    count = int(path.read_text() or 0) if path.exists() else 0
    path.write_text(str(count + 1))
    return count
