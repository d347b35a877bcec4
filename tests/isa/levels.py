"""The suites of the CPU engine at each level of instruction sets that the machine has: levels.py BIN_DIR [LEVEL...]

Every test passes, or says by GTEST_SKIP which instruction it lacks. The last lines count what was skipped at each level, by
reason. Exit status 1 if a test fails, or is neither run nor skipped with a reason."""
import collections
import concurrent.futures
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree

SUITES = ("engine", "cpu", "api", "faults")  # the longest first: as many run beside each other as there are cores
LEVELS = ("avx2", "avx512", "amx")
LACKING = 77  # what tests/isa/main.cpp ends with where the machine lacks the level


class Result:
    """Holds what one suite did at one level: reasons of skipped tests, and what went wrong."""

    def __init__(self):
        self.ran, self.skipped, self.failures = 0, [], []

    def read(self, path):
        for case in ElementTree.parse(path).getroot().iter("testcase"):
            name = f"{case.get('classname')}.{case.get('name')}"
            skipped = case.find("skipped")
            if case.find("failure") is not None:
                self.failures.append(name)
            elif skipped is not None:
                # The place in the source comes first, on a line of its own.
                reason = "; ".join(line for line in skipped.get("message", "").splitlines()[1:] if line)
                self.skipped.append(reason)
                if not reason:
                    self.failures.append(f"{name} is skipped without a reason")
            elif case.get("status") == "run":
                self.ran += 1
            elif not case.get("name").startswith("DISABLED_"):
                self.failures.append(f"{name} did not run")


def run(binary, level):
    """A Result, or None where the machine lacks the level."""
    result = Result()
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report.xml"
        done = subprocess.run([binary, f"--gtest_output=xml:{report}", "--gtest_brief=1"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, errors="replace", env=dict(os.environ, VERNIER_TEST_ISA=level))
        if done.returncode == LACKING:
            return None
        if report.exists():
            result.read(report)
        if done.returncode != 0 or not report.exists():
            print(done.stdout[-20000:])
            if not result.failures:
                result.failures.append(f"{binary.name} ended with {done.returncode}")
    return result


def main(folder, levels):
    failed, lines, start = False, [], time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        running = {level: [pool.submit(run, pathlib.Path(folder) / f"{suite}_tests", level) for suite in SUITES] for level in levels}
    for level, suites in running.items():
        reasons, ran, failures = collections.Counter(), 0, []
        for result in (suite.result() for suite in suites):
            if result is None:
                break
            ran += result.ran
            reasons.update(result.skipped)
            failures += result.failures
        if result is None:
            lines.append(f"{level}: this machine lacks it")
            continue
        failed = failed or bool(failures)
        for failure in failures:
            print(f"{level}: FAILED {failure}")
        parts = ", ".join(f"{count} {reason}" for reason, count in reasons.most_common())
        lines.append(f"{level}: {ran} passed, {len(failures)} failed, {sum(reasons.values())} skipped{': ' + parts if parts else ''}")
    print("\n".join([*lines, f"{time.monotonic() - start:.0f} s"]))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:] or LEVELS))
