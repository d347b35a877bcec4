"""Command lines that people have, of trtexec and Polygraphy: foreign_commands_test.py VERNIER SOURCE_DIR

foreign_commands.toml says what each becomes. All are mapped; those with inputs are run, on a small model that has these inputs.
"""
import os
import pathlib
import re
import shlex
import subprocess
import tempfile
import tomllib
import unittest

import judging
import onnx
from onnx import TensorProto, helper

TABLE = tomllib.loads((pathlib.Path(__file__).parent / "foreign_commands.toml").read_text())["command"]
TYPES = {"f32": TensorProto.FLOAT, "i32": TensorProto.INT32, "i64": TensorProto.INT64}
# A command is tried, not measured.
QUICK = {"trtexec": ["--duration=0", "--iterations=9", "--warmUp=0"], "polygraphy": []}


def call(words, folder):
    done = subprocess.run([judging.VERNIER, *words], capture_output=True, text=True, timeout=120, cwd=folder)
    return done.returncode, done.stdout, done.stderr


def value_info(name, text):
    kind, dims = re.fullmatch(r"(\w+)\[(.*)\]", text).groups()
    sizes = [int(size) if size.isdigit() else size for size in dims.split(",")]
    return helper.make_tensor_value_info(name, TYPES[kind], sizes)


def make_model(path, inputs, names):
    """Gives the mean of each input, in float; its nodes have these names, or others of their own."""
    values, nodes, outputs = [], [], []
    for i, (name, text) in enumerate(inputs.items()):
        values.append(value_info(name, text))
        nodes += [helper.make_node("Cast", [name], [f"float_{i}"], name=f"cast_{i}", to=TensorProto.FLOAT),
                  helper.make_node("Sigmoid", [f"float_{i}"], [f"gate_{i}"], name=f"gate_{i}"),
                  helper.make_node("ReduceMean", [f"gate_{i}"], [f"mean_{i}"], name=f"mean_{i}", keepdims=1)]  # fmt: skip
        rank = len(values[-1].type.tensor_type.shape.dim)
        outputs.append(helper.make_tensor_value_info(f"mean_{i}", TensorProto.FLOAT, [1] * rank))
    for made, name in zip(nodes, names):
        made.name = name
    model = helper.make_model(helper.make_graph(nodes, "stand_in", values, outputs), opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 8
    onnx.checker.check_model(model)
    path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(model, path)


class ForeignCommands(unittest.TestCase):
    def test_the_table_is_large_and_names_each_once(self):
        lines = [command["line"] for command in TABLE]
        self.assertEqual(len(lines), len(set(lines)))
        self.assertGreaterEqual(len(lines), 156)
        self.assertTrue(all(command["seen"] for command in TABLE))

    def test_each_becomes_what_the_table_says(self):
        with tempfile.TemporaryDirectory() as folder:
            for command in TABLE:
                with self.subTest(line=command["line"]):
                    tool, *words = shlex.split(command["line"])
                    status, out, err = call([tool, "--print-only", *words], folder)
                    if "becomes" in command:
                        self.assertEqual(status, 0, err)
                        self.assertIn(f"equivalent: {command['becomes']}\n", out)
                    elif "told" in command:
                        self.assertEqual(status, 0, err)
                        self.assertIn(command["told"], out)
                    elif "refused" in command:
                        self.assertEqual(status, 4, out + err)
                        self.assertIn(command["refused"], err)
                    else:
                        self.assertEqual(status, 2, out + err)
                        self.assertIn(command["unknown"], err)

    def test_those_with_a_model_run(self):
        ran = 0
        for command in TABLE:
            if "inputs" not in command:
                continue
            words = shlex.split(command["line"])
            with self.subTest(line=command["line"]), tempfile.TemporaryDirectory() as name:
                folder = pathlib.Path(name)
                [model] = {word.removeprefix("--onnx=") for word in words if word.endswith(".onnx")}
                make_model(folder / model, command["inputs"], command.get("nodes", []))
                for path, size in command.get("files", {}).items():
                    (folder / path).write_bytes(bytes(size))
                for file in command["becomes"].split():
                    os.makedirs((folder / file).parent, exist_ok=True) if file.endswith((".trt", ".engine", ".plan")) else None
                stand_in = ["--stand-in", "cpu"] if words[0] == "polygraphy" and "--trt" in words else []
                status, out, err = call([*words, *QUICK[words[0]], *stand_in], folder)
                self.assertEqual(status, 0, out + err)
                ran += 1
        self.assertGreaterEqual(ran, 53)


if __name__ == "__main__":
    judging.main()
