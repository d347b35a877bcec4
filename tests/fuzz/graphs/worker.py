"""Runs seeds: one line of JSON for each, with what was found. In a process of its own, which ONNX Runtime may crash."""

import json
import sys
import time
from collections import Counter

from case import draw_case, save_case, spanning
from driver import Driver
from explanations import Explanations
from judge import Finding, judge, inner_values
from misfit import misfit_of
from oracle import run_onnxruntime
from registry import load_families
from shrink import Shrinker

STAGES = ["reference", "noise", "untuned", "tuned"]
CRASHED = "onnxruntime-crashed"  # behind a seed: ONNX Runtime is not to be asked again
SHRUNK = 2  # findings of one sort that are shrunk; of further ones the count is kept


class Worker:
    def __init__(self, options):
        self.options = options
        self.operators = load_families()
        self.driver = Driver(options.driver, options.threads, options.isa)
        self.explanations = Explanations()
        self.shrunk = Counter()
        self.oracle_crashes = False

    def look(self, case):
        """Findings of a case, and whether it is no graph at all."""
        asked = not (self.options.no_onnxruntime or self.oracle_crashes or case.misfit)
        oracle = run_onnxruntime(case) if asked else {"error": {"message": "not asked"}}
        done = self.run(case)
        findings, invalid = judge(case, done, oracle, self.driver)
        if not asked:
            findings = [finding for finding in findings if finding.who != "onnxruntime"]
        return findings, invalid, done

    def run(self, case):
        stages = [stage for stage in STAGES if stage != "tuned" or not (self.options.inject or case.misfit)]
        fields = {"taps": inner_values(case), "level": self.options.level, "noise": 3}
        if self.options.inject:
            fields["fault"] = self.options.inject
        done = self.driver.run(case, stages, **fields)
        if self.options.inject and "applies to no" in done.get("untuned", {}).get("error", {}).get("message", ""):
            done.pop("untuned")  # no such operator in this graph
        return done

    def seed(self, seed, oracle_crashes):
        self.oracle_crashes = oracle_crashes
        case = draw_case(seed, self.operators, self.options.only)
        findings, invalid, done = self.look(case)
        if invalid and len(case.samples) > 1:  # the other sizes may be wrong
            case.samples = case.samples[:1]
            case.profile = spanning(case.samples)
            findings, invalid, done = self.look(case)
        result = {"seed": seed, "ops": case.ops, "invalid": invalid, "verdict": done.get("build", {}).get("verdict"), "findings": []}
        if invalid:
            result["message"] = next((done[stage]["error"]["message"] for stage in ("import", "reference") if "error" in done.get(stage, {})), "")
        if oracle_crashes:
            crash = Finding("crash", "onnxruntime", "ONNX Runtime crashes")
            known = self.explanations.of(case, crash)
            result["findings"].append({"kind": crash.kind, "who": crash.who, "detail": crash.detail, "known": known, "ops": case.ops})
        for finding in findings:
            result["findings"].append(self.describe(case, finding))
        wrong = None if invalid or findings else misfit_of(case)
        if wrong:
            findings, invalid, done = self.look(wrong)
            result["misfit"] = "refused" if "error" in done.get("reference", {}) else "taken"
            result["findings"] += [self.describe(wrong, finding) for finding in findings]
        return result

    def describe(self, case, finding):
        described = {"kind": finding.kind, "who": finding.who, "detail": finding.detail[:600], "known": self.explanations.of(case, finding)}
        sort = (finding.key, tuple(sorted(set(case.ops))) if len(set(case.ops)) < 3 else len(set(case.ops)))
        if described["known"] or self.options.no_shrink or self.shrunk[sort] >= SHRUNK:
            described["ops"] = sorted(set(case.ops))
            return described
        self.shrunk[sort] += 1
        small = self.shrink(case, finding)
        again = next((other for other in self.look(small)[0] if other.key == finding.key), finding)
        described |= {"detail": again.detail[:600], "known": self.explanations.of(small, again), "ops": small.ops}
        if not described["known"]:
            folder = self.options.findings / f"{finding.kind}-{finding.who}-{'-'.join(small.ops[:4])}-{case.seed}".replace(" ", "_")
            save_case(small, folder)
            described["folder"] = str(folder)
            (folder / "README").write_text(readme(described, case, small, self.options.isa))
        return described

    def shrink(self, case, finding):
        finds = lambda smaller: any(other.key == finding.key for other in self.look(smaller)[0])
        return Shrinker(finds, self.options.shrink_seconds).shrink(case)


def readme(described, case, small, isa):
    level = f" --isa {isa}" if isa else ""
    return (
        f"{described['kind']} ({described['who']}): {described['detail']}\n\n"
        f"Seed {case.seed}, {len(case.ops)} nodes, shrunk to {len(small.ops)}: {', '.join(small.ops)}; opset {case.model.opset_import[0].version}.\n\n"
        f"    scripts/fuzz graphs --replay {described['folder']}{level}\n"
        f"    build/release/bin/vernier run {described['folder']}/model.onnx --reference --cpu --onnxruntime --optimization disable --data {described['folder']}/inputs.npz{level}\n"
    )


def work(options):
    """Seeds come on the standard input, results go to the standard output."""
    worker = Worker(options)
    try:
        for line in sys.stdin:
            begin = time.monotonic()
            seed, _, note = line.strip().partition(" ")
            result = worker.seed(int(seed), note == CRASHED)
            result["seconds"] = time.monotonic() - begin
            print(json.dumps(result), flush=True)
    finally:
        worker.driver.close()
