"""Files that the program wrote, as objects that anything takes where a path is."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any


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
