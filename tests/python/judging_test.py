"""The interface by example: each line of the guide that judges, with the objects that it gives. docs/python.md."""

import dataclasses
import json
import math
import shutil
import subprocess
import sys

import jsonschema
import numpy as np
import pytest
import vernier_engine as vn
from conftest import DIGITS, ROOT


def batches(images):
    for begin in range(0, 16, 8):
        yield {"image": images[begin : begin + 8]}


@pytest.fixture(scope="module")
def report():
    """One comparison for all tests that look at it."""
    import onnxruntime

    session = onnxruntime.InferenceSession(DIGITS / "digits.onnx", providers=["CPUExecutionProvider"])

    def mine(feeds):
        return session.run(None, feeds)

    runners = vn.reference(), vn.cpu(), vn.onnxruntime(provider="cpu", optimization="disable"), vn.callable(mine, "mine")
    data = {"image": np.load(DIGITS / "held_out.npz")["image"][:8]}
    return vn.compare(DIGITS / "digits.onnx", *runners, data=data, layers=True, atol={"probabilities": 0.02})


def test_an_engine_is_built_judged_and_saved(tmp_path, chain, rows):
    stages = []
    engine = vn.build(chain, bf16=True, opt_shapes={"x": (4, 16)}, max_shapes={"x": (8, 16)}, timing_cache=tmp_path / "t.json",
                      progress=lambda *stage: stages.append(stage))  # fmt: skip
    engine.save(tmp_path / "chain.engine")
    assert engine and engine.verdict == "pass" and (tmp_path / "t.json").exists()
    assert [done for _, done, _ in stages] == [0, 1, 2, 3] and stages[1] == ("building and judging", 1, 4)
    assert engine.audit and engine.audit["matmul"].requested.compute == "bf16"
    assert {each.numerics for each in engine.report.passes} & {"narrowing", "exact"}
    assert engine.report.accuracy.relative_l2[0].declared > engine.report.accuracy.relative_l2[0].planned
    for session in (vn.Session(engine, threads=2), vn.Session(tmp_path / "chain.engine"), vn.Session(chain, bf16=True)):
        (y,) = session.run(None, {"x": rows})
        np.testing.assert_allclose(y.sum(axis=1), 1, atol=0.02)
    with pytest.raises(vn.VernierError):  # beyond the profile
        vn.Session(engine).run(None, {"x": np.zeros((9, 16), np.float32)})


def test_runners_are_compared(report, tmp_path):
    assert report.verdict == "pass" and bool(report)
    assert [each.actual for each in report.comparisons] == ["cpu", "onnxruntime", "mine"]
    tensor = report["cpu"]["probabilities"]
    assert tensor and 0 < tensor.metrics.relative_l2 < 1e-5
    assert tensor.tolerance.atol == 0.02 and tensor.dims == (8, 10)
    assert report["mine"]["probabilities"].metrics.relative_l2 < 1e-5
    assert sum(tensor.metrics.histogram.decades.values()) + tensor.metrics.histogram.exact == tensor.metrics.elements
    assert len(report["onnxruntime"].tensors) > 1
    assert "pass" in str(report) and report.environment["vernier"] == vn.__version__
    with pytest.raises(KeyError, match="tensorrt.*onnxruntime"):
        report["tensorrt"]


def test_runners_of_one_name_are_told_apart(digits, images):
    found = vn.compare(digits, vn.reference(), vn.cpu(), vn.cpu(precision="bf16"), vn.reference("ideal"), data={"image": images[:4]}, keep_runs=False)
    assert [each.actual for each in found.comparisons] == ["cpu", "cpu #2", "reference=ideal"] and found
    assert found["cpu #2"]["probabilities"].metrics.relative_l2 > found["cpu"]["probabilities"].metrics.relative_l2
    backwards = vn.compare(digits, vn.cpu(), vn.reference(), against="reference", data={"image": images[:4]}, atol=1e-3)
    assert backwards.comparisons[0].reference == "reference" and backwards.rejudge().comparisons[0].reference.startswith("reference from")


def test_a_report_is_a_table_and_a_file(report, tmp_path):
    frame = report.to_pandas()
    assert len(frame) == sum(len(each.tensors) for each in report.comparisons)
    assert frame[frame.value == "probabilities"].relative_l2.max() < 0.1
    report.save(tmp_path / "r.json")
    schema = json.loads((ROOT / "docs/report.schema.json").read_text())
    jsonschema.validate(json.loads((tmp_path / "r.json").read_text()), schema)
    loaded = vn.load_report(tmp_path / "r.json")
    assert loaded == dataclasses.replace(report, text="", runs=())
    with pytest.raises(vn.Usage, match="no runs"):
        loaded.rejudge(rtol=1e-2)
    (tmp_path / "other.json").write_text('{"schema": "vernier-check"}')
    with pytest.raises(vn.Usage, match="no report"):
        vn.load_report(tmp_path / "other.json")


def test_runs_are_judged_again(report):
    strict = report.rejudge(rtol=1e-12, atol=1e-15)
    assert strict.verdict == "fail" and not strict["cpu"]["probabilities"]
    assert strict["cpu"].first_difference.nodes
    assert strict.rejudge(atol=1e-3)["cpu"]["probabilities"]
    changes = report.diff(strict)
    assert changes and all(change.verdicts[0] != change.verdicts[1] or change.relative_l2[0] != change.relative_l2[1] for change in changes)
    assert not report.diff(report) and len(report.diff(report)) == 0


def test_names_stay_text_in_a_notebook(report):
    hostile = dataclasses.replace(report.comparisons[0], actual="<script>alert(1)</script>")
    shown = dataclasses.replace(report, comparisons=(hostile,))._repr_html_()
    assert "<script>" not in shown and "&lt;script&gt;" in shown and shown.count("<tr>") > 1


def test_data_are_paths_mappings_and_streams(chain, rows, tmp_path):
    np.savez(tmp_path / "rows.npz", x=rows)
    for data, samples in (({"x": rows}, 1), ([{"x": rows}, {"x": rows[:2]}], 2), (({"x": rows} for _ in range(3)), 3), (str(tmp_path / "rows.npz"), 1), (None, 4)):
        found = vn.compare(chain, vn.reference(), vn.cpu(), data=data, keep_runs=False)
        assert found and len(found.samples) == samples, data
    with pytest.raises(vn.Usage, match="no sample"):
        vn.compare(chain, vn.reference(), vn.cpu(), data=[])
    with pytest.raises(vn.Usage, match="neither a path nor a mapping"):
        vn.compare(chain, vn.reference(), vn.cpu(), data=[3])


def test_an_engine_that_is_wrong_is_diagnosed(digits, images):
    stages = []
    wrong = vn.cpu(inject_fault="residual")
    found = vn.diagnose(digits, wrong, against=vn.reference(), data=batches(images), budget=60, progress=lambda *stage: stages.append(stage))
    assert not found and found.verdict == "fail" and stages
    first = found.culprits[0]
    assert (first.rank, first.nodes, first.failure) == (1, ("block1_add",), "B31") and first.share > 0.5
    assert first.title and first.evidence and first.repair.kind in ("rewrite", "option", "plan", "none") and first.repair.plan is None
    assert "block1_add" in found.to_pandas().nodes[0]
    assert found.split[0].planned_engine > found.split[0].bound
    healthy = vn.diagnose(digits, vn.cpu(bf16=True), data=batches(images))
    assert healthy and healthy.culprits == ()


def test_a_repair_by_a_plan_is_a_file_for_export(tmp_path, images):
    grown = tmp_path / "grown.onnx"
    subprocess.run([sys.executable, DIGITS / "grow_activation.py", DIGITS / "digits.onnx", "stem_bn", "block1_1_conv", grown], check=True)
    found = vn.diagnose(grown, vn.cpu(fp16=True), data={"image": images[:8]}, repair=True, budget=60)
    assert not found
    plan = found.culprits[0].repair.plan
    assert plan is not None and found.culprits[0].repair.verified.passes
    assert vn.export(grown, plan=plan, output=tmp_path / "typed.onnx").types


def test_the_cheapest_plan_is_searched(tmp_path, chain):
    random = np.random.default_rng(3)
    front = vn.tune(chain, data=({"x": random.standard_normal((8, 16), np.float32)} for _ in range(6)), tolerance=0.05, time_limit=10, duration=0.2, types="bf16")
    assert front and front.chosen.holds and front.chosen.error <= 0.05 and front.target.limit == 0.05
    assert front.chosen.ratio_ci95[0] <= front.chosen.ratio <= front.chosen.ratio_ci95[1]
    drawn = front.plot()
    drawn.save(tmp_path / "front.svg")
    assert drawn._repr_svg_().count("<circle") == len({each.file for each in [*front.front, *front.dominated, front.baseline]})
    plan = front.chosen.plan
    plan.save(tmp_path / "kept.json")
    for given in (plan, front.chosen, tmp_path / "kept.json"):
        typed = vn.export(chain, plan=given, output=tmp_path / "typed.onnx")
        assert typed.file == str(tmp_path / "typed.onnx") and typed
    assert vn.build(chain, plan=plan).verdict == "pass"


def test_ranges_are_found_and_used(tmp_path, chain):
    random = np.random.default_rng(4)
    scales = vn.calibrate(chain, data=[{"x": random.standard_normal((64, 16), np.float32)}], method="entropy", rows=8)
    scales.save(tmp_path / "scales.json")
    assert {each.name for each in scales.tensors} >= {"x"} and all(each.method == "entropy" for each in scales.tensors)
    assert json.loads((tmp_path / "scales.json").read_text())
    engine = vn.build(chain, int8=True, calibration=scales)
    assert engine.audit["matmul"].requested.compute == "i8"


def test_runs_are_timed_in_turn(tmp_path, chain):
    engine = vn.build(chain, opt_shapes={"x": (4, 16)}, verify=False)
    plain = vn.bench(chain, versus=vn.onnxruntime(), shapes={"x": (4, 16)}, duration=0.1, warmup=0, no_verify=True)
    assert list(plain.versus) == ["onnxruntime"] and plain.versus["onnxruntime"].ratio > 0
    slow = vn.onnxruntime(optimization="disable")
    other = vn.bench(chain, versus=[slow], shapes={"x": (4, 16)}, duration=0.1, warmup=0, no_verify=True)
    assert other.versus["onnxruntime"] is other.versus["onnxruntime:disable"] and other.versus["onnxruntime"].ratio > 0
    with pytest.raises(vn.Usage, match="one by one"):
        vn.bench(chain, versus=[slow, vn.callable(lambda feeds: feeds["x"])])
    found = vn.bench(engine, versus=[vn.onnxruntime(), vn.callable(lambda feeds: feeds["x"][:, :8], "sliced")], shapes={"x": (4, 16)}, duration=0.2, warmup=0.05)
    assert 0 < found.latency.p50 <= found.latency.p99
    assert found.versus["onnxruntime"].ratio > 0
    low, high = found.versus["onnxruntime"].ci95
    assert low <= found.versus["onnxruntime"].ratio <= high
    assert found.versus["sliced"].latency.p50 > 0
    assert found.memory.weights > 0 and len(found.to_pandas()) == 3
    engine.save(tmp_path / "chain.engine")
    assert vn.bench(tmp_path / "chain.engine", shapes={"x": (4, 16)}, duration=0.1, warmup=0).load_ms > 0


def test_a_model_is_checked_and_inspected(chain, digits, tmp_path):
    assert vn.check(chain).findings == () and vn.check(chain)
    from onnx import TensorProto, helper

    from conftest import save

    nodes = [helper.make_node("Add", ["x", "epsilon"], ["e"], "add"), helper.make_node("Sqrt", ["e"], ["y"], "root")]
    hazard = save(tmp_path / "hazard.onnx", nodes, [("x", TensorProto.FLOAT, [4])], [("y", TensorProto.FLOAT, [4])], [("epsilon", np.float32(1e-9))])
    found = vn.check(hazard, assume="f16").findings
    assert found and {each.severity for each in found} <= {"error", "warning", "note"} and found[0].remedy and found[0].failure == "B5"
    described = vn.inspect(digits)
    assert described.operators["Conv"] > 0
    assert described.to_pandas().nodes.sum() == sum(described.operators.values())
    assert described.file == str(digits) and described.json["hash"]


def test_a_child_that_is_killed_is_an_error_that_says_so(monkeypatch, tmp_path, digits):
    from vernier_engine import _program

    program = tmp_path / "vernier"
    program.write_text("#!/bin/sh\nkill -SEGV $$\n")
    program.chmod(0o755)
    monkeypatch.setattr(_program, "PROGRAM", program)
    with pytest.raises(vn.VernierError, match="SIGSEGV") as caught:
        vn.inspect(digits)
    assert caught.value.code == "internal"
    monkeypatch.setattr(_program, "PROGRAM", tmp_path / "nowhere")
    with pytest.raises(vn.VernierError, match="lacks its program"):
        vn.inspect(digits)


def test_an_interruption_ends_the_program(monkeypatch, digits):
    started = []

    class Child(subprocess.Popen):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            started.append(self)

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess, "Popen", Child)
    with pytest.raises(KeyboardInterrupt):
        vn.compare(digits, vn.reference(), vn.cpu(), progress=interrupt)
    assert len(started) == 1 and started[0].returncode is not None and started[0].returncode != 0


def test_progress_is_a_bar(digits, capsys):
    vn.compare(digits, vn.reference(), vn.cpu(), samples=2, shapes={"image": (1, 1, 8, 8)}, progress=True)
    shown = capsys.readouterr().err
    assert "run" in shown and "4/4" in shown


def test_numbers_that_json_lacks_come_back(tmp_path):
    from onnx import TensorProto, helper

    from conftest import save

    model = save(tmp_path / "neg.onnx", [helper.make_node("Neg", ["x"], ["y"])], [("x", TensorProto.FLOAT, [4])], [("y", TensorProto.FLOAT, [4])])
    nothing = vn.callable(lambda feeds: np.full(4, np.nan, np.float32), "nan")
    found = vn.compare(model, vn.reference(), nothing, data={"x": np.ones(4, np.float32)})
    assert not found and math.isinf(found["nan"]["y"].metrics.relative_l2) and math.isnan(found["nan"]["y"].metrics.cosine)
