"""One name is one type: names_test.py SOURCE_DIR

Two types of one name in two sources are undefined behaviour when both are linked, which no compiler says: the linker
keeps one of their constructors for both. Types that only one source uses belong into its anonymous namespace.
"""
import collections
import functools
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path()
# These are no code: comments, raw strings, strings, characters (a quote inside a number begins none).
NO_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<!\w)\'(?:\\.|[^\'\\\n])+\'', re.DOTALL)
PREPROCESSOR = re.compile(r"^[ \t]*#(?:[^\n\\]|\\.)*", re.MULTILINE | re.DOTALL)
NAMESPACE = re.compile(r"\bnamespace\s*([\w:]*)\s*$")
TYPE = re.compile(r"\b(?:struct|class|union|enum(?:\s+(?:class|struct))?)\s+(?:alignas\s*\([^)]*\)\s*)?([\w:]+(?:\s*<[^;{}]*>)?)"
                  r"(?:\s+final)?\s*(?::[^:;{}][^;{}]*)?$")


@functools.cache
def types_in(text):
    """The types that a source defines and that others could define, too, by their whole names."""
    text = PREPROCESSOR.sub("", NO_CODE.sub("0", text))
    found, scopes, statement = [], [], 0
    for sign in re.finditer(r"[{};]", text):
        if sign[0] == "{":
            head = text[statement:sign.start()]
            namespace, kind = NAMESPACE.search(head), TYPE.search(head)
            visible = all(scope is not None for scope in scopes)
            if namespace:
                scopes.append(namespace.group(1) or None)
            elif kind and visible:
                scopes.append(re.sub(r"\s", "", kind.group(1)))
                found.append("::".join(scopes))
            else:
                scopes.append(None)
        elif sign[0] == "}" and scopes:
            scopes.pop()
        statement = sign.end()
    return found


def twice(sources):
    """Finds, in sources by path, the types that more than one defines."""
    places = collections.defaultdict(set)
    for path, text in sources.items():
        for name in types_in(text):
            places[name].add(str(path))
    return {name: sorted(paths) for name, paths in places.items() if len(paths) > 1}


def sources_under(*folders):
    return {path.relative_to(ROOT): path.read_text() for folder in folders for path in (ROOT / folder).rglob("*")
            if path.suffix in (".cpp", ".h")}


class Names(unittest.TestCase):
    def test_one_name_is_one_type(self):
        sources = sources_under("src", "include")
        self.assertGreater(len(sources), 1000)
        self.assertGreater(sum(len(types_in(text)) for text in sources.values()), 500)
        self.assertEqual(twice(sources), {})

    def test_nor_do_tests_define_one_again(self):
        sources = sources_under("src", "include")
        rooms = [room for room in (ROOT / "tests").iterdir() if room.is_dir()]
        found = {room.name: twice(sources | sources_under(room.relative_to(ROOT))) for room in rooms}
        self.assertEqual({room: names for room, names in found.items() if names}, {})

    def test_types_are_seen_by_their_whole_names(self):
        self.assertEqual(types_in("namespace a {\nstruct B : C<D> { int e{}; };\nenum class F { kG };\n}"), ["a::B", "a::F"])
        self.assertEqual(types_in("namespace a::b {\ntemplate <>\nclass C<int> final { struct D { }; };\n}"),
                         ["a::b::C<int>", "a::b::C<int>::D"])
        self.assertEqual(types_in("struct alignas(64) A { };"), ["A"])

    def test_what_one_source_has_for_itself_is_not(self):
        self.assertEqual(types_in("namespace a {\nnamespace {\nstruct B { };\n}\nvoid f() { struct C { }; }\n}"), [])
        self.assertEqual(types_in("struct A;\n// struct B { };\nauto c = \"struct D {\";\nstruct E f() { return {}; }"), [])

    def test_a_second_one_is_named(self):
        one, other = "namespace a { struct B { }; }", "namespace a { class C { }; struct B { int b; }; }"
        self.assertEqual(twice({"one.h": one, "other.h": other}), {"a::B": ["one.h", "other.h"]})


if __name__ == "__main__":
    ROOT = pathlib.Path(sys.argv.pop(1))
    unittest.main()
