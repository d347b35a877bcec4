"""models.py has these judged of one model: engines against the reference, by each precision, tactic and kernel, and with a profile."""
import json
import pathlib
import subprocess
import sys

import onnx

import freed_model

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests/isa"))
from processor import UNSATURATED, has_vnni, is_quantized  # noqa: E402

VERNIER = ROOT / "build/release/bin/vernier"
SYMBOLIC = ROOT / "build/release/bin/symbolic"
FIND_PROFILES = ROOT / "build/release/bin/find_profiles"
WORK = ROOT / "build"
# ONNX Runtime runs with its optimiser off: what is compared is the model, not what the optimiser made of it.
ORT, CPU, SIMULATED = ["--onnxruntime", "--optimization", "disable"], ["--cpu"], ["--simulated=1"]
ISA: list[str] = []  # of builds; CPU has it, too
PROFILES = []  # of --profiles: how many had sizes freed, how many move, and why others do not


def run_report(model: pathlib.Path, reference: str, engines: list[str], data: list[str], work: pathlib.Path) -> dict | str:
    """Gives what `vernier run` reports of the engines against the reference, or `FAIL …`."""
    report = work / "report.json"
    report.unlink(missing_ok=True)  # of another run
    command = [VERNIER, "run", model, reference, *engines, *data, "--json", report, "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in (0, 1) or not report.exists():
        return f"FAIL exit {done.returncode}: {done.stderr.strip()[-400:]}"
    return json.loads(report.read_text())


def verdict_of(result: dict | str, judged: str = "", leaving_out: tuple[str, ...] = ()) -> str:
    """Empty if every comparison passes, a remark if a value is ill-conditioned by its own evidence or constant, else `FAIL …`.

    `judged` names the runner whose comparison counts; by default all do that are not left out."""
    if isinstance(result, str):
        return result
    remarks = []
    for comparison in result["comparisons"]:
        if (judged and comparison["actual"] != judged) or {comparison["actual"], comparison["reference"]} & set(leaving_out):
            continue
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


def verdicts(model: pathlib.Path, reference: str, engines: list[str], data: list[str], work: pathlib.Path, judged: str = "") -> str:
    # The recorded run is ONNX Runtime's, which is judged without --cpu.
    return verdict_of(run_report(model, reference, engines, data, work), judged, ("expected",) if engines is CPU else ())


def undetermined(comparison: dict) -> bool:
    """Whether rounding noise moves an output of the reference: then places of near ties are not determined either."""
    return any("rounding noise" in reason for tensor in comparison["tensors"] if tensor["type"] not in ("INT32", "INT64") for reason in tensor["reasons"])


def price(report: pathlib.Path) -> float:
    """The largest relative L2 of the outputs between the reference as declared and as planned."""
    found = [c for c in json.loads(report.read_text())["comparisons"] if c["actual"] == "reference"]
    errors = [float(t["metrics"]["relative_l2"]) for c in found for t in c["tensors"] if t["metrics"].get("relative_l2") is not None]
    return max(errors, default=float("nan"))


def onnxruntime(model: pathlib.Path) -> list[str]:
    """ONNX Runtime as it judges: without VNNI it takes its optimiser to keep sums of quantized models from saturating in 16 bits."""
    if has_vnni() or not is_quantized(onnx.load(model, load_external_data=False)):
        return ORT
    return UNSATURATED


def narrowed(model: pathlib.Path, data: list[str], work: pathlib.Path) -> str:
    """bf16 and fp16: the engine against what its plan promises; what the plan costs is a remark, and no matter of right or wrong."""
    if is_quantized(model):
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
    """ONNX Runtime, what was recorded, and the engines for the CPU and the simulated accelerator, in one run of the reference."""
    result = run_report(model, "--reference", [*onnxruntime(model), *CPU, *SIMULATED], data, work)
    peer = judge_peer(model, verdict_of(result, leaving_out=("cpu", "simulated")), data, work)
    parts = [peer, verdict_of(result, "cpu"), verdict_of(result, "simulated")]
    return next((part for part in parts if part.startswith("FAIL")), "; ".join(filter(None, parts)))


def judge_peer(model: pathlib.Path, verdict: str, data: list[str], work: pathlib.Path) -> str:
    if verdict.startswith("FAIL") and declares_half(model, work):
        # ONNX Runtime's CPU provider has no FP16 kernels: it computes in FP32 and drops the Casts between nodes, so what
        # it yields is the model without the rounding that the model declares.
        ideal = verdicts(model, "--reference=ideal", onnxruntime(model), data, work)
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
        PROFILES.append(f"as they were, {refusal}")
        return verdicts(model, "--reference", CPU, data, work)
    PROFILES.append("with sizes that move")
    if found.freed:
        PROFILES.append("with sizes that move, some of which the model had fixed")
    engine = work / "freed.engine"
    done = subprocess.run([VERNIER, "build", freed, *found.profile, *ISA, "--opt-level", "2", "--no-verify", "-o", engine, "--quiet"], capture_output=True, text=True)
    if done.returncode != 0:
        return f"FAIL build for {found.text}: exit {done.returncode}: {done.stderr.strip()[-400:]}"
    verdict = verdicts(model, "--reference", ["--engine", engine], data, work, judged="engine")
    return f"{verdict}; for {found.text}" if verdict else f"for {found.text}"
