"""The objects of this emulation share this: a name that it does not offer is refused with the reason, and never ignored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from ..errors import Unsupported
from .logger import ILogger, Severity


class NotOffered(Unsupported, AttributeError):
    """TensorRT has this, and Vernier does not. It is an AttributeError, too, because scripts ask by hasattr for what a version has."""


class Strict:
    """Neither reads nor takes attributes that its class does not have: Python alone would keep `config.fp16_mode = True` silently.
    `_refused` tells the reasons, by a name or by the beginning of names that ends in '*'. Subclasses of scripts may add theirs."""

    _refused: ClassVar[Mapping[str, str]] = {}

    def __getattr__(self, name: str) -> Any:
        raise self._refusal(name)

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("_") and not hasattr(type(self), name) and type(self).__module__.startswith(__package__ or ""):
            raise self._refusal(name)
        object.__setattr__(self, name, value)

    def _refusal(self, name: str) -> AttributeError:
        called = f"{type(self).__name__}.{name}"
        if name.startswith("_"):
            return AttributeError(called)
        reasons = [reason for known, reason in self._refused.items() if name == known or (known[-1] == "*" and name.startswith(known[:-1]))]
        return NotOffered(f"{called}: {reasons[0] if reasons else 'this emulation of TensorRT has no such name'}")

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        pass


class Reporting(Strict):
    """Has a logger, and says once of each name that it has no effect."""

    def __init__(self, logger: ILogger | None) -> None:
        self._logger, self._noted = logger, set[str]()

    def _log(self, severity: Severity, message: str) -> None:
        if self._logger is not None:
            self._logger.log(severity, message)

    def _note(self, name: str, reason: str) -> None:
        if name not in self._noted:
            self._noted.add(name)
            self._log(Severity.WARNING, f"{name} is accepted without effect: {reason}")


class Ignored:
    """An attribute of a Reporting that is kept, and has no effect."""

    def __init__(self, default: Any, reason: str) -> None:
        self._default, self._reason = default, reason

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, owner: Reporting | None, kind: type) -> Any:
        return self if owner is None else vars(owner).get(self._name, self._default)

    def __set__(self, owner: Reporting, value: Any) -> None:
        vars(owner)[self._name] = value
        owner._note(f"{type(owner).__name__}.{self._name}", self._reason)


class Only:
    """An attribute that takes one value alone, and refuses others with the reason."""

    def __init__(self, value: Any, reason: str) -> None:
        self._value, self._reason = value, reason

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, owner: Any, kind: type) -> Any:
        return self._value

    def __set__(self, owner: Any, value: Any) -> None:
        if value != self._value:
            raise NotOffered(f"{type(owner).__name__}.{self._name} = {value}: {self._reason}")
