"""An application finds the installed library with find_package, builds, and works; the library shows its interface and nothing else.

installation_test.py BUILD_FOLDER CXX_COMPILER
"""
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DIGITS = ROOT / "examples/digits"
BUILD = COMPILER = None


def run(*command) -> str:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        raise AssertionError(f"{command}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


class Installation(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.prefix, cls.examples = BUILD / "test_prefix", BUILD / "test_examples"
        for folder in (cls.prefix, cls.examples):
            shutil.rmtree(folder, ignore_errors=True)
        run("cmake", "--install", BUILD, "--component", "library", "--prefix", cls.prefix)
        run("cmake", "-S", ROOT / "examples/cpp", "-B", cls.examples, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={cls.prefix}", f"-DCMAKE_CXX_COMPILER={COMPILER}")
        run("cmake", "--build", cls.examples)

    def test_the_application_classifies_digits(self):
        said = run(self.examples / "classify_digits", DIGITS / "digits.onnx", DIGITS / "held_out.npz", DIGITS / "labels.npy")
        right, of = map(int, re.match(r"(\d+) of (\d+) digits", said).groups())
        self.assertEqual(of, 359)
        self.assertGreaterEqual(right, 350)

    def test_the_application_says_what_is_wrong(self):
        done = subprocess.run([self.examples / "classify_digits", DIGITS / "labels.npy", DIGITS / "held_out.npz", DIGITS / "labels.npy"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 3)
        self.assertIn("labels.npy", done.stderr)

    def test_the_c_program_runs_the_model(self):
        said = run(self.examples / "model_info", DIGITS / "digits.onnx")
        self.assertRegex(said, r"input image: element type 1, sizes \[\w+, 1, 8, 8\]")
        self.assertIn("first element", said)

    def test_only_the_interface_is_exported(self):
        library = next(self.prefix.rglob("libvernier.so"))
        lines = run("nm", "--dynamic", "--defined-only", "--demangle", library).splitlines()
        names = [line.split(" ", 2)[2] for line in lines]
        foreign = [name for name in names if not re.match(r"(typeinfo (name )?for |vtable for )?vernier::v1::|vernier_\w+$", name)]
        self.assertEqual(foreign, [])
        for name in ("vernier_session_run", "vernier::v1::Session::run()"):
            self.assertIn(name, names)

    def test_every_function_of_the_c_header_is_exported(self):
        header = (ROOT / "include/vernier/vernier_c.h").read_text()
        declared = set(re.findall(r"VERNIER_C_API [^;(]*?(vernier_\w+)\(", header))
        exported = run("nm", "--dynamic", "--defined-only", next(self.prefix.rglob("libvernier.so")))
        self.assertGreater(len(declared), 20)
        self.assertEqual(declared, set(re.findall(r" T (vernier_\w+)", exported)))


if __name__ == "__main__":
    COMPILER = sys.argv.pop(2)
    BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
