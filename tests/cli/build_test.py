"""Engines from the command line, on the bundled model: build_test.py VERNIER SOURCE_DIR"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

VERNIER, ROOT = "", pathlib.Path()


def vernier(*arguments):
    done = subprocess.run([VERNIER, *map(str, arguments)], capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


class Build(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.model = ROOT / "examples/digits/digits.onnx"
        cls.data = cls.folder / "some.npz"
        np.savez(cls.data, image=np.load(ROOT / "examples/digits/held_out.npz")["image"][:4])
        cls.timings = cls.folder / "timings.json"
        cls.engine = cls.folder / "digits.engine"
        cls.report = cls.folder / "build.json"
        status, cls.out, err = cls.build("-o", cls.engine, "--json", cls.report)
        assert status == 0, err

    @classmethod
    def build(cls, *arguments):
        return vernier("build", cls.model, "--min-shapes", "image:1x1x8x8", "--opt-shapes", "image:4x1x8x8", "--max-shapes", "image:16x1x8x8",
                       "--timing-cache", cls.timings, *arguments)

    def test_the_report_names_what_was_done(self):
        report = json.loads(self.report.read_text())
        self.assertEqual((report["schema"], report["version"]), ("vernier-build", 1))
        self.assertEqual({plan["sizes"] for plan in report["plans"]}, {f"image f32[{n}, 1, 8, 8]" for n in (1, 4, 16)})
        self.assertIn("fold-batch-norm", {entry["name"] for entry in report["passes"]})
        nodes = {node for step in report["plans"][0]["steps"] for node in step["nodes"]}
        self.assertIn("block2_1_conv", nodes)
        self.assertEqual(report["file"], self.engine.stat().st_size)
        self.assertIn("fold-batch-norm", self.out)

    def test_the_engine_file_agrees_with_the_reference(self):
        status, out, err = vernier("run", self.model, "--reference", "--engine", self.engine, "--data", self.data)
        self.assertEqual(status, 0, out + err)

    def test_free_dimensions_are_tuned_at_one(self):
        engine, out = self.folder / "free.engine", self.folder / "free.json"
        status, text, err = vernier("build", self.model, "-o", engine, "--json", out)
        self.assertEqual(status, 0, text + err)
        line = "free dimensions are tuned at image: 1x1x8x8 (no shapes were given)"
        self.assertIn(line, text)
        report = json.loads(out.read_text())
        self.assertEqual([plan["sizes"] for plan in report["plans"]], ["image f32[1, 1, 8, 8]"])
        self.assertEqual(report["accuracy"]["verdict"], "pass")
        status, _, err = vernier("run", self.model, "--reference", "--engine", engine, "--data", self.data)  # of other sizes
        self.assertEqual(status, 0, err)
        status, text, err = vernier("build", self.model, "--data", self.data, "--no-verify")
        self.assertEqual(status, 0, err)
        self.assertIn("free dimensions are tuned at image: 4x1x8x8 (the sizes of the first sample)", text)

    def test_a_tactic_can_be_forced(self):
        report = json.loads(self.report.read_text())
        for tactic in report["tactics"]:
            status, out, err = vernier("run", self.model, "--reference", "--cpu", "--force-tactic", tactic, "--data", self.data)
            self.assertEqual(status, 0, tactic + out + err)
        status, _, err = vernier("run", self.model, "--reference", "--cpu", "--force-tactic", "sideways", "--data", self.data)
        self.assertEqual(status, 2)
        self.assertIn("'sideways'", err)

    def test_what_is_built_loads_in_another_process(self):
        rng = np.random.default_rng(1)
        for groups, channels, outputs, kernel in ((2, 32, 32, 3), (4, 4, 64, 3), (1, 8, 16, 3), (2, 32, 6, 1), (1, 32, 3, 5), (1, 8, 1, 3)):
            weights = numpy_helper.from_array(rng.standard_normal((outputs, channels // groups, kernel, kernel)).astype(np.float32), "w")
            node = helper.make_node("Conv", ["x", "w"], ["y"], kernel_shape=[kernel] * 2, pads=[kernel // 2] * 4, group=groups)
            x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, size, 1, 1]) for name, size in (("x", channels), ("y", outputs)))
            model, engine = self.folder / "pixel.onnx", self.folder / "pixel.engine"
            onnx.save(helper.make_model(helper.make_graph([node], "g", [x], [y], [weights]), opset_imports=[helper.make_opsetid("", 17)], ir_version=8), model)
            status, out, err = vernier("build", model, "-o", engine)
            self.assertEqual(status, 0, out + err)
            status, out, err = vernier("run", model, "--reference", "--engine", engine)
            self.assertEqual(status, 0, out + err)

    def test_sizes_outside_of_the_profile_are_refused_by_name(self):
        status, _, err = vernier("bench", self.engine, "--shapes", "image:17x1x8x8")
        self.assertEqual(status, 3)
        self.assertIn("profile 0: dimension 0 of input 'image' is 17, allowed are 1 to 16", err)

    def test_the_same_timings_give_the_same_bytes(self):
        again = self.folder / "again.engine"
        self.assertEqual(self.build("-o", again)[0], 0)
        self.assertEqual(again.read_bytes(), self.engine.read_bytes())

    def test_bench_loads_it(self):
        out = self.folder / "bench.json"
        status, _, err = vernier("bench", self.engine, "--shapes", "image:4x1x8x8", "--duration", "0.1", "--warmup", "0", "--json", out)
        self.assertEqual(status, 0, err)
        self.assertGreater(json.loads(out.read_text())["load_ms"], 0)

    def test_bench_says_which_sizes_it_chose(self):
        out = self.folder / "chosen.json"
        status, text, err = vernier("bench", self.model, "--data", self.data, "--duration", "0.05", "--warmup", "0", "--json", out)
        self.assertEqual(status, 0, err)
        report = json.loads(out.read_text())
        self.assertIn("free dimensions are tuned at image: 4x1x8x8 (the sizes of the first sample)", report["environment"]["build note 1"])
        self.assertIn("free dimensions are tuned at image: 4x1x8x8", text)
        self.assertEqual(report["sample"], str(self.data))

    def test_bench_sets_an_engine_file_beside_runners_of_its_model(self):
        out = self.folder / "beside.json"
        short = ("--shapes", "image:4x1x8x8", "--duration", "0.1", "--warmup", "0")
        status, _, err = vernier("bench", self.model, "--engine", self.engine, "--vs", "onnxruntime", *short, "--profile", "--json", out)
        self.assertEqual(status, 0, err)
        report = json.loads(out.read_text())
        self.assertGreater(report["load_ms"], 0)
        self.assertEqual([other["runner"] for other in report["versus"]], ["onnxruntime"])
        self.assertEqual(vernier("bench", self.engine, "--vs", "onnxruntime", *short)[0], 2)
        self.assertEqual(vernier("bench", self.model, "--engine", self.engine, "--bf16", *short)[0], 2)
        other = self.folder / "renamed.onnx"
        other.write_bytes(self.model.read_bytes().replace(b"block2_1_conv", b"block2_1_cent"))
        status, _, err = vernier("bench", other, "--engine", self.engine, *short)
        self.assertEqual(status, 3)
        self.assertIn("was built from", err)

    def test_inspect_and_diff(self):
        status, out, _ = vernier("inspect", self.engine, "--show", "layers")
        self.assertEqual(status, 0)
        self.assertIn("block2_1_conv", out)
        self.assertIn("image: 1..4..16x1x8x8", out)
        self.assertIn("accuracy: pass", out)
        unverified = self.folder / "unverified.engine"
        self.assertEqual(self.build("-o", unverified, "--no-verify")[0], 0)
        self.assertIn("accuracy: not verified", vernier("inspect", unverified)[1])
        status, out, _ = vernier("inspect", self.engine, "--diff", self.engine)
        self.assertIn("the same passes fired", out)
        other = self.folder / "other.engine"
        self.assertEqual(self.build("-o", other, "--disable-pass", "fold-batch-norm")[0], 0)
        status, out, _ = vernier("inspect", self.engine, "--diff", other)
        self.assertIn("fold-batch-norm", out)
        self.assertIn("block2_1_bn", out)
        self.assertEqual(vernier("inspect", self.engine, "--diff", self.model)[0], 3)

    def test_weights_can_be_left_out_and_put_in_again(self):
        bare, full = self.folder / "bare.engine", self.folder / "full.engine"
        self.assertEqual(self.build("-o", bare, "--strip-weights")[0], 0)
        self.assertLess(bare.stat().st_size, self.engine.stat().st_size)
        status, _, err = vernier("bench", bare, "--shapes", "image:4x1x8x8")
        self.assertEqual(status, 4)
        self.assertIn("--refit", err)
        self.assertEqual(vernier("build", self.model, "--refit", bare, "-o", full)[0], 0)
        self.assertEqual(vernier("run", self.model, "--reference", "--engine", full, "--data", self.data)[0], 0)

    def test_a_refit_has_the_precision_of_the_engine(self):
        bare, full, again = (self.folder / name for name in ("bare16.engine", "full16.engine", "again16.engine"))
        options = ("--bf16", "--disable-pass", "fuse-pointwise", "--no-verify")
        self.assertEqual(self.build("-o", full, *options)[0], 0)
        self.assertEqual(self.build("-o", bare, *options, "--strip-weights")[0], 0)
        report = self.folder / "refit.json"
        self.assertEqual(vernier("build", self.model, "--refit", bare, "-o", again, "--json", report)[0], 0)
        contracts = [[step["contract"] for step in plan["steps"]] for plan in json.loads(report.read_text())["plans"]]
        self.assertIn("bf16", str(contracts))
        status, out, _ = vernier("inspect", full, "--diff", again)
        self.assertIn("the same passes fired", out)
        status, _, err = vernier("build", self.model, "--refit", bare, "--fp16")
        self.assertEqual(status, 2)
        self.assertIn("--fp16", err)
        other = self.folder / "other.onnx"
        other.write_bytes(self.model.read_bytes().replace(b"block2_1_conv", b"block2_1_cent"))
        status, _, err = vernier("build", other, "--refit", bare)
        self.assertEqual(status, 3)
        self.assertIn("other.onnx", err)
        self.assertIn("block2_1_cent", err)

    def test_the_profile_of_bench_has_the_share_of_the_roofline(self):
        out = self.folder / "profile.json"
        status, text, err = vernier("bench", self.model, "--shapes", "image:16x1x8x8", "--duration", "0.1", "--warmup", "0", "--sessions", "2", "--profile", "--json", out)
        self.assertEqual(status, 0, err)
        report = json.loads(out.read_text())
        steps, peak = report["profile"]["steps"], report["profile"]["peak"]
        self.assertGreater(peak["flops_per_s"]["f32"], 0)
        self.assertEqual(sorted(peak["bandwidth"], key=lambda each: each["bytes"]), peak["bandwidth"])
        for step in steps:
            self.assertIn(step["roofline"]["limit"], ("compute", "memory"))
            self.assertAlmostEqual(step["roofline"]["share"], step["roofline"]["floor_ms"] / step["ms"])
        conv = next(step for step in steps if "block2_1_conv" in step["nodes"])
        self.assertGreater(conv["roofline"]["flops"], 1e5)
        self.assertIn("of roofline", text)
        self.assertIn("at the peak of this machine", text)
        self.assertEqual(report["sessions"], 2)
        for wanted in ("throughput_per_s", "build_s"):
            self.assertGreater(report[wanted], 0)
        self.assertGreater(report["memory"]["peak_rss"], report["memory"]["weights"])

    def test_steps_without_a_kernel_are_listed_with_their_cost(self):
        node = helper.make_node("NonZero", ["x"], ["y"], name="where")
        graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [64, 64])],
                                  [helper.make_tensor_value_info("y", TensorProto.INT64, [2, None])])
        model, report = self.folder / "where.onnx", self.folder / "where.json"
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]), model)
        status, out, err = vernier("build", model, "--json", report)
        self.assertEqual(status, 0, err)
        step, = json.loads(report.read_text())["plans"][0]["steps"]
        self.assertIsNone(step["kernel"])
        self.assertGreater(step["ms"], 0)
        self.assertRegex(out, r"where +[0-9.]+ +\S")
        self.assertIn("1 steps,", out)

    def test_a_profile_may_be_without_elements(self):
        """Mul, Clip, Mean and Equal of nothing by constants of one element; their sum beside `y` is what is verified."""
        info, node = helper.make_tensor_value_info, helper.make_node
        nodes = [node("Mul", ["x", "c"], ["product"]), node("Clip", ["product", "low", "high"], ["limited"]),
                 node("Mean", ["limited", "c"], ["mean"]), node("Equal", ["mean", "c"], ["same"]),
                 node("Cast", ["same"], ["ones"], to=TensorProto.FLOAT), node("Add", ["mean", "ones"], ["all"]),
                 node("ReduceSum", ["all", "axis"], ["sum"], keepdims=0), node("Add", ["sum", "y"], ["z"])]
        numbers = (("c", [2], np.float32), ("low", -1, np.float32), ("high", 1, np.float32), ("axis", [1], np.int64))
        weights = [numpy_helper.from_array(np.array(value, dtype), name) for name, value, dtype in numbers]
        graph = helper.make_graph(nodes, "g", [info("x", TensorProto.FLOAT, [2, "N", 3]), info("y", TensorProto.FLOAT, [2, 3])],
                                  [info("z", TensorProto.FLOAT, [2, 3])], weights)
        model, engine, report = (self.folder / name for name in ("none.onnx", "none.engine", "none.json"))
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), model)
        for least, tuned, most in ((0, 0, 0), (0, 2, 4)):
            with self.subTest(least=least, tuned=tuned, most=most):
                shapes = [f"--{name}-shapes=x:2x{n}x3,y:2x3" for name, n in (("min", least), ("opt", tuned), ("max", most))]
                status, out, err = vernier("build", model, *shapes, "-o", engine, "--json", report)
                self.assertEqual(status, 0, out + err)
                plans = json.loads(report.read_text())["plans"]
                self.assertEqual({plan["sizes"] for plan in plans}, {f"x f32[2, {n}, 3], y f32[2, 3]" for n in (least, tuned, most)})
                for size in (least, most):
                    sizes = ("--shapes", f"x:2x{size}x3", "--shapes", "y:2x3")
                    status, out, err = vernier("run", model, "--reference", "--engine", engine, *sizes)
                    self.assertEqual(status, 0, out + err)

    def test_an_engine_of_which_nothing_is_shown_is_not_written(self):
        info = helper.make_tensor_value_info
        graph = helper.make_graph([helper.make_node("Relu", ["x"], ["z"])], "g", [info("x", TensorProto.FLOAT, [2, "N"])], [info("z", TensorProto.FLOAT, None)])
        model, engine = self.folder / "nothing.onnx", self.folder / "nothing.engine"
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), model)
        status, out, err = vernier("build", model, "--opt-shapes", "x:2x0", "-o", engine)
        self.assertEqual(status, 1, err)
        self.assertIn("the data do not show whether it computes what it promises", out)
        self.assertFalse(engine.exists())
        status, out, err = vernier("build", model, "--opt-shapes", "x:2x0", "-o", engine, "--no-verify")
        self.assertEqual((status, engine.exists()), (0, True), err)

    def test_workspace_is_a_limit(self):
        status, _, err = self.build("--workspace", "1KiB")
        self.assertEqual(status, 4)
        self.assertIn("profile 0 (image: 1..4..16x1x8x8)", err)
        self.assertIn("are allowed", err)
        self.assertEqual(self.build("--workspace", "4", "--no-verify")[0], 0)
        self.assertEqual(self.build("--workspace", "much")[0], 2)

    def test_a_damaged_file_is_refused(self):
        content = bytearray(self.engine.read_bytes())
        content[len(content) // 2] ^= 16
        damaged = self.folder / "damaged.engine"
        damaged.write_bytes(content)
        for arguments in (["bench", damaged], ["inspect", damaged], ["run", self.model, "--reference", "--engine", damaged]):
            status, _, err = vernier(*arguments)
            self.assertEqual(status, 3, err)
            self.assertIn("damaged", err)

    def test_the_pipeline_is_a_value_that_can_be_read(self):
        status, out, _ = vernier("build", "--dump-pipeline")
        self.assertEqual(status, 0)
        self.assertIn("fold-batch-norm (reassociating)", out)

    def test_forbidden_tactics_are_not_taken(self):
        report = self.folder / "exact.json"
        self.assertEqual(self.build("--forbid", "approximate", "--json", report)[0], 0)
        kernels = {step["kernel"] for plan in json.loads(report.read_text())["plans"] for step in plan["steps"]}
        self.assertFalse([kernel for kernel in kernels if "wino" in kernel or "bf16x3" in kernel])

    def test_approximate_tactics_are_given_up_where_they_are_too_much(self):
        random = np.random.default_rng(1)
        first = (20 * random.standard_normal((32, 256))).astype(np.float32)
        weights = {"a": first, "b": (first * (1 + 1e-4 * random.standard_normal(first.shape))).astype(np.float32),
                   "c": (0.05 * random.standard_normal(first.shape)).astype(np.float32)}
        nodes = [helper.make_node("MatMul", ["x", "a"], ["p"], name="p"), helper.make_node("MatMul", ["x", "b"], ["q"], name="q"),
                 helper.make_node("Sub", ["p", "q"], ["y"], name="y"), helper.make_node("MatMul", ["x", "c"], ["z"], name="z")]
        graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [64, 32])],
                                  [helper.make_tensor_value_info(name, TensorProto.FLOAT, [64, 256]) for name in ("y", "z")],
                                  [numpy_helper.from_array(array, name) for name, array in weights.items()])
        model, timings, report = (self.folder / name for name in ("close.onnx", "close.json", "close-report.json"))
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]), model)
        arguments = (model, "--tactics", "+bf16x3", "--timing-cache", timings)
        self.assertEqual(vernier("build", *arguments, "--no-verify")[0], 0)
        root = json.loads(timings.read_text()) if timings.exists() else {"devices": {}}
        records = [record for requests in (root["devices"] or {}).values() for record in requests.values()]
        if not any("bf16x3" in record for record in records):
            self.skipTest("this processor has no tiles of bfloat16")
        for record in records:
            for tactic in record:
                record[tactic]["seconds"] = 1e-3 if tactic == "bf16x3" else 2e-3
        timings.write_text(json.dumps(root))
        engines = [self.folder / name for name in ("close1.engine", "close2.engine")]
        for engine in engines:
            status, out, err = vernier("build", *arguments, "-o", engine, "--json", report)
            self.assertEqual(status, 0, out + err)
            self.assertIn("note: with tactics that approximate in 3 nodes the verdict was fail: given up in 2 of them, 2.00 ms of a run as timed", out)
        self.assertEqual(*(engine.read_bytes() for engine in engines))
        steps = json.loads(report.read_text())["plans"][0]["steps"]
        self.assertEqual([step["nodes"] for step in steps if "bf16x3" in step["kernel"]], [["z"]])
        self.assertEqual(vernier("run", model, "--reference", "--engine", engines[0])[0], 0)

    def test_deterministic_outputs_are_the_same_bytes(self):
        runs = set()
        for threads in (1, 2, 3, 4):
            saved = self.folder / "saved.run"
            for precision in ((), ("--bf16",)):
                status, _, err = vernier("run", self.model, "--cpu", "--deterministic", *precision, "--save-run", saved, "--threads", threads, "--data", self.data)
                self.assertEqual(status, 0, err)
                runs.add(saved.read_bytes())
        self.assertEqual(len(runs), 2)
        engines = [self.folder / name for name in ("one.engine", "other.engine")]
        for engine in engines:  # no timing cache is shared
            status, _, err = vernier("build", self.model, "--opt-shapes", "image:4x1x8x8", "--deterministic", "-o", engine)
            self.assertEqual(status, 0, err)
        self.assertEqual(*(engine.read_bytes() for engine in engines))
        status, _, err = vernier("run", self.model, "--onnxruntime", "--deterministic")
        self.assertEqual(status, 2)
        self.assertIn("--deterministic does not apply to --onnxruntime", err)

    def test_wrong_options(self):
        for arguments, wanted, status in ((["--disable-pass", "nothing"], "nothing", 2), (["--tactics", "winograd"], "+NAME", 2),
                                          (["--opt-level", "9"], "9", 2), (["--timing-cache", self.data], "no timing cache", 3)):
            done, _, err = vernier("build", self.model, *arguments)
            self.assertEqual(done, status, err)
            self.assertIn(wanted, err)
        status, _, err = vernier("build", self.model, "--min-shapes", "image:2x1x8x8", "--opt-shapes", "image:1x1x8x8")
        self.assertEqual(status, 3)
        self.assertIn("ascend", err)


if __name__ == "__main__":
    VERNIER, ROOT = sys.argv[1], pathlib.Path(sys.argv[2])
    unittest.main(argv=sys.argv[:1])
