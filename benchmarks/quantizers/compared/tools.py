"""Each tool makes of a tested a file for ONNX Runtime, in a process of its own."""
import dataclasses
import pathlib
import subprocess
import time

import numpy as np

from .paths import ENVIRONMENTS, SCRIPTS, VERNIER
from .tested_model import TestedModel

ADAPTING = ("--equalise", "--learn-rounding", "--correct-bias")
MAX_LOSS = 0.1  # points, of `tune`
LIMIT, BUDGET = 150, 60  # seconds for one tool, and of `tune`


@dataclasses.dataclass
class Answer:
    """Holds what a tool made, or why it did not."""

    tool: str
    seconds: float = 0.0
    file: pathlib.Path | None = None
    engine: tuple[str, ...] = ()  # how Vernier's own engine is told to compute the same
    model: pathlib.Path | None = None  # that Vernier's engine is built from
    failure: str = ""


def failed(process: subprocess.CompletedProcess) -> str:
    lines = [line for line in process.stderr.strip().splitlines() if line.strip()]
    return lines[-1][:160] if lines else f"exit status {process.returncode}"


class Tools:
    def __init__(self, tested: TestedModel, folder: pathlib.Path):
        self.tested, self.folder = tested, folder
        tested.write(folder)
        samples = {f"{i:05}/{tested.input}": batch for i, batch in enumerate(tested.batches(tested.calibration))}
        np.savez(folder / "samples.npz", **samples)

    def vernier(self, *arguments: str | pathlib.Path) -> int:
        """The exit status: 0, or 1 where a command did what it was told, and says that the result is not good."""
        done = subprocess.run([VERNIER, *arguments, "--quiet"], capture_output=True, text=True, timeout=LIMIT)
        if done.returncode not in (0, 1):
            raise RuntimeError(failed(done))
        return done.returncode

    def export(self, model: pathlib.Path, file: pathlib.Path, *options: str | pathlib.Path) -> None:
        """Status 1 says that ONNX Runtime lacks a kernel, which is told where the file is loaded."""
        self.vernier("export", model, "-o", file, "--no-verify", "--for", "onnxruntime", *options)

    def calibrated(self) -> Answer:
        scales, file = self.folder / "scales.json", self.folder / "calibrated.onnx"
        self.vernier("calibrate", self.tested.model, "--data", self.folder / "data", "-o", scales, "--all-tensors")
        self.export(self.tested.model, file, "--int8", "--calibration", scales)
        return Answer("Vernier calibrate", file=file, engine=("--int8", "--calibration", str(scales)), model=self.tested.model)

    def adapted(self) -> Answer:
        scales, file, model = (self.folder / name for name in ("adapted.json", "adapted_int8.onnx", "adapted.onnx"))
        self.vernier("calibrate", self.tested.model, "--data", self.folder / "data", "-o", scales, "--all-tensors", *ADAPTING, "--adapted", model)
        self.export(model, file, "--int8", "--calibration", scales)
        return Answer("Vernier calibrate, adapted weights", file=file, engine=("--int8", "--calibration", str(scales)), model=model)

    def tuned(self) -> Answer:
        """On the rows that all tools calibrate on."""
        plan, file = self.folder / "plan.json", self.folder / "tuned.onnx"
        status = self.vernier("tune", self.tested.model, "--data", self.folder / "data", "--metric", "top1", "--labels", self.folder / "data.npy",
                              "--max-loss", str(MAX_LOSS), "--calibration", self.folder / "scales.json", "--budget", str(BUDGET), "-o", plan)  # fmt: skip
        if status == 1:
            raise RuntimeError("nothing keeps the target")
        self.export(self.tested.model, file, "--plan", plan, "--calibration", self.folder / "scales.json")
        return Answer("Vernier tune", file=file, engine=("--plan", str(plan)), model=self.tested.model)

    def other(self, tool: str, environment: str, script: str) -> Answer:
        python, file = ENVIRONMENTS / environment / "bin/python", self.folder / f"{script}.onnx"
        if not python.exists():
            return Answer(tool, failure=f"build/quantizers/{environment} could not be made")
        done = subprocess.run([python, SCRIPTS / f"{script}.py", self.tested.model, self.folder / "samples.npz", file], capture_output=True, text=True,
                              timeout=LIMIT)  # fmt: skip
        return Answer(tool, file=file) if done.returncode == 0 else Answer(tool, failure=failed(done))

    def answers(self) -> list[Answer]:
        makers = [
            ("Vernier calibrate", self.calibrated),
            ("Vernier calibrate, adapted weights", self.adapted),
            ("Vernier tune", self.tuned),
            ("ONNX Runtime, static", lambda: self.other("ONNX Runtime, static", "nncf", "onnxruntime_int8")),
            ("nncf", lambda: self.other("nncf", "nncf", "nncf_int8")),
            ("modelopt int8", lambda: self.other("modelopt int8", "modelopt", "modelopt_int8")),
            ("modelopt AutoCast fp16", lambda: self.other("modelopt AutoCast fp16", "modelopt", "modelopt_autocast")),
        ]
        found = [Answer("as it is", file=self.tested.model, engine=(), model=self.tested.model)]
        for tool, make in makers:
            start = time.monotonic()
            try:
                answer = make()
            except (RuntimeError, subprocess.TimeoutExpired) as error:
                answer = Answer(tool, failure=str(error)[:160])
            answer.seconds = time.monotonic() - start
            found.append(answer)
        return found
