"""However a command ends, it leaves no process and no file behind: signals_test.py VERNIER SOURCE_DIR"""
import os
import pathlib
import signal
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import numpy as np

VERNIER, ROOT = "", pathlib.Path()
PATIENCE = 20  # seconds


def lives(process):
    try:
        return pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def children_of(process):
    def parent(stat):
        try:
            return int(stat.read_text().rsplit(")", 1)[1].split()[1])
        except (FileNotFoundError, ProcessLookupError):
            return None
    return [int(stat.parent.name) for stat in pathlib.Path("/proc").glob("[0-9]*/stat") if parent(stat) == process]


def wait_until(condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


class Signals(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.temporary = self.folder / "tmp"
        self.temporary.mkdir()
        self.model = ROOT / "examples/digits/digits.onnx"
        self.children = []
        self.addCleanup(self.end_children)

    def end_children(self):
        for child in filter(lives, self.children):
            os.kill(child, signal.SIGKILL)

    def start(self, **options):
        """A command whose runner hangs with a child of its own; gives it when both are there."""
        numbers = self.folder / "children"
        command = f"mine=echo $$ > {numbers}; sleep 600 & echo $! >> {numbers}; touch {numbers}.done; wait"
        process = subprocess.Popen([VERNIER, "run", self.model, "--reference", "--save-run", self.folder / "a.run", "--runner", command], env=os.environ | {"TMPDIR": str(self.temporary)},
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, **options)
        self.addCleanup(process.stderr.close)
        self.assertTrue(wait_until((self.folder / "children.done").exists))
        self.children = [int(number) for number in numbers.read_text().split()]
        self.assertTrue(all(map(lives, self.children)))
        self.assertTrue(any(self.temporary.iterdir()))
        return process

    def test_signals_end_children_and_remove_folders(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(number.name):
                process = self.start()
                process.send_signal(number)
                self.assertEqual(process.wait(timeout=PATIENCE), -number)
                self.assertTrue(wait_until(lambda: not any(map(lives, self.children))))
                self.assertEqual(list(self.temporary.iterdir()), [])
                self.assertFalse((self.folder / "a.run").exists())
                self.assertEqual(process.stderr.read(), "")
                (self.folder / "children.done").unlink()

    def test_children_die_with_a_command_that_is_killed(self):
        process = self.start()
        process.kill()
        process.wait(timeout=PATIENCE)
        self.assertTrue(wait_until(lambda: not any(map(lives, self.children))))

    def start_trial(self):
        """A build whose trial hangs in a child process; gives it when that is there."""
        process = subprocess.Popen([VERNIER, "build", self.model, "--isolate-trials", "--opt-level", "4", "--inject-fault", "hang"], stdout=subprocess.DEVNULL)
        self.assertTrue(wait_until(lambda: children_of(process.pid)))
        self.children = children_of(process.pid)
        return process

    def test_signals_end_trials(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            with self.subTest(number.name):
                process = self.start_trial()
                process.send_signal(number)
                self.assertEqual(process.wait(timeout=PATIENCE), -number)
                self.assertTrue(wait_until(lambda: not any(map(lives, self.children))))

    def test_a_signal_that_is_ignored_stays_so(self):
        process = self.start(preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        process.send_signal(signal.SIGHUP)
        time.sleep(0.3)
        self.assertIsNone(process.poll())
        self.assertTrue(all(map(lives, self.children)))
        process.terminate()
        self.assertEqual(process.wait(timeout=PATIENCE), -signal.SIGTERM)

    def test_a_file_that_is_changed_while_it_is_in_use_is_an_error(self):
        """The runner, which is started when the engine is loaded, changes the file under it."""
        data = self.folder / "some.npz"
        np.savez(data, image=np.load(ROOT / "examples/digits/held_out.npz")["image"][:2])
        engine, original = self.folder / "some.engine", self.folder / "original.engine"
        built = subprocess.run([VERNIER, "build", self.model, "--no-verify", "-o", original], capture_output=True, text=True)
        self.assertEqual(built.returncode, 0, built.stderr)
        runner = f"exec {sys.executable} {ROOT / 'docs/example_runner.py'}"
        for change, status, words in ((f"truncate -s 0 {engine}", 3, "while it was in use"), (f"truncate -s 5000 {engine}", 3, "while it was in use"),
                                      (f"head -c 999 /dev/zero | dd of={engine} conv=notrunc 2> {engine}.log", 3, "was changed while it was in use"),
                                      (f"cp {original} {engine}.new && mv {engine}.new {engine}", 0, ""), (f"rm {engine}", 0, "")):
            with self.subTest(change):
                shutil.copy(original, engine)
                done = subprocess.run([VERNIER, "run", self.model, "--engine", engine, "--runner", f"mine={change}; {runner}", "--data", data, "--json", self.folder / "report.json"],
                                      capture_output=True, text=True, timeout=120)
                self.assertEqual(done.returncode, status, done.stderr + done.stdout)
                self.assertIn(words, done.stderr)
                if status != 0:
                    self.assertIn("some.engine", done.stderr)
                    self.assertEqual(done.stdout, "")


if __name__ == "__main__":
    VERNIER, ROOT = sys.argv.pop(1), pathlib.Path(sys.argv.pop(1))
    unittest.main()
