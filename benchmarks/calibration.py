#!/usr/bin/env python3
"""Measures what int8 costs the outputs of models by the ranges of each method, and by those of ONNX Runtime's calibrators.

    calibration.py [MODEL...]    of ../shared/models, or digits (default: those of docs/calibration.md)

Prints for each model and method the relative L2 error of the int8 engine against the one of floats, on samples that the ranges do
not come from; the geometric mean over the outputs of a model. Of the digits 160 images are calibrated on and 199 are held out. Of the others
there are two recorded inputs; 48 samples are calibrated on and 8 are held out that are shifted, mirrored and dimmed, with noise.
"""
import json
import logging
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper
from onnxruntime.quantization.calibrate import CalibrationDataReader, CalibrationMethod, create_calibrator

ROOT = pathlib.Path(__file__).resolve().parents[1]
MODELS = ROOT.parent / "shared/models"
VERNIER = ROOT / "build/release/bin/vernier"
DEFAULT = ("digits", "tinymobilenet-cifar-extdata", "vit-cifar-pgd", "ultraface-slim320", "hand-landmark-224", "facemesh-192", "mlsd-tiny-320")
METHODS = ("minmax", "entropy", "percentile", "mse", "best")
THEIRS = {"minmax": CalibrationMethod.MinMax, "entropy": CalibrationMethod.Entropy, "percentile": CalibrationMethod.Percentile}


def read_tensor(path: pathlib.Path) -> np.ndarray:
    tensor = onnx.TensorProto()
    tensor.ParseFromString(path.read_bytes())
    return numpy_helper.to_array(tensor)


def varied(recorded: list[np.ndarray], count: int, random: np.random.Generator) -> list[np.ndarray]:
    samples = []
    for i in range(count):
        sample = recorded[i % len(recorded)]
        low, high = sample.min(), sample.max()
        wide = [axis for axis in range(1, sample.ndim) if sample.shape[axis] > 8]
        for axis in wide:
            sample = np.roll(sample, int(random.integers(0, sample.shape[axis])), axis=axis)
        if wide and random.random() < 0.5:
            sample = np.flip(sample, axis=wide[-1])
        dimmed = np.clip((sample - low) * random.uniform(0.5, 1.3) + low, low, high) + random.normal(0, 0.02 * (high - low), sample.shape)
        samples.append(np.clip(dimmed, low, high).astype(recorded[0].dtype))
    return samples


def case(name: str) -> tuple[pathlib.Path, str, list[np.ndarray], list[np.ndarray]]:
    """Model, input, samples to calibrate on, samples that are held out."""
    if name == "digits":
        images = np.load(ROOT / "examples/digits/held_out.npz")["image"]
        return ROOT / "examples/digits/digits.onnx", "image", [images[i : i + 1] for i in range(160)], [images[160:]]
    folder, random = MODELS / name, np.random.default_rng(1)
    graph = onnx.load(folder / "model.onnx", load_external_data=False).graph
    weights = {weight.name for weight in graph.initializer}
    (value,) = [each.name for each in graph.input if each.name not in weights]
    recorded = [read_tensor(each / "input_0.pb") for each in sorted(folder.glob("test_data_set_*"))]
    return folder / "model.onnx", value, varied(recorded, 48, random), varied(recorded, 8, random)


def write_samples(folder: pathlib.Path, value: str, samples: list[np.ndarray]) -> pathlib.Path:
    folder.mkdir()
    for i, sample in enumerate(samples):
        np.savez(folder / f"{i:04}.npz", **{value: sample})
    return folder


def outputs(model: pathlib.Path, data: pathlib.Path, *options) -> dict[str, np.ndarray]:
    with tempfile.TemporaryDirectory() as folder:
        run = pathlib.Path(folder) / "run"
        subprocess.run([VERNIER, "run", model, "--cpu", "--deterministic", *options, "--save-run", run, "--data", data, "--quiet"], check=True)
        content = run.read_bytes()
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    floats = {name: entry["data_offsets"] for name, entry in header.items() if entry.get("dtype") == "F32"}
    return {name: np.frombuffer(content[8 + size + first : 8 + size + last], np.float32).astype(np.float64) for name, (first, last) in floats.items()}


def distance(exact: dict[str, np.ndarray], actual: dict[str, np.ndarray]) -> float:
    sums: dict[str, np.ndarray] = {}
    for key, value in exact.items():  # "SAMPLE/OUTPUT"
        name = key.split("/", 1)[1]
        sums[name] = sums.get(name, np.zeros(2)) + [np.square(actual[key] - value).sum(), np.square(value).sum()]
    return float(np.exp(np.mean([np.log(error / all_of_it) / 2 for error, all_of_it in sums.values() if error > 0])))


class Samples(CalibrationDataReader):
    def __init__(self, value: str, samples: list[np.ndarray]):
        self.samples = iter([{value: sample} for sample in samples])

    def get_next(self):
        return next(self.samples, None)


def their_ranges(model: pathlib.Path, method, value: str, samples: list[np.ndarray], ours: dict, folder: pathlib.Path) -> dict:
    """[least, largest] by tensor. A histogram around zero does not tell that a tensor has no negative values; ours does."""
    calibrator = create_calibrator(model, augmented_model_path=str(folder / "augmented.onnx"), calibrate_method=method)
    calibrator.collect_data(Samples(value, samples))
    found = calibrator.compute_data()
    ranges = {}
    for name, entry in ours.items():
        low, high = (float(np.asarray(bound).item()) for bound in found[name].range_value)
        ranges[name] = [max(low, 0.0) if entry["observed"][0] >= 0 else low, high]
    return ranges


def measure(name: str) -> None:
    model, value, calibration, held_out = case(name)
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        data, other = write_samples(folder / "data", value, calibration), write_samples(folder / "other", value, held_out)
        exact, scales = outputs(model, other), folder / "scales.json"

        def show(method: str) -> None:
            error = distance(exact, outputs(model, other, "--int8", "--calibration", scales))
            print(f"{name:28} {method:24} {error:.5f}", flush=True)

        for method in METHODS:
            subprocess.run([VERNIER, "calibrate", model, "--data", data, "-o", scales, "--method", method, "--quiet"], check=True)
            content = json.loads(scales.read_text())
            show(f"{method} ({content['method']})" if method == "best" else method)
        for method, kind in THEIRS.items():
            try:
                ranges = their_ranges(model, kind, value, calibration, content["tensors"], folder)
            except ValueError as error:  # its histograms take tensors of one size only
                print(f"{name:28} {'onnxruntime ' + method:24} fails: {str(error)[:60]}", flush=True)
                continue
            scales.write_text(json.dumps(ranges))
            show(f"onnxruntime {method}")


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    onnxruntime.set_default_logger_severity(3)  # errors
    for model_name in sys.argv[1:] or DEFAULT:
        measure(model_name)
