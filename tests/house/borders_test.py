"""The borders of the rooms: a room does not find the headers that it must not see. borders_test.py BUILD_FOLDER"""
import json
import pathlib
import re
import shlex
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = ROOT / "src/vernier"
BUILD = None

# A file of a room -> a header that it may include, and headers that it must not.
BORDERS = {
    "compare/compare.cpp": ("vernier/tensor/tensor.h", ["vernier/ir/graph.h", "vernier/ops/op_def.h", "vernier/backends/reference/interpreter.h"]),
    "base/error.cpp": ("vernier/base/error.h", ["vernier/tensor/tensor.h", "vernier/numeric/element_type.h"]),
    "ir/graph.cpp": ("vernier/tensor/tensor.h", ["vernier/ops/op_def.h", "vernier/onnx/import.h"]),
    "ops/registry.cpp": ("vernier/ir/graph.h", ["vernier/onnx/import.h", "vernier/compare/compare.h"]),
    "onnx/import.cpp": ("vernier/ops/op_def.h", ["vernier/data/formats/npy.h", "vernier/report/report.h"]),
    "backends/reference/interpreter.cpp": ("vernier/exec/runner.h", ["vernier/backends/process/process_runner.h", "vernier/onnx/import.h", "vernier/report/report.h"]),
    "passes/pass.cpp": ("vernier/ops/op_def.h", ["vernier/exec/plan.h", "vernier/backends/reference/interpreter.h"]),
    "precision/rules.cpp": ("vernier/passes/uses.h", ["vernier/exec/plan.h", "vernier/engine/engine.h", "vernier/backends/reference/interpreter.h"]),
    "error_analysis/expected_error.cpp": ("vernier/ops/op_def.h", ["vernier/exec/plan.h", "vernier/compare/compare.h", "vernier/backends/reference/interpreter.h"]),
    "exec/planning/make_plan.cpp": ("vernier/ops/op_def.h", ["vernier/backends/cpu/cpu_backend.h", "vernier/passes/pass.h"]),
    "backends/shared/epilogue.cpp": ("vernier/exec/plan.h", ["vernier/backends/cpu/processor.h", "vernier/backends/reference/interpreter.h"]),
    "backends/simulated/simulated_backend.cpp": ("vernier/exec/plan.h", ["vernier/backends/cpu/cpu_backend.h", "vernier/backends/reference/interpreter.h", "vernier/engine/engine.h"]),
    "backends/cpu/cpu_backend.cpp": ("vernier/exec/plan.h", ["vernier/backends/reference/interpreter.h", "vernier/engine/engine.h"]),
    "engine/engine.cpp": ("vernier/exec/plan.h", ["vernier/compile/compiler.h", "vernier/backends/cpu/cpu_backend.h", "vernier/backends/simulated/driver.h"]),
    "compile/compiler.cpp": ("vernier/engine/engine.h", ["vernier/proof/proof.h", "vernier/diagnose/bounds/derived_bounds.h", "vernier/backends/cpu/cpu_backend.h"]),
    "proof/proof.cpp": ("vernier/diagnose/bounds/derived_bounds.h", ["vernier/compile/compiler.h", "vernier/report/report.h"]),
    "builder/builder.cpp": ("vernier/proof/proof.h", ["vernier/diagnose/bounds/derived_bounds.h", "vernier/report/report.h", "vernier/backends/cpu/cpu_backend.h"]),
    "api/bindings.cpp": ("vernier/engine/engine.h", ["vernier/check/check.h", "vernier/report/report.h", "vernier/diagnose/bounds/derived_bounds.h"]),
    "check/check.cpp": ("vernier/ops/op_def.h", ["vernier/compare/compare.h", "vernier/backends/reference/interpreter.h"]),
}
# Heavy headers and the rooms whose files may include them; JSON stays out of headers, but for its forward declarations.
HEAVY = {"onnx/onnx-ml.pb.h": {"onnx"}, "onnx/onnx-data.pb.h": {"onnx"}, "CLI/CLI.hpp": {"cli"}, "nlohmann/json.hpp": {"calibrate", "cli", "data", "engine", "evaluate", "precision", "search", "tune", "page", "report", "reduce", "backends/process"}, "cblas.h": {"ops", "cli"}, "dnnl.hpp": {"backends/cpu"}, "hwy/highway.h": {"backends/cpu"}}


def room_of(path: pathlib.Path) -> str:
    parts = path.relative_to(SOURCES).parts
    return "/".join(parts[:2]) if parts[0] == "backends" else parts[0]


def flags_of_rooms() -> dict[str, list[str]]:
    """Gives the options that each room is compiled with: alone, or together with others of its room, its sources all see the same."""
    rooms = {}
    for entry in json.loads((BUILD / "compile_commands.json").read_text()):
        target = re.search(r" -o \S*/vernier_(\w+)\.dir/", entry["command"])
        if target and target[1] not in rooms:
            words = shlex.split(entry["command"])
            folders = [folder for flag, folder in zip(words, words[1:]) if flag == "-isystem"]
            rooms[target[1]] = [word for word in words if word.startswith(("-I", "-std", "-D"))] + [f"-isystem{folder}" for folder in folders]
    return rooms


def found(flags: list[str], headers: list[str]) -> list[bool]:
    """Whether a source that is compiled so could include each of the headers: by the compiler's own search."""
    text = "".join(f'#if __has_include("{header}")\nfound\n#else\nmissing\n#endif\n' for header in headers)
    done = subprocess.run(["g++", *flags, "-x", "c++", "-E", "-P", "-"], input=text, capture_output=True, text=True, check=True)
    return [word == "found" for word in done.stdout.split()]


class Borders(unittest.TestCase):
    def test_a_room_does_not_find_what_it_must_not_see(self):
        rooms = flags_of_rooms()
        for file, (allowed, forbidden) in BORDERS.items():
            self.assertTrue((SOURCES / file).exists(), f"{file} has moved; this test must follow")
            flags = rooms[room_of(SOURCES / file).replace("/", "_")]
            for header in forbidden:
                self.assertTrue((ROOT / "src" / header).exists(), f"{header} has moved; this test must follow")
            with self.subTest(file=file):
                self.assertEqual(found(flags, [allowed, *forbidden]), [True] + [False] * len(forbidden))

    def test_heavy_headers_stay_in_their_rooms(self):
        for path in SOURCES.rglob("*"):
            if path.suffix not in (".h", ".cpp"):
                continue
            for header in re.findall(r'#include [<"]([^">]+)[">]', path.read_text()):
                if header in HEAVY:
                    self.assertIn(room_of(path), HEAVY[header], f"{path} includes {header}")

    def test_one_place_asks_the_processor(self):
        # backends/cpu/processor.h combines what the hardware has with the limit that --isa sets; base/vector_state.h only
        # ends the use of what somebody else has used, and ops/support/math/gemm.cpp asks for OpenBLAS, whose kernels no limit reaches.
        question = re.compile(r"__builtin_cpu_(supports|is)|__get_cpuid|<cpuid\.h>|_xgetbv|SYS_arch_prctl|getauxval|(get|set)_(effective|max)_cpu_isa|SupportedTargets\(|SupportedTargetsForTest|DisableTargets\(")
        asking = {str(path.relative_to(SOURCES)) for path in SOURCES.rglob("*") if path.suffix in (".h", ".cpp") and question.search(path.read_text())}
        self.assertEqual(asking, {"backends/cpu/processor.cpp", "base/vector_state.h", "ops/support/math/gemm.cpp"})

    def test_one_place_decides_what_is_emulated(self):
        # Kernels get AVX-512 and targets from vector_instructions.h, by which emulation reaches all of them.
        native = re.compile(r"#include <(\w*mmintrin|immintrin|x86intrin)\.h>|\btarget\(\"")
        using = {str(path.relative_to(SOURCES)) for path in SOURCES.rglob("*") if path.suffix in (".h", ".cpp") and native.search(path.read_text())}
        self.assertEqual(using, {"backends/cpu/vector_instructions.h", "backends/cpu/emulation/vectors.h", "backends/cpu/onednn/invalid_operations.h"})


class Sizes(unittest.TestCase):
    def test_files_stay_small(self):
        lengths = sorted(len(path.read_text().splitlines()) for path in SOURCES.rglob("*") if path.suffix in (".h", ".cpp"))
        self.assertLessEqual(lengths[-1], 600)
        self.assertLessEqual(lengths[len(lengths) // 2], 120)
        self.assertLessEqual(lengths[len(lengths) * 9 // 10], 300)

    def test_folders_stay_small(self):
        # A reader finds the way by the names of folders; tests/fuzz/corpus holds inputs, not sources.
        for top in ("src", "tests"):
            for folder in [ROOT / top, *(path for path in (ROOT / top).rglob("*") if path.is_dir())]:
                if ROOT / "tests/fuzz/corpus" not in (folder, *folder.parents):
                    files = [path for path in folder.iterdir() if path.is_file()]
                    self.assertLessEqual(len(files), 40, f"{folder} holds {len(files)} files; give each family a folder of its own")

    def test_functions_stay_short(self):
        # clang-format puts the first and the last line of a function at the same indentation.
        opening = re.compile(r"^( {0,2})(?!namespace|struct|class|enum|union|extern| )\S.*\)[^;]*\{$")
        for path in SOURCES.rglob("*"):
            if path.suffix not in (".h", ".cpp"):
                continue
            lines = path.read_text().splitlines()
            for number, line in enumerate(lines):
                if match := opening.match(line):
                    end = next((i for i in range(number, len(lines)) if lines[i].startswith(match[1] + "}")), number)
                    self.assertLessEqual(end - number + 1, 60, f"{path}:{number + 1}: a function of {end - number + 1} lines")


if __name__ == "__main__":
    BUILD = pathlib.Path(sys.argv.pop(1))
    unittest.main()
