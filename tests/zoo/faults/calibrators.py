"""Calibrators as engines have them, the good and those that go wrong: each makes a Range of what calibration saw of
a value."""

import numpy as np

from quantizing import Range


def percentile(share: float):
    """Cuts off what is beyond this share of the elements at either end."""

    def observe(seen: list[np.ndarray]) -> Range:
        flat = np.concatenate([values.reshape(-1) for values in seen])
        return Range(float(np.quantile(flat, 1 - share)), float(np.quantile(flat, share)))

    return observe


def entropy(seen: list[np.ndarray], bins: int = 1024, levels: int = 128) -> Range:
    """The range whose histogram in 128 levels is nearest to that of the values by the divergence of Kullback and
    Leibler."""
    flat = np.abs(np.concatenate([values.reshape(-1) for values in seen]))
    counts, edges = np.histogram(flat, bins=bins, range=(0, float(flat.max()) or 1.0))
    best, chosen = np.inf, bins
    for kept in range(levels, bins + 1, 8):
        wanted = counts[:kept].astype(np.float64)
        wanted[-1] += counts[kept:].sum()
        level = np.arange(kept) * levels // kept
        filled = (counts[:kept] > 0).astype(np.float64)
        mass, size = np.bincount(level, counts[:kept], levels), np.bincount(level, filled, levels)
        got = np.divide(mass, size, out=np.zeros(levels), where=size > 0)[level] * filled
        both = (wanted > 0) & (got > 0)
        lost = wanted[(wanted > 0) & (got == 0)].sum() / wanted.sum()
        p, q = wanted[both] / wanted.sum(), got[both] / max(got.sum(), 1e-12)
        divergence = float((p * np.log(p / q)).sum()) + lost
        if divergence < best:
            best, chosen = divergence, kept
    most = float(edges[chosen])
    low = min(float(values.min()) for values in seen)
    return Range(max(low, -most), most)


def first_batch(seen: list[np.ndarray]) -> Range:
    """The first batch lays the bins of the histogram; what later ones have beyond falls into the last."""
    return Range(float(seen[0].min()), float(seen[0].max()))


def moving_average(seen: list[np.ndarray], keep: float = 0.6) -> Range:
    """An average that forgets: what came long ago hardly counts."""
    low, high = float(seen[0].min()), float(seen[0].max())
    for values in seen[1:]:
        low = keep * low + (1 - keep) * float(values.min())
        high = keep * high + (1 - keep) * float(values.max())
    return Range(low, high)
