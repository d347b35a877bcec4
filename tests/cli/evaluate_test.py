"""Task metrics over labelled data: evaluate_test.py VERNIER SOURCE_DIR"""
import gzip
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper

VERNIER, ROOT = "", pathlib.Path()


def vernier(*arguments, **environment):
    done = subprocess.run([VERNIER, *map(str, arguments)], capture_output=True, text=True, timeout=300, env={**os.environ, **environment})
    return done.returncode, done.stdout, done.stderr


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def model(self, name, nodes, shape, out=None):
        values = [helper.make_tensor_value_info(*each) for each in (("x", TensorProto.FLOAT, shape), ("y", TensorProto.FLOAT, out or shape))]
        made = helper.make_model(helper.make_graph(nodes, "g", values[:1], values[1:]), opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.save(made, self.folder / f"{name}.onnx")
        return self.folder / f"{name}.onnx"

    def identity(self, *shape, name="same"):
        return self.model(name, [helper.make_node("Identity", ["x"], ["y"])], shape)

    def arrays(self, x, y):
        np.savez(self.folder / "x.npz", x=np.asarray(x, np.float32))
        np.save(self.folder / "y.npy", y)
        return ["--data", self.folder / "x.npz", "--labels", self.folder / "y.npy"]

    def evaluate(self, *arguments, status=0):
        code, out, err = vernier("evaluate", *arguments, "--json", self.folder / "e.json")
        self.assertEqual(code, status, out + err)
        return json.loads((self.folder / "e.json").read_text()), out

    def value(self, *arguments):
        report, _ = self.evaluate(*arguments, "--reference")
        return report["runners"][0]["values"][0]["value"]

    def refused(self, *arguments, status=3, **environment):
        code, _, err = vernier("evaluate", *arguments, **environment)
        self.assertEqual(code, status, err)
        return err


class Metrics(Case):
    """Against scikit-learn and scipy."""

    def test_classification_is_that_of_scikit_learn(self):
        from sklearn import metrics

        random = np.random.default_rng(1)
        y = random.integers(0, 4, 300)
        x = random.standard_normal((300, 4)).astype(np.float32) + 1.5 * np.eye(4, dtype=np.float32)[y]
        model, data = self.identity("N", 4), self.arrays(x, y)
        self.assertAlmostEqual(self.value(model, *data, "--metric", "accuracy"), metrics.accuracy_score(y, x.argmax(1)), 12)
        self.assertAlmostEqual(self.value(model, *data, "--metric", "f1"), metrics.f1_score(y, x.argmax(1), average="macro"), 12)
        self.assertAlmostEqual(self.value(model, *data, "--metric", "topk:2"), metrics.top_k_accuracy_score(y, x, k=2), 12)
        areas = [metrics.roc_auc_score(y == c, x[:, c]) for c in range(4)]
        self.assertAlmostEqual(self.value(model, *data, "--metric", "auroc"), np.mean(areas), 12)
        two, data = self.identity("N", 1, name="two"), self.arrays(x[:, :1], (y == 0).astype(np.int64))
        self.assertAlmostEqual(self.value(two, *data, "--metric", "f1:binary"), metrics.f1_score(y == 0, x[:, 0] >= 0.5), 12)
        self.assertAlmostEqual(self.value(two, *data, "--metric", "auroc", "--batch", 30), areas[0], 12)

    def test_structural_similarity_is_that_of_its_definition(self):
        from scipy.ndimage import gaussian_filter

        random = np.random.default_rng(2)
        a = gaussian_filter(random.random((40, 33)), 1)
        b = np.clip(a + random.normal(0, 0.05, a.shape), 0, 1).astype(np.float32).astype(float)
        blur = lambda image: gaussian_filter(image, 1.5, truncate=3.5)
        ma, mb = blur(a), blur(b)
        va, vb, cov = blur(a * a) - ma * ma, blur(b * b) - mb * mb, blur(a * b) - ma * mb
        ssim = ((2 * ma * mb + 1e-4) * (2 * cov + 9e-4) / ((ma**2 + mb**2 + 1e-4) * (va + vb + 9e-4)))[5:-5, 5:-5].mean()
        model, data = self.identity("N", 1, 40, 33), self.arrays(b[None, None], a[None, None])
        self.assertAlmostEqual(self.value(model, *data, "--metric", "ssim"), ssim, 6)
        self.assertAlmostEqual(self.value(model, *data, "--metric", "psnr"), -10 * np.log10(np.mean((a - b) ** 2)), 6)

    def test_metrics_in_python(self):
        random = np.random.default_rng(3)
        y = random.integers(0, 3, 60)
        x = random.standard_normal((60, 3)).astype(np.float32) + np.eye(3, dtype=np.float32)[y]
        model, data = self.identity("N", 3), self.arrays(x, y)
        plugin = self.folder / "mine.py"
        plugin.write_text("def metric(outputs, labels):\n    return (outputs['y'].argmax(1) == labels).mean()\n")
        mine, _ = self.evaluate(model, *data, "--metric", plugin, "--metric", "top1", "--reference")
        self.assertEqual(*[each["value"] for each in mine["runners"][0]["values"]])
        # F1 is no mean over rows: asked row by row it would be another figure, and pooled it is the built-in one.
        plugin.write_text("from sklearn.metrics import f1_score\ndef metric(outputs, labels):\n"
                          "    return f1_score(labels, outputs['y'].argmax(1), average='macro')\n")
        self.assertIn("no mean over rows", self.refused(model, *data, "--metric", plugin, "--reference"))
        plugin.write_text("from sklearn.metrics import f1_score\nimport numpy\n"
                          "def score(outputs, label):\n    return [label[0], outputs['y'].argmax(1)[0]]\n"
                          "def value(scores):\n    wanted, found = numpy.array(scores).T\n    return (wanted == found).mean()\n")
        mine, _ = self.evaluate(model, *data, "--metric", plugin, "--metric", "accuracy", "--reference")
        self.assertEqual(*[each["value"] for each in mine["runners"][0]["values"]])
        self.assertEqual(mine["metrics"][0]["kind"], "pooled")
        plugin.write_text("higher_is_better = False\nunit = 'm'\ndef metric(outputs, labels):\n    return 1 / 0\n")
        self.assertIn("ZeroDivisionError: division by zero (line 4)", self.refused(model, *data, "--metric", plugin, "--reference"))


class Statistics(Case):
    """The second model gets some rows wrong: it plays the engine that errs."""

    def shifted(self, scale):
        nodes = [helper.make_node("Constant", [], ["b"], value=helper.make_tensor("b", TensorProto.FLOAT, [2], [scale, 0.0])),
                 helper.make_node("Add", ["x", "b"], ["y"])]  # fmt: skip
        return self.model("other", nodes, ("N", 2))

    def rows(self, count):
        """Makes rows of class 1, by a margin of i / count."""
        x = np.zeros((count, 2), np.float32)
        x[:, 1] = (1 + np.arange(count)) / count
        return self.arrays(x, np.ones(count, np.int64))

    def test_rows_that_flip_are_listed_by_what_they_lost(self):
        data = self.rows(200)
        report, out = self.evaluate(self.identity("N", 2), self.shifted(0.026), *data, "--metric", "top1", "--reference", "--drop", 0.1)
        (difference,) = report["differences"]
        self.assertAlmostEqual(difference["difference"], -5 / 200)
        self.assertEqual((difference["lost"], difference["gained"], difference["gate"]["verdict"]), (5, 0, "pass"))
        self.assertEqual([each["sample"] for each in difference["flipped"]], [0, 1, 2, 3, 4])
        self.assertTrue(all(abs(each["lost"] - 0.026) < 1e-5 for each in difference["flipped"]))
        self.assertEqual(report["verdict"], "pass")
        self.assertIn("5 rows right no more", out)
        self.assertAlmostEqual(difference["p"], 0.0625)  # two-sided, five of five

    def test_gates_fail_and_are_mistrusted(self):
        data = self.rows(200)
        models = (self.identity("N", 2), self.shifted(0.026))
        fail, _ = self.evaluate(*models, *data, "--metric", "top1", "--reference", "--drop", 0.005, status=1)
        self.assertEqual(fail["verdict"], "fail")
        few, out = self.evaluate(*models, *data, "--metric", "top1", "--reference", "--drop", 0.04, status=1)
        self.assertEqual(few["verdict"], "mistrusted")
        needed = few["differences"][0]["gate"]["samples_needed"]
        self.assertGreater(needed, 200)
        self.assertIn(f"{needed:.0f} samples like these would do", out)
        twice, _ = self.evaluate(*models, *data, "--metric", "top1", "--metric", "cosine", "--reference", "--drop", "top1=0.1", "--drop", "cosine=0.5")
        self.assertIn("Holm", twice["notes"][0])
        measured, _ = self.evaluate(*models, *data, "--metric", "top1", "--reference")
        self.assertIsNone(measured["verdict"])

    def test_the_second_may_be_what_others_are_compared_with(self):
        report, _ = self.evaluate(self.identity("N", 2), *self.rows(20), "--metric", "agreement", "--reference", "--cpu", "--against", "cpu")
        self.assertEqual((report["against"], report["differences"][0]["runner"]), ("cpu", "reference"))

    def test_a_runner_that_fails_is_no_pass(self):
        script = self.folder / "runner.py"
        script.write_text(f"import sys; sys.path.insert(0, {str(ROOT / 'python/vernier_runners')!r})\nfrom protocol import serve\n"
                          "class Handler:\n    def hello(self): return {'engine': 'e', 'version': '1', 'capabilities': []}\n"
                          "    def load(self, model, options, threads): pass\n    def run(self, inputs, taps): raise ValueError('no luck')\n"
                          "serve(Handler())\n")  # fmt: skip
        report, out = self.evaluate(self.identity("N", 2), *self.rows(4), "--metric", "top1", "--reference",
                                    "--runner", f"bad={sys.executable} {script}", status=1)  # fmt: skip
        self.assertEqual((report["verdict"], report["runners"][1]["failures"]), ("fail", 4))
        self.assertIn("no luck", out)


class Data(Case):
    def test_files_of_mnist(self):
        pixels = np.random.default_rng(1).integers(0, 256, (30, 4, 5), np.uint8)
        labels = (pixels[:, 0, 0] > 127).astype(np.uint8)
        with gzip.open(self.folder / "t-images-idx3-ubyte.gz", "wb") as file:
            file.write(struct.pack(">4I", 0x803, *pixels.shape) + pixels.tobytes())
        with gzip.open(self.folder / "t-labels-idx1-ubyte.gz", "wb") as file:
            file.write(struct.pack(">2I", 0x801, 30) + labels.tobytes())
        nodes = [helper.make_node("Slice", ["x", "a", "b", "axes"], ["s"]), helper.make_node("Reshape", ["s", "flat"], ["y"])]
        for name, values in (("a", [0, 0]), ("b", [1, 1]), ("axes", [2, 3]), ("flat", [-1, 1])):
            nodes.insert(0, helper.make_node("Constant", [], [name], value=helper.make_tensor(name, TensorProto.INT64, [2], values)))
        model = self.model("corner", nodes, (1, 1, 4, 5), (1, 1))
        data = ["--data", self.folder / "t-images-idx3-ubyte.gz", "--labels", self.folder / "t-labels-idx1-ubyte.gz"]
        self.assertEqual(self.value(model, *data, "--metric", "accuracy", "--threshold", 0.5), 1)

    def picture(self, name, values):
        values = np.asarray(values, np.uint8)
        (self.folder / name).parent.mkdir(exist_ok=True)
        (self.folder / name).write_bytes(b"P5 %d %d 255\n" % values.shape[::-1] + values.tobytes())

    def test_boxes_of_coco(self):
        # The model finds one box for each picture, in pixels of its input, which is half as wide as the pictures.
        nodes = [helper.make_node("Constant", [], ["box"], value=helper.make_tensor("box", TensorProto.FLOAT, [1, 1, 6], [1, 1, 3, 3, 0.9, 7])),
                 helper.make_node("ReduceMean", ["x"], ["mean"], keepdims=0), helper.make_node("Mul", ["mean", "zero"], ["nothing"]),
                 helper.make_node("Constant", [], ["zero"], value=helper.make_tensor("zero", TensorProto.FLOAT, [], [0])),
                 helper.make_node("Add", ["box", "nothing"], ["y"])]  # fmt: skip
        model = self.model("boxes", [nodes[0], nodes[3], *nodes[1:3], nodes[4]], (1, 1, 8, 4), (1, 1, 6))
        for i in range(3):
            self.picture(f"images/{i}.pgm", np.full((8, 8), i))
        annotations = [{"id": i + 1, "image_id": i, "category_id": 7, "bbox": [2, 1, 4, 2] if i else [0, 5, 2, 2], "area": 8, "iscrowd": 0} for i in range(3)]
        coco = self.folder / "coco.json"
        coco.write_text(json.dumps({"images": [{"id": i, "file_name": f"{i}.pgm", "width": 8, "height": 8} for i in range(3)],
                                    "annotations": annotations, "categories": [{"id": 7, "name": "seven"}]}))  # fmt: skip
        data = ["--data", self.folder / "images", "--labels", coco, "--metric", "coco-map"]
        report, _ = self.evaluate(model, *data, "--reference")
        # The surest three are equally sure; the first is wrong, so precision is 2/3 up to a recall of 2/3.
        self.assertAlmostEqual(report["runners"][0]["values"][0]["value"], 67 / 101 * 2 / 3, 9)
        self.assertIn("faster-coco-eval", report["metrics"][0]["description"])
        self.assertIn("whole ones", self.refused(model, *data, "--reference", "--preprocess", "resize=none,crop=8x4", status=2))

    def test_masks_and_classes_of_folders(self):
        model = self.identity(1, 1, 4, 4)
        mask = np.array([[0, 0, 1, 1]] * 4)
        self.picture("images/a.pgm", mask * 255)
        self.picture("masks/a.pgm", mask)
        data = ["--data", self.folder / "images", "--labels", self.folder / "masks"]
        self.assertEqual(self.value(model, *data, "--metric", "dice"), 1)
        self.picture("masks/a.pgm", 1 - mask)
        self.assertEqual(self.value(model, *data, "--metric", "iou"), 0)

    def test_an_engine_file_is_its_own_runner(self):
        engine = self.folder / "d.engine"
        code, _, err = vernier("build", ROOT / "examples/digits/digits.onnx", "-o", engine, "--opt-level", 0, "--no-verify")
        self.assertEqual(code, 0, err)
        report, _ = self.evaluate(engine, "--data", ROOT / "examples/digits/held_out.npz", "--labels", ROOT / "examples/digits/labels.npy", "--metric", "top1", "--batch", 61)
        self.assertGreater(report["runners"][0]["values"][0]["value"], 0.97)
        self.assertIn("engine file is not", self.refused(engine, "--data", ROOT / "examples/digits/held_out.npz", "--metric", "cosine", "--reference", status=2))

    def test_what_is_wrong_is_told_with_its_file(self):
        model, data = self.identity("N", 2), self.arrays(np.ones((3, 2)), np.array([0, 1, 5]))
        self.assertIn("label 5 at index 2", self.refused(model, *data, "--metric", "top1", "--reference"))
        self.assertIn("--labels", self.refused(model, *data[:2], "--metric", "top1", "--reference"))
        self.assertIn("no runner", self.refused(model, *data, "--metric", "top1", status=2))
        self.assertIn("none of top1", self.refused(model, *data, "--metric", "beauty", "--reference", status=2))
        self.assertIn("above 0", self.refused(model, *data, "--metric", "top1", "--reference", "--drop", "0", status=2))
        self.assertIn("there is one", self.refused(model, *data, "--metric", "top1", "--reference", "--drop", "0.1", status=2))
        self.assertIn("there is no --metric f1", self.refused(model, *data, "--metric", "top1", "--reference", "--drop", "f1=0.1", status=2))
        self.assertIn("does not exist", self.refused(model, "--data", self.folder / "no", "--metric", "cosine", "--reference"))
        table = self.folder / "t.parquet"
        table.write_bytes(b"PAR1")
        code, _, err = vernier("evaluate", model, "--data", table, "--metric", "top1", "--reference")
        self.assertIn((code, "pyarrow" in err), [(4, True), (3, False), (3, True)], err)  # 4 where there is no pyarrow


class Shards(Case):
    def setUp(self):
        super().setUp()
        self.common = [ROOT / "examples/digits/digits.onnx", "--data", ROOT / "examples/digits/held_out.npz", "--labels", ROOT / "examples/digits/labels.npy",
                       "--metric", "top1", "--metric", "f1", "--metric", "auroc", "--metric", "cosine", "--batch", 61, "--drop", "top1=0.02",
                       "--reference", "--reference=ideal"]  # fmt: skip

    def shards(self, count):
        parts = []
        for i in range(1, count + 1):
            parts.append(self.folder / f"{i}-of-{count}.json")
            code, _, err = vernier("evaluate", *self.common, "--shard", f"{i}/{count}", "--json", parts[-1])
            self.assertEqual(code, 0, err)
        return parts

    def merge(self, parts, status=0):
        merged = self.folder / "merged.json"
        code, _, err = vernier("merge", *parts, "--json", merged, "--scores", self.folder / "merged.jsonl")
        self.assertEqual(code, status, err)
        return merged.read_bytes() if status == 0 else err

    def test_any_number_of_shards_gives_the_same_bytes(self):
        self.evaluate(*self.common, "--scores", self.folder / "whole.jsonl")
        whole, scores = (self.folder / "e.json").read_bytes(), (self.folder / "whole.jsonl").read_bytes()
        for count in (1, 2, 3, 7):
            parts = self.shards(count)
            self.assertEqual(self.merge(reversed(parts)), whole, count)
            self.assertEqual((self.folder / "merged.jsonl").read_bytes(), scores)
        self.assertIn("shard 3 of 7 is missing", self.merge(parts[:2] + parts[3:], 3))
        self.assertIn("as is", self.merge([*parts, parts[0]], 3))
        self.common[self.common.index("top1=0.02")] = "top1=0.03"
        foreign = self.shards(1)
        self.assertIn("another option --drop", self.merge([parts[0], *foreign], 3))
        damaged = self.folder / "damaged.json"
        damaged.write_bytes(parts[0].read_bytes()[:-20])
        self.assertIn("damaged.json", self.merge([damaged, *parts[1:]], 3))

    def test_tasks_of_slurm_are_shards(self):
        variables = {"SLURM_ARRAY_TASK_ID": "1", "SLURM_ARRAY_TASK_MIN": "0", "SLURM_ARRAY_TASK_COUNT": "3"}
        code, out, err = vernier("evaluate", *self.common, "--shard", "slurm", "--json", self.folder / "part.json", **variables)
        self.assertEqual(code, 0, err)
        self.assertIn("shard 2/3", out)
        self.assertIn("--json", self.refused(*self.common, "--shard", "1/2", status=2))
        self.assertIn("vernier merge", self.refused(*self.common, "--shard", "1/2", "--json", self.folder / "e.json", "--scores", self.folder / "s.jsonl", status=2))
        self.assertIn("not I/N", self.refused(*self.common, "--shard", "1", "--json", self.folder / "e.json", status=2))


if __name__ == "__main__":
    ROOT = pathlib.Path(sys.argv.pop())
    VERNIER = sys.argv.pop()
    unittest.main()
