"""Holds the JSON reports that report_tests writes against docs/report.schema.json, and checks that the schema refuses
reports that are damaged: a schema that accepts everything would prove nothing.

usage: validate_test.py REPORT_TESTS SCHEMA
"""

import copy
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import jsonschema


def write_reports(program):
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(os.environ, VERNIER_REPORT_SAMPLES=folder)
        command = [program, "--gtest_filter=JsonReport.WritesSamplesForTheSchema"]
        subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
        return {path.stem: json.loads(path.read_text()) for path in pathlib.Path(folder).glob("*.json")}


def damaged(report):
    """Yields what was damaged, and the report with it."""

    def changed(what, change):
        result = copy.deepcopy(report)
        change(result, result["comparisons"][0], result["comparisons"][0]["tensors"][0])
        return what, result

    yield changed("no verdict", lambda r, c, t: r.pop("verdict"))
    yield changed("unknown verdict", lambda r, c, t: t.update(verdict="ok"))
    yield changed("other version", lambda r, c, t: r.update(version=2))
    yield changed("metric is null", lambda r, c, t: t["metrics"].update(max_abs=None))
    yield changed("metric is a word", lambda r, c, t: t["metrics"].update(cosine="perfect"))
    yield changed("unknown metric", lambda r, c, t: t["metrics"].update(psnr=1))
    yield changed("no metrics", lambda r, c, t: t.pop("metrics"))
    yield changed("no tolerance source", lambda r, c, t: t["tolerance"].pop("source"))
    yield changed("no nodes", lambda r, c, t: t.pop("nodes"))
    yield changed("negative count", lambda r, c, t: t["metrics"].update(mismatching=-1))
    yield changed("no reference", lambda r, c, t: c.pop("reference"))
    yield changed("unknown key", lambda r, c, t: c.update(passed=True))
    yield changed("a pass without tensors", lambda r, c, t: c.update(tensors=[]))
    yield changed("a failure without reason", lambda r, c, t: t.update(verdict="fail", reasons=[]))


def main():
    program, schema_path = sys.argv[1:]
    schema = json.loads(pathlib.Path(schema_path).read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    reports = write_reports(program)
    assert sorted(reports) == ["all", "empty", "pass"], sorted(reports)
    for report in reports.values():
        validator.validate(report)
    for what, report in damaged(reports["pass"]):
        assert not validator.is_valid(report), f"the schema accepts a report with: {what}"


if __name__ == "__main__":
    main()
