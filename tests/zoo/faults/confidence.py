"""Tells what a stated confidence is worth: of the causes that were told with so much of it, how many are right."""

from typing import NamedTuple

BINS = (0.0, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 1.0001)


class Stated(NamedTuple):
    confidence: float
    right: bool


def calibration(stated: list[Stated]) -> list[str]:
    """Lines of a table: the bin, how many there are, the mean that was stated, and the share that is right."""
    lines = ["confidence    cases  stated  right"]
    for low, high in zip(BINS, BINS[1:]):
        some = [each for each in stated if low <= each.confidence < high]
        if some:
            mean, right = sum(each.confidence for each in some) / len(some), sum(each.right for each in some) / len(some)
            lines.append(f"{low:.2f} to {min(high, 1):.2f}  {len(some):5}   {mean:.2f}    {right:.2f}")
    return lines
