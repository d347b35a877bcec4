"""Which sources are compiled together: groups_test.py SOURCE_DIR"""
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path()
OWN = "namespace vernier {\nnamespace {\n%s\n}  // namespace\n}  // namespace vernier\n"


class Groups(unittest.TestCase):
    def groups_of(self, *texts, headers=()) -> list[str]:
        with tempfile.TemporaryDirectory() as folder:
            for name, text in dict(headers).items():
                (pathlib.Path(folder) / name).write_text(text)
            names = [f"{index}.cpp" for index in range(len(texts))]
            for name, text in zip(names, texts):
                (pathlib.Path(folder) / name).write_text(text)
            done = subprocess.run([sys.executable, ROOT / "cmake/source_groups.py", *names], cwd=folder, capture_output=True, text=True, check=True)
            found = dict(reversed(line.split()) for line in done.stdout.splitlines())
            return [found[name] for name in names]

    def are_apart(self, one: str, other: str):
        first, second = self.groups_of(one, other)
        self.assertNotEqual(first, second, f"{one}\n{other}")

    def test_what_shares_no_name_is_compiled_together(self):
        first, second = self.groups_of(OWN % "int one() { return 1; }", OWN % "struct Other { int one; };")
        self.assertEqual(first, second)

    def test_names_of_their_own_keep_files_apart(self):
        for one, other in (("int f() { return 1; }", "double f(int x) { return x; }"), ("struct State { int a; };", "class State {};"),
                           ("enum Operand { kX, kScale };", "constexpr int kScale = 3;"), ("using Row = int;", "struct Row {};"), ("int count = 0;", "bool count;")):
            self.are_apart(OWN % one, OWN % other)

    def test_a_call_of_another_function_of_that_name_keeps_files_apart(self):
        self.are_apart(OWN % "int size_of(int x) { return x; }", "int main() { return size_of(3); }\n")

    def test_a_header_that_is_read_behind_a_name_keeps_files_apart(self):
        owner, reader = OWN % "constexpr int kRows = 3;", '#include "rows.h"\nint x = twice();\n'
        headers = {"rows.h": "inline const int kRows = 2;\ninline int twice() { return 2 * kRows; }\n"}
        first, second = self.groups_of(owner, reader, headers=headers)
        self.assertNotEqual(first, second)
        first, second = self.groups_of(reader, owner, headers=headers)
        self.assertEqual(first, second)

    def test_tests_are_compiled_together(self):
        first, second = self.groups_of(OWN % "TEST(One, Is) { int x; }", OWN % "TEST(Other, Is) { int x; }")
        self.assertEqual(first, second)
        self.are_apart(OWN % 'MATCHER(IsOdd, "") { return arg % 2; }', OWN % "bool IsOdd(int x) { return x % 2; }")

    def test_macros_keep_files_apart(self):
        self.are_apart("#define STEP(x) x\n", "int y = STEP(3);\n")

    def test_comments_and_texts_declare_nothing(self):
        first, second = self.groups_of(OWN % 'int one() { return 1; }  // int two()', OWN % 'int two() { return puts("int one()"); }')
        self.assertEqual(first, second)

    def test_a_group_ends(self):
        long = "int x;\n" * 700
        self.assertEqual(len(set(self.groups_of(*(long.replace("x", name) for name in "abc")))), 3)


if __name__ == "__main__":
    ROOT = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
