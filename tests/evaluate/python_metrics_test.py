"""The metrics in Python against each other and against what is known: python_metrics_test.py SOURCE_DIR"""
import pathlib
import sys
import unittest

import numpy as np

sys.path.insert(0, str(pathlib.Path(sys.argv.pop()) / "python/vernier_runners"))
import metric_coco
import metric_text


def images(count):
    """Images of up to five objects, some of which are found, some twice, some by the wrong class, and some that are not there."""
    random = np.random.default_rng(0)
    for _ in range(count):
        objects, boxes = [], []
        for _ in range(random.integers(0, 6)):
            box = [*random.uniform(0, 200, 2), *random.uniform(10, 80, 2)]
            objects.append({"category_id": int(random.integers(1, 4)), "bbox": box, "iscrowd": int(random.random() < 0.1)})
            for _ in range(random.integers(0, 3)):
                x, y, w, h = np.array(box) + random.normal(0, 4, 4)
                boxes.append([x, y, x + w, y + h, random.random(), objects[-1]["category_id"] if random.random() < 0.9 else 4])
        for _ in range(random.integers(0, 3)):
            x, y = random.uniform(0, 200, 2)
            boxes.append([x, y, x + 30, y + 30, random.random() * 0.6, random.integers(1, 4)])
        yield {"y": np.array(boxes).reshape(1, -1, 6)}, {"annotations": objects}


class Coco(unittest.TestCase):
    def test_matches_that_are_kept_give_what_both_libraries_give(self):
        figures = []
        for name in ("coco-map", "coco-map:pycocotools"):
            metric_coco.start(name)
            scores = [metric_coco.score(*image) for image in images(120)]
            figures.append(metric_coco.over(scores)(np.ones(120)))  # raises where the library gives another one
        self.assertAlmostEqual(*figures, 12)
        self.assertTrue(0.05 < figures[0] < 0.5)
        counts = np.random.default_rng(1).integers(0, 3, 120)
        repeated = [score for score, count in zip(scores, counts) for _ in range(count)]
        self.assertAlmostEqual(metric_coco.over(scores)(counts.astype(float)), metric_coco.value(repeated), 12)

    def test_a_difference_from_the_library_is_no_figure(self):
        metric_coco.start("coco-map")
        scores = [metric_coco.score(*image) for image in images(20)]
        matched, metric_coco.matched = metric_coco.matched, lambda objects, boxes: tuple(np.zeros((2, 10, len(boxes)), bool))
        try:
            with self.assertRaisesRegex(ValueError, "matches that are kept give 0.0"):
                metric_coco.over(scores)
        finally:
            metric_coco.matched = matched

    def test_boxes_of_the_input_become_boxes_of_the_file(self):
        metric_coco.start("coco-map")
        label = {"annotations": [{"category_id": 1, "bbox": [20, 40, 60, 80]}], "image": {"width": 200, "height": 400}, "input_size": [100, 100]}
        boxes = np.array([[[10, 10, 40, 30, 0.9, 1]]], float)
        self.assertEqual(metric_coco.value([metric_coco.score({"y": boxes}, label)]), 1)
        self.assertEqual(metric_coco.value([metric_coco.score({"y": boxes + 20}, label)]), 0)
        xml = "<annotation><size><width>200</width><height>400</height></size><object><name>cat</name><bndbox><xmin>20</xmin><ymin>40</ymin><xmax>80</xmax><ymax>120</ymax></bndbox></object></annotation>"
        voc = {"xml": xml, "classes": ["dog", "cat"], "input_size": [100, 100]}
        self.assertEqual(metric_coco.value([metric_coco.score({"boxes": boxes[0, :, :4], "scores": boxes[0, :, 4], "labels": np.array([1])}, voc)]), 1)
        with self.assertRaisesRegex(ValueError, "--classes"):
            metric_coco.score({"y": boxes}, {**voc, "classes": ["dog"]})
        with self.assertRaisesRegex(ValueError, "no boxes"):
            metric_coco.score({"y": boxes[..., :4]}, label)


class Text(unittest.TestCase):
    def test_error_rates_of_words_and_characters(self):
        metric_text.start("wer")
        scores = [metric_text.score({"y": np.array(["the cat sat"])}, "the bat sat down"), metric_text.score({"y": np.array(["yes"])}, {"text": "yes"})]
        self.assertAlmostEqual(metric_text.value(scores), 2 / 5)  # over all words, not the mean of samples
        metric_text.start("cer")
        steps = np.eye(3)[[1, 1, 0, 2, 2]]
        self.assertEqual(metric_text.value([metric_text.score({"y": steps[None]}, {"text": "ab", "classes": ["", "a", "b"]})]), 0)
        self.assertEqual(metric_text.value([metric_text.score({"y": steps[None]}, {"text": "aa", "classes": ["", "a", "b"]})]), 0.5)
        with self.assertRaisesRegex(ValueError, "name no classes"):
            metric_text.score({"y": steps}, "ab")
        with self.assertRaisesRegex(ValueError, "no transcript"):
            metric_text.score({"y": np.array(["a"])}, 3)


if __name__ == "__main__":
    unittest.main()
