#!/usr/bin/env python3
"""Tests what the CUDA backend does on a machine with a GPU: suite.py --programs FOLDER --suites NAME... (run.sh calls it)

Each check is a process of its own with a time limit, so that one that hangs, or loses the device, leaves the others alone. Rows go to
the output and to --out/report.txt, whole outputs to --out/full.log. Exit 1 if a check failed.
  - versions: card and driver, and the libraries that the engines say they run with;
  - conformance: ONNX's backend tests on the GPU, shared by --jobs processes; a case behind one that lost the device is run again;
  - models: `vernier run MODEL --reference --cuda` in the precisions of --precisions, on random inputs, and `vernier bench`, once more with the options of --also;
  - real: real.py;
  - files, sessions, two, torch, faults, sanitizers: several.py;
  - stories: stories.py;
  - products: folders of products.py, int8_products.py and recurrent.py, which are run as they are declared, and on their integers, where every bit has to be that of the reference;
Needs nothing but Python, and what `vernier` needs: a driver and NVRTC; cuBLASLt and cuDNN are used where they are.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import time

import real
import several
import stories


class Suite:
    def __init__(self, arguments):
        self.arguments = arguments
        self.failed = 0
        self.libraries = None
        self.out = arguments.out
        self.out.mkdir(parents=True, exist_ok=True)
        self.table = open(self.out / "report.txt", "a")
        self.log = open(self.out / "full.log", "w")

    def row(self, state, check, text):
        line = f"{state:5s} {check:28s} {text}"
        print(line, flush=True)
        print(line, file=self.table, flush=True)
        self.failed += state == "FAIL"

    def run(self, command, seconds):
        began = time.monotonic()
        try:
            environment = dict(os.environ, LD_LIBRARY_PATH=str(self.arguments.programs / "lib"), PYTHONPATH=str(self.arguments.programs / "python"))
            done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=seconds, env=environment)
            status, output = done.returncode, done.stdout + done.stderr
        except subprocess.TimeoutExpired as late:
            status = 124
            output = "".join(part.decode(errors="replace") if isinstance(part, bytes) else part or "" for part in (late.stdout, late.stderr))
        took = time.monotonic() - began
        self.log.write(f"=== {took:.1f} s, exit {status}: {' '.join(map(str, command))}\n{output}\n")
        self.log.flush()
        return status, output, took

    def program(self, name):
        return self.arguments.programs / "bin" / name

    def versions(self):
        self.row("INFO", "commit", self.arguments.commit)
        _, card, _ = self.run(["nvidia-smi", "--query-gpu=name,driver_version,memory.total,clocks.sm,power.limit", "--format=csv,noheader"], 30)
        self.row("INFO", "card", card.strip().splitlines()[0] if card.strip() else "nvidia-smi says nothing")

    # The part of the cases that one process takes: those that failed, by name, and how many passed of how many.
    def part(self, index, count):
        command = [self.program("conformance"), self.arguments.cases, self.arguments.expected, "--cuda", f"--part={index}/{count}"]
        status, output, _ = self.run(command, self.arguments.seconds)
        failures = dict(re.findall(r"^(test_\S+): (.*)$", output, re.M))
        last = re.search(r"^conformance: (\d+)/(\d+)$", output, re.M)
        if last is None:
            return {f"part {index}": f"exit {status}: {output.strip()[-300:]}"}, 0, 0
        return failures, int(last[1]), int(last[2])

    def conformance(self):
        count = self.arguments.jobs
        began = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(count) as pool:
            parts = list(pool.map(lambda index: self.part(index, count), range(count)))
        failures = {name: why for part, _, _ in parts for name, why in part.items()}
        passed, cases = sum(part[1] for part in parts), sum(part[2] for part in parts)
        # Cases behind one that lost the device say nothing of themselves.
        again = [name for name, why in failures.items() if "is lost for this process" in why]
        for name in again[: self.arguments.most_again]:
            status, output, _ = self.run([self.program("conformance"), self.arguments.cases, self.arguments.expected, "--cuda", name], 60)
            if status == 0:
                passed += 1
                del failures[name]
            else:
                found = re.search(rf"^{re.escape(name)}: (.*)$", output, re.M)
                failures[name] = found[1] if found else f"exit {status}"
        listed = {line.split("\t")[0] for line in self.arguments.expected.read_text().splitlines() if line and line[0] != "#"}
        unexpected = {name: why for name, why in failures.items() if "is listed" not in why}
        (self.out / "conformance.tsv").write_text("".join(f"{name}\t{why}\n" for name, why in sorted(unexpected.items())))
        self.row("FAIL" if unexpected else "OK", "conformance --cuda", f"{passed}/{cases} pass ({len(listed)} are listed as failing), {len(unexpected)} fail, "
                 f"{len(again)} run again after a lost device; {time.monotonic() - began:.0f} s in {count} processes")
        for name, why in sorted(unexpected.items())[:60]:
            self.row("FAIL", name[:60], why[:220])

    # The row of the versions that an engine says it runs with, once.
    def tell_libraries(self, result):
        for key, value in sorted(result.get("environment", {}).items()):
            if key.endswith("accelerators") and self.libraries != value:
                self.libraries = value
                self.row("INFO", "libraries", value)

    def bench(self, folder, precision, options, label):
        status, output, _ = self.run([self.program("vernier"), "bench", folder / "model.onnx", "--cuda", *options, *self.arguments.bench.split()], self.arguments.seconds)
        found = [line for line in output.splitlines() if re.search(r"^ +cuda +[\d.]+ |latency, ms|throughput|fallbacks|captured|^ +accuracy", line)]
        self.row("OK" if status == 0 else "FAIL", f"{label} {folder.name} {precision}", " | ".join(" ".join(line.split()) for line in found)[:400] or output.strip()[-200:])

    def model(self, folder, precision, timed=True):  # products have their types, and are not timed
        options = [] if precision == "fp32" else [f"--{precision}"]
        report = self.out / "report.json"
        report.unlink(missing_ok=True)
        reference = ["--reference"] if precision == "fp32" else ["--reference=planned"]
        status, output, took = self.run([self.program("vernier"), "run", folder / "model.onnx", *reference, "--cuda", *options, "--seed", "1", "--json", report],
                                        self.arguments.seconds)
        text = output.strip().splitlines()[-1][:150] if output.strip() else ""
        try:
            result = json.loads(report.read_text())
            self.tell_libraries(result)
            text = f"{result.get('verdict', '?')}; {text}"
        except (OSError, ValueError):
            pass
        self.row("OK" if status == 0 else "FAIL", f"run {folder.name}{' ' + precision if timed else ''}", f"exit {status} after {took:.0f} s; {text}")
        if not timed:
            _, output, _ = self.run([self.program("vernier"), "bench", folder / "model.onnx", "--cuda", "--profile", "-v", "--duration", "0.5"], self.arguments.seconds)
            data = folder / "data.npz"
            if data.exists():
                tolerance = [] if "int8" in folder.name else ["--atol", "0", "--rtol", "0"]  # integers have none
                exact = [self.program("vernier"), "run", folder / "model.onnx", "--reference", "--cuda", "--data", data, *tolerance]
                status, text, _ = self.run(exact, self.arguments.seconds)
                self.row("OK" if status == 0 else "FAIL", f"exact {folder.name}", f"exit {status}; {text.strip().splitlines()[-1][:150] if text.strip() else ''}")
            kernels = collections.Counter(re.findall(r"^  ((?:cuda|cublaslt|cudnn):\S+) ", output, re.M))
            self.row("INFO", f"kernels {folder.name}", ", ".join(f"{name} x {count}" for name, count in kernels.most_common()) or "none")
            return
        self.bench(folder, precision, options, "bench")
        if self.arguments.also:
            self.bench(folder, precision, [*options, *self.arguments.also.split()], f"bench {self.arguments.also}")

    def models(self):
        for folder in self.arguments.models:
            for precision in self.arguments.precisions:
                self.model(folder, precision)

    def all(self):
        self.versions()
        for name in self.arguments.suites:
            own = {"real": real, "stories": stories}.get(name, several)
            getattr(self, name)() if hasattr(Suite, name) else getattr(own, name)(self)
        for folder in self.arguments.products:
            self.model(folder, "fp32", timed=False)
        print(f"suite: {self.failed} failed", flush=True)
        return 1 if self.failed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=pathlib.Path, required=True, help="the folder that has bin/vernier and the others")
    parser.add_argument("--suites", nargs="*", default=[], choices=("conformance", "models", "real", "files", "sessions", "two", "torch", "faults", "stories", "sanitizers"))
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--sample", type=int, default=5, help="of so many parts of the backend tests one runs under the sanitizers")
    parser.add_argument("--cases", type=pathlib.Path)
    parser.add_argument("--faults", type=pathlib.Path, help="the folder of faults.py")
    parser.add_argument("--stories", type=pathlib.Path, help="folders of models, by story")
    parser.add_argument("--expected", type=pathlib.Path, default=pathlib.Path("tests/conformance/expected_failures.tsv"))
    parser.add_argument("--models", type=pathlib.Path, nargs="*", default=[])
    parser.add_argument("--real", type=pathlib.Path, nargs="*", default=[], help="folders of real models")
    parser.add_argument("--products", type=pathlib.Path, nargs="*", default=[])
    parser.add_argument("--also", default="", help="options of a second bench, e.g. '--lacks cuBLASLt'")
    parser.add_argument("--precisions", nargs="*", default=["fp32", "fp16"])
    parser.add_argument("--bench", default="--duration 3")
    parser.add_argument("--jobs", type=int, default=8)
    parser.add_argument("--most-again", type=int, default=60)
    parser.add_argument("--seconds", type=int, default=240)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("build/cuda_suite"))
    return Suite(parser.parse_args()).all()


if __name__ == "__main__":
    sys.exit(main())
