"""Tokens a second of a decoder with KV cache, beside what reading its weights allows. See benchmarks/peers/lengths."""
import json
import subprocess

import numpy as np

from . import engines, generated, machine, results, samples, tasks
from .host import Host
from .paths import BUILD
from .vernier_cli import built, key

NAMES = {**engines.NAMES, "openvino stateful": "OpenVINO with states"}


def caches_of(model: generated.Model, capacity: int) -> engines.Caches:
    pairs = {name: name.replace("past_key_values", "present") for name in model.inputs if name.startswith("past_key_values")}
    if not pairs:
        raise RuntimeError(f"{model.path.name} has no past_key_values")
    _, heads, _, width = model.inputs[next(iter(pairs))]
    return engines.Caches(pairs, heads, width, capacity)


def weight_bytes(model: generated.Model) -> int:
    """Counts what a token multiplies: embeddings are read by the row, and small constants do not count."""
    import onnx

    graph = onnx.load(model.path, load_external_data=False).graph
    read = {name for node in graph.node if node.op_type in ("MatMul", "Gemm") for name in node.input}
    views = {node.output[0]: node.input[0] for node in graph.node if node.op_type in ("Transpose", "Identity")}
    read |= {views[name] for name in read if name in views}
    return sum(4 * int(np.prod(tensor.dims)) for tensor in graph.initializer if tensor.name in read)


def bandwidth(threads: int) -> float:
    """Bytes a second that so many threads read, the largest of some passes."""
    done = subprocess.run([BUILD / "bin/bandwidth_bench", str(threads)], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["largest"]


def profile(model: generated.Model, arguments) -> list:
    """From an empty past to the last token, tuned in the middle for one token at a time."""
    last, middle = arguments.prompt + arguments.tokens, arguments.prompt + arguments.tokens // 2
    words = []
    for flag, tokens, past in (("--min-shapes", 1, 0), ("--opt-shapes", 1, middle), ("--max-shapes", arguments.prompt, last)):
        sizes = {"batch": 1, "sequence": tokens, "past": past, "past + sequence": past + tokens}
        words += [flag, ",".join(f"{name}:{'x'.join(str(sizes.get(dim, dim)) for dim in dims)}" for name, dims in model.inputs.items())]
    return words


def new_and_again(engine: str, options: dict, caches: engines.Caches, tokens: np.ndarray, prompt: int) -> tuple[list, list, np.ndarray]:
    """Seconds of each token in a new process, and of the same once more; the last logits."""
    with Host(engine, machine.cores()[:options["threads"]], **options) as host:
        first, logits = host(tasks.decode, caches, tokens[:prompt], tokens[prompt:])
        again, _ = host(tasks.decode, caches, tokens[:prompt], tokens[prompt:])
        return first, again, logits


def loads(model: generated.Model, arguments, caches: engines.Caches) -> tuple[dict[str, dict], str]:
    options = [*profile(model, arguments), "--threads", arguments.threads]
    engine_file, verdict = built(key(f"decoder {arguments.decoder}"), model.path, options)
    common = {"threads": arguments.threads}
    return {"vernier": {"engine_file": engine_file, **common}, "onnxruntime": {"model": model.path, **common},
            "openvino": {"model": model.path, **common}, "openvino stateful": {"model": model.path, "stateful": caches.pairs, **common}}, verdict


def table(arguments) -> str:
    model = generated.decoder(arguments.decoder)
    caches = caches_of(model, arguments.prompt + arguments.tokens)
    tokens = np.random.default_rng(arguments.seed).integers(0, 1000, arguments.prompt + arguments.tokens)
    options, verdict = loads(model, arguments, caches)
    measures = {name: lambda name=name: new_and_again(name.split()[0], options[name], caches, tokens, arguments.prompt) for name in NAMES}
    speeds, taken = [bandwidth(arguments.threads)], {}
    for name, rounds in samples.interleaved(measures, arguments.rounds).items():
        taken[name] = rounds
    speeds.append(bandwidth(arguments.threads))
    parts = [{name: [each[index] for each in rounds] for name, rounds in taken.items()} for index in (0, 1)]
    sums = [{name: [[sum(times)] for times in rounds] for name, rounds in part.items()} for part in parts]
    ideal = taken["onnxruntime"][0][2]
    limit = max(speeds) / weight_bytes(model)
    rows = []
    for name, title in NAMES.items():
        row = [title]
        for part, total in zip(parts, sums):
            rate = arguments.tokens / samples.percentile(total[name], 50)
            p50, p95 = (samples.percentile(part[name], percent) for percent in (50, 95))
            row += [f"{rate:.0f}", f"{100 * rate / limit:.0f} %", f"{1e3 * p50:.2f}", f"{1e3 * p95:.2f}", f"{p95 / p50:.2f}"]
        rows.append([*row, f"{np.linalg.norm(taken[name][0][2] - ideal) / np.linalg.norm(ideal):.1e}"])
    ratios = " and ".join(f"{samples.to_better(total, 50)} {when}" for total, when in zip(sums, ("the first time", "again")))
    columns = [f"{what}, {when}" for when in ("first time", "again") for what in ("tokens/s", "of the limit", "p50 ms", "p95 ms", "p95/p50")]
    return (f"{machine.conditions()} {arguments.tokens} tokens after a prompt of {arguments.prompt}, batch 1, {arguments.threads} threads, "
            f"{arguments.rounds} rounds; the tokens are given, so that all engines do the same work. Weights of a token: "
            f"{weight_bytes(model) / 1e6:.0f} MB; {arguments.threads} threads read {speeds[0] / 1e9:.1f} GB/s before and {speeds[1] / 1e9:.1f} after, "
            f"which allows {limit:.0f} tokens/s. Verdict of Vernier's build: {verdict}. The last logits are compared with ONNX Runtime's. "
            f"Vernier to the better peer, in tokens a second: {ratios}.\n\n" + results.table(["", *columns, "rel. L2"], rows))
