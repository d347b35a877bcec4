#!/usr/bin/env python3
"""Judges Vernier on real models: models.py SHARED [--cpu|--simulated|--profiles|--force-tactics|--every-kernel|--export] [--isa LEVEL] [--part=I/N] [NAME...]

For every model of SHARED/models and every skeleton of SHARED/skeletons (its weights are made in build/skeletons):
  - `vernier run` with the reference, ONNX Runtime, the CPU engine and one on the simulated accelerator, on the recorded data or, for
    skeletons, on random inputs; every verdict must be a pass. A verdict that is mistrusted because the reference itself shows that the model is
    ill-conditioned counts as judged, and is said;
  - `vernier export`, after which ONNX Runtime must give the same bits as for the original, at no and at full optimisation;
  - symbolic inference against the sizes of real runs at several sizes of the inputs.
  - with --cpu, for models of floats the CPU engine in bf16 and in fp16 against the reference that rounds as the engine's plan does; the
    error against the model as declared is printed beside. With --cpu, nothing but the CPU engine in these and as declared;
  - with --force-tactics, and nothing else: the CPU engine against the reference once for each tactic that some node of the model can be
    computed by, which is forced wherever it serves. A tactic that verification finds wrong fails, too;
  - with --every-kernel, and nothing else: a build in which each kernel that could compute a node is verified element by element on the
    model's own weights. One that is put into quarantine fails: they are all healthy, so that would be a false alarm.
  - with --profiles, and nothing else: an engine file with a profile, of the model with its sizes free as far as it allows
    (tests/profiles), against the reference on the same data. It is tuned at other sizes than those of the data.
  - with --export, and nothing else: the model exported in bf16, fp16 and int8 (ranges by least and largest of the data). ONNX Runtime
    must run each file within the bound of the reference, or the operator that it has no kernel for is named.
With --isa the engine is limited to these instruction sets, with --part only part I of N runs (from 0 on), of models as of skeletons.
"""
import argparse
import collections
import concurrent.futures
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime as ort

from export_checks import COUNTS, exported
from engine_checks import CPU, ISA, PROFILES, SIMULATED, SYMBOLIC, VERNIER, WORK, every_kernel, forced, judge, narrowed, verdicts, with_profile

ort.set_default_logger_severity(3)
TIMES_WEIGHTS = 16  # of its weights is what the runners of a skeleton take together


def ort_outputs(path: pathlib.Path, feeds: dict, level) -> list:
    options = ort.SessionOptions()
    options.graph_optimization_level = level
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    return ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"]).run(None, feeds)


def same_bits(model: pathlib.Path, feeds: dict, work: pathlib.Path) -> str:
    exported = work / "exported.onnx"
    done = subprocess.run([VERNIER, "export", model, "-o", exported, "--no-verify", "--quiet"], capture_output=True, text=True)
    if done.returncode != 0:
        return f"FAIL export: {done.stderr.strip()[-400:]}"
    for level in (ort.GraphOptimizationLevel.ORT_DISABLE_ALL, ort.GraphOptimizationLevel.ORT_ENABLE_ALL):
        for name, before, after in zip((o.name for o in ort.InferenceSession(str(model), providers=["CPUExecutionProvider"]).get_outputs()),
                                       ort_outputs(model, feeds, level), ort_outputs(exported, feeds, level), strict=True):
            before, after = np.asarray(before), np.asarray(after)
            if before.dtype != after.dtype or before.shape != after.shape or before.tobytes() != after.tobytes():
                return f"FAIL export: output {name} differs at {level}"
    return ""


def symbolic_shapes(model: pathlib.Path) -> str:
    """Every inferred size, an expression in the input's symbols, must equal the real one at several sizes."""
    done = subprocess.run([SYMBOLIC, model], capture_output=True, text=True)
    return "" if done.returncode == 0 else f"FAIL shapes: {(done.stdout + done.stderr).strip()[-400:]}"


def recorded_feeds(model: pathlib.Path, folder: pathlib.Path) -> dict:
    graph = onnx.load(model, load_external_data=False).graph
    weights = {tensor.name for tensor in graph.initializer}
    names = [value.name for value in graph.input if value.name not in weights]
    return {name: onnx.numpy_helper.to_array(onnx.load_tensor(folder / f"input_{i}.pb")) for i, name in enumerate(names)}


def first_failure(steps) -> str:
    """Runs the steps until one fails; its verdict, or else all remarks."""
    remarks = []
    for step in steps:
        verdict = step()
        if verdict.startswith("FAIL"):
            return verdict
        remarks += [verdict] if verdict else []
    return "; ".join(remarks)


def judge_all(model: pathlib.Path, data: list[str], sizes: list[str], mode: str, others, profile, feeds, work: pathlib.Path) -> str:
    """By the checks of the mode. `sizes` are build's words for the sizes of the data; `others` are the checks of the mode `all`,
    `profile` is that of --profiles, `feeds` gives inputs for --export."""
    if mode == "profiles":
        return profile()
    if mode == "export":
        return exported(model, data, feeds(), work)
    if mode == "force-tactics":
        return forced(model, data, sizes, work)
    if mode == "every-kernel":
        return every_kernel(model, sizes, work)
    if mode == "simulated":
        return verdicts(model, "--reference", SIMULATED, data, work, judged="simulated")
    if mode == "cpu":  # the narrow types take as long as all the rest, so they are for this mode alone
        return first_failure([lambda: verdicts(model, "--reference", CPU, data, work), lambda: narrowed(model, data, work)])
    return first_failure(others)


def run_model(folder: pathlib.Path, mode: str) -> str:
    model, data = folder / "model.onnx", ["--data", str(folder)]
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        others = [
            lambda: judge(model, data, work),
            lambda: same_bits(model, recorded_feeds(model, folder / "test_data_set_0"), work),
            lambda: symbolic_shapes(model),
        ]
        shapes = lambda: [{name: list(tensor.shape) for name, tensor in recorded_feeds(model, data_set).items()} for data_set in sorted(folder.glob("test_data_set_*"))]
        profile = lambda: with_profile(model, data, shapes(), work / "freed.onnx", work)
        feeds = lambda: [recorded_feeds(model, data_set) for data_set in sorted(folder.glob("test_data_set_*"))]
        return judge_all(model, data, data, mode, others, profile, feeds, work)


def small_inputs(model: pathlib.Path) -> list:
    """Name, type and small sizes of every input: 1 for a symbolic first axis, 16 for any other."""
    inputs = []
    for value in ort.InferenceSession(str(model), providers=["CPUExecutionProvider"]).get_inputs():
        inputs.append((value.name, value.type, [size if isinstance(size, int) else 1 if axis == 0 else 16 for axis, size in enumerate(value.shape)]))
    return inputs


def random_feeds(inputs: list) -> dict:
    """Inputs for the bit-for-bit check, which asks nothing of them but to be valid."""
    rng = np.random.default_rng(1)
    feeds = {}
    for name, kind, shape in inputs:
        if kind == "tensor(float)":
            feeds[name] = rng.standard_normal(shape, dtype=np.float32)
        elif "mask" in name:
            feeds[name] = np.ones(shape, np.int64 if kind == "tensor(int64)" else bool)
        else:
            feeds[name] = rng.integers(0, 2, shape).astype(np.int64 if kind == "tensor(int64)" else np.int32)
    return feeds


def weight(folder: pathlib.Path) -> int:
    """Bytes of a model, those of a skeleton when it is filled: the large ones run last."""
    recipe = folder / "weights.json"
    filled = json.loads(recipe.read_text())["total"] if recipe.exists() else 0
    return filled + sum(file.stat().st_size for file in folder.iterdir() if file.is_file())


def available_memory() -> int:
    return 1024 * int(re.search(r"MemAvailable:\s+(\d+) kB", pathlib.Path("/proc/meminfo").read_text()).group(1))


def run_skeleton(folder: pathlib.Path, mode: str) -> str:
    needed, free = TIMES_WEIGHTS * weight(folder), available_memory()
    if needed > free:
        return f"LEFT OUT: it takes about {needed / 2**30:.1f} GiB of memory, and {free / 2**30:.1f} are free"
    filled = WORK / "skeletons" / folder.name
    if not (filled / "weights.bin").exists():
        subprocess.run([sys.executable, folder.parent / "fill_weights.py", folder.name, "--to", WORK / "skeletons"], check=True)
    model = filled / "model.onnx"
    inputs = small_inputs(model)
    shapes = [word for name, _, shape in inputs for word in ("--shapes", f"{name}:{'x'.join(map(str, shape))}")]
    sizes = [word.replace("--shapes", "--opt-shapes") for word in shapes]
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        others = [
            lambda: judge(model, shapes, work),
            lambda: same_bits(model, random_feeds(inputs), work),
            lambda: symbolic_shapes(model) if folder.name.endswith(".dyn") else "",
        ]
        profile = lambda: with_profile(model, shapes, [{name: shape for name, _, shape in inputs}], filled / "freed.onnx", work)
        verdict = judge_all(model, shapes, sizes, mode, others, profile, lambda: [random_feeds(inputs)], work)
    (filled / "weights.bin").unlink()  # up to hundreds of megabytes each
    return verdict


def run_all(folders: list[pathlib.Path], run, names: list[str], part: tuple[int, int]) -> tuple[int, int]:
    """Two beside each other where memory allows, since half of what a model takes is done by one thread."""
    folders = [folder for folder in sorted(folders, key=weight) if not names or any(name in folder.name for name in names)][part[0] :: part[1]]
    passed = left_out = 0
    most = max(map(weight, folders), default=0)
    beside = 2 if 2 * TIMES_WEIGHTS * most < available_memory() else 1
    with concurrent.futures.ThreadPoolExecutor(beside) as pool:
        for folder, verdict in zip(folders, pool.map(run, folders)):
            passed += not verdict.startswith(("FAIL", "LEFT OUT"))
            left_out += verdict.startswith("LEFT OUT")
            if verdict:
                print(f"{folder.name}: {verdict}", flush=True)
    return passed, len(folders) - left_out


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("shared", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    modes = parser.add_mutually_exclusive_group()
    for mode in ("cpu", "simulated", "profiles", "force-tactics", "every-kernel", "export"):
        modes.add_argument(f"--{mode}", dest="mode", action="store_const", const=mode, default="all")
    parser.add_argument("--isa", choices=("avx2", "avx512", "amx"))
    parser.add_argument("--part", type=lambda words: tuple(int(word) for word in words.split("/")), default=(0, 1))
    arguments = parser.parse_intermixed_args()
    if arguments.isa:
        ISA.extend(["--isa", arguments.isa])
        CPU.extend(ISA)
    models, skeletons = (
        run_all([path.parent for path in arguments.shared.glob(f"{kind}/*/model.onnx")], lambda folder: run(folder, arguments.mode), arguments.names, arguments.part)
        for kind, run in (("models", run_model), ("skeletons", run_skeleton)))
    for what, count in sorted(collections.Counter(PROFILES + COUNTS).items()):
        print(f"{what}: {count}")
    print(f"models: {models[0]}/{models[1]}")
    print(f"skeletons: {skeletons[0]}/{skeletons[1]}")
    return 0 if models[0] == models[1] and skeletons[0] == skeletons[1] and models[1] + skeletons[1] > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
