"""Names the programs of the build that tests run: ctest --show-only=json-v1 | programs_of_tests.py"""
import json
import re
import sys

tests = json.load(sys.stdin)["tests"]
print("\n".join(sorted({name for test in tests for name in re.findall(r"/build/\w+/bin/(\w+)", " ".join(test["command"]))})))
