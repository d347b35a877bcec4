#!/usr/bin/env python3
"""Transformers with free sizes, at twelve shapes each: transformers_test.py VERNIER [KIND...]

The reference, ONNX Runtime, the simulated accelerator and three engines run the same samples: untuned, tuned at sizes that the tool chooses,
and tuned with a profile that all shapes lie in. Every verdict must be a pass, by the tolerances of the tool itself.
"""
import pathlib
import subprocess
import sys
import tempfile

import onnx
from make import make, sizes_at
from models import KINDS

# Batch, sequence, past, and the length of an encoder's sequence: single ones, odd ones, many.
SHAPES = [
    (1, 1, 1, 7), (1, 1, 0, 1), (1, 1, 63, 32), (1, 7, 0, 50), (2, 1, 17, 3), (3, 5, 2, 1), (1, 33, 0, 16), (2, 16, 16, 16),
    (1, 97, 0, 8), (5, 1, 40, 9), (1, 3, 100, 64), (2, 64, 31, 33),
]


def free_sizes(shape: tuple) -> dict[str, int]:
    free = dict(zip(("batch", "sequence", "past", "encoder_sequence"), shape))
    return {**free, "total_sequence_length": free["past"] + free["sequence"]}


def asks_for_counts(model: onnx.ModelProto) -> bool:
    """Whether attention is told how many keys there are, instead of reading a mask."""
    return any(node.op_type == "GroupQueryAttention" for node in model.graph.node)


def taken(model: onnx.ModelProto, shapes: list[tuple]) -> list[tuple]:
    """ONNX Runtime's GroupQueryAttention puts several rows behind a past for one text only."""
    if not asks_for_counts(model):
        return shapes
    return [(1 if sequence > 1 and past > 0 else batch, sequence, past, other) for batch, sequence, past, other in shapes]


def values(model: onnx.ModelProto) -> list[str]:
    """A mask of which fewer are 1 than there are new rows would begin these in front of the cache."""
    return ["--val-range", "attention_mask:[1,1]"] if asks_for_counts(model) else []


def input_sizes(model: onnx.ModelProto, free: dict[str, int]) -> list[str]:
    """Every input as NAME:DIMS."""
    return [f"{value.name}:{'x'.join(map(str, sizes_at(value, free)))}" for value in model.graph.input]


def repeated(option: str, words: list[str]) -> list[str]:
    return [each for word in words for each in (option, word)]


def bounds(model: onnx.ModelProto) -> list[str]:
    """A profile that all shapes lie in."""
    shapes = [free_sizes(shape) for shape in SHAPES]
    least, most = ({name: pick(shape[name] for shape in shapes) for name in shapes[0]} for pick in (min, max))
    chosen = {"min": least, "opt": shapes[7], "max": most}
    return [word for name, free in chosen.items() for word in (f"--{name}-shapes", ",".join(input_sizes(model, free)))]


def failure(command: list) -> str:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    return "" if done.returncode == 0 else f"exit {done.returncode}\n{done.stdout[-3000:]}{done.stderr[-1000:]}"


def judge(vernier: pathlib.Path, kind: str, work: pathlib.Path) -> str:
    """Empty, or what went wrong."""
    proto, model = make(kind), work / f"{kind}.onnx"
    onnx.save(proto, model)
    engines = []
    for name, options in (("untuned", ["--opt-level", 0]), ("tuned", []), ("profiled", bounds(proto))):
        engines += ["--engine", work / name]
        # By one thread: two that wait for each other are slow to time where something else runs.
        if problem := failure([vernier, "build", model, "-o", work / name, *options, "--no-verify", "--threads", 1]):
            return f"{name}: {problem}"
    shapes = [word for shape in taken(proto, SHAPES) for word in repeated("--shapes", input_sizes(proto, free_sizes(shape)))]
    return failure([vernier, "run", model, "--reference", "--onnxruntime", *engines, "--simulated=1", *shapes, *values(proto)])


def finds_fault(vernier: pathlib.Path, work: pathlib.Path) -> bool:
    """Whether a defect in one kernel is found: else all these verdicts would mean nothing."""
    proto, model = make("gpt2-14"), work / "faulty.onnx"
    onnx.save(proto, model)
    shapes = [word for shape in SHAPES[:2] for word in repeated("--shapes", input_sizes(proto, free_sizes(shape)))]
    command = [vernier, "run", model, "--reference", "--cpu", "--inject-fault", "residual", *shapes]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    return done.returncode == 1 and "FAULT INJECTED" in done.stdout


def main() -> int:
    vernier, kinds = pathlib.Path(sys.argv[1]), sys.argv[2:] or list(KINDS)
    with tempfile.TemporaryDirectory() as folder:
        failed = not finds_fault(vernier, pathlib.Path(folder))
    print("a fault in a kernel is", "not found" if failed else "found")
    for kind in kinds:
        with tempfile.TemporaryDirectory() as folder:
            problem = judge(vernier, kind, pathlib.Path(folder))
        print(f"{kind}: {problem or 'pass'}", flush=True)
        failed += bool(problem)
    print(f"{len(kinds) - failed} of {len(kinds)} transformers pass at {len(SHAPES)} shapes")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
