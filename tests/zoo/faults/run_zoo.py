#!/usr/bin/env python3
"""Measures whether `vernier diagnose` names node and class of planted faults, and is silent about their healthy twins.

run_zoo.py [--class B32] [--held-out|--planning] [--jobs N] [--check|--unchecked] [--repair] [--budget SECONDS] [--list]
    [--transplants N [--seed S]] [--drawn N [--seed S]] [--vernier FILE] [NAME...]

Every case is checked first: one that plants nothing, or whose twin is not healthy, is an error. NAME is a part of a
case's name. Exit 0 only if node and class are right in 90 % of the cases, without a false alarm. The last line is
`zoo: N/M node and class right, K false alarms`. What was written and answered lies in build/zoo/CASE.
"""

import argparse
import collections
import glob
import hashlib
import importlib
import json
import pathlib
import shlex
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import onnx

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(HERE), str(HERE / "cases"), str(ROOT / "python/vernier_runners")]

from protocol import write_values  # noqa: E402

import checking  # noqa: E402
from black_box import Engine, Session  # noqa: E402
from case import Case, held_out, load_model, twin_of  # noqa: E402
from confidence import Stated, calibration  # noqa: E402
from drawn import drawn  # noqa: E402
from edits import operators_of  # noqa: E402
from transplants import transplants  # noqa: E402

WORK = ROOT / "build/zoo"
BUDGET = 60  # seconds of one diagnosis, and again of a repair; it may take twice as long before it is ended


@dataclass
class Answer:
    healthy: bool = False
    nodes: tuple = ()
    values: tuple = ()
    klass: str = ""
    confidence: float = 0.0
    sentence: str = ""
    seconds: float = 0.0
    trouble: str = ""  # why there is no diagnosis
    repair: dict | None = None  # of the first root cause, as the report has it


@dataclass
class Result:
    case: Case
    node_right: bool
    class_right: bool
    alarm: bool
    seconds: float
    remark: str
    repaired: bool = False  # by a repair that was verified, and that this program finds to work
    confidence: float = 0.0  # of the first root cause
    said: str = ""


# Nobody can repair these from where the diagnosis stands: a reference that is wrong, and engines that are other ones with every start, or
# of another model.
NOT_REPAIRABLE = {"B16", "B42", "B47"}


def all_cases() -> list[Case]:
    """Gives the cases of every cases_*.py, by name."""
    files = sorted(glob.glob(str(HERE / "cases/cases_*.py")))
    cases = [case for file in files for case in importlib.import_module(pathlib.Path(file).stem).cases()]
    twice = [name for name, count in collections.Counter(case.name for case in cases).items() if count > 1]
    if twice:
        raise ValueError(f"cases of the same name: {', '.join(twice)}")
    return sorted(cases, key=lambda case: (int(case.klass[1:]), case.name))


def words_of(case: Case) -> tuple[list, pathlib.Path]:
    """Writes model, data and fault; the words of the command line from the model on, and the folder."""
    folder = WORK / case.name
    folder.mkdir(parents=True, exist_ok=True)
    model = case.model
    if not isinstance(model, pathlib.Path):
        model = folder / "model.onnx"
        onnx.save(load_model(case), model)
    words = [str(model), *(case.runner or black_box(case, folder))]
    for i, sample in enumerate(case.inputs()):
        write_values(folder / f"sample_{i}.safetensors", sample)
        words += ["--data", str(folder / f"sample_{i}.safetensors")]
    return words, folder


def black_box(case: Case, folder: pathlib.Path) -> list[str]:
    words = ["--runner", f"engine={shlex.join([sys.executable, str(HERE / 'black_box.py'), '--taps', case.taps])}"]
    if case.fault is None:
        return words
    settings = folder / "settings.json"
    is_file = isinstance(case.model, pathlib.Path)
    model = onnx.load(case.model, load_external_data=False) if is_file else load_model(case)
    before = {"operators": operators_of(model), "outputs": [value.name for value in model.graph.output]}
    settings.write_text(json.dumps(case.fault | {"before": before}))
    return [*words, "--runner-option", f"fault={settings}"]


def diagnose(case: Case, vernier: pathlib.Path, budget: float, repair: bool = False) -> Answer:
    words, folder = words_of(case)
    report = folder / "diagnosis.json"
    report.unlink(missing_ok=True)
    begin = time.monotonic()
    command = [vernier, "diagnose", *words, "--json", report, "--quiet", "--budget", f"{budget:g}"]
    limit = 2 * budget
    if repair:
        command += ["--repair", "--repair-dir", folder / "repair"]
        limit *= 2
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return Answer(seconds=limit, trouble=f"no answer in {limit} s")
    answer = Answer(seconds=time.monotonic() - begin)
    if done.returncode not in (0, 1) or not report.exists():
        answer.trouble = f"exit {done.returncode}: {done.stderr.strip()[-300:]}"
        return answer
    said = json.loads(report.read_text())
    answer.healthy = said["healthy"]
    if said["healthy"] != (done.returncode == 0):
        answer.trouble = f"exit {done.returncode}, but healthy is {said['healthy']}"
    # An experiment that ends in an error says nothing, unless the error is the engine's.
    failed = [note for note in said["notes"] if "could not be looked into: " in note and ", stage " not in note]
    if failed:
        answer.trouble = failed[0]
    if said["culprits"]:
        first = min(said["culprits"], key=lambda culprit: culprit["rank"])
        answer.nodes, answer.values, answer.klass = tuple(first["nodes"]), tuple(first["values"]), first["class"]
        answer.confidence, answer.sentence = first.get("confidence", 0.0), first.get("sentence", "")
        answer.repair = first.get("repair")
    return answer


def is_repaired(case: Case, answer: Answer) -> bool:
    """Whether a repair was verified; a rewritten model is run here, too, by the black box with its fault in it."""
    if answer.repair is None or answer.repair["verified"] is None:
        return False
    if answer.repair["kind"] != "rewrite" or case.fault is None:
        return True
    settings = json.loads((WORK / case.name / "settings.json").read_text())
    before, model = settings.pop("before"), load_model(case)
    sound, faulty = Session(model), Engine(model, settings, case.taps == "heals", before)
    repaired = Engine(onnx.load(answer.repair["file"]), settings, case.taps == "heals", before)
    samples = [(sound.run(sample), sample) for sample in case.inputs()]
    errors = [max(checking.worst(right, engine.run(sample)) for right, sample in samples) for engine in (faulty, repaired)]
    return errors[1] < 0.2 * errors[0]


class Twins:
    """The answers for healthy twins: many cases share model, data and engine, and are then asked about once."""

    def __init__(self, budget: float):
        self.known: dict[str, Answer] = {}
        self.budget = budget

    def answer(self, twin: Case, vernier: pathlib.Path) -> Answer:
        words, folder = words_of(twin)
        key = hashlib.sha256()
        for word in words:
            path = pathlib.Path(word)
            key.update(path.read_bytes() if path.is_file() else word.encode())
        if key.hexdigest() not in self.known:
            self.known[key.hexdigest()] = diagnose(twin, vernier, self.budget)
        return self.known[key.hexdigest()]


def told(answer: Answer) -> str:
    return f"{answer.klass or 'nothing'} in {', '.join(answer.nodes or answer.values) or 'nothing'}"


def judge(case: Case, vernier: pathlib.Path, twins: Twins, repair: bool) -> Result:
    found = diagnose(case, vernier, twins.budget, repair)
    # Repairs are measured alone: the twins have been asked about often enough.
    healthy = Answer(healthy=True) if repair else twins.answer(twin_of(case), vernier)
    if found.nodes:
        node_right = found.nodes[0] in case.nodes
    else:
        outside = bool(case.values & set(found.values)) if case.values else not case.nodes
        node_right = bool(found.klass) and outside
    node_right = node_right and not found.trouble
    class_right = found.klass in {case.klass, *case.also}
    alarm = not healthy.healthy or bool(healthy.trouble)
    remarks = [found.trouble] if found.trouble else []
    if not found.trouble and not (node_right and class_right):
        remarks.append("nothing found" if found.healthy else f"told {told(found)}")
    if alarm:
        remarks.append(f"twin: {healthy.trouble or f'false alarm, {told(healthy)}'}")
    repaired = False
    if repair:
        try:
            repaired = is_repaired(case, found)
        except Exception as error:  # the repaired model does not run here
            remarks.append(f"{type(error).__name__}: {error}")
        if not repaired and case.klass not in NOT_REPAIRABLE:
            remarks.append(f"not repaired: {told_of_repair(found.repair)}")
    said = "healthy" if found.healthy else f"{told(found)}: {found.sentence}"
    return Result(case, node_right, class_right, alarm, found.seconds, "; ".join(remarks), repaired, found.confidence, said)


def told_of_repair(repair: dict | None) -> str:
    if repair is None:
        return "nothing found"
    tried = "; ".join(f"{each['what'][:60]}: {each['why'][:90]}" for each in repair["rejected"])
    return f"{repair['kind']}, {tried or 'nothing tried'}"


def figures(results: list[Result]) -> str:
    count = lambda what: sum(1 for result in results if what(result))
    seconds = sum(result.seconds for result in results) / max(1, len(results))
    return (
        f"{len(results):3} cases, node right {count(lambda r: r.node_right):3}, "
        f"class right {count(lambda r: r.class_right):3}, both {count(lambda r: r.node_right and r.class_right):3}, "
        f"false alarms {count(lambda r: r.alarm):2}, repair works {count(lambda r: r.repaired):3}, {seconds:.1f} s each"
    )


def tell(results: list[Result]) -> bool:
    """Prints the figures; whether they are good enough."""
    by_class = collections.defaultdict(list)
    for result in results:
        by_class[result.case.klass].append(result)
    for klass, some in by_class.items():
        print(f"{klass:4} {figures(some)}")
    for title, kept in (("planning", False), ("held out", True)):
        print(f"{title}: {figures([result for result in results if held_out(result.case) == kept])}")
    repairable = [result for result in results if result.case.klass not in NOT_REPAIRABLE]
    if any(result.repaired for result in results):
        print(f"repair works in {sum(result.repaired for result in repairable)}/{len(repairable)} cases that can be repaired")
    right = sum(result.node_right and result.class_right for result in results)
    alarms = sum(result.alarm for result in results)
    stated = [Stated(result.confidence, result.node_right and result.class_right) for result in results if result.confidence > 0]
    print("\n".join(calibration(stated)))
    print(f"zoo: {right}/{len(results)} node and class right, {alarms} false alarms")
    return bool(results) and right >= 0.9 * len(results) and alarms == 0


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--class", dest="klass", action="append", default=[], metavar="B32")
    half = parser.add_mutually_exclusive_group()
    half.add_argument("--held-out", dest="half", action="store_const", const=True)
    half.add_argument("--planning", dest="half", action="store_const", const=False)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--check", action="store_true", help="check the cases themselves, and do nothing else")
    parser.add_argument("--unchecked", action="store_true", help="take the cases for what they say they are")
    parser.add_argument("--repair", action="store_true", help="measure what `diagnose --repair` repairs, and ask about no twins")
    parser.add_argument("--budget", type=float, default=BUDGET, help="seconds of a diagnosis; more on a busy machine")
    parser.add_argument("--transplants", type=int, default=0, metavar="N", help="instead, N of their faults in other models, in nodes drawn by --seed")
    parser.add_argument("--drawn", type=int, default=0, metavar="N", help="instead, N faults in models, both drawn by --seed")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--list", action="store_true", help="print the names of the cases, and do nothing else")
    parser.add_argument("--vernier", type=pathlib.Path, default=ROOT / "build/release/bin/vernier")
    return parser.parse_intermixed_args()


def main() -> int:
    asked = options()
    cases = [
        case
        for case in all_cases()
        if (not asked.klass or case.klass in asked.klass)
        and (asked.half is None or held_out(case) == asked.half)
        and (not asked.names or any(name in case.name for name in asked.names))
    ]
    if asked.transplants:
        cases = list(transplants(cases, asked.transplants, asked.seed))
    if asked.drawn:
        cases = [case for case in drawn(asked.drawn, asked.seed) if not asked.names or any(name in case.name for name in asked.names)]
    if asked.list:
        print("\n".join(f"{case.name}{' (held out)' if held_out(case) else ''}" for case in cases))
        return 0
    with ThreadPoolExecutor(asked.jobs) as pool:
        checked = asked.unchecked or asked.drawn  # a draw has checked its cases
        verdicts = pool.map(lambda case: "" if checked else checking.check(case, asked.vernier, words_of), cases)
        broken = [print(f"{case.name}: {why}", flush=True) for case, why in zip(cases, verdicts) if why]
        if broken or asked.check or not cases:
            print(f"checked: {len(cases) - len(broken)}/{len(cases)} cases plant what they say")
            return 1 if broken or not cases else 0
        twins, results = Twins(asked.budget), []
        for result in pool.map(lambda case: judge(case, asked.vernier, twins, asked.repair), cases):
            results.append(result)
            if asked.drawn:
                expected = "/".join([result.case.klass, *sorted(result.case.also)])
                verdict = "right" if result.node_right and result.class_right else "WRONG"
                print(f"{verdict} {result.case.name}: {expected} in {', '.join(result.case.nodes)}; {result.confidence:.2f} {result.said}", flush=True)
            if result.remark:
                print(f"{result.case.name}: {result.remark}", flush=True)
    return 0 if tell(results) else 1


if __name__ == "__main__":
    sys.exit(main())
