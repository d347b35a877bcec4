"""Callers go wrong in these ways: the engine is sound, and gets or gives something else than it should."""

import numpy as np

from behaviours import mixed
from edits import behaviour


class Misgiven:
    """The engine runs on what `change` makes of one input."""

    def __init__(self, input: str):
        self.input = input

    def change(self, value: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def run(self, session, inputs: dict, taps=()) -> dict:
        changed = np.ascontiguousarray(self.change(np.asarray(inputs[self.input])))
        return session.run(dict(inputs) | {self.input: changed.astype(inputs[self.input].dtype)}, taps)


@behaviour("given-channels-last")
class ChannelsLast(Misgiven):
    """The pixels lie in memory as height, width, channel, and are read as channel, height, width."""

    def change(self, value):
        return np.moveaxis(value, 1, -1).reshape(value.shape)


@behaviour("given-turned")
class ChannelsTurned(Misgiven):
    """Blue, green, red instead of red, green, blue."""

    def __init__(self, input: str, axis: int = 1):
        super().__init__(input)
        self.axis = axis

    def change(self, value):
        return np.flip(value, self.axis)


@behaviour("given-strided")
class Strided(Misgiven):
    """A transposed view is handed over by its address, as if it were contiguous: the engine reads the memory behind
    it."""

    def change(self, value):
        return np.swapaxes(value, -1, -2).reshape(value.shape)


@behaviour("given-scaled")
class Scaled(Misgiven):
    """Mean and deviation are missing, or are applied twice: the engine gets value * factor + offset."""

    def __init__(self, input: str, factor: float, offset: float = 0.0):
        super().__init__(input)
        self.factor, self.offset = factor, offset

    def change(self, value):
        return value * self.factor + self.offset


@behaviour("given-bytes")
class Bytes(Misgiven):
    """Pixels pass through unsigned bytes on their way, so that fractions and what is negative are lost."""

    def change(self, value):
        return np.clip(np.trunc(value), 0, 255)


@behaviour("late-input")
class LateInput:
    """The engine reads an input before all of it is copied: the last share of it is that of the run before."""

    def __init__(self, input: str, share: float = 0.5):
        self.input, self.share, self.old = input, share, None

    def run(self, session, inputs: dict, taps=()) -> dict:
        fresh = np.asarray(inputs[self.input])
        old, self.old = self.old, fresh
        return session.run(dict(inputs) | {self.input: mixed(fresh, old, self.share)}, taps)


@behaviour("given-exchanged")
class Exchanged:
    """Two inputs of one size, or two outputs, are bound in the wrong order."""

    def __init__(self, first: str, second: str, outputs: bool = False):
        self.first, self.second, self.outputs = first, second, outputs

    def turned(self, values: dict) -> dict:
        return dict(values) | {self.first: values[self.second], self.second: values[self.first]}

    def run(self, session, inputs: dict, taps=()) -> dict:
        if self.outputs:
            return self.turned(session.run(inputs, taps))
        return session.run(self.turned(inputs), taps)
