"""BuilderConfig: what of it the options of `build` know has an effect; the rest is accepted with a warning, or refused."""

from __future__ import annotations

from typing import Any

from ._strict import Ignored, NotOffered, Only, Reporting, Strict
from .calibration import IInt8Calibrator
from .enums import (
    BuilderFlag, DeviceType, EngineCapability, HardwareCompatibilityLevel, MemoryPoolType, PreviewFeature, ProfilingVerbosity,
    QuantizationFlag,
)  # fmt: skip
from .logger import ILogger, Severity
from .layers import ILayer
from .profile import IOptimizationProfile
from .runtime import IHostMemory

_STEERS = "it steers how TensorRT tries its kernels"
_PORTABLE = "engine files of Vernier load with the processor and version that they name, and say so otherwise"
_NO_DLA = "there is no DLA"
_EFFECTIVE = {
    BuilderFlag.FP16, BuilderFlag.BF16, BuilderFlag.INT8, BuilderFlag.REFIT, BuilderFlag.STRIP_PLAN, BuilderFlag.STRICT_TYPES,
    BuilderFlag.OBEY_PRECISION_CONSTRAINTS, BuilderFlag.PREFER_PRECISION_CONSTRAINTS, BuilderFlag.DISABLE_TIMING_CACHE,
}  # fmt: skip
_REFUSED_FLAGS = {
    BuilderFlag.FP8: "engines compute in FP8 only where the model declares it, by QuantizeLinear",
    BuilderFlag.INT4: "engines have int4 weights only where a calibration says so: vernier_options = {'int4': True, 'calibration': FILE}",
    BuilderFlag.FP4: "no kernel computes in FP4",
    BuilderFlag.SAFETY_SCOPE: "there is no safety runtime",
    BuilderFlag.ERROR_ON_TIMING_CACHE_MISS: "a build times what its cache does not hold",
    BuilderFlag.REFIT_INDIVIDUAL: "weights come from an ONNX model, by OnnxParserRefitter, all together",
}
_IGNORED_FLAGS = {
    BuilderFlag.TF32: "the CPU engine never rounds to TF32",
    BuilderFlag.GPU_FALLBACK: _NO_DLA,
    BuilderFlag.REFIT_IDENTICAL: "every engine can be refitted, with other weights, too",
    BuilderFlag.DIRECT_IO: "inputs and outputs have the types and the layout of the model",
    BuilderFlag.SPARSE_WEIGHTS: "no kernel uses sparse weights",
    BuilderFlag.VERSION_COMPATIBLE: _PORTABLE,
    BuilderFlag.EXCLUDE_LEAN_RUNTIME: _PORTABLE,
    BuilderFlag.WEIGHT_STREAMING: "memory of the CPU needs no such choice",
    BuilderFlag.STRICT_NANS: "kernels pass NaN on",
    BuilderFlag.DISABLE_COMPILATION_CACHE: "nothing is compiled",
}


class ITimingCache(Strict):
    """Keeps what tactics took; the bytes of a cache of Vernier."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def serialize(self) -> IHostMemory:
        """For a file."""
        return IHostMemory(self._content)

    def combine(self, input_cache: ITimingCache, ignore_mismatch: bool) -> bool:
        """Takes over another cache where this one is empty; two that hold something are refused."""
        del ignore_mismatch
        if self._content and input_cache._content:
            raise NotOffered("ITimingCache.combine: two caches are not merged: build with one, which a build reads and adds to")
        self._content = self._content or input_cache._content
        return True

    def reset(self) -> bool:
        """Forgets everything."""
        self._content = b""
        return True


class IBuilderConfig(Reporting):
    """Two attributes are of Vernier: `vernier_options`, more options of vernier_engine.build by name, for example `data` for the
    verdict; and `vernier_keep_failed`, which gives an engine also where its verdict is fail."""

    _refused = {
        "DLA*": _NO_DLA,
        "algorithm_selector": "tactics are chosen by vernier_options: {'tactics': '-winograd'}",
        "progress_monitor": "give vernier_options = {'progress': function}",
    }
    vernier_options: Any = {}
    vernier_keep_failed = False
    builder_optimization_level = 3
    max_workspace_size: Any = 0
    avg_timing_iterations, min_timing_iterations = Ignored(1, _STEERS), Ignored(1, _STEERS)
    max_aux_streams, max_num_tactics = Ignored(0, "the CPU engine has no streams"), Ignored(-1, _STEERS)
    tiling_optimization_level, l2_limit_for_tiling = Ignored(0, _STEERS), Ignored(0, _STEERS)
    profile_stream = Ignored(0, "the CPU engine has no streams")
    profiling_verbosity = Ignored(ProfilingVerbosity.LAYER_NAMES_ONLY, "an EngineInspector tells all that an engine file holds")
    hardware_compatibility_level = Ignored(HardwareCompatibilityLevel.NONE, _PORTABLE)
    runtime_platform = Ignored(0, _PORTABLE)
    plugins_to_serialize = Only([], "plugins of TensorRT are compiled for its interface and for CUDA")
    default_device_type, DLA_core = Only(DeviceType.GPU, _NO_DLA), Only(-1, _NO_DLA)
    engine_capability = Only(EngineCapability.STANDARD, "there are no safety runtime and no DLA")

    def __init__(self, logger: ILogger | None = None) -> None:
        super().__init__(logger)
        self.reset()

    def reset(self) -> None:
        """As it was made."""
        self.vernier_options, self.vernier_keep_failed = {}, False
        self.builder_optimization_level, self.max_workspace_size = 3, 0
        self._flags = 1 << BuilderFlag.TF32
        self._profiles: list[IOptimizationProfile] = []
        self._calibration_profile: IOptimizationProfile | None = None
        self._calibrator: IInt8Calibrator | None = None
        self._timing_cache: ITimingCache | None = None
        self._tactic_sources, self._preview = 0, set[Any]()

    @property
    def flags(self) -> int:
        """A bit for each flag."""
        return self._flags

    @flags.setter
    def flags(self, flags: int) -> None:
        for flag in BuilderFlag:
            if (flags ^ self._flags) >> flag & 1:
                (self.set_flag if flags >> flag & 1 else self.clear_flag)(flag)

    def set_flag(self, flag: Any) -> None:
        """Refuses what Vernier does not do, and says of what changes nothing."""
        flag = BuilderFlag(flag)
        if flag in _REFUSED_FLAGS:
            raise NotOffered(f"{flag}: {_REFUSED_FLAGS[flag]}")
        if flag not in _EFFECTIVE:
            self._note(str(flag), _IGNORED_FLAGS.get(flag, _STEERS))
        self._flags |= 1 << flag

    def clear_flag(self, flag: Any) -> None:
        """Flags that are set no longer count."""
        self._flags &= ~(1 << BuilderFlag(flag))

    def get_flag(self, flag: Any) -> bool:
        """True if it is set."""
        return bool(self._flags >> BuilderFlag(flag) & 1)

    def set_memory_pool_limit(self, pool: Any, pool_size: int) -> None:
        """The workspace, in bytes; there are no other pools."""
        pool = MemoryPoolType(pool)
        if pool.name.startswith("DLA"):
            raise NotOffered(f"{pool}: {_NO_DLA}")
        if pool == MemoryPoolType.WORKSPACE:
            self.max_workspace_size = int(pool_size)
        else:
            self._note(str(pool), "the CPU engine has no such memory")

    def get_memory_pool_limit(self, pool: Any) -> int:
        """Bytes; 0 where there is no limit or no such pool."""
        return self.max_workspace_size if pool == MemoryPoolType.WORKSPACE else 0

    def set_tactic_sources(self, tactic_sources: int) -> bool:
        """Changes nothing."""
        self._note("set_tactic_sources", "it names libraries of CUDA")
        self._tactic_sources = tactic_sources
        return True

    def get_tactic_sources(self) -> int:
        """As they were set."""
        return self._tactic_sources

    def set_preview_feature(self, feature: Any, enable: bool) -> None:
        """Changes nothing."""
        self._note(str(PreviewFeature(feature)), _STEERS)
        (self._preview.add if enable else self._preview.discard)(feature)

    def get_preview_feature(self, feature: Any) -> bool:
        """As it was set."""
        return feature in self._preview

    def set_quantization_flag(self, flag: Any) -> None:
        """Changes nothing."""
        self._note(str(QuantizationFlag(flag)), "ranges are those of the model as it is declared")

    def add_optimization_profile(self, profile: IOptimizationProfile) -> int:
        """Its number; -1 where it has no sizes."""
        if not profile:
            self._log(Severity.ERROR, "the profile has no sizes")
            return -1
        self._profiles.append(profile)
        return len(self._profiles) - 1

    @property
    def num_optimization_profiles(self) -> int:
        """How many were added."""
        return len(self._profiles)

    def set_calibration_profile(self, profile: IOptimizationProfile) -> bool:
        """Whose opt sizes the batches of a calibrator have."""
        self._calibration_profile = profile
        return bool(profile)

    def get_calibration_profile(self) -> IOptimizationProfile | None:
        """The one that was set."""
        return self._calibration_profile

    @property
    def int8_calibrator(self) -> IInt8Calibrator | None:
        """Where ranges for int8 come from."""
        return self._calibrator

    @int8_calibrator.setter
    def int8_calibrator(self, calibrator: IInt8Calibrator | None) -> None:
        if calibrator is not None and not isinstance(calibrator, IInt8Calibrator):
            raise TypeError(f"int8_calibrator is a {type(calibrator).__name__}, which is derived from no calibrator")
        self._calibrator = calibrator

    def create_timing_cache(self, serialized_timing_cache: Any) -> ITimingCache:
        """Makes a cache of the bytes of an earlier one. Those of TensorRT's caches hold nothing for a CPU, which is said."""
        content = bytes(serialized_timing_cache)
        if content and not content.lstrip().startswith(b"{"):
            self._log(Severity.WARNING, "what create_timing_cache got is no timing cache of Vernier: an empty one takes its place")
            content = b""
        return ITimingCache(content)

    def set_timing_cache(self, cache: ITimingCache, ignore_mismatch: bool = False) -> bool:
        """A build reads it and adds to it."""
        del ignore_mismatch
        self._timing_cache = cache
        return True

    def get_timing_cache(self) -> ITimingCache | None:
        """The one that was set."""
        return self._timing_cache

    def set_device_type(self, layer: ILayer, device_type: Any) -> None:
        """All layers run on the one device."""
        if device_type != DeviceType.GPU:
            raise NotOffered(f"set_device_type({layer.name}, {DeviceType(device_type)}): {_NO_DLA}")

    def get_device_type(self, layer: ILayer) -> Any:
        """TensorRT calls it a GPU."""
        del layer
        return DeviceType.GPU

    def can_run_on_DLA(self, layer: ILayer) -> bool:
        """Never."""
        del layer
        return False
