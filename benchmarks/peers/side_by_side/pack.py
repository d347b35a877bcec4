"""Packs what a bare machine needs to make the table of threads: no network, no compiler, no package but Python. See benchmarks/peers/threads."""
import argparse
import fnmatch
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

from . import machine, models
from .paths import LIBRARY, ROOT, SHARED, VERNIER

LIMIT = 60 << 20  # bytes of a pack
HERE = pathlib.Path(__file__).resolve().parent
WHEELS = ("onnxruntime", "openvino", "numpy")
PLATFORMS = ("manylinux_2_31_x86_64", "manylinux_2_28_x86_64", "manylinux_2_27_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64")
# No engine on a CPU loads these parts of the wheels to read an ONNX model and run it. ONNX Runtime's module for Python holds all of the library.
LEFT_OUT = ("openvino/libs/*gpu*", "openvino/libs/*npu*", "openvino/libs/*auto*", "openvino/libs/*hetero*", "openvino/libs/*template*",
            "openvino/libs/*tensorflow*", "openvino/libs/*pytorch*", "openvino/libs/*paddle*", "openvino/libs/*jax*",
            "openvino/libs/*intel_gna*", "openvino/libs/*OpenCL*", "openvino/libs/*gguf*", "openvino/libs/*.xml", "openvino/libs/*.json", "openvino/include/*", "openvino/cmake/*", "openvino/tools/*",
            "onnxruntime/capi/libonnxruntime.so*", "onnxruntime/transformers/*", "onnxruntime/quantization/*", "onnxruntime/tools/*", "onnxruntime/datasets/*",
            "numpy/*/tests/*", "numpy/tests/*", "numpy/_core/include/*", "numpy/f2py/*", "*.pyi", "*.a", "*.lib", "*.dist-info/licenses/*")
C_LIBRARY = re.compile(r"(ld-linux|libc|libm|libpthread|libdl|librt|linux-vdso)[-.]")  # every machine has its own, which fits its kernel
RUN = '''#!/usr/bin/env bash
# Makes one part of the table of threads, in less than nine minutes: run fp32|bf16 OUT [PYTHON [OPTION…]]. Writes a table and its rows as JSON to OUT;
# benchmarks/peers/threads --merge takes the JSON of both parts. PYTHON, python3 unless named, must be VERSION: the wheels are made for it.
set -euo pipefail
[ $# -ge 2 ] || { sed -n 2,3p "$0" >&2; exit 2; }
part=$1 python=${3:-python3}
mkdir -p "$2"
out=$(realpath "$2") here=$(dirname "$(realpath "$0")")
[ "$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')" = VERSION ] || { echo "run: $python is not Python VERSION" >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$python" -m tarfile -e "$here/payload.tar.xz" "$work"
cd "$work/main"
PYTHONPATH=benchmarks/peers:../site "$python" -m side_by_side.threads --precision "$part" --out "$out" --budget BUDGET "${@:4}"
'''


def closure(*binaries: pathlib.Path) -> set[pathlib.Path]:
    """The shared libraries that these load, and those that they load, but for the C library."""
    found = set()
    for binary in binaries:
        listed = subprocess.run(["ldd", binary], capture_output=True, text=True, check=True).stdout
        if missing := re.findall(r"(\S+) => not found", listed):
            raise RuntimeError(f"{binary.name} needs {', '.join(missing)}, which this machine lacks")
        found |= {pathlib.Path(path) for path in re.findall(r"=> (/\S+)", listed)}
    return {path for path in found if not C_LIBRARY.match(path.name)}


def versions(names: list[str]) -> list[str]:
    """The wheels of these packages, of the versions that run here."""
    from importlib.metadata import version

    return [f"{name}=={version(name)}" for name in names]


def wheels(python: str, names: list[str], folder: pathlib.Path) -> list[pathlib.Path]:
    platforms = [word for platform in PLATFORMS for word in ("--platform", platform)]
    subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:",
                    "--python-version", python, "--implementation", "cp", *platforms, "--dest", folder, *versions(names)], check=True)
    return sorted(folder.glob("*.whl"))


def unpack_wheel(wheel: pathlib.Path, site: pathlib.Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.infolist():
            if not any(fnmatch.fnmatch(member.filename, pattern) for pattern in LEFT_OUT):
                archive.extract(member, site)


def copy_stripped(source: pathlib.Path, target: pathlib.Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["strip", "--strip-unneeded", "-o", target, source.resolve()], check=True)
    target.chmod(0o755)


def fill(tree: pathlib.Path, python: str, names: list[str], downloads: pathlib.Path) -> None:
    """The folders of a pack, as paths.py knows them."""
    main = tree / "main"
    shutil.copytree(HERE, main / HERE.relative_to(ROOT), ignore=shutil.ignore_patterns("__pycache__"))
    (main / "commit").write_text(machine.commit() + "\n")
    for binary in (VERNIER, LIBRARY):
        copy_stripped(binary, main / binary.relative_to(ROOT))
    for library in closure(VERNIER, LIBRARY):
        copy_stripped(library, main / "build/release/closure" / library.name)
    skeletons = tree / "shared/skeletons"
    for folder, _ in models.SKELETONS.values():
        shutil.copytree(SHARED / "skeletons" / folder, skeletons / folder, ignore=shutil.ignore_patterns("weights.bin"))
    shutil.copy(SHARED / "skeletons/fill_weights.py", skeletons)
    for wheel in wheels(python, names, downloads) if names else []:
        unpack_wheel(wheel, tree / "site")


def pack(folder: pathlib.Path, python: str, names: list[str], budget: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    payload = folder / "payload.tar.xz"
    with tempfile.TemporaryDirectory() as temporary:
        tree, downloads = pathlib.Path(temporary) / "tree", pathlib.Path(temporary) / "wheels"
        fill(tree, python, names, downloads)
        subprocess.run(["tar", "--use-compress-program=xz -T0 -7", "--owner=0", "--group=0", "-cf", payload.resolve(), "-C", tree, "."], check=True)
    run = folder / "run"
    run.write_text(RUN.replace("VERSION", python).replace("BUDGET", str(budget)))
    run.chmod(0o755)
    size = sum(path.stat().st_size for path in (payload, run))
    print(f"{folder}: {size / 2**20:.1f} MiB")
    if size > LIMIT:
        raise SystemExit(f"pack: more than {LIMIT >> 20} MiB")


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks/peers/threads --pack")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--python", default="3.12", help="the version there, which the wheels are made for")
    parser.add_argument("--without", nargs="+", default=[], choices=WHEELS, help="packages that the machine has, of whatever version")
    parser.add_argument("--budget", type=int, default=480, help="seconds after which a part begins no cell")
    arguments = parser.parse_args()
    pack(arguments.folder, arguments.python, [name for name in WHEELS if name not in arguments.without], arguments.budget)


if __name__ == "__main__":
    main()
