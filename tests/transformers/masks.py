"""Masks as the Python code of model libraries makes them, traced by an exporter."""
import numpy as np
from onnx import helper
from writer import BOOL, FLOAT, INT64, LAST, Writer

LOWEST = float(np.finfo(np.float32).min)


def added_padding(g: Writer, mask: str) -> str:
    """[batch, keys] of 0 and 1 as [batch, 1, 1, keys] of what is added to the scores."""
    wide = g.cast(g.unsqueeze(mask, 1, 2), FLOAT)
    return g.node("Mul", g.node("Sub", g.constant(1.0), wide), g.constant(LOWEST))


def expanded_padding(g: Writer, mask: str, batch: str, queries: str, keys: str) -> str:
    """[batch, keys] as [batch, 1, queries, keys] of what is added: expanded, inverted and filled."""
    wide = g.cast(g.expand(g.unsqueeze(mask, 1, 2), batch, 1, queries, keys), FLOAT)
    inverted = g.node("Sub", g.constant(1.0), wide)
    return g.node("Where", g.cast(inverted, BOOL), g.constant(LOWEST), inverted)


def full(g: Writer, value: float, *sizes) -> str:
    return g.node("ConstantOfShape", g.sizes(*sizes), value=helper.make_tensor("value", FLOAT, [1], [value]))


def positions(g: Writer, start: str, end: str) -> str:
    return g.node("Range", start, end, g.constant(1))


def causal_by_order(g: Writer, batch: str, queries: str, past: str) -> str:
    """[batch, 1, queries, past + queries] of what is added: a square filled below its diagonal, zeros for the past beside it, expanded."""
    order = positions(g, g.constant(0), queries)
    column = g.reshape(g.node("Add", order, g.constant(1)), queries, 1)
    square = g.node("Where", g.node("Less", order, column), g.constant(0.0), full(g, LOWEST, queries, queries))
    both = g.node("Concat", full(g, 0.0, queries, past), square, axis=-1)
    return g.expand(g.unsqueeze(both, 0, 1), batch, 1, queries, g.node("Add", queries, past))


def causal_by_trilu(g: Writer, mask: str, batch: str, queries: str, past: str) -> str:
    """As Llama makes it: a full rectangle, its upper triangle, times what lies behind the place of each query; padding is filled in."""
    total = g.node("Add", past, queries)
    rectangle = g.node("Trilu", full(g, LOWEST, queries, total), g.constant(1), upper=1)
    places = positions(g, past, total)
    behind = g.node("Greater", positions(g, g.constant(0), total), g.reshape(places, -1, 1))
    causal = g.node("Mul", rectangle, g.cast(behind, FLOAT))
    causal = g.expand(g.unsqueeze(causal, 0, 1), batch, 1, -1, -1)
    seen = g.node("Add", causal, g.cast(g.unsqueeze(mask, 1, 2), FLOAT))
    return g.node("Where", g.node("Equal", seen, g.constant(0.0)), g.constant(LOWEST), causal)


def causal_flags(g: Writer, mask: str, batch: str, queries: str, past: str) -> str:
    """As newer libraries make it: which keys a query may attend, by comparing places, and padding looked up for each key; then 0 or -inf."""
    total = g.node("Add", past, queries)
    keys = g.unsqueeze(positions(g, g.constant(0), total), 0, 0, 0)
    places = g.unsqueeze(positions(g, past, total), 0, 0, 3)
    padding = g.node("Gather", g.cast(mask, BOOL), g.node("Reshape", keys, g.constant([-1])), axis=1)
    allowed = g.node("And", g.node("LessOrEqual", keys, places), g.unsqueeze(padding, 1, 2))
    allowed = g.expand(allowed, batch, -1, queries, total)
    return g.node("Where", allowed, g.constant([0.0]), g.constant([-np.inf], np.float32))


def causal_of_buffer(g: Writer, triangle: str, q: str, k: str):
    """Makes the mask of GPT-2: rows and columns of a stored triangle, by the lengths of queries and keys; gives the edit of the scores."""
    queries, keys = g.size(q, 2), g.size(k, 2)
    first = g.unsqueeze(g.node("Sub", keys, queries), 0)
    rows = g.slice(triangle, 2, first, g.unsqueeze(keys, 0))
    allowed = g.cast(g.slice(rows, 3, 0, g.unsqueeze(keys, 0)), BOOL)
    return lambda scores: g.node("Where", allowed, scores, g.constant(LOWEST))


def places_of(g: Writer, mask: str, past: str) -> str:
    """[batch, queries]: how many keys before it are no padding, at least 0."""
    summed = g.node("Mul", g.node("CumSum", g.cast(mask, INT64), g.constant(1)), g.cast(mask, INT64))
    behind = g.slice(g.node("Sub", summed, g.constant(1)), 1, g.unsqueeze(past, 0), LAST)
    return g.node("Where", g.node("Less", behind, g.constant(0)), g.constant(0), behind)
