"""The notebooks of examples/ run, cell by cell, and show their pages."""
import pathlib
import shutil

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"
NOTEBOOKS = sorted((EXAMPLES / "notebooks").glob("*.ipynb"))


@pytest.fixture
def folder(tmp_path):
    """A copy of the examples, so that none of what a notebook writes stays."""
    shutil.copytree(EXAMPLES, tmp_path / "examples")
    return tmp_path / "examples/notebooks"


def run(notebook, folder):
    NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(folder)}}).execute()
    return [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs(path, folder):
    notebook = nbformat.read(path, as_version=4)
    assert len(notebook.cells) <= 20
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in notebook.cells), "it is kept without what it printed"
    outputs = run(notebook, folder)
    html = [output.data["text/html"] for output in outputs if output.output_type in ("display_data", "execute_result") and "text/html" in output.data]
    [page] = [text for text in html if text.startswith("<iframe")]
    assert 'sandbox="allow-scripts"' in page and "vernier diagnose" not in page.split("srcdoc")[0] and len(page) > 50_000
    assert any(text.startswith("<p><b>") for text in html)  # tables of results
    assert not [output for output in outputs if output.output_type == "stream" and "Warning" in output.text]
    assert (folder / "diagnosis.html").read_text().startswith("<!")


def test_a_cell_that_fails_is_seen(folder):
    with pytest.raises(CellExecutionError, match="ZeroDivisionError"):
        run(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1 / 0")]), folder)


def test_there_are_notebooks():
    assert NOTEBOOKS
