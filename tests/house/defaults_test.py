"""No room but ops says what an attribute means that a node leaves out: defaults_test.py SOURCE_DIR

Node::attribute<T>(name, fallback) outside of ops may only say `{}`: nothing is given. Whoever needs a default asks
ops/attribute_defaults.h.
"""
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path()
CALL = re.compile(r"\battribute<")


def arguments_behind(text, start):
    """The arguments of the call whose `<` is at start - 1, each as written; nothing where no call follows."""
    depth, at = 1, start
    while at < len(text) and depth > 0:
        depth += {"<": 1, ">": -1}.get(text[at], 0)
        at += 1
    if at >= len(text) or text[at] != "(":
        return []
    depth, parts, first = 1, [], at + 1
    for at in range(at + 1, len(text)):
        depth += 1 if text[at] in "({[" else -1 if text[at] in ")}]" else 0
        if depth == 0 or (depth == 1 and text[at] == ","):
            parts.append(text[first:at].strip())
            first = at + 1
        if depth == 0:
            break
    return parts


def defaults_in(text):
    """Lists what a source text gives as defaults of attributes."""
    found = []
    for call in CALL.finditer(text):
        parts = arguments_behind(text, call.end())
        if len(parts) > 1 and parts[1] != "{}":
            found.append(f"{parts[0]}: {parts[1]}")
    return found


class Defaults(unittest.TestCase):
    def test_only_ops_gives_defaults(self):
        rooms = [room for room in (ROOT / "src/vernier").iterdir() if room.name not in ("ops", "ir")]
        sources = [path for room in rooms for path in room.rglob("*") if path.suffix in (".cpp", ".h")]
        self.assertGreater(len(sources), 300)
        found = {str(path.relative_to(ROOT)): defaults_in(path.read_text()) for path in sources}
        self.assertEqual({path: defaults for path, defaults in found.items() if defaults}, {})

    def test_a_default_is_seen(self):
        self.assertEqual(defaults_in('x = node.attribute<int64_t>("axis", -1);'), ['"axis": -1'])
        self.assertEqual(defaults_in('node->attribute<std::vector<int64_t>>(\n  name, f(1, {2}))'), ["name: f(1, {2})"])
        self.assertEqual(defaults_in('return node.attribute<float>(name, fallback) * 2;'), ["name: fallback"])
        self.assertEqual(defaults_in('node.attribute<std::string>("mode", "nearest")'), ['"mode": "nearest"'])

    def test_nothing_given_is_no_default(self):
        self.assertEqual(defaults_in('node.attribute<std::vector<int64_t>>("perm", {})'), [])
        self.assertEqual(defaults_in('ops::integer_attribute(node, "axis")'), [])


if __name__ == "__main__":
    ROOT = pathlib.Path(sys.argv.pop(1))
    unittest.main()
