"""One case: a model, samples of its inputs, and what is known of its values. Drawn from a seed, or read from a folder."""

import pathlib
from dataclasses import dataclass, field

import draw
import numpy as np
import onnx
from builder import EXACT_OPS, Builder, CannotDraw, names_read
from onnx import TensorProto, helper, numpy_helper

OPSETS = [13, 15, 17, 18, 19, 20, 21, 21, 22, 23, 23, 24]
LARGEST_MODEL = 200_000  # elements of one value
LARGEST_INPUT = 10_000  # of a second sample
NAMES = 0x4E4D  # sets the numbers that draw names apart from those that draw the case
NAMES_OF_PASSES = ["/constant", "/weights", "/bias", "/scale", "/axes", "/sizes", "/columns", "/joined", "/moved", "/zero_point", "/attention_1", "/f32", "#1"]
MISFIT = "misfit"  # a file beside a saved case: one size of the last sample is drawn wrongly


@dataclass
class Case:
    model: onnx.ModelProto
    samples: list  # of {input: array}
    profile: dict | None = None  # {input: [[min, opt, max], …]}
    seed: int = 0
    misfit: bool = False  # one size of the last sample is drawn wrongly (misfit.py)
    types: dict = field(default_factory=dict)  # value -> element type, "" where unknown

    def __post_init__(self):
        self.types = types_of(self.model)

    @property
    def ops(self):
        return [node.op_type for node in self.model.graph.node]

    def constants(self):
        return {tensor.name: numpy_helper.to_array(tensor) for tensor in self.model.graph.initializer}


def types_of(model):
    try:
        inferred = onnx.shape_inference.infer_shapes(model).graph
    except Exception:
        inferred = model.graph
    types = {tensor.name: TensorProto.DataType.Name(tensor.data_type).lower() for tensor in model.graph.initializer}
    for info in [*inferred.input, *inferred.value_info, *inferred.output]:
        if info.type.HasField("tensor_type"):
            types[info.name] = TensorProto.DataType.Name(info.type.tensor_type.elem_type).lower()
    return types


def exact_values(case):
    """The values that every right engine makes with the same bits: moved, compared, or computed in integers."""
    is_float = lambda name: case.types.get(name, "float") in draw.FLOATS
    graph = case.model.graph
    exact = {info.name for info in graph.input} | {tensor.name for tensor in graph.initializer}
    for node in graph.node:
        read = set(names_read(node))
        sums = any(attribute.name == "reduction" and attribute.s in (b"add", b"mul") for attribute in node.attribute)
        whole = not any(is_float(name) for name in read | set(node.output) if name)
        fmod = node.op_type == "Mod" and all(name in exact for name in read)
        if (whole and read <= exact) or fmod or (node.op_type in EXACT_OPS and node.op_type not in ("If", "Loop") and read <= exact and not sums):
            exact |= set(node.output)
    return exact


def draw_case(seed, operators, only=None):
    """The case of a seed. `only`: names of operators to draw from."""
    rng = np.random.default_rng(seed)
    names = sorted(only or operators)
    for _ in range(40):
        builder = Builder(rng, OPSETS[rng.integers(len(OPSETS))], special=rng.random() < 0.25)
        wanted = 1 if rng.random() < 0.5 else int(rng.integers(2, 8))
        single = [name for name in names if not name.startswith(("P_", "QDQ_"))]
        pool = single if wanted == 1 and single else names
        for _ in range(wanted):
            try_one(builder, operators[pool[rng.integers(len(pool))]])
        if builder.nodes:
            return case_of(builder, seed)
    raise CannotDraw(f"seed {seed} draws nothing")


def try_one(builder, draw_operator):
    """Takes back what was added in vain."""
    before = len(builder.nodes), dict(builder.values), dict(builder.given)
    try:
        draw_operator(builder)
        if any(np.prod(value.shape) > LARGEST_MODEL for value in builder.values.values() if value.shape):
            raise CannotDraw("too large")
    except CannotDraw:
        del builder.nodes[before[0] :]
        builder.values, builder.given = before[1], before[2]


def case_of(builder, seed):
    rng = builder.rng
    read = [name for node in builder.nodes for name in names_read(node)]
    made = [name for node in builder.nodes for name in node.output if name]
    outputs = [name for name in made if name not in read or rng.random() < 0.1]
    used = {name: given for name, given in builder.given.items() if name in read}
    inputs = {name: given for name, given in used.items() if not given.constant}
    free = free_sizes(rng, inputs) if rng.random() < 0.3 else {}
    declared = not free and rng.random() < 0.7
    graph = helper.make_graph(
        builder.nodes,
        "fuzz",
        [helper.make_tensor_value_info(name, number_of(given.array), [free.get(d, d) for d in given.array.shape]) for name, given in inputs.items()],
        [output_info(builder.values[name], declared) for name in outputs],
        [numpy_helper.from_array(given.array, name) for name, given in used.items() if given.constant],
    )
    take_name_of_passes(graph, seed)
    opset = helper.make_opsetid("", builder.opset)
    model = helper.make_model(graph, opset_imports=[opset], ir_version=max(8, helper.find_min_ir_version_for([opset])))
    samples, profile = [{name: given.array for name, given in inputs.items()}], None
    if free:
        forget_sizes(model.graph)
        second = other_sizes(builder, inputs, free)
        samples += [second] if second else []
        profile = spanning(samples)
    return Case(model, samples, profile, seed)


def take_name_of_passes(graph, seed):
    """An inner value gets the name that a pass would give to what it makes of another."""
    rng = np.random.default_rng([seed, NAMES])
    made = [name for node in graph.node for name in node.output if name]
    inner = sorted(set(made) - {info.name for info in graph.output})
    if not inner or any(attribute.HasField("g") for node in graph.node for attribute in node.attribute):
        return
    old, new = inner[rng.integers(len(inner))], made[rng.integers(len(made))] + NAMES_OF_PASSES[rng.integers(len(NAMES_OF_PASSES))]
    for node in graph.node:
        for names in (node.input, node.output):
            names[:] = [new if name == old else name for name in names]


def forget_sizes(graph):
    """Regions of graphs with free sizes declare none."""
    for node in graph.node:
        for attribute in node.attribute:
            for info in [*attribute.g.input, *attribute.g.output]:
                info.type.tensor_type.ClearField("shape")
            forget_sizes(attribute.g)


def number_of(array):
    return helper.np_dtype_to_tensor_dtype(array.dtype)


def free_sizes(rng, inputs):
    """Sizes that become symbols, wherever they stand: what is equal by need stays equal."""
    sizes = sorted({size for given in inputs.values() for size in given.array.shape})
    return {size: f"N{size}" for size in sizes if rng.random() < 0.6}


def other_sizes(builder, inputs, free):
    """Inputs of other sizes, all smaller or all larger, so that the corners of a profile are the two; None where data cannot be drawn."""
    grow = builder.chance(0.6)
    others = {size: size + builder.size(8) if grow else builder.integer(min(1, size), size) for size in free}
    second = {}
    for name, given in inputs.items():
        shape = tuple(others.get(size, size) for size in given.array.shape)
        if given.recipe is None and shape != given.array.shape:
            return None
        if given.recipe is None:
            second[name] = given.array
        elif np.prod(shape, dtype=float) > LARGEST_INPUT:
            return None
        else:
            second[name] = draw.array(builder.rng, draw.kind_of(given.array.dtype), shape, given.recipe, builder.special)
    return second


def output_info(value, declared):
    info = onnx.ValueInfoProto(name=value.name)
    if value.proto is not None:
        info.type.CopyFrom(value.proto)
        if not declared and info.type.HasField("tensor_type"):
            info.type.tensor_type.ClearField("shape")
    return info


def save_case(case, folder):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    onnx.save(case.model, folder / "model.onnx")
    for i, sample in enumerate(case.samples):
        np.savez(folder / ("inputs.npz" if i == 0 else f"inputs-{i}.npz"), **sample)
    if case.misfit:
        (folder / MISFIT).touch()


def load_case(folder):
    folder = pathlib.Path(folder)
    model = onnx.load(folder / "model.onnx")
    types = {info.name: info.type.tensor_type.elem_type for info in model.graph.input}
    read = lambda file: {name: array.view(helper.tensor_dtype_to_np_dtype(types[name])) if array.dtype.kind == "V" else array for name, array in np.load(file).items()}
    samples = [read(file) for file in sorted(folder.glob("inputs*.npz"), key=lambda file: (len(file.name), file.name))]
    case = Case(model, samples, misfit=(folder / MISFIT).exists())
    if not case.misfit and any(not dim.HasField("dim_value") for info in model.graph.input for dim in info.type.tensor_type.shape.dim):
        case.profile = spanning(samples)
    return case


def spanning(samples):
    return {
        name: [[min(sizes), sizes[0], max(sizes)] for sizes in zip(*(sample[name].shape for sample in samples))] for name in samples[0]
    }


