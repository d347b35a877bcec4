"""Files of tables: a head, and sections that a run replaces one by one."""
import pathlib
import re

from .paths import ROOT


def table(columns: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    return "\n".join(lines + ["| " + " | ".join([*row, *[""] * (len(columns) - len(row))]) + " |" for row in rows])


def read_sections(path: pathlib.Path) -> dict[str, str]:
    """The sections that are there: a run replaces those that it makes."""
    if not path.exists():
        return {}
    parts = re.split(r"^## (.+)\n", path.read_text(), flags=re.MULTILINE)[1:]
    return {name: text.strip() for name, text in zip(parts[::2], parts[1::2])}


def write_sections(path: pathlib.Path, head: str, sections: dict[str, str], order: list[str] | None = None) -> None:
    """Sections that `order` names come first, as it has them; others are kept behind them."""
    first = [name for name in order or [] if name in sections]
    names = first + [name for name in sections if name not in first]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(head + "".join(f"\n## {name}\n\n{sections[name]}\n" for name in names))
    print(f"wrote {path.relative_to(ROOT) if path.is_relative_to(ROOT) else path}")


def reason(error: Exception) -> str:
    """Writes what a table says of a row that failed: it names this repository's files, not of where it lies."""
    return f"failed: {error}".replace(f"{ROOT}/", "").replace("\n", " ").replace("|", "/")[:200]
