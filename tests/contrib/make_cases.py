"""Generates the cases of com.microsoft and ai.onnx.ml: make_cases.py FOLDER

`conformance FOLDER tests/contrib/expected_failures.tsv` then runs them. What ONNX Runtime computes, with its graph
optimisations off, is what is expected; equal runs give equal files.
"""

import sys

import cases_attention
import cases_convolution
import cases_experts
import cases_matmul
import cases_ml_features
import cases_ml_maps
import cases_ml_models
import cases_ml_trees
import cases_normalisation
import cases_other
import cases_qlinear
import cases_recurrent
import cases_weights
from case_writer import CaseWriter

CATEGORIES = {
    "qlinear": cases_qlinear,
    "matmul": cases_matmul,
    "convolution": cases_convolution,
    "normalisation": cases_normalisation,
    "attention": cases_attention,
    "recurrent": cases_recurrent,
    "weights": cases_weights,
    "experts": cases_experts,
    "other": cases_other,
    "ml_features": cases_ml_features,
    "ml_maps": cases_ml_maps,
    "ml_models": cases_ml_models,
    "ml_trees": cases_ml_trees,
}


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for category, module in CATEGORIES.items():
        writer = CaseWriter(sys.argv[1], category)
        module.write(writer)
        print(f"{category}: {writer.count} cases")


if __name__ == "__main__":
    main()
