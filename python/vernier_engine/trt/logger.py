"""Loggers: the severities of TensorRT, its own logger, and those of scripts."""

from __future__ import annotations

import sys
import time

from .enums import Numbered


class Severity(Numbered):
    """How bad a message is; the least number is the worst."""

    INTERNAL_ERROR = 0
    ERROR = 1
    WARNING = 2
    INFO = 3
    VERBOSE = 4


class ILogger:
    """Scripts derive loggers from this; `log` gets every message."""

    Severity = Severity
    INTERNAL_ERROR, ERROR, WARNING, INFO, VERBOSE = Severity

    def __init__(self) -> None:
        pass

    def log(self, severity: Severity, msg: str) -> None:
        """Scripts say what becomes of a message."""
        raise NotImplementedError(f"{type(self).__name__} has no method log(severity, msg)")


class Logger(ILogger):
    """Writes what is at least as bad as `min_severity` to the standard error."""

    def __init__(self, min_severity: Severity = Severity.WARNING) -> None:
        super().__init__()
        self.min_severity = Severity(min_severity)

    def log(self, severity: Severity, msg: str) -> None:
        """One line for each line of the message."""
        if severity > self.min_severity:
            return
        sign = "I" if severity == Severity.INTERNAL_ERROR else Severity(severity).name[0]
        for line in msg.splitlines():
            print(time.strftime("[%m/%d/%Y-%H:%M:%S]"), "[TRT]", f"[{sign}]", line, file=sys.stderr)
