"""A runner in Python needs this: the conversation with Vernier, and the files of tensors.

    from protocol import Failure, read_values, serve, write_values

    class Handler:
        def hello(self): return {"engine": "mine", "version": "1.0", "capabilities": []}
        def load(self, model, options, threads): ...
        def run(self, inputs, taps): return outputs, notes, seconds

    serve(Handler())

The protocol is specified in docs/runner-protocol.md and the files in docs/safetensors.md. Needs numpy.
"""

import json
import os
import sys
import traceback
from dataclasses import dataclass

import numpy as np

PROTOCOL = "vernier-runner/1"

# safetensors dtype -> (ONNX element type, numpy dtype or None)
DTYPES = {
    "F64": ("DOUBLE", "<f8"), "F32": ("FLOAT", "<f4"), "F16": ("FLOAT16", "<f2"),
    "I64": ("INT64", "<i8"), "I32": ("INT32", "<i4"), "I16": ("INT16", "<i2"), "I8": ("INT8", "i1"),
    "U64": ("UINT64", "<u8"), "U32": ("UINT32", "<u4"), "U16": ("UINT16", "<u2"), "U8": ("UINT8", "u1"),
    "BOOL": ("BOOL", "?"), "C64": ("COMPLEX64", "<c8"),
    "BF16": ("BFLOAT16", None), "F8_E4M3": ("FLOAT8E4M3FN", None), "F8_E5M2": ("FLOAT8E5M2", None),
    "F8_E4M3FNUZ": ("FLOAT8E4M3FNUZ", None), "F8_E5M2FNUZ": ("FLOAT8E5M2FNUZ", None),
    "F8_E8M0": ("FLOAT8E8M0", None), "F4": ("FLOAT4E2M1", None),
}  # fmt: skip
# Vernier writes these types as such; the others go as bytes with a description.
CLASSIC = {onnx: name for name, (onnx, _) in DTYPES.items()
           if name not in ("C64", "F8_E4M3FNUZ", "F8_E5M2FNUZ", "F8_E8M0", "F4")}  # fmt: skip
NUMPY = {onnx: np.dtype(dtype) for onnx, dtype in DTYPES.values() if dtype} | {"COMPLEX128": np.dtype("<c16")}
WIDTHS = {name: int("".join(filter(str.isdigit, name.split("_")[0])) or 8) for name in DTYPES}  # bits
ONNX = {dtype: onnx for onnx, dtype in NUMPY.items()}
DESCRIPTION = "onnx.values"


@dataclass
class Packed:
    """A tensor of a type that numpy lacks: its elements as ONNX packs them, lowest bits first."""

    type: str  # ONNX's name, e.g. "BFLOAT16"
    shape: tuple
    data: bytes


class Failure(Exception):
    """An error to tell the user. `code` is "bad_input" or "unsupported"."""

    def __init__(self, message, code="bad_input", node=None, advice=None):
        super().__init__(message)
        self.fields = {"code": code, "message": message, "node": node, "advice": advice}


def read_values(path):
    """The values of a file by name: numpy arrays, Packed, lists (sequences), None (empty optionals)."""
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        data = bytearray(file.read())  # writable, so that the arrays on it are
    described = json.loads(header.pop("__metadata__", {}).get(DESCRIPTION, "{}"))

    def value(name):
        description = described.get(name, {})
        if "none" in description:
            return None
        if "sequence" in description:
            return [value(element) for element in description["sequence"]]
        entry = header[name]
        begin, end = entry["data_offsets"]
        raw = memoryview(data)[begin:end]
        kind = description.get("type") or DTYPES[entry["dtype"]][0]
        shape = tuple(description.get("shape", entry["shape"]))
        if kind == "STRING":
            texts = [text if isinstance(text, str) else bytes(text) for text in json.loads(bytes(raw))]
            array = np.empty(len(texts), object)
            array[:] = texts
            return array.reshape(shape)
        if kind in NUMPY:
            return np.ndarray(shape, NUMPY[kind], raw)
        return Packed(kind, shape, bytes(raw))

    inner = {element for description in described.values() for element in description.get("sequence", [])}
    return {name: value(name) for name in header.keys() | described.keys() if name not in inner}


def write_values(path, values):
    """Writes what read_values reads. Arrays of ml_dtypes are to be given as Packed."""
    pieces, described = [], {}  # pieces: (name, dtype, shape, bytes)

    def add(name, value):
        if value is None:
            described[name] = {"none": True}
        elif isinstance(value, (list, tuple)):
            names = [unused(f"{name}/{i}") for i in range(len(value))]
            described[name] = {"sequence": names}
            for element_name, element in zip(names, value):
                add(element_name, element)
        elif isinstance(value, Packed):
            add_bytes(name, value.type, value.shape, value.data)
        else:
            add_array(name, np.asarray(value))

    def add_array(name, array):
        if array.dtype.kind in "OUS":
            if not all(isinstance(text, (str, bytes)) for text in array.flat):
                raise Failure(f"'{name}' holds objects that are no strings", "unsupported")
            texts = [list(text) if isinstance(text, bytes) else str(text) for text in array.reshape(-1).tolist()]
            add_bytes(name, "STRING", array.shape, json.dumps(texts).encode())
            return
        little = array.dtype.newbyteorder("<") if array.dtype.byteorder == ">" else array.dtype
        if little not in ONNX:
            raise Failure(f"'{name}' has the type {array.dtype}, which cannot be handed on", "unsupported")
        add_bytes(name, ONNX[little], array.shape, np.ascontiguousarray(array, little).reshape(-1).view(np.uint8).data)

    def add_bytes(name, kind, shape, data):
        if kind in CLASSIC:
            pieces.append((name, CLASSIC[kind], list(shape), data))
        else:
            pieces.append((name, "U8", [len(data)], data))
            described[name] = {"type": kind, "shape": list(shape)}

    def unused(name):
        while name in taken:
            name += "'"
        taken.add(name)
        return name

    taken = set(values)
    for name, value in values.items():
        add(name, value)
    pieces.sort(key=lambda piece: WIDTHS[piece[1]], reverse=True)  # so that all are aligned
    header, end = {}, 0
    if described:
        header["__metadata__"] = {DESCRIPTION: json.dumps(described)}
    for name, dtype, shape, data in pieces:
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [end, end + len(data)]}
        end += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for piece in pieces:
            file.write(piece[3])


def answer(handler, request):
    kind = request.get("request")
    if kind == "hello":
        if request.get("protocol") != PROTOCOL:
            raise Failure(f"this runner speaks {PROTOCOL}, not {request.get('protocol')}", "unsupported")
        return {"protocol": PROTOCOL, **handler.hello()}
    if kind == "load":
        return handler.load(request["model"], request.get("options", {}), request.get("threads", 0)) or {}
    if kind == "run" and "repeat" in request:
        return {"outputs": [], "times": handler.time(read_values(request["inputs"]), request["repeat"])}
    if kind == "run":
        outputs, notes, seconds = handler.run(read_values(request["inputs"]), request.get("taps", []))
        write_values(request["outputs"], outputs)
        return {"outputs": list(outputs), "notes": notes, "seconds": seconds}
    raise Failure(f"unknown request '{kind}'", "unsupported")


def serve(handler):
    """Answers requests until Vernier closes. Whatever libraries print goes to the error output."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    for line in sys.stdin:
        request = json.loads(line)
        if request.get("request") == "close":
            break
        try:
            result = answer(handler, request)
        except Failure as failure:
            result = {"error": {key: text for key, text in failure.fields.items() if text}}
        except Exception as error:  # an engine may raise anything; the user is told, and the process lives on
            traceback.print_exc()
            result = {"error": {"code": "bad_input", "message": f"{type(error).__name__}: {error}"}}
        print(json.dumps({"id": request.get("id"), **result}), file=answers, flush=True)
