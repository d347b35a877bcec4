"""See benchmarks/peers/run."""
import argparse
import json
import math
import pathlib
import sys

from . import machine, models
from .paths import RESULTS, WORK
from .results import read_sections, reason, write_sections
from .vernier_cli import built, key, vernier

RUNNER = f"{sys.executable} {pathlib.Path(__file__).parents[1] / 'openvino_runner.py'}"
# Each table is run with these: options of the build, of the peers; whether the model is the quantized one; images at a time.
TABLES = {
    "fp32": {"build": [], "openvino": "f32"},
    "fp32 exact": {"build": ["--forbid", "approximate"], "openvino": "f32"},
    "fp32 batch 8": {"build": [], "openvino": "f32", "batch": 8},
    "fp32 batch 32": {"build": [], "openvino": "f32", "batch": 32},
    "bf16": {"build": ["--bf16"], "openvino": "bf16"},
    "int8": {"build": [], "openvino": "f32", "quantized": True},
}
limit: list[str] = []  # --isa LEVEL, of each command that makes or runs an engine


def fallbacks(report: dict) -> str:
    """The share of the time that the reference takes, where there is no kernel."""
    return f"{100 * report['fallback']['share']:.1f} %"


def bench(name: str, source: pathlib.Path, engine: pathlib.Path, data: list, options: list) -> dict:
    """As `vernier bench --json` gives it."""
    out = WORK / f"{name}.json"
    run = vernier("bench", source, "--engine", engine, *data, *options, *limit, "--profile", "--json", out, "--quiet")
    if run.returncode != 0:
        raise RuntimeError(f"{name}: {run.stderr.strip()}")
    return json.loads(out.read_text())


def accuracy(name: str, table: dict, source: pathlib.Path, engine: pathlib.Path, data: list[str],
             skeleton: pathlib.Path) -> dict[str, float]:
    """Relative L2 of each runner against the float model in double, the largest of all outputs."""
    out, ideal = WORK / f"{name}.accuracy.json", WORK / f"{name}.ideal.run"
    vernier("run", skeleton, *data, "--reference=ideal", "--save-run", ideal, "--quiet")
    vernier("run", source, *data, "--load-run", ideal, "--engine", engine, *limit, "--onnxruntime", "--runner", f"openvino={RUNNER}",
            "--runner-option", f"precision={table['openvino']}", "--json", out, "--quiet")
    errors = {}
    for comparison in json.loads(out.read_text())["comparisons"]:
        values = [tensor["metrics"]["relative_l2"] for tensor in comparison["tensors"] if tensor.get("metrics")]
        errors[comparison["actual"]] = max((v for v in values if v is not None), default=math.nan)
    return errors


def costs(report: dict, count: int = 3) -> str:
    """Says what the time goes to, by kernel."""
    sums: dict[str, float] = {}
    for step in report.get("profile", {}).get("steps", []):
        kind = step["kernel"] or "reference"
        sums[kind] = sums.get(kind, 0) + step["ms"]
    total = sum(sums.values()) or 1
    top = sorted(sums.items(), key=lambda item: -item[1])[:count]
    return ", ".join(f"{kernel} {100 * ms / total:.0f} %" for kernel, ms in top)


def row(table_name: str, name: str) -> str:
    table, target = TABLES[table_name], models.TARGETS[table_name][name]
    skeleton = models.skeleton(name)
    source = models.quantized(name) if table.get("quantized") else skeleton
    data = [word for text in models.shapes(name, table.get("batch", 1)) for word in ("--shapes", text)]
    file = key(f"{name} {table_name}")
    # bf16 is asked of OpenVINO alone: ONNX Runtime has none on the CPU.
    versus = [] if table["openvino"] == "bf16" else ["--vs", "onnxruntime"]
    versus += ["--vs", f"openvino={RUNNER}", "--vs-option", f"precision={table['openvino']}", "--duration", 3]
    engine, verdict = built(file, source, [word.replace("--shapes", "--opt-shapes") for word in data] + table["build"] + limit)
    report, errors = bench(file, source, engine, data, versus), accuracy(file, table, source, engine, data, skeleton)
    engine.unlink()
    best = min(report["versus"], key=lambda other: other["latency_ms"]["p50"])
    cells = [name, f"{report['latency_ms']['p50']:.2f}"]
    for peer in ("onnxruntime", "openvino"):
        found = next((other for other in report["versus"] if other["runner"].startswith(peer)), None)
        cells.append(f"{found['latency_ms']['p50']:.2f}" if found else "")
    low, high = best["ci95"]
    met = best["ratio"] >= target and verdict.startswith("pass")
    cells += [f"**{best['ratio']:.2f}** ({low:.2f} to {high:.2f})", f"{target:.2f}", "met" if met else "missed", verdict]
    cells += [f"{errors[runner]:.1e}" if runner in errors else "" for runner in ("engine", "onnxruntime", "openvino")]
    return "| " + " | ".join([*cells, fallbacks(report), costs(report)]) + " |"


def tables(wanted: list[str]) -> dict[str, list[str]]:
    made = {}
    for table_name in (name for name in TABLES if name in wanted or name.split()[0] in wanted):
        lines = made[table_name] = ["| model | Vernier ms | ONNX Runtime ms | OpenVINO ms | ratio to the better (95 %) | target | | verdict | "
                  "rel. L2 Vernier | ONNX Runtime | OpenVINO | fallbacks | most of Vernier's time |", "|" + "---|" * 13]
        for name in models.TARGETS[table_name]:
            try:
                lines.append(row(table_name, name))
            except Exception as error:  # of a peer's tools comes anything; the other rows are wanted all the same
                lines.append(f"| {name} | {reason(error)} |" + " |" * 11)
            print(lines[-1], flush=True)
    return made


def small_models() -> list[str]:
    """All real models against ONNX Runtime, with their recorded inputs."""
    lines = ["| model | Vernier ms | ONNX Runtime ms | ratio (95 %) | verdict | fallbacks | most of Vernier's time |", "|" + "---|" * 7]
    ratios = {}
    for source in models.small():
        name, data = source.parent.name, source.parent / "test_data_set_0"
        try:
            engine, verdict = built(name, source, ["--data", data, *models.recorded_shapes(source), *limit])
            report = bench(name, source, engine, ["--data", data], ["--vs", "onnxruntime", "--duration", 0.7, "--warmup", 0.2])
        except Exception as error:
            lines.append(f"| {name} | {reason(error)} |" + " |" * 5)
            continue
        engine.unlink()
        other = report["versus"][0]
        ratios[name] = other["ratio"]
        low, high = other["ci95"]
        lines.append(f"| {name} | {report['latency_ms']['p50']:.3f} | {other['latency_ms']['p50']:.3f} | {other['ratio']:.2f} ({low:.2f} to {high:.2f}) | {verdict} | {fallbacks(report)} | {costs(report)} |")
        print(lines[-1], flush=True)
    mean = math.exp(sum(map(math.log, ratios.values())) / max(1, len(ratios)))
    slow = sorted(name for name, ratio in ratios.items() if ratio < 0.9)
    lines.append(f"\nGeometric mean of {len(ratios)}: **{mean:.2f}** (target 1.3); below 0.9: {', '.join(slow) or 'none'} (target: none).")
    print(lines[-1])
    return lines


SMALL = "The real models of ../shared/models, as declared"
NOTES = "Why targets are missed"  # written by hand
HEAD = """# CPU: Vernier, ONNX Runtime and OpenVINO

`benchmarks/peers/run [--isa LEVEL] [fp32|bf16|int8|small…]`. Batch 1, unless the section says another; medians in ms, runs of all in turn, each in a process of its own with all cores; the
ratio is the peer's time over Vernier's, with the interval that holds 95 % of bootstrapped medians. Vernier's engine is the file that
`vernier build` writes for these sizes, with the verdict of that build: the engine against what it promises, on random inputs (the real
models: on theirs). Where tactics that approximate are too much for a model, the build gives up some of them, or all, and the column says so.
Relative L2 is against the float model in double without any rounding, in int8, too. `fp32 exact` is built with `--forbid approximate`.
*Fallbacks* is the share of the time in which the reference computes what has no kernel.
"""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--isa", choices=("avx2", "avx512", "amx"), help="what Vernier uses at most")
    parser.add_argument("tables", nargs="*", default=["fp32", "bf16", "int8", "small"])
    arguments = parser.parse_args()
    if arguments.isa:
        limit.extend(["--isa", arguments.isa])
    wanted = arguments.tables
    WORK.mkdir(parents=True, exist_ok=True)
    isa = arguments.isa or ""
    path = RESULTS / f"cpu-{machine.name(isa)}.md"
    sections = read_sections(path)
    above = machine.conditions(isa) + "\n\n"
    for name, lines in tables(wanted).items():
        sections[name] = above + "\n".join(lines)
    if "small" in wanted:
        sections[SMALL] = above + "\n".join(small_models())
    write_sections(path, HEAD, sections, [*TABLES, SMALL, NOTES])


if __name__ == "__main__":
    main()
