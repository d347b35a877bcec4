"""The blocks of docs/python.md, one after the other, in a folder with what the page says is there."""

import re
import shutil

from conftest import DIGITS, ROOT

PAGE = ROOT / "docs/python.md"


def test_the_guide_runs(tmp_path, monkeypatch):
    for name in ("digits.onnx", "held_out.npz", "labels.npy"):
        shutil.copy(DIGITS / name, tmp_path)
    (tmp_path / "damaged.onnx").write_bytes(b"no model")
    monkeypatch.chdir(tmp_path)
    text, namespace = PAGE.read_text(), {}
    blocks = list(re.finditer(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL))
    assert len(blocks) == 6
    for block in blocks:
        line = text[: block.start(1)].count("\n")
        exec(compile("\n" * line + block[1], PAGE, "exec"), namespace)  # a traceback names the line of the page
    assert namespace["engine"].verdict == "pass" and namespace["r"] and not namespace["d"]
    assert namespace["stricter"].verdict == "fail" and namespace["front"].chosen.holds
    assert namespace["found"][:2] == ("bad_input", "damaged.onnx")
    assert namespace["serialized"].vernier.verdict == "pass" and namespace["done"] and (namespace["scores"].sum(axis=1) > 0.99).all()
    for name in ("digits.engine", "t.json", "r.json", "scales.json", "typed.onnx"):
        assert (tmp_path / name).stat().st_size > 0
