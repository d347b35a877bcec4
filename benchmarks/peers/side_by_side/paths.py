"""Where things lie. The pack of benchmarks/peers/threads repeats this tree, so nothing else needs to know of it."""
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[3]
SHARED = ROOT.parent / "shared"
BUILD = ROOT / "build/release"
VERNIER = BUILD / "bin/vernier"
LIBRARY = BUILD / "lib/libvernier.so"
CARRIED_LIBRARIES = BUILD / "closure"  # shared libraries that a bare machine lacks; only in a pack
RESULTS = ROOT / "benchmarks/results"
WORK = ROOT / "build/peers"  # engines, timing caches and reports on the way to a table
