"""Recurrent networks."""

from draw import Recipe
from registry import operator

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


@operator("RNN", "GRU", "LSTM")
def recurrent(b, op):
    kind = b.kind(op, among=["float", "float16", "double", "bfloat16"])
    length, batch, size, hidden = b.integer(1, 5), b.integer(1, 3), b.integer(1, 6), b.integer(1, 6)
    direction = b.pick([None, "forward", "reverse", "bidirectional"])
    d, gates = 2 if direction == "bidirectional" else 1, GATES[op]
    batch_first = b.opset >= 14 and b.chance(0.2)
    x = b.value(kind, (batch, length, size) if batch_first else (length, batch, size))
    weights = Recipe(-0.4, 0.4, special=False)  # so that unbounded activations stay small
    inputs = [x, b.new(kind, (d, gates * hidden, size), weights, constant=b.chance(0.8)),
              b.new(kind, (d, gates * hidden, hidden), weights, constant=b.chance(0.8)),
              b.value(kind, (d, 2 * gates * hidden)) if b.chance(0.6) else None,
              b.new("int32", (batch,), Recipe(1, length, special=False)) if b.chance(0.4) else None]  # fmt: skip
    state = (batch, d, hidden) if batch_first else (d, batch, hidden)
    inputs.append(b.value(kind, state) if b.chance(0.4) else None)
    how = {"hidden_size": hidden, "direction": direction, "layout": 1 if batch_first else None, "clip": b.pick([None, None, 1.5])}
    if op == "GRU":
        how["linear_before_reset"] = b.pick([None, 0, 1])
    if op == "LSTM":
        inputs.append(b.value(kind, state) if b.chance(0.4) else None)
        inputs.append(b.value(kind, (d, 3 * hidden)) if b.chance(0.3) else None)
        how["input_forget"] = b.pick([None, None, 0, 1])
    if b.chance(0.3):
        count = {"RNN": 1, "GRU": 2, "LSTM": 3}[op] * d
        how["activations"] = [b.pick(["Tanh", "Sigmoid", "Relu", "Softsign", "HardSigmoid", "Softplus"]) for _ in range(count)]
    outputs = [b.chance(0.8), True] + ([b.chance(0.6)] if op == "LSTM" else [])
    b.node(op, inputs, outputs=outputs, **how)
