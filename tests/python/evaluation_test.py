"""Task metrics: the objects of `evaluate`, and its shards in other processes. docs/evaluate.md."""

from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest
import vernier_engine as vn
from conftest import DIGITS

LABELS, HELD_OUT = DIGITS / "labels.npy", DIGITS / "held_out.npz"


@pytest.fixture(scope="module")
def found():
    return vn.evaluate(DIGITS / "digits.onnx", [vn.reference(), vn.reference("ideal")], data=HELD_OUT, labels=LABELS, metric=["top1", "f1"],
                       drop={"top1": 0.02}, batch=64)  # fmt: skip


def test_values_come_with_their_intervals(found):
    assert found and found.verdict == "pass" and found.data.samples == 6
    assert found["reference"].ci95[0] < found["reference"].value < found["reference"].ci95[1]
    assert found["reference"]["f1"].value > 0.97 and found["reference"].values[0].rows == 359
    with pytest.raises(KeyError, match="reference=ideal"):
        found["cpu"]


def test_differences_are_paired(found):
    difference = found.difference("reference=ideal", "reference")
    assert difference.difference == 0 and difference.p == 1 and difference.flipped == ()
    assert difference.gate and difference.gate.bound95 < 0.02
    assert found.difference("reference=ideal", metric="f1").gate is None
    with pytest.raises(KeyError, match="there are reference=ideal against reference in top1"):
        found.difference("reference", "reference=ideal")
    assert len(found.to_pandas()) == 4 and "verdict: pass" in str(found)


def test_what_lost_is_listed():
    image, labels = np.load(HELD_OUT)["image"][:200], np.load(LABELS)[:200]
    wrong = vn.evaluate(DIGITS / "digits.onnx", [vn.reference(), vn.cpu(inject_fault="residual")], data={"image": image}, labels=labels, metric="top1", drop=0.01)
    difference = wrong.difference("cpu")
    assert not wrong and wrong.verdict == "fail" and not difference.gate
    assert difference.lost > difference.gained and difference.flipped[0].lost >= difference.flipped[-1].lost
    few = vn.evaluate(DIGITS / "digits.onnx", [vn.reference(), vn.reference("ideal")], data={"image": image[:20]}, labels=labels[:20], metric="top1", drop=0.01)
    assert few.verdict == "mistrusted" and few.difference("reference=ideal").gate.samples_needed > 20


def test_jobs_give_what_one_process_gives(found):
    arguments = dict(data=HELD_OUT, labels=LABELS, metric=["top1", "f1"], drop={"top1": 0.02}, batch=64, threads=1)
    runners = [vn.reference(), vn.reference("ideal")]
    alone = vn.evaluate(DIGITS / "digits.onnx", runners, **arguments)
    with ProcessPoolExecutor(2) as executor:
        shared = vn.evaluate(DIGITS / "digits.onnx", runners, executor=executor, shards=3, **arguments)
        assert shared.json == alone.json
        with pytest.raises(vn.Usage, match="cannot be run by jobs"):
            vn.evaluate(DIGITS / "digits.onnx", lambda feeds: {}, executor=executor, **arguments)
        with pytest.raises(vn.BadInput):
            vn.evaluate(DIGITS / "digits.onnx", runners, executor=executor, **{**arguments, "labels": LABELS.parent / "none.npy"})
