"""Data files against the programs that define them: NumPy, ml_dtypes and Polygraphy. data_test.py DATA_TOOL"""
import io
import pathlib
import subprocess
import sys
import tempfile

import ml_dtypes
import numpy as np
from polygraphy.comparator import IterationResult, RunResults
from polygraphy.json import load_json, save_json

TOOL = sys.argv[1]
FOLDER = tempfile.TemporaryDirectory()
PLAIN = "bool int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 float32 float64 complex64 complex128".split()
EXTENDED = {
    "bfloat16": "BFLOAT16", "float8_e4m3fn": "FLOAT8E4M3FN", "float8_e4m3fnuz": "FLOAT8E4M3FNUZ", "float8_e5m2": "FLOAT8E5M2",
    "float8_e5m2fnuz": "FLOAT8E5M2FNUZ", "float8_e8m0fnu": "FLOAT8E8M0", "float4_e2m1fn": "FLOAT4E2M1",
    "int4": "INT4", "uint4": "UINT4", "int2": "INT2", "uint2": "UINT2",
}


def path(name):
    return str(pathlib.Path(FOLDER.name) / name)


def tool(*arguments):
    subprocess.run([TOOL, *arguments], check=True)


def same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def through_npy(array, *type_name, version=None):
    with open(path("in.npy"), "wb") as file:
        np.lib.format.write_array(file, array, version=version, allow_pickle=False)
    tool("convert", path("in.npy"), path("out.npy"), *type_name)
    return np.load(path("out.npy"))


def check_npy():
    random = np.random.default_rng(1)
    for name in PLAIN:
        array = (random.standard_normal((3, 4, 5)) * 50).astype(np.float32).astype(name)
        for order in "CF":
            ordered = np.asarray(array, order=order)
            assert same(through_npy(ordered), array), (name, order)
            swapped = ordered.astype(ordered.dtype.newbyteorder(">"))
            assert same(through_npy(swapped), array), (name, order, "big-endian")
        for version in [(1, 0), (2, 0), (3, 0)]:
            assert same(through_npy(array, version=version), array), (name, version)
    for name, onnx_name in EXTENDED.items():
        dtype = np.dtype(getattr(ml_dtypes, name))
        array = np.array([[1, 0.5, 2], [1, 1, 0]] if name != "float8_e8m0fnu" else [[1, 0.5, 2], [1, 4, 8]], np.float32).astype(dtype)
        if name.startswith("int"):
            array[0] = -1
        # NumPy itself loads such files as void, so the bytes are what can be compared.
        through_npy(array, onnx_name)
        stored = io.BytesIO()
        np.save(stored, array)
        data = pathlib.Path(path("out.npy")).read_bytes()
        assert data[-array.nbytes:] == stored.getvalue()[-array.nbytes:], name
        assert np.lib.format.read_magic(io.BytesIO(data)) == (1, 0)
    for array in [np.array(["a", "żółć", "𝄞"]), np.array([["ab"]]), np.array(7), np.zeros((0, 3), np.int8), np.array([[1, 2]]).T]:
        assert same(through_npy(array), np.ascontiguousarray(array).reshape(array.shape)), array
    assert through_npy(np.array([b"ab", b"c"])).tolist() == ["ab", "c"]


def check_npz():
    arrays = {"x": np.arange(100000, dtype=np.float32), "dir/y": np.eye(3), "s": np.array("text")}
    for save in [np.savez, np.savez_compressed]:
        save(path("in.npz"), **arrays)
        tool("convert", path("in.npz"), path("out.npz"))
        with np.load(path("out.npz")) as read:
            assert sorted(read.files) == sorted(arrays)
            assert all(same(read[name], array) for name, array in arrays.items()), save


def check_polygraphy():
    samples = [{"x": np.full((2, 3), i, np.float32), "ids": np.arange(i + 1)} for i in range(3)]
    save_json(samples, path("in.json"))
    tool("inputs", path("in.json"), path("out.json"))
    read = load_json(path("out.json"))
    assert len(read) == 3
    assert all(same(a[name], b[name]) for a, b in zip(samples, read) for name in b) and all(len(sample) == 2 for sample in read)

    results = RunResults()
    for runner, count in [("onnxrt", 2), ("trt", 1)]:
        results.append((runner, [IterationResult({"y": np.eye(2) * i, "z": np.array([True])}, 0.25, runner) for i in range(count)]))
    results.save(path("in.json"))
    tool("results", path("in.json"), path("out.json"))
    read = RunResults.load(path("out.json"))
    assert read == results and [(name, len(iterations)) for name, iterations in read.items()] == [("onnxrt", 2), ("trt", 1)]
    assert read["onnxrt"][1].runtime == 0.25 and same(read["onnxrt"][1]["y"], np.eye(2))


for check in [check_npy, check_npz, check_polygraphy]:
    check()
    print(check.__name__, "passed")
