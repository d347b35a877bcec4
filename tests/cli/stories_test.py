"""The stories of examples/stories end as their pages say: stories_test.py VERNIER SOURCE_DIR

A page holds commands, and lines of what they print (README.md of the stories tells how they are marked). A copy of
the folder is run. A diagnosis whose first line says "is healthy" and a run whose page says "verdict: pass" end with
status 0, all others with 1, and the last command of a page ends with 0. The last sentence in bold names a class of
failure, and so must the first line of a diagnosis.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from dataclasses import dataclass, field

VERNIER, ROOT = "", pathlib.Path()
STORIES = ("attention-scale", "norm-in-fp16", "conv-clip", "tracker-sync", "int8-detector", "int8-without-vnni")


@dataclass
class Command:
    words: str
    printed: list[str] = field(default_factory=list)  # lines of its output, as the page shows them

    def status(self) -> int:
        return 0 if "is healthy" in self.printed[0] or "verdict: pass" in self.printed else 1


def commands_of(page: str) -> list[Command]:
    commands: list[Command] = []
    for line in page.splitlines():
        if line.startswith(("    vernier ", "    python ")):
            commands.append(Command(line.strip()))
        elif line.startswith("    > "):
            commands[-1].printed.append(line[6:])
    return commands


def shows(printed: str, output: str) -> bool:
    """Whether a line of the output holds what a page shows, where … stands for anything."""
    pattern = re.compile(".*".join(re.escape(part.strip()) for part in printed.split("…")))
    return any(pattern.search(line) for line in output.splitlines())


class Stories(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        made = shutil.ignore_patterns("*.onnx", "*.npz")
        shutil.copytree(ROOT / "examples/stories", self.folder / "examples/stories", ignore=made)
        shutil.copytree(ROOT / "python", self.folder / "python")
        programs = self.folder / "bin"
        programs.mkdir()
        for name, program in (("vernier", VERNIER), ("python", sys.executable)):
            (programs / name).write_text(f'#!/bin/sh\nexec "{program}" "$@"\n')
            (programs / name).chmod(0o755)
        self.environment = os.environ | {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}

    def run_command(self, command: str, story: str) -> subprocess.CompletedProcess:
        return subprocess.run(command, shell=True, cwd=self.folder / "examples/stories" / story, env=self.environment,
                              capture_output=True, text=True, timeout=300)  # fmt: skip

    def check_story(self, story: str):
        page = (ROOT / "examples/stories" / story / "README.md").read_text()
        told = re.findall(r"B\d+", re.findall(r"\*\*(.+?)\*\*", page, re.DOTALL)[-1])
        self.assertTrue(told, "the last sentence names no class")
        first_lines, statuses = [], []
        for command in commands_of(page):
            done = self.run_command(command.words, story)
            with self.subTest(command.words):
                if command.words.startswith("python "):
                    self.assertEqual(done.returncode, 0, done.stderr)
                    continue
                self.assertTrue(command.printed, "the page does not say what the command prints")
                self.assertTrue(done.stdout, done.stderr)
                statuses.append(command.status())
                self.assertEqual(done.returncode, command.status(), done.stdout + done.stderr)
                if command.words.startswith("vernier diagnose "):
                    first_lines.append(done.stdout.splitlines()[0])
                    self.assertTrue(shows(command.printed[0], first_lines[-1]), f"{command.printed[0]}\n{done.stdout}")
                for printed in command.printed:
                    self.assertTrue(shows(printed, done.stdout), f"{printed}\n{done.stdout}")
        self.assertEqual(set(statuses), {0, 1}, "a story has an engine that is wrong, and a sound twin")
        self.assertEqual(statuses[-1], 0, "a story ends with what passes")
        for code in told:
            said = any(f"({code}," in line for line in first_lines)
            self.assertTrue(said, f"no diagnosis says {code}: {first_lines}")

    def test_every_story_is_told(self):
        self.assertEqual({page.parent.name for page in (ROOT / "examples/stories").glob("*/README.md")}, set(STORIES))


def add_test(story: str):
    setattr(Stories, f"test_{story.replace('-', '_')}", lambda self: self.check_story(story))


for each in STORIES:
    add_test(each)

if __name__ == "__main__":
    ROOT, VERNIER = pathlib.Path(sys.argv.pop()).resolve(), str(pathlib.Path(sys.argv.pop()).resolve())
    unittest.main(verbosity=2)
