"""What docs/architecture.md says of rooms and arrows is what CMake builds. architecture_test.py SOURCE_FOLDER"""
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(sys.argv.pop())


def built():
    """What each room names in its CMakeLists.txt."""
    rooms = {}
    for path in (ROOT / "src/vernier").rglob("CMakeLists.txt"):
        for call in re.findall(r"vernier_room\(([^)]*)\)", path.read_text()):
            words = call.split()
            names = words[words.index("DEPENDS") + 1 :] if "DEPENDS" in words else []
            end = next((i for i, word in enumerate(names) if word.isupper()), len(names))
            rooms[words[0]] = set(names[:end])
    return rooms


def documented(text):
    """What the table of the page says that each room sees: before a semicolon, separated by commas."""
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


class Architecture(unittest.TestCase):
    text = (ROOT / "docs/architecture.md").read_text()

    def test_the_table_is_what_is_built(self):
        self.assertEqual(differences(documented(self.text), built()), [])

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
