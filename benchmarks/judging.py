"""See benchmarks/judging."""
import argparse
import dataclasses
import os
import pathlib
import subprocess
import sys
import time

from reference import FILLED, ROOT, cpu, filled

SHARED = ROOT.parent / "shared"
RESULT = ROOT / "benchmarks/results/judging.md"


@dataclasses.dataclass
class Cost:
    name: str
    wall: float  # seconds
    user: float
    system: float
    faults: int
    peak: int  # bytes
    status: int  # of the command

    def row(self) -> str:
        verdict = {0: "pass", 1: "not passed"}.get(self.status, f"exit {self.status}")
        return (f"| {self.name} | {self.wall:.1f} | {self.user:.1f} | {self.system:.1f} | {self.faults / 1e3:.0f} | "
                f"{self.peak / 1e6:.0f} | {verdict} |")


def measure(name: str, command: list) -> Cost:
    begin = time.monotonic()
    process = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    return Cost(name, time.monotonic() - begin, used.ru_utime, used.ru_stime, used.ru_minflt, used.ru_maxrss * 1024,
                os.waitstatus_to_exitcode(status))


def models(names: list[str]):
    """Name and folder of what is wanted; those of skeletons are made when they are reached."""
    for kind in ("models", "skeletons"):
        for path in sorted((SHARED / kind).glob("*/model.onnx")):
            if not names or any(name in path.parent.name for name in names):
                yield path.parent.name, kind


def judge(name: str, kind: str, vernier: pathlib.Path) -> Cost:
    if kind == "models":
        data = SHARED / kind / name
        sets = sorted(data.glob("test_data_set_*"))
        arguments = ["--data", data] if sets else []
        return measure(name, [vernier, "run", data / "model.onnx", "--reference", "--cpu", "--quiet", *arguments])
    cost = measure(name, [vernier, "run", filled(name), "--reference", "--cpu", "--quiet"])
    (FILLED / name / "weights.bin").unlink()  # up to hundreds of megabytes each
    return cost


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--limit", type=float, default=30)
    parser.add_argument("--vernier", type=pathlib.Path, default=ROOT / "build/release/bin/vernier")
    arguments = parser.parse_args()
    if not SHARED.is_dir():
        print(f"judging: SKIPPED, {SHARED} is not here")
        return 0
    header = ["| model | wall s | user s | system s | thousand faults | peak MB | verdict |", "|---|---|---|---|---|---|---|"]
    print("\n".join(header))
    costs = []
    for name, kind in models(arguments.names):
        costs.append(judge(name, kind, arguments.vernier))
        print(costs[-1].row(), flush=True)
    if not arguments.names:
        costs.sort(key=lambda cost: -(cost.user + cost.system))
        title = (f"# Cost of a verdict\n\n`benchmarks/judging` on {cpu()}, {os.cpu_count()} cores: `vernier run MODEL --reference --cpu`, "
                 "the models on their recorded data, the skeletons on random inputs.\n")
        RESULT.write_text("\n".join([title, *header, *(cost.row() for cost in costs)]) + "\n")
    late = [cost.name for cost in costs if cost.wall > arguments.limit or cost.status > 1]
    print(f"judging: {len(costs) - len(late)}/{len(costs)} are judged within {arguments.limit:g} s" + (f"; not: {', '.join(late)}" if late else ""))
    return 1 if late or not costs else 0


if __name__ == "__main__":
    sys.exit(main())
