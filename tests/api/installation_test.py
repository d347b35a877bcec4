"""An application finds the installed library with find_package, builds, and works; the library shows its interface and nothing else.

installation_test.py BUILD_FOLDER CXX_COMPILER
"""
import gzip
import json
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
        for component in ("runtime", "library"):
            run("cmake", "--install", BUILD, "--component", component, "--prefix", cls.prefix)
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

    def test_the_program_runs_wherever_it_is_moved(self):
        first, moved = BUILD / "test_program", BUILD / "test_program_moved"
        for folder in (first, moved):
            shutil.rmtree(folder, ignore_errors=True)
        run("cmake", "--install", BUILD, "--component", "program", "--prefix", first)
        first.rename(moved)
        vernier = moved / "bin/vernier"
        self.assertNotIn(str(ROOT).encode(), vernier.read_bytes())
        command = [vernier, "run", DIGITS / "digits.onnx", "--reference", "--cpu"]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, env={})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        command = [vernier, "run", DIGITS / "digits.onnx", "--reference", "--onnxruntime"]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, env={"PATH": str(ROOT / ".venv/bin"), "VERNIER_PYTHON": str(ROOT / ".venv/bin/python")})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)  # by the script that is installed

    def test_every_option_has_its_place_in_pages_and_completion(self):
        run("cmake", "--build", BUILD, "--target", "manual")  # made to be installed alone
        program = json.loads(run(BUILD / "bin/vernier", "help", "--format", "json"))
        completion = {name: (BUILD / "manual/completion" / name).read_text() for name in ("vernier", "_vernier", "vernier.fish")}
        for verb in program["verbs"]:
            page = gzip.decompress((BUILD / f"manual/man/vernier-{verb['name']}.1.gz").read_bytes()).decode().replace("\\-", "-")
            names = {name for option in verb["options"] for name in option["names"] if name.startswith("--")}
            names |= set(re.findall(r"^ {2}(--[a-z0-9-]+)", verb["footer"], re.MULTILINE))
            self.assertIn("--json", names)
            for name in names:
                self.assertIn(name, page)
                self.assertIn(name, next(line for line in completion["vernier"].splitlines() if line.startswith(f"    {verb['name']})")))
                self.assertIn(f"*{name}[", next(line for line in completion["_vernier"].splitlines() if line.startswith(f"    {verb['name']})")))
                self.assertRegex(completion["vernier.fish"], rf"from {verb['name']}' -l {name[2:]} ")
        self.assertIn("--inject-fault", completion["vernier"])

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
