"""Builder: a network and a configuration become options of `build`, whose verdict goes to the logger."""

from __future__ import annotations

import json
import os
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ..engine import Engine, build
from ..errors import Unsupported, Usage, VernierError
from ._strict import Ignored, Only, Reporting
from .calibration import scales_of
from .config import IBuilderConfig
from .context import NO_DEVICE_MEMORY
from .enums import BuilderFlag, NetworkDefinitionCreationFlag
from .logger import ILogger, Severity
from .network import INetworkDefinition
from .plugins import IPluginRegistry
from .precisions import layer_options
from .profile import IOptimizationProfile
from .runtime import ICudaEngine, IHostMemory

_TYPE_FLAGS = (BuilderFlag.FP16, BuilderFlag.BF16, BuilderFlag.INT8)
_PLAIN = (("fp16", BuilderFlag.FP16), ("bf16", BuilderFlag.BF16), ("strip_weights", BuilderFlag.STRIP_PLAN))
_MOST_LISTED = 20


class Builder(Reporting):
    """Builds engines. Where none can be given, the log has the reason as an error, and the result is None."""

    _refused = {
        "fp16_mode": "set BuilderFlag.FP16 of the configuration", "int8_mode": "set BuilderFlag.INT8 of the configuration",
        "int8_calibrator": "set it of the configuration", "max_workspace_size": "set it of the configuration",
        "strict_type_constraints": "set BuilderFlag.STRICT_TYPES of the configuration",
        "build_cuda_engine": "TensorRT 8 has it no more: use build_serialized_network(network, config)",
        "build_engine_with_config": "use build_serialized_network(network, config)",
    }  # fmt: skip
    max_batch_size = Ignored(1, "batches are sizes of inputs: set a profile")
    max_threads = Ignored(1, "give vernier_options = {'threads': 4} of the configuration")
    gpu_allocator = Only(None, NO_DEVICE_MEMORY)
    error_recorder = Ignored(None, "errors go to the logger")
    # Scripts ask whether a flag will be taken. What a type saves on this machine is in docs/precision.md.
    platform_has_fast_fp16, platform_has_fast_int8, platform_has_tf32 = True, True, False
    num_DLA_cores, max_DLA_batch_size = 0, 0

    def __init__(self, logger: ILogger) -> None:
        if not isinstance(logger, ILogger):
            raise TypeError(f"a Builder is made with an ILogger, not with a {type(logger).__name__}")
        super().__init__(logger)

    @property
    def logger(self) -> ILogger | None:
        """The one that it was made with."""
        return self._logger

    def create_network(self, flags: int = 0) -> INetworkDefinition:
        """Batches are always explicit."""
        unknown = int(flags) >> len(NetworkDefinitionCreationFlag)
        if unknown:
            raise Usage(f"create_network({flags}): there are {', '.join(map(str, NetworkDefinitionCreationFlag))}")
        return INetworkDefinition(self._logger, int(flags))  # type: ignore[arg-type]

    def create_builder_config(self) -> IBuilderConfig:
        """As TensorRT has it from the start."""
        return IBuilderConfig(self._logger)

    def create_optimization_profile(self) -> IOptimizationProfile:
        """Without sizes."""
        return IOptimizationProfile(self._logger)

    def get_plugin_registry(self) -> IPluginRegistry:
        """Empty."""
        return IPluginRegistry()

    def reset(self) -> None:
        """A builder keeps nothing."""

    def is_network_supported(self, network: INetworkDefinition, config: IBuilderConfig) -> bool:
        """True if a model was read and its types agree with the flags; only a build tells more."""
        return network._model is not None and not self._conflict(network, config)

    def build_serialized_network(self, network: INetworkDefinition, config: IBuilderConfig) -> IHostMemory | None:
        """The engine file as bytes, with the verdict in `vernier`."""
        try:
            engine = self._built(network, config)
        except VernierError as error:
            if isinstance(error, AttributeError):
                raise  # what is refused is no failure of a build
            self._log(Severity.ERROR, f"no engine: {error}")
            return None
        if engine is None:
            return None
        made = IHostMemory(Path(engine).read_bytes())
        made.vernier = engine
        return made

    def build_engine(self, network: INetworkDefinition, config: IBuilderConfig) -> ICudaEngine | None:
        """The engine, loaded."""
        made = self.build_serialized_network(network, config)
        return None if made is None else ICudaEngine(Path(os.fspath(made.vernier)), self._logger, made.vernier, made)  # type: ignore[arg-type]

    def _conflict(self, network: INetworkDefinition, config: IBuilderConfig) -> str:
        """Says what is wrong with the flags."""
        typed = [str(flag) for flag in _TYPE_FLAGS if config.get_flag(flag)]
        if network.flags >> NetworkDefinitionCreationFlag.STRONGLY_TYPED & 1 and typed:
            return f"a strongly typed network has the types of its model, and {', '.join(typed)} asks for others"
        if config.get_flag(BuilderFlag.FP16) and config.get_flag(BuilderFlag.BF16):
            return "BuilderFlag.FP16 and BuilderFlag.BF16: an engine is lowered to one of the two; clear one of the flags"
        return ""

    def _built(self, network: INetworkDefinition, config: IBuilderConfig) -> Engine | None:
        conflict = self._conflict(network, config)
        if conflict:
            raise Usage(conflict)
        with ExitStack() as stack:
            folder = stack.enter_context(TemporaryDirectory(prefix="vernier-network-"))
            model = network._model_to_build(folder)
            cache = Path(folder) / "timings.json"
            if config._timing_cache is not None and config._timing_cache._content:
                cache.write_bytes(config._timing_cache._content)
            options = self._options(network, config, model, folder)
            if not config.get_flag(BuilderFlag.DISABLE_TIMING_CACHE):
                options["timing_cache"] = cache
            engine = self._judged(model, {**options, **config.vernier_options}, config.vernier_keep_failed)
            if config._timing_cache is not None and cache.exists():
                config._timing_cache._content = cache.read_bytes()
        return engine

    def _options(self, network: INetworkDefinition, config: IBuilderConfig, model: Path, folder: str) -> dict[str, Any]:
        """For vernier_engine.build."""
        options: dict[str, Any] = {"opt_level": int(config.builder_optimization_level)}
        if config._profiles:
            for index, name in enumerate(("min_shapes", "opt_shapes", "max_shapes")):
                options[name] = [{key: dims[index] for key, dims in profile._shapes.items()} for profile in config._profiles]
        if config.max_workspace_size:
            options["workspace"] = f"{int(config.max_workspace_size)}B"
        options |= {name: True for name, flag in _PLAIN if config.get_flag(flag)}
        if config.get_flag(BuilderFlag.INT8):
            options |= self._int8(network, config, model, folder)
        obey = config.get_flag(BuilderFlag.OBEY_PRECISION_CONSTRAINTS)
        layers, notes = layer_options(network, obey)
        for note in notes:
            self._log(Severity.WARNING, note)
        options |= layers
        if layers or any(options.get(name) for name in ("fp16", "bf16", "int8")):
            # Without a flag TensorRT falls back without a word; to say so is the least.
            options["precision_constraints"] = "obey" if obey else "prefer"
        return options

    def _int8(self, network: INetworkDefinition, config: IBuilderConfig, model: Path, folder: str) -> dict[str, Any]:
        """Ranges of a calibrator, or those that the script knows itself."""
        ranges = network._ranges()
        if config._calibrator is not None:
            profile = config._calibration_profile or (config._profiles[0] if config._profiles else None)
            path, sentence = scales_of(config._calibrator, network, profile, model, folder)
            self._log(Severity.INFO, sentence)
        elif ranges:
            path = str(Path(folder) / "ranges.json")
            Path(path).write_text(json.dumps({"tensors": ranges}))
        elif "calibration" in config.vernier_options or "plan" in config.vernier_options:
            return {"int8": True}
        else:
            self._log(Severity.WARNING, "BuilderFlag.INT8 without calibrator or ranges: int8 is only where the model declares it")
            return {}
        return {"int8": True, "calibration": path}

    def _judged(self, model: Path, options: dict[str, Any], keep_failed: bool) -> Engine | None:
        """Builds, tells the verdict, and gives the engine that it allows."""
        engine = self._within_workspace(model, options)
        self._tell_audit(engine)
        accuracy = engine.report.accuracy
        reasons = f": {'; '.join(accuracy.reasons)}" if accuracy and accuracy.reasons else ""
        sentence = f"accuracy verdict: {engine.verdict}{reasons}"
        if engine:
            errors = ", ".join(f"{each.name} {each.planned:.2g}" for each in accuracy.relative_l2) if accuracy else ""
            self._log(Severity.INFO, sentence + (f"; relative L2 against what it promises: {errors}" if errors else ""))
            return engine
        failed = engine.verdict == "fail" or accuracy is None
        if failed and not keep_failed:
            self._log(Severity.ERROR, f"{sentence}; no engine is given: it does not compute what was asked for (vernier_keep_failed gives it)")
            return None
        self._log(Severity.ERROR if failed else Severity.WARNING, f"{sentence}; the engine is given all the same")
        # An engine without a pass is not written, so it is built again without a verdict, by the timings of the first build.
        again = build(model, **{**options, "verify": False})
        again.report = engine.report
        return again

    def _within_workspace(self, model: Path, options: dict[str, Any]) -> Engine:
        """TensorRT's limit is for scratch memory alone, and Vernier's for values between layers, too: where these do not fit, it
        is left out, and said."""
        try:
            return build(model, **options)
        except Unsupported as error:
            if "workspace" not in options or "--workspace" not in str(error):
                raise
            self._log(Severity.WARNING, f"the limit of the workspace is left out: {error}")
            return build(model, **{name: value for name, value in options.items() if name != "workspace"})

    def _tell_audit(self, engine: Engine) -> None:
        audit = engine.audit
        wrong = [each for each in audit.nodes if each.difference]
        severity = Severity.WARNING if wrong else Severity.INFO
        self._log(severity, f"precision audit: {len(wrong)} of {len(audit.nodes)} nodes differ from what was asked for")
        for each in wrong[:_MOST_LISTED]:
            types = f"computes in {each.executed.compute} instead of {each.requested.compute}"
            self._log(severity, f"precision audit: {each.node}: {each.difference}, {types}")
        for note in engine.report.notes:
            self._log(Severity.INFO, note)
        self._log(Severity.VERBOSE, str(engine.report))
