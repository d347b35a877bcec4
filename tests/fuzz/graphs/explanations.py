"""Known reasons why two engines may disagree: known.toml, matched narrowly, each entry with its reason."""

import pathlib
import re
import tomllib
from collections import Counter

import draw
import numpy as np
from bounds import is_huge


def features(case):
    """Entries may ask for these words: "special" "empty" "huge" "opset=18" "float16" "axis=-1" …"""
    arrays = [array for sample in case.samples for array in sample.values()] + list(case.constants().values())
    words = {f"opset={case.model.opset_import[0].version}"}
    words |= {kind for kind in case.types.values() if kind} | {draw.kind_of(array.dtype) for array in arrays if array.dtype != object}
    for node in case.model.graph.node:
        words |= {f"{node.op_type}.{attribute.name}={value_text(attribute)}" for attribute in node.attribute}
        words |= {f"{node.op_type}.in{i}" for i, name in enumerate(node.input) if name}
        words |= {f"{node.op_type}:{case.types.get(name, '?')}" for name in node.input if name}
        words |= {"stride-beyond-window"} if strides_beyond_window(node, case) else set()
    for array in arrays:
        if array.size == 0:
            words.add("empty")
        if array.dtype.kind == "f" or draw.kind_of(array.dtype) in draw.FLOATS:
            values = np.abs(array.astype(np.float64))
            words |= {"huge"} if is_huge(array) else set()
            words |= {"nan"} if np.isnan(values).any() else set()
            words |= {"inf"} if np.isinf(values).any() else set()
            finite = values[np.isfinite(values)]
            words |= {"tiny"} if ((finite > 0) & (finite < 1e-30)).any() else set()
        elif array.dtype.kind in "iu" and array.size and np.abs(array.astype(np.float64)).max() > 2**24:
            words.add("large-integer")
    return " ".join(sorted(words))


def strides_beyond_window(node, case):
    """Whether a convolution or pool steps over pixels that no window covers."""
    sizes = {attribute.name: list(attribute.ints) for attribute in node.attribute}
    weights = {**case.constants(), **case.samples[0]}.get(node.input[1]) if len(node.input) > 1 else None
    window = sizes.get("kernel_shape") or (weights.shape[2:] if weights is not None else [])
    return any(stride > size for stride, size in zip(sizes.get("strides", []), window))


def value_text(attribute):
    from onnx import helper

    value = helper.get_attribute_value(attribute)
    return value.decode() if isinstance(value, bytes) else "…" if hasattr(value, "node") or hasattr(value, "dims") else str(value).replace(" ", "")


class Explanations:
    def __init__(self, path=None):
        path = path or pathlib.Path(__file__).with_name("known.toml")
        self.entries = tomllib.loads(path.read_text())["known"]
        self.uses = Counter()
        for entry in self.entries:
            if unknown := entry.keys() - {"name", "kind", "who", "op", "message", "features", "reason"}:
                raise ValueError(f"{path}: {entry.get('name')} has {sorted(unknown)}")

    def of(self, case, finding):
        """The name of the entry that explains the finding, or None."""
        words = None
        for entry in self.entries:
            if entry["kind"] != finding.kind or entry["who"] != finding.who:
                continue
            if "op" in entry and not any(re.fullmatch(entry["op"], op) for op in all_ops(case.model.graph)):
                continue
            if "message" in entry and not re.search(entry["message"], finding.detail):
                continue
            if "features" in entry:
                words = words or features(case)
                if not all(re.search(rf"(^| ){word}( |$)", words) for word in entry["features"]):
                    continue
            return entry["name"]
        return None


def all_ops(graph):
    for node in graph.node:
        yield node.op_type
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from all_ops(attribute.g)
