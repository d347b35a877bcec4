"""See benchmarks/peers/lengths."""
import argparse

import numpy as np

from . import decoder, machine, results, samples, tasks
from .engines import NAMES
from .generated import Model, bert
from .host import Host
from .paths import RESULTS
from .vernier_cli import built

HEAD = """# Sizes that change: Vernier, ONNX Runtime and OpenVINO

`benchmarks/peers/lengths`. fp32, each engine in a process of its own. The models are generated as exporters write them, with free batch and
lengths (`tests/transformers/make.py`), with random weights. Vernier's engine is built with one profile, and tuned at its middle. OpenVINO
compiles its model once, with free sizes. Rounds of the engines take turns, and each round begins with new processes, so that lengths and
tokens are as new to an engine as to a service that has just started; loading does not count. Ratios are the time of the better peer over
Vernier's, with the interval that holds 95 % of those of resampled rounds.
"""
SHORTEST, LONGEST = 8, 256
Feeds = dict[str, np.ndarray]


def feeds(model: Model, batch: int, length: int) -> Feeds:
    random = np.random.default_rng(length)
    return {name: random.integers(0, 1000, (batch, length)) if name == "input_ids" else
            np.full((batch, length), name == "attention_mask", np.int64) for name in model.inputs}


def loads(model: Model, arguments, longest: int, batch: int) -> tuple[dict[str, dict], str]:
    """Gives what each engine is loaded with, and the verdict of Vernier's."""
    options = []
    for flag, (count, length) in {"--min-shapes": (1, SHORTEST), "--opt-shapes": (1, 128), "--max-shapes": (batch, longest)}.items():
        options += [flag, ",".join(f"{name}:{count}x{length}" for name in model.inputs)]
    engine_file, verdict = built(f"bert-lengths-{batch}x{longest}", model.path, [*options, "--threads", arguments.threads])
    common = {"threads": arguments.threads}
    return {"vernier": {"engine_file": engine_file, **common}, "onnxruntime": {"model": model.path, **common},
            "openvino": {"model": model.path, **common}}, verdict


def new_and_seen(engine: str, options: dict, sequence: list[Feeds], shortest: Feeds) -> tuple[float, float]:
    """Seconds of all requests in a new process, and of the same once more. One request of another length comes first, for
    what an engine does once."""
    with Host(engine, machine.cores()[:options["threads"]], **options) as host:
        host(tasks.each_once, [shortest])
        return sum(host(tasks.each_once, sequence)), sum(host(tasks.each_once, sequence))


def requests(model: Model, arguments) -> str:
    """The table of random lengths."""
    drawn = np.random.default_rng(arguments.seed).integers(SHORTEST, LONGEST + 1, arguments.requests)
    sequence, shortest = [feeds(model, 1, int(length)) for length in drawn], feeds(model, 1, SHORTEST)
    options, verdict = loads(model, arguments, LONGEST, 1)
    taken = samples.interleaved({engine: lambda engine=engine: new_and_seen(engine, options[engine], sequence, shortest)
                                 for engine in NAMES}, arguments.rounds)
    rows = []
    for index, title in enumerate(("lengths never seen", "the same lengths again")):
        column = {engine: [[each[index]] for each in rounds] for engine, rounds in taken.items()}
        rows.append([title, *[f"{samples.percentile(column[engine], 50):.2f} s" for engine in NAMES], str(samples.to_better(column, 50))])
    new, seen = ({engine: [[each[index]] for each in rounds] for engine, rounds in taken.items()} for index in (0, 1))
    rows.append(["new over seen", *[str(samples.ratio(seen[engine], new[engine], 50)) for engine in NAMES]])
    return (f"{machine.conditions()} {arguments.requests} requests of random lengths {SHORTEST} to {LONGEST} "
            f"({len(set(drawn.tolist()))} of them different), batch 1, {arguments.threads} threads, {arguments.rounds} rounds; "
            f"verdict of Vernier's build: {verdict}. {agreement(options, sequence[0])}\n\n"
            + results.table(["", *NAMES.values(), "ratio to the better (95 %)"], rows))


def agreement(options: dict, inputs: Feeds) -> str:
    """How far the engines' results are from ONNX Runtime's: they do the same work."""
    outputs = {}
    for engine in NAMES:
        with Host(engine, **options[engine]) as host:
            outputs[engine] = next(iter(host(tasks.outputs, inputs).values()))
    distances = {engine: np.linalg.norm(outputs[engine] - outputs["onnxruntime"]) / np.linalg.norm(outputs["onnxruntime"])
                 for engine in ("vernier", "openvino")}
    return f"Relative L2 from ONNX Runtime: Vernier {distances['vernier']:.1e}, OpenVINO {distances['openvino']:.1e}."


def memory(model: Model, arguments) -> str:
    """Resident memory after many shapes beside that of a process that ran the largest alone."""
    lengths = range(LONGEST + 1 - arguments.shapes // 2, LONGEST + 1)
    shapes = [(batch, length) for batch in (1, 2) for length in lengths]
    np.random.default_rng(arguments.seed).shuffle(shapes)
    options, _ = loads(model, arguments, LONGEST, 2)
    rows = []
    for engine, name in NAMES.items():
        found = []
        for series in ([(2, LONGEST)] * 3, shapes):
            with Host(engine, machine.cores()[:arguments.threads], **options[engine]) as host:
                for batch, length in series:
                    host(tasks.each_once, [feeds(model, int(batch), int(length))])
                found.append(host(tasks.resident_memory))
        rows.append([name, *[f"{each / 2**20:.0f}" for each in found], f"{100 * (found[1] / found[0] - 1):+.1f} %"])
    return (f"{machine.conditions()} Resident memory of an engine's process: after runs of the largest shape alone (batch 2, length {LONGEST}), "
            f"and after {len(shapes)} shapes up to it, in random order.\n\n"
            + results.table(["", "largest alone, MiB", f"{len(shapes)} shapes, MiB", "more"], rows))


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks/peers/lengths")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--requests", type=int, default=120, help="random lengths")
    parser.add_argument("--tokens", type=int, default=96, help="that the decoder yields after its prompt")
    parser.add_argument("--prompt", type=int, default=16, help="tokens of the prompt")
    parser.add_argument("--shapes", type=int, default=498, help="for the memory: half as many lengths, in batches of 1 and 2")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--decoder", default="gpt2-14", help="kind of tests/transformers that decodes")
    parser.add_argument("tables", nargs="*", default=["lengths", "decoder", "memory"])
    arguments = parser.parse_intermixed_args()
    makers = {"lengths": lambda: requests(bert(), arguments), "decoder": lambda: decoder.table(arguments), "memory": lambda: memory(bert(), arguments)}
    path = RESULTS / f"lengths-{machine.name()}.md"
    sections = results.read_sections(path)
    for name in arguments.tables:
        title = {"lengths": "BERT-base, random lengths", "decoder": f"Decoder with KV cache, {arguments.decoder}",
                 "memory": "BERT-base, memory after many shapes"}[name]
        try:
            sections[title] = makers[name]()
        except (RuntimeError, OSError) as error:
            sections[title] = results.reason(error)
        print(f"{title}\n{sections[title]}\n", flush=True)
    results.write_sections(path, HEAD, sections)


if __name__ == "__main__":
    main()
