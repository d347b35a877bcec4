"""Summarises the times of interleaved runs: percentiles, and ratios with the interval that holds 95 % of bootstrapped ones."""
import dataclasses
import time

import numpy as np

RESAMPLES = 2000
PAUSE = 0.1  # seconds, in which the threads of the engine before stop looking for work: ONNX Runtime's spin on for milliseconds
Rounds = list[list[float]]  # seconds of each run, by round


@dataclasses.dataclass(frozen=True)
class Ratio:
    """How many times as long as Vernier the better peer takes."""

    peer: str
    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"**{self.value:.2f}** ({self.low:.2f} to {self.high:.2f})"


def interleaved(measures: dict, rounds: int) -> dict[str, Rounds]:
    """Calls each measure once a round; who comes first changes from round to round."""
    taken = {name: [] for name in measures}
    for number in range(rounds):
        for name in list(measures) if number % 2 == 0 else reversed(measures):
            time.sleep(PAUSE)
            taken[name].append(measures[name]())
    return taken


def percentile(rounds: Rounds, percent: float) -> float:
    return float(np.percentile(np.concatenate(rounds), percent))


def milliseconds(rounds: Rounds, percent: float) -> str:
    value = 1e3 * percentile(rounds, percent)
    return f"{value:.2f}" if value < 100 else f"{value:.0f}"


def ratio(ours: Rounds, theirs: Rounds, percent: float, peer: str = "") -> Ratio:
    """Gives the interval of a percentile over all rounds. Whole rounds are resampled, of both engines alike: what disturbs a round disturbs both."""
    random = np.random.default_rng(1)
    drawn = []
    for _ in range(RESAMPLES if len(ours) > 1 else 0):
        chosen = random.integers(0, len(ours), len(ours))
        drawn.append(percentile([theirs[i] for i in chosen], percent) / percentile([ours[i] for i in chosen], percent))
    value = percentile(theirs, percent) / percentile(ours, percent)
    low, high = np.percentile(drawn, [2.5, 97.5]) if drawn else (np.nan, np.nan)  # one round tells no interval
    return Ratio(peer, value, float(low), float(high))


def to_better(taken: dict[str, Rounds], percent: float) -> Ratio:
    """Vernier's against the better of the peers at this percentile."""
    peer = min((name for name in taken if name != "vernier"), key=lambda name: percentile(taken[name], percent))
    return ratio(taken["vernier"], taken[peer], percent, peer)
