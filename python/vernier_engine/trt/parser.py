"""OnnxParser: what `vernier inspect` and `vernier check` find in a model."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from .. import verbs
from ..errors import BadInput, VernierError
from ._strict import Ignored, Reporting, Strict
from .enums import ErrorCode, OnnxParserFlag
from .logger import ILogger, Severity
from .network import INetworkDefinition, own_layers

_UNKNOWN = "S11-unknown-operator"


class ParserError(Strict):
    """Says what is wrong with a model, and at which node."""

    def __init__(self, code: ErrorCode, text: str, node: int = -1, name: str = "", operator: str = "", file: str = "") -> None:
        self._told = (code, text, node, name, operator, file)

    def code(self) -> ErrorCode:
        """Says what kind of error it is."""
        return self._told[0]

    def desc(self) -> str:
        """A sentence."""
        return self._told[1]

    def node(self) -> int:
        """The number of the node in the graph, -1 where it is of the whole model."""
        return self._told[2]

    def node_name(self) -> str:
        """Its name."""
        return self._told[3]

    def node_operator(self) -> str:
        """Its operator."""
        return self._told[4]

    def file(self) -> str:
        """The model. TensorRT names a source of its parser here."""
        return self._told[5]

    def line(self) -> int:
        """Models have no lines."""
        return 0

    def func(self) -> str:
        """Models have no such functions."""
        return ""

    def __str__(self) -> str:
        where = f"node {self.node()} ({self.node_name()}, {self.node_operator()}): " if self.node() >= 0 else ""
        return f"{where}{self.code()}: {self.desc()}"


class Parsing(Reporting):
    """Keeps the errors of models, and tells the logger."""

    def __init__(self, logger: ILogger | None) -> None:
        super().__init__(logger)
        self._errors: list[ParserError] = []

    def _add(self, errors: list[ParserError]) -> bool:
        """True if there are none."""
        self._errors += errors
        for each in errors:
            self._log(Severity.ERROR, str(each))
        return not errors

    @property
    def num_errors(self) -> int:
        """Counts the errors of all calls since they were cleared."""
        return len(self._errors)

    def get_error(self, index: int) -> ParserError:
        """In the order in which they were found."""
        return self._errors[index]

    def clear_errors(self) -> None:
        """Forgets them."""
        self._errors.clear()


def errors_of(file: Path) -> list[ParserError]:
    """Says what keeps a model from being built."""
    try:
        findings = verbs.check(file).json["findings"]
        wrong = [each for each in findings if each["rule"] == _UNKNOWN or (each["severity"], each["class"][0]) == ("error", "S")]
        layers = own_layers(verbs.inspect(file, show="layers").json) if wrong else []
    except VernierError as error:
        kind = ErrorCode.MODEL_DESERIALIZE_FAILED if isinstance(error, BadInput) else ErrorCode.UNSUPPORTED_GRAPH
        return [ParserError(kind, str(error), name=error.node or "", file=str(file))]
    places = {each["name"]: (number, each["name"], each["op"]) for number, each in enumerate(layers)}
    return [
        ParserError(ErrorCode.UNSUPPORTED_NODE if each["rule"] == _UNKNOWN else ErrorCode.INVALID_NODE,
                    f"{each['message']} ({each['remedy']})", *places.get(each["node"], (-1, each["node"], "")), str(file))
        for each in wrong
    ]  # fmt: skip


class OnnxParser(Parsing):
    """Reads a model into a network. Where it fails, the errors say why, and the logger has them, too."""

    _refused = {
        "parse_with_weight_descriptors": "give the file of the model to parse_from_file, which reads weights beside it",
        "load_initializer": "weights are those of the model",
    }
    flags = Ignored(0, "operators are computed as ONNX says")

    def __init__(self, network: INetworkDefinition, logger: ILogger) -> None:
        super().__init__(logger)
        self._network = network

    def set_flag(self, flag: OnnxParserFlag) -> None:
        """Changes nothing."""
        self.flags |= 1 << flag

    def clear_flag(self, flag: OnnxParserFlag) -> None:
        """Changes nothing."""
        self.flags &= ~(1 << flag)

    def get_flag(self, flag: OnnxParserFlag) -> bool:
        """As it was set."""
        return bool(self.flags >> flag & 1)

    def parse(self, model: Any, path: str | None = None) -> bool:
        """Reads the bytes of a model. Weights beside it are found by the `path` of the file that they come from."""
        return self._parse(*located(model, path))

    def parse_from_file(self, model: str | os.PathLike[str]) -> bool:
        """Reads a file."""
        return self._parse(Path(model), None)

    def _parse(self, file: Path, folder: TemporaryDirectory | None) -> bool:
        if self._network._model is not None:
            return self._add([ParserError(ErrorCode.INVALID_GRAPH, "the network holds a model already", file=str(file))])
        read = self._add(errors_of(file))
        if read:
            self._network._read(file, folder)
        return read

    def supports_model(self, model: Any, path: str | None = None) -> tuple[bool, list[tuple[list[int], bool]]]:
        """Whether a model can be built, and a list with all of its nodes as one subgraph, and whether that is supported. Errors
        are kept, and nothing is read into the network."""
        file, folder = located(model, path)
        errors = errors_of(file)
        self._add(errors)
        unreadable = any(each.code() == ErrorCode.MODEL_DESERIALIZE_FAILED for each in errors)
        nodes = [] if unreadable else own_layers(verbs.inspect(file, show="layers").json)
        del folder
        return not errors, [(list(range(len(nodes))), not errors)]

    def get_used_vc_plugin_libraries(self) -> list[str]:
        """There are none."""
        return []


def located(model: Any, path: str | None) -> tuple[Path, TemporaryDirectory | None]:
    """The file that the bytes of a model come from, or a temporary one in a folder that goes with the second result."""
    if path is not None and os.path.exists(path):
        return Path(path), None
    folder = TemporaryDirectory(prefix="vernier-model-")
    file = Path(folder.name) / "model.onnx"
    file.write_bytes(bytes(model))
    return file, folder
