"""Writes small models with shape arithmetic, as exporters produce it: make_models.py FOLDER.

Each is checked by `symbolic --exact`: every size of every value must be inferred as an expression that is right for every
size of the input, whether a slice keeps nothing or a pad is negative.
"""

import pathlib
import random
import sys

import onnx.parser

HEADER = '<ir_version: 8, opset_import: ["" : {opset}]> main ({inputs}) => ({outputs}) {{\n{body}\n}}'

# name: (opset, inputs, outputs, body)
MODELS = {
    "flatten_by_shape": (17, "float[N, C, H, W] x", "float[a, b] y", """
        s = Shape(x)  zero = Constant<value = int64 {0}>()  n = Gather(s, zero)
        axes = Constant<value = int64[1] {0}>()  n1 = Unsqueeze(n, axes)
        rest = Constant<value = int64[1] {-1}>()  shape = Concat<axis = 0>(n1, rest)  y = Reshape(x, shape)"""),
    "heads": (17, "float[B, S, 24] x", "float[a, b, c] z", """
        b = Shape<start = 0, end = 1>(x)  s = Shape<start = 1, end = 2>(x)
        heads = Constant<value = int64[2] {4, 6}>()  shape = Concat<axis = 0>(b, s, heads)
        y = Reshape(x, shape)  t = Transpose<perm = [0, 2, 1, 3]>(y)  u = Transpose<perm = [0, 2, 1, 3]>(t)
        back = Constant<value = int64[3] {0, 0, -1}>()  z = Reshape(u, back)"""),
    "torch_pad": (17, "float[N, H, W] x", "float[a, b, c] y", """
        pads = Constant<value = int64[4] {1, 2, 3, -1}>()  six = Constant<value = int64 {6}>()
        four = Size(pads)  missing = Sub(six, four)  axes = Constant<value = int64[1] {0}>()
        more = Unsqueeze(missing, axes)  zeros = ConstantOfShape<value = int64[1] {0}>(more)
        all = Concat<axis = 0>(pads, zeros)  pairs = Constant<value = int64[2] {-1, 2}>()  rows = Reshape(all, pairs)
        last = Constant<value = int64[1] {-1}>()  lowest = Constant<value = int64[1] {-9223372036854775807}>()
        reversed = Slice(rows, last, lowest, axes, last)  columns = Transpose<perm = [1, 0]>(reversed)
        flat = Reshape(columns, last)  y = Pad<mode = "constant">(x, flat)"""),
    "pad_to_multiple": (17, "float[N, L] x", "float[a, b, 4] y", """
        one = Constant<value = int64 {1}>()  zero = Constant<value = int64[1] {0}>()  four = Constant<value = int64[1] {4}>()
        s = Shape(x)  l = Gather(s, one)  negative = Sub(zero, l)  pad = Mod(negative, four)
        zeros = Constant<value = int64[3] {0, 0, 0}>()  pads = Concat<axis = 0>(zeros, pad)
        padded = Pad(x, pads)  shape = Constant<value = int64[3] {0, -1, 4}>()  y = Reshape(padded, shape)"""),
    "roll": (17, "float[N, L] x", "float[a, b] z", """
        axis = Constant<value = int64[1] {1}>()  zero = Constant<value = int64[1] {0}>()
        cut = Constant<value = int64[1] {3}>()  end = Constant<value = int64[1] {9223372036854775807}>()
        head = Slice(x, zero, cut, axis)  tail = Slice(x, cut, end, axis)  y = Concat<axis = 1>(tail, head)
        z = Add(x, y)"""),
    "causal_mask": (17, "float[B, S] x, float[B, P] past", "float[a, b] y", """
        one = Constant<value = int64 {1}>()  zero = Constant<value = int64 {0}>()  axes = Constant<value = int64[1] {0}>()
        sx = Shape(x)  sp = Shape(past)  s = Gather(sx, one)  p = Gather(sp, one)  t = Add(s, p)
        s1 = Unsqueeze(s, axes)  t1 = Unsqueeze(t, axes)  square = Concat<axis = 0>(t1, t1)
        ones = ConstantOfShape<value = float[1] {1}>(square)  lower = Trilu<upper = 0>(ones)
        first = Sub(t1, s1)  y = Slice(lower, first, t1, axes)"""),
    "positions": (17, "float[B, S] x", "int64[a, b] y", """
        one = Constant<value = int64 {1}>()  zero = Constant<value = int64 {0}>()  two = Constant<value = int64 {2}>()
        axes = Constant<value = int64[1] {0}>()  s = Shape(x)  n = Gather(s, one)
        positions = Range(zero, n, two)  row = Unsqueeze(positions, axes)  b = Shape<end = 1>(x)
        m = Shape(positions)  shape = Concat<axis = 0>(b, m)  y = Expand(row, shape)"""),
    "expand_and_tile": (17, "float[B, 1, D] x", "float[a, b, c] z", """
        s = Shape(x)  b, one, d = Split<axis = 0>(s)  repeats = Concat<axis = 0>(one, d, one)
        target = Concat<axis = 0>(b, d, d)  y = Expand(x, target)  z = Tile(y, repeats)"""),
    "chunks": (18, "float[N, L] x", "float[a, b] p, float[c, d] q, float[e, f] r", """
        p, q, r = Split<axis = 1, num_outputs = 3>(x)"""),
    "halves_swapped": (18, "float[N, L] x", "float[a, b] y", """
        p, q = Split<axis = 1, num_outputs = 2>(x)  z = Concat<axis = 1>(q, p)  y = Add(x, z)"""),
}


def slices(count=150):
    """Slices of every kind over one axis, and over one whose limits are sizes themselves."""
    generator = random.Random(1)
    limits = [0, 1, 2, 3, 5, 9, -1, -2, -3, -6, -20, 2**31 - 1, 2**63 - 1, -(2**31), -(2**63) + 1]
    lines = ["s = Shape(x)  three = Constant<value = int64[1] {3}>()  less = Sub(s, three)  half = Div(s, three)"]
    for i in range(count):
        lines.append(f"t{i} = Constant<value = int64[1] {{{generator.choice([1, 1, 2, 3, -1, -2, -4])}}}>()")
        start, end = (
            f"{kind}{i}" if (symbol := generator.choice([None, None, "s", "less", "half"])) is None else symbol
            for kind in "be"
        )
        for name in {start, end} & {f"b{i}", f"e{i}"}:
            lines.append(f"{name} = Constant<value = int64[1] {{{generator.choice(limits)}}}>()")
        lines.append(f"zero{i} = Constant<value = int64[1] {{0}}>()  y{i} = Slice(x, {start}, {end}, zero{i}, t{i})")
    lines.append("y = Concat<axis = 0>(" + ", ".join(f"y{i}" for i in range(count)) + ")")
    return 17, "float[N] x", "float[M] y", "\n".join(lines)


def main(folder):
    for name, (opset, inputs, outputs, body) in {**MODELS, "slices": slices()}.items():
        model = onnx.parser.parse_model(HEADER.format(opset=opset, inputs=inputs, outputs=outputs, body=body))
        path = pathlib.Path(folder) / name / "model.onnx"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(model.SerializeToString())


if __name__ == "__main__":
    main(sys.argv[1])
