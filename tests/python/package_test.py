"""Tests what the package promises as a whole: its names, types for other tools, and one stable interface of Python."""

import inspect
import pathlib
import re
import subprocess
import sys

import vernier_engine as vn
from vernier_engine import _core, _program

PACKAGE = pathlib.Path(vn.__file__).parent


def test_the_module_serves_all_versions_of_python_from_3_10():
    assert pathlib.Path(_core.__file__).name == "_core.abi3.so"
    needed = subprocess.run(["readelf", "-d", _core.__file__], capture_output=True, text=True, check=True).stdout
    assert "libvernier" in needed and "libpython" not in needed


def test_the_stub_tells_what_the_module_has(tmp_path):
    stub = tmp_path / "_core.pyi"
    subprocess.run([sys.executable, "-m", "nanobind.stubgen", "-q", "-m", "vernier_engine._core", "-o", stub], check=True)
    written = (PACKAGE / "_core.pyi").read_text()

    def names(stub):
        return set(re.findall(r"(?:def|class) (\w+)", stub))

    assert names(stub.read_text()) == names(written)
    assert (PACKAGE / "py.typed").exists()


def test_every_public_name_is_there_and_documented():
    for name in vn.__all__:
        assert inspect.getdoc(getattr(vn, name)), name


def test_options_that_functions_name_are_those_of_the_program():
    verbs = {"build": vn.build, "run": vn.compare, "diagnose": vn.diagnose, "tune": vn.tune, "calibrate": vn.calibrate, "export": vn.export, "bench": vn.bench, "check": vn.check}
    ours = {"model", "runners", "options", "progress", "page", "output", "keep_runs", "verify", "time_limit", "versus"}  # others say it otherwise
    for verb, function in verbs.items():
        help_text = subprocess.run([_program.PROGRAM, verb, "--help"], capture_output=True, text=True, check=True).stdout
        for name in inspect.signature(function).parameters.keys() - ours:
            assert re.search(f"--{name.replace('_', '-')}\\b", help_text), (verb, name)
