#!/usr/bin/env python3
"""Diagnoses sound engines of real models: healthy.py SHARED [--engine NAME]... [--table FILE] [--limit SECONDS] [NAME...]

For every model of SHARED/models and every skeleton of SHARED/skeletons, and for every kind of engine, `vernier diagnose` must find
nothing: exit 0, or a model that is ill-conditioned by its own evidence, and no culprit but nodes of which it says that the model is to
blame, and not the engine. All else is a false alarm. Beside that the bounds are told: how many times the error that was met they are,
whose median is to be at most 30, for a bound that is far away from every error would pass every fault.

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

from engine_checks import VERNIER, WORK
from models import small_inputs

ENGINES = {
    "cpu": ["--cpu"],
    "bf16": ["--cpu", "--bf16"],
    "fp16": ["--cpu", "--fp16"],
    "simulated": ["--simulated=1"],
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


def diagnose(model: pathlib.Path, engine: list[str], data: list[str], limit: float) -> dict:
    with tempfile.TemporaryDirectory() as name:
        report = pathlib.Path(name) / "diagnosis.json"
        command = [VERNIER, "diagnose", model, *engine, *data, "--json", report, "--quiet"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=limit)
        except subprocess.TimeoutExpired:
            return {"error": f"not done after {limit:.0f} s"}
        if done.returncode not in (0, 1) or not report.exists():
            return {"error": f"exit {done.returncode}: {done.stderr.strip()[-300:]}"}
        return json.loads(report.read_text())


def alarm_of(found: dict) -> str:
    """Empty where nothing was found; a remark where the model is ill-conditioned; else `FAIL …`."""
    if "error" in found:
        return f"FAIL {found['error']}"
    if found["healthy"]:
        return ""
    conditioned = any("ill-conditioned" in each["sentence"] for each in found["split"])
    of_model = all("not the engine, but the model" in each["sentence"] for each in found["culprits"])
    if (conditioned and of_model) or (not found["culprits"] and found["verdict"] == "mistrusted"):
        return f"{found['verdict']}: {found['sentence']}"
    return f"FAIL {found['sentence']}"


def ratios(found: dict) -> list[float]:
    """How many times the error is below its bound, by output."""
    pairs = [(each["bound"], each["needs"]) for each in found.get("split", [])]
    return [bound / needs for bound, needs in pairs if isinstance(bound, float) and isinstance(needs, float) and needs > 0]


def main() -> int:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("shared", type=pathlib.Path)
    arguments.add_argument("--engine", action="append", choices=ENGINES)
    arguments.add_argument("--limit", type=float, default=300)
    arguments.add_argument("--table", type=pathlib.Path)
    arguments.add_argument("names", nargs="*")
    options = arguments.parse_intermixed_args()
    folders = sorted(folder for kind in ("models", "skeletons") for folder in (options.shared / kind).iterdir() if folder.is_dir())
    folders = [folder for folder in folders if not options.names or any(name in folder.name for name in options.names)]
    passed, judged, known, rows = 0, 0, [], []
    for folder in folders:
        model, data = words_of(folder)
        for engine in options.engine or ["cpu", "bf16", "fp16", "onnxruntime"]:
            started = time.monotonic()
            found = diagnose(model, ENGINES[engine], data, options.limit)
            verdict, seconds = alarm_of(found), time.monotonic() - started
            judged += 1
            passed += not verdict.startswith("FAIL")
            times = ratios(found)
            known += times
            bound = f", bounds {min(times):.3g} to {max(times):.3g} times the error" if times else ""
            print(f"{folder.name} {engine}: {verdict or 'healthy'}{bound} ({seconds:.1f} s)", flush=True)
            rows += [f"| {folder.name} | {engine} | {each['output']} | {each['needs']} | {each['bound']} |" for each in found.get("split", [])]
    if options.table:
        options.table.write_text("\n".join(["| model | engine | output | error | bound |", "|---|---|---|---|---|", *rows]) + "\n")
    median = f"{statistics.median(known):.3g}" if known else "-"
    print(f"healthy: {passed}/{judged}, median bound {median} times the error")
    return 0 if passed == judged else 1


if __name__ == "__main__":
    sys.exit(main())
