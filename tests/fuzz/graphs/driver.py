"""The project's side: one long-lived process that runs references and engines (graphs_driver.cpp)."""

import json
import os
import pathlib
import select
import shutil
import subprocess
import sys
import tempfile

import ml_dtypes
import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "python/vernier_runners"))
from protocol import Packed, read_values, write_values  # noqa: E402

SECONDS = 120  # for one request


def packed(array):
    array = np.asarray(array)
    return Packed("BFLOAT16", array.shape, array.tobytes()) if array.dtype == ml_dtypes.bfloat16 else array


def unpacked(value):
    if isinstance(value, list):
        return [unpacked(element) for element in value]
    if isinstance(value, Packed):
        return np.frombuffer(value.data, ml_dtypes.bfloat16).reshape(value.shape) if value.type == "BFLOAT16" else value
    return value


class Driver:
    """Starts the process when it is needed, again when it died."""

    def __init__(self, program, threads=1, isa=""):
        self.command = [program, "--threads", str(threads), *(["--isa", isa] if isa else [])]
        self.process = None
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="fuzz-graphs-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None))

    def close(self):
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def kill(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process.stdin.close(), self.process.stdout.close()
            self.process = None

    def start(self):
        self.errors = open(self.folder / "errors", "w+b")
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, bufsize=0)
        self.pending = b""

    def run(self, case, stages, **fields):
        """Gives what each stage gave: {"values": [{name: value}, …]}, {"error": …} or {"crash": …}."""
        if self.process is None:
            self.start()
        model = self.folder / "model.onnx"
        model.write_bytes(case.model.SerializeToString())
        files = []
        for i, sample in enumerate(case.samples):
            files.append(str(self.folder / f"in-{i}.safetensors"))
            write_values(files[-1], {name: packed(array) for name, array in sample.items()})
        request = {"model": str(model), "samples": files, "outputs": str(self.folder / "out-"), "stages": stages, **fields}
        if case.profile:
            request["profile"] = case.profile
        done = self.converse(json.dumps(request).encode() + b"\n")
        for result in done.values():
            if "files" in result:
                result["values"] = [{name: unpacked(value) for name, value in read_values(file).items()} for file in result.pop("files")]
        return done

    def converse(self, line):
        self.process.stdin.write(line)
        stage, done = "start", {}
        while True:
            answer = self.read_line()
            if answer is None:
                status, self.last_errors = self.end()
                return {stage: {"crash": f"{status} {self.last_errors}".strip()}}
            message = json.loads(answer)
            if "done" in message:
                done.update(message["done"])
                return done
            stage = message["begin"]

    def read_line(self):
        while b"\n" not in self.pending:
            ready, _, _ = select.select([self.process.stdout], [], [], SECONDS)
            piece = os.read(self.process.stdout.fileno(), 1 << 16) if ready else b""
            if not piece:
                self.hung = not ready
                return None
            self.pending += piece
        line, _, self.pending = self.pending.partition(b"\n")
        return line

    def end(self):
        """How the process ended, and the last that it wrote; it is started anew next time."""
        if self.hung:
            status = f"hangs for {SECONDS} s"
        else:
            code = self.process.wait()
            status = f"signal {-code}" if code < 0 else f"exit {code}"
        self.kill()
        self.errors.seek(0)
        text = self.errors.read().decode(errors="replace").strip()[-300:]
        return status, text
