"""Calibrators of scripts, as data for `calibrate`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from .. import verbs
from ..data import array_of
from ..errors import Usage
from . import memory
from .enums import CalibrationAlgoType
from .layers import ITensor
from .network import INetworkDefinition
from .profile import IOptimizationProfile
from .types import nptype

_METHODS = {
    CalibrationAlgoType.ENTROPY_CALIBRATION: "entropy", CalibrationAlgoType.ENTROPY_CALIBRATION_2: "entropy",
    CalibrationAlgoType.MINMAX_CALIBRATION: "minmax", CalibrationAlgoType.LEGACY_CALIBRATION: "percentile",
}  # fmt: skip


class IInt8Calibrator:
    """Scripts derive calibrators from this."""

    _algorithm: ClassVar[Any] = None

    def __init__(self) -> None:
        pass

    def get_algorithm(self) -> Any:
        """How ranges are chosen."""
        if self._algorithm is None:
            raise NotImplementedError(f"{type(self).__name__} has no method get_algorithm()")
        return self._algorithm

    def get_batch_size(self) -> int:
        """How many samples a batch has."""
        raise NotImplementedError(f"{type(self).__name__} has no method get_batch_size()")

    def get_batch(self, names: list[str]) -> Any:
        """For each name an address or an array; None or nothing at the end."""
        raise NotImplementedError(f"{type(self).__name__} has no method get_batch(names)")

    def read_calibration_cache(self, *_: Any) -> Any:
        """Gives what write_calibration_cache was given by an earlier build, or a cache of TensorRT."""
        return None

    def write_calibration_cache(self, cache: bytes) -> None:
        """The scales, to be read by a later build."""


class IInt8EntropyCalibrator(IInt8Calibrator):
    """Least divergence of histograms."""

    _algorithm = CalibrationAlgoType.ENTROPY_CALIBRATION


class IInt8EntropyCalibrator2(IInt8Calibrator):
    """The same to Vernier."""

    _algorithm = CalibrationAlgoType.ENTROPY_CALIBRATION_2


class IInt8MinMaxCalibrator(IInt8Calibrator):
    """All that was seen."""

    _algorithm = CalibrationAlgoType.MINMAX_CALIBRATION


class IInt8LegacyCalibrator(IInt8Calibrator):
    """A share of what was seen, by get_quantile()."""

    _algorithm = CalibrationAlgoType.LEGACY_CALIBRATION

    def get_quantile(self) -> float:
        """The share of the values that is in the range."""
        return 0.9999


def scales_of(
    calibrator: IInt8Calibrator, network: INetworkDefinition, profile: IOptimizationProfile | None, model: Path, folder: str
) -> tuple[str, str]:
    """A file for --calibration, and a sentence about where it comes from."""
    path = Path(folder) / "scales.json"
    cache = calibrator.read_calibration_cache()
    if cache is not None and len(cache) > 0:
        path.write_bytes(bytes(cache))
        return str(path), "int8: scales of the calibration cache"
    options: dict[str, Any] = {"method": _METHODS[calibrator.get_algorithm()]}
    if isinstance(calibrator, IInt8LegacyCalibrator):
        options["percentile"] = 100 * calibrator.get_quantile()
    batches = _Batches(calibrator, network, profile)
    verbs.calibrate(model, data=batches, output=path, **options)
    calibrator.write_calibration_cache(path.read_bytes())
    return str(path), f"int8: scales of {batches.count} batches, by {options['method']}"


class _Batches:
    """Batches as samples, read while the script still holds them."""

    def __init__(self, calibrator: IInt8Calibrator, network: INetworkDefinition, profile: IOptimizationProfile | None) -> None:
        self._calibrator, self._profile, self.count = calibrator, profile, 0
        self._inputs = [network.get_input(index) for index in range(network.num_inputs)]

    def __iter__(self) -> Iterator[dict[str, np.ndarray]]:
        batch = self._calibrator.get_batch_size()
        names = [each.name for each in self._inputs]
        while given := self._batch(names):
            if len(given) != len(names):
                raise Usage(f"get_batch gave {len(given)} values for {len(names)} inputs ({', '.join(names)})")
            yield {each.name: self._value(each, value, batch) for each, value in zip(self._inputs, given)}
            self.count += 1

    def _batch(self, names: list[str]) -> Sequence[Any] | None:
        given = self._calibrator.get_batch(names)
        return None if given is None or len(given) == 0 else given

    def _value(self, tensor: ITensor, given: Any, batch: int) -> np.ndarray:
        dtype = np.dtype(nptype(tensor.dtype))
        if np.ndim(given) > 0 or hasattr(given, "data_ptr"):
            return np.array(array_of(given), dtype)
        shape = self._shape(tensor, batch)
        address = memory.as_address(given)
        memory.require(address, int(np.prod(shape)) * dtype.itemsize, False, f"the batch of '{tensor.name}'")
        return memory.array_at(address, shape, dtype).copy()

    def _shape(self, tensor: ITensor, batch: int) -> list[int]:
        """Gives the shape of the profile, or that of the model with the size of a batch in front."""
        opt = self._profile.get_shape(tensor.name)[1:2] if self._profile else []
        shape = list(opt[0]) if opt else list(tensor.shape)
        if shape and shape[0] < 0:
            shape[0] = batch
        if any(size < 0 for size in shape):
            raise Usage(f"calibration: sizes of '{tensor.name}' {tensor.shape} are known by no profile", advice="config.set_calibration_profile")
        return shape
