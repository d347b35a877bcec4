"""Writes what a run of the fuzzer found."""

import time
from collections import Counter, defaultdict

from explanations import Explanations
from judge import SEVERITY

LONG_RUN = 30_000  # graphs after which an explanation that explains nothing is told


class Report:
    def __init__(self, options):
        self.options, self.begin = options, time.monotonic()
        self.graphs, self.invalid, self.nodes = 0, 0, 0
        self.operators, self.known, self.verdicts, self.misfits = Counter(), Counter(), Counter(), Counter()
        self.found = defaultdict(list)  # (kind, who, operators) -> results
        self.invalid_ops = Counter()

    def add(self, result):
        self.graphs += 1
        self.nodes += len(result["ops"])
        self.operators.update(set(result["ops"]))
        self.verdicts[result["verdict"]] += 1
        self.misfits.update([result["misfit"]] if "misfit" in result else [])
        if result["invalid"]:
            self.invalid += 1
            self.invalid_ops["+".join(result["ops"]) if len(result["ops"]) == 1 else "chains"] += 1
            if not self.options.quiet:
                print(f"seed {result['seed']}: no graph: {'+'.join(result['ops'])}: {result['message'][:200]}")
        for finding in result["findings"]:
            if finding["known"]:
                self.known[finding["known"]] += 1
                continue
            finding["seed"] = result["seed"]
            self.found[finding["kind"], finding["who"], "+".join(finding["ops"])].append(finding)
            if not self.options.quiet:
                print(f"seed {result['seed']}: {finding['kind']} ({finding['who']}) {'+'.join(finding['ops'])}: {finding['detail'][:300]}", flush=True)

    def finish(self):
        seconds = time.monotonic() - self.begin
        print(f"\n{self.graphs} graphs, {self.nodes} nodes of {len(self.operators)} operators, in {seconds:.0f} s: {self.graphs / seconds:.1f} a second")
        print(f"{self.invalid} were no graphs (refused by all): {dict(self.invalid_ops.most_common(8))}")
        print(f"verdicts of builds: {dict(self.verdicts)}")
        print(f"with one size drawn wrongly, by the reference: {dict(self.misfits)}")
        for name, count in sorted(self.known.items()):
            print(f"explained by {name}: {count}")
        if self.graphs >= LONG_RUN:
            for entry in Explanations().entries:
                if entry["name"] not in self.known:
                    print(f"explanation {entry['name']} explained nothing")
        order = sorted(self.found.items(), key=lambda item: (SEVERITY.index(item[0][0]), -len(item[1])))
        for (kind, who, operators), findings in order:
            folder = next((finding["folder"] for finding in findings if "folder" in finding), "")
            print(f"{kind} ({who}) {operators}: {len(findings)} graphs, e.g. seed {findings[0]['seed']} {folder}\n    {findings[0]['detail'][:250]}")
        print(f"fuzz: {sum(map(len, self.found.values()))} findings of {len(self.found)} sorts in {self.graphs} graphs")
        return 1 if self.found else 0
