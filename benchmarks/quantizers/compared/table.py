"""The table of quantizers on labelled data: python -m compared.table [MODEL…]"""
import pathlib
import sys
import tempfile
import time

from . import measured, tested_models
from .paths import ROOT
from .tools import Answer, Tools

sys.path.insert(0, str(ROOT / "benchmarks/peers"))
from side_by_side import machine  # noqa: E402

COLUMNS = ("tool", "points", "lost", "ONNX Runtime ms", "times f32", "Vernier ms", "Vernier's points", "answer after s")
HEAD = """# Quantizers on labelled data

`benchmarks/quantizers/run`. Points are those of the task, 100 × the share of held-out rows that are told right, in ONNX Runtime: the file that the
tool made, and of Vernier's answers the exported one. *Lost* is what f32 has more. Latencies are medians of one run of the rows that are named, with as
many threads as there are cores; files take turns in ONNX Runtime. Vernier's answers are run in its own engine as well, which is what `tune` aims at.
"""


def cell(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


def row(answer: Answer, tested, folder: pathlib.Path, files: dict[str, measured.OnnxruntimeFile]) -> tuple:
    """The cells of a line, of which some are unknown."""
    exact, file = files["as it is"], files.get(answer.tool)
    own_ms = own_points = None
    if answer.model is not None:
        own_points = measured.vernier_points(tested, answer.model, answer.engine, folder)
        own_ms = measured.vernier_milliseconds(tested, answer.model, answer.engine, folder)
    if file is None:
        return (answer.tool, answer.failure, "", "", "", cell(own_ms, ".3f"), cell(own_points, ".2f"), cell(answer.seconds, ".1f"))
    right = file.points()
    return (answer.tool, cell(right, ".2f"), cell(exact.points() - right, ".2f"), cell(file.milliseconds(), ".3f"),
            cell(exact.milliseconds() / file.milliseconds(), ".2f"), cell(own_ms, ".3f"), cell(own_points, ".2f"), cell(answer.seconds, ".1f"))  # fmt: skip


def loaded(answers: list[Answer], tested) -> dict[str, measured.OnnxruntimeFile]:
    files = {}
    for answer in answers:
        if answer.file is None or answer.failure:
            continue
        try:
            files[answer.tool] = measured.OnnxruntimeFile(answer.file, tested)
        except Exception as error:  # of ONNX Runtime, of many types: no kernel for a type of the file, first of all
            answer.failure = "no kernel in ONNX Runtime: " + str(error).splitlines()[0][:120]
    return files


def section(name: str) -> str:
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        tested = tested_models.MAKERS[name](folder)
        answers = Tools(tested, folder).answers()
        files = loaded(answers, tested)
        waited, start = machine.waiting(), time.monotonic()
        measured.in_turn(list(files.values()))
        busy = (machine.waiting() - waited) / 1e6 / (time.monotonic() - start)
        lines = [f"## {name}: {len(tested.calibration)} rows to calibrate on, {len(tested.labels)} held out, {len(tested.batches(tested.held_out)[0])} in a run", ""]
        lines += ["| " + " | ".join(COLUMNS) + " |", "|" + "---|" * len(COLUMNS)]
        lines += ["| " + " | ".join(row(answer, tested, folder, files)) + " |" for answer in answers]
        lines += ["", f"While files took turns, some task waited for a core in {busy:.0%} of the time."]
        return "\n".join(lines) + "\n"


def main() -> None:
    names = sys.argv[1:] or list(tested_models.MAKERS)
    target = ROOT / f"benchmarks/results/quantizers-{machine.name()}.md"
    text = HEAD + "\n" + machine.conditions() + "\n"
    for name in names:
        found = section(name)
        print(found, flush=True)
        text += "\n" + found
        target.write_text(text)
    print(f"wrote {target}")


if __name__ == "__main__":
    main()
