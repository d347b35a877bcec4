"""Cases of mixtures of experts."""

import numpy as np

from case_writer import generator
from cases_matmul import normal, packed

TOKENS, HIDDEN, INNER, EXPERTS = 5, 32, 16, 4
SWIGLU = dict(activation_type="swiglu", swiglu_fusion=1, activation_alpha=1.3, activation_beta=0.5, swiglu_limit=1.1)


def moe(writer):
    variants = {activation: dict(activation_type=activation) for activation in ("relu", "gelu", "silu", "identity")}
    variants.update(swiglu=SWIGLU, normalised=dict(k=3, normalize_routing_weights=1))
    for variant, attributes in variants.items():
        for bias in (False, True):
            name = f"moe_{variant}{'_bias' if bias else ''}"
            rng = generator(name)
            width = 2 * INNER if variant == "swiglu" else INNER
            inputs = [normal(rng, TOKENS, HIDDEN), normal(rng, TOKENS, EXPERTS),
                      normal(rng, EXPERTS, width, HIDDEN) * 0.3, normal(rng, EXPERTS, width) if bias else None,
                      normal(rng, EXPERTS, HIDDEN, INNER) * 0.3, normal(rng, EXPERTS, HIDDEN) if bias else None]
            writer.case(name, "MoE", inputs, dict(dict(k=2), **attributes), constants=(2, 3, 4, 5))


def halves_in_a_row(writer):
    """Without a CPU kernel in ONNX Runtime: its result of the same rows interleaved."""
    rng = generator("moe_swiglu_halves")
    fc1, bias = normal(rng, EXPERTS, 2 * INNER, HIDDEN) * 0.3, normal(rng, EXPERTS, 2 * INNER)
    inputs = [normal(rng, TOKENS, HIDDEN), normal(rng, TOKENS, EXPERTS), fc1, bias, normal(rng, EXPERTS, HIDDEN, INNER) * 0.3]
    y = writer.run("MoE", inputs, dict(SWIGLU, k=2))
    order = np.r_[0:2 * INNER:2, 1:2 * INNER:2]
    inputs[2:4] = fc1[:, order], bias[:, order]
    writer.case("moe_swiglu_halves", "MoE", inputs, dict(SWIGLU, k=2, swiglu_fusion=2), expected=y)


def three_layers(writer):
    """ONNX Runtime's CPU kernel has no third layer: the formula of its documentation. The gates come from fc1, the linear parts from fc3."""
    for activation in ("silu", "swiglu"):
        name = f"moe_three_layers_{activation}"
        rng = generator(name)
        x, scores = normal(rng, TOKENS, HIDDEN), normal(rng, TOKENS, EXPERTS)
        fc1, fc3 = (normal(rng, EXPERTS, INNER, HIDDEN) * 0.3 for _ in range(2))
        fc2 = normal(rng, EXPERTS, HIDDEN, INNER) * 0.3
        weights = np.exp(scores.astype(np.float64))
        weights /= weights.sum(1, keepdims=True)
        y = np.zeros((TOKENS, HIDDEN))
        for token, row in enumerate(x.astype(np.float64)):
            expert = int(np.argmax(scores[token]))
            gate = fc1[expert] @ row
            linear = fc3[expert] @ row
            y[token] = weights[token, expert] * (fc2[expert] @ (gate / (1 + np.exp(-gate)) * linear))
        writer.case(name, "MoE", [x, scores, fc1, None, fc2, None, fc3], dict(k=1, activation_type=activation), expected=[y.astype(np.float32)])


def quantized(rng, bits, rows, columns, block, zero):
    """Packed weights, scales and zero points (or none) of a layer."""
    blocks = columns // block if block else 1
    scales = (rng.random((EXPERTS, rows, blocks)) * 0.2 / 2**bits + 0.001).astype(np.float32)
    points = rng.integers(0, 2**bits, (EXPERTS, rows, blocks))
    if not block:
        scales, points = scales[..., 0], points[..., 0]
    return packed(rng.integers(0, 2**bits, (EXPERTS, rows, columns)), bits), scales, packed(points, bits) if zero else None


def qmoe(writer):
    for bits in (2, 4, 8):
        for block in (0, 16):
            for zero in (False, True):
                for activation in ("silu", "swiglu"):
                    name = f"qmoe_{bits}_block{block}_{activation}{'_zero' if zero else ''}"
                    rng = generator(name)
                    fc1 = quantized(rng, bits, 2 * INNER if activation == "swiglu" else INNER, HIDDEN, block, zero)
                    fc2 = quantized(rng, bits, HIDDEN, INNER, block, zero)
                    # ONNX Runtime's CPU kernel normalises in any case where there are no router weights.
                    attributes = dict(k=2, normalize_routing_weights=int(not zero), expert_weight_bits=bits, activation_type=activation, **(dict(block_size=block) if block else {}))
                    if activation == "swiglu":
                        attributes.update(SWIGLU)
                    router_weights = np.abs(normal(rng, TOKENS, EXPERTS)) if zero else None
                    writer.case(name, "QMoE",
                                [normal(rng, TOKENS, HIDDEN), normal(rng, TOKENS, EXPERTS), *fc1[:2], None, *fc2[:2], None, None, None, None,
                                 fc1[2], fc2[2], None, router_weights],
                                # Constant weights of 8 bits meet inputs that are quantized, too.
                                attributes, constants=(2, 3, 5, 6, 11, 12) if bits < 8 else ())


def write(writer):
    for family in (moe, halves_in_a_row, three_layers, qmoe):
        family(writer)
