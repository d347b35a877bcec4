"""Checks of several sessions, GPUs, processes and files, and NVIDIA's sanitizers (suite.py)."""
import concurrent.futures
import json
import pathlib
import re
import shutil
import sys
import threading
import time

TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
PARTS = 64  # of the backend tests, a process each


def build(suite, folder, gpu, to):
    """An engine file in fp16 by the timings of the first build; seconds."""
    cache = suite.out / f"timings-{folder.name}.json"
    status, output, took = suite.run([suite.program("vernier"), "build", folder / "model.onnx", f"--cuda={gpu}", "--fp16", "--no-verify", "--timing-cache", cache, "-o", to], 120)
    if status != 0:
        suite.row("FAIL", f"build {folder.name}", output.strip()[-200:])
    return took if status == 0 else None


def files(suite):
    for folder in suite.arguments.models:
        file = suite.out / "fp16.engine"
        cold, warm = build(suite, folder, 0, file), build(suite, folder, 0, file)
        report = suite.out / "bench.json"
        status, output, _ = suite.run([suite.program("vernier"), "bench", file, "--duration", "0.5", "--json", report], 60)
        if status != 0 or cold is None or warm is None:
            suite.row("FAIL", f"file {folder.name}", output.strip()[-200:])
            continue
        told = json.loads(report.read_text())
        suite.row("OK", f"file {folder.name} fp16", f"built in {cold:.1f} s, in {warm:.1f} with the timing cache; {file.stat().st_size / 1e6:.1f} MB; "
                  f"load {told['load_ms']:.0f} ms, first run {told['first_run_ms']:.0f} ms, p50 {told['latency_ms']['p50']:.3f} ms")
        file.unlink()


def sessions(suite, threads=16, runs=10000):
    """Every bit is compared; memory of the GPU is read meanwhile."""
    memory, over = [], threading.Event()

    def watch():
        while not over.wait(1):
            _, output, _ = suite.run(["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits", "-i", "0"], 10)
            memory.append(int(output.split()[0]) if output.split()[:1] and output.split()[0].isdigit() else 0)

    watcher = threading.Thread(target=watch)
    watcher.start()
    status, output, took = suite.run([suite.program("api_many_threads"), threads, runs, "cuda", suite.arguments.programs / "digits.onnx"], 200)
    over.set()
    watcher.join()
    used = [each for each in memory if each > 0]
    half = len(used) // 2
    suite.row("OK" if status == 0 else "FAIL", "sessions", f"{output.strip()[-200:]}; exit {status} after {took:.0f} s; memory of the GPU at most "
              f"{max(used[:half], default=0)} MiB in the first half, {max(used[half:], default=0)} in the second")


def faults(suite):
    """An injected fault is found at its node, and named by a diagnosis; the same engines without it pass."""
    folder = suite.arguments.faults
    found, missed, sound = 0, [], set()
    for case in json.loads((folder / "cases.json").read_text()):
        reference = "--reference=planned" if case["options"] else "--reference"
        engine = [suite.program("vernier"), "run", folder / f"{case['model']}.onnx", reference, "--cuda", *case["options"], "--layers"]
        key = (case["model"], *case["options"])
        if key not in sound:
            sound.add(key)
            status, output, _ = suite.run(engine, 60)
            if status != 0:
                suite.row("FAIL", f"without a fault {' '.join(key)}", output.strip()[-200:])
        report = suite.out / "fault.json"
        if case["node"] is None:
            engine = [suite.program("vernier"), "build", folder / f"{case['model']}.onnx", "--cuda", "--opt-level", "0"]
        for fault in [case["fault"].replace("*", str(number)) for number in range(20 if "*" in case["fault"] else 1)]:
            report.unlink(missing_ok=True)
            status, output, _ = suite.run([*engine, "--inject-fault", fault, "--json", report], 60)
            if status == 1:
                break
        compared = json.loads(report.read_text()).get("comparisons") if report.exists() else None
        difference = compared[0].get("first_difference") if compared else None
        is_found = status == 1 and (case["node"] is None or (difference is not None and case["node"] in difference["nodes"]))
        if is_found and case["says"]:
            status, output, _ = suite.run([suite.program("vernier"), "diagnose", folder / f"{case['model']}.onnx", "--cuda", *case["options"], "--inject-fault", case["fault"]], 120)
            is_found = status == 1 and case["says"] in output
        found += is_found
        if not is_found:
            missed.append(f"{case['fault']} in {' '.join(key)}: exit {status}, {difference and difference['nodes']}")
    suite.row("FAIL" if missed else "OK", "faults", f"{found} found, at the node where the case names one, {len(missed)} not{': ' + '; '.join(missed) if missed else ''}")


def torch(suite):
    """Each line of torch_memory.py is a row."""
    script = pathlib.Path(__file__).parent / "torch_memory.py"
    for folder in suite.arguments.models:
        status, output, _ = suite.run([sys.executable, script, folder / "model.onnx"], 200)
        rows = re.findall(r"^(OK|FAIL) +(.+?): (.*)$", output, re.M)
        for state, check, text in rows:
            suite.row(state, f"torch {folder.name} {check}", text)
        if not rows:
            suite.row("FAIL", f"torch {folder.name}", f"exit {status}: {output.strip()[-300:]}")


def per_second(suite, file, seconds):
    _, output, _ = suite.run([suite.program("vernier"), "bench", file, "--duration", seconds], 60)
    found = re.search(r"throughput: *([\d.]+)", output)
    return float(found[1]) if found else 0.0


def two(suite):
    for folder in suite.arguments.models:
        engines = [suite.out / f"{gpu}.engine" for gpu in (0, 1)]
        if None in [build(suite, folder, gpu, engine) for gpu, engine in enumerate(engines)]:
            continue
        command = [suite.program("vernier"), "run", folder / "model.onnx", "--engine", engines[0], "--engine", engines[1], "--atol", "0", "--rtol", "0", "--samples", "3"]
        status, _, _ = suite.run(command, 200)
        alone = [per_second(suite, engine, 2) for engine in engines]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            both = list(pool.map(lambda engine: per_second(suite, engine, 4), engines))
        ratio = 2 * sum(both) / max(sum(alone), 1e-9)
        suite.row("OK" if status == 0 and ratio >= 1.9 else "FAIL", f"two {folder.name} fp16", f"{'the same bits' if status == 0 else 'bits differ'}; runs a second alone "
                  f"{alone[0]:.0f} and {alone[1]:.0f}, beside each other {both[0]:.0f} and {both[1]:.0f}: {ratio:.2f} times one")
        for engine in engines:
            engine.unlink()


def sanitized(suite, program, tool, part):
    """The cases that passed and were run, what the tool found, and whether it lost track of a captured graph; None where time ran out."""
    command = [program, "--tool", tool, "--error-exitcode", "9", suite.program("conformance"), suite.arguments.cases, suite.arguments.expected, "--cuda", f"--part={part}/{PARTS}"]
    status, output, _ = suite.run(command, suite.arguments.seconds)
    cases = re.search(r"^conformance: (\d+)/(\d+)$", output, re.M)
    found = [line for line in re.findall(r"^========= (.*)$", output, re.M) if re.match(r"Invalid|Uninitialized|Barrier|Error: |.*(hazard|Race) (detected|reported)", line)]
    found = [f"{line} (--part={part}/{PARTS})" for line in found]
    lost_track = "Internal Sanitizer Error" in output
    if status != 0 and not found and not lost_track:
        found = [f"exit {status} without a finding: {output.strip()[-150:]}"]
    return None if status == 124 else (int(cases[1]) if cases else 0, int(cases[2]) if cases else 0, found, lost_track)


def sanitizers(suite):
    program = shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"
    for tool in TOOLS:
        began = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(suite.arguments.jobs) as pool:
            results = list(pool.map(lambda part: sanitized(suite, program, tool, part), range(0, PARTS, suite.arguments.sample)))
        ended = [each for each in results if each is not None]
        passed, cases = sum(each[0] for each in ended), sum(each[1] for each in ended)
        found = [line for each in ended for line in each[2]]
        sound = cases > 0 and not found and len(ended) == len(results)
        suite.row("OK" if sound else "FAIL", f"sanitizer {tool}", f"{passed}/{cases} backend tests in {len(ended)} of {len(results)} processes, {len(found)} findings, {sum(each[3] for each in ended)} lost track of captured graphs, "
                  f"{time.monotonic() - began:.0f} s{': ' + found[0] if found else ''}")
