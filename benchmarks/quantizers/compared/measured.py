"""How right a file is on labelled rows, and how fast: in ONNX Runtime, and in Vernier's engine."""
import json
import pathlib
import statistics
import subprocess
import time

import numpy as np
import onnxruntime

from .paths import VERNIER
from .tested_model import TestedModel

ROUNDS, WINDOW = 15, 0.1  # windows of so many seconds, of all files in turn


def points(scores: np.ndarray, labels: np.ndarray) -> float:
    return 100 * float((scores.reshape(len(labels), -1).argmax(1) == labels).mean())


class OnnxruntimeFile:
    def __init__(self, file: pathlib.Path, tested: TestedModel):
        self.session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
        self.tested, self.first = tested, tested.batches(tested.held_out)[0]
        self.medians: list[float] = []

    def run(self, rows: np.ndarray) -> np.ndarray:
        return self.session.run(None, {self.tested.input: rows})[0]

    def points(self) -> float:
        scores = np.concatenate([self.run(batch) for batch in self.tested.batches(self.tested.held_out)])
        return points(scores, self.tested.labels)

    def window(self) -> None:
        end, times = time.perf_counter() + WINDOW, []
        while not times or time.perf_counter() < end:
            start = time.perf_counter()
            self.run(self.first)
            times.append(time.perf_counter() - start)
        self.medians.append(statistics.median(times))

    def milliseconds(self) -> float:
        return 1000 * statistics.median(self.medians)


def in_turn(files: list[OnnxruntimeFile]) -> None:
    """One after the other in each round, so that a busy machine slows all of them."""
    for _ in range(ROUNDS):
        for file in files:
            file.window()


def vernier_points(tested: TestedModel, model: pathlib.Path, engine: tuple[str, ...], folder: pathlib.Path) -> float:
    report = folder / "run.json"
    subprocess.run([VERNIER, "run", model, "--cpu", *engine, "--data", folder / "held_out", "--labels", folder / "held_out.npy", "--json", report,
                    "--quiet"], capture_output=True, check=False)  # fmt: skip
    (accuracy,) = json.loads(report.read_text())["accuracies"]
    return 100 * accuracy["right"] / accuracy["rows"]


def vernier_milliseconds(tested: TestedModel, model: pathlib.Path, engine: tuple[str, ...], folder: pathlib.Path) -> float:
    report, first = folder / "bench.json", folder / "held_out/00000.npz"
    subprocess.run([VERNIER, "bench", model, "--cpu", *engine, "--data", first, "--json", report, "--quiet"], capture_output=True, check=True)
    return json.loads(report.read_text())["latency_ms"]["p50"]
