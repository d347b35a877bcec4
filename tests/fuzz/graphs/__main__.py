"""Random graphs, run by the references, engines and ONNX Runtime, and compared: scripts/fuzz graphs --help."""

import argparse
import pathlib
import sys

from report import Report
from worker import Worker, work

ROOT = pathlib.Path(__file__).resolve().parents[3]


def options_of(arguments):
    parser = argparse.ArgumentParser(prog="scripts/fuzz graphs", description=__doc__)
    parser.add_argument("count", nargs="?", type=int, default=1000, help="how many graphs (default: 1000)")
    parser.add_argument("--seed", type=int, default=1, help="of the first graph; the others follow (default: 1)")
    parser.add_argument("--jobs", type=int, default=1, help="processes that work side by side (default: 1)")
    parser.add_argument("--threads", type=int, default=1, help="of the engines (default: 1)")
    parser.add_argument("--isa", choices=["avx2", "avx512", "amx"], default="", help="instruction sets of the engines (default: those of the machine)")
    parser.add_argument("--level", type=int, default=2, help="--opt-level of the tuned engine (default: 2)")
    parser.add_argument("--only", action="append", metavar="OPERATOR", help="draw this operator alone; repeatable")
    parser.add_argument("--inject", metavar="FAULT", default="", help="a fault in the untuned engine (docs/fault-injection.md): it must be found")
    parser.add_argument("--no-onnxruntime", action="store_true", help="leave ONNX Runtime out")
    parser.add_argument("--no-shrink", action="store_true", help="count findings only")
    parser.add_argument("--shrink-seconds", type=float, default=20, help="for one finding (default: 20)")
    parser.add_argument("--findings", type=pathlib.Path, default=ROOT / "build/fuzz/graphs", help="where findings go (default: build/fuzz/graphs)")
    parser.add_argument("--driver", default=str(ROOT / "build/release/bin/graphs_driver"), help=argparse.SUPPRESS)
    parser.add_argument("--replay", type=pathlib.Path, metavar="FOLDER", help="run one finding again")
    parser.add_argument("--shrink-again", action="store_true", help="with --replay: shrink it, too")
    parser.add_argument("--quiet", action="store_true", help="the summary only")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def replay(options):
    from case import load_case

    worker = Worker(options)
    try:
        case = load_case(options.replay)
        findings, invalid, done = worker.look(case)
        if invalid:
            print("nobody takes this graph:", done)
        for finding in findings:
            print(f"{finding.kind} ({finding.who}) {worker.explanations.of(case, finding) or ''}: {finding.detail}")
            if options.shrink_again:
                print(worker.describe(case, finding))
        return 1 if findings else 0
    finally:
        worker.driver.close()


def main(arguments):
    options = options_of(arguments)
    if options.worker:
        return work(options) or 0
    if options.replay:
        return replay(options)
    from pool import run_pool

    report = Report(options)
    run_pool(options, arguments, report.add)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
