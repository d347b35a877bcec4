"""The zoo's faults in places that nobody chose: other nodes of other real models, drawn by a seed.

They guard against a diagnosis that fits the cases. Only faults whose class does not depend on the place are taken: what a
narrow type does to a node is overflow in one place, and rounding in the next.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from case import Case, load_model
from checking import check_black_box
from edits import NEEDED, OF_TYPES, attribute, find
from planting import SHARED, nodes_of, real_model, recorded

# Their fields tell of sizes, axes or places of one graph.
OF_ONE_PLACE = {
    "average-counts-overhang",
    "indices-computed-moved",
    "integers-through",
    "last-windows-lost",
    "shape-frozen",
    "softmax-of-one-axis",
    "ties-last",
    "windows-shifted",
}
OPERANDS = frozenset({"B31", "B38"})  # what is lost is a mask in some places
TRIES = 12  # places for one fault: in many it changes nothing
DRAWS = 50  # of faults for one that is planted, before there are fewer than were asked for


def is_graft(case: Case) -> bool:
    """Whether the fault is one of a node alone, which any other node of its operator may have."""
    fault = case.fault
    return (
        fault is not None
        and not case.runner
        and case.twin is None
        and case.nodes == {fault.get("node")}
        and fault["kind"] not in OF_TYPES | OF_ONE_PLACE
        and "type" not in fault
    )


def places(case: Case, operator: str, given: set[str]) -> list[tuple[str, str]]:
    """Models but that of the case, with nodes of the operator and these attributes."""
    found = []
    for folder in sorted((SHARED / "models").iterdir()):
        path = folder / "model.onnx"
        if not path.exists() or path == case.model:
            continue
        found += [
            (folder.name, node.name) for node in nodes_of(path, operator) if all(attribute(node, name) is not None for name in given)
        ]
    return found


def transplants(cases: list[Case], count: int, seed: int) -> Iterator[Case]:
    """Draws faults one after the other until so many change what some model makes."""
    rng = np.random.default_rng(seed)
    grafts = [case for case in cases if is_graft(case)]
    made = 0
    for _ in range(DRAWS * count if grafts else 0):
        if made == count:
            return
        case = grafts[rng.integers(len(grafts))]
        _, _, node = find(load_model(case), case.fault["node"])
        kind = case.fault["kind"]
        needed = {case.fault["key"]} if kind == "attribute" else {NEEDED[kind]} if kind in NEEDED else set()
        where = places(case, node.op_type, needed)
        for model, name in [where[i] for i in rng.permutation(len(where))[:TRIES]]:
            graft = replace(
                case,
                name=f"{case.klass}/{model}~{kind}-{made}",
                model=real_model(model),
                inputs=recorded(model, 2),
                nodes=frozenset({name}),
                fault=case.fault | {"node": name},
                also=case.also | (OPERANDS if kind == "operand-lost" else frozenset()),
            )
            if plants(graft):
                made += 1
                yield graft
                break


def plants(case: Case) -> bool:
    """Whether the fault fits the place, and changes what the model makes."""
    try:
        return check_black_box(case) == ""
    except Exception:  # of the edit, or of ONNX Runtime: the fault does not fit the place
        return False
