"""An operator, a kernel, an option or a backend touches few files: adding_test.py SOURCE_FOLDER

Each folder of adding/ is a worked example of a recipe in docs/adding.md: new files where they would lie, and a patch of those that
change. Here they are counted, and the patches must apply; scripts/adding builds the sources with all of them, and runs a model.
"""
import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(sys.argv.pop())
EXAMPLES = ROOT / "tests/house/adding"
MOST = {"operator": 2, "kernel": 2, "option": 3, "backend": 5}


def touched(example):
    """The files that an example adds, and those that it changes."""
    files = [path.relative_to(example) for path in example.rglob("*") if path.is_file()]
    changed = [name for path in files if path.suffix == ".patch" for name in re.findall(r"^\+\+\+ b/(\S+)$", (example / path).read_text(), re.M)]
    return {str(path) for path in files if path.suffix != ".patch"}, set(changed)


class Adding(unittest.TestCase):
    def test_examples_touch_few_files(self):
        self.assertEqual({path.name for path in EXAMPLES.iterdir() if path.is_dir()}, set(MOST))
        for name, most in MOST.items():
            added, changed = touched(EXAMPLES / name)
            self.assertTrue(1 <= len(added | changed) <= most, (name, added, changed))

    def test_new_files_are_new(self):
        for name in MOST:
            for path in touched(EXAMPLES / name)[0]:
                self.assertFalse((ROOT / path).exists(), path)
                folder = (ROOT / path).parent
                self.assertTrue(folder.is_dir() or folder.parent.name == "backends", path)

    def test_patches_apply(self):
        patches = sorted(EXAMPLES.rglob("*.patch"))
        self.assertTrue(patches)
        for patch in patches:
            done = subprocess.run(["git", "apply", "--check", str(patch)], cwd=ROOT, capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, f"{patch.name} is out of date: {done.stderr}")


if __name__ == "__main__":
    unittest.main()
