"""Ties: decisions that rounding may make either way. ties_test.py VERNIER SOURCE_DIR"""
import numpy as np
from judging import BOOL, Case, info, INT64, main, node


class Ties(Case):
    """The second model shifts scores by `shift` on their way to the decision."""

    def compare(self, nodes, outputs, shift, scores, *options, spoil=None, weights=None, **inputs):
        """`spoil` is a node of the second model alone: "from to" names the value that it replaces at the end."""
        made = []
        for name, by in (("right", np.zeros_like(shift)), ("shifted", shift)):
            all_nodes = [node("Add", "x by", "scores"), *nodes]
            if spoil and name == "shifted":
                all_nodes = [node("Add", "x by", "scores"), *spoil]
            graph_inputs = [info("x", list(scores.shape))] + [info(key, list(value.shape)) for key, value in inputs.items()]
            made.append(self.model(name, all_nodes, graph_inputs, outputs, {"by": by, **(weights or {})}))
        data = self.data(x=scores, **inputs)
        return self.run_models(*made, "--reference", "--data", data, *options)

    # Detections: the best three of six boxes in order, as rows [score, box].
    SCORES = np.array([0.1, 0.731, 0.731 - 1.2e-7, 0.5, 0.9, 0.2], np.float32)
    BOXES = np.arange(24, dtype=np.float32).reshape(6, 4) + 1

    @property
    def detect(self):
        return [node("TopK", "scores k", "best which", axis=0), node("Gather", "boxes which", "rows", axis=0)]

    OUTPUTS = [info("best", [3]), info("which", [3], INT64), info("rows", [3, 4])]
    K = {"k": np.array([3], np.int64)}
    SWAP = np.array([0, 0, 2.4e-7, 0, 0, 0], np.float32)

    def test_a_swap_at_a_tie_passes_and_is_named(self):
        for options in ([], ["--atol", "1e-6", "--rtol", "0"]):
            comparison, tensors, out = self.compare(self.detect, self.OUTPUTS, self.SWAP, self.SCORES, *options, weights=self.K, boxes=self.BOXES)
            self.assertEqual(comparison["verdict"], "pass", out)
            [decision] = tensors["rows"]["decisions"]
            self.assertEqual((decision["node"], decision["op"], decision["rows_swapped"]), ("the_TopK_which", "TopK", 2))
            self.assertLessEqual(decision["margin"], decision["error"])
            self.assertLess(decision["error"], 1e-6)
            self.assertRegex("\n".join(tensors["rows"]["reasons"]), r"decided by a tie: TopK 'the_TopK_which' chose between 0.731 and 0.731 \(margin .*, error that reached it .*\); 2 rows matched across the swap; the rest agrees")
            self.assertEqual(tensors["which"]["decisions"], [decision])
            self.assertIn("decided by a tie", out)

    def test_a_wrong_row_behind_a_swap_fails(self):
        spoil = [node("TopK", "scores k", "best which", axis=0), node("Gather", "boxes which", "r", axis=0), node("Mul", "r off", "rows")]
        off = np.ones((3, 4), np.float32)
        off[1, 2] = 1.01
        _, tensors, _ = self.compare(self.detect, self.OUTPUTS, self.SWAP, self.SCORES, spoil=spoil, weights={**self.K, "off": off}, boxes=self.BOXES)
        self.assertEqual(tensors["rows"]["verdict"], "fail")
        self.assertEqual(tensors["which"]["verdict"], "pass")

    def test_a_tolerance_is_not_widened_by_a_tie(self):
        spoil = [node("TopK", "scores k", "best which", axis=0), node("Gather", "boxes which", "r", axis=0), node("Mul", "r off", "rows")]
        weights = {**self.K, "off": np.full((3, 4), 1 + 1e-5, np.float32)}
        for options, verdict in (([], "pass"), (["--atol", "1e-6", "--rtol", "1e-6"], "fail")):
            _, tensors, _ = self.compare(self.detect, self.OUTPUTS, self.SWAP, self.SCORES, *options, spoil=spoil, weights=weights, boxes=self.BOXES)
            self.assertEqual(tensors["rows"]["verdict"], verdict, tensors["rows"]["reasons"])

    def test_a_clear_decision_that_differs_fails(self):
        spoil = [node("TopK", "x k", "b w", axis=0), node("Gather", "w turn", "which"), node("Gather", "b turn", "best"), node("Gather", "boxes which", "rows", axis=0)]
        scores = np.array([0.1, 0.731, 0.7305, 0.5, 0.9, 0.2], np.float32)
        comparison, tensors, _ = self.compare(self.detect, self.OUTPUTS, np.full(6, 1e-7, np.float32), scores, spoil=spoil, weights={**self.K, "turn": np.array([0, 2, 1], np.int64)}, boxes=self.BOXES)
        self.assertEqual((tensors["which"]["verdict"], tensors["rows"]["verdict"]), ("fail", "fail"))
        self.assertNotIn("decisions", tensors["rows"])

    def test_an_error_that_is_a_fault_excuses_nothing(self):
        """The scores themselves are wrong, by more than the default tolerance, and no output shows it."""
        shift = np.array([0, 0, 0.05, 0, 0, 0], np.float32)
        _, tensors, _ = self.compare(self.detect, self.OUTPUTS[1:], shift, np.array([0.1, 0.731, 0.70, 0.5, 0.9, 0.2], np.float32), weights=self.K, boxes=self.BOXES)
        self.assertEqual((tensors["which"]["verdict"], tensors["rows"]["verdict"]), ("fail", "fail"))

    def test_equal_values_have_an_order(self):
        """ONNX says which of equal values comes first, so the other order is wrong."""
        spoil = [node("TopK", "x k", "b w", axis=0), node("Gather", "w turn", "which"), node("Gather", "b turn", "best"), node("Gather", "boxes which", "rows", axis=0)]
        scores = np.array([0.1, 0.731, 0.731, 0.5, 0.9, 0.2], np.float32)
        _, tensors, _ = self.compare(self.detect, self.OUTPUTS, np.zeros(6, np.float32), scores, spoil=spoil, weights={**self.K, "turn": np.array([0, 2, 1], np.int64)}, boxes=self.BOXES)
        self.assertEqual(tensors["which"]["verdict"], "fail")

    def test_an_index(self):
        scores = np.array([[0.1, 0.731, 0.731 - 1.2e-7], [3, 2, 1]], np.float32)
        shift = np.array([[0, 0, 2.4e-7], [0, 0, 0]], np.float32)
        nodes, outputs = [node("ArgMax", "scores", "ids", axis=1)], [info("ids", [2, 1], INT64)]
        comparison, tensors, out = self.compare(nodes, outputs, shift, scores)
        self.assertEqual(comparison["verdict"], "pass", out)
        self.assertEqual([(each["op"], each["rows_swapped"]) for each in tensors["ids"]["decisions"]], [("ArgMax", 1)])
        self.assertIn("1 element decided the other way", "\n".join(tensors["ids"]["reasons"]))
        wrong = [node("ArgMax", "scores", "i", axis=1), node("Add", "i off", "ids")]
        comparison, _, _ = self.compare(nodes, outputs, shift, scores, spoil=wrong, weights={"off": np.array([[0], [1]], np.int64)})
        self.assertEqual(comparison["verdict"], "fail")

    def test_a_rounding(self):
        scores = np.array([0.2, 1.5 - 1e-7, 2.7, -3.2], np.float32)
        shift = np.array([0, 4e-7, 0, 0], np.float32)
        nodes, outputs = [node("Round", "scores", "r"), node("Mul", "r scale", "y")], [info("y", [4])]
        scale = {"scale": np.float32(0.25)}
        comparison, tensors, out = self.compare(nodes, outputs, shift, scores, weights=scale)
        self.assertEqual(comparison["verdict"], "pass", out)
        self.assertEqual([(each["op"], each["other"]) for each in tensors["y"]["decisions"]], [("Round", 1.5)])
        wrong = [node("Round", "scores", "q"), node("Add", "q off", "r"), node("Mul", "r scale", "y")]
        comparison, _, _ = self.compare(nodes, outputs, shift, scores, "--atol", "1e-6", spoil=wrong, weights={**scale, "off": np.array([0, 0, 1, 0], np.float32)})
        self.assertEqual(comparison["verdict"], "fail")

    def test_a_comparison_that_selects(self):
        scores = np.array([0.2, 0.5 - 6e-8, 0.7, -3.2], np.float32)
        shift = np.array([0, 2.4e-7, 0, 0], np.float32)
        nodes = [node("Greater", "scores half", "over"), node("NonZero", "over", "where"), node("Compress", "z over", "kept"), node("Where", "over z half", "y")]
        outputs = [info("over", [4], BOOL), info("where", [1, "n"], INT64), info("kept", ["n"]), info("y", [4])]
        inputs = {"z": np.array([10, 20, 30, 40], np.float32)}
        comparison, tensors, out = self.compare(nodes, outputs, shift, scores, weights={"half": np.float32(0.5)}, **inputs)
        self.assertEqual(comparison["verdict"], "pass", out)
        for tensor in tensors.values():
            self.assertEqual([each["op"] for each in tensor["decisions"]], ["Greater"])
        wrong = [*nodes[:3], node("Where", "over z z", "y")]
        _, tensors, _ = self.compare(nodes, outputs, shift, scores, spoil=wrong, weights={"half": np.float32(0.5)}, **inputs)
        self.assertEqual({name: tensor["verdict"] for name, tensor in tensors.items()}, {"over": "pass", "where": "pass", "kept": "pass", "y": "fail"})

    def suppress(self, scores, shift, boxes, **options):
        nodes = [node("NonMaxSuppression", "boxes scores most threshold", "chosen")]
        weights = {"most": np.array([3], np.int64), "threshold": np.array([0.5], np.float32)}
        return self.compare(nodes, [info("chosen", ["n", 3], INT64)], np.array([[shift]], np.float32), np.array([[scores]], np.float32), weights=weights, boxes=np.array([boxes], np.float32), **options)

    def test_a_suppression(self):
        apart = [[0, 0, 1, 1], [0, 2, 1, 3], [0, 4, 1, 5], [0, 6, 1, 7]]
        near, swap = [0.9, 0.731, 0.731 - 1.2e-7, 0.1], [0, 0, 2.4e-7, 0]
        comparison, tensors, out = self.suppress(near, swap, apart)
        self.assertEqual(comparison["verdict"], "pass", out)
        self.assertEqual([(each["op"], each["rows_swapped"]) for each in tensors["chosen"]["decisions"]], [("NonMaxSuppression", 2)])
        # The two overlap, so that the one that comes first suppresses the other.
        comparison, _, out = self.suppress(near, swap, [[0, 0, 1, 1], [0, 2, 1, 3], [0, 2.1, 1, 3.1], [0, 6, 1, 7]])
        self.assertEqual(comparison["verdict"], "pass", out)
        order = [node("NonMaxSuppression", "boxes scores most threshold", "c"), node("Gather", "c turn", "chosen", axis=0)]
        weights = {"most": np.array([3], np.int64), "threshold": np.array([0.5], np.float32), "turn": np.array([1, 0, 2], np.int64)}
        comparison, _, _ = self.compare([node("NonMaxSuppression", "boxes scores most threshold", "chosen")], [info("chosen", ["n", 3], INT64)], np.array([[swap]], np.float32),
                                        np.array([[near]], np.float32), spoil=order, weights=weights, boxes=np.array([apart], np.float32))
        self.assertEqual(comparison["verdict"], "fail", "the first one leads clearly")


class UnseenTies(Case):
    """Outputs that came with the data show nothing but themselves: what they rest on is found by turning over near ties of the reference."""

    def setUp(self):
        super().setUp()
        random = np.random.default_rng(3)
        weights = random.standard_normal((64, 6)).astype(np.float32)
        weights[:, 2] = weights[:, 1]
        x = np.abs(random.standard_normal((1, 64))).astype(np.float32)
        x[0, 1:] *= np.sign(weights[1:, 1])  # so that the two lead
        weights[0, 2] += 8e-6 / x[0, 0]  # by two steps of their float
        self.x, boxes = x, np.arange(24, dtype=np.float32).reshape(6, 4) + 1
        nodes = [node("MatMul", "x w", "scores"), node("TopK", "scores k", "best which", axis=1), node("Gather", "boxes which", "rows", axis=0)]
        self.path = self.model("hidden", nodes, [info("x", [1, 64])], [info("which", [1, 3], INT64), info("rows", [1, 3, 4])], {"w": weights, "k": np.array([3], np.int64), "boxes": boxes})
        scores = (x.astype(np.float64) @ weights)[0]
        which = np.argsort(-scores, kind="stable")[:3]
        self.assertEqual(set(which[:2]), {1, 2})
        self.boxes, self.which, self.margin = boxes, which, abs(scores[1] - scores[2])

    def judged(self, order, **changes):
        which = self.which[order]
        rows = self.boxes[which][None]
        for place, value in changes.values():
            rows[place] = value
        return self.run_models(self.path, "--reference", "--data", self.data(x=self.x, which=which[None], rows=rows))

    def test_a_swap(self):
        comparison, tensors, out = self.judged([1, 0, 2])
        self.assertEqual(comparison["verdict"], "pass", out)
        [decision] = tensors["rows"]["decisions"]
        self.assertEqual((decision["op"], decision["rows_swapped"]), ("TopK", 2))
        self.assertGreater(decision["margin"], 0)
        self.assertLessEqual(decision["margin"], decision["error"])

    def test_a_wrong_row(self):
        _, tensors, _ = self.judged([1, 0, 2], wrong=((0, 1, 1), 17))
        self.assertEqual((tensors["which"]["verdict"], tensors["rows"]["verdict"]), ("pass", "fail"))

    def test_a_clear_order(self):
        comparison, _, _ = self.judged([0, 2, 1])
        self.assertEqual(comparison["verdict"], "fail")
        comparison, _, _ = self.judged([0, 1, 2])
        self.assertEqual(comparison["verdict"], "pass")


if __name__ == "__main__":
    main()
