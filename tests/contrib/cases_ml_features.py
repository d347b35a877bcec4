"""Cases of the encoders and scalers of ai.onnx.ml."""

import itertools

import numpy as np
from onnx import numpy_helper

from case_writer import generator
from ml_formulas import DOMAIN

NAN = float("nan")
LISTS = {"strings": (["b", "a", "", "long"], object), "int64s": ([3, -1, 0, 9], np.int64), "floats": ([1.5, NAN, -2.0, 0.0], np.float32)}
NUMBERS = {"float": np.float32, "double": np.float64, "int32": np.int32, "int64": np.int64}


def keys_of(kind, version):
    """Gives the cases of LISTS; ONNX Runtime finds NaN from version 4 on only."""
    return [4.0 if key != key and version < 4 else key for key in LISTS[kind][0]]


def asked(kind, version):
    """Every key and some that are none."""
    keys, dtype = keys_of(kind, version), LISTS[kind][1]
    others = {"strings": ["c", "B"], "int64s": [7, 2], "floats": [8.0, -1.5]}[kind]
    return np.array([[*keys, others[0]], [others[1], *keys[::-1]]], dtype)


def label_encoder(writer, name, x, attributes, version):
    writer.case(f"label_encoder_{version}_{name}", "LabelEncoder", [x], attributes, 1, DOMAIN, version=version)


def label_encoders(writer):
    for version, keys, values in itertools.product((2, 4), LISTS, LISTS):
        if keys == values == "int64s" or (version == 2 and keys == values):
            continue  # ONNX Runtime has no such kernel
        attributes = {f"keys_{keys}": keys_of(keys, version), f"values_{values}": LISTS[values][0]}
        label_encoder(writer, f"{keys}_{values}", asked(keys, version), attributes, version)
    for version in (2, 4):
        defaults = dict(strings=dict(default_string="none"), int64s=dict(default_int64=-9), floats=dict(default_float=0.25))
        for keys, values in (("int64s", "strings"), ("strings", "int64s"), ("strings", "floats")):
            attributes = {f"keys_{keys}": keys_of(keys, version), f"values_{values}": LISTS[values][0]} | defaults[values]
            label_encoder(writer, f"{keys}_{values}_default", asked(keys, version), attributes, version)
        repeated = dict(keys_strings=["a", "b", "a"], values_int64s=[1, 2, 3])
        label_encoder(writer, "repeated_keys", np.array(["a", "b"], object), repeated, version)
        nan = dict(keys_floats=[1.0, NAN], values_strings=["one", "missing"])
        label_encoder(writer, "nan_key", np.array([NAN, 1, 2], np.float32), nan, version)
    for x in (np.array(["b", "a", "x"], object), np.array([0, 2, 7, -1])):
        attributes = dict(classes_strings=["a", "b", "c"])
        label_encoder(writer, "strings" if x.dtype == object else "int64s", x, attributes, 1)
    label_encoder(writer, "repeated_strings", np.array(["b", "a"], object), dict(classes_strings=["a", "b", "a"]), 1)


def label_encoder_tensors(writer):
    tensor = lambda values, dtype: numpy_helper.from_array(np.array(values, dtype))
    for keys, values in ((np.float64, np.float64), (np.int64, np.int64), (object, np.int16)):
        named = ["one", "two"] if keys is object else [1, 2]
        attributes = dict(keys_tensor=tensor(named, keys), values_tensor=tensor([10, 20], values), default_tensor=tensor([-5], values))
        name = f"tensor_{'string' if keys is object else np.dtype(keys).name}_{np.dtype(values).name}"
        label_encoder(writer, name, np.array([named[1], named[0], "three" if keys is object else 3], keys), attributes, 4)


def category_mappers(writer):
    attributes = dict(cats_strings=["a", "b", "a"], cats_int64s=[4, 2, 4])
    repeated = dict(cats_strings=["a", "b", "a"], cats_int64s=[4, 2, 6])
    for name, table in (("plain", attributes), ("repeated", repeated)):
        for x in (np.array([["b", "a", "x"]], object), np.array([4, 2, 6, -1])):
            kind = "strings" if x.dtype == object else "int64s"
            writer.case(f"category_mapper_{name}_{kind}", "CategoryMapper", [x], table, 1, DOMAIN, version=1)
    writer.case("category_mapper_default", "CategoryMapper", [np.array([9])], attributes | dict(default_string="none"), 1, DOMAIN, version=1)


def one_hot_encoders(writer):
    for kind, dtype in NUMBERS.items():
        if kind == "int32":
            continue  # ONNX Runtime has no such kernel
        x = np.array([[1, 3], [0, -2]]).astype(dtype)
        writer.case(f"one_hot_encoder_{kind}", "OneHotEncoder", [x], dict(cats_int64s=[3, 1, -2]), 1, DOMAIN, version=1)
    x = np.array(["b", "x", "a"], object)
    writer.case("one_hot_encoder_strings", "OneHotEncoder", [x], dict(cats_strings=["a", "b"]), 1, DOMAIN, version=1)
    writer.case("one_hot_encoder_fractions", "OneHotEncoder", [np.array([1.9, -0.9, 2.0], np.float32)], dict(cats_int64s=[0, 1, 2]), 1, DOMAIN,
                version=1)
    for zeros in (0, 1):
        writer.case(f"one_hot_encoder_zeros_{zeros}", "OneHotEncoder", [np.array([[2, 1]])], dict(cats_int64s=[1, 2], zeros=zeros), 1, DOMAIN,
                    version=1)


def imputers(writer):
    x = np.array([[1, NAN, -1], [0, 5, NAN]], np.float32)
    for missing, name in ((0.0, "zero"), (-1.0, "minus_one"), (NAN, "nan")):
        for values in ([7.0], [7.0, 8.0, 9.0]):
            name = f"imputer_{name}_{len(values)}"
            writer.case(name, "Imputer", [x], dict(imputed_value_floats=values, replaced_value_float=missing), 1, DOMAIN, version=1)
    attributes = dict(imputed_value_int64s=[7, 8], replaced_value_int64=-1)
    writer.case("imputer_int64", "Imputer", [np.array([[1, -1], [-1, 3]])], attributes, 1, DOMAIN, version=1)


def scalers(writer):
    for kind, dtype in NUMBERS.items():
        rng = generator(f"ml_scaling_{kind}")
        x = np.append(rng.integers(-5, 6, (4, 3)), np.zeros((1, 3)), axis=0).astype(dtype)
        writer.case(f"scaler_{kind}", "Scaler", [x], dict(offset=[0.5, -1.0, 2.0], scale=[2.0, 0.25, -3.0]), 1, DOMAIN, version=1)
        writer.case(f"scaler_{kind}_one", "Scaler", [x], dict(offset=[0.5], scale=[2.0]), 1, DOMAIN, version=1)
        for norm in ("MAX", "L1", "L2"):
            writer.case(f"normalizer_{norm.lower()}_{kind}", "Normalizer", [x], dict(norm=norm), 1, DOMAIN, version=1)
        writer.case(f"feature_vectorizer_{kind}", "FeatureVectorizer", [x, x[:, :2]], dict(inputdimensions=[3, 2]), 1, DOMAIN, version=1)
        writer.case(f"array_feature_extractor_{kind}", "ArrayFeatureExtractor", [x, np.array([2, 0, 2])], {}, 1, DOMAIN, version=1)
    for norm in ("MAX", "L1", "L2"):
        x = np.array([3.0, -4.0, 1.0], np.float32)
        writer.case(f"normalizer_{norm.lower()}_vector", "Normalizer", [x], dict(norm=norm), 1, DOMAIN, version=1)
    x = np.array([[-3.0, -5.0, 1.0], [NAN, -2.0, -8.0]], np.float32)
    writer.case("normalizer_max_signs", "Normalizer", [x], dict(norm="MAX"), 1, DOMAIN, version=1)
    writer.case("binarizer", "Binarizer", [np.array([[-3, -2, 1]], np.float32)], dict(threshold=-2.0), 1, DOMAIN, version=1)


def vectors(writer):
    x = np.array([1.0, 2.0, 3.0], np.float32)
    writer.case("feature_vectorizer_narrow", "FeatureVectorizer", [np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)], dict(inputdimensions=[3]), 1,
                DOMAIN, version=1)
    writer.case("feature_vectorizer_wide", "FeatureVectorizer", [np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)], dict(inputdimensions=[1]), 1,
                DOMAIN, version=1)
    writer.case("array_feature_extractor_vector", "ArrayFeatureExtractor", [x, np.array([1, 1])], {}, 1, DOMAIN, version=1)
    writer.case("array_feature_extractor_strings", "ArrayFeatureExtractor", [np.array([["a", "b"], ["c", "d"]], object), np.array([[1]])], {}, 1,
                DOMAIN, version=1)
    cube = np.arange(12, dtype=np.int64).reshape(2, 2, 3)
    writer.case("array_feature_extractor_cube", "ArrayFeatureExtractor", [cube, np.array([2, 1])], {}, 1, DOMAIN, version=1)


def write(writer):
    for family in (label_encoders, label_encoder_tensors, category_mappers, one_hot_encoders, imputers, scalers, vectors):
        family(writer)
