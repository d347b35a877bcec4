"""Every option that Polygraphy's own parsers have: polygraphy_options_test.py VERNIER SOURCE_DIR

Each must become something, be named in a note, or be refused by name with a reason, so that no wish is dropped in silence. An option that
another version of Polygraphy brings shows here.
"""
import argparse
import functools
import re
import shlex

import judging
from judging import Case
from polygraphy.tools.registry import TOOL_REGISTRY

# A command line of each subcommand that is taken, in which the option is put behind the model.
BASES = {
    "run": "m.onnx --onnxrt --trt",
    "convert": "m.onnx -o m.engine",
    "inspect model": "m.onnx",
    "inspect data": "data.json",
    "inspect capability": "m.onnx",
    "check lint": "m.onnx",
    "debug precision": "m.onnx --fp16",
    "debug reduce": "m.onnx -o reduced.onnx",
    "debug build": "m.onnx --fp16 --until 3 --check ./check",
    "debug repeat": "--until 3 --check ./check",
}
# Values that an option takes where a plain word will not do; several command lines where one value is refused and others are not.
VALUES = {
    "--val-range": ["[0,1]"], "--input-shapes": ["x:[1,3]"], "--model-input-shapes": ["x:[1,3]"], "--trt-min-shapes": ["x:[1,3]"],
    "--trt-opt-shapes": ["x:[1,3]"], "--trt-max-shapes": ["x:[1,3]"], "--layer-precisions": ["conv:float16"], "--pool-limit": ["workspace:1G"],
    "--atol": ["1e-3"], "--rtol": ["1e-3"], "--check-error-stat": ["mean"], "--graph-optimization-level": ["ORT_DISABLE_ALL"],
    "--providers": ["cuda"], "--compare": ["l2"], "--model-type": ["engine"], "--until": ["bad"], "--fail-code": ["3"],
    "--ignore-fail-code": ["3"], "--iterations": ["3"], "--seed": ["3"], "--builder-optimization-level": ["4"], "--convert-to": ["onnx"],
    "--show": ["layers"], "--mode": ["linear"], "--precision-constraints": ["prefer"], "--fp16": [], "--check": ["./check"],
}  # fmt: skip
# These change neither the equivalent nor a note, since `debug` does them itself (polygraphy_debug_test.py), or they ask for what is done in
# any case.
DONE_BY_DEBUG = {"--show-output", "--hide-fail-output", "--artifacts", "--art-dir", "--iter-artifact", "--no-remove-intermediate", "--iter-info",
                 "--fail-code", "--ignore-fail-code", "--fail-regex", "--until"}  # fmt: skip
AS_IN_ANY_CASE = {("run", "--trt"), ("run", "--onnxrt"), ("debug precision", "--fp16"), ("debug build", "--fp16"), ("debug reduce", "--fp16"),
                  ("convert", "--model-type"), ("inspect data", "-n")}  # fmt: skip


def subcommands(parser, path=()):
    """All parsers without subcommands of their own, by the words that lead to them."""
    [*nested] = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if not nested:
        return {" ".join(path): parser}
    found = {}
    for action in nested:
        for name, each in action.choices.items():
            found.update(subcommands(each, (*path, name)))
    return found


def polygraphy_parsers():
    parser = argparse.ArgumentParser()
    below = parser.add_subparsers()
    for tool in TOOL_REGISTRY:
        tool.setup_parser(below)
    return subcommands(parser)


def values_of(action):
    for name in action.option_strings:
        if name in VALUES:
            return VALUES[name]
    if action.nargs == 0:
        return []
    return [str(list(action.choices)[-1])] if action.choices else ["3" if action.type in (int, float) else "word"]


def call(*words):
    return judging.vernier("polygraphy", "--print-only", *words)


@functools.cache
def without_options(subcommand):
    return call(*subcommand.split(), *shlex.split(BASES[subcommand]))[1]


def fault_of(subcommand, name, values, aliases=()):
    """Says what is wrong with how an option is taken; "" if nothing is."""
    base = shlex.split(BASES[subcommand])
    at = base.index("--check") if "--check" in base else len(base)
    status, out, err = call(*subcommand.split(), *base[:at], name, *values, *base[at:])
    if status == 4:
        # "NAME (why)", or a sentence about the value.
        reason = re.search(rf"{re.escape(name)} \((.+)\)", err) or re.search(r"vernier: (.+)", err)
        return "" if len(reason[1].split()) > 3 else f"refused without a reason: {err}"
    if status != 0:
        return f"exit status {status}: {err}"
    if DONE_BY_DEBUG.intersection({name, *aliases}) or (subcommand, name) in AS_IN_ANY_CASE:
        return ""
    return "" if out != without_options(subcommand) else "dropped in silence"


class PolygraphyOptions(Case):
    def test_every_subcommand_is_taken_or_refused_with_a_reason(self):
        for subcommand in polygraphy_parsers():
            if subcommand in BASES:
                continue
            with self.subTest(subcommand=subcommand):
                status, _, err = call(*subcommand.split(), "file")
                self.assertEqual(status, 4, err)
                self.assertRegex(err, r"has no counterpart here: (\S+ ){3,}")

    def test_every_option_becomes_something_or_is_refused_with_a_reason(self):
        parsers = polygraphy_parsers()
        for subcommand in BASES:
            for action in parsers[subcommand]._actions:
                for name in action.option_strings:
                    if name in ("-h", "--help", "--check", "--check-inference"):
                        continue
                    with self.subTest(subcommand=subcommand, option=name):
                        self.assertEqual(fault_of(subcommand, name, values_of(action), action.option_strings), "")

    def test_an_option_that_the_tables_lack_shows(self):
        self.assertIn("has no option '--brand-new'", fault_of("run", "--brand-new", []))

    def test_options_of_polygraphy_that_issues_have(self):
        for words, what in (("--use-tftrt", "convert one of TensorFlow with tf2onnx"), ("--save-accuracy-results r.json", "--json FILE"),
                            ("--check-average", "an average passes where some are wrong"), ("--mark-debug x", "--trt-outputs"),
                            ("--lpips-threshold 0.1", "its verdict is by element"), ("--save-input-blob blobs", "tofile()"),
                            ("--postprocess-func-script p.py", "Python scripts are not run")):  # fmt: skip
            status, _, err = call("run", "m.onnx", "--onnxrt", *words.split())
            self.assertEqual(status, 4, err)
            self.assertIn(what, err)

    def test_levels_and_providers_of_onnx_runtime(self):
        _, out, _ = call("run", "m.onnx", "--onnxrt", "--graph-optimization-level", "ORT_ENABLE_BASIC", "--providers", "CUDA")
        self.assertIn("--onnxruntime=cuda --optimization basic", out)
        status, _, err = call("run", "m.onnx", "--onnxrt", "--graph-optimization-level", "basic")
        self.assertEqual(status, 2)
        self.assertIn("ORT_ENABLE_BASIC", err)
        status, _, err = call("run", "m.onnx", "--onnxrt", "--providers", "tensorrt")
        self.assertEqual(status, 4)
        self.assertIn("cpu or cuda", err)


if __name__ == "__main__":
    judging.main()
