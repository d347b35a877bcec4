"""Workers side by side. One that dies (ONNX Runtime runs inside it) is started anew, and says what it finds without ONNX Runtime."""

import json
import pathlib
import subprocess
import sys
import threading

from worker import CRASHED

HERE = pathlib.Path(__file__).parent


def run_pool(options, arguments, add):
    """Calls add(result) for every seed, as they come."""
    seeds = iter(range(options.seed, options.seed + options.count))
    lock = threading.Lock()

    def next_seed():
        with lock:
            return next(seeds, None)

    def deliver(result):
        with lock:
            add(result)

    threads = [threading.Thread(target=one_worker, args=(arguments, next_seed, deliver)) for _ in range(options.jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def one_worker(arguments, next_seed, deliver):
    process, request = None, None
    while (request := request or next_seed()) is not None:
        if process is None:
            command = [sys.executable, str(HERE), *arguments, "--worker"]
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            process.stdin.write(f"{request}\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if line:
            deliver(json.loads(line))
            request = None
            continue
        code, process = process.wait(), None
        # ONNX Runtime runs in the worker: once more without it.
        if code < 0 and not str(request).endswith(CRASHED):
            request = f"{request} {CRASHED}"
            continue
        deliver(broken(int(str(request).split()[0]), code))
        request = None
    if process:
        process.stdin.close()
        process.wait()


def broken(seed, code):
    finding = {"kind": "crash", "who": "fuzzer", "detail": f"the worker ended with {code}: an error of the fuzzer, see above", "known": None, "ops": []}
    return {"seed": seed, "ops": [], "invalid": False, "verdict": None, "seconds": 0, "findings": [finding]}
