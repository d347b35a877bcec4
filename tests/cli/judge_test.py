"""Tests what decides a verdict: tolerances of the user, random draws; and options that name nothing. judge_test.py VERNIER SOURCE_DIR"""
import judging
import numpy as np
from judging import BOOL, Case, FLOAT, info, INT64, main, node, vernier


class Tolerances(Case):
    def gelu(self):
        """Rounded otherwise by ONNX Runtime, by less than noise does."""
        nodes = [node("MatMul", "x w", "m"), node("Erf", "m", "e"), node("MatMul", "e w", "y")]
        weights = {"w": np.random.default_rng(1).standard_normal((64, 64)).astype(np.float32)}
        return self.model("gelu", nodes, [info("x", [8, 64])], [info("y", [8, 64])], weights)

    def test_of_the_user_is_the_law(self):
        model = self.gelu()
        for option in (["--atol", "1e-9", "--rtol", "0"], ["--atol", "y:1e-9", "--rtol", "y:0"]):
            comparison, tensors, _ = self.run_models(model, "--reference", "--onnxruntime", *option)
            self.assertGreater(tensors["y"]["metrics"]["mismatching"], 0)
            self.assertEqual(tensors["y"]["verdict"], "fail")
            self.assertTrue(any("the difference is within rounding noise" in reason for reason in tensors["y"]["reasons"]), tensors["y"]["reasons"])
        comparison, _, _ = self.run_models(model, "--reference", "--onnxruntime")
        self.assertEqual(comparison["verdict"], "pass")

    def test_noise_decides_for_other_outputs_only(self):
        """The difference of two large numbers, of which the second model has the first one a step further up."""
        nodes, shapes = [node("Mul", "x large", "s"), node("Sub", "s base", "y"), node("Identity", "y", "z")], [info("y", [64]), info("z", [64])]
        large = np.float32(1e5)
        models = [self.model(name, nodes, [info("x", [64])], shapes, {"large": factor, "base": large}) for name, factor in (("right", large), ("above", np.nextafter(large, np.float32(2e5))))]
        run = [*models, "--reference", "--data", self.data(x=np.linspace(1.00001, 1.00005, 64, dtype=np.float32))]
        _, tensors, out = self.run_models(*run)
        self.assertEqual((tensors["y"]["verdict"], tensors["z"]["verdict"]), ("pass", "pass"), out)
        self.assertIn("within rounding noise", "".join(tensors["y"]["reasons"]))
        _, tensors, out = self.run_models(*run, "--atol", "y:1e-4")
        self.assertEqual((tensors["y"]["verdict"], tensors["z"]["verdict"]), ("fail", "pass"), out)

    def ids(self, outputs=()):
        nodes = [node("ArgMax", "x", "ids", axis=1), node("Greater", "x zero", "flags"), node("Relu", "x", "y")]
        return self.model("ids", nodes, [info("x", [4, 8])], [each for each in (info("ids", [4, 1], INT64), info("flags", [4, 8], BOOL), info("y", [4, 8])) if each.name in outputs], {"zero": np.float32(0)})

    def test_what_a_general_one_does_not_touch_is_said(self):
        comparison, tensors, out = self.run_models(self.ids(("ids", "flags", "y")), "--reference", "--onnxruntime", "--atol", "0.01")
        self.assertEqual(tensors["ids"]["tolerance"]["atol"], 0)
        notes = "\n".join(comparison["notes"])
        self.assertIn("--atol 0.01 is not applied to 'ids' (i64): write ids:NUMBER", notes)
        self.assertIn("--atol 0.01 is not applied to 'flags' (bool): such values are always compared exactly", notes)
        self.assertNotIn("'y'", notes)
        self.assertIn("not applied to 'ids'", out)
        comparison, _, _ = self.run_models(self.ids(("flags", "y")), "--reference", "--onnxruntime", "--rtol", "flags:1")
        self.assertIn("--rtol flags:1 is not applied to 'flags'", "\n".join(comparison["notes"]))

    def test_one_that_touches_nothing_is_refused(self):
        err = self.refused("run", self.ids(("ids", "flags")), "--reference", "--onnxruntime", "--atol", "2")
        self.assertIn("applies to no output", err)
        self.assertIn("write ids:NUMBER", err)
        saved = self.folder / "ids.run"
        self.assertEqual(vernier("run", self.ids(("ids",)), "--reference", "--save-run", saved)[0], 0)
        self.assertIn("applies to no output", self.refused("run", "--load-run", saved, "--load-run", saved, "--rtol", "2"))
        _, tensors, _ = self.run_models(self.ids(("ids",)), "--reference", "--onnxruntime", "--atol", "ids:2")
        self.assertEqual(tensors["ids"]["tolerance"]["atol"], 2)


class Random(Case):
    def test_what_follows_from_a_draw_is_not_compared(self):
        for seed in ({}, {"seed": 7.0}):
            nodes = [node("RandomNormal", "", "noise", shape=[4, 8], **seed), node("Add", "x noise", "noisy"), node("Relu", "x", "y")]
            model = self.model("random", nodes, [info("x", [4, 8])], [info("noisy", [4, 8]), info("y", [4, 8])])
            comparison, tensors, out = self.run_models(model, "--reference", "--onnxruntime")
            self.assertEqual((comparison["verdict"], tensors["noisy"]["verdict"], tensors["y"]["verdict"]), ("not_compared", "not_compared", "pass"), out)
            self.assertTrue(any(reason.startswith("random: node 'the_RandomNormal_noise'") for reason in tensors["noisy"]["reasons"]))
            comparison, tensors, out = self.run_models(model, "--reference", "--cpu")  # they draw alike
            self.assertEqual(comparison["verdict"], "pass", out)

    def test_operators(self):
        for op, inputs, attributes, opset in (("RandomUniform", "", {"shape": [4, 8]}, 17), ("RandomUniformLike", "x", {}, 17), ("RandomNormalLike", "x", {}, 17), ("Bernoulli", "p", {}, 17),
                                              ("Multinomial", "x", {"sample_size": 8, "dtype": FLOAT}, 17), ("Dropout", "x ratio on", {}, 17)):
            if op == "Multinomial":
                attributes = {"sample_size": 8}
            nodes = [node("Sigmoid", "x", "p"), node(op, inputs, "d", **attributes), node("Cast", "d", "y", to=FLOAT)]
            model = self.model(op, nodes, [info("x", [4, 8])], [info("y", [4, 8]), info("p", [4, 8])], {"ratio": np.float32(0.5), "on": np.array(True)}, opset)
            comparison, tensors, out = self.run_models(model, "--reference", "--onnxruntime")
            self.assertEqual((op, tensors["y"]["verdict"], tensors["p"]["verdict"]), (op, "not_compared", "pass"), out)
            self.assertIn(op, "\n".join(tensors["y"]["reasons"]))

    def test_a_dropout_that_does_not_train_is_compared(self):
        nodes = [node("Dropout", "x ratio off", "d"), node("Identity", "d", "y")]
        model = self.model("dropout", nodes, [info("x", [4, 8])], [info("y", [4, 8])], {"ratio": np.float32(0.5), "off": np.array(False)})
        self.assertEqual(self.run_models(model, "--reference", "--onnxruntime")[0]["verdict"], "pass")

    def test_another_size_still_fails(self):
        made = [self.model(name, [node("RandomNormal", "", "y", shape=shape)], [info("x", [1])], [info("y", None)]) for name, shape in (("a", [4]), ("b", [5]))]
        self.assertEqual(self.run_models(*made, "--reference")[0]["verdict"], "fail")


class Options(Case):
    def setUp(self):
        super().setUp()
        self.digits = judging.ROOT / "examples/digits"
        self.path = self.digits / "digits.onnx"

    def test_tactics_must_be_known(self):
        for verb in ("build", "bench"):
            for word in ("+nosuch", "-nosuch", "+winograd,-nosuch", "-onednn"):
                err = self.refused(verb, self.path, f"--tactics={word}")
                self.assertIn("bf16x3, bf16x6", err)
        _, out, _ = vernier("build", "--help")
        self.assertIn("bf16x3, bf16x6", " ".join(out.split()))

    def test_names_must_be_known(self):
        labels = self.folder / "labels.npy"
        np.save(labels, np.load(self.digits / "labels.npy")[:20])
        data = self.data(image=np.load(self.digits / "held_out.npz")["image"][:20])
        run = ["run", self.path, "--reference", "--onnxruntime", "--data", data]
        for options in (["--constant-output", "nosuch"], ["--labels", labels, "--labels-output", "nosuch"], ["--labels-output", "nosuch"]):
            err = self.refused(*run, *options)
            self.assertIn("'nosuch'", err)
            self.assertIn("probabilities", err)
        self.assertIn("--constant-output", self.refused(*run, "--constant-output", "stem_conv"))
        self.assertEqual(vernier(*run, "--labels", labels, "--labels-output", "probabilities", "--constant-output", "probabilities")[0], 0)

    def test_labels_must_be_classes(self):
        data = self.data(image=np.load(self.digits / "held_out.npz")["image"][:20])
        for wrong in (10, -1):
            values = np.load(self.digits / "labels.npy")[:20]
            values[3] = wrong
            np.save(self.folder / "labels.npy", values)
            err = self.refused("run", self.path, "--reference", "--reference=ideal", "--data", data, "--labels", self.folder / "labels.npy", status=3)
            self.assertIn(f"label {wrong} at index 3 is none of the 10 classes", err)

    def test_numbers_and_files(self):
        for seed in ("-1", "18446744073709551616", "1.5", ""):
            for option in ([f"--seed={seed}"], ["--seed", seed]):
                self.refused("run", self.path, "--reference", *option)
        self.assertEqual(vernier("inspect", self.path, "--seed", str(2**64 - 1), "--quiet")[0], 0)
        for arguments in (["build", self.path, "-o", ""], ["export", self.path, "-o", ""], ["export", self.path, "--output="], ["inspect", self.path, "--json", ""]):
            self.refused(*arguments)


if __name__ == "__main__":
    main()
