#!/usr/bin/env python3
"""Diagnoses sound engines of real models: healthy.py SHARED [--engine NAME]... [--table FILE] [--limit SECONDS] [--jobs N] [NAME...]

For every model of SHARED/models and every skeleton of SHARED/skeletons, and for every kind of engine, `vernier diagnose` must find
nothing: exit 0, or a model that is ill-conditioned by its own evidence, and no root cause but nodes of which it says that the model is to
blame, and not the engine; or, in float16, values of the model that this type does not hold; or, in int8, a plan that costs the model more
than rounding explains, as scales do that serve one sample and not the other, those that a model has itself, too. All else is a false
alarm. Beside that the bounds are told: how many times the error that was met they are, whose median is to be at most 30, for a bound that
is far away from every error would pass every fault.

The last line is "healthy: N/M, median bound K times the error".
"""
import argparse
import collections
import json
import math
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
            known = failure.returncode == 2 and "nothing that int8 quantizes" in failure.stderr
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
    amplifies = any("the model turns rounding into large errors" in each["sentence"] for each in found["culprits"])
    conditioned = amplifies or any("ill-conditioned" in each["sentence"] for each in found["split"])
    of_model = all("not the engine, but the " in each["sentence"] for each in found["culprits"])
    of_scales = all("not the engine, but the scales of the model" in each["sentence"] for each in found["culprits"])
    of_plan = all("not the engine, but the precision that its plan asks for" in each["sentence"] for each in found["culprits"])
    if found["culprits"] and of_scales and "is sound" in found["sentence"]:
        return f"cost of the scales: {found['sentence']}"
    if "int8" in engine and of_plan and "is sound" in found["sentence"]:
        return f"cost of the plan: {found['sentence']}"
    if "fp16" in engine and found["culprits"] and all(each["class"] == "B2" and "float16 ends at" in each["sentence"] for each in found["culprits"]):
        return f"outside the range of float16: {found['culprits'][0]['sentence']}"
    if (conditioned and of_model) or (not found["culprits"] and found["verdict"] == "mistrusted"):
        return f"ill-conditioned: {found['sentence']}"
    return f"FAIL {found['sentence']}"


def ratios(found: dict) -> list[float]:
    """How many times the error is below its bound, by output."""
    pairs = [(each["bound"], each["needs"]) for each in found.get("split", [])]
    return [bound / needs for bound, needs in pairs if isinstance(bound, float) and isinstance(needs, float) and needs > 0]


def processor() -> str:
    lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "an unknown processor")


class Table:
    """Errors and bounds by model, engine and output, in a file. What is not measured again stays as it was measured before."""

    TITLES = ["model", "engine", "output", "error", "bound", "remark", "commit"]

    def __init__(self, file: pathlib.Path):
        self.file = file
        lines = file.read_text().splitlines() if file.exists() else []
        cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line.startswith("|")]
        self.rows = [row for row in cells if len(row) == len(self.TITLES) and row[1] in ENGINES]
        done = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, cwd=WORK)
        self.commit = done.stdout.strip()

    def add(self, model: str, engine: str, found: dict, alarm: str) -> None:
        self.rows = [row for row in self.rows if row[:2] != [model, engine]]
        is_alarm = alarm.startswith("FAIL")
        for each in found.get("split", []) or [{"output": "-", "needs": "-", "bound": "-", "sentence": ""}]:
            remark = "alarm" if is_alarm else "ill-conditioned" if "ill-conditioned" in each["sentence"] else alarm.split(":")[0]
            self.rows.append([model, engine, each["output"], figure(each["needs"]), figure(each["bound"]), remark, self.commit])
        self.rows.sort(key=lambda row: (row[0], list(ENGINES).index(row[1])))
        self.file.write_text(self.text())

    def summary(self, engine: str) -> list[str]:
        """Summarises one engine, or "all"."""
        own = [row for row in self.rows if engine in (row[1], "all")]
        models = {(row[0], row[1]) for row in own}
        alarms = {(row[0], row[1]) for row in own if row[5] == "alarm"}
        times = [float(bound) / float(error) for _, _, _, error, bound, _, _ in own if is_number(error) and is_number(bound) and float(error) > 0]
        known = [f"{function(times):.3g}" for function in (statistics.median, min, max)] if times else ["-"] * 3
        return [engine, str(len(models)), str(len(alarms)), str(len(times)), *known]

    def remarks(self) -> list[str]:
        """How many diagnoses have each."""
        count = collections.Counter(remark for _, _, remark in {(row[0], row[1], row[5]) for row in self.rows if row[5]})
        return [f"{remark} {times}" for remark, times in count.most_common()]

    def text(self) -> str:
        line = lambda cells: f"| {' | '.join(cells)} |"
        rule = lambda count: f"|{'---|' * count}"
        titles = ["engine", "diagnoses", "false alarms", "outputs with an error", "median times", "smallest", "largest"]
        engines = [engine for engine in ENGINES if any(row[1] == engine for row in self.rows)]
        return "\n".join(
            [
                "# Errors of sound engines, and their derived bounds",
                "",
                f"`benchmarks/bounds` on {processor()}. Relative L2 of an output from the reference in the types that the engine was told",
                "(`diagnose`: needs, bound). Times: the bound over the error, where there is one. Rows are measured at the commit that they name.",
                "",
                line(titles),
                rule(len(titles)),
                *(line(self.summary(engine)) for engine in [*engines, "all"]),
                "",
                "Remarks, where a sound engine is not simply healthy: " + "; ".join(self.remarks()) + ".",
                "",
                line(self.TITLES),
                rule(len(self.TITLES)),
                *map(line, self.rows),
                "",
            ]
        )


def is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def figure(number) -> str:
    return f"{number:.3g}" if isinstance(number, (int, float)) else str(number)


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
    table = Table(options.table) if options.table else None
    with ThreadPoolExecutor(options.jobs) as pool:
        for finding in pool.map(judge, [(folder, engine) for folder in folders for engine in engines]):
            findings.append(finding)
            if table:  # all takes long: what is there is kept if it is ended
                table.add(*finding)
    times = [each for _, _, found, _ in findings for each in ratios(found)]
    passed = sum(not alarm.startswith("FAIL") for _, _, _, alarm in findings)
    median = f"{statistics.median(times):.3g}" if times else "-"
    print(f"healthy: {passed}/{len(findings)}, median bound {median} times the error")
    return 0 if passed == len(findings) else 1


if __name__ == "__main__":
    sys.exit(main())
