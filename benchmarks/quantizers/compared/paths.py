"""Where things are."""
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[3]
MODELS = ROOT.parent / "shared/models"
VERNIER = ROOT / "build/release/bin/vernier"
SCRIPTS = ROOT / "benchmarks/quantizers/with"
ENVIRONMENTS = ROOT / "build/quantizers"  # of the tools that Vernier is compared with
