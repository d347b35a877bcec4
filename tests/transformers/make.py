#!/usr/bin/env python3
"""Writes transformers with free batch and lengths, as exporters write them: make.py OUT [--size small|bench] [--static batch=2,…] [KIND...]

For each kind OUT/KIND.onnx; the same bytes every time. With --static the free dimensions are those sizes, and every Shape is its value,
as an exporter writes a model whose sizes it knows.
"""
import argparse
import pathlib

import numpy as np
import onnx
import onnxruntime as ort
from models import KINDS, SIZES
from onnx import helper, numpy_helper
from writer import Writer


def make(kind: str, size: str = "small") -> onnx.ModelProto:
    build, opset, fused = KINDS[kind]
    writer = Writer(opset)
    build(writer, SIZES[size], fused=fused)
    return writer.model(kind)


def sizes_at(value: onnx.ValueInfoProto, free: dict[str, int]) -> list[int]:
    """The sizes of an input, or of an output, where the free dimensions are these; a name may be a sum of names."""
    dims = value.type.tensor_type.shape.dim
    return [sum(free[name] for name in dim.dim_param.split(" + ")) if dim.dim_param else dim.dim_value for dim in dims]


def ones_at(model: onnx.ModelProto, free: dict[str, int]) -> dict[str, np.ndarray]:
    """Inputs that every model takes: ids that are words, and masks without padding."""
    return {value.name: np.ones(sizes_at(value, free), helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)) for value in model.graph.input}


def static(model: onnx.ModelProto, free: dict[str, int]) -> onnx.ModelProto:
    """The model at these sizes: each Shape is a constant, whose value a run tells."""
    result = onnx.ModelProto()
    result.CopyFrom(model)
    for value in [*result.graph.input, *result.graph.output]:
        for dim, size in zip(value.type.tensor_type.shape.dim, sizes_at(value, free)):
            dim.dim_value = size
    shapes = {node.output[0]: node for node in result.graph.node if node.op_type == "Shape"}
    probed = onnx.ModelProto()
    probed.CopyFrom(result)
    del probed.graph.output[:]
    probed.graph.output.extend(helper.make_tensor_value_info(name, onnx.TensorProto.INT64, None) for name in shapes)
    feeds = ones_at(result, free)
    found = ort.InferenceSession(probed.SerializeToString(), providers=["CPUExecutionProvider"]).run(list(shapes), feeds)
    for (name, node), value in zip(shapes.items(), found):
        node.CopyFrom(helper.make_node("Constant", [], [name], name=node.name, value=numpy_helper.from_array(value)))
    return result


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=", ".join(KINDS))
    parser.add_argument("--size", choices=SIZES, default="small")
    parser.add_argument("--static", type=lambda text: {name: int(size) for name, size in (part.split("=") for part in text.split(","))})
    arguments = parser.parse_intermixed_args()
    if unknown := set(arguments.kinds) - set(KINDS):
        parser.error(f"no such kind: {', '.join(sorted(unknown))}; there are {', '.join(KINDS)}")
    arguments.out.mkdir(parents=True, exist_ok=True)
    for kind in arguments.kinds or KINDS:
        model = make(kind, arguments.size)
        onnx.save(static(model, arguments.static) if arguments.static else model, arguments.out / f"{kind}.onnx")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
