"""Finds what is wrong about the answers to one case, as a list of findings."""

import re
from dataclasses import dataclass

import bounds
import draw
import ml_dtypes
import numpy as np
from ties import ROUNDING, near_ties, ties

SEVERITY = ["crash", "accepted", "false pass", "wrong number", "wrong type", "load refused", "refusal", "verdict"]


@dataclass
class Finding:
    kind: str  # of SEVERITY
    who: str  # reference, untuned, tuned, onnxruntime, or several, joined by +
    detail: str

    @property
    def key(self):
        """Gives what stays the same while a graph shrinks."""
        message = re.sub(r"'[^']*'|\"[^\"]*\"|\d+", "", self.detail)[:60] if self.kind in ("refusal", "load refused") else ""
        engines = "+".join(name for name in self.who.split("+") if name != "onnxruntime")  # which may have no kernel for the rest
        return self.kind, engines or self.who, message


def judge(case, done, oracle, driver):
    """`done`: of the driver; `oracle`: of ONNX Runtime. Returns findings, and whether nobody takes the graph."""
    for stage, result in done.items():
        if "crash" in result:
            return [Finding("crash", stage, result["crash"])], False
    if "error" in done["import"]:
        return refused(case, done["import"]["error"], "import", oracle)
    if "error" in done["reference"] and case.misfit:
        return accepted(case, done), False
    if "error" in done["reference"]:
        return refused(case, done["reference"]["error"], "reference", oracle)
    findings = []
    for stage in ("untuned", "build", "save", "tuned"):
        if "error" in done.get(stage, {}):
            findings.append(Finding("refusal", "engine" if stage in ("untuned", "build") else stage, done[stage]["error"]["message"]))
    if "error" in done.get("load", {}):
        findings.append(Finding("load refused", "load", done["load"]["error"]["message"]))
    if "error" in oracle:
        findings.append(Finding("refusal", "onnxruntime", oracle["error"]["message"]))
    findings += compare_runs(case, done, oracle, driver)
    unique = {finding.key: finding for finding in reversed(findings)}
    return sorted(unique.values(), key=lambda finding: SEVERITY.index(finding.kind)), False


def refused(case, error, who, oracle):
    """A refusal that ONNX Runtime shares says that the graph was drawn wrongly."""
    if "error" in oracle and error["code"] not in (5, -1):
        return [], True
    return [Finding("refusal", who, error["message"])], False


# Contents that the reference refuses where there is nothing that they speak of: the engine does not look at them. And sizes beside one of 0: what
# has no elements whatever the free sizes are is folded.
OF_NOTHING = re.compile(r"outside of an axis of 0|not in \[0, 0\]")
BESIDE_NOTHING = re.compile(r"do not broadcast|cannot reshape")


def accepted(case, done):
    """An engine must refuse the sizes that the reference refuses, for what it would read is not there. For nothing it reads nothing."""
    untuned, message = done["untuned"], done["reference"]["error"]["message"]
    if "error" in untuned or OF_NOTHING.search(message):
        return []
    if all(isinstance(value, np.ndarray) and value.size == 0 for value in untuned["values"][-1].values()):
        return []
    if BESIDE_NOTHING.search(message) and any(array.size == 0 for array in [*case.samples[-1].values(), *case.constants().values()]):
        return []
    return [Finding("accepted", "untuned", message)]


def compare_runs(case, done, oracle, driver):
    runs = {stage: done[stage]["values"] for stage in ("untuned", "tuned") if "values" in done.get(stage, {})}
    if "values" in oracle:
        runs["onnxruntime"] = oracle["values"]
    limits = bounds.bounds_of(case, driver, done)
    wrong = {}  # (kind, detail) by runner
    gross = False
    for who, values in runs.items():
        for sample, outputs in enumerate(values):
            for output in case.model.graph.output:
                reference = done["reference"]["values"][sample]
                found = compare(output.name, sample, reference[output.name], outputs.get(output.name), who, limits, case, reference)
                if found and who not in wrong:
                    wrong[who] = found[:2]
                gross = gross or (bool(found) and who == "tuned" and found[2])
    verdict = done.get("build", {}).get("verdict")
    findings = []
    for kind in ("wrong type", "wrong number"):
        who = [name for name in runs if wrong.get(name, ("",))[0] == kind]
        if who:
            findings.append(Finding(kind, "+".join(who), "; ".join(f"{name}: {wrong[name][1]}" for name in who)))
    if gross and verdict == "pass":
        findings.append(Finding("false pass", "tuned", wrong["tuned"][1]))
    if verdict == "fail" and "tuned" not in wrong and not is_ill_conditioned(case, done, limits):
        findings.append(Finding("verdict", "build", "; ".join(done["build"]["reasons"])))
    return findings


def compare(name, sample, reference, actual, who, limits, case, taps):
    """None, or kind, detail and whether the difference is beyond the tool's own tolerance."""
    if isinstance(reference, list) or isinstance(actual, list):
        if not isinstance(reference, list) or not isinstance(actual, list) or len(reference) != len(actual):
            return "wrong type", f"{name}: another length of sequence", True
        return next(filter(None, (compare(name, sample, r, a, who, limits, case, taps) for r, a in zip(reference, actual))), None)
    if actual is None or reference is None:
        return None if actual is reference else ("wrong type", f"{name}: nothing there", True)
    reference, actual = np.asarray(reference), np.asarray(actual)
    if reference.dtype != actual.dtype:
        return "wrong type", f"{name}: {actual.dtype} instead of {reference.dtype}", True
    if reference.shape != actual.shape:
        return "wrong type", f"{name}: {actual.shape} instead of {reference.shape}", True
    if reference.dtype == object or reference.dtype.kind == "b" or (reference.dtype.kind in "iu"):
        differing = reference != actual
        if not differing.any():
            return None
        if name not in limits.exact and is_settled_otherwise(name, sample, reference, actual, limits, case, taps):
            return None
    else:
        differing = floats_differ(name, sample, reference, actual, who, limits)
        if not differing.any() or near_ties(case, taps, limits):
            return None
    at = tuple(int(i) for i in np.argwhere(differing)[0])
    detail = f"{name}{list(at)} is {actual[at]} instead of {reference[at]} ({int(differing.sum())} of {differing.size} differ)"
    return "wrong number", detail, beyond_tool(reference, actual)


def floats_differ(name, sample, reference, actual, who, limits):
    r, a = reference.astype(np.float64), actual.astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        same = (r == a) | (np.isnan(r) & np.isnan(a))
        if same.all():
            return ~same
        distance = np.abs(r - a)
        bound = limits.of(name, sample, r, who)
        info = ml_dtypes.finfo(reference.dtype)
        # Below the smallest normal number roundings are no longer relative.
        bound = np.where(bound > 0, bound + float(info.smallest_subnormal) * (4 if limits.rule in ("sums", "pointwise") else 4096), 0)
        within = (np.isfinite(r) & np.isfinite(a) & (distance <= bound)) | (bound == np.inf)
        # Next to the largest number a bound reaches infinity, but for exact values.
        within |= (bound > 0) & np.isinf(a) & np.isfinite(r) & (np.abs(r) + bound >= float(info.max))
        within |= (bound > 0) & np.isinf(r) & np.isfinite(a) & (np.abs(a) + bound >= float(info.max)) & (np.sign(r) == np.sign(a))
    return ~(same | within)


def beyond_tool(reference, actual):
    kind = draw.kind_of(reference.dtype)
    return kind not in bounds.TOOL or bool(outside_tolerance(reference, actual, 4).any())


def tolerance(reference):
    atol, rtol = bounds.TOOL[draw.kind_of(reference.dtype)]
    finite = np.where(np.isfinite(reference), reference, 0).astype(np.float64)
    return atol + rtol * np.abs(finite)


def outside_tolerance(reference, actual, times=1):
    """Which elements are farther apart than so many times the tool's own tolerance."""
    r, a = reference.astype(np.float64), actual.astype(np.float64)
    with np.errstate(invalid="ignore"):
        return ~((r == a) | (np.isnan(r) & np.isnan(a)) | (np.abs(r - a) <= times * tolerance(reference)))


def is_ill_conditioned(case, done, limits):
    """Whether the bound of noise alone, 16 times what it moves an element, is beyond the tool's tolerance: at every element that differs by
    more than that, or, where none does from this reference, at some element."""
    undetermined = False
    for sample, outputs in enumerate(done.get("tuned", {}).get("values", [])):
        for output in case.model.graph.output:
            reference, actual = done["reference"]["values"][sample][output.name], outputs.get(output.name)
            if not isinstance(reference, np.ndarray) or not isinstance(actual, np.ndarray):
                return False
            if draw.kind_of(reference.dtype) not in bounds.TOOL:
                if not np.array_equal(reference, actual):
                    return False
                continue
            moves = 16 * limits.moved_by_noise(output.name, sample, reference.astype(np.float64)) > tolerance(reference)
            if (outside_tolerance(reference, actual) & ~moves).any():
                return False
            undetermined = undetermined or bool(moves.any())
    return undetermined


def inner_values(case):
    """Lists what nodes of the main graph make: to be seen in the reference."""
    return [name for node in case.model.graph.node for name in node.output if name]


def is_settled_otherwise(name, sample, reference, actual, limits, case, taps):
    """Whether integers that follow from rounded floats may differ: beside a tie, where noise moves them, and where sums overflow."""
    if (limits.huge or limits.tiny) and limits.rule == "noise":
        return True
    node = next((node for node in case.model.graph.node if name in node.output), None)
    if node is not None and node.op_type in ROUNDING and sample == 0:
        near = ties(node, case, taps, limits)
        if near is not None and near.shape == reference.shape:
            apart = np.abs(reference.astype(np.int64) - actual.astype(np.int64))
            if (apart <= near).all():
                return True
            return near_ties(case, taps, limits) and (apart <= 1).all()
    return any(not np.array_equal(run[sample][name], reference) for run in limits.noisy or []) or near_ties(case, taps, limits)


