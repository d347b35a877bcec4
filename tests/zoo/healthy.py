#!/usr/bin/env python3
"""Diagnoses sound engines of real models: healthy.py SHARED [--engine NAME]... [--table FILE] [--limit SECONDS] [--jobs N] [NAME...]

For every model of SHARED/models and every skeleton of SHARED/skeletons, and for every kind of engine, `vernier diagnose` must find
nothing: exit 0, or a model that is ill-conditioned by its own evidence, and no culprit but nodes of which it says that the model is to
blame, and not the engine; or, in float16, values of the model that this type does not hold; or, in int8, a plan that costs the model more
than rounding explains, as scales do that serve one sample and not the other. All else is a false alarm. Beside that the bounds are told:
how many times the error that was met they are, whose median is to be at most 30, for a bound that is far away from every error would pass
every fault.

The last line is "healthy: N/M, median bound K times the error".
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

from engine_checks import VERNIER, WORK
from models import small_inputs

ENGINES = {
    "cpu": ["--cpu"],
    "bf16": ["--cpu", "--bf16"],
    "fp16": ["--cpu", "--fp16"],
    "int8": ["--cpu", "--int8"],
    "simulated": ["--simulated=1"],
    "simulated-bf16": ["--simulated=1", "--bf16"],
    "simulated-fp16": ["--simulated=1", "--fp16"],
    "simulated-int8": ["--simulated=1", "--int8"],
    "onnxruntime": ["--onnxruntime", "--optimization", "disable"],
    "onnxruntime-optimised": ["--onnxruntime"],
}


def filled(folder: pathlib.Path) -> pathlib.Path:
    made = WORK / "skeletons" / folder.name
    if not (made / "weights.bin").exists():
        subprocess.run([sys.executable, folder.parent / "fill_weights.py", folder.name, "--to", WORK / "skeletons"], check=True)
    return made


def words_of(folder: pathlib.Path) -> tuple[pathlib.Path, list[str]]:
    """The model file, and the words of the command line that give its data."""
    if folder.parent.name == "models":
        return folder / "model.onnx", ["--data", str(folder)]
    model = filled(folder) / "model.onnx"
    return model, [word for name, _, shape in small_inputs(model) for word in ("--shapes", f"{name}:{'x'.join(map(str, shape))}")]


def calibrated(model: pathlib.Path, data: list[str], folder: pathlib.Path, limit: float) -> pathlib.Path:
    """Scales of the data that the engine is diagnosed with: what is clipped for want of data is no fault of an engine."""
    scales = folder / "scales.json"
    command = [VERNIER, "calibrate", model, *data, "--method", "minmax", "-o", scales, "--quiet"]
    if "--data" not in data:
        command.append("--random")
    subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=limit, check=True)
    return scales


def diagnose(model: pathlib.Path, engine: list[str], data: list[str], limit: float) -> dict:
    with tempfile.TemporaryDirectory() as name:
        report = pathlib.Path(name) / "diagnosis.json"
        try:
            if "--int8" in engine:
                engine = [*engine, "--calibration", calibrated(model, data, pathlib.Path(name), limit)]
            command = [VERNIER, "diagnose", model, *engine, *data, "--budget", limit, "--json", report, "--quiet"]
            done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=2 * limit)
        except subprocess.TimeoutExpired:
            return {"error": f"not done after twice its budget of {limit:.0f} s"}
        except subprocess.CalledProcessError as failure:
            known = failure.returncode == 2 and "nothing that int8 quantises" in failure.stderr
            return {"none" if known else "error": f"calibrate: exit {failure.returncode}: {failure.stderr.strip()[-300:]}"}
        if done.returncode not in (0, 1) or not report.exists():
            return {"error": f"exit {done.returncode}: {done.stderr.strip()[-300:]}"}
        return json.loads(report.read_text())


def alarm_of(found: dict, engine: str) -> str:
    """Empty where nothing was found; a remark where the model is ill-conditioned; else `FAIL …`."""
    if "error" in found:
        return f"FAIL {found['error']}"
    if "none" in found:
        return f"no such engine: {found['none']}"
    if found["healthy"]:
        return ""
    conditioned = any("ill-conditioned" in each["sentence"] for each in found["split"])
    of_model = all("not the engine, but the " in each["sentence"] for each in found["culprits"])
    of_plan = all("not the engine, but the precision that its plan asks for" in each["sentence"] for each in found["culprits"])
    if "int8" in engine and of_plan and "is sound" in found["sentence"]:
        return f"cost of the plan: {found['sentence']}"
    if "fp16" in engine and found["culprits"] and all(each["class"] == "B2" and "float16 ends at" in each["sentence"] for each in found["culprits"]):
        return f"outside the range of float16: {found['culprits'][0]['sentence']}"
    if (conditioned and of_model) or (not found["culprits"] and found["verdict"] == "mistrusted"):
        return f"{found['verdict']}: {found['sentence']}"
    return f"FAIL {found['sentence']}"


def ratios(found: dict) -> list[float]:
    """How many times the error is below its bound, by output."""
    pairs = [(each["bound"], each["needs"]) for each in found.get("split", [])]
    return [bound / needs for bound, needs in pairs if isinstance(bound, float) and isinstance(needs, float) and needs > 0]


def processor() -> str:
    lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "an unknown processor")


def table(findings: list[tuple[str, str, dict, str]]) -> str:
    """Of (model, engine, diagnosis, alarm): a summary by engine, then every output."""
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, cwd=WORK).stdout.strip()
    lines = [
        "# Errors of sound engines, and their derived bounds",
        "",
        f"`benchmarks/bounds` on {processor()}, commit {commit}. Relative L2 of an output from the reference in the types that the engine was",
        "told (`diagnose`: needs, bound). Times: the bound over the error, where there is one.",
        "",
        "| engine | models | false alarms | outputs with an error | median times | smallest | largest |",
        "|---|---|---|---|---|---|---|",
    ]
    for engine in dict.fromkeys(engine for _, engine, _, _ in findings):
        own = [(found, alarm) for _, other, found, alarm in findings if other == engine]
        times = [each for found, _ in own for each in ratios(found)]
        known = f"{statistics.median(times):.3g} | {min(times):.3g} | {max(times):.3g}" if times else "- | - | -"
        alarms = sum(alarm.startswith("FAIL") for _, alarm in own)
        lines.append(f"| {engine} | {len(own)} | {alarms} | {len(times)} | {known} |")
    lines += ["", "| model | engine | output | error | bound | |", "|---|---|---|---|---|---|"]
    for model, engine, found, alarm in findings:
        for each in found.get("split", []):
            remark = "ill-conditioned" if "ill-conditioned" in each["sentence"] else "alarm" if alarm.startswith("FAIL") else ""
            lines.append(f"| {model} | {engine} | {each['output']} | {figure(each['needs'])} | {figure(each['bound'])} | {remark} |")
    return "\n".join(lines) + "\n"


def figure(number) -> str:
    return f"{number:.2g}" if isinstance(number, (int, float)) else str(number)


def main() -> int:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("shared", type=pathlib.Path)
    arguments.add_argument("--engine", action="append", choices=ENGINES)
    arguments.add_argument("--limit", type=float, default=300)
    arguments.add_argument("--jobs", type=int, default=1)
    arguments.add_argument("--table", type=pathlib.Path)
    arguments.add_argument("names", nargs="*")
    options = arguments.parse_intermixed_args()
    folders = sorted(folder for kind in ("models", "skeletons") for folder in (options.shared / kind).iterdir() if folder.is_dir())
    folders = [folder for folder in folders if not options.names or any(name in folder.name for name in options.names)]
    engines = options.engine or [engine for engine in ENGINES if engine != "onnxruntime-optimised"]
    words = {folder: words_of(folder) for folder in folders}

    def judge(job: tuple[pathlib.Path, str]) -> tuple[str, str, dict, str]:
        folder, engine = job
        model, data = words[folder]
        started = time.monotonic()
        found = diagnose(model, ENGINES[engine], data, options.limit)
        alarm, times = alarm_of(found, engine), ratios(found)
        bound = f", bounds {min(times):.3g} to {max(times):.3g} times the error" if times else ""
        print(f"{folder.name} {engine}: {alarm or 'healthy'}{bound} ({time.monotonic() - started:.1f} s)", flush=True)
        return folder.name, engine, found, alarm

    findings = []
    with ThreadPoolExecutor(options.jobs) as pool:
        for finding in pool.map(judge, [(folder, engine) for folder in folders for engine in engines]):
            findings.append(finding)
            if options.table:  # all takes long: what is there is kept if it is ended
                options.table.write_text(table(findings))
    times = [each for _, _, found, _ in findings for each in ratios(found)]
    passed = sum(not alarm.startswith("FAIL") for _, _, _, alarm in findings)
    median = f"{statistics.median(times):.3g}" if times else "-"
    print(f"healthy: {passed}/{len(findings)}, median bound {median} times the error")
    return 0 if passed == len(findings) else 1


if __name__ == "__main__":
    sys.exit(main())
