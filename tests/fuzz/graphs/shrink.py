"""Makes a failing case smaller as long as the same finding stays."""

import copy
import time

import numpy as np
import onnx
from case import Case, spanning
from onnx import helper, numpy_helper


# Without their attributes two updates would go to one place, and what is right would not be defined.
ORDERED = ("ScatterElements", "ScatterND")


class Shrinker:
    """`finds(case)` tells whether the finding is still there."""

    def __init__(self, finds, seconds=20):
        self.finds, self.end = finds, time.monotonic() + seconds

    def shrink(self, case):
        steps = (one_sample, cut_outputs, cut_nodes, make_inputs, drop_inputs, drop_attributes, fix_sizes, smaller_sizes, simpler_data)
        changed = True
        while changed and time.monotonic() < self.end:
            changed = False
            for step in steps:
                found = self.best(case, step)
                if found is not None:
                    case, changed = found, True
        return case

    def best(self, case, step):
        """The first of the step's proposals that still fails, and so on from there."""
        result, again = None, True
        while again:
            again = False
            for smaller in step(result or case):
                if time.monotonic() > self.end:
                    return result
                if weight(smaller) < weight(result or case) and self.fails(smaller):
                    result, again = smaller, True
                    break
        return result

    def fails(self, case):
        try:
            return self.finds(case)
        except Exception:  # a proposal that is no graph any more
            return False


def weight(case):
    """Measures what shrinking makes smaller, the most important first: it ends, for every step makes this less."""
    graph = case.model.graph
    arrays = [*case.constants().values(), *(array for sample in case.samples for array in sample.values())]
    edges = sum(bool(name) for node in graph.node for name in [*node.input, *node.output])
    attributes = sum(len(node.attribute) for node in graph.node)
    sizes = sum(array.size for array in arrays)
    data = sum(complexity(array) for array in arrays if array.dtype != object)
    return len(graph.node), len(graph.output), len(case.samples), edges, attributes, bool(case.profile), sizes, data


def complexity(array):
    values = array.astype(np.float64)
    with np.errstate(invalid="ignore"):
        return int((values != 1).sum() + (values != np.round(values)).sum())


def changed(case, change):
    """A pruned copy whose graph `change` has altered."""
    model = copy.deepcopy(case.model)
    samples = [dict(sample) for sample in case.samples]
    change(model.graph, samples)
    return pruned(model, samples, case)


def pruned(model, samples, case):
    from builder import names_read

    graph = model.graph
    needed, kept = {output.name for output in graph.output}, []
    for node in reversed(graph.node):
        if needed & set(node.output):
            kept.insert(0, node)
            needed |= set(names_read(node))
    keep(graph.node, kept)
    keep(graph.input, [info for info in graph.input if info.name in needed])
    keep(graph.initializer, [tensor for tensor in graph.initializer if tensor.name in needed])
    names = {info.name for info in graph.input}
    samples = [{name: array for name, array in sample.items() if name in names} for sample in samples]
    profile = {name: ranges for name, ranges in case.profile.items() if name in names} if case.profile else None
    return Case(model, samples, profile or None, case.seed, case.misfit)


def keep(field, entries):
    entries = [copy.deepcopy(entry) for entry in entries]
    del field[:]
    field.extend(entries)


def one_sample(case):
    if len(case.samples) > 1:
        for sample in case.samples:
            profile = None if case.misfit else spanning([sample])
            yield Case(copy.deepcopy(case.model), [sample], profile, case.seed, case.misfit)


def cut_outputs(case):
    for i in range(len(case.model.graph.output)):
        if len(case.model.graph.output) > 1:
            yield changed(case, lambda graph, samples, i=i: keep(graph.output, [graph.output[i]]))


def cut_nodes(case):
    """An inner value becomes the only output, what is behind it goes; or a node is replaced by one of its inputs."""
    inner = [name for node in case.model.graph.node for name in node.output if name]
    for name in inner:
        if name not in {output.name for output in case.model.graph.output} and case.types.get(name):
            info = onnx.ValueInfoProto(name=name)
            info.type.tensor_type.elem_type = getattr(onnx.TensorProto, case.types[name].upper())
            yield changed(case, lambda graph, samples, info=info: keep(graph.output, [info]))
    for i, node in enumerate(case.model.graph.node):
        for name in node.input:
            if name and case.types.get(name) == case.types.get(node.output[0]):
                yield changed(case, lambda graph, samples, i=i, name=name: bypass(graph, i, name))


def bypass(graph, index, name):
    node = graph.node[index]
    for later in graph.node:
        for i, read in enumerate(later.input):
            if read == node.output[0]:
                later.input[i] = name


def make_inputs(case):
    """A node's output becomes an input of the graph, with data of the right sizes."""
    from oracle import run_onnxruntime

    for node in case.model.graph.node[:-1]:
        tapped = changed(case, lambda graph, samples, node=node: keep(graph.output, [onnx.ValueInfoProto(name=node.output[0])]))
        result = run_onnxruntime(tapped)
        if "values" not in result:
            continue
        values = [values[node.output[0]] for values in result["values"]]
        if all(isinstance(value, np.ndarray) and value.dtype != object for value in values):
            yield changed(case, lambda graph, samples, node=node, values=values: as_input(graph, samples, node.output[0], values))


def as_input(graph, samples, name, values):
    for node in graph.node:
        for i, made in enumerate(node.output):
            if made == name:
                node.output[i] = name + "_before" if len(node.output) > 1 else "unused"
    shape = values[0].shape if len(values) == 1 else [None] * values[0].ndim
    graph.input.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(values[0].dtype), shape))
    for sample, value in zip(samples, values):
        sample[name] = value


def drop_inputs(case):
    for i, node in enumerate(case.model.graph.node):
        for k in range(len(node.input) - 1, -1, -1):
            if node.input[k] and may_be_left_out(case, node, k):
                yield changed(case, lambda graph, samples, i=i, k=k: drop_input(graph.node[i], k))
        for k in range(len(node.output) - 1, 0, -1):
            if node.output[k]:
                yield changed(case, lambda graph, samples, i=i, k=k: graph.node[i].output.__setitem__(k, ""))


def may_be_left_out(case, node, k):
    inputs = onnx.defs.get_schema(node.op_type, case.model.opset_import[0].version, node.domain).inputs
    option = inputs[min(k, len(inputs) - 1)].option
    return option == onnx.defs.OpSchema.FormalParameterOption.Optional or (k > 0 and k >= len(inputs))


def drop_input(node, k):
    node.input[k] = ""
    while node.input and not node.input[-1]:
        node.input.pop()


def drop_attributes(case):
    for i, node in enumerate(case.model.graph.node):
        for k in range(len(node.attribute)):
            if node.op_type in ORDERED:
                continue
            yield changed(case, lambda graph, samples, i=i, k=k: graph.node[i].attribute.pop(k))


def fix_sizes(case):
    """No free sizes."""
    if case.profile and len(case.samples) == 1:
        model = copy.deepcopy(case.model)
        for info in model.graph.input:
            for dim, size in zip(info.type.tensor_type.shape.dim, case.samples[0][info.name].shape):
                dim.dim_value = size
        yield Case(model, case.samples, None, case.seed)


def smaller_sizes(case):
    """All sizes of one number, in inputs and constants alike, become a smaller number; or those of one tensor."""
    if len(case.samples) > 1:
        return
    constants = case.constants()
    arrays = {**constants, **case.samples[0]}
    sizes = sorted({size for array in arrays.values() for size in array.shape}, reverse=True)
    for size in sizes:
        for smaller in sorted({1, 2, size // 2, size - 1}):
            if 0 < smaller < size:
                yield resized(case, lambda name, s, size=size, smaller=smaller: smaller if s == size else s)
    for name, array in arrays.items():
        for axis, size in enumerate(array.shape):
            if size > 1:
                yield resized(case, lambda other, s, name=name, axis=axis: s, cut=(name, axis))


def resized(case, size_of, cut=None):
    def change(graph, samples):
        def resize(name, array):
            shape = [size_of(name, size) for size in array.shape]
            if cut and cut[0] == name:
                shape[cut[1]] = 1
            array = array[tuple(slice(0, size) for size in shape)]
            sizes = array.ndim == 1 and array.dtype == np.int64 and cut is None  # a tensor of sizes, perhaps
            return np.array([size_of(name, int(size)) for size in array], np.int64).reshape(array.shape) if sizes else np.ascontiguousarray(array).reshape(shape)

        for tensor in graph.initializer:
            tensor.CopyFrom(numpy_helper.from_array(resize(tensor.name, numpy_helper.to_array(tensor)), tensor.name))
        for sample in samples:
            for name in sample:
                sample[name] = resize(name, sample[name])
        for info in graph.input:
            keep(info.type.tensor_type.shape.dim, [onnx.TensorShapeProto.Dimension(dim_value=size) for size in samples[0][info.name].shape])
        for output in graph.output:
            output.type.tensor_type.ClearField("shape") if output.type.HasField("tensor_type") else None

    small = changed(case, change)
    small.profile = None
    return small


def simpler_data(case):
    """Ones or whole numbers instead of what was drawn; or ones instead of what is finite."""
    arrays = case.constants() | case.samples[0]
    for name, array in arrays.items():
        if array.size == 0 or array.dtype.kind in "biu" or array.dtype == object:
            continue
        ones, rounded = np.ones_like(array), np.round(array.astype(np.float64)).astype(array.dtype)
        finite = np.where(np.isfinite(array.astype(np.float64)), ones, array)
        for simpler in (ones, finite, rounded):
            if simpler.tobytes() != array.tobytes():
                yield changed(case, lambda graph, samples, name=name, simpler=simpler: replace(graph, samples, name, simpler))


def replace(graph, samples, name, array):
    for tensor in graph.initializer:
        if tensor.name == name:
            tensor.CopyFrom(numpy_helper.from_array(array, name))
    for sample in samples[:1]:
        if name in sample:
            sample[name] = array
