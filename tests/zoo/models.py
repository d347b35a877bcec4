#!/usr/bin/env python3
"""Judges Vernier on real models: models.py SHARED [--cpu|--simulated|--profiles|--force-tactics|--every-kernel] [--isa LEVEL] [NAME...]

For every model of SHARED/models and every skeleton of SHARED/skeletons (its weights are made in build/skeletons):
  - `vernier run` with the reference and ONNX Runtime, on the recorded data or, for skeletons, on random inputs; every
    verdict must be a pass. A verdict that is mistrusted because the reference itself shows that the model is
    ill-conditioned counts as judged, and is said;
  - `vernier export`, after which ONNX Runtime must give the same bits as for the original, at no and at full optimisation;
  - symbolic inference against the sizes of real runs at several sizes of the inputs.
  - the CPU engine against the reference, on the same data;
  - with --cpu, for models of floats the CPU engine in bf16 and in fp16 against the reference that rounds as the engine's plan does; the
    error against the model as declared is printed beside. With --cpu, nothing but these two;
  - with --force-tactics, and nothing else: the CPU engine against the reference once for each tactic that some node of the model can be
    computed by, which is forced wherever it serves. A tactic that verification finds wrong fails, too;
  - with --every-kernel, and nothing else: a build in which each kernel that could compute a node is verified element by element on the
    model's own weights. One that is put into quarantine fails: they are all healthy, so that would be a false alarm.
  - with --profiles, and nothing else: an engine file with a profile, of the model with its sizes free as far as it allows
    (tests/profiles), against the reference on the same data. It is tuned at other sizes than those of the data.
With --isa the engine is limited to these instruction sets.
"""
import argparse
import collections
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime as ort

import freed_model

ort.set_default_logger_severity(3)
ROOT = pathlib.Path(__file__).resolve().parents[2]
VERNIER = ROOT / "build/release/bin/vernier"
SYMBOLIC = ROOT / "build/release/bin/symbolic"
FIND_PROFILES = ROOT / "build/release/bin/find_profiles"
WORK = ROOT / "build"
# ONNX Runtime runs with its optimiser off: what is compared is the model, not what the optimiser made of it.
ORT, CPU, SIMULATED = ["--onnxruntime", "--optimization", "disable"], ["--cpu"], ["--simulated=1"]
ISA: list[str] = []  # of builds; CPU has it, too
PROFILES = collections.Counter()  # of --profiles: how many had sizes freed, how many move, and why others do not


def verdicts(model: pathlib.Path, reference: str, engine: list[str], data: list[str], work: pathlib.Path, judged: str = "") -> str:
    """Empty if every comparison passes, a remark if a value is ill-conditioned by its own evidence or constant, else `FAIL …`.

    `judged` names the runner whose comparison counts; by default all do."""
    report = work / "report.json"
    report.unlink(missing_ok=True)  # of another run
    command = [VERNIER, "run", model, reference, *engine, *data, "--json", report, "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in (0, 1) or not report.exists():
        return f"FAIL exit {done.returncode}: {done.stderr.strip()[-400:]}"
    result = json.loads(report.read_text())
    remarks = []
    for comparison in result["comparisons"]:
        if judged and comparison["actual"] != judged:
            continue
        if engine is CPU and comparison["actual"] == "expected":
            continue  # what was recorded is ONNX Runtime's, which is judged without --cpu
        for tensor in comparison["tensors"]:
            reasons = "; ".join(tensor["reasons"])
            if tensor["verdict"] == "mistrusted" and "ill-conditioned" in reasons:
                remarks.append(f"{comparison['actual']} {tensor['value']}: {tensor['reasons'][0]}")
            elif tensor["verdict"] == "mistrusted" and tensor["metrics"]["mismatching"] == 0 and "same value" in reasons:
                remarks.append(f"{comparison['actual']} {tensor['value']}: agrees, but proves little: {reasons}")  # e.g. labels of untrained detectors
            elif (tensor["verdict"] == "mistrusted" and "are NaN on both sides" in reasons
                  and (tensor["metrics"]["mismatching"] == 0 or "within rounding noise" in reasons)):
                remarks.append(f"{comparison['actual']} {tensor['value']}: agrees, but {tensor['reasons'][0]}")
            elif judged and tensor["verdict"] == "fail" and tensor["type"] in ("INT32", "INT64") and undetermined(comparison):
                remarks.append(f"{comparison['actual']} {tensor['value']}: {tensor['metrics']['mismatching']} of {tensor['metrics']['elements']} indices differ, and what they order moves under rounding noise")
            elif tensor["verdict"] != "pass":
                return f"FAIL {comparison['actual']} {tensor['value']}: {tensor['verdict']}: {reasons}"
        if comparison["verdict"] != "pass" and not remarks:
            return f"FAIL {comparison['actual']}: {comparison['verdict']}: {'; '.join(comparison['reasons'])}"
    if result["failures"] or not result["comparisons"]:
        return f"FAIL {'; '.join(result['failures']) or 'nothing was compared'}"
    return "; ".join(remarks)


def undetermined(comparison: dict) -> bool:
    """Whether rounding noise moves an output of the reference: then places of near ties are not determined either."""
    return any("rounding noise" in reason for tensor in comparison["tensors"] if tensor["type"] not in ("INT32", "INT64") for reason in tensor["reasons"])


def price(report: pathlib.Path) -> float:
    """The largest relative L2 of the outputs between the reference as declared and as planned."""
    found = [c for c in json.loads(report.read_text())["comparisons"] if c["actual"] == "reference"]
    errors = [float(t["metrics"]["relative_l2"]) for c in found for t in c["tensors"] if t["metrics"].get("relative_l2") is not None]
    return max(errors, default=float("nan"))


def narrowed(model: pathlib.Path, data: list[str], work: pathlib.Path) -> str:
    """bf16 and fp16: the engine against what its plan promises; what the plan costs is a remark, and no matter of right or wrong."""
    operators = {node.op_type for node in onnx.load(model, load_external_data=False).graph.node}
    if any("Quant" in op or "Integer" in op for op in operators):
        return ""
    remarks = []
    for precision in ("bf16", "fp16"):
        engine = [*CPU, f"--{precision}", "--reference"]
        verdict = verdicts(model, "--reference=planned", engine, data, work, judged="cpu")
        if verdict.startswith("FAIL") and precision == "fp16" and "NaN" in verdict:
            remarks.append("fp16 overflows")  # so does the reference by that plan, and what follows Inf and NaN is nobody's promise
            continue
        if verdict.startswith("FAIL") and "ill-conditioned" in verdicts(model, "--reference", CPU, data, work):
            remarks.append(f"{precision} determines as little as f32 does")
            continue
        if verdict.startswith("FAIL"):
            return f"FAIL {precision}: {verdict.removeprefix('FAIL ')}"
        remarks.append(f"{precision} {price(work / 'report.json'):.2g}" + (f" ({verdict})" if verdict else ""))
    return "error " + ", ".join(remarks)


def declares_half(model: pathlib.Path, work: pathlib.Path) -> bool:
    summary = work / "inspect.json"
    subprocess.run([VERNIER, "inspect", model, "--json", summary, "--quiet"], check=True)
    return json.loads(summary.read_text())["types"].get("f16", 0) > 0


def judge(model: pathlib.Path, data: list[str], work: pathlib.Path) -> str:
    verdict = verdicts(model, "--reference", ORT, data, work)
    if verdict.startswith("FAIL") and declares_half(model, work):
        # ONNX Runtime's CPU provider has no FP16 kernels: it computes in FP32 and drops the Casts between nodes, so what
        # it yields is the model without the rounding that the model declares.
        ideal = verdicts(model, "--reference=ideal", ORT, data, work)
        if not ideal.startswith("FAIL"):
            return f"ONNX Runtime matches the unrounded reference; as declared: {verdict.removeprefix('FAIL ')}"
    return verdict


def forced(model: pathlib.Path, data: list[str], sizes: list[str], work: pathlib.Path) -> str:
    """The engine by each tactic in turn. `sizes` are build's words for those of the data."""
    report = work / "build.json"
    done = subprocess.run([VERNIER, "build", model, *sizes, *ISA, "--no-verify", "--json", report, "--quiet"], capture_output=True, text=True)
    if done.returncode != 0:
        return f"FAIL build: exit {done.returncode}: {done.stderr.strip()[-400:]}"
    tactics = json.loads(report.read_text())["tactics"]
    remarks = [f"{len(tactics)} tactics: {', '.join(tactics)}"]
    for tactic in tactics:
        verdict = verdicts(model, "--reference", [*CPU, "--force-tactic", tactic], data, work, judged="cpu")
        if verdict.startswith("FAIL"):
            return f"FAIL by {tactic}: {verdict.removeprefix('FAIL ')}"
        remarks += [f"{tactic}: {verdict}"] if verdict else []
    return "; ".join(remarks)


def every_kernel(model: pathlib.Path, sizes: list[str], work: pathlib.Path) -> str:
    report = work / "build.json"
    done = subprocess.run([VERNIER, "build", model, *sizes, *ISA, "--opt-level", "4", "--no-verify", "--timing-cache", work / "timing.json",
                           "--json", report, "--quiet"], capture_output=True, text=True)
    if done.returncode != 0:
        return f"FAIL build: exit {done.returncode}: {done.stderr.strip()[-400:]}"
    found = json.loads(report.read_text())["quarantine"]
    return "FAIL " + "; ".join(f"{each['tactic']} for {', '.join(each['nodes'])}: {each['reason']}" for each in found) if found else ""


def with_profile(model: pathlib.Path, data: list[str], shapes: list[dict[str, list[int]]], freed: pathlib.Path, work: pathlib.Path) -> str:
    """`shapes` are those of each sample of the data; `freed` is where the model with free sizes is written."""
    try:
        found = freed_model.free_sizes(FIND_PROFILES, model, shapes, freed)
    except freed_model.Refused as refusal:
        PROFILES[f"as they were, {refusal}"] += 1
        return verdicts(model, "--reference", CPU, data, work)
    PROFILES["with sizes that move"] += 1
    PROFILES["with sizes that move, some of which the model had fixed"] += found.freed > 0
    engine = work / "freed.engine"
    done = subprocess.run([VERNIER, "build", freed, *found.profile, *ISA, "--opt-level", "2", "--no-verify", "-o", engine, "--quiet"], capture_output=True, text=True)
    if done.returncode != 0:
        return f"FAIL build for {found.text}: exit {done.returncode}: {done.stderr.strip()[-400:]}"
    verdict = verdicts(model, "--reference", ["--engine", engine], data, work, judged="engine")
    return f"{verdict}; for {found.text}" if verdict else f"for {found.text}"


def ort_outputs(path: pathlib.Path, feeds: dict, level) -> list:
    options = ort.SessionOptions()
    options.graph_optimization_level = level
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    return ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"]).run(None, feeds)


def same_bits(model: pathlib.Path, feeds: dict, work: pathlib.Path) -> str:
    exported = work / "exported.onnx"
    done = subprocess.run([VERNIER, "export", model, "-o", exported, "--quiet"], capture_output=True, text=True)
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


def judge_all(model: pathlib.Path, data: list[str], sizes: list[str], mode: str, others, profile, work: pathlib.Path) -> str:
    """By the checks of the mode. `sizes` are build's words for the sizes of the data; `others` are the checks that are not of the engine,
    `profile` is that of --profiles."""
    if mode == "profiles":
        return profile()
    if mode == "force-tactics":
        return forced(model, data, sizes, work)
    if mode == "every-kernel":
        return every_kernel(model, sizes, work)
    if mode == "simulated":
        return verdicts(model, "--reference", SIMULATED, data, work, judged="simulated")
    engine = lambda: verdicts(model, "--reference", CPU, data, work)
    # The narrow types take as long as all the rest, so they are for --cpu alone.
    return first_failure([engine, lambda: narrowed(model, data, work)] if mode == "cpu" else [*others, engine])


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
        return judge_all(model, data, data, mode, others, profile, work)


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


def run_skeleton(folder: pathlib.Path, mode: str) -> str:
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
        verdict = judge_all(model, shapes, sizes, mode, others, profile, work)
    (filled / "weights.bin").unlink()  # up to hundreds of megabytes each
    return verdict


def run_all(folders: list[pathlib.Path], run, names: list[str]) -> tuple[int, int]:
    folders = [folder for folder in sorted(folders) if not names or any(name in folder.name for name in names)]
    passed = 0
    for folder in folders:
        verdict = run(folder)
        passed += not verdict.startswith("FAIL")
        if verdict:
            print(f"{folder.name}: {verdict}", flush=True)
    return passed, len(folders)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("shared", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    modes = parser.add_mutually_exclusive_group()
    for mode in ("cpu", "simulated", "profiles", "force-tactics", "every-kernel"):
        modes.add_argument(f"--{mode}", dest="mode", action="store_const", const=mode, default="all")
    parser.add_argument("--isa", choices=("avx2", "avx512", "amx"))
    arguments = parser.parse_intermixed_args()
    if arguments.isa:
        ISA.extend(["--isa", arguments.isa])
        CPU.extend(ISA)
    models, skeletons = (
        run_all([path.parent for path in arguments.shared.glob(f"{kind}/*/model.onnx")], lambda folder: run(folder, arguments.mode), arguments.names)
        for kind, run in (("models", run_model), ("skeletons", run_skeleton)))
    for what, count in sorted(PROFILES.items()):
        print(f"{what}: {count}")
    print(f"models: {models[0]}/{models[1]}")
    print(f"skeletons: {skeletons[0]}/{skeletons[1]}")
    return 0 if models[0] == models[1] and skeletons[0] == skeletons[1] and models[1] + skeletons[1] > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
