"""Words of the field, and comments that are sentences: words_test.py SOURCE_DIR

Each line of words.tsv is a pattern, what stands instead, and how often it is still there. The list is strict, so it only shrinks: a
count that is too high fails as one that is too low does. Patterns that begin with ^ are for sources, all others for pages, too.
"""
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path()
FOLDERS = ("src", "include", "python", "tests", "docs", "examples", "benchmarks", "scripts", "cmake", "packaging", "web/src", "web/test")
SKIPPED = {"corpus", "node_modules", "__pycache__"}
BINARY = {".png", ".npz", ".onnx", ".engine", ".npy", ".bin", ".zip", ".safetensors", ".pyc"}


def rows(text):
    """The pattern, the words instead and the count of each line."""
    for line in text.splitlines():
        pattern, instead, left = line.split("\t")
        yield pattern, instead, int(left)


def texts(root):
    """The text of every file by its path, but for the list itself and this test."""
    paths = [root / "README.md", root / "CONTRIBUTING.md", *(path for folder in FOLDERS for path in sorted((root / folder).rglob("*")))]
    own = {root / "tests/house/words.tsv", root / "tests/house/words_test.py"}
    return {path.relative_to(root): path.read_bytes().decode(errors="replace") for path in paths
            if path.is_file() and path not in own and path.suffix not in BINARY and not SKIPPED & set(path.parts)}


def found(pattern, files):
    """Where the pattern is, as lines of `path:line: text`."""
    places = []
    for path, text in files.items():
        if pattern.startswith("^") and path.suffix == ".md":
            continue
        for match in re.finditer(pattern, text, re.MULTILINE):
            line = text.count("\n", 0, match.start()) + 1
            places.append(f"{path}:{line}: {text.splitlines()[line - 1].strip()[:100]}")
    return places


def wrong(list_text, files):
    """A sentence for each pattern that is there more or less often than the list says."""
    said = []
    for pattern, instead, left in rows(list_text):
        places = found(pattern, files)
        if len(places) > left:
            said.append(f"{pattern} is there {len(places)} times, {left} are allowed; write: {instead}\n  " + "\n  ".join(places[:20]))
        elif len(places) < left:
            said.append(f"{pattern} is there {len(places)} times only: write that instead of {left} in words.tsv")
    return said


class Words(unittest.TestCase):
    list_text = ""

    def test_the_list_is_right(self):
        files = texts(ROOT)
        self.assertGreater(len(files), 2500)
        if said := wrong(self.list_text, files):
            self.fail("\n".join(said))

    def test_each_pattern_finds_its_word(self):
        bad = ("the suspects", "a RepairScene", "class Subject", "workshop", "yardsticks", "duel", "bargains", "handicap", "two halves", "fused.posts", "NodeRunner", "absorb_qdq",
               "RowPiece", "Culprit& culprit", "quantisation", "choices.apart", "  // Those of a.", 'def f():\n    """Of a file."""')
        for (pattern, _, _), text in zip(rows(self.list_text), bad, strict=True):
            self.assertEqual(len(found(pattern, {pathlib.Path("a.cpp"): text})), 1, pattern)

    def test_one_more_and_one_less_are_found(self):
        listed = "\\bduels?\\b\tpaired timing\t1"
        self.assertEqual(wrong(listed, {pathlib.Path("a.h"): "a duel"}), [])
        self.assertIn("2 times, 1 are allowed", wrong(listed, {pathlib.Path("a.h"): "a duel,\nduels"})[0])
        self.assertIn("0 times only", wrong(listed, {pathlib.Path("a.h"): ""})[0])

    def test_sentences_and_pages_are_left_alone(self):
        comment = next(pattern for pattern, _, _ in rows(self.list_text) if pattern.startswith("^"))
        self.assertEqual(found(comment, {pathlib.Path("a.cpp"): "// Offers what it has.\nint x;  // of a\n", pathlib.Path("a.md"): "# What it is"}), [])


if __name__ == "__main__":
    ROOT = pathlib.Path(sys.argv.pop(1)).resolve()
    Words.list_text = (ROOT / "tests/house/words.tsv").read_text()
    unittest.main()
