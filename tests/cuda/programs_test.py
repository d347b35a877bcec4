"""Every program of the conformance cases compiles: programs_test.py CUDA_PROGRAMS SOURCE_DIR

SKIPPED where ../shared or NVRTC (pip install nvidia-cuda-nvrtc; scripts/setup --cuda) is not here."""
import pathlib
import subprocess
import sys
import tarfile
import tempfile

SKIPPED = 77


def main() -> int:
    programs, source = sys.argv[1], pathlib.Path(sys.argv[2])
    suite = source / "../shared/conformance/onnx-backend-tests.tar.xz"
    if not suite.exists():
        print("SKIPPED: ../shared/conformance is not here")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(suite) as archive:
            archive.extractall(folder, filter="data")
        done = subprocess.run([programs, folder, f"--cuda-path={source / '.venv-cuda'}"], capture_output=True, text=True)
        print(done.stdout[-4000:], done.stderr[-4000:], sep="")
        return 0 if done.returncode == SKIPPED else done.returncode


if __name__ == "__main__":
    sys.exit(main())
