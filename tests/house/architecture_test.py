"""The pages for developers name what is there: architecture_test.py SOURCE_FOLDER

The table of docs/architecture.md holds the rooms and arrows that CMake builds, and each code span of the developers' pages names
a path, an option or names that the sources have.
"""
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(sys.argv.pop())


def built():
    """The rooms that each room names in its CMakeLists.txt."""
    rooms = {}
    for path in (ROOT / "src/vernier").rglob("CMakeLists.txt"):
        for call in re.findall(r"vernier_room\(([^)]*)\)", path.read_text()):
            words = call.split()
            names = words[words.index("DEPENDS") + 1 :] if "DEPENDS" in words else []
            end = next((i for i, word in enumerate(names) if word.isupper()), len(names))
            rooms[words[0]] = set(names[:end])
    return rooms


def documented(text):
    """The rooms that each room sees by the table of the page: before a semicolon, separated by commas."""
    rows = re.findall(r"^\| `([\w/]+)` \|[^|]*\|([^|]*)\|$", text.split("\n## ")[0], re.MULTILINE)
    return {room: {name.strip() for name in sees.split(";")[0].split(",") if name.strip()} for room, sees in rows}


def closure(room, arrows):
    reached, waiting = set(), [room]
    while waiting:
        for other in arrows[waiting.pop()] - reached:
            reached.add(other)
            waiting.append(other)
    return reached


def differences(sees, depends):
    """One line for each room that is missing on a side, or that sees other rooms than it is built with."""
    found = [f"{room}: in the table alone" for room in sees.keys() - depends.keys()]
    found += [f"{room}: not in the table" for room in depends.keys() - sees.keys()]
    if found:
        return found
    for room in depends:
        if sees[room] == {"everything"}:
            continue
        said, is_so = closure(room, sees), closure(room, depends)
        if said != is_so:
            found.append(f"{room}: the table says {sorted(said - is_so)} too many and {sorted(is_so - said)} too few")
    return found


SOURCES = ("src", "include", "python", "tests", "cmake", "scripts", "benchmarks")
ENDINGS = (".h", ".cpp", ".cu", ".py", ".txt", ".map", ".cmake")
SPAN = re.compile(r"`([^`\n]+)`")
WORD = re.compile(r"[A-Za-z_]\w*(?:-\w+)*")
# Files and packages of others, which no source of ours names, and placeholders of recipes.
FOREIGN = {"libcuda.so.1", "/usr/local/cuda"}


def pages():
    return [*(ROOT / "docs" / name for name in ("architecture.md", "adding.md", "glossary.md")), *sorted((ROOT / "docs/rooms").glob("*.md"))]


class Sources:
    """The files of the repository, and the words that each holds."""

    def __init__(self):
        self.files = [path.relative_to(ROOT) for folder in (*SOURCES, "docs") for path in (ROOT / folder).rglob("*") if path.is_file()]
        self.paths = {str(parent) for path in self.files for parent in (path, *path.parents)}
        house = pathlib.Path("tests/house")
        scripts = {path for path in self.files if path.parts[0] in ("scripts", "benchmarks") and path.suffix in ("", ".py")}
        texts = [path for path in self.files if path.parts[0] in SOURCES and house not in path.parents and (path.suffix in ENDINGS or path in scripts)]
        self.words = [set(word.strip("-") for word in re.split(r"[^\w-]+", text)) | set(re.split(r"\W+", text)) for text in ((ROOT / path).read_text(errors="replace") for path in texts)]
        self.all = set().union(*self.words)

    def has_path(self, name):
        """Whether this is a path, or ends one: pages name files from their rooms on."""
        return name in self.paths or any(path.endswith("/" + name) for path in self.paths)

    def has_together(self, words):
        """Whether one file has all of these, as a class and its member are."""
        return any(words <= file for file in self.words)

    def lacks(self, span):
        """Lists the path or the words of a code span that are nowhere."""
        missing = []
        for part in re.sub(r"\w*<\w+>\w*(?:\.\w+)?", "", span).split():
            bare = part.strip("'\",;()")
            name, member = bare.rstrip("/"), re.fullmatch(r"(\w+)::(\w+)", bare)
            if name in FOREIGN or not name or name.isupper():
                continue
            if member and member[1] != "vernier":
                found = self.has_together({member[1], member[2]})
            elif not bare.startswith("-") and ("/" in name or re.search(r"\.(h|cpp|cu|py|sh|md|txt)$", name)):
                found = self.has_path(name)
            else:
                found = all(word in self.all for word in WORD.findall(bare) if len(word) > 2 and not word.isupper())
            if not found:
                missing.append(bare)
        return missing


def unknown(text, sources):
    """The code spans of a page that name something that is not there; blocks of code are none."""
    spans = SPAN.findall(re.sub(r"^    .*$", "", text, flags=re.MULTILINE))
    return [span for span in spans if sources.lacks(span)]


class Architecture(unittest.TestCase):
    text = (ROOT / "docs/architecture.md").read_text()

    def test_the_table_is_what_is_built(self):
        self.assertEqual(differences(documented(self.text), built()), [])

    def test_pages_name_what_is_there(self):
        sources = Sources()
        found = {str(page.relative_to(ROOT)): unknown(page.read_text(), sources) for page in pages()}
        self.assertGreater(len(found), 10)
        self.assertEqual({page: spans for page, spans in found.items() if spans}, {})

    def test_the_map_is_short(self):
        self.assertLessEqual(len(self.text.split()), 1500)
        self.assertLessEqual(len((ROOT / "README.md").read_text().split()), 700)

    def test_a_wrong_name_is_found(self):
        sources = Sources()
        wrong = ["exec/nothing.h", "plan.cpp.h", "Engine::nothing_of_it", "no_such_function_here", "--no-such-option-here", "NoSuchTypeHere"]
        right = ["exec/plan.h", "exec", "Engine::build", "make_plan", "--no-capture", "`vernier run`".strip("`"), "tests/ops", "ops/<family>/<name>.cpp"]
        self.assertEqual(unknown(" ".join(f"`{span}`" for span in [*right, *wrong]), sources), wrong)

    def test_a_wrong_table_is_found(self):
        sees = documented(self.text)
        without = {room: others for room, others in sees.items() if room != "tune"}
        self.assertIn("tune: not in the table", differences(without, built()))
        wrong = {**sees, "compare": sees["compare"] | {"ir"}}
        self.assertTrue(any(line.startswith("compare: the table says ['ir'] too many") for line in differences(wrong, built())))
        few = {**sees, "bench": set()}
        self.assertTrue(any(line.startswith("bench:") and "'engine'" in line for line in differences(few, built())))


if __name__ == "__main__":
    unittest.main(verbosity=2)
