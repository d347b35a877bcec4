"""A page whose commands fail, or print something else, is seen: pytest pages_test.py"""
import pathlib
import re

import pytest

from pages import commands_of, not_printed

HERE = pathlib.Path(__file__).resolve().parent
pytest_plugins = ["pytester"]


def console(*lines):
    return "\n".join(["```console", *lines, "```", ""])


GOOD = [
    console("$ echo one two", "one … two"),
    console("$ printf 'a\\nb\\n'", "a", "b"),
    console("$ false  # exit status 1"),
    console("$ cat <<'END'", "$ a text", "END", "a text"),
    "```python\nassert 1 == 1\n```\n",
    console("$ cd examples/digits", "$ test -f digits.onnx") + "\n```python\nopen('digits.onnx', 'rb')\n```\n",
]
BAD = [
    console("$ printf 'a\\nb\\n'", "b", "a"),
    console("$ echo one", "two"),
    console("$ false"),
    console("$ true  # exit status 1"),
    console("$ no-such-program"),
    "```python\nassert 1 == 2\n```\n",
]


def test_what_is_not_as_the_page_says_fails(pytester):
    for kind, pages in (("good", GOOD), ("bad", BAD)):
        for number, text in enumerate(pages):
            (pytester.path / f"{kind}{number}.md").write_text(text)
    done = pytester.runpytest_subprocess("-p", "pages", "-p", "no:cacheprovider", "--tb=no", "-rf", *sorted(pytester.path.glob("*.md")))
    failed = {name for line in done.outlines if line.startswith("FAILED") for name in re.findall(r"(\w+)\.md", line)}
    assert failed == {f"bad{number}" for number in range(len(BAD))}
    assert done.parseoutcomes()["passed"] == len(GOOD) + 1


def test_commands_and_lines():
    assert commands_of("$ a \\\n    b\nshown\n$ c  # exit status 3\n") == [["a b", 0, ["shown"]], ["c  # exit status 3", 3, []]]
    assert not_printed(["x … z", "  last"], "x y z\nother\n last one") is None
    assert not_printed(["a", "b"], "b\na") == "b"
    assert not_printed(["one", "line"], "one line") is None
    with pytest.raises(ValueError, match="no command"):
        commands_of("shown\n$ a")


def test_every_page_that_is_run_has_blocks():
    pages = [HERE.parents[1] / "README.md", HERE.parents[1] / "docs/python.md", *(HERE.parents[1] / "docs/tutorials").glob("*.md")]
    assert len(pages) >= 8
    for page in pages:
        text = page.read_text()
        assert "```console" in text or "```python" in text, page
        assert "\n    $ vernier" not in text and "\n    vernier " not in text, f"{page}: commands belong into blocks of console"
