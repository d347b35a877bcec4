"""Measures what a run in Python costs beside one over the C interface: session.py (in the environment .venv, after scripts/build)

A model of one Relu on 16 floats, so that little but the calls is timed; both sides bind the input, run on one thread, and look
at the output. Rounds alternate, and the median of the rounds counts. Prints microseconds, and ends with 1 beyond 10 of overhead.
"""

import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "build/release/python"))

import numpy as np
import onnx
import vernier_engine as vn
from onnx import TensorProto, helper

RUNS, ROUNDS, LIMIT = 20_000, 5, 10.0


def save_model(path):
    value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4, 4]) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "relu", value[:1], value[1:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)


def microseconds(call):
    times = []
    for _ in range(RUNS):
        began = time.perf_counter_ns()
        call()
        times.append(time.perf_counter_ns() - began)
    return statistics.median(times) / 1000


def main():
    with tempfile.TemporaryDirectory() as folder:
        model, engine = f"{folder}/relu.onnx", f"{folder}/relu.engine"
        save_model(model)
        vn.build(model, output=engine)
        session = vn.Session(engine, threads=1)
        x = np.full((4, 4), 0.5, np.float32)
        calls = {"run(None, feeds)": lambda: session.run(None, {"x": x}), "session(feeds)['y']": lambda: session({"x": x})["y"]}
        in_c, in_python = [], {name: [] for name in calls}
        for _ in range(ROUNDS):
            command = [ROOT / "build/release/bin/session_bench", engine, "x", "4x4", str(RUNS)]
            in_c.append(float(subprocess.run(command, capture_output=True, text=True, check=True).stdout))
            for name, call in calls.items():
                in_python[name].append(microseconds(call))
    base = statistics.median(in_c)
    print(f"C interface: {base:.2f} us")
    worst = 0.0
    for name, times in in_python.items():
        cost = statistics.median(times) - base
        worst = max(worst, cost)
        print(f"{name}: {base + cost:.2f} us, {cost:.2f} us more")
    return 0 if worst <= LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
