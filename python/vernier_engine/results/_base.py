"""All results share this: the JSON they come from, the text that the program prints, a table for notebooks."""

from __future__ import annotations

import html
import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


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


class File:
    """A file that the program wrote, for other verbs to take: anything that takes a path takes it, too. It goes with the last
    reference to it, unless it was written where the caller asked for."""

    def __init__(self, path: str | os.PathLike[str], keeps: Any = None) -> None:
        self.path = Path(path)
        self._keeps = keeps  # the temporary folder

    def save(self, path: str | os.PathLike[str]) -> None:
        """Copies it."""
        shutil.copyfile(self.path, path)

    def __fspath__(self) -> str:
        return str(self.path)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.path)!r})"
