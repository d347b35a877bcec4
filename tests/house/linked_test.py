"""The program and the library are linked with nothing under the GPL, themselves or by others. linked_test.py PROGRAM LIBRARY"""
import subprocess
import sys
import unittest

FILES = []


class Linked(unittest.TestCase):
    def test_nothing_brings_libjbig_along(self):
        for file in FILES:
            needed = subprocess.run(["ldd", file], capture_output=True, text=True, check=True).stdout
            self.assertIn("libc.so", needed)
            for library in ("libtiff", "libjbig", "not found"):
                self.assertNotIn(library, needed, file)


if __name__ == "__main__":
    FILES = [sys.argv.pop(), sys.argv.pop()]
    unittest.main()
