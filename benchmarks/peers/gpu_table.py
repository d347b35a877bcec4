#!/usr/bin/env python3
"""Times Vernier, torch and ONNX Runtime on one GPU, network by network: gpu_table.py --vernier PROGRAM [--networks resnet50 …] FOLDER

FOLDER has the skeletons with their weights (resnet50.ts/model.onnx, …; fill_weights.py of ../shared makes them). Torch runs networks of the same
architecture with weights of its own (torch_cuda.py), eagerly and compiled, and with --onnxruntime its CUDA provider runs the same files
(onnxruntime_cuda.py: the better of its two ways). All take inputs from the host and give the result back there.
Prints a row of a Markdown table as soon as it is known: medians in ms, by how much Vernier is ahead, and the error of its outputs against the
reference without rounding (relative L2, at batch 1). A batch beyond --verified is built without the verdict, because the reference takes long.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

TORCH_NAMES = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16"}
SHAPES = {"bert_base": "input0:{n}x128,input1:{n}x128"}
IMAGES = "input:{n}x3x224x224"


def torch_times(arguments, network):
    """Maps (precision, batch, eager or compiled) to ms."""
    command = [sys.executable, pathlib.Path(__file__).with_name("torch_cuda.py"), "--copies", "--networks", network, "--precisions",
               *(TORCH_NAMES[name] for name in arguments.precisions), "--batches", *map(str, arguments.batches)]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=arguments.seconds)
    if done.returncode != 0:
        print(f"torch fails at {network}: {done.stderr.strip()[-300:]}", flush=True)
    found = re.findall(rf"^{network} (\S+) batch (\d+) (\S+): ([\d.]+) ms", done.stdout, re.M)
    return {(precision, int(batch), how): float(time) for precision, batch, how, time in found}


def onnxruntime_times(arguments, network):
    """Maps (precision, batch) to ms."""
    times = {}
    precisions = [TORCH_NAMES[name] for name in arguments.precisions if name != "bf16"]
    if not arguments.onnxruntime or not precisions:
        return times
    for batch in arguments.batches:
        command = [sys.executable, pathlib.Path(__file__).with_name("onnxruntime_cuda.py"), model_of(arguments, network), "--precisions", *precisions,
                   "--shapes", shapes_of(network, batch)]
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=arguments.seconds)
        if done.returncode != 0 or "fails" in done.stdout:
            print(f"ONNX Runtime at {network}: {(done.stdout + done.stderr).strip()[-400:]}", flush=True)
        for precision, time in re.findall(r"^(\S+) \S+: ([\d.]+) ms", done.stdout, re.M):
            times[precision, batch] = min(float(time), times.get((precision, batch), float("inf")))
    return times


def model_of(arguments, network):
    return arguments.folder / f"{network}.ts/model.onnx"


def shapes_of(network, batch):
    return SHAPES.get(network, IMAGES).format(n=batch)


class Vernier:
    def __init__(self, arguments, network, precision, folder):
        self.arguments, self.folder, self.network = arguments, folder, network
        self.model = model_of(arguments, network)
        precisions = [] if precision == "fp32" else [f"--{precision}"]
        self.options = ["--cuda", "--seed", "1", "--timing-cache", folder / "timings.json", *precisions]
        self.engine = folder / "model.engine"

    def report(self, verb, *options):
        path = self.folder / "report.json"
        path.unlink(missing_ok=True)
        command = [self.arguments.vernier, verb, self.model, *options, "--json", path, "--quiet"]
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=self.arguments.seconds)
        if not path.exists():
            raise RuntimeError(f"{verb} ends with {done.returncode}: {done.stderr.strip()[-300:]}")
        return json.loads(path.read_text())

    def error(self):
        self.report("build", *self.options, "--no-verify", "-o", self.engine)  # the rows have verdicts
        compared = self.report("run", "--reference=ideal", "--engine", self.engine, "--seed", "1")["comparisons"]
        return max(tensor["metrics"]["relative_l2"] for comparison in compared for tensor in comparison["tensors"])

    def time(self, batch):
        verify = [] if batch <= self.arguments.verified else ["--no-verify"]
        report = self.report("bench", *self.options, *verify, "--shapes", shapes_of(self.network, batch), "--duration", "1.5")
        return report["latency_ms"]["p50"], report["environment"].get("accuracy", "not verified")


def row(network, precision, batch, theirs, vernier, error):
    torch_name = TORCH_NAMES[precision]
    eager, compiled, runtime = (theirs.get(key) for key in ((torch_name, batch, "eager"), (torch_name, batch, "compiled"), (torch_name, batch)))
    ours, accuracy = vernier.time(batch)
    ratio = lambda time: f"{time:.3f} ({time / ours:.2f} x)" if time else "-"
    print(f"| {network} | {batch} | {precision} | {ours:.3f} | {ratio(compiled)} | {ratio(eager)} | {ratio(runtime)} | {error:.1e} | {accuracy} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--vernier", required=True)
    parser.add_argument("--networks", nargs="+", default=["resnet50", "bert_base", "vit_b16"])
    parser.add_argument("--precisions", nargs="+", default=["fp16", "fp32"], choices=TORCH_NAMES)
    parser.add_argument("--batches", nargs="+", type=int, default=[1, 8])
    parser.add_argument("--verified", type=int, default=8, help="the largest batch with a verdict")
    parser.add_argument("--onnxruntime", action="store_true", help="times ONNX Runtime, too")
    parser.add_argument("--seconds", type=float, default=300, help="that a command may take")
    arguments = parser.parse_args()
    print("| network | batch | type | Vernier, ms | torch.compile | torch eager | ONNX Runtime | error | verdict |\n|---|---|---|---|---|---|---|---|---|", flush=True)
    for network in arguments.networks:
        theirs = torch_times(arguments, network) | onnxruntime_times(arguments, network)
        for precision in arguments.precisions:
            with tempfile.TemporaryDirectory() as folder:
                vernier = Vernier(arguments, network, precision, pathlib.Path(folder))
                try:
                    error = vernier.error()
                    for batch in arguments.batches:
                        row(network, precision, batch, theirs, vernier, error)
                except (RuntimeError, subprocess.TimeoutExpired) as failure:
                    print(f"{network} {precision}: {failure}", flush=True)


if __name__ == "__main__":
    main()
