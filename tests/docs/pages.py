"""A plugin of pytest that runs the fenced blocks of pages, one after the other: pytest -p pages docs/python.md

A page is run in a folder of its own that has a copy of examples/, as a checkout does. Blocks of `console` are commands behind `$ `, each with
lines that it prints, whole or in part: … stands for anything, and lines between them may be left out. A command ends with status 0, unless
`# exit status 1` behind it says other. Blocks of `python` share one namespace. Both work in the folder to which `cd` led.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from sybil import Sybil
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser, SkipParser

ROOT = pathlib.Path(__file__).resolve().parents[2]
STATUS = re.compile(r"# exit status (\d+)$")
TEXT = re.compile(r"<<'(\w+)'")


def commands_of(block):
    """[command, status, lines that it prints]; a command may go on behind a backslash, and hold a text as <<'END'."""
    commands, end = [], None
    for line in re.sub(r"\\\n\s*", "", block).splitlines():
        if end is not None:
            commands[-1][0] += f"\n{line}"
            end = None if line == end else end
        elif line.startswith("$ "):
            status, text = STATUS.search(line), TEXT.search(line)
            commands.append([line[2:], int(status[1]) if status else 0, []])
            end = text and text[1]
        elif not commands:
            raise ValueError(f"what does a block of console begin with? '{line}' is no command")
        elif line.strip():
            commands[-1][2].append(line)
    return commands


def not_printed(lines, output):
    """The first of the lines that the output does not show, in this order; None where it shows all. A long line may be shown as several."""
    printed, at = output.splitlines(), 0
    for line in lines:
        pattern = re.compile(".*".join(re.sub(r"(\\ )+", r"\\s+", re.escape(part.strip())) for part in line.split("…")))
        at = next((number for number in range(at, len(printed)) if pattern.search(printed[number])), -1)
        if at < 0:
            return line
    return None


def run_console(example):
    for command, status, lines in commands_of(example.parsed):
        with tempfile.NamedTemporaryFile("r") as folder:
            script = f"{command}\nstatus=$?\npwd > {folder.name}\nexit $status"
            done = subprocess.run(["bash", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120, stdin=subprocess.DEVNULL)
            os.chdir(folder.read().strip() or ".")
        if done.returncode != status:
            return f"$ {command}\nends with status {done.returncode}, not {status}:\n{done.stdout}"
        missing = not_printed(lines, done.stdout)
        if missing is not None:
            return f"$ {command}\ndoes not print '{missing}', or not in this place:\n{done.stdout}"
    return None


def set_up(namespace):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="vernier-page-"))
    namespace["_page"] = folder, os.getcwd(), os.environ["PATH"]
    made = shutil.ignore_patterns("*.engine", "__pycache__")
    shutil.copytree(ROOT / "examples", folder / "examples", ignore=made)
    (folder / "python").symlink_to(ROOT / "python")
    programs = folder / "bin"
    programs.mkdir()
    for name, program in (("vernier", os.environ["VERNIER_PROGRAM"]), ("python", sys.executable)):
        (programs / name).write_text(f'#!/bin/sh\nexec "{program}" "$@"\n')
        (programs / name).chmod(0o755)
    os.environ["PATH"] = f"{programs}{os.pathsep}{os.environ['PATH']}"
    os.chdir(folder)


def set_up_readme(namespace):
    set_up(namespace)
    subprocess.run([sys.executable, ROOT / "tests/docs/bundled.py", ROOT / "examples"], check=True)


def set_up_python(namespace):
    set_up(namespace)
    os.chdir("examples/digits")
    pathlib.Path("damaged.onnx").write_bytes(b"no model")


def tear_down(namespace):
    folder, before, os.environ["PATH"] = namespace["_page"]
    os.chdir(before)
    shutil.rmtree(folder)


# Pages that have their files already when they begin.
SET_UP = {ROOT / "README.md": set_up_readme, ROOT / "docs/python.md": set_up_python}


def pytest_collect_file(file_path, parent):
    parsers = [CodeBlockParser("console", run_console), PythonCodeBlockParser(), SkipParser()]
    page = Sybil(parsers, path="/", pattern="*.md", setup=SET_UP.get(file_path, set_up), teardown=tear_down)
    return page.pytest()(file_path, parent)
