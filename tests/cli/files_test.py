"""Tests what the command line does with files that are no files, that are full, and that it reads itself: files_test.py VERNIER SOURCE_DIR"""
import json
import os
import pathlib
import resource
import shutil
import stat
import subprocess
import sys
import tempfile
import threading
import unittest

import numpy as np
import onnx

VERNIER, ROOT = "", pathlib.Path()
RUNNERS = ("--reference", "--cpu")


def vernier(*arguments, **options):
    done = subprocess.run([VERNIER, *map(str, arguments)], capture_output="stdout" not in options, text=True, timeout=120, **options)
    return done.returncode, done.stdout, done.stderr


def limited(size):
    return {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))}


class Files(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.model = self.folder / "digits.onnx"
        shutil.copy(ROOT / "examples/digits/digits.onnx", self.model)
        self.data = self.folder / "some.npz"
        np.savez(self.data, image=np.load(ROOT / "examples/digits/held_out.npz")["image"][:2])
        self.run_model = ("run", self.model, *RUNNERS, "--data", self.data)

    def names(self):
        return sorted(path.name for path in self.folder.iterdir())

    def test_a_limit_of_file_sizes_is_an_error_and_leaves_nothing(self):
        before = self.names()
        for arguments in (["build", self.model, "--no-verify", "-o", self.folder / "new.engine"], ["export", self.model, "-o", self.folder / "new.onnx"],
                          [*self.run_model, "--json", self.folder / "new.json"]):
            with self.subTest(arguments[0]):
                status, _, err = vernier(*arguments, **limited(1024))
                self.assertEqual(status, 3, err)
                self.assertIn("cannot write: File too large", err)
                self.assertIn("new.", err)
                self.assertEqual(self.names(), before)

    def refused(self, arguments, *words):
        status, _, err = vernier(*arguments)
        self.assertEqual(status, 2, err)
        for word in ("would overwrite", *map(str, words)):
            self.assertIn(word, err)

    def test_an_output_that_is_an_input_is_refused(self):
        link, hard, engine, saved, labels = (self.folder / name for name in ("link.onnx", "hard.onnx", "some.engine", "some.run", "labels.npy"))
        link.symlink_to(self.model)
        hard.hardlink_to(self.model)
        np.save(labels, np.zeros(2, np.int64))
        self.assertEqual(vernier("build", self.model, "--no-verify", "-o", engine)[0], 0)
        self.assertEqual(vernier(*self.run_model[:3], "--save-run", saved, "--data", self.data)[0], 0)
        content = {path.name: path.read_bytes() for path in self.folder.iterdir()}
        for arguments, option, read in ((["build", self.model, "-o", self.model], "--output", "MODEL"),
                                        (["build", self.model, "-o", link], "--output", "MODEL"),
                                        (["build", link, "-o", hard], "--output", "MODEL"),
                                        (["build", self.model, "--timing-cache", self.model], "--timing-cache", "MODEL"),
                                        (["build", self.model, "--refit", engine, "-o", engine], "--output", "--refit"),
                                        (["bench", self.model, "--engine", engine, "--json", engine], "--json", "--engine"),
                                        (["export", self.model, "-o", self.folder / "." / "digits.onnx"], "--output", "MODEL"),
                                        (["check", self.model, "--json", self.model], "--json", "MODEL"),
                                        (["check", self.model, "--data", self.data, "--json", self.data], "--json", "--data"),
                                        (["inspect", self.model, "--json", self.model], "--json", "FILE"),
                                        (["run", self.model, "--reference", "--json", self.model], "--json", "MODEL"),
                                        (["run", self.model, "--reference", "--save-run", self.data, "--data", self.data], "--save-run", "--data"),
                                        (["run", self.model, "--reference", "--data", f"image={labels}", "--json", labels], "--json", "--data"),
                                        (["run", self.model, "--reference", "--data", self.data, "--labels", labels, "--json", labels], "--json", "--labels"),
                                        (["run", "--load-run", saved, "--load-run", saved, "--json", saved], "--json", "--load-run")):
            with self.subTest(str(arguments)):
                self.refused(arguments, option, read)
        for name, before in content.items():
            self.assertEqual((self.folder / name).read_bytes(), before, name)

    def test_an_output_that_is_a_sample_of_the_data_folder_is_refused(self):
        folder = self.folder / "samples"
        folder.mkdir()
        sample = folder / "some.npz"
        shutil.copy(self.data, sample)
        self.refused(["run", self.model, "--reference", "--data", folder, "--save-run", sample], "--save-run", "--data")
        report = folder / "report.txt"  # which is no data
        for _ in range(2):
            self.assertEqual(vernier("run", self.model, *RUNNERS, "--data", folder, "--json", report)[0], 0)

    def test_an_output_that_holds_weights_of_the_model_is_refused(self):
        model, weights = self.folder / "large.onnx", self.folder / "weights.bin"
        onnx.save(onnx.load(self.model), model, save_as_external_data=True, location=weights.name, size_threshold=0)
        before = weights.read_bytes()
        for arguments in (["build", model, "--no-verify", "-o", weights], ["inspect", model, "--json", weights], ["export", model, "-o", weights], ["check", model, "--json", weights],
                          ["bench", model, "--json", weights], ["run", model, "--reference", "--save-run", weights]):
            with self.subTest(arguments[0]):
                self.refused(arguments, {"-o": "--output"}.get(arguments[-2], arguments[-2]), "weights")
        self.assertEqual(weights.read_bytes(), before)

    def test_two_outputs_in_one_file_are_refused(self):
        one = self.folder / "one"
        self.refused(["build", self.model, "-o", one, "--json", self.folder / "." / "one"], "--output", "--json")
        self.assertFalse(one.exists())
        one.write_text("{}")
        self.refused(["build", self.model, "-o", one, "--json", one], "--output", "--json")

    def test_devices_and_pipes_are_written_to(self):
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        received = []
        reader = threading.Thread(target=lambda: received.append(pipe.read_text()), daemon=True)
        reader.start()
        status, _, err = vernier(*self.run_model, "--json", pipe)
        self.assertEqual(status, 0, err)
        self.assertTrue(stat.S_ISFIFO(pipe.stat().st_mode))
        reader.join(timeout=10)
        self.assertEqual(json.loads(received[0])["verdict"], "pass")
        status, out, err = vernier(*self.run_model, "--quiet", "--json", "/dev/stdout")
        self.assertEqual((status, json.loads(out)["verdict"]), (0, "pass"), err)
        with open(self.folder / "out", "w") as out:
            self.assertEqual(vernier(*self.run_model, "--json", "/dev/stdout", stdout=out)[0], 0)
        text = (self.folder / "out").read_text()
        self.assertEqual(json.loads(text[text.index("\n{") :])["verdict"], "pass")
        self.assertFalse(text.startswith("{"), "the report stands before")

    def test_a_full_device_is_noticed_and_stays(self):
        if os.geteuid() != 0:
            self.skipTest("only root can make a device")
        full = self.folder / "full"
        os.mknod(full, 0o666 | stat.S_IFCHR, os.makedev(1, 7))
        try:
            with open(full, "w"):
                pass
        except PermissionError:
            self.skipTest("this file system has no devices")
        for arguments in ([*self.run_model, "--json", full], ["run", self.model, "--reference", "--data", self.data, "--save-run", full], ["build", self.model, "--no-verify", "-o", full]):
            with self.subTest(str(arguments[-2:])):
                status, _, err = vernier(*arguments)
                self.assertEqual(status, 3, err)
                self.assertIn("No space left on device", err)
                self.assertTrue(stat.S_ISCHR(full.stat().st_mode))

    def test_a_link_stays_a_link(self):
        target, link, dangling = (self.folder / name for name in ("target.json", "link.json", "dangling.json"))
        target.write_text("old")
        link.symlink_to("target.json")
        dangling.symlink_to("nothing.json")
        for path in (link, dangling):
            self.assertEqual(vernier(*self.run_model, "--json", path)[0], 0)
            self.assertTrue(path.is_symlink())
            self.assertEqual(json.loads(path.read_text())["verdict"], "pass")

    def test_a_report_that_is_lost_is_an_error(self):
        with open("/dev/full", "w") as full:
            for arguments in (self.run_model, ["inspect", self.model], ["--help"], ["run", "--help"]):
                status, _, err = vernier(*arguments, stdout=full, stderr=subprocess.PIPE)
                self.assertEqual(status, 3, err)
                self.assertIn("standard output: cannot write: No space left on device", err)
            report = self.folder / "report.json"
            self.assertEqual(vernier(*self.run_model, "--json", report, stdout=full, stderr=subprocess.PIPE)[0], 3)
            self.assertTrue(report.exists(), "what can be written is")
            self.assertEqual(vernier(*self.run_model, "--quiet", stdout=full, stderr=subprocess.PIPE)[0], 0)
        closed = subprocess.run(["sh", "-c", '"$@" >&-', "sh", VERNIER, "inspect", self.model], capture_output=True, text=True, timeout=60)
        self.assertEqual(closed.returncode, 3, closed.stderr)

    def test_nobody_need_read_the_report_to_its_end(self):
        reader, writer = os.pipe()
        os.close(reader)
        with os.fdopen(writer, "w") as pipe:
            report = self.folder / "report.json"
            status, _, err = vernier(*self.run_model, "--json", report, stdout=pipe, stderr=subprocess.PIPE)
        self.assertEqual((status, err), (0, ""))
        self.assertTrue(report.exists())

    def test_a_temporary_folder_that_is_missing_is_said(self):
        before = os.environ | {"TMPDIR": str(self.folder / "missing")}
        status, _, err = vernier("run", self.model, "--reference", "--save-run", self.folder / "a.run", "--data", self.data, env=before)
        self.assertEqual(status, 3, err)
        for word in ("temporary folder", "missing", "TMPDIR"):
            self.assertIn(word, err)

    def test_the_missing_one_of_two_engines_is_named(self):
        engine = self.folder / "some.engine"
        self.assertEqual(vernier("build", self.model, "--no-verify", "-o", engine)[0], 0)
        for pair in ((engine, "/nonexist"), ("/nonexist", engine)):
            status, _, err = vernier("inspect", pair[0], "--diff", pair[1])
            self.assertEqual(status, 3)
            self.assertIn("/nonexist: cannot open: No such file", err)

    def test_the_memory_limit_is_a_number_and_holds_for_what_is_drawn(self):
        for limit in ("nan", "-nan", "inf", "-1", "0", "x"):
            status, _, err = vernier("inspect", self.model, "--memory-limit", limit)
            self.assertEqual(status, 2, f"{limit}: {err}")
        process = subprocess.Popen([VERNIER, "run", self.model, "--reference", "--shapes", "image:30000000x1x8x8", "--memory-limit", "0.5"], stderr=subprocess.PIPE, text=True)
        err = process.stderr.read()
        process.stderr.close()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 3, err)
        for word in ("'image'", "--memory-limit", "536870912"):
            self.assertIn(word, err)
        self.assertLess(usage.ru_maxrss, 1 << 19)  # KiB


if __name__ == "__main__":
    VERNIER, ROOT = sys.argv.pop(1), pathlib.Path(sys.argv.pop(1))
    unittest.main()
