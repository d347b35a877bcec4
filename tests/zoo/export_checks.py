"""models.py judges exported plans by this: ONNX Runtime on the typed file against the reference, which rounds as the file declares, or the
operator that it has no kernel for; and the reference of the file by what an engine of the model promises by the same plan."""
import json
import pathlib
import re
import subprocess

import numpy as np
import onnx
import onnxruntime as ort

from engine_checks import VERNIER, onnxruntime, verdicts

CONTRACTIONS = ("Conv", "MatMul", "Gemm")
COUNTS = []  # of --export: what became of each file


def ranges(model: pathlib.Path, feeds: list[dict], work: pathlib.Path) -> pathlib.Path | None:
    """The least and the largest of what contractions read, as ONNX Runtime computes it, in the graph itself and in float; None where there are no such."""
    graph = onnx.load(model, load_external_data=False)
    known = {tensor.name for tensor in graph.graph.initializer}
    made = {name for node in graph.graph.node for name in node.output}
    wanted = {name for node in graph.graph.node if node.op_type in CONTRACTIONS for name in node.input[:2] if name and name not in known}
    inner = sorted(wanted & made - {value.name for value in graph.graph.output})
    graph.graph.output.extend(onnx.ValueInfoProto(name=name) for name in inner)
    external = any(tensor.data_location == onnx.TensorProto.EXTERNAL for tensor in graph.graph.initializer)
    tapped = (model.parent if external else work) / "tapped.onnx"  # beside its external data
    tapped.write_bytes(graph.SerializeToString())
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    found: dict[str, list[float]] = {}
    try:
        session = ort.InferenceSession(str(tapped), options, providers=["CPUExecutionProvider"])
        names = [output.name for output in session.get_outputs() if output.name in wanted and output.type == "tensor(float)"]
        for feed in feeds:
            results = dict(zip(names, session.run(names, feed), strict=True)) if names else {}
            results.update({name: array for name, array in feed.items() if name in wanted and array.dtype == np.float32})
            for name, array in results.items():
                if array.size and np.isfinite(array).all():
                    low, high = found.get(name, (np.inf, -np.inf))
                    found[name] = [min(low, float(array.min())), max(high, float(array.max()))]
    finally:
        tapped.unlink()
    if not found:
        return None
    scales = work / "scales.json"
    scales.write_text(json.dumps({"tensors": {name: {"min": low, "max": high} for name, (low, high) in found.items()}}))
    return scales


def calibrated(model: pathlib.Path, data: list[str], work: pathlib.Path) -> pathlib.Path | None:
    """Checks models that compute in float16, or inside of an If; None where int8 quantizes nothing."""
    scales = work / "scales.json"
    done = subprocess.run([VERNIER, "calibrate", model, *data, "--method", "minmax", "-o", scales, "--quiet"], capture_output=True, text=True)
    if done.returncode == 2 and "nothing that int8 quantizes" in done.stderr:
        return None
    return scales  # what export says of it if there is none is a verdict


def lacking_kernel(path: pathlib.Path) -> str:
    """The operator, by ONNX Runtime's own words, that it has no kernel for; empty if it has all."""
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    try:
        ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        return ""
    except Exception as error:  # noqa: BLE001: whatever it throws is a verdict
        words = str(error)
    found = re.search(r"implementation for (\w+)\((\d+)\)", words)
    return found.group(1) if "NOT_IMPLEMENTED" in words and found else f"FAIL load: {words[-300:]}"


def price(model: pathlib.Path, typed: pathlib.Path, data: list[str], work: pathlib.Path) -> float:
    """The largest relative L2 between the reference of the model and that of the typed file."""
    report = work / "price.json"
    report.unlink(missing_ok=True)
    subprocess.run([VERNIER, "run", model, typed, "--reference", *data, "--json", report, "--quiet"], capture_output=True, text=True)
    if not report.exists():
        return float("nan")
    tensors = [tensor for comparison in json.loads(report.read_text())["comparisons"] if comparison["reference"] != "expected" for tensor in comparison["tensors"]]
    errors = [float(tensor["metrics"]["relative_l2"]) for tensor in tensors if tensor["metrics"].get("relative_l2") is not None]
    return max(errors, default=float("nan"))


def as_planned(model: pathlib.Path, typed: pathlib.Path, plan: pathlib.Path, data: list[str], work: pathlib.Path) -> str:
    """The reference of the typed file against what an engine of the model promises by the same plan."""
    promised = work / "promised.run"
    promised.unlink(missing_ok=True)
    done = subprocess.run([VERNIER, "run", model, "--reference=planned", "--save-run", promised, "--cpu", "--plan", plan, *data, "--quiet"], capture_output=True, text=True)
    if not promised.exists():
        return f"FAIL planned: {done.stderr.strip()[-300:]}"
    return verdicts(typed, "--reference", ["--load-run", promised], data, work, judged=f"reference=planned from {promised.name}")


def in_onnxruntime(typed: pathlib.Path, cost: float, data: list[str], work: pathlib.Path) -> str:
    lacks = lacking_kernel(typed)
    if lacks:
        return lacks if lacks.startswith("FAIL") else f"no kernel: {lacks}"
    verdict = verdicts(typed, "--reference", onnxruntime(typed), data, work, judged="onnxruntime")
    if not verdict.startswith("FAIL"):
        return "agrees"
    # ONNX Runtime computes floats where it has no kernel of a narrow type, and does not round between them.
    if "NaN" in verdict and not np.isfinite(cost):
        return "overflows"  # so does the reference, and what follows Inf and NaN is nobody's promise
    unrounded = verdicts(typed, "--reference=ideal", onnxruntime(typed), data, work, judged="onnxruntime")
    return "unrounded" if not unrounded.startswith("FAIL") else verdict


def one(model: pathlib.Path, options: list[str], data: list[str], work: pathlib.Path) -> str:
    typed, plan = work / "typed.onnx", work / "plan.json"
    try:
        done = subprocess.run([VERNIER, "export", model, "-o", typed, "--no-verify", *options, "--save-plan", plan, "--quiet"], capture_output=True, text=True)
        if done.returncode != 0:
            return f"FAIL export: {done.stderr.strip()[-300:]}"
        cost = price(model, typed, data, work)
        ran = in_onnxruntime(typed, cost, data, work)
        if ran.startswith("FAIL") or ran == "overflows":
            return ran
        planned = as_planned(model, typed, plan, data, work)
        return planned if planned.startswith("FAIL") else f"{ran}, as planned, error {cost:.2g}"
    finally:
        for file in (typed, typed.with_name(typed.name + ".data")):
            file.unlink(missing_ok=True)


def exported(model: pathlib.Path, data: list[str], feeds: list[dict], work: pathlib.Path) -> str:
    """Every narrow type in turn. A model that is quantized or computes in narrow types itself has its plan already."""
    nodes = onnx.load(model, load_external_data=False).graph.node
    if any("Quant" in node.op_type or "Integer" in node.op_type for node in nodes):
        COUNTS.append("quantized models, left alone")
        return "quantized already"
    remarks = []
    for name, options in (("bf16", ["--bf16"]), ("fp16", ["--fp16"]), ("int8", ["--int8", "--calibration"])):
        scales = (ranges(model, feeds, work) or calibrated(model, data, work)) if name == "int8" else None
        if name == "int8" and scales is None:
            verdict = "nothing to quantize"
        else:
            verdict = one(model, [*options, *([str(scales)] if scales else [])], data, work)
        COUNTS.append(f"{name}: {verdict.split(',')[0].split(':')[0]}")
        remarks.append(f"{name} {verdict}")
    failed = [remark for remark in remarks if "FAIL" in remark]
    return "FAIL " + "; ".join(failed) if failed else "; ".join(remarks)
