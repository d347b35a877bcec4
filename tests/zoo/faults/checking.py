"""Whether a case plants what it says: the outputs of its engine must be wrong, and those of its healthy twin right."""

import json
import pathlib
import subprocess

import numpy as np
import onnx

from black_box import Engine, Session
from case import Case, load_model, twin_of

AS_DECLARED = {"kind": "as-declared"}


def distance(expected, actual) -> float:
    """Relative L2 between two values, sequences included; infinite where type, sizes, NaN or Inf differ."""
    if expected is None or actual is None:
        return 0.0 if expected is actual else np.inf
    if isinstance(expected, (list, tuple)):
        if len(expected) != len(actual):
            return np.inf
        return max((distance(e, a) for e, a in zip(expected, actual)), default=0.0)
    if hasattr(expected, "data"):
        if not isinstance(expected, np.ndarray):  # of a type that numpy lacks
            return 0.0 if (expected.shape, bytes(expected.data)) == (actual.shape, bytes(actual.data)) else np.inf
    expected, actual = np.asarray(expected), np.asarray(actual)
    if expected.shape != actual.shape or expected.dtype != actual.dtype:
        return np.inf
    if expected.dtype.kind not in "fiubc":
        return 0.0 if np.array_equal(expected, actual) else np.inf
    wide = np.complex128 if expected.dtype.kind == "c" else np.longdouble
    expected, actual = expected.astype(wide).ravel(), actual.astype(wide).ravel()
    finite = np.isfinite(expected)
    if not np.array_equal(finite, np.isfinite(actual)):
        return np.inf
    if not np.array_equal(expected[~finite], actual[~finite], equal_nan=True):
        return np.inf
    error, size = np.linalg.norm(expected[finite] - actual[finite]), np.linalg.norm(expected[finite])
    return float(error / size) if size else (0.0 if error == 0 else np.inf)


def worst(expected: dict, actual: dict) -> float:
    return max(distance(expected[name], actual[name]) for name in expected)


def sound_engine(case: Case, model: onnx.ModelProto):
    """ONNX Runtime, or, as it drops roundings of fp16 on a CPU, what rounds as the graph says where the twin does."""
    typed = case.klass and twin_of(case).fault == AS_DECLARED
    return Engine(model, AS_DECLARED) if typed else Session(model)


def check_black_box(case: Case) -> str:
    """Empty, or why the case is none. ONNX Runtime's own optimiser shows what sums in another order explain."""
    model, samples = load_model(case), case.inputs()
    if case.fault == AS_DECLARED:
        return ""
    sound, optimised, engine = sound_engine(case, model), Session(model, "all"), Engine(model, case.fault)
    noise = error = 0.0
    for sample in samples:
        right = sound.run(sample)
        noise = max(noise, worst(right, optimised.run(sample)) if isinstance(sound, Session) else 1e-3)
        error = max(error, worst(right, engine.run(sample)))
    if not case.klass:  # a healthy twin, perhaps with what is no fault there
        return "" if error <= case.least else f"the healthy engine is off by {error:.2g}"
    if case.fault["kind"] == "sums-reordered":  # the other sums are the fault, which the model makes large
        noise = 0.0
    if not error > max(case.least, 10 * noise):
        return f"the fault makes {error:.2g}, other sums make {noise:.2g}, and {case.least:g} is wanted"
    return ""


def error_of_runner(reference: str, vernier: pathlib.Path, words: list, folder: pathlib.Path) -> float:
    """Relative L2 of a runner's outputs from the reference's, or of both from those of --against, by `vernier run`."""
    report = folder / "check.json"
    report.unlink(missing_ok=True)
    command = [
        vernier,
        "run",
        *words[:1],
        f"--reference={reference}",
        *words[1:],
        "--json",
        report,
        "--quiet",
        "--threads",
        "1",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if done.returncode not in (0, 1) or not report.exists():
        raise ValueError(f"`vernier run` exits with {done.returncode}: {done.stderr.strip()[-300:]}")
    tensors = [
        tensor
        for comparison in json.loads(report.read_text())["comparisons"]
        if comparison["reference"] != "expected"
        for tensor in comparison["tensors"]
    ]
    if not tensors:
        raise ValueError("`vernier run` compared nothing")
    return max(_error(tensor) for tensor in tensors)


def _error(tensor: dict) -> float:
    error = tensor["metrics"].get("relative_l2")
    wrong = tensor["metrics"].get("mismatching", 0) > 0
    return float(error) if error is not None and float(error) == float(error) else (np.inf if wrong else 0.0)


def check_runner(case: Case, vernier: pathlib.Path, words_of) -> str:
    """The same without the black box. `words_of(case)` is the command line from the model on, and a folder."""
    words, folder = words_of(case)
    # An engine that is compared with a second one is judged by the types that the graph declares, and else by the meaning.
    reference = "declared" if "--against" in words else "ideal"
    error = error_of_runner(reference, vernier, words, folder)
    twin = twin_of(case)
    if not twin.runner:
        return check_black_box(twin)
    words, folder = words_of(twin)
    healthy = error_of_runner(reference, vernier, words, folder)
    if not (error > case.least and healthy <= max(case.least, 1e-6) or error > 2 * healthy):
        return f"the engine is off by {error:.2g}, its healthy twin by {healthy:.2g}"
    return ""


def check(case: Case, vernier: pathlib.Path, words_of) -> str:
    """Empty, or what is wrong with the case."""
    try:
        model = (
            load_model(case)
            if not isinstance(case.model, pathlib.Path)
            else onnx.load(case.model, load_external_data=False)
        )
        missing = case.nodes - _names(model.graph)
        values = {value.name for value in [*model.graph.input, *model.graph.output]}
        if missing or case.values - values:
            return f"the model has no {', '.join(sorted(missing | (case.values - values)))}"
        if case.runner:
            return check_runner(case, vernier, words_of)
        return check_black_box(case) or check_black_box(twin_of(case))
    except Exception as error:  # whatever breaks here is a fault of the case, not of the zoo's other cases
        return f"{type(error).__name__}: {error}"


def _names(graph: onnx.GraphProto) -> set[str]:
    names = {node.name for node in graph.node}
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                names |= _names(attribute.g)
    return names
