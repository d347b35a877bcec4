"""See benchmarks/peers/threads."""
import argparse
import json
import pathlib
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

from . import machine, models, results, samples, steadiness, tasks
from .engines import NAMES
from .host import Host
from .paths import RESULTS
from .vernier_cli import built, key

PRECISIONS = {"fp32": "f32", "bf16": "bf16"}
COLUMNS = ["model", *[f"{name} {percentile}" for name in NAMES.values() for percentile in ("p50", "p99")],
           "ratio p50 (95 %)", "ratio p99 (95 %)", "Vernier p99/p50", "runs each", "verdict"]
SESSION_COLUMNS = ["model", *[f"{name}, runs/s" for name in NAMES.values()], "Vernier over the better", "verdict"]
HEAD = """# Threads: Vernier, ONNX Runtime and OpenVINO

`benchmarks/peers/threads`. Batch 1, times in ms. For each number of threads an engine is built, and it and its peers run one after the other, each
in a process of its own that is bound to as many cores; rounds of the three take turns. A ratio is the time of the better peer at that
percentile over Vernier's, with the interval that holds 95 % of those of resampled rounds. *Sessions* are as many runs at the same time as
there are cores, of one thread each, in one process: of ONNX Runtime one session that is called from as many threads, of OpenVINO as many streams.
ONNX Runtime has no bfloat16 on the CPU. *The machine itself* is how far p99 lies above p50 where no engine runs: the same short loop on each core.
"""
FAILURES = (RuntimeError, OSError)
STEADINESS = "the machine itself"  # a section
NOT_REACHED = "not reached in the time of this run"


def sources(name: str, precision: str, threads: int, cores: list[int]) -> tuple[dict[str, dict], str]:
    """Gives what each engine is loaded with, and the verdict of Vernier's, which is built here, on the cores that it will run on."""
    options = [word for shape in models.shapes(name) for word in ("--opt-shapes", shape)] + (["--bf16"] if precision == "bf16" else [])
    model = models.skeleton(name)
    engine_file, verdict = built(key(f"{name} threads {precision} {threads}"), model, [*options, "--threads", threads], cores)
    found = {"vernier": {"engine_file": engine_file}, "onnxruntime": {"model": model},
             "openvino": {"model": model, "precision": PRECISIONS[precision], "sizes": models.sizes(name)}}
    if precision == "bf16":
        del found["onnxruntime"]
    return {engine: {"threads": threads, **each} for engine, each in found.items()}, verdict


def latency(name: str, precision: str, threads: int, arguments) -> list[str]:
    """A row of runs that use so many threads."""
    cores, inputs = machine.cores()[:threads], models.draw(name)
    options, verdict = sources(name, precision, threads, cores)
    with ExitStack() as stack:
        hosts = {engine: stack.enter_context(Host(engine, cores, **each)) for engine, each in options.items()}
        with ThreadPoolExecutor() as pool:  # loading takes longer than measuring
            list(pool.map(lambda host: host(tasks.times, inputs, 0.1), hosts.values()))
        taken = samples.interleaved({engine: lambda host=host: host(tasks.times, inputs, arguments.seconds, arguments.least, 2)
                                     for engine, host in hosts.items()}, arguments.rounds)
    options["vernier"]["engine_file"].unlink()
    cells = [name]
    for engine in NAMES:
        cells += [samples.milliseconds(taken[engine], percent) for percent in (50, 99)] if engine in taken else ["", ""]
    cells += [str(samples.to_better(taken, percent)) for percent in (50, 99)]
    spread = samples.percentile(taken["vernier"], 99) / samples.percentile(taken["vernier"], 50)
    return [*cells, f"{spread:.2f}", " / ".join(str(sum(map(len, rounds))) for rounds in taken.values()), verdict]


def sessions(name: str, precision: str, count: int, arguments) -> list[str]:
    """A row of so many sessions of one thread each."""
    cores, inputs = machine.cores()[:count], models.draw(name)
    options, verdict = sources(name, precision, 1, cores[:1])
    options["openvino"].update(threads=count, streams=count)
    rates = {}
    for engine, each in options.items():
        with Host(engine, cores, **each) as host:
            rates[engine] = host(tasks.throughput, inputs, count, arguments.window)
    options["vernier"]["engine_file"].unlink()
    better = max(rate for engine, rate in rates.items() if engine != "vernier")
    return [name, *[f"{rates[engine]:.0f}" if engine in rates else "" for engine in NAMES], f"**{rates['vernier'] / better:.2f}**", verdict]


def cells(arguments) -> list[tuple[str, str, object, tuple]]:
    """(section, model, what makes its row, its arguments), the largest number of threads first: what is not reached matters least."""
    most, made = len(machine.cores()), []
    for precision in arguments.precision:
        counts = [count for count in reversed(arguments.counts) if count <= most]
        wanted = [(f"{precision}, {count} threads" if count > 1 else f"{precision}, 1 thread", latency, count) for count in counts]
        wanted.insert(max(0, len(wanted) - 1), (f"{precision}, {most} sessions of one thread", sessions, most))
        made += [(section, name, make, (name, precision, count)) for section, make, count in wanted for name in arguments.models]
    return made


def measure(arguments) -> dict[str, list[list[str]]]:
    """The rows of each section. A cell is begun only if the time that is left holds the longest of its model so far."""
    begin, longest, made = time.monotonic(), {}, {}
    for section, name, make, parameters in cells(arguments):
        started = time.monotonic()
        left = arguments.budget - (started - begin)
        if arguments.budget and left < longest.get(name, 30):
            row = [name, NOT_REACHED]
        else:
            try:
                row = make(*parameters, arguments)
            except FAILURES as error:  # the other rows are wanted all the same
                row = [name, results.reason(error)]
            longest[name] = max(longest.get(name, 0), time.monotonic() - started)
        made.setdefault(section, []).append(row)
        print(f"{time.monotonic() - begin:.0f} s", section, " | ".join(row), flush=True)
    return made


def columns(section: str) -> list[str]:
    return steadiness.COLUMNS if section == STEADINESS else SESSION_COLUMNS if "sessions" in section else COLUMNS


def write(path: pathlib.Path, made: dict[str, list[list[str]]], above: dict[str, str]) -> None:
    """`above`: of each section."""
    sections = results.read_sections(path)
    for section, rows in made.items():
        sections[section] = above[section] + results.table(columns(section), rows)
    results.write_sections(path, HEAD, sections)


def merge(files: list[pathlib.Path]) -> None:
    """Puts what runs of a pack have brought back into the results. Of a row that several have, the last that was reached is taken."""
    tables = {}
    for file in files:
        found = json.loads(file.read_text())
        sections = tables.setdefault(found["table"], {})
        for section, rows in found["sections"].items():
            kept, above = sections.setdefault(section, ({}, []))
            reached = {row[0]: row for row in rows if NOT_REACHED not in row}
            kept.update({row[0]: row for row in rows if row[0] not in kept} | reached)
            above += [found["above"].strip()] if reached and found["above"].strip() not in above else []
    for table, sections in tables.items():
        reached = {section: found for section, found in sections.items() if found[1]}
        write(RESULTS / table, {section: list(kept.values()) for section, (kept, _) in reached.items()},
              {section: "\n".join(above) + "\n\n" for section, (_, above) in reached.items()})


def arguments_of(parser: argparse.ArgumentParser) -> argparse.Namespace:
    parser.add_argument("--counts", type=int, nargs="+", default=[1, 2, 4, 8, 16], help="numbers of threads, as far as there are cores")
    parser.add_argument("--precision", choices=PRECISIONS, nargs="+", default=list(PRECISIONS))
    parser.add_argument("--models", nargs="+", default=list(models.SKELETONS), choices=models.SKELETONS)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.3, help="of an engine in a round")
    parser.add_argument("--least", type=int, default=5, help="runs of an engine in a round")
    parser.add_argument("--window", type=float, default=2, help="seconds of each engine's sessions")
    parser.add_argument("--budget", type=float, default=0, help="seconds after which no cell is begun; 0: all are measured")
    parser.add_argument("--out", type=pathlib.Path, help="a folder for the rows as JSON, too")
    parser.add_argument("--merge", type=pathlib.Path, nargs="+", metavar="JSON", help="measures nothing: puts these rows into the table")
    return parser.parse_args()


def main() -> None:
    arguments = arguments_of(argparse.ArgumentParser(prog="benchmarks/peers/threads"))
    if arguments.merge:
        return merge(arguments.merge)
    table = f"threads-{machine.name()}.md"
    above = f"{machine.conditions()} {arguments.rounds} rounds of {arguments.seconds:g} s, and of {arguments.least} runs at least.\n\n"
    cores = machine.cores()
    steady = [steadiness.row(cores[:count]) for count in sorted({*(count for count in arguments.counts if count <= len(cores)), len(cores)})]
    made = {STEADINESS: steady} | measure(arguments)
    write((arguments.out or RESULTS) / table, made, dict.fromkeys(made, above))
    if arguments.out:
        name = f"threads-{machine.name()}-{'-'.join(arguments.precision)}.json"
        (arguments.out / name).write_text(json.dumps({"table": table, "above": above, "sections": made}, indent=1))


if __name__ == "__main__":
    main()
