"""Real models by name, with their recorded inputs, and places in them where a fault can be planted."""

import pathlib
import subprocess
import sys
from collections.abc import Callable
from functools import cache

import numpy as np
import onnx
from onnx import numpy_helper

from case import Case
from edits import graphs_of

ROOT = pathlib.Path(__file__).resolve().parents[3]
SHARED = ROOT.parent / "shared"
SKELETONS = ROOT / "build/skeletons"


def real_model(name: str) -> pathlib.Path:
    """The file of a model of SHARED/models, as in "yunet-120x160"."""
    path = SHARED / "models" / name / "model.onnx"
    if not path.exists():
        raise FileNotFoundError(f"there is no model {path}")
    return path


def input_names(model: onnx.ModelProto) -> list[str]:
    """The inputs that a caller gives: those that are no weights."""
    weights = {tensor.name for tensor in model.graph.initializer}
    return [value.name for value in model.graph.input if value.name not in weights]


def recorded(name: str, sets: int | None = None) -> Callable[[], list[dict[str, np.ndarray]]]:
    """The recorded inputs of a model of SHARED/models: a function, as Case.inputs wants it."""

    def read() -> list[dict[str, np.ndarray]]:
        path = real_model(name)
        names = input_names(loaded(path))
        folders = sorted(path.parent.glob("test_data_set_*"))[:sets]
        return [
            {value: numpy_helper.to_array(onnx.load_tensor(folder / f"input_{i}.pb")) for i, value in enumerate(names)}
            for folder in folders
        ]

    return read


def skeleton(name: str) -> pathlib.Path:
    """The file of a skeleton of SHARED/skeletons, as in "resnet18.ts", with its weights beside it."""
    filled = SKELETONS / name
    if not (filled / "weights.bin").exists():
        fill = SHARED / "skeletons/fill_weights.py"
        subprocess.run([sys.executable, fill, name, "--to", SKELETONS], check=True)
    return filled / "model.onnx"


@cache
def loaded(path: pathlib.Path) -> onnx.ModelProto:
    """The model without external weights; not to be changed."""
    return onnx.load(path, load_external_data=False)


def nodes_of(model: onnx.ModelProto | pathlib.Path, *operators: str) -> list[onnx.NodeProto]:
    """Nodes of these operators with a name of their own, in the order of the graph, graphs inside included."""
    graph = (loaded(model) if isinstance(model, pathlib.Path) else model).graph
    every = [node for inner in graphs_of(graph) for node in inner.node]
    names = [node.name for node in every]
    once = {name for name in names if name and names.count(name) == 1}
    return [node for node in every if node.op_type in operators and node.name in once]


def pick(model: onnx.ModelProto | pathlib.Path, operator: str, seed: int, suits: Callable | None = None) -> str:
    """The name of one of these nodes, drawn by the seed among those that `suits(node)` finds right."""
    places = [node.name for node in nodes_of(model, operator) if suits is None or suits(node)]
    if not places:
        raise ValueError(f"no {operator} suits")
    return places[int(np.random.default_rng(seed).integers(len(places)))]


def builder(graph_nodes: list, inputs: dict, outputs: dict, weights: dict, opset: int = 17) -> onnx.ModelProto:
    """A model from nodes, {name: (ONNX element type, shape)} of inputs and outputs, and {name: array} of weights."""
    from onnx import helper

    value = lambda name, kind: helper.make_tensor_value_info(name, kind[0], kind[1])
    graph = helper.make_graph(
        graph_nodes,
        "g",
        [value(name, kind) for name, kind in inputs.items()],
        [value(name, kind) for name, kind in outputs.items()],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in weights.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    model.ir_version = 8 if opset <= 18 else 10
    onnx.checker.check_model(model, full_check=True)
    return model


def samples(count: int = 2, seed: int = 1, **shapes: tuple) -> Callable[[], list[dict[str, np.ndarray]]]:
    """Samples of normally distributed floats: a function, as Case.inputs wants it."""

    def draw() -> list[dict[str, np.ndarray]]:
        rng = np.random.default_rng(seed)
        return [{name: rng.standard_normal(shape, np.float32) for name, shape in shapes.items()} for _ in range(count)]

    return draw


def planted(
    name: str,
    model: str,
    node: str,
    kind: str,
    sets: int | None = None,
    taps: str = "shown",
    also: frozenset = frozenset(),
    **fields,
) -> Case:
    """A fault of the black box in a node of a real model, on its recorded inputs. The name has the class: "B32/x"."""
    return Case(
        name,
        name.split("/")[0],
        real_model(model),
        recorded(model, sets),
        frozenset({node}),
        fault={"kind": kind, "node": node, **fields},
        taps=taps,
        also=also,
    )


def own(
    name: str,
    model: Callable | pathlib.Path,
    inputs: Callable,
    node: str,
    kind: str,
    taps: str = "shown",
    also: frozenset = frozenset(),
    **fields,
) -> Case:
    """The same in a small graph, or in a real model on data of its own."""
    return Case(
        name,
        name.split("/")[0],
        model,
        inputs,
        frozenset({node}),
        fault={"kind": kind, "node": node, **fields},
        taps=taps,
        also=also,
    )
