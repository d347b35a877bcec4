#!/usr/bin/env python3
"""Writes the seeds of the fuzz corpora: make_seeds.py [FOLDER]. Small, valid files of every kind, to start from."""
import base64
import io
import json
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def graph_models():
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 4])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    flag = helper.make_tensor_value_info("flag", TensorProto.BOOL, [])
    weight = numpy_helper.from_array(np.arange(8, dtype=np.float32).reshape(4, 2), "w")
    mlp = [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("Relu", ["h"], ["y"])]
    yield "mlp", helper.make_model(helper.make_graph(mlp, "g", [x], [y], [weight]))
    branch = lambda name, op: helper.make_graph([helper.make_node(op, ["x"], [name])], name, [], [helper.make_tensor_value_info(name, TensorProto.FLOAT, None)])
    choice = [helper.make_node("If", ["flag"], ["y"], then_branch=branch("t", "Relu"), else_branch=branch("e", "Neg"))]
    yield "if", helper.make_model(helper.make_graph(choice, "g", [x, flag], [y]))
    function = helper.make_function("local", "Twice", ["a"], ["b"], [helper.make_node("Add", ["a", "a"], ["b"])], [helper.make_opsetid("", 17)])
    call = [helper.make_node("Twice", ["x"], ["y"], domain="local")]
    yield "function", helper.make_model(helper.make_graph(call, "g", [x], [y]), functions=[function],
                                        opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("local", 1)])
    shape = [helper.make_node("Shape", ["x"], ["s"]), helper.make_node("Reshape", ["x", "s"], ["y"])]
    yield "shape", helper.make_model(helper.make_graph(shape, "g", [x], [y]))
    external = numpy_helper.from_array(np.zeros((4, 2), np.float32), "w")
    external.data_location = TensorProto.EXTERNAL
    external.ClearField("raw_data")
    external.external_data.add(key="location", value="../w.bin")
    yield "external", helper.make_model(helper.make_graph(mlp, "g", [x], [y], [external]))


def safetensors(tensors: dict, metadata: dict) -> bytes:
    header, blob = {"__metadata__": metadata}, b""
    for name, (dtype, array) in tensors.items():
        raw = array.tobytes()
        header[name] = {"dtype": dtype, "shape": list(array.shape), "data_offsets": [len(blob), len(blob) + len(raw)]}
        blob += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + blob


def npy(array) -> bytes:
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def npz(compress: bool, **arrays) -> bytes:
    out = io.BytesIO()
    (np.savez_compressed if compress else np.savez)(out, **arrays)
    return out.getvalue()


def polygraphy(*samples: dict) -> bytes:
    encode = lambda array: {"array": base64.b64encode(npy(array)).decode(), "polygraphy_class": "ndarray"}
    return json.dumps([{name: encode(array) for name, array in sample.items()} for sample in samples]).encode()


IR_TEXT = '''model ir=8 opset "" 17 {
  graph "g" (%x: f32[N, 2], %"odd name": i64[]) -> (%y) {
    const %w = f32[2] hex"0000803f000000c0"
    %a: f32[N, floordiv(N + 1, 2)] = Mul(%x, %w) {axis = -1, mode = "a\\"b", axes = ints[0], scales = floats[1, 0x7fc00000], value = tensor u4[3] hex"2103", kind = type seq(f32[*])} version 17 @"mul" from ["mul"]
    %y: f32[*] = If(%a) version 17 @"if" from ["if"] regions {
      then_branch =
      graph "then" () -> (%t) {
        %t: f32[*] = Identity(%a) version 17 @"inner" from ["inner"]
      }
    }
  }
}
'''


def seeds():
    for name, model in graph_models():
        yield "onnx", name, model.SerializeToString()
    tensor = numpy_helper.from_array(np.arange(6, dtype=np.float32).reshape(2, 3))
    yield "pb", "tensor", b"\0" + tensor.SerializeToString()
    yield "pb", "strings", b"\0" + helper.make_tensor("s", TensorProto.STRING, [2], [b"a", b"b"]).SerializeToString()
    yield "pb", "int4", b"\0" + helper.make_tensor("q", TensorProto.INT4, [3], [1, -2, 3]).SerializeToString()
    yield "pb", "sequence", b"\1" + numpy_helper.from_list([np.zeros(2, np.float32), np.ones((1, 1), np.float32)]).SerializeToString()
    yield "pb", "optional", b"\2" + numpy_helper.from_optional(np.zeros(2, np.float32)).SerializeToString()
    yield "npy", "f32", npy(np.arange(6, dtype=np.float32).reshape(2, 3))
    yield "npy", "fortran", npy(np.asfortranarray(np.arange(6, dtype=np.int16).reshape(2, 3)))
    yield "npy", "text", npy(np.array(["a", "bc"]))
    yield "npz", "stored", npz(False, x=np.zeros((2, 2), np.float32), y=np.arange(3))
    yield "npz", "deflated", npz(True, x=np.zeros((64, 2), np.float16))
    yield "safetensors", "plain", safetensors({"x": ("F32", np.zeros((2, 3), np.float32)), "m": ("BOOL", np.ones(2, bool))}, {"made": "by hand"})
    yield "polygraphy", "inputs", polygraphy({"x": np.zeros((1, 2), np.float32)}, {"x": np.ones((1, 2), np.float32)})
    yield "labelled", "idx", b"i\0\0\x08\x02\0\0\0\x01\0\0\0\x02ab"
    yield "labelled", "csv", b'cfile,label\n"a ""b"".png",3\n'
    yield "labelled", "jsonl", b'j{"file":"a.png","label":3}\n{"file":"b.png","label":[1,2.5]}\n{"file":"c.png","text":"hi"}\n'
    yield "labelled", "coco", b'o{"images":[{"id":1,"file_name":"a.png"}],"annotations":[{"image_id":1,"bbox":[1,2,3,4]}],"categories":[]}'
    for metric, row in (("top1", [1, 1, 0.5]), ("f1", [1, 1, 0.5, 1, 1]), ("iou", [1, 1, "nan", 0, 3, 4])):
        yield "evaluation_part", metric, evaluation_part(metric, row)
    yield "scales", "json", b'{"schema":"vernier-scales","version":1,"model":"","tensors":{"x":{"type":"u8","scale":0.02,"zero_point":3},"y":{"min":-1,"max":2}}}'
    yield "scales", "plain_json", b'{"x":[-1,2.5],"y":{"scale":0.1}}'
    yield "scales", "tensorrt", b"TRT-8601-EntropyCalibration2\nx: 3c008912\n(Unnamed Layer* 4) [Shuffle]_output: 0\n"
    yield "scales", "onnxruntime", b"x 2.54\ny 0.5\n"
    yield "ir_text", "model", IR_TEXT.encode()
    yield "protocol", "hello", b'{"id":1,"protocol":"vernier-runner/1","engine":"e","version":"1","capabilities":["taps"],"description":{"a":"b"}}'
    yield "protocol", "run", b'{"id":1,"outputs":["y"],"notes":["n"],"seconds":0.5}'
    yield "protocol", "error", b'{"id":1,"error":{"code":"unsupported","message":"no","node":"n"}}'


def evaluation_part(metric: str, row: list) -> bytes:
    subject = {"model": "m.onnx", "model_hash": "1", "build": "0", "options": {}, "data_format": "CSV", "data_hash": "0" * 16, "seed": 1, "against": 0,
               "classes": [], "runners": [{"name": name, "description": {}} for name in ("a", "b")],
               "metrics": [{"name": metric, "output": "", "outputs": ["y"], "threshold": 0.5, "match_iou": 0.5}], "gates": [{"metric": metric, "drop": 0.1}]}
    scores = [{"index": i, "origin": "", "inputs": "0" * 16, "failures": ["", ""], "scores": [[[row], [row]]]} for i in range(2)]
    return json.dumps({"schema": "vernier-evaluation-part", "version": 1, "subject": subject, "environment": {}, "shard": {"index": 1, "count": 1},
                       "samples": 2, "scores": scores}).encode()


def main() -> None:
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent / "corpus"
    for target, name, content in seeds():
        (folder / target).mkdir(parents=True, exist_ok=True)
        (folder / target / name).write_bytes(content)


if __name__ == "__main__":
    main()
