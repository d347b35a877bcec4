"""Tests what a program that runs Vernier is told while it works (--progress-fd), and where errors lie: events_test.py VERNIER SOURCE_DIR"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

VERNIER, ROOT = "", pathlib.Path()


def events_of(*arguments):
    reads, writes = os.pipe()
    child = subprocess.Popen([VERNIER, *map(str, arguments), "--progress-fd", str(writes)], pass_fds=[writes], text=True,
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)  # fmt: skip
    os.close(writes)
    with os.fdopen(reads) as pipe:
        events = [json.loads(line) for line in pipe]
    _, err = child.communicate(timeout=120)
    return child.returncode, events, err


class Events(unittest.TestCase):
    def test_stages_come_in_order_and_are_counted(self):
        status, events, _ = events_of("run", ROOT / "examples/digits/digits.onnx", "--reference", "--cpu", "--quiet", "--shapes", "image:1x1x8x8", "--samples", "2")
        self.assertEqual(status, 0)
        self.assertEqual([event["done"] for event in events], list(range(4)))
        self.assertEqual({(event["event"], event["steps"]) for event in events}, {("stage", 4)})
        self.assertEqual(events[3]["name"], "sample 1: cpu")

    def test_an_error_is_told_by_its_parts(self):
        with tempfile.TemporaryDirectory() as folder:
            damaged = pathlib.Path(folder) / "damaged.onnx"
            damaged.write_bytes(b"\x08\x08 no model")
            status, (event,), err = events_of("run", damaged, "--reference", "--cpu")
        self.assertEqual((status, event["event"], event["code"], event["file"]), (3, "error", "bad_input", str(damaged)))
        self.assertIn(event["message"], err)
        status, (event,), err = events_of("run", ROOT / "examples/digits/digits.onnx", "--reference", "--constant-output", "x")
        self.assertEqual((status, event["code"]), (2, "usage"))
        self.assertEqual(err, f"vernier: {event['message']} ({event['advice']})\n")

    def test_a_descriptor_that_is_not_open_is_refused(self):
        done = subprocess.run([VERNIER, "inspect", ROOT / "examples/digits/digits.onnx", "--progress-fd", "77"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("77 is no open file descriptor", done.stderr)

    def test_nobody_who_listens_any_more_stops_nothing(self):
        reads, writes = os.pipe()
        os.close(reads)
        done = subprocess.run([VERNIER, "run", ROOT / "examples/digits/digits.onnx", "--reference", "--cpu", "--quiet", "--progress-fd", str(writes)], pass_fds=[writes])
        os.close(writes)
        self.assertEqual(done.returncode, 0)


if __name__ == "__main__":
    ROOT = pathlib.Path(sys.argv.pop())
    VERNIER = sys.argv.pop()
    unittest.main()
