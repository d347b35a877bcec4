"""Runners as values: what `compare`, `diagnose`, `check` and `bench` run a model with.

Each runs in a process of its own, but for functions and modules of this process, which a small process forwards to.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from ._program import PYTHON, RUNNER_SCRIPTS, option_words
from .errors import Usage


@dataclass(frozen=True)
class Runner:
    """One of the program's runners, with its options: reference(), cpu(bf16=True), …"""

    kind: str
    argument: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """As reports name it; a second one of the name is "cpu #2"."""
        return self.argument.partition("=")[0] if self.kind == "runner" else self.kind

    def words(self, stack: ExitStack) -> list[str]:
        """As words of the command line; `stack` ends what has to be there meanwhile."""
        del stack
        option = f"--{self.kind}"
        takes_word = self.kind in ("runner", "engine", "load-run")
        words = [option, self.argument] if takes_word else [f"{option}={self.argument}" if self.argument else option]
        return words + option_words(self.options)

    def command(self, stack: ExitStack) -> tuple[str, Mapping[str, Any]]:
        """As `bench` takes them: onnxruntime or NAME=COMMAND, and the options that the protocol carries."""
        if self.kind == "onnxruntime" and not {"optimization", "runner_option"} & self.options.keys():
            return f"onnxruntime={self.argument}" if self.argument else "onnxruntime", {}
        if self.kind == "onnxruntime":
            how = self.options.get("optimization", "all")
            carried = {"provider": self.argument or "cpu", "optimisation": how, **self.options.get("runner_option", {})}
            return f"onnxruntime:{how}={_python_command(None, 'onnxruntime_runner.py')}", carried
        if self.kind == "tensorrt":
            options = {name: "1" if value is True else value for name, value in self.options.items() if value}
            return f"tensorrt={_python_command(self.argument or None, 'tensorrt_runner.py')}", options
        if self.kind == "runner":
            return self.argument, self.options.get("runner_option") or {}
        raise Usage(f"'{self.kind}' cannot be timed in turn with an engine: give onnxruntime, openvino, tensorrt or command")


def _python_command(python: str | None, script: str) -> str:
    return f"exec {shlex.quote(python or PYTHON)} {shlex.quote(str(RUNNER_SCRIPTS / script))}"


def _precision(options: Mapping[str, Any]) -> dict[str, Any]:
    """precision="bf16" is bf16=True; "f32" is none."""
    rest = dict(options)
    precision = rest.pop("precision", None)
    if precision not in (None, "f32", "fp32"):
        rest[{"f16": "fp16"}.get(precision, precision)] = True
    return rest


def reference(rounding: str = "declared") -> Runner:
    """The reference, in double; it rounds as the model declares, never ("ideal"), or as the engine beside it ("planned")."""
    return Runner("reference", "" if rounding == "declared" else rounding)


def cpu(**options: Any) -> Runner:
    """The CPU engine, with options of an engine: bf16, fp16, int8, plan, calibration, layer_precisions, keep_fp32, …"""
    return Runner("cpu", "", _precision(options))


def cuda(gpu: int | None = None, **options: Any) -> Runner:
    """An engine on a GPU of NVIDIA, with options of an engine; tf32: its products of floats may round their factors to TF32."""
    return Runner("cuda", "" if gpu is None else str(gpu), _precision(options))


def engine(path: str | os.PathLike[str], **options: Any) -> Runner:
    """An engine file, or what `build` gave."""
    return Runner("engine", os.fspath(path), options)


def onnxruntime(provider: str = "cpu", optimization: str | None = None, timeout: float | None = None,
                session: Mapping[str, str] | None = None) -> Runner:  # fmt: skip
    """ONNX Runtime; optimization is disable, basic, extended or all, session has entries of its configuration, session.x64quantprecision for example."""
    options = {"optimization": optimization, "timeout": timeout, "runner_option": session}
    return Runner("onnxruntime", "" if provider == "cpu" else provider, {k: v for k, v in options.items() if v is not None})


def tensorrt(python: str | None = None, **options: Any) -> Runner:
    """TensorRT, by the package that an interpreter (default: this one) has; options are those of its builder."""
    return Runner("tensorrt", python or "", _precision(options))


def openvino(python: str | None = None, device: str = "CPU", precision: str = "f32", timeout: float | None = None) -> Runner:
    """OpenVINO, by the package that an interpreter (default: this one) has; precision is its hint, f32, f16, bf16 or dynamic."""
    how = {"device": device, "precision": precision}
    return command("openvino", _python_command(python, "openvino_runner.py"), timeout=timeout, **how)


def command(name: str, command: str, timeout: float | None = None, **options: Any) -> Runner:
    """Any program that speaks docs/runner-protocol.md, also over ssh; options go to it."""
    given: dict[str, Any] = {"runner_option": options} if options else {}
    if timeout is not None:
        given["timeout"] = timeout
    return Runner("runner", f"{name}={command}", given)


def load_run(path: str | os.PathLike[str]) -> Runner:
    """A run that was recorded."""
    return Runner("load-run", os.fspath(path))


@dataclass(frozen=True)
class CallableRunner:
    """A function of this process. It is given arrays by name, and gives arrays by name, or in the order of the model's outputs."""

    name: str
    function: Callable[..., Any]

    def words(self, stack: ExitStack) -> list[str]:
        name, forwarder = self.command(stack)[0].split("=", 1)
        return ["--runner", f"{name}={forwarder}"]

    def command(self, stack: ExitStack) -> tuple[str, Mapping[str, Any]]:
        from ._bridge import Bridge

        bridge = stack.enter_context(Bridge(self.name, self.function))
        return f"{self.name}={_python_command(None, 'bridge.py')} {shlex.quote(bridge.address)}", {}


def callable(function: Callable[[dict[str, Any]], Any], name: str | None = None) -> CallableRunner:
    """A function of this process as a runner; a function may also stand for it where runners are taken."""
    return CallableRunner(name or getattr(function, "__name__", type(function).__name__).strip("<>"), function)


def torch(module: Any, inputs: Sequence[str] | None = None, outputs: Sequence[str] | None = None, name: str = "torch") -> CallableRunner:
    """A module of torch in this process, called without gradients with the inputs of these names in their order (default: the
    model's). Its outputs are those of the model in their order, or of these names. Its mode (train, eval) is left as it is."""
    from ._torch import ModuleFunction

    return CallableRunner(name, ModuleFunction(module, inputs, outputs))


AnyRunner = Runner | CallableRunner | os.PathLike[str] | Callable[[dict[str, Any]], Any]


def as_runner(value: AnyRunner) -> Runner | CallableRunner:
    """A runner; an engine that `build` gave, or the path of an engine file, or a function, as one."""
    if isinstance(value, (Runner, CallableRunner)):
        return value
    if isinstance(value, os.PathLike):
        return engine(value)
    if hasattr(value, "forward") and hasattr(value, "parameters"):
        return torch(value)
    if hasattr(value, "__call__"):
        return callable(value)
    raise Usage(f"{value!r} is no runner", advice="give vernier_engine.reference(), cpu(), onnxruntime(), …, or a function")
