#!/usr/bin/env python3
"""An engine with a planted fault, behind the runner protocol:
    black_box.py [--taps shown|refused|partly|heals] [--fault JSON]

The runner option `fault=FILE.json` says what is wrong, {"kind": …, "node": …, …}, by an edit or a behaviour (edits.py);
with "before": {"operators": {NODE: OPERATOR}, "outputs": [NAME]} of the model that it was planted in, it is carried
over to rewritten copies of that.
What the engine runs is then another graph than the file that it was given. Without the option it is sound.

What it shows of inner values: all ("shown"), none ("refused"), every third ("partly"), or all, but in such a way that
what is fused comes apart ("heals"): the fault vanishes where a value that its node reads or makes is shown, as with
fused kernels.
"""

import argparse
import copy
import glob
import importlib
import json
import pathlib
import sys

import numpy as np
import onnx
import onnx.reference

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[2] / "python/vernier_runners"), str(HERE.parents[1] / "isa")]

from onnxruntime_runner import OnnxRuntime, value_of  # noqa: E402
from processor import has_vnni, is_quantized  # noqa: E402
from protocol import Failure, serve  # noqa: E402

import edits  # noqa: E402

for found in sorted(glob.glob(str(HERE / "edits_*.py")) + glob.glob(str(HERE / "behaviours*.py"))):
    importlib.import_module(pathlib.Path(found).stem)


class Session(OnnxRuntime):
    """A model in ONNX Runtime, with one thread and no optimisation by default. Without VNNI its optimiser keeps sums of quantized
    models from saturating, which would be a fault of its own.

    Where ONNX Runtime has no kernel, ONNX's own evaluator runs the model."""

    def __init__(self, model: onnx.ModelProto, optimisation: str = "disable"):
        saturates = is_quantized(model) and not has_vnni()
        self.model, self.threads, self.provider = model, 1, "cpu"
        self.optimisation = "extended" if saturates else optimisation
        self.entries = {"session.x64quantprecision": "1"} if saturates else {}
        self.made = [name for node in model.graph.node for name in node.output if name]
        self.outputs = [output.name for output in model.graph.output]
        self.sessions: dict[tuple, object] = {}

    def run(self, inputs: dict, taps=()) -> dict:
        """The outputs and, of the taps, the inner values that nodes of the main graph make."""
        added = tuple(name for name in dict.fromkeys(taps) if name in self.made and name not in self.outputs)
        if added not in self.sessions:
            self.sessions[added] = self.make(added)
        self.session = self.sessions[added]
        names = [*self.outputs, *added]
        if isinstance(self.session, onnx.reference.ReferenceEvaluator):
            return dict(zip(names, self.session.run(names, inputs)))
        return dict(zip(names, map(value_of, self.run_session(names, inputs))))

    def make(self, added: tuple):
        import onnxruntime as ort
        from onnxruntime.capi.onnxruntime_pybind11_state import NotImplemented as NoKernel

        ort.set_default_logger_severity(3)
        model = copy.deepcopy(self.model) if added else self.model
        model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in added)
        try:
            return self.make_session(model.SerializeToString())
        except NoKernel:
            return onnx.reference.ReferenceEvaluator(model)
        except Exception:
            if not self.entries:
                raise
            self.optimisation, self.entries = "disable", {}  # its optimiser does not take every model
            return self.make(added)


class Engine:
    """A model with a fault, if there is one: run() as Session does. `heals`: the fault is in what is fused.

    `before`: operators by node, and outputs, of the model that the fault was planted in, of which this one may be a
    rewritten copy; see edits.carried_over.
    """

    def __init__(self, model: onnx.ModelProto, fault: dict | None, heals: bool = False, before: dict | None = None):
        self.sound = self.faulty = Session(model)
        self.behaviour, self.border = None, set()
        self.known = set(before["outputs"] if before else self.sound.outputs)
        if fault is None:
            return
        faults = edits.carried_over(model, fault, before["operators"]) if before else [fault]
        if not faults:
            return
        if fault["kind"] in edits.BEHAVIOURS:
            fields = {key: value for key, value in faults[0].items() if key != "kind"}
            self.behaviour = edits.BEHAVIOURS[fault["kind"]](**fields)
        else:
            changed = model
            rewritten = before is not None and edits.operators_of(model) != before["operators"]
            for one in faults:
                try:
                    changed = edits.edited(changed, one)
                except (ValueError, IndexError, KeyError, StopIteration):
                    if not rewritten:  # else what the fault needs is not there any more
                        raise
            self.faulty = Session(changed)
        if heals:
            for one in faults:
                node = edits.find(model, one["node"])[2]
                self.border |= {*node.input, *node.output} - {""}

    def run(self, inputs: dict, taps=()) -> dict:
        if self.border & ({*taps, *self.sound.outputs} - self.known):
            return self.sound.run(inputs, taps)
        if self.behaviour is not None:
            return self.behaviour.run(self.sound, inputs, taps)
        return self.faulty.run(inputs, taps)


class BlackBox:
    def __init__(self, taps: str, fault: dict | None = None):
        self.taps, self.fault = taps, fault

    def hello(self) -> dict:
        return {"engine": "black box", "version": "1", "capabilities": [] if self.taps == "refused" else ["taps"]}

    def load(self, model: str, options: dict, threads: int) -> dict:
        if options.keys() - {"fault"}:
            raise Failure(f"unknown option '{min(options.keys() - {'fault'})}'", "unsupported", advice="known is fault")
        fault = json.loads(pathlib.Path(options["fault"]).read_text()) if "fault" in options else self.fault
        before = (fault or {}).pop("before", None)
        self.engine = Engine(onnx.load(model), fault, self.taps == "heals", before)
        return {}

    def run(self, inputs: dict, taps: list[str]) -> tuple[dict, list, None]:
        if self.taps == "partly":
            visible = set(self.engine.sound.made[::3])
            taps = [name for name in taps if name in visible]
        shown = self.engine.run(inputs, taps)
        return (
            {name: value if not isinstance(value, np.generic) else np.asarray(value) for name, value in shown.items()},
            [],
            0.0,
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--taps", choices=("shown", "refused", "partly", "heals"), default="shown")
    parser.add_argument("--fault", type=json.loads, help="what is wrong, as text")
    given = parser.parse_args()
    serve(BlackBox(given.taps, given.fault))
