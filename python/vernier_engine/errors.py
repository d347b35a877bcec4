"""Errors that the package raises. Every error of Vernier is a VernierError; its subclasses say what kind."""

from __future__ import annotations


class VernierError(Exception):
    """`code` is one of usage, bad_input, unsupported, internal, out_of_memory, cancelled, busy, not_ready; `file` and
    `node` are what it is about, `advice` what to do next, each None where there is nothing to tell."""

    code = "internal"

    def __init__(self, message: str, file: str = "", node: str = "", advice: str = "") -> None:
        super().__init__(message if not advice or advice in message else f"{message} ({advice})")
        self.file = file or None
        self.node = node or None
        self.advice = advice or None


class Usage(VernierError):
    """The interface is used in a way that it does not offer."""

    code = "usage"


class BadInput(VernierError):
    """A model, engine, plan or tensor is damaged or inconsistent."""

    code = "bad_input"


class Unsupported(VernierError):
    """It is valid, but this build or machine cannot do it."""

    code = "unsupported"


class OutOfMemory(VernierError):
    """There is no memory."""

    code = "out_of_memory"


class Cancelled(VernierError):
    """Session.cancel() ended the run."""

    code = "cancelled"


class Busy(VernierError):
    """The session has a run under way: wait for it, or use a session for each thread."""

    code = "busy"


class NotReady(VernierError):
    """Outputs are read before they are there."""

    code = "not_ready"


# By the numbers of the C interface, which are the exit statuses of the program, too.
_KINDS = {2: Usage, 3: BadInput, 4: Unsupported, 5: VernierError, 6: OutOfMemory, 7: Cancelled, 8: Busy, 9: NotReady}
_CODES = {kind.code: kind for kind in _KINDS.values()}


def error_of(code: int | str, message: str, file: str = "", node: str = "", advice: str = "") -> VernierError:
    """The exception for a code, by its number or its name."""
    kind = _KINDS.get(code) if isinstance(code, int) else _CODES.get(code)
    return (kind or VernierError)(message, file, node, advice)
