"""See benchmarks/peers/neighbours."""
import argparse
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager

from . import machine, models, results, samples, tasks
from .engines import NAMES
from .host import Host
from .paths import RESULTS
from .vernier_cli import built, key

LEAST = 12  # runs of an engine in a round, however long they take
COLUMNS = ["model", *[f"{name} {percentile}" for name in NAMES.values() for percentile in ("p50", "p99")],
           "ratio p50 (95 %)", "ratio p99 (95 %)", "runs each", "busy", "waited", "verdict"]
HEAD = """# Beside busy processes: Vernier, ONNX Runtime and OpenVINO

`benchmarks/peers/neighbours`. Batch 1, times in ms, each engine in a process of its own with as many threads as there are cores. A
section's busy processes are loops without end, of equal priority and bound to no core. They are started before a window in which one engine
is measured, and ended behind it; windows of the three engines take turns. A ratio is the time of the better peer at that percentile
over Vernier's, with the interval that holds 95 % of those of resampled rounds. *Busy* is what the loops took of the machine's cores, and
*waited* the share of the time in which some task that could run waited for a core (`some` of /proc/pressure/cpu), by engine: without busy
processes it says how quiet the machine was.
"""


class Watch:
    """Counts what the windows of one engine saw of the machine: seconds, of the busy loops' processor, and of tasks that waited."""

    def __init__(self):
        self.wall = self.busy = self.waited = 0.0

    @contextmanager
    def window(self, loops: int):
        processes = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(loops)]
        try:
            time.sleep(0.2 if loops else 0)  # until they run
            begin, waited, busy = time.monotonic(), machine.waiting(), sum(map(processor_seconds, processes))
            yield
            self.wall += time.monotonic() - begin
            self.waited += (machine.waiting() - waited) * 1e-6
            self.busy += sum(map(processor_seconds, processes)) - busy
        finally:
            for process in processes:
                process.kill()
                process.wait()


def processor_seconds(process: subprocess.Popen) -> float:
    return int(open(f"/proc/{process.pid}/schedstat").read().split()[0]) * 1e-9


def measured(host: Host, watch: Watch, loops: int, inputs, seconds: float) -> list[float]:
    with watch.window(loops):
        return host(tasks.times, inputs, seconds, LEAST)


def row(name: str, hosts: dict[str, Host], loops: int, verdict: str, arguments) -> list[str]:
    inputs, watches = models.draw(name), {engine: Watch() for engine in hosts}
    taken = samples.interleaved({engine: lambda engine=engine: measured(hosts[engine], watches[engine], loops, inputs, arguments.seconds)
                                 for engine in hosts}, arguments.rounds)
    cells = [name]
    for engine in NAMES:
        cells += [samples.milliseconds(taken[engine], percent) for percent in (50, 99)] if engine in taken else ["", ""]
    cells += [str(samples.to_better(taken, percent)) for percent in (50, 99)]
    cells.append(" / ".join(str(sum(map(len, taken[engine]))) for engine in hosts))
    cells.append(" / ".join(f"{100 * watch.busy / watch.wall / len(machine.cores()):.0f} %" for watch in watches.values()))
    cells.append(" / ".join(f"{100 * watch.waited / watch.wall:.0f} %" for watch in watches.values()))
    return [*cells, verdict]


def rows(name: str, arguments) -> dict[int, list[str]]:
    """Measures one model, by the number of busy processes. The engine is built while none is there."""
    threads, precision = len(machine.cores()), arguments.precision
    model = models.skeleton(name)
    options = [word for shape in models.shapes(name) for word in ("--opt-shapes", shape)] + (["--bf16"] if precision == "bf16" else [])
    engine_file, verdict = built(key(f"{name} neighbours {precision}"), model, options)
    with ExitStack() as stack:
        hosts = {"vernier": Host("vernier", engine_file=engine_file, threads=threads)}
        if precision == "f32":  # ONNX Runtime has no bfloat16 on the CPU
            hosts["onnxruntime"] = Host("onnxruntime", model=model, threads=threads)
        hosts["openvino"] = Host("openvino", model=model, threads=threads, precision=precision, sizes=models.sizes(name))
        for host in hosts.values():
            stack.enter_context(host)
            host(tasks.times, models.draw(name), 0.5, 3)  # warm
        made = {loops: row(name, hosts, loops, verdict, arguments) for loops in arguments.busy}
    engine_file.unlink()
    return made


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks/peers/neighbours")
    parser.add_argument("--rounds", type=int, default=12, help="windows of each engine")
    parser.add_argument("--seconds", type=float, default=1.0, help=f"of a window, which has {LEAST} runs at least")
    parser.add_argument("--busy", type=int, nargs="+", default=[0, 1, 2], help="numbers of busy processes")
    parser.add_argument("--precision", choices=("f32", "bf16"), default="f32")
    parser.add_argument("models", nargs="*", default=list(models.SKELETONS), help=f"of {', '.join(models.SKELETONS)}")
    arguments = parser.parse_intermixed_args()
    made: dict[int, list[list[str]]] = {loops: [] for loops in arguments.busy}
    for name in arguments.models:
        try:
            found = rows(name, arguments)
        except (RuntimeError, OSError) as error:  # the other rows are wanted all the same
            found = {loops: [name, results.reason(error)] for loops in arguments.busy}
        for loops, cells in found.items():
            made[loops].append(cells)
            print(loops, " | ".join(cells), flush=True)
    path = RESULTS / f"neighbours-{machine.name()}.md"
    sections = results.read_sections(path)
    above = f"{machine.conditions()} {arguments.rounds} windows of {arguments.seconds:g} s for each engine and cell.\n\n"
    for loops, cells in made.items():
        sections[f"{arguments.precision}, {loops} busy"] = above + results.table(COLUMNS, cells)
    results.write_sections(path, HEAD, sections)


if __name__ == "__main__":
    main()
