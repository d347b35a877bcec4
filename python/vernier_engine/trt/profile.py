"""Optimisation profiles: the sizes that an engine is built for."""

from __future__ import annotations

from collections.abc import Sequence

from ._strict import Reporting
from .types import Dims


class IOptimizationProfile(Reporting):
    """Least, usual and largest sizes of inputs. True as soon as it has some."""

    _refused = {"extra_memory_target": "memory of the CPU needs no such choice"}

    def __init__(self, logger: object = None) -> None:
        super().__init__(logger)  # type: ignore[arg-type]
        self._shapes: dict[str, tuple[Dims, Dims, Dims]] = {}

    def set_shape(self, input: str, min: Sequence[int], opt: Sequence[int], max: Sequence[int]) -> None:  # noqa: A002 (TensorRT calls them so)
        """Sets the shapes of an input."""
        dims = Dims(min), Dims(opt), Dims(max)
        if not len(dims[0]) == len(dims[1]) == len(dims[2]) or any(not 0 <= a <= b <= c for a, b, c in zip(*dims)):
            raise ValueError(f"set_shape('{input}'): min {dims[0]}, opt {dims[1]} and max {dims[2]} do not rise, or differ in rank")
        self._shapes[input] = dims

    def get_shape(self, input: str) -> list[Dims]:  # noqa: A002
        """[min, opt, max]; nothing where none were set."""
        return list(self._shapes.get(input, ()))

    def set_shape_input(self, input: str, min: Sequence[int], opt: Sequence[int], max: Sequence[int]) -> None:  # noqa: A002
        """Changes nothing."""
        del min, opt, max
        self._note(f"set_shape_input('{input}')", "sizes that depend on values are found when they are run")

    def __bool__(self) -> bool:
        return bool(self._shapes)
