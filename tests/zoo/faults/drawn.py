"""Cases that nobody picked: a seed draws a model, a kind of fault, and a node that gives occasion for it.

Half of the models are small networks that are drawn, too; the others are the small ones of SHARED/models.
"""

from collections.abc import Iterator
from functools import cache

import numpy as np

from black_box import Engine, Session
from case import Case, load_model
from checking import check_black_box
from drawn_kinds import KINDS, Kind, Place
from drawn_nets import drawn_net, inputs_of
from planting import SHARED, loaded, nodes_of, real_model, recorded

LARGEST_FILE = 1_500_000  # bytes of a real model: a diagnosis of it takes seconds
MOST_NODES = 160
MOST_ELEMENTS = 2_000_000  # of all inner values together
NETS = 12  # that a seed draws, each for several faults: their healthy twin is asked about once
TRIES = 40  # of models and nodes for one kind, before another kind is drawn


@cache
def small_models() -> list[str]:
    folders = sorted((SHARED / "models").iterdir())
    small = [each for each in folders if (each / "model.onnx").exists() and sum(file.stat().st_size for file in each.iterdir() if file.is_file()) <= LARGEST_FILE]
    return [each.name for each in small if len(loaded(each / "model.onnx").graph.node) <= MOST_NODES]


@cache
def source(name: str) -> tuple:
    """The model, its samples, and what a sound engine makes of the first one, by the name that a draw has given."""
    if name.startswith("net-"):
        seed = int(name[4:])
        model, sizes = drawn_net(seed)
        given, build = inputs_of(sizes, seed), lambda: model
    else:
        build, given = real_model(name), recorded(name, 2)
        model = load_model(Case(name, "", build, given))
    sample = given()[0]
    session = Session(model)
    values = session.run(sample, session.made)
    return build, given, model, {**sample, **{key: value for key, value in values.items() if isinstance(value, np.ndarray)}}


def drawn_case(kind: Kind, name: str, rng: np.random.Generator, number: str) -> Case | None:
    """A fault of the kind in a node of the model; None where no node that is tried suits it."""
    build, given, model, values = source(name)
    if sum(value.size for value in values.values()) > MOST_ELEMENTS:
        return None
    operators = kind.operators or tuple({node.op_type for node in model.graph.node})
    nodes = [node for node in nodes_of(model, *operators) if node in list(model.graph.node) and all(value in values for value in node.output if value)]
    if not nodes:
        return None
    node = nodes[int(rng.integers(len(nodes)))]
    made = kind.draw(Place(model, node, values, rng))
    if made is None:
        return None
    fault, classes = made
    first, *also = classes.split()
    case = Case(
        f"{first}/{kind.name}~{name}-{number}",
        first,
        build,
        given,
        frozenset({node.name}),
        fault=fault,
        also=frozenset(also),
        taps=str(rng.choice(["shown", "refused"], p=[0.8, 0.2])),
    )
    try:
        sizes = {key: np.shape(value) for key, value in Engine(model, fault).run(given()[0], list(node.output)).items()}
        keeps_sizes = all(np.shape(values[key]) == size for key, size in sizes.items() if key in values)
        return case if keeps_sizes and check_black_box(case) == "" else None
    except Exception:  # of the edit, or of ONNX Runtime: the fault does not fit the place
        return None


def drawn(count: int, seed: int) -> Iterator[Case]:
    """So many cases. Each kind is as likely as any other one."""
    rng = np.random.default_rng([seed, 36])
    nets = [f"net-{each}" for each in rng.integers(10**6, size=NETS)]
    made = 0
    while made < count:
        kind = KINDS[int(rng.integers(len(KINDS)))]
        for _ in range(TRIES):
            names = nets if rng.integers(2) else small_models()
            name = names[int(rng.integers(len(names)))]
            case = drawn_case(kind, name, rng, f"{seed}.{made}")
            if case is not None:
                made += 1
                yield case
                break
