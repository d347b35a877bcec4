"""Engines as a user gets them: what `vernier build` writes."""
import json
import os
import pathlib
import re
import subprocess

from .paths import CARRIED_LIBRARIES, VERNIER, WORK


def environment() -> dict[str, str]:
    """With the libraries of a pack, where there are some."""
    return {**os.environ, "LD_LIBRARY_PATH": str(CARRIED_LIBRARIES)} if CARRIED_LIBRARIES.exists() else dict(os.environ)


def vernier(*arguments, cores: list[int] | None = None) -> subprocess.CompletedProcess:
    """Runs a verb, on these cores or on all."""
    pin = (lambda: os.sched_setaffinity(0, cores)) if cores else None
    return subprocess.run([VERNIER, *map(str, arguments)], capture_output=True, text=True, env=environment(), preexec_fn=pin)


def built(name: str, source: pathlib.Path, options: list, cores: list[int] | None = None) -> tuple[pathlib.Path, str]:
    """The engine that a user gets, and its verdict. Where that is no pass, a user gets none: what is measured then was not verified."""
    WORK.mkdir(parents=True, exist_ok=True)
    engine, out = WORK / f"{name}.engine", WORK / f"{name}.build.json"
    build = ["build", source, *options, "--timing-cache", WORK / "timing.json", "-o", engine]
    run = vernier(*build, "--json", out, cores=cores)
    if run.returncode not in (0, 1):
        raise RuntimeError(f"{name}: {run.stderr.strip()}")
    verdict = verdict_of(json.loads(out.read_text()))
    if run.returncode == 0:
        return engine, verdict
    if vernier(*build, "--no-verify", cores=cores).returncode != 0:
        raise RuntimeError(f"{name}: the verdict is {verdict}, and without it nothing is built")
    return engine, f"**{verdict}**: a user gets no engine"


def verdict_of(report: dict) -> str:
    """Reads a report of `build --json`, with the approximate tactics that the verdict has cost."""
    verdict = report["accuracy"]["verdict"]
    given_up = next((note for note in report["notes"] if "given up" in note), "")
    if found := re.search(r"in (\d+) nodes.*given up in (\d+) of them", given_up):
        verdict += f"; approximate in {int(found[1]) - int(found[2])} of {found[1]} nodes"
    if given_up.endswith("given up in all"):
        verdict += "; approximate in none"
    return verdict


def key(text: str) -> str:
    """A name for files: lower case, words joined by hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower())
