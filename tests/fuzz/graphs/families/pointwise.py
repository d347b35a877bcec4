"""Operators that compute element by element."""

from builder import CannotDraw
from draw import ALL, Recipe
from onnx import TensorProto
from registry import operator

TYPE_NUMBERS = {kind: getattr(TensorProto, kind.upper()) for kind in ALL}

# Where functions are defined: elsewhere NaN is right, and drawn as a special value.
DOMAINS = {
    "Acos": (-1, 1), "Asin": (-1, 1), "Atanh": (-0.99, 0.99), "Acosh": (1, 20), "Log": (0.01, 20), "Sqrt": (0, 50),
    "Reciprocal": (0.1, 9), "Tan": (-1.4, 1.4), "Exp": (-9, 9),
}  # fmt: skip
SLOPES = {
    "Celu": ("alpha",), "Elu": ("alpha",), "LeakyRelu": ("alpha",), "ThresholdedRelu": ("alpha",), "Selu": ("alpha", "gamma"),
    "HardSigmoid": ("alpha", "beta"), "Shrink": ("bias", "lambd"), "Swish": ("alpha",),
}  # fmt: skip


@operator(
    *"""Abs Acos Acosh Asin Asinh Atan Atanh BitwiseNot Ceil Celu Cos Cosh Elu Erf Exp Floor HardSigmoid HardSwish
    Identity IsNaN LeakyRelu Log Mish Neg Not Reciprocal Relu Round Selu Shrink Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Swish
    Tan Tanh ThresholdedRelu""".split()
)
def unary(b, op):
    kind = b.kind(op)
    recipe = Recipe(*DOMAINS[op]) if op in DOMAINS and b.chance(0.7) else None
    discontinuous = op in ("Ceil", "Floor", "Round", "Sign", "Shrink", "ThresholdedRelu")
    if kind in ("float16", "double", "float") and op in ("Round", "Ceil", "Floor") and b.chance(0.3):
        recipe = Recipe(-99, 99)
    attributes = {name: b.pick([0.0, 0.5, 1.0, 1.7, 0.01, -0.3]) for name in SLOPES.get(op, ()) if b.chance(0.6)}
    if op == "Celu" and attributes.get("alpha", 1.0) <= 0:  # a division by it, and exponentials that leave every range
        attributes = {}
    b.node(op, [b.value(kind, recipe=recipe, exact=discontinuous)], **attributes)


@operator("Gelu")
def gelu(b, op):
    b.node(op, [b.value(b.kind(op))], approximate=b.pick([None, "none", "tanh"]))


@operator("IsInf")
def is_inf(b, op):
    b.node(op, [b.value(b.kind(op))], detect_negative=b.pick([None, 0, 1]), detect_positive=b.pick([None, 0, 1]))


@operator("Add", "Sub", "Mul", "And", "Or", "Xor", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Div", "Pow", "Mod")
def binary(b, op):
    kind = b.kind(op)
    is_exact = op == "Mod" and kind in ("float", "double", "float16", "bfloat16")
    x = b.value(kind, exact=is_exact)
    recipe = None
    if op in ("Div", "Mod"):  # by no zero: what integers give is not defined
        recipe = Recipe(1, 9, special=kind in ("float", "double", "float16", "bfloat16"))
    if op == "Pow":
        recipe = Recipe(0, 3, whole=b.chance(0.6))
    y = b.broadcast(x.shape, kind, recipe=recipe, exact=is_exact)
    if op == "Pow" and b.chance(0.3):
        y = b.broadcast(x.shape, b.kind("Pow", 1), recipe=recipe)
    if op in ("Add", "Sub", "Mul") and b.chance(0.4):
        x, y = y, x
    fmod = None
    if op == "Mod":
        fmod = 1 if is_exact or b.chance(0.3) else None
    b.node(op, [x, y], fmod=fmod)


@operator("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual")
def comparison(b, op):
    kind = b.kind(op)
    x = b.value(kind, exact=True, recipe=Recipe(-3, 3, whole=True) if b.chance(0.5) else None)
    b.node(op, [x, b.broadcast(x.shape, kind, exact=True)])


@operator("PRelu")
def prelu(b, op):
    kind = b.kind(op)
    x = b.value(kind)
    shape = tuple(1 if b.chance(0.4) else size for size in x.shape[b.integer(0, len(x.shape)) :])
    b.node(op, [x, b.value(kind, shape)])


@operator("BitShift")
def bit_shift(b, op):
    kind = b.kind(op)
    bits = int(kind.strip("uint"))
    x = b.value(kind)
    b.node(op, [x, b.broadcast(x.shape, kind, recipe=Recipe(0, bits - 1, special=False))], direction=b.pick(["LEFT", "RIGHT"]))


@operator("Max", "Min", "Sum", "Mean")
def variadic(b, op):
    kind = b.kind(op)
    x = b.value(kind)
    b.node(op, [x] + [b.broadcast(x.shape, kind) for _ in range(b.pick([0, 1, 1, 1, 2, 3]))])


@operator("Where")
def where(b, op):
    kind = b.kind(op, 1)
    x = b.value(kind)
    b.node(op, [b.broadcast(x.shape, "bool"), x, b.broadcast(x.shape, kind)])


@operator("Clip")
def clip(b, op):
    kind = b.kind(op)
    low = b.new(kind, (), Recipe(0, 1) if kind[0] == "u" else Recipe(-2, 0)) if b.chance(0.7) else None
    high = b.new(kind, (), Recipe(1, 3)) if b.chance(0.7) else None
    b.node(op, [b.value(kind), low, high])


@operator("Cast", "CastLike")
def cast(b, op):
    to = b.pick([kind for kind in ALL if kind in b.kinds("Cast")])
    whole = to not in ("float", "double", "float16", "bfloat16")
    kind = b.kind(op)
    x = b.value(kind, exact=True, recipe=Recipe(0 if to[0] == "u" else -20, 60, special=not whole or to == "bool") if whole else None)
    if op == "Cast":
        b.node(op, [x], to=TYPE_NUMBERS[to])
    else:
        b.node(op, [x, b.new(to, b.pick([(), (1,), (2,)]))])


@operator("BitCast")
def bit_cast(b, op):
    kind = b.kind(op)
    if kind == "bool":
        raise CannotDraw(op)
    width = {"bfloat16": 16, "float": 32, "double": 64}.get(kind) or int("".join(filter(str.isdigit, kind)))
    same = {8: ["int8", "uint8"], 16: ["int16", "uint16", "float16", "bfloat16"], 32: ["int32", "uint32", "float"]}
    b.node(op, [b.value(kind, exact=True)], to=TYPE_NUMBERS[b.pick(same.get(width, ["int64", "uint64", "double"]))])


@operator("SwiGLU")
def swiglu(b, op):
    kind = b.kind(op)
    x = b.value(kind, rank=b.integer(1, 4), where=lambda shape: shape[-1] % 2 == 0)
    b.node(op, [x])
