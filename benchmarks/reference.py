"""See benchmarks/reference."""
import json
import os
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
SKELETONS = ROOT.parent / "shared/skeletons"
FILLED = ROOT / "build/skeletons"
BIN = ROOT / "build/release/bin"

# Skeleton, shapes, target of a run and of the import beyond reading (weights are mapped, so the import reads none), in seconds.
MODELS = [
    ("resnet50.ts", ["input:1x3x224x224"], 2.5, 0.3),
    ("bert_base.ts", ["input0:1x128", "input1:1x128"], 3.0, None),
]


def filled(name: str) -> pathlib.Path:
    model = FILLED / name / "model.onnx"
    if not (model.parent / "weights.bin").exists():
        subprocess.run([sys.executable, SKELETONS / "fill_weights.py", name, "--to", FILLED], check=True)
    return model


def measure(name: str, shapes: list[str]) -> dict:
    out = subprocess.run([BIN / "reference_bench", filled(name), "5", *shapes], check=True, capture_output=True, text=True).stdout
    return json.loads(out)


def layers() -> tuple[float, int]:
    """Seconds and bytes (Vernier and ONNX Runtime at their peaks, added) of run --layers on ResNet-50."""
    command = [BIN / "vernier", "run", filled("resnet50.ts"), "--reference", "--onnxruntime", "--layers", "--shapes", "input:1x3x224x224", "--quiet"]
    before = time.monotonic()
    process = subprocess.Popen(["/usr/bin/env", "python3", "-c", CHILD, *map(str, command)], stdout=subprocess.PIPE, text=True)
    out, _ = process.communicate()
    return time.monotonic() - before, int(out.split()[-1])


# Runs a command and prints the peak of the sum of resident memory of it and its children, sampled.
CHILD = r"""
import os, subprocess, sys, time
process = subprocess.Popen(sys.argv[1:])
def resident(pid):
    try:
        total = int(open(f"/proc/{pid}/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        for task in os.listdir(f"/proc/{pid}/task"):
            for child in open(f"/proc/{pid}/task/{task}/children").read().split():
                total += resident(int(child))
        return total
    except OSError:
        return 0
peak = 0
while process.poll() is None:
    peak = max(peak, resident(process.pid))
    time.sleep(0.005)
print(peak)
"""


def cpu() -> str:
    for line in open("/proc/cpuinfo"):
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return "unknown"


def main() -> None:
    lines = [f"# Cost of the reference\n\n`benchmarks/reference` on {cpu()}, {os.cpu_count()} cores. Medians of 5 runs, float32 model, declared mode.\n",
             "| model | run s (target) | fastest s | import s (target) | weights MB | largest live set MB | peak MB | bound: 3 x weights + 2 x live |",
             "|---|---|---|---|---|---|---|---|"]
    for name, shapes, run_target, import_target in MODELS:
        m = measure(name, shapes)
        bound = (3 * m["weights_bytes"] + 2 * m["live_bytes"]) / 1e6
        lines.append(f"| {name} | {m['run_s']:.2f} ({run_target}) | {m['run_min_s']:.2f} | {m['import_s']:.3f} ({import_target or '-'}) | "
                     f"{m['weights_bytes'] / 1e6:.0f} | {m['live_bytes'] / 1e6:.1f} | {m['peak_rss_bytes'] / 1e6:.0f} | {bound:.0f} |")
    seconds, peak = layers()
    lines.append(f"\n`vernier run resnet50.ts --reference --onnxruntime --layers`: {seconds:.1f} s (target 10), {peak / 1e9:.2f} GB with ONNX Runtime's process (target 1.5).")
    text = "\n".join(lines) + "\n"
    (ROOT / "benchmarks/results/reference.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
