"""`bench --decode` on decoders as exporters write them: decode_test.py VERNIER SOURCE_DIR"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import onnx

VERNIER, ROOT = "", pathlib.Path()


def bench(model, *arguments):
    command = [VERNIER, "bench", model, "--opt-level", 0, "--no-verify", "--duration", 0, "--warmup", 0, "--runs", 1, *arguments]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


class Decode(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        sys.path.insert(0, str(ROOT / "tests/transformers"))
        from make import make

        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        for kind in ("gpt2-14", "llama-18", "genai-14", "bert-14"):
            onnx.save(make(kind), cls.folder / f"{kind}.onnx")

    def decoded(self, kind, *arguments):
        out = self.folder / "bench.json"
        status, text, err = bench(self.folder / f"{kind}.onnx", "--decode", 6, "--prompt", 3, "--json", out, *arguments)
        self.assertEqual(status, 0, text + err)
        return json.loads(out.read_text()), text

    def test_all_caches_grow_in_place(self):
        for kind in ("gpt2-14", "llama-18", "genai-14"):
            report, text = self.decoded(kind)
            decode = report["decode"]
            caches = sum(value.name.startswith("past") for value in onnx.load(self.folder / f"{kind}.onnx").graph.input)
            self.assertEqual((decode["prompt"], decode["tokens"], decode["caches"], decode["appended"]), (3, 6, caches, caches), kind)
            for part in (decode["first"], decode["again"]):
                self.assertEqual(part["token_ms"]["runs"], 6)
                self.assertGreater(part["tokens_per_s"], 0)
            self.assertIn(f"{caches} of {caches} caches grow in place", text)

    def test_caches_lie_where_an_accelerator_computes(self):
        for kind in ("gpt2-14", "llama-18", "genai-14"):
            report, _ = self.decoded(kind, "--simulated")
            self.assertEqual(report["decode"]["caches"], report["decode"]["appended"], kind)

    def test_batches_are_as_large_as_shapes_say(self):
        report, _ = self.decoded("gpt2-14", "--shapes", "input_ids:3x1")
        self.assertEqual(report["decode"]["caches"], report["decode"]["appended"])

    def test_an_encoder_is_no_decoder(self):
        status, _, err = bench(self.folder / "bert-14.onnx", "--decode", 6)
        self.assertEqual(status, 4)
        self.assertIn("no decoder with a cache", err)

    def test_it_makes_its_own_data(self):
        status, _, err = bench(self.folder / "gpt2-14.onnx", "--decode", 6, "--data", ROOT / "examples/digits/held_out.npz")
        self.assertEqual(status, 2)
        self.assertIn("--decode makes its data", err)
        self.assertEqual(bench(self.folder / "gpt2-14.onnx", "--prompt", 3)[0], 2)


if __name__ == "__main__":
    VERNIER, ROOT = sys.argv[1], pathlib.Path(sys.argv[2])
    unittest.main(argv=sys.argv[:1])
