"""A build with emulated instructions has none of AVX-512 and AMX in the code of the CPU backend: emulated_test.py ARCHIVE

Such code would end the process on the machines that the emulation is for."""
import re
import subprocess
import sys
import unittest

ARCHIVE = None
# Registers of AVX-512 and AMX: those of 64 bytes, the upper 16, masks, and tiles.
BEYOND_AVX2 = re.compile(r"%(zmm\d+|[xy]mm(1[6-9]|2\d|3[01])|k[0-7]|tmm\d)\b")


def found(lines):
    """Finds what is beyond AVX2, as (object file, line), and whether there was any code of AVX2."""
    beyond, name, has_avx2 = [], "", False
    for line in lines:
        if "file format" in line:
            name = line.split(":")[0]
        elif BEYOND_AVX2.search(line):
            beyond.append((name, line.strip()))
        elif "%ymm" in line:
            has_avx2 = True
    return beyond, has_avx2


class Emulated(unittest.TestCase):
    def test_registers_are_known(self):
        for line in ("vaddps %zmm0,%zmm1,%zmm2", "vmovdqu8 (%rax),%ymm1{%k1}{z}", "vmovaps %xmm16,%xmm2", "tdpbf16ps %tmm1,%tmm0,%tmm2", "kmovq %rax,%k1"):
            self.assertEqual(len(found(["a.o:     file format elf64-x86-64", line])[0]), 1, line)
        self.assertEqual(found(["a.o:     file format elf64-x86-64", "vfmadd213ps %ymm15,%ymm0,%ymm1"]), ([], True))

    def test_no_code_is_beyond_avx2(self):
        with subprocess.Popen(["objdump", "--disassemble", "--no-show-raw-insn", ARCHIVE], stdout=subprocess.PIPE, text=True) as dump:
            beyond, has_avx2 = found(dump.stdout)
        self.assertEqual(dump.returncode, 0)
        self.assertTrue(has_avx2)
        self.assertEqual(beyond[:20], [])


if __name__ == "__main__":
    ARCHIVE = sys.argv.pop(1)
    unittest.main()
