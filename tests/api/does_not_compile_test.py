"""Code that the public header must refuse does not compile, and for the reason that is meant. Each line stands beside a twin that compiles."""
import pathlib
import re
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
# A function for each line, in a file of that name: the compiler reads the header once for all of them.
FRAME = """#line 1 "{}"
void use_{}([[maybe_unused]] vernier::Session& session, [[maybe_unused]] std::vector<float>& x) {{
  {}
}}
"""
# A line that compiles, one that must not, and what the compiler says of it.
PAIRS = {
    "outputs before waiting": ('auto y = session.run_async().wait(); y["y"];', 'auto y = session.run_async(); y["y"];', "no match for .operator\\[\\]."),
    "outputs as a member of the event": ("auto event = session.run_async(); event.wait();", "auto event = session.run_async(); event.outputs();", "has no member named .outputs."),
    "outputs made without a run": ("vernier::Outputs outputs = session.run();", "vernier::Outputs outputs;", "no matching function for call to .vernier::v1::Outputs::Outputs\\(\\)"),
    "an event is not copied": ("auto event = session.run_async(); auto other = std::move(event);", "auto event = session.run_async(); auto other = event;", "use of deleted function"),
    "an event is not ignored": ("session.run_async().wait();", "session.run_async();", "nodiscard"),
    "a view into outputs that are gone": ('auto outputs = session.run(); outputs["y"];', 'session.run()["y"];', "use of deleted function"),
    "a temporary is not bound": ('session.bind_input("x", x, {1, 3});', 'session.bind_input("x", std::vector<float>{1, 2, 3}, {1, 3});', "a temporary is gone by then"),
    "a span is bound": ('session.bind_output("x", std::span<float>(x), {1, 3});', 'session.bind_output("x", std::span<const float>(x), {1, 3});', "invalid conversion from .const void\\*. to .void\\*."),
    "a type without an element type": ('session.bind_input("x", x, {1, 3});', 'std::vector<void*> p; session.bind_input("x", p, {1, 3});', "no element type is stored as T"),
    "a session is not copied": ("auto other = std::move(session);", "auto other = session;", "use of deleted function"),
}


def compiler_says(source: str, *flags: str, language: str = "c++", compiler: str = "g++") -> tuple[bool, str]:
    command = [compiler, *flags, "-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-I{ROOT}/include", "-x", language, "-"]
    done = subprocess.run(command, input=source, capture_output=True, text=True, env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"})
    return done.returncode == 0, done.stderr


def said_of_each(column: int) -> dict[str, str]:
    """Compiles the lines that must compile (0) or those that must not (1). Maps the name of each pair to what the compiler says."""
    source = '#include "vernier/vernier.h"\n' + "".join(FRAME.format(name, index, pair[column]) for index, (name, pair) in enumerate(PAIRS.items()))
    said = {name: "" for name in ["the header", *PAIRS]}
    last = "the header"
    for line in compiler_says(source, "-std=c++20", "-fno-diagnostics-show-caret")[1].splitlines():
        named = [name for name in PAIRS if re.search(rf"(^|from ){name}:", line)]
        last = named[0] if named else last
        said[last] += line + "\n"
    return said


class DoesNotCompile(unittest.TestCase):
    def test_what_is_refused(self):
        good, bad = said_of_each(0), said_of_each(1)
        self.assertEqual((good["the header"], bad["the header"]), ("", ""))
        for name, (_, line, said) in PAIRS.items():
            with self.subTest(name):
                self.assertEqual(good[name], "")
                self.assertIn("error: ", bad[name], "this must not compile: " + line)
                self.assertRegex(bad[name], said)

    def test_public_headers_stand_alone(self):
        for header in sorted((ROOT / "include/vernier").glob("*.h")):
            with self.subTest(header.name):
                includes = [line for line in header.read_text().splitlines() if line.startswith('#include "')]
                self.assertTrue(all((ROOT / "include" / line.split('"')[1]).exists() for line in includes), includes)
                for compiler in ("g++", "clang++"):
                    compiles, text = compiler_says(f'#include "vernier/{header.name}"\n', "-std=c++20", compiler=compiler)
                    self.assertTrue(compiles, text)

    def test_the_c_header_is_c(self):
        compiles, text = compiler_says('#include "vernier/vernier_c.h"\n', "-std=c99", "-pedantic", language="c", compiler="gcc")
        self.assertTrue(compiles, text)


if __name__ == "__main__":
    unittest.main()
