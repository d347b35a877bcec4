"""Builds one random graph: values that operators take, and nodes whose result types ONNX's own inference tells."""

from dataclasses import dataclass, field

import draw
import numpy as np
import onnx
import onnx.defs
from draw import Recipe
from onnx import TensorProto, helper, numpy_helper

# These only move, select or compare, so every engine must give the same bits.
EXACT_OPS = set(
    """Abs And BitCast BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor CenterCropPad Clip Compress Concat Constant
    ConstantOfShape DepthToSpace Equal Expand EyeLike Flatten Gather GatherElements GatherND Greater GreaterOrEqual Identity IsInf
    IsNaN Less LessOrEqual Max MaxPool Min Neg NonZero Not OneHot Or Pad Range Relu Reshape ReverseSequence ScatterElements ScatterND Shape
    Size Slice SpaceToDepth Split Squeeze Tile Transpose Trilu Unsqueeze Where Xor Sign Ceil Floor Round ReduceMax ReduceMin
    GlobalMaxPool ArgMax ArgMin TopK Unique If Loop MaxUnpool TensorScatter SequenceConstruct SequenceAt SequenceLength SequenceInsert
    SequenceErase SplitToSequence ConcatFromSequence Hardmax Cast CastLike""".split()
)


class CannotDraw(Exception):
    """This operator does not exist at the opset, or suits no value that is there."""


@dataclass
class Value:
    name: str
    kind: str  # element type, e.g. "float"; "" where it is no tensor, or not known
    shape: tuple | None = None
    exact: bool = True  # every engine has the same bits here
    proto: object = None  # TypeProto


@dataclass
class Given:
    array: np.ndarray
    recipe: Recipe | None  # None: as it is, for every sample
    constant: bool


@dataclass
class Builder:
    rng: np.random.Generator
    opset: int
    special: bool = False
    reuse: float = 0.8  # how often a value that is there already is taken
    prefix: str = ""
    outer: "Builder | None" = None
    given: dict = field(default_factory=dict)  # name -> Given
    values: dict = field(default_factory=dict)  # name -> Value
    nodes: list = field(default_factory=list)
    count: int = 0
    main_kind: str = ""

    # Choices.
    def chance(self, p):
        return self.rng.random() < p

    def pick(self, options):
        return options[int(self.rng.integers(len(options)))]

    def integer(self, low, high):
        return int(self.rng.integers(low, high, endpoint=True))

    def size(self, most=9):
        """A size of a tensor: small, odd, sometimes 0 or one behind a vector's width."""
        draw_from = [1, 2, 3, 4, 5, 7, 8, 9, 11, 16, 17, 31, 33, 64, 65]
        if self.chance(0.012):
            return 0
        return self.pick([size for size in draw_from if size <= most] or [1])

    def shape(self, rank=None, most=9):
        rank = self.pick([0, 1, 1, 2, 2, 3, 3, 4, 4, 5]) if rank is None else rank
        sizes = [self.size(most) for _ in range(rank)]
        if rank >= 2 and self.chance(0.04):  # past what a tile or a block of vectors holds
            sizes[-1], sizes[-2] = self.pick([48, 64, 65, 96, 128]), self.pick([17, 32, 33, 64])
        while np.prod(sizes, dtype=float) > 9000:
            sizes[int(np.argmax(sizes))] //= 2
        return tuple(sizes)

    # Types.
    def kinds(self, op, index=0, domain=""):
        """Gives what the schema allows for the input, of the types that are drawn at all."""
        schema = self.schema(op, domain)
        types = schema.inputs[min(index, len(schema.inputs) - 1)].types
        return [kind for kind in draw.ALL if f"tensor({kind})" in types]

    def schema(self, op, domain=""):
        try:
            return onnx.defs.get_schema(op, self.opset if not domain else 1, domain)
        except onnx.defs.SchemaError as error:
            raise CannotDraw(op) from error

    def kind(self, op, index=0, among=None):
        """A type for the input: often the one of the rest of the graph."""
        kinds = [kind for kind in self.kinds(op, index) if among is None or kind in among]
        if not kinds:
            raise CannotDraw(op)
        if self.main_kind in kinds and self.chance(0.85):
            return self.main_kind
        chosen = draw.weighted(self.rng, kinds)
        self.main_kind = self.main_kind or chosen
        return chosen

    # Values.
    def name(self):
        self.count += 1
        return f"{self.prefix}v{self.count}"

    def new(self, kind, shape, recipe=None, constant=None):
        """An input of the graph, or a constant."""
        recipe = recipe or self.recipe_for(kind)
        array = draw.array(self.rng, kind, shape, recipe, self.special)
        return self.add_given(array, recipe, self.chance(0.35) if constant is None else constant)

    def recipe_for(self, kind):
        if kind in draw.FLOATS:
            return Recipe(-3, 3) if self.chance(0.9) else Recipe(-50, 50)
        return Recipe(0 if kind in draw.UNSIGNED else -9, 9)

    def add_given(self, array, recipe, constant):
        name = self.name()
        self.given[name] = Given(array, recipe, constant or self.outer is not None)
        self.values[name] = Value(name, draw.kind_of(array.dtype), array.shape, True, type_proto(array.dtype, array.shape))
        return self.values[name]

    def constant(self, values, kind):
        return self.add_given(np.asarray(values).astype(draw.dtype_of(kind)), None, True)

    def shape_input(self, numbers, kind="int64"):
        """Sizes, axes and the like: mostly a constant, sometimes an input."""
        return self.add_given(np.asarray(numbers, draw.dtype_of(kind)), None, self.chance(0.85))

    def value(self, kind, shape=None, rank=None, where=None, recipe=None, exact=False, constant=None, most=9):
        """A value that is there and suits, else a new one."""
        found = [
            value
            for value in self.values.values()
            if value.kind == kind and value.shape is not None and (shape is None or value.shape == tuple(shape))
            and (rank is None or len(value.shape) == rank) and (where is None or where(value.shape))
            and (value.exact or not exact) and np.prod(value.shape) <= 20000
        ]  # fmt: skip
        made = [value for value in found if value.name not in self.given]
        # A given range is a need; only data of the same range may serve.
        if recipe is not None:
            made = []
        if made and self.chance(self.reuse):
            return made[-1] if self.chance(0.6) else self.pick(made)
        if shape is None:
            for _ in range(50):
                shape = self.shape(rank, most)
                if where is None or where(shape):
                    break
            else:
                raise CannotDraw("no such shape")
        return self.new(kind, tuple(shape), recipe, constant)

    def broadcast(self, shape, kind, **how):
        """A second operand: the same shape, or one that broadcasts to it."""
        if self.chance(0.4):
            return self.value(kind, shape, **how)
        cut = self.integer(0, len(shape))
        return self.value(kind, tuple(1 if self.chance(0.3) else size for size in shape[cut:]), **how)

    # Nodes.
    def node(self, op, inputs, outputs=1, domain="", exact=None, **attributes):
        """Adds the node; its outputs, of which None are left out. Attributes that are None are left out, too."""
        known = self.schema(op, domain).attributes
        names = [value.name if value is not None else "" for value in inputs]
        while names and not names[-1]:
            names.pop()
        wanted = [True] * outputs if isinstance(outputs, int) else outputs
        results = [self.name() if flag else "" for flag in wanted]
        attributes = {key: value for key, value in attributes.items() if value is not None and key in known}
        node = helper.make_node(op, names, results, name=f"{self.prefix}{op}_{len(self.nodes)}", domain=domain, **attributes)
        used = [value for value in inputs if value is not None]
        is_exact = op in EXACT_OPS and all(value.exact for value in used) if exact is None else exact
        self.nodes.append(node)
        return [self.add_result(name, proto, is_exact) if name else None for name, proto in self.infer(node, results)]

    def add_result(self, name, proto, exact):
        kind, shape = "", None
        if proto is not None and proto.HasField("tensor_type"):
            kind = TensorProto.DataType.Name(proto.tensor_type.elem_type).lower()
            if proto.tensor_type.HasField("shape") and all(dim.HasField("dim_value") for dim in proto.tensor_type.shape.dim):
                shape = tuple(dim.dim_value for dim in proto.tensor_type.shape.dim)
        self.values[name] = Value(name, kind, shape, exact, proto)
        return self.values[name]

    def find(self, name):
        if name in self.values:
            return self.values[name], self.given.get(name)
        return self.outer.find(name) if self.outer else (None, None)

    def infer(self, node, results):
        graph = helper.make_graph([node], "g", [], [])
        for name in dict.fromkeys(names_read(node)):
            value, given = self.find(name)
            if value is None or value.proto is None:
                continue
            graph.input.append(onnx.ValueInfoProto(name=name, type=value.proto))
            if given is not None and given.recipe is None:
                graph.initializer.append(numpy_helper.from_array(given.array, name))
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)])
        try:
            inferred = onnx.shape_inference.infer_shapes(model, data_prop=True).graph
        except Exception:  # what inference cannot do, engines may
            inferred = graph
        types = {info.name: info.type for info in list(inferred.value_info) + list(inferred.output)}
        return [(name, types.get(name)) for name in results]


def names_read(node):
    """Inputs of the node, and what its regions read from around them."""
    names = [name for name in node.input if name]
    for attribute in node.attribute:
        if attribute.type == onnx.AttributeProto.GRAPH:
            for inner in attribute.g.node:
                names += names_read(inner)
            names += [output.name for output in attribute.g.output]
    return names


def type_proto(dtype, shape):
    return helper.make_tensor_type_proto(helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), shape)
