"""COCO's mAP (boxes, IoU 0.50 to 0.95), by faster-coco-eval or pycocotools. The library gives the figure of all images. What other images would
give, which a bootstrap asks 10 000 times, comes from boxes that are matched once, as the library matches them; both must agree.

A model gives rows of x1, y1, x2, y2, score and class in pixels of its input, or outputs boxes, scores, and labels or classes.
Labels are annotations of COCO, whose category ids a class counts as, or XML of Pascal VOC with the names of classes.
"""

import contextlib
import io
from importlib.metadata import version
from xml.etree import ElementTree

import numpy as np

higher_is_better = True
unit = ""
description = ""
THRESHOLDS = np.linspace(0.5, 0.95, 10)
RECALLS = np.linspace(0, 1, 101)
MOST = 100  # boxes of a class in an image
_coco = _evaluation = None


def start(name):
    global _coco, _evaluation, description
    if name.endswith(":pycocotools"):
        from pycocotools.coco import COCO
        from pycocotools.cocoeval import COCOeval

        _coco, _evaluation, package = COCO, COCOeval, "pycocotools"
    else:
        from faster_coco_eval import COCO, COCOeval_faster

        _coco, _evaluation, package = COCO, COCOeval_faster, "faster-coco-eval"
    description = f"{package} {version(package)}, boxes, IoU 0.50 to 0.95"


def boxes_of(outputs):
    """Rows of class, x, y, width, height, score."""
    if "boxes" in outputs and "scores" in outputs:
        boxes, scores = np.reshape(outputs["boxes"], (-1, 4)), np.ravel(outputs["scores"])
        classes = outputs.get("labels", outputs.get("classes", np.zeros(len(scores))))
        rows = np.column_stack([boxes, scores, np.ravel(classes)])
    else:
        rows = np.asarray(next(iter(outputs.values())))
        if rows.shape[-1] != 6:
            raise ValueError(f"an output of sizes {list(rows.shape)} holds no boxes: it needs rows of x1, y1, x2, y2, score, class")
        rows = rows.reshape(-1, 6)
    rows = rows[np.isfinite(rows).all(axis=1)].astype(float)
    # A box that ends before it begins has no size.
    return np.column_stack([rows[:, 5], rows[:, :2], np.clip(rows[:, 2:4] - rows[:, :2], 0, None), rows[:, 4]])


def objects_of(label):
    """Rows of category, x, y, width, height, and whether it is a crowd."""
    if isinstance(label, dict) and "annotations" in label:
        found = [(each["category_id"], *each["bbox"], each.get("iscrowd", 0)) for each in label["annotations"]]
    elif isinstance(label, dict) and "xml" in label:
        found = [object_of(each, label["classes"]) for each in ElementTree.fromstring(label["xml"]).iter("object")]
    else:
        raise ValueError("coco-map needs annotations of COCO, or XML of Pascal VOC")
    return np.array(found, float).reshape(-1, 6)


def object_of(element, classes):
    name, box = element.findtext("name"), element.find("bndbox")
    if name not in classes or box is None:
        raise ValueError(f"the object '{name}' has no box, or is not named by --classes, which XML of Pascal VOC needs")
    x1, y1, x2, y2 = (float(box.findtext(corner)) for corner in ("xmin", "ymin", "xmax", "ymax"))
    return classes.index(name), x1, y1, x2 - x1, y2 - y1, int(element.findtext("difficult") or 0)


def ratios(label):
    """Gives the scale from pixels of the file to pixels of the input, across and down."""
    if "input_size" not in label:
        return 1.0, 1.0
    if "image" in label:
        width, height = label["image"].get("width"), label["image"].get("height")
    else:
        size = ElementTree.fromstring(label["xml"]).find("size")
        width, height = (None, None) if size is None else (size.findtext("width"), size.findtext("height"))
    if not width or not height:
        raise ValueError("the annotations do not say how wide and high an image is")
    rows, columns = label["input_size"]
    return float(width) / columns, float(height) / rows


def score(outputs, label):
    """How many objects there are, then objects and boxes, in pixels of the file: the figure of any images follows."""
    objects, boxes = objects_of(label), boxes_of(outputs)
    across, down = ratios(label)
    boxes[:, [1, 3]] *= across
    boxes[:, [2, 4]] *= down
    return [len(objects), *objects.ravel(), *boxes.ravel()]


def parts_of(numbers):
    count = int(numbers[0])
    rows = np.array(numbers[1:], float).reshape(-1, 6)
    return rows[:count], rows[count:]


def overlaps(boxes, objects):
    """Shared area over that of both; of a crowd, over that of the box."""
    ends = np.minimum(boxes[:, None, 1:3] + boxes[:, None, 3:5], objects[None, :, 1:3] + objects[None, :, 3:5])
    sides = np.clip(ends - np.maximum(boxes[:, None, 1:3], objects[None, :, 1:3]), 0, None)
    both, mine, other = sides.prod(axis=2), boxes[:, 3:5].prod(axis=1)[:, None], objects[:, 3:5].prod(axis=1)[None]
    return both / np.maximum(np.where(objects[None, :, 5] > 0, mine, mine + other - both), 1e-12)


def matched(objects, boxes):
    """Matches one class in one image: by threshold and box, whether it has a partner, and whether it does not count."""
    objects = objects[np.argsort(objects[:, 5], kind="stable")]  # crowds last
    shared = overlaps(boxes, objects)
    hit, ignored = np.zeros((2, len(THRESHOLDS), len(boxes)), bool)
    for t, threshold in enumerate(THRESHOLDS):
        taken = np.zeros(len(objects), bool)
        for b in range(len(boxes)):
            best, found = min(threshold, 1 - 1e-10), -1
            for o in range(len(objects)):
                crowd = objects[o, 5] > 0
                if (taken[o] and not crowd) or shared[b, o] < best:
                    continue
                if found >= 0 and crowd and objects[found, 5] == 0:
                    break
                best, found = shared[b, o], o
            if found >= 0:
                taken[found] = hit[t, b] = True
                ignored[t, b] = objects[found, 5] > 0
    return hit, ignored


class Matches:
    """Scores one class: boxes of all images, the surest first."""

    def __init__(self, category, images):
        self.images, scores, hits, ignored, self.objects = [], [], [], [], np.zeros(len(images))
        for at, (objects, boxes) in enumerate(images):
            objects, boxes = objects[objects[:, 0] == category], boxes[boxes[:, 0] == category]
            boxes = boxes[np.argsort(-boxes[:, 5], kind="stable")][:MOST]
            self.objects[at] = (objects[:, 5] == 0).sum()
            hit, ignore = matched(objects, boxes)
            self.images += [at] * len(boxes)
            scores.append(boxes[:, 5])
            hits.append(hit)
            ignored.append(ignore)
        order = np.argsort(-np.concatenate(scores), kind="stable")
        self.images = np.array(self.images, int)[order]
        hit, ignore = np.concatenate(hits, axis=1)[:, order], np.concatenate(ignored, axis=1)[:, order]
        self.right, self.wrong = hit & ~ignore, ~hit & ~ignore

    def precision(self, counts):
        """The mean over thresholds; NaN where no image has such an object."""
        objects, weights = self.objects @ counts, counts[self.images]
        if objects == 0:
            return np.nan
        if len(weights) == 0:
            return 0.0
        right, wrong = np.cumsum(self.right * weights, axis=1), np.cumsum(self.wrong * weights, axis=1)
        precision = right / np.maximum(right + wrong, 1e-12)
        precision = np.maximum.accumulate(precision[:, ::-1], axis=1)[:, ::-1]
        total = 0.0
        for recall, best in zip(right / objects, precision):
            at = np.searchsorted(recall, RECALLS, side="left")
            total += np.where(at < len(best), best[np.minimum(at, len(best) - 1)], 0).mean()
        return total / len(THRESHOLDS)


def by_library(images, categories):
    dataset = {"info": {}, "images": [], "annotations": [], "categories": [{"id": int(each), "name": str(each)} for each in categories]}
    found = []
    for at, (objects, boxes) in enumerate(images, 1):
        dataset["images"].append({"id": at, "width": 1, "height": 1})
        for c, x, y, w, h, crowd in objects.tolist():
            dataset["annotations"].append({"id": len(dataset["annotations"]) + 1, "image_id": at, "category_id": int(c), "bbox": [x, y, w, h],
                                           "area": w * h, "iscrowd": int(crowd)})  # fmt: skip
        found += [{"image_id": at, "category_id": int(c), "bbox": [x, y, w, h], "score": s} for c, x, y, w, h, s in boxes.tolist() if c in categories]
    if not found or not dataset["annotations"]:
        return None
    with contextlib.redirect_stdout(io.StringIO()):
        truth = _coco()
        truth.dataset = dataset
        truth.createIndex()
        evaluation = _evaluation(truth, truth.loadRes(found), "bbox")
        evaluation.params.areaRng, evaluation.params.areaRngLbl = [[0, 1e10]], ["all"]
        evaluation.evaluate()
        evaluation.accumulate()
    precision = np.asarray(evaluation.eval["precision"])[:, :, :, 0, -1]
    return float(precision[precision > -1].mean())


def over(rows):
    """The figure of images, as a function of how often each counts."""
    images = [parts_of(row) for row in rows]
    categories = sorted({each for objects, _ in images for each in objects[:, 0]})
    classes = [Matches(category, images) for category in categories]

    def figure(counts):
        values = [each.precision(counts) for each in classes]
        return float(np.nanmean(values)) if not np.all(np.isnan(values)) else 0.0

    if len(images) > 1:
        library, own = by_library(images, categories), figure(np.ones(len(images)))
        if library is not None and abs(library - own) > 1e-6:
            raise ValueError(f"{description} gives {library:.6f}, and matches that are kept give {own:.6f}")
    return figure


def value(scores):
    return over(scores)(np.ones(len(scores)))
