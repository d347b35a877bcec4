"""Cases of DynamicQuantizeLSTM."""

import numpy as np

from case_writer import generator
from cases_matmul import normal
from cases_qlinear import TYPES, quantized_weights

STEPS, INPUTS, HIDDEN = 4, 6, 5


def weights(rng, dtype, directions, inputs, columns):
    """Quantized weights, their scale and zero point; of each column if `columns`."""
    shape = (directions, 4 * HIDDEN) if columns else (directions,)
    point = 0 if columns else (133 if dtype == np.uint8 else -3)
    return quantized_weights(rng, dtype, directions, inputs, 4 * HIDDEN), (rng.random(shape) * 0.01 + 0.001).astype(np.float32), np.full(shape, point, dtype)


def dynamic_quantize_lstm(writer):
    variants = {
        "plain": {}, "bias_states": {}, "peepholes": {}, "lengths": {}, "columns": {}, "coupled": dict(input_forget=1),
        "reverse": dict(direction="reverse"), "bidirectional": dict(direction="bidirectional"), "clip": dict(clip=0.7),
        "activations": dict(activations=["HardSigmoid", "Relu", "Tanh"], activation_alpha=[0.3], activation_beta=[0.4]),
    }
    for kind, dtype in TYPES.items():
        for variant, attributes in variants.items():
            name = f"dynamic_quantize_lstm_{kind}_{variant}"
            rng = generator(name)
            batch, directions = (1, 1) if variant != "bidirectional" else (2, 2)
            columns = variant == "columns" and kind == "int8"
            w, w_scale, w_zero = weights(rng, dtype, directions, INPUTS, columns)
            r, r_scale, r_zero = weights(rng, dtype, directions, HIDDEN, columns)
            bias = hidden = cell = peepholes = lengths = None
            if variant in ("bias_states", "peepholes", "bidirectional"):
                bias = normal(rng, directions, 8 * HIDDEN) * 0.3
                hidden, cell = normal(rng, directions, batch, HIDDEN) * 0.5, normal(rng, directions, batch, HIDDEN)
            if variant == "peepholes":
                peepholes = normal(rng, directions, 3 * HIDDEN) * 0.3
            if variant == "lengths":
                lengths = np.array([STEPS - 1], np.int32)
            writer.case(name, "DynamicQuantizeLSTM",
                        [normal(rng, STEPS, batch, INPUTS), w, r, bias, lengths, hidden, cell, peepholes, w_scale, w_zero, r_scale, r_zero],
                        dict(attributes, hidden_size=HIDDEN), outputs=3, constants=(1, 2, 3, 8, 9, 10, 11))


def write(writer):
    dynamic_quantize_lstm(writer)
