"""Word and character error rates of transcripts, by jiwer: errors of all samples over all words. A model gives what it reads or hears as
strings, or numbers of classes, or scores of them [time, classes], which are decoded as CTC has it: the largest of each step, repeats once, and
no blank, which is class 0. Numbers become texts by the names of classes, if the label has some: {"text": …, "classes": [names]}.
"""

import numpy as np

higher_is_better = False
unit = ""
description = ""
_measure = None


def start(name):
    global _measure, description
    import jiwer

    _measure = jiwer.process_words if name == "wer" else jiwer.process_characters
    description = f"jiwer {getattr(jiwer, '__version__', '') or _version()}"


def _version():
    from importlib.metadata import version

    return version("jiwer")


def decoded(outputs, classes):
    array = np.asarray(next(iter(outputs.values())))
    if array.dtype.kind in "USO":
        return " ".join(each.decode() if isinstance(each, bytes) else str(each) for each in array.ravel())
    if array.dtype.kind == "f":
        steps = array.reshape(-1, array.shape[-1]).argmax(axis=1)
        kept = [int(now) for now, before in zip(steps, [0, *steps]) if now != before and now != 0]
    else:
        kept = [int(each) for each in array.ravel()]
    if classes is None:
        raise ValueError("the model gives numbers, and the labels name no classes: write {\"text\": …, \"classes\": [names]}")
    return "".join(classes[each] for each in kept)


def score(outputs, label):
    text, classes = (label["text"], label.get("classes")) if isinstance(label, dict) else (label, None)
    if not isinstance(text, str) or not text.strip():
        raise ValueError("a sample has no transcript: write {\"file\": …, \"text\": …} in each line")
    found = _measure(text, decoded(outputs, classes))
    errors = found.substitutions + found.deletions + found.insertions
    return [errors, found.substitutions + found.deletions + found.hits]


def value(scores):
    errors, words = np.sum(scores, axis=0)
    return errors / words if words else 0.0
