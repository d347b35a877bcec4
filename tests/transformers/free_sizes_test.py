#!/usr/bin/env python3
"""Models of free sizes become what models of these sizes become: free_sizes_test.py VERNIER [KIND...]

Each transformer is built with free sizes, at several of them, and as an exporter writes it for exactly these sizes. Both engines must have
recognised and joined the same, and must compute the same numbers of groups of each kind, of the same ONNX nodes but for those of sizes. So must
the plans that an engine makes when other sizes come than it was built for.
"""
import collections
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from make import make, ones_at, static
from models import KINDS
from transformers_test import free_sizes, input_sizes, taken

# Batch, sequence, past, encoder's sequence. Up to 64 rows: of more, products of known sizes are not joined.
SHAPES = [(1, 1, 17, 7), (2, 5, 0, 3), (1, 33, 3, 16), (3, 20, 31, 9)]
# Only these are counted: what the others do depends on how much of the graph is arithmetic of sizes.
PASSES = {"recognise-attention", "join-products", "recognise-gelu", "recognise-layer-norm", "recognise-rms-norm", "recognise-silu"}

# These make positions and masks, which are constants where sizes are known.
OF_SIZES = {f"cpu:{name}" for name in ("concat", "empty", "expand", "fill", "gather", "pointwise", "range", "slice", "trilu")}


def built(vernier: pathlib.Path, model: onnx.ModelProto, options: list[str], work: pathlib.Path) -> tuple[dict, collections.Counter]:
    """Which of the passes fired how often, and how many steps of the plan are of each kind."""
    path, report = work / "model.onnx", work / "report.json"
    onnx.save(model, path)
    command = [vernier, "build", path, "--opt-level", "0", "--no-verify", "--threads", "1", "--quiet", "--json", report, *options]
    subprocess.run([str(word) for word in command], check=True)
    result = json.loads(report.read_text())
    fired = {each["name"]: each["rewrites"] for each in result["passes"] if each["name"] in PASSES}
    return fired, collections.Counter(step["kernel"] for step in result["plans"][0]["steps"])


def differences(vernier: pathlib.Path, kind: str, shape: tuple, options: list[str], work: pathlib.Path) -> list[str]:
    """`options`: of the build with free sizes alone."""
    model, free = make(kind), free_sizes(shape)
    (free_fired, free_steps), (fired, steps) = (
        built(vernier, model, ["--opt-shapes", ",".join(input_sizes(model, free)), *options], work), built(vernier, static(model, free), [], work))
    return [f"{name}: {one.get(name, 0)}, with known sizes {other.get(name, 0)}"
            for one, other in ((free_fired, fired), (free_steps, steps)) for name in sorted(one.keys() | other.keys()) if one.get(name) != other.get(name)]


def on_demand(vernier: pathlib.Path, kind: str, work: pathlib.Path) -> list[str]:
    """Finds what differs between plans of known sizes and those that an engine makes of them, which was built for others."""
    model, engine, report = make(kind), work / "model.engine", work / "report.json"
    shapes = taken(model, SHAPES)
    sizes = [",".join(input_sizes(model, free_sizes(shape))) for shape in shapes]
    onnx.save(model, work / "model.onnx")
    ends = [",".join(input_sizes(model, free_sizes(tuple(map(end, zip(*shapes)))))) for end in (min, max)]
    common = ["--threads", "1", "--quiet"]
    subprocess.run([vernier, "build", work / "model.onnx", "-o", engine, "--opt-level", "0", "--no-verify", *common,
                    "--min-shapes", ends[0], "--opt-shapes", sizes[0], "--max-shapes", ends[1]], check=True)
    found = []
    for shape in shapes[1:]:
        np.savez(work / "data.npz", **ones_at(model, free_sizes(shape)))
        subprocess.run([vernier, "bench", engine, *common, "--data", work / "data.npz", "--profile", "--duration", "0", "--warmup", "0", "--json", report], check=True)
        steps = collections.Counter(step["kernel"] for step in json.loads(report.read_text())["profile"]["steps"])
        known = built(vernier, static(model, free_sizes(shape)), [], work)[1]
        found += [f"{name} at {free_sizes(shape)}: {steps[name]}, with known sizes {known[name]}"
                  for name in sorted((steps.keys() | known.keys()) - OF_SIZES) if steps[name] != known[name]]
    return found


def main() -> int:
    vernier, kinds = pathlib.Path(sys.argv[1]), sys.argv[2:] or list(KINDS)
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        # Else no difference would mean nothing.
        failed = not differences(vernier, kinds[0], SHAPES[0], ["--disable-pass", "recognise-attention"], work)
        for kind in kinds:
            found = on_demand(vernier, kind, work)
            failed |= bool(found)
            print(f"{kind} on demand: {'; '.join(found) or 'alike'}", flush=True)
            for shape in taken(make(kind), SHAPES):
                found = differences(vernier, kind, shape, [], work)
                failed |= bool(found)
                print(f"{kind} at {free_sizes(shape)}: {'; '.join(found) or 'alike'}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
