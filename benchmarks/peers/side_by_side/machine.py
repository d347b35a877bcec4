"""The machine that a table was measured on."""
import datetime
import os
import subprocess

from .paths import ROOT


def cpu() -> str:
    for line in open("/proc/cpuinfo"):
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return "unknown"


def cores() -> list[int]:
    """The cores that this process may use, in ascending order."""
    return sorted(os.sched_getaffinity(0))


def name(isa: str = "") -> str:
    """Vendor, widest instruction set and number of cores, with the level that Vernier is limited to: "intel-amx-16"."""
    flags = next(line for line in open("/proc/cpuinfo") if line.startswith("flags"))
    widest = "amx" if "amx_bf16" in flags else "avx512" if "avx512f" in flags else "avx2"
    vendor = "intel" if "Intel" in cpu() else "amd" if "AMD" in cpu() else "other"
    return f"{vendor}-{widest}-{len(cores())}" + (f"-isa-{isa}" if isa else "")


def commit() -> str:
    """Names the commit that was measured. A pack is no repository: it has the name in a file."""
    written = ROOT / "commit"
    if written.exists():
        return written.read_text().strip()
    done = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], capture_output=True, text=True)
    return done.stdout.strip() or "unknown"


def conditions(isa: str = "") -> str:
    """The line above each table."""
    limit = f", Vernier limited by --isa {isa}, the others not" if isa else ""
    return f"{cpu()}, {len(cores())} cores{limit}, commit {commit()}, {datetime.date.today()}."


def waiting() -> int:
    """Microseconds, since the machine has started, in which some task that could run had no core (/proc/pressure/cpu)."""
    try:
        some = open("/proc/pressure/cpu").readline()
    except OSError:  # a kernel without pressure stall information
        return 0
    return int(some.rsplit("total=", 1)[1])
