"""A case once more, with every size of its inputs free and one of them drawn wrongly.

What the reference refuses, an engine must refuse, too: kernels take the sizes that inference lets pass at their word. The engine meets the
right sizes first, so that what it refuses is a plan that has to change.
"""

import copy

import numpy as np
from case import Case, forget_sizes

ANOTHER = 0x5153  # sets the numbers drawn here apart from those that draw the case


def misfit_of(case):
    """None where no input has a size."""
    rng = np.random.default_rng([case.seed, ANOTHER])
    first = case.samples[0]
    axes = [(name, axis) for name, array in first.items() for axis in range(array.ndim)]
    if not axes:
        return None
    name, axis = axes[rng.integers(len(axes))]
    wrong = dict(first)
    wrong[name] = resized(first[name], axis, other_size(rng, first[name].shape[axis]))
    return Case(with_free_sizes(case.model), [first, wrong], seed=case.seed, misfit=True)


def other_size(rng, size):
    sizes = sorted({0, 1, max(size - 1, 0), size + 1, 2 * size + 3} - {size})
    return sizes[rng.integers(len(sizes))]


def resized(array, axis, size):
    """The slices of an axis, repeated or cut; ones where there are none."""
    if array.shape[axis] == 0:
        shape = [size if i == axis else extent for i, extent in enumerate(array.shape)]
        return np.full(shape, "one" if array.dtype == object else 1, array.dtype)
    return np.take(array, np.arange(size) % array.shape[axis], axis)


def with_free_sizes(model):
    model = copy.deepcopy(model)
    for info in model.graph.input:
        for i, dim in enumerate(info.type.tensor_type.shape.dim):
            dim.dim_param = f"{info.name}_{i}"
    for info in model.graph.output:
        if info.type.HasField("tensor_type"):
            info.type.tensor_type.ClearField("shape")
    forget_sizes(model.graph)
    return model
