"""Instructions of the processor that tests in Python ask for, and models that need them."""
import pathlib

import onnx


def has_vnni() -> bool:
    """Whether it adds products of bytes in 32 bits. ONNX Runtime adds pairs of them in 16 elsewhere, which saturate."""
    return not {"avx512_vnni", "avx_vnni"}.isdisjoint(pathlib.Path("/proc/cpuinfo").read_text().split())


# ONNX Runtime as a runner, where its optimiser keeps sums of quantized models from saturating.
UNSATURATED = ["--onnxruntime", "--optimization", "extended", "--runner-option", "session.x64quantprecision=1"]


def is_quantized(model: onnx.ModelProto) -> bool:
    return any("Quant" in node.op_type or "Integer" in node.op_type for node in model.graph.node)
