"""Bad input ends with exit status 3 or 4, within two seconds and a gigabyte, and says file and what to do. bad_input_test.py VERNIER

Every case is a model (or data) that is broken in one way; the message must hold the words that name the fault.
"""
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnxruntime import InferenceSession
from onnxruntime.capi.onnxruntime_pybind11_state import Fail, InvalidGraph

VERNIER = ""
SECONDS, BYTES = 2.0, 1 << 30


def info(name, shape=("N", 4), element=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, element, shape)


def model(nodes, inputs=None, outputs=None, weights=(), opsets=(("", 17),), **attributes):
    graph = helper.make_graph(nodes, "g", inputs if inputs is not None else [info("x")], outputs if outputs is not None else [info("y", None)], list(weights))
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid(*opset) for opset in opsets], **attributes)
    made.ir_version = 8
    return made


def relu(source="x", target="y", **attributes):
    return helper.make_node("Relu", [source], [target], name=f"relu_{target}", **attributes)


def weight(name="w", shape=(4, 2), **fields):
    tensor = numpy_helper.from_array(np.ones(shape, np.float32), name)
    for key, value in fields.items():
        if key == "dims":
            del tensor.dims[:]
            tensor.dims.extend(value)
        else:
            setattr(tensor, key, value)
    return tensor


def external(location, **entries):
    tensor = weight()
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in {"location": location, **entries}.items():
        tensor.external_data.add(key=key, value=str(value))
    return model([helper.make_node("MatMul", ["x", "w"], ["y"], name="mm")], weights=[tensor])


def recursive():
    call = helper.make_node("F", ["a"], ["b"], domain="local")
    function = helper.make_function("local", "F", ["a"], ["b"], [call], [helper.make_opsetid("local", 1)])
    return model([helper.make_node("F", ["x"], ["y"], domain="local", name="call")], opsets=(("", 17), ("local", 1)), functions=[function])


def in_a_branch():
    """The sizes are inputs, so that only running can tell."""
    long = helper.make_graph([helper.make_node("Range", ["zero", "n", "one"], ["t"], name="range")], "t", [], [info("t", None, TensorProto.INT64)])
    short = helper.make_graph([helper.make_node("Identity", ["n1"], ["e"], name="id")], "e", [], [info("e", None, TensorProto.INT64)])
    numbers = [numpy_helper.from_array(np.array(v, t), n) for n, v, t in (("zero", 0, np.int64), ("one", 1, np.int64), ("n", 10**9, np.int64), ("n1", [1], np.int64), ("c", True, bool))]
    return model([helper.make_node("If", ["c"], ["y"], name="if", then_branch=long, else_branch=short)], [], [info("y", None, TensorProto.INT64)], weights=numbers)


VALID = model([helper.make_node("MatMul", ["x", "w"], ["h"], name="mm"), relu("h")], weights=[weight()])

# ONNX Runtime, which runs many an odd model (odd_models_test.py), refuses these, too.
REFUSED_BY_OTHERS = ("value_made_twice", "unread_value_made_twice")

# Name -> (model or bytes, words of the message, exit status)
MODELS = {
    "empty": (b"", ["empty"], 3),
    "text": (b"hello, I am no model", ["not an ONNX model"], 3),
    "cyclic": (model([relu("b", "a"), relu("a", "b"), relu("b", "y")]), ["cycle", "relu_a"], 3),
    "self_loop": (model([relu("y", "y")]), ["cycle"], 3),
    "value_made_twice": (model([relu(), relu()]), ["'y' is made twice"], 3),
    "unread_value_made_twice": (model([relu("x", "t"), relu("x", "t"), relu()]), ["'t' is made twice"], 3),
    "input_twice": (model([relu()], [info("x"), info("x")]), ["'x'", "twice"], 3),
    "dangling_input": (model([relu("nowhere")]), ["'nowhere'", "relu_y"], 3),
    "output_of_nobody": (model([relu("x", "z")]), ["'y'", "made by no node"], 3),
    "huge_weight": (model([relu()], weights=[weight(dims=[1 << 30, 1 << 30])]), ["'w'"], 3),
    "huge_weight_overflow": (model([relu()], weights=[weight(dims=[1 << 62, 1 << 62])]), ["too many elements"], 3),
    "negative_weight": (model([relu()], weights=[weight(dims=[-2, 4])]), ["negative"], 3),
    "short_weight": (model([relu()], weights=[weight(raw_data=b"1234")]), ["'w'", "needs 32 bytes"], 3),
    "weight_of_no_type": (model([relu()], weights=[weight(data_type=99)]), ["'w'", "element type 99"], 3),
    "negative_input": (model([relu()], [info("x", (-7, 4))]), ["-7"], 3),
    "huge_fill": (model([helper.make_node("ConstantOfShape", ["s"], ["y"], name="fill")], [], weights=[numpy_helper.from_array(np.array([1 << 60], np.int64), "s")]), ["fill"], 3),
    "huge_range": (model([helper.make_node("Range", ["a", "b", "c"], ["y"], name="range")], [], weights=[numpy_helper.from_array(np.array(v, np.int64), n) for n, v in zip("abc", (0, 1 << 60, 1))]), ["range"], 3),
    "huge_tile": (model([helper.make_node("Tile", ["w", "r"], ["y"], name="tile")], [], weights=[weight(), numpy_helper.from_array(np.array([1 << 30, 1 << 30], np.int64), "r")]), ["tile"], 3),
    "long_range": (model([helper.make_node("Range", ["a", "b", "c"], ["y"], name="range")], [], weights=[numpy_helper.from_array(np.array(v, np.int64), n) for n, v in zip("abc", (0, 10**9, 1))]), ["range", "--memory-limit", "4294967296"], 3),
    "long_float_range": (model([helper.make_node("Range", ["a", "b", "c"], ["y"], name="range")], [], weights=[numpy_helper.from_array(np.array(v, np.float32), n) for n, v in zip("abc", (0, 1e9, 1))]), ["range", "--memory-limit"], 3),
    "long_fill": (model([helper.make_node("ConstantOfShape", ["s"], ["f"], name="fill"), relu("f")], [], weights=[numpy_helper.from_array(np.array([10**9], np.int64), "s")]), ["fill", "--memory-limit"], 3),
    "long_tile": (model([helper.make_node("Tile", ["w", "r"], ["y"], name="tile")], [], weights=[weight(), numpy_helper.from_array(np.array([10**4, 10**5], np.int64), "r")]), ["tile", "--memory-limit"], 3),
    "long_expand": (model([helper.make_node("Expand", ["w", "s"], ["e"], name="expand"), relu("e")], [], weights=[weight(shape=(1,)), numpy_helper.from_array(np.array([10**9], np.int64), "s")]), ["expand", "--memory-limit"], 3),
    "long_bool_expand": (model([helper.make_node("Expand", ["w", "s"], ["y"], name="expand")], [], weights=[numpy_helper.from_array(np.array([True]), "w"), numpy_helper.from_array(np.array([10**9], np.int64), "s")]), ["expand", "--memory-limit"], 3),
    "long_range_in_a_branch": (in_a_branch(), ["range", "--memory-limit"], 3),
    "unknown_operator": (model([helper.make_node("Frobnicate", ["x"], ["y"], name="frob")]), ["Frobnicate", "frob"], 4),
    "unknown_domain": (model([helper.make_node("Relu", ["x"], ["y"], domain="nobody", name="r")], opsets=(("", 17), ("nobody", 1))), ["Relu", "nobody"], 4),
    "unknown_domain_not_imported": (model([helper.make_node("Gelu", ["x"], ["y"], domain="nobody", name="g")]), ["Gelu", "nobody", "is not known"], 4),
    "no_domain_imported": (model([relu()], opsets=()), ["ai.onnx", "import"], 3),
    "future_opset": (model([relu()], opsets=(("", 999),)), ["999"], 4),
    "opset_zero": (model([relu()], opsets=(("", 0),)), ["opset 0"], 3),
    "type_error": (model([helper.make_node("Add", ["x", "i"], ["y"], name="add")], [info("x"), info("i", ("N", 4), TensorProto.INT64)]), ["add"], 3),
    "shape_error": (model([helper.make_node("MatMul", ["x", "w"], ["y"], name="mm")], [info("x", (2, 3))], weights=[weight()]), ["mm"], 3),
    "attribute_of_wrong_type": (model([helper.make_node("Softmax", ["x"], ["y"], name="sm", axis=0.5)]), ["sm", "axis"], 3),
    "axis_out_of_range": (model([helper.make_node("Concat", ["x", "x"], ["y"], name="cat", axis=7)]), ["cat", "axis 7"], 3),
    "missing_input": (model([helper.make_node("MatMul", ["x"], ["y"], name="mm")]), ["mm"], 3),
    "too_many_inputs": (model([helper.make_node("Relu", ["x", "x", "x"], ["y"], name="r")]), ["r"], 3),
    "recursive_function": (recursive(), ["call"], 3),
    "no_external_file": (external("nothing.bin"), ["nothing.bin"], 3),
    "external_parent": (external("../secret.bin"), ["../secret.bin", "out of the folder"], 3),
    "external_absolute": (external("/etc/passwd"), ["absolute"], 3),
    "external_link": (external("link.bin"), ["link"], 3),
    "external_beyond_end": (external("short.bin", offset=0), ["short.bin"], 3),
    "external_offset": (external("short.bin", offset=1 << 62, length=32), ["short.bin"], 3),
}

DATA = {
    "wrong_size.npy": np.zeros((3, 5), np.float32),
    "wrong_type.npy": np.zeros((3, 4), np.float64),
    "wrong_rank.npy": np.zeros(4, np.float32),
    "truncated.npy": b"\x93NUMPY\x01\x00",
    "text.npy": b"not an array",
    "wrong.bin": b"\0" * 15,
    "wrong_name.npz": {"z": np.zeros((3, 4), np.float32)},
    "missing.npz": {},
    "text.npz": b"PK\x03\x04 no archive",
    "text.safetensors": b"\xff" * 64,
    "text.json": b"{]",
    "absent.npy": None,
}


def run(*arguments):
    before = time.monotonic()
    process = subprocess.Popen([VERNIER, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, err = process.stdout.read(), process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = status
    process.stdout.close(), process.stderr.close()
    code = os.waitstatus_to_exitcode(status)
    return code, (out + err).decode(errors="replace"), time.monotonic() - before, usage.ru_maxrss * 1024


class BadInput(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def check(self, arguments, words, status):
        code, text, seconds, memory = run(*arguments)
        self.assertEqual(code, status, text)
        self.assertIn("vernier: ", text)
        for word in words:
            self.assertIn(word, text)
        self.assertLess(seconds, SECONDS)
        self.assertLess(memory, BYTES)

    def test_models(self):
        folder = self.folder / "inner"
        folder.mkdir()
        (self.folder / "secret.bin").write_bytes(b"\0" * 32)
        (folder / "short.bin").write_bytes(b"\0" * 7)
        (folder / "link.bin").symlink_to(self.folder / "secret.bin")
        for name, (content, words, status) in MODELS.items():
            with self.subTest(name):
                path = folder / f"{name}.onnx"
                path.write_bytes(content if isinstance(content, bytes) else content.SerializeToString())
                self.check(["run", path, "--reference"], [path.name, *words], status)

    def test_onnx_runtime_refuses_them_too(self):
        for name in REFUSED_BY_OTHERS:
            with self.subTest(name), self.assertRaises((Fail, InvalidGraph)):
                InferenceSession(MODELS[name][0].SerializeToString(), providers=["CPUExecutionProvider"])

    def test_missing_and_special_files(self):
        for path in (self.folder / "absent.onnx", self.folder, pathlib.Path("/dev/zero")):
            with self.subTest(str(path)):
                self.check(["inspect", path], [str(path)], 3)

    def test_every_truncation(self):
        whole = VALID.SerializeToString()
        path = self.folder / "model.onnx"
        for length in sorted({*range(0, len(whole), 7), len(whole) - 1}):
            with self.subTest(length):
                path.write_bytes(whole[:length])
                code, text, seconds, memory = run("inspect", path)
                self.assertIn(code, (3, 4), text)
                self.assertLess(seconds, SECONDS)
                self.assertLess(memory, BYTES)

    def test_flipped_bits(self):
        """A flipped bit may leave a valid model (a weight, a name); it never crashes, and failures are of the right kind."""
        whole = bytearray(VALID.SerializeToString())
        path = self.folder / "model.onnx"
        generator = random.Random(1)
        for _ in range(120):
            bit = generator.randrange(len(whole) * 8)
            damaged = bytearray(whole)
            damaged[bit // 8] ^= 1 << (bit % 8)
            with self.subTest(bit):
                path.write_bytes(damaged)
                code, text, seconds, memory = run("run", path, "--reference", "--reference=ideal")
                self.assertIn(code, (0, 1, 3, 4), text)
                self.assertLess(seconds, SECONDS)
                self.assertLess(memory, BYTES)

    def test_data(self):
        path = self.folder / "model.onnx"
        path.write_bytes(VALID.SerializeToString())
        for name, content in DATA.items():
            with self.subTest(name):
                file = self.folder / name
                if isinstance(content, bytes):
                    file.write_bytes(content)
                elif isinstance(content, dict):
                    np.savez(file, **content)
                elif content is not None:
                    np.save(file, content)
                argument = f"x={file}" if file.suffix in (".npy", ".bin") else str(file)
                self.check(["run", path, "--reference", "--data", argument, "--shapes", "x:3x4"], [name], 3)

    def test_usage(self):
        path = self.folder / "model.onnx"
        path.write_bytes(VALID.SerializeToString())
        for arguments in (["run", path, "--reference", "--memory-limit", "0"], ["run", path, "--reference", "--data", path, "--preprocess", "wobble"], ["frobnicate"], ["run", path], ["run", path, "--reference", "--wobble"], ["run", path, "--reference", "--atol", "x:y"],
                          ["run", path, "--reference", "--shapes", "x:axb"], ["run", path, "--bf16", "--reference"], ["run", path, "--runner", "noequals"], ["inspect"]):
            with self.subTest(str(arguments)):
                code, text, _, _ = run(*arguments)
                self.assertEqual(code, 2, text)

    def test_verbs_and_runners_to_come_say_so(self):
        path = self.folder / "model.onnx"
        path.write_bytes(VALID.SerializeToString())
        for arguments in (["replay", path], ["run", path, "--torch"]):
            with self.subTest(str(arguments)):
                self.check(arguments, ["not part of this version"], 4)

    def test_precision_options(self):
        path, plan = self.folder / "model.onnx", self.folder / "plan.json"
        path.write_bytes(VALID.SerializeToString())
        plan.write_text('{"schema": "vernier-plan", "version": 1, "layers": {"gone": {"compute": "f32", "accumulate": "f32", "store": "f32"}}}')
        for options, text, status in ((["--reference=planned"], "--cpu", 2),
                                      (["--cpu", "--bf16", "--fp16"], "exclude", 2),
                                      (["--cpu", "--int8"], "--calibration", 2),
                                      (["--cpu", "--layer-precisions", "gone:fp32"], "'gone'", 2),
                                      (["--cpu", "--layer-precisions", "gone"], "NODE:TYPE", 2),
                                      (["--cpu", "--precision-constraints", "maybe"], "obey", 2),
                                      (["--onnxruntime", "--bf16"], "does not apply", 2),
                                      (["--cpu", "--plan", plan], "'gone'", 3),
                                      (["--cpu", "--int8", "--calibration", path], "no calibration", 3)):
            with self.subTest(str(options)):
                self.check(["run", path, *options], [text], status)


if __name__ == "__main__":
    VERNIER = sys.argv.pop(1)
    unittest.main()
