"""Names the programs of a build that tests run, whether they are built or not: ctest -N … | programs_of_tests.py BUILD"""
import pathlib
import re
import sys

build = pathlib.Path(sys.argv[1]).resolve()
tests = "".join(path.read_text() for path in build.rglob("CTestTestfile.cmake"))
commands = dict(re.findall(r"^add_test\((?:\[=\[)?(.+?)(?:\]=\])? (\".*)\)$", tests, re.M))
chosen = re.findall(r"Test +#\d+: (\S+)", sys.stdin.read())
print("\n".join(sorted({program for name in chosen for program in re.findall(rf"{re.escape(str(build))}/bin/(\w+)", commands[name])})))
