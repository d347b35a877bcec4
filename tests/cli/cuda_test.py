"""--cuda on the command line, on a machine with or without a GPU: cuda_test.py VERNIER SOURCE_DIR"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

VERNIER, ROOT = "", pathlib.Path()


class Cuda(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.model = ROOT / "examples/digits/digits.onnx"

    def vernier(self, *arguments, **environment):
        done = subprocess.run([VERNIER, *map(str, arguments)], capture_output=True, text=True, timeout=120, env=os.environ | environment)
        return done.returncode, done.stdout, done.stderr

    @staticmethod
    def has_gpu():
        return pathlib.Path("/dev/nvidiactl").exists()

    def test_without_a_gpu_it_says_what_is_missing_and_what_works(self):
        if self.has_gpu():
            self.skipTest("SKIPPED: there is a GPU")
        for command in (["run", self.model, "--reference", "--cuda"], ["bench", self.model, "--cuda"], ["build", self.model, "--cuda", "-o", self.folder / "e"]):
            status, _, err = self.vernier(*command, CUDA_PATH="", VERNIER_PYTHON="/none")
            self.assertEqual(status, 4, err)
            self.assertIn("--cuda cannot run here", err)
            self.assertIn("libcuda.so.1", err)
            self.assertIn("--cpu needs nothing of CUDA", err)
        self.assertFalse((self.folder / "e").exists())

    def test_a_missing_compiler_is_told_with_the_folders(self):
        if self.has_gpu():
            self.skipTest("SKIPPED: there is a GPU")
        library = self.folder / "toolkit/lib64"
        library.mkdir(parents=True)
        status, _, err = self.vernier("run", self.model, "--reference", "--cuda", "--cuda-path", library.parent, VERNIER_PYTHON="/none")
        self.assertEqual(status, 4, err)
        if "NVRTC" in err:  # the system may have it where its loader looks
            self.assertIn(str(library), err)
            self.assertIn("nvidia-cuda-nvrtc", err)

    def test_wrong_options_are_usage(self):
        for options, text in ((["--cuda=first"], "no number of a GPU"), (["--cuda", "--streams", "2"], "--streams does not apply to --cuda"),
                              (["--cpu", "--cuda-path", "/x"], "--cuda-path does not apply to --cpu"), (["--cuda", "--inject-fault", "drop-wait"], "drop-wait:0 is the first")):
            status, _, err = self.vernier("run", self.model, "--reference", *options)
            self.assertEqual(status, 2, err)
            self.assertIn(text, err)

    def test_help_says_how_libraries_are_found(self):
        for verb in ("run", "bench"):
            status, out, _ = self.vernier(verb, "--help")
            self.assertEqual(status, 0)
            for word in ("--cuda[=GPU]", "--cuda-path", "VERNIER_PYTHON", "/usr/local/cuda"):
                self.assertIn(word, out)


if __name__ == "__main__":
    ROOT = pathlib.Path(sys.argv.pop())
    VERNIER = sys.argv.pop()
    unittest.main()
