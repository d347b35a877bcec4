"""The program `vernier` as a child process: options as words, what it tells as progress, its JSON, its errors."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from .errors import Usage, VernierError, error_of
from .files import File

PROGRAM = Path(__file__).parent / "bin" / "vernier"
RUNNER_SCRIPTS = Path(os.path.realpath(PROGRAM)).parent.parent / "share" / "vernier" / "python" / "vernier_runners"
PYTHON = sys.executable or "python3"  # for runners

# `progress` may be a bar of tqdm, nothing, or a function of the name of a stage, how many are done, and how many there are (None where
# nobody knows).
Progress = bool | Callable[[str, int, int | None], None]

# Options that mean something without a value, too.
_MAY_HAVE_VALUE = ("cuda", "simulated", "tensorrt")
_SIZES = ("min_shapes", "opt_shapes", "max_shapes")


class Done:
    """A command that has ended with a result. `page` is the file of its page, which goes with it, if it was asked for and written."""

    def __init__(self, status: int, text: str, result: Any, page: File | None = None) -> None:
        self.status, self.text, self.result, self.page = status, text, result, page


def option_words(options: Mapping[str, Any]) -> list[str]:
    """Options of Python as words: bf16=True is --bf16, cuda=1 is --cuda=1, atol={"y": 1e-3} is --atol y:0.001, None and False are
    nothing."""
    words = []
    for name, value in options.items():
        option = "--" + name.replace("_", "-")
        for each in _values(name, value):
            if each is True:
                words.append(option)
            else:
                words += [f"{option}={each}"] if name in _MAY_HAVE_VALUE else [option, each]
    return words


def _values(name: str, value: Any) -> Iterable[Any]:
    if value is None or value is False:
        return
    if value is True:
        yield True
    elif isinstance(value, Mapping):
        yield from _pairs(name, value)
    elif isinstance(value, (list, tuple)) and not isinstance(value, str):
        for each in value:
            yield from _values(name, each)
    else:
        yield os.fspath(value) if isinstance(value, os.PathLike) else str(value)


def _pairs(name: str, value: Mapping[str, Any]) -> Iterable[str]:
    if name in _SIZES or name == "shapes":
        words = [f"{key}:{'x'.join(str(int(size)) for size in dims)}" for key, dims in value.items()]
    elif name == "val_range":
        words = [f"{key}:[{low},{high}]" for key, (low, high) in value.items()]
    elif name in ("runner_option", "vs_option"):
        words = [f"{key}={each}" for key, each in value.items()]
    else:
        words = [f"{key}:{each}" for key, each in value.items()]
    # A profile, and types of nodes, are one value each; of the others each pair is one.
    return [",".join(words)] if name in _SIZES or name.startswith("layer_") else words


@functools.cache
def has_page() -> bool:
    """Whether the program can write pages: it was built where Node.js was."""
    told = subprocess.run([PROGRAM, "help", "--format", "json"], capture_output=True, text=True, check=True).stdout
    return bool(json.loads(told)["page"])


def run(verb: str, words: Iterable[Any], progress: Progress = False, page: bool = False) -> Done:
    """Runs a command and gives its JSON, and with `page` its page. Raises what it fails by; a verdict is no failure, nor is a page that
    cannot be written, for the result is there."""
    html = None
    if page and has_page():
        kept = tempfile.TemporaryDirectory(prefix="vernier-page-")
        html = File(Path(kept.name) / "page.html", kept)
        words = [*words, "--html", html.path]
    with tempfile.TemporaryDirectory(prefix="vernier-") as folder:
        json_file = Path(folder) / "result.json"
        command = [str(PROGRAM), verb, *map(str, words), "--json", str(json_file)]
        status, text, complaint, error = _run(command, verb, progress)
        # A result may be there though a runner could not be loaded: it says so itself.
        if status >= 0 and json_file.exists():
            return Done(status, text, json.loads(json_file.read_text()), html if html is not None and html.path.exists() else None)
    if error is not None:
        raise error_of(error["code"], complaint or error["message"], error["file"], error["node"], error["advice"])
    if status < 0:
        raise VernierError(f"`vernier {verb}` was ended by {signal.Signals(-status).name}: {complaint or 'it said nothing'}")
    raise error_of(status, complaint or f"`vernier {verb}` ended with status {status} and no result")


def _run(command: list[str], verb: str, progress: Progress) -> tuple[int, str, str, dict[str, str] | None]:
    if not PROGRAM.exists():
        raise VernierError(f"this installation lacks its program, {PROGRAM}", advice="install vernier-engine again")
    reads, writes = os.pipe()
    environment = {"VERNIER_PYTHON": PYTHON, **os.environ}
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as complaints, os.fdopen(reads) as events:
        try:
            child = subprocess.Popen([*command, "--progress-fd", str(writes)], stdin=subprocess.DEVNULL, stdout=out,
                                     stderr=complaints, pass_fds=[writes], env=environment)  # fmt: skip
        finally:
            os.close(writes)
        try:
            error = _follow(events, verb, progress)
            status = child.wait()
        except BaseException:
            _end(child)
            raise
        out.seek(0)
        complaints.seek(0)
        complaint = complaints.read().decode(errors="replace").strip().removeprefix("vernier: ")
        return status, out.read().decode(errors="replace"), complaint, error


def _end(child: subprocess.Popen[bytes]) -> None:
    """As a user who presses Ctrl-C would; it takes the processes of runners along."""
    child.terminate()
    try:
        child.wait(5)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


def _follow(events: Iterable[str], verb: str, progress: Progress) -> dict[str, str] | None:
    error = None
    with shown(progress, verb) as show:
        for line in events:
            event = json.loads(line)
            if event["event"] == "error":
                error = event
            else:
                show(event["name"], event["done"], event["steps"])
    return error


@contextlib.contextmanager
def shown(progress: Progress, verb: str) -> Iterator[Callable[[str, int, int | None], None]]:
    """Whatever is to be told of stages; a bar is closed at the end."""
    if callable(progress):
        yield progress
    elif not progress:
        yield lambda name, done, steps: None
    else:
        bar = _Bar(verb)
        try:
            yield bar
        finally:
            bar.close()


class _Bar:
    """A bar of tqdm, on a terminal or in a notebook."""

    def __init__(self, verb: str) -> None:
        import warnings

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a notebook without ipywidgets gets a bar of text
            from tqdm.auto import tqdm

        self._bar = tqdm(desc=verb, unit="stage")

    def __call__(self, name: str, done: int, steps: int | None) -> None:
        self._bar.total = steps
        self._bar.set_postfix_str(name, refresh=False)
        self._bar.update(done - self._bar.n)

    def close(self) -> None:
        if self._bar.total is not None:
            self._bar.update(self._bar.total - self._bar.n)
        self._bar.close()


def require_file(path: str | os.PathLike[str]) -> str:
    """A path that an option of the program would not be taken for."""
    text = os.fspath(path)
    if not isinstance(text, str) or not text:
        raise Usage(f"{path!r} is no path")
    return os.path.join(".", text) if text.startswith("-") else text


def main() -> None:
    """The program itself: `vernier` where the package is installed."""
    os.environ.setdefault("VERNIER_PYTHON", PYTHON)
    os.execv(PROGRAM, ["vernier", *sys.argv[1:]])
