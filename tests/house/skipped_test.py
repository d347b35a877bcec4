"""Steps that are skipped because ../shared is not here are named, and fails scripts/test: skipped_test.py SOURCE_DIR

The scripts run in a copy without ../shared, in which all that takes long does nothing.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path()


class Skipped(unittest.TestCase):
    def setUp(self):
        self.tree = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory())) / "tree"
        (self.tree / "scripts").mkdir(parents=True)
        (self.tree / "build").mkdir()
        for name in ("conformance", "models", "test"):
            shutil.copy(ROOT / "scripts" / name, self.tree / "scripts" / name)
        for name in ("scripts/setup", "scripts/lint", "scripts/build", "scripts/demo", "scripts/page", ".venv/bin/python", "build/release/bin/conformance", "bin/ctest"):
            self.replace(name, "echo did nothing")
        for name in ("tests/isa/levels.py", "tests/programs_of_tests.py"):
            script = self.tree / name
            script.parent.mkdir(parents=True, exist_ok=True)
            script.write_text("print('did nothing')\n")

    def replace(self, name, command):
        path = self.tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/usr/bin/env bash\n{command}\n")
        path.chmod(0o755)

    def run_script(self, *command):
        path = f"{self.tree / 'bin'}:{os.environ['PATH']}"
        done = subprocess.run(command, cwd=self.tree, capture_output=True, text=True, env={**os.environ, "PATH": path})
        return done.returncode, done.stdout.strip().splitlines()

    def add_shared(self):
        for folder in ("models", "skeletons", "conformance"):
            (self.tree.parent / "shared" / folder).mkdir(parents=True)
        (self.tree.parent / "shared/conformance/onnx-backend-tests.tar.xz").touch()
        (self.tree / "build/conformance").mkdir()
        (self.tree / "build/conformance/.complete").touch()

    def test_the_last_line_says_it(self):
        for command in (["scripts/conformance"], ["scripts/conformance", "--cpu"], ["scripts/models"]):
            status, lines = self.run_script(*command)
            self.assertEqual(status, 0)
            self.assertRegex(lines[-1], r"^(conformance|models): SKIPPED, \.\./shared/")

    def test_scripts_test_fails_and_names_what_was_skipped(self):
        status, lines = self.run_script("scripts/test")
        self.assertEqual(status, 1)
        self.assertIn("test: FAILED, 6 steps", lines[-1])
        self.assertEqual([line.split(" (")[0] for line in lines[-7:-1]], [f"SKIPPED: scripts/{name}" for name in ("conformance", "conformance --force-tactics", "conformance --simulated", "conformance --profiles", "conformance --simulated --profiles", "models --part=0/3")])

    def test_unless_that_is_allowed(self):
        status, lines = self.run_script("scripts/test", "--without-shared")
        self.assertEqual(status, 0)
        self.assertIn("SKIPPED: scripts/models", lines[-1])
        self.assertEqual(self.run_script("scripts/test", "--without")[0], 2)

    def test_with_everything_there_nothing_is_skipped(self):
        self.add_shared()
        status, lines = self.run_script("scripts/test")
        self.assertEqual((status, [line for line in lines if "SKIPPED" in line]), (0, []))

    def test_what_fails_still_fails(self):
        self.add_shared()
        self.replace("build/release/bin/conformance", "echo 'conformance: 1/2'; exit 1")
        self.assertNotEqual(self.run_script("scripts/test")[0], 0)


if __name__ == "__main__":
    ROOT = pathlib.Path(sys.argv.pop(1))
    unittest.main()
