"""All results share this: the JSON they come from, the text that the program prints, a table for notebooks."""

from __future__ import annotations

import html
import json
import os
import webbrowser
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import Unsupported
from ..files import File


@dataclass(frozen=True, kw_only=True)
class Result:
    """Holds what a verb of the program found. `json` is all of it; print() shows what the program prints."""

    json: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)
    text: str = field(default="", repr=False, compare=False)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the JSON, which `load_report` reads."""
        Path(path).write_text(json.dumps(self.json, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")

    def __str__(self) -> str:
        return self.text or repr(self)

    def _title(self) -> str:
        return type(self).__name__

    def _rows(self) -> list[dict[str, Any]]:
        """Gives the rows of the table that `to_pandas` and notebooks show."""
        return []

    def to_pandas(self) -> Any:
        """The main table as a DataFrame of pandas."""
        import pandas

        return pandas.DataFrame(self._rows())

    def _repr_html_(self) -> str:
        return f"<p><b>{html.escape(self._title())}</b></p>{table_html(self._rows())}"


@dataclass(frozen=True, kw_only=True)
class PagedResult(Result):
    """A result that has a page: one file of HTML, with the network and all figures."""

    page: File | None = field(default=None, repr=False, compare=False)

    def html(self, path: str | os.PathLike[str]) -> None:
        """Writes the page, which any browser opens from disk."""
        self._page().save(path)

    def show(self) -> None:
        """Shows the page: below the cell in a notebook, else in the browser."""
        page = self._page()
        if not _show_in_notebook(page):
            webbrowser.open(page.path.resolve().as_uri())

    def _page(self) -> File:
        if self.page is None:
            raise Unsupported("this result has no page", advice="call the function with page=True, where Vernier was built with Node.js")
        return self.page


def _show_in_notebook(page: File) -> bool:
    """False where this is none. The page may run its script in the frame, and reaches nothing around it."""
    try:
        from IPython import get_ipython
        from IPython.display import display
    except ImportError:
        return False
    shell = get_ipython()
    if shell is None or not hasattr(shell, "kernel"):
        return False
    text = html.escape(page.path.read_text(encoding="utf-8"))
    frame = f'<iframe srcdoc="{text}" sandbox="allow-scripts" style="width:100%;height:40em;border:0" title="the page of this result"></iframe>'
    display({"text/html": frame, "text/plain": "the page of this result"}, raw=True)
    return True


def table_html(rows: Sequence[dict[str, Any]], most: int = 50) -> str:
    """A table; what names hold stays text."""
    if not rows:
        return ""
    head = "".join(f"<th>{html.escape(name)}</th>" for name in rows[0])
    body = "".join(f"<tr>{''.join(f'<td>{html.escape(_cell(each))}</td>' for each in row.values())}</tr>" for row in rows[:most])
    more = f"<p>… and {len(rows) - most} more</p>" if len(rows) > most else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value))
    return "" if value is None else str(value)
