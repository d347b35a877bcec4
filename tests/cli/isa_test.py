"""--isa, which limits what the CPU engine uses of the processor, on the bundled model: isa_test.py VERNIER SOURCE_DIR"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

VERNIER, ROOT = "", pathlib.Path()
SHORT = ("--duration", "0.05", "--warmup", "0", "--shapes", "image:4x1x8x8")


def vernier(*arguments):
    done = subprocess.run([VERNIER, *map(str, arguments)], capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


def level_of(environment):
    return environment["instruction sets"].split(":")[0]


class Isa(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.model = ROOT / "examples/digits/digits.onnx"
        report = cls.folder / "native.json"
        status, _, err = vernier("bench", cls.model, *SHORT, "--json", report)
        assert status == 0, err
        cls.native = level_of(json.loads(report.read_text())["environment"])

    def bench(self, *arguments):
        report = self.folder / "bench.json"
        status, _, err = vernier("bench", *arguments, *SHORT, "--profile", "--json", report)
        self.assertEqual(status, 0, err)
        return json.loads(report.read_text())

    def test_the_limit_is_in_force_and_in_the_report(self):
        report = self.bench(self.model, "--isa", "avx2")
        self.assertEqual(level_of(report["environment"]), "avx2")
        self.assertEqual(report["options"]["isa"], "avx2")
        for step in report["profile"]["steps"]:
            self.assertNotIn("avx512", step["kernel"])

    def test_the_engine_agrees_with_the_reference_at_each_level(self):
        for level in ("avx2", "avx512", "amx"):
            status, out, err = vernier("run", self.model, "--reference", "--cpu", "--isa", level)
            self.assertEqual(status, 0, out + err)
            if level == self.native:
                break

    def test_an_engine_file_and_a_timing_cache_know_their_level(self):
        engine, cache = self.folder / "limited.engine", self.folder / "times.json"
        status, _, err = vernier("build", self.model, "--opt-shapes", "image:4x1x8x8", "--isa", "avx2", "--timing-cache", cache, "-o", engine)
        self.assertEqual(status, 0, err)
        self.assertIn("avx2: oneDNN avx2", cache.read_text())
        self.assertEqual(level_of(self.bench(engine, "--isa", "avx2")["environment"]), "avx2")
        self.assertEqual(level_of(self.bench(self.model, "--engine", engine, "--isa", "avx2")["environment"]), "avx2")
        status, out, err = vernier("run", self.model, "--reference", "--engine", engine, "--isa", "avx2", "--shapes", "image:4x1x8x8")
        self.assertEqual(status, 0, out + err)
        if self.native == "avx2":
            return
        status, _, err = vernier("bench", engine, *SHORT)
        self.assertEqual(status, 4)
        self.assertIn("the engine was built for processor 'avx2: ", err)
        self.assertIn("--isa", err)

    def test_what_the_machine_lacks_is_not_supported_here(self):
        levels = ("avx2", "avx512", "amx")
        for level in levels[levels.index(self.native) + 1:]:
            status, _, err = vernier("bench", self.model, "--isa", level, *SHORT)
            self.assertEqual(status, 4, level)
            self.assertIn(f"this processor has no {level}", err)

    def test_what_makes_no_sense_is_a_usage_error(self):
        for arguments in (("bench", self.model, "--isa", "sse9"), ("run", self.model, "--reference", "--isa", "avx2"),
                          ("run", self.model, "--cpu", "--cpu", "--isa", "avx2")):
            status, _, err = vernier(*arguments)
            self.assertEqual(status, 2, arguments)
            self.assertIn("isa" if "sse9" not in arguments else "sse9", err)


if __name__ == "__main__":
    VERNIER, ROOT = sys.argv.pop(1), pathlib.Path(sys.argv.pop(1))
    unittest.main()
