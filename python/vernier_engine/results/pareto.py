"""A picture of a Pareto front: a few points, so it is made of lines of text."""

from __future__ import annotations

import html
import math
import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .precision import TunedPlan, Tuning

_WIDTH, _HEIGHT, _MARGIN = 560, 320, 48


class Plot:
    """A picture as SVG. Notebooks show it."""

    def __init__(self, svg: str) -> None:
        self.svg = svg

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes it."""
        Path(path).write_text(self.svg, encoding="utf-8")

    def _repr_svg_(self) -> str:
        return self.svg


def _error(plan: TunedPlan) -> float:
    return max(plan.error, 1e-12)


def pareto_plot(tuning: Tuning) -> Plot:
    """Error, on a log scale, against latency; the chosen plan is filled, the limit a line."""
    points = {each.file: each for each in [*tuning.front, *tuning.dominated, tuning.baseline]}
    shown = [each for each in points.values() if math.isfinite(each.error)]
    slowest = max(each.latency_ms for each in shown) * 1.05
    of_errors = tuning.target.unit == "relative L2"
    errors = [_error(each) for each in shown] + ([tuning.target.limit] if of_errors and tuning.target.limit > 0 else [])
    low, high = math.floor(math.log10(min(errors))), math.ceil(math.log10(max(errors)) + 1e-9)
    high = max(high, low + 1)

    def x(latency: float) -> float:
        return _MARGIN + (_WIDTH - 2 * _MARGIN) * latency / slowest

    def y(error: float) -> float:
        return _HEIGHT - _MARGIN - (_HEIGHT - 2 * _MARGIN) * (math.log10(error) - low) / (high - low)

    parts = [_line(x(0), y(10.0**power), x(slowest), y(10.0**power), "#ddd") + _text(4, y(10.0**power) + 4, f"1e{power}")
             for power in range(low, high + 1)]  # fmt: skip
    if of_errors and tuning.target.limit > 0:
        parts.append(_line(x(0), y(tuning.target.limit), x(slowest), y(tuning.target.limit), "#b00") + _text(x(0) + 4, y(tuning.target.limit) - 4, tuning.target.text))
    front = sorted(tuning.front, key=lambda each: each.latency_ms)
    parts += [_line(x(a.latency_ms), y(_error(a)), x(b.latency_ms), y(_error(b)), "#357") for a, b in zip(front, front[1:])]
    for each in shown:
        chosen = tuning.chosen is not None and each.types == tuning.chosen.types and each.latency_ms == tuning.chosen.latency_ms
        title = f"{each.types}: {each.latency_ms:.3f} ms, {each.error:.3g}"
        parts.append(f'<circle cx="{x(each.latency_ms):.1f}" cy="{y(_error(each)):.1f}" r="5" stroke="#357" fill="{"#357" if chosen else "#fff"}" tabindex="0">'
                     f"<title>{html.escape(title)}</title></circle>")  # fmt: skip
    parts.append(_text(_MARGIN, _HEIGHT - 12, f"latency, 0 to {slowest:.3g} ms") + _text(4, 16, "relative L2"))
    return Plot(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" role="img" '
                f'aria-label="error against latency of {len(shown)} plans">{"".join(parts)}</svg>')  # fmt: skip


def _line(x1: float, y1: float, x2: float, y2: float, colour: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"/>'


def _text(x: float, y: float, text: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" font-family="sans-serif" font-size="11" fill="#555">{html.escape(text)}</text>'
