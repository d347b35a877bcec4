"""Cases of the operators of ai.onnx.ml on maps."""

import numpy as np

from case_writer import generator
from cases_matmul import normal
from ml_formulas import DOMAIN


def zip_maps(writer):
    keys = {"int64s": [7, -2, 0], "strings": ["virginica", "", "setosa"]}
    for kind, shape in (("int64s", (4, 3)), ("strings", (4, 3)), ("int64s", (3,))):
        name = f"zip_map_{kind}_{len(shape)}d"
        writer.case(name, "ZipMap", [normal(generator(name), *shape)], {f"classlabels_{kind}": keys[kind]}, 1, DOMAIN, version=1)
    name = "zip_map_repeated"
    writer.case(name, "ZipMap", [normal(generator(name), 2, 3)], dict(classlabels_int64s=[4, 1, 4]), 1, DOMAIN, version=1)


def dict_vectorizers(writer):
    """ONNX Runtime makes a row of what ONNX calls a vector."""
    cases = {
        "strings_float": ({"a": 4.0, "c": 8.0}, dict(string_vocabulary=["a", "c", "b", "z"])),
        "int64s_float": ({3: 1.5, -1: 2.5}, dict(int64_vocabulary=[-1, 0, 3])),
        "unknown_key": ({3: 1.5, 9: 2.5}, dict(int64_vocabulary=[3, 4])),
    }
    for name, (x, attributes) in cases.items():
        row = writer.run("DictVectorizer", [x], attributes, 1, DOMAIN, 1)[0]
        writer.case(f"dict_vectorizer_{name}", "DictVectorizer", [x], attributes, 1, DOMAIN, [row[0]], 1)
    # Its Python interface cannot take these.
    for name, entry in (("double", np.float64(0.1)), ("int64", np.int64(2**40))):
        expected = np.array([0, entry], entry.dtype)
        writer.case(f"dict_vectorizer_strings_{name}", "DictVectorizer", [{"b": entry}], dict(string_vocabulary=["a", "b"]), 1, DOMAIN,
                    [expected], 1)
    expected = np.array(["one", "", "three"], object)
    writer.case("dict_vectorizer_int64s_strings", "DictVectorizer", [{3: "three", 1: "one"}], dict(int64_vocabulary=[1, 2, 3]), 1, DOMAIN,
                [expected], 1)
    writer.case("dict_vectorizer_as_onnxruntime", "DictVectorizer", [x], attributes, 1, DOMAIN, version=1)


def cast_maps(writer):
    numbers = {4: 1.75, 0: -2.5, 2: 1e6}
    for target in ("FLOAT", "INT64", "STRING"):
        for form in (dict(map_form="DENSE"), dict(map_form="SPARSE", max_map=6)):
            name = f"cast_map_{target.lower()}_{form['map_form'].lower()}"
            writer.case(name, "CastMap", [numbers], form | dict(cast_to=f"TO_{target}"), 1, DOMAIN, version=1)
    # ONNX Runtime's Python interface takes no maps to strings.
    for target, expected in (("FLOAT", np.float32), ("INT64", np.int64), ("STRING", object)):
        row = np.array([["-3", "12"]], object).astype(expected)
        writer.case(f"cast_map_texts_{target.lower()}", "CastMap", [{1: "12", 0: "-3"}], dict(cast_to=f"TO_{target}"), 1, DOMAIN, [row], 1)


def write(writer):
    for family in (zip_maps, dict_vectorizers, cast_maps):
        family(writer)
