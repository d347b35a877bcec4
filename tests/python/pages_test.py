"""Results that have a page: html() and show()."""

import sys
import types
import webbrowser

import pytest
import vernier_engine as vn
from vernier_engine import _program

pytestmark = pytest.mark.skipif(not _program.has_page(), reason="this program was built without the page")


def page_of(result, tmp_path):
    result.html(tmp_path / "page.html")
    return (tmp_path / "page.html").read_text()


def test_results_have_their_page(chain, rows, tmp_path):
    engine = vn.build(chain, opt_shapes={"x": (4, 16)})
    bench = vn.bench(chain, shapes={"x": (4, 16)}, duration=0.01, warmup=0)
    report = vn.compare(chain, vn.reference(), engine, data={"x": rows})
    diagnosis = vn.diagnose(chain, vn.cpu(), data={"x": rows})
    for result in (engine, bench, report, report.rejudge(rtol=1e-9), diagnosis):
        assert 'id="payload"' in page_of(result, tmp_path)


def test_a_page_opens_in_the_browser_or_below_the_cell(chain, rows, monkeypatch):
    opened, shown = [], []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    report = vn.compare(chain, vn.reference(), vn.cpu(), data={"x": rows})
    report.show()
    assert len(opened) == 1 and opened[0].startswith("file://")
    notebook, display = types.ModuleType("IPython"), types.ModuleType("IPython.display")
    notebook.get_ipython = lambda: types.SimpleNamespace(kernel=object())
    display.display = lambda data, raw: shown.append(data["text/html"])
    monkeypatch.setitem(sys.modules, "IPython", notebook)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    report.show()
    assert len(opened) == 1 and shown[0].startswith('<iframe srcdoc="') and 'sandbox="allow-scripts"' in shown[0]
    assert shown[0].count('"') == 8  # no quote of the page ends the attribute


def test_without_a_page_it_says_what_to_do(chain, rows, tmp_path):
    report = vn.compare(chain, vn.reference(), vn.cpu(), data={"x": rows}, page=False)
    for look in (report.show, lambda: report.html(tmp_path / "page.html")):
        with pytest.raises(vn.Unsupported, match="page=True") as caught:
            look()
        assert caught.value.advice
