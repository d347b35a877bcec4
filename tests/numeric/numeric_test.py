"""The number formats of 16 bits and fewer, code by code, against ml_dtypes and against exact nearest-even rounding.

numeric_test.py NUMERIC_TOOL
"""
import subprocess
import sys
import unittest

import ml_dtypes
import numpy as np

TOOL = ""
FLOATS = {
    "FLOAT16": np.float16, "BFLOAT16": ml_dtypes.bfloat16,
    "FLOAT8E4M3FN": ml_dtypes.float8_e4m3fn, "FLOAT8E4M3FNUZ": ml_dtypes.float8_e4m3fnuz,
    "FLOAT8E5M2": ml_dtypes.float8_e5m2, "FLOAT8E5M2FNUZ": ml_dtypes.float8_e5m2fnuz,
    "FLOAT8E8M0": ml_dtypes.float8_e8m0fnu, "FLOAT4E2M1": ml_dtypes.float4_e2m1fn,
}
INTEGERS = {"INT4": (4, ml_dtypes.int4), "UINT4": (4, ml_dtypes.uint4), "INT2": (2, ml_dtypes.int2), "UINT2": (2, ml_dtypes.uint2)}


def codes(dtype) -> np.ndarray:
    if np.dtype(dtype).itemsize == 2:
        return np.arange(1 << 16, dtype=np.uint16)
    return np.arange(16 if dtype is ml_dtypes.float4_e2m1fn else 256, dtype=np.uint8)


def decode(name: str) -> np.ndarray:
    return np.frombuffer(subprocess.run([TOOL, "decode", name], check=True, capture_output=True).stdout, np.float64)


def encode(name: str, values: np.ndarray) -> np.ndarray:
    raw = subprocess.run([TOOL, "encode", name], input=values.astype(np.float64).tobytes(), check=True, capture_output=True).stdout
    return np.frombuffer(raw, np.uint16)


def probes(values: np.ndarray) -> np.ndarray:
    """Every value, every midpoint of neighbours, and the doubles just beside each of them."""
    finite = np.unique(values[np.isfinite(values)])
    middle = (finite[:-1] + finite[1:]) / 2
    points = np.concatenate([finite, middle, [finite[-1] * 1.01, finite[-1] * 1.0625, finite[-1] * 1.5, finite[-1] * 4, 1e300, 5e-324]])
    points = np.concatenate([points, -points])
    return np.concatenate([points, np.nextafter(points, np.inf), np.nextafter(points, -np.inf)])


class Decoding(unittest.TestCase):
    def test_every_code(self):
        for name, dtype in FLOATS.items():
            with self.subTest(name):
                expected = codes(dtype).view(dtype).astype(np.float64)
                actual = decode(name)
                self.assertEqual(len(actual), len(expected))
                np.testing.assert_array_equal(np.isnan(actual), np.isnan(expected))
                mask = ~np.isnan(expected)
                np.testing.assert_array_equal(actual[mask].view(np.uint64), expected[mask].view(np.uint64))

    def test_every_integer(self):
        for name, (bits, dtype) in INTEGERS.items():
            with self.subTest(name):
                wide = np.arange(1 << bits)
                signed = np.where(wide >= 1 << (bits - 1), wide - (1 << bits), wide) if name.startswith("INT") else wide
                np.testing.assert_array_equal(decode(name), signed)
                np.testing.assert_array_equal(signed.astype(dtype).astype(np.int64), signed)


class Encoding(unittest.TestCase):
    def test_every_code_returns_to_itself(self):
        for name, dtype in FLOATS.items():
            with self.subTest(name):
                values = decode(name)
                mask = ~np.isnan(values)
                np.testing.assert_array_equal(encode(name, values[mask]), codes(dtype)[mask])

    def test_nan_stays_nan(self):
        for name in set(FLOATS) - {"FLOAT4E2M1"}:
            with self.subTest(name):
                self.assertTrue(np.isnan(decode(name)[encode(name, np.array([np.nan]))]).all())

    def test_one_rounding_to_nearest_even(self):
        """Against the exact answer: of the two neighbours the nearer one, of equally near ones the even code."""
        for name in set(FLOATS) - {"FLOAT8E8M0"}:
            with self.subTest(name):
                values = decode(name)
                half = values[: len(values) // 2]
                grid = half[np.isfinite(half)]
                points = np.abs(probes(values))
                points = points[points <= grid[-1]]
                upper = np.searchsorted(grid, points)
                lower = np.maximum(upper - 1, 0)
                to_lower, to_upper = points - grid[lower], grid[upper] - points
                nearest = np.where((to_upper < to_lower) | ((to_upper == to_lower) & (upper % 2 == 0)), upper, lower)
                np.testing.assert_array_equal(encode(name, points), nearest)

    def test_agrees_with_ml_dtypes_on_floats(self):
        for name, dtype in FLOATS.items():
            with self.subTest(name):
                with np.errstate(over="ignore"):
                    points = probes(decode(name)).astype(np.float32).astype(np.float64)
                if name == "FLOAT8E8M0":
                    points = points[points > 2.0**-126]  # ml_dtypes has its own idea of zero and below
                with np.errstate(over="ignore"):
                    expected = points.astype(np.float32).astype(dtype).astype(np.float64)
                actual = decode(name)[encode(name, points)]
                np.testing.assert_array_equal(actual, expected)


if __name__ == "__main__":
    TOOL = sys.argv.pop(1)
    unittest.main()
