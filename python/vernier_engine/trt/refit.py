"""Refitter: new weights for an engine, of an ONNX model, by `build --refit`, with a verdict of its own."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ..engine import build
from ..errors import VernierError
from ._strict import Ignored, Reporting
from .logger import ILogger, Severity
from .parser import Parsing, errors_of, located
from .runtime import ICudaEngine

_FROM_MODELS = "weights come from an ONNX model, by OnnxParserRefitter"


class Refitter(Reporting):
    """Changes the weights of an engine; its contexts run with the new ones from then on."""

    _refused = {"set_*": _FROM_MODELS, "get_named_weights": _FROM_MODELS, "get_all*": _FROM_MODELS, "get_weights*": _FROM_MODELS}
    error_recorder, max_threads = Ignored(None, "errors go to the logger"), Ignored(1, "a build takes all cores")
    weights_validation = Ignored(True, "an engine that is refitted gets a verdict")

    def __init__(self, engine: ICudaEngine, logger: ILogger) -> None:
        super().__init__(logger)
        self._engine = engine
        self._model: Path | None = None
        self._keeps: Any = None

    @property
    def logger(self) -> ILogger | None:
        """The one that it was made with."""
        return self._logger

    def get_missing_weights(self) -> list[str]:
        """None as soon as a model was read."""
        return [] if self._model is not None else [f"those of {self._engine.name}"]

    def refit_cuda_engine(self) -> bool:
        """False, with an error in the log, where the model does not fit or the verdict is no pass; the engine is as it was then."""
        if self._model is None:
            self._log(Severity.ERROR, f"nothing to refit with: {_FROM_MODELS}")
            return False
        try:
            made = build(self._model, refit=self._engine._path)
            path = Path(os.fspath(made))
        except VernierError as error:
            self._log(Severity.ERROR, f"not refitted: {error}")
            return False
        self._log(Severity.INFO, f"accuracy verdict: {made.verdict}")
        self._engine._load(path, made, made)
        return True

    def refit_cuda_engine_async(self, stream: int) -> bool:
        """As refit_cuda_engine."""
        del stream
        return self.refit_cuda_engine()


class OnnxParserRefitter(Parsing):
    """Reads the model with the new weights."""

    def __init__(self, refitter: Refitter, logger: ILogger) -> None:
        super().__init__(logger)
        self._refitter = refitter

    def refit_from_file(self, model: str | os.PathLike[str]) -> bool:
        """Refits the engine by a file."""
        return self._take(Path(model), None)

    def refit_from_bytes(self, model: Any, path: str | None = None) -> bool:
        """Refits the engine by the bytes of a model, or by those of the file that they come from."""
        return self._take(*located(model, path))

    def _take(self, file: Path, keeps: Any) -> bool:
        if self._add(errors_of(file)):
            self._refitter._model, self._refitter._keeps = file, keeps
            return True
        return False
