"""--cores and --numa-node, which choose where a command runs: cores_test.py VERNIER SOURCE_DIR"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

VERNIER, ROOT = "", pathlib.Path()
SHORT = ("--duration", "0.05", "--warmup", "0", "--no-verify", "--opt-level", "0")
ALLOWED = sorted(os.sched_getaffinity(0))


def bench(*options):
    model = ROOT / "examples/digits/digits.onnx"
    return subprocess.run([VERNIER, "bench", model, *SHORT, *map(str, options)], capture_output=True, text=True, timeout=120)


class Cores(unittest.TestCase):
    def threads(self, *options):
        with tempfile.TemporaryDirectory() as folder:
            done = bench(*options, "--json", f"{folder}/result.json")
            self.assertEqual(done.returncode, 0, done.stderr)
            return int(json.loads(pathlib.Path(folder, "result.json").read_text())["environment"]["threads"])

    def refused(self, status, sentence, *options):
        done = bench(*options)
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertIn(sentence, done.stderr)

    def test_as_many_threads_as_cores_unless_told(self):
        self.assertEqual(self.threads("--cores", ALLOWED[-1]), 1)
        self.assertEqual(self.threads("--cores", ",".join(map(str, ALLOWED))), len(ALLOWED))
        self.assertEqual(self.threads("--cores", ALLOWED[0], "--threads", 2), 2)

    def test_what_is_no_list_is_a_usage_error(self):
        for cores in ("one", "3-1", "1,", "-1-2"):
            self.refused(2, "no list of cores", f"--cores={cores}")

    def test_what_is_not_there_is_not_supported(self):
        self.refused(4, "may not use core 1023", "--cores", 1023)
        self.refused(4, "no NUMA node 1000", "--numa-node", 1000)

    def test_a_node_is_used_or_it_is_said_why_not(self):
        done = bench("--numa-node", 0)
        if done.returncode != 0:  # containers mostly forbid it, and some systems tell of no node
            self.assertEqual(done.returncode, 4, done.stderr)
            self.assertIn("NUMA node 0", done.stderr)


if __name__ == "__main__":
    VERNIER, ROOT = sys.argv[1], pathlib.Path(sys.argv[2])
    unittest.main(argv=sys.argv[:1])
