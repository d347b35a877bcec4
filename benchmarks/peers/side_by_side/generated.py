"""Transformers with free sizes, by the generator of tests/transformers."""
import dataclasses
import importlib
import pathlib
import sys

from .paths import ROOT

GENERATOR = ROOT / "tests/transformers"
FOLDER = ROOT / "build/transformers"


@dataclasses.dataclass(frozen=True)
class Model:
    path: pathlib.Path
    inputs: dict[str, list]  # sizes of each, a name where they are free

    @staticmethod
    def read(path: pathlib.Path) -> "Model":
        import onnx

        graph = onnx.load(path, load_external_data=False).graph
        return Model(path, {value.name: [dim.dim_param or dim.dim_value for dim in value.type.tensor_type.shape.dim] for value in graph.input})


def made(kind: str, size: str, **sizes) -> Model:
    """The model of this kind, of one of the generator's sizes or of one given here."""
    path = FOLDER / f"{kind}-{size}.onnx"
    if not path.exists():
        import onnx

        sys.path.insert(0, str(GENERATOR))
        make, kinds = importlib.import_module("make"), importlib.import_module("models")
        kinds.SIZES.update({name: kinds.Size(*numbers) for name, numbers in sizes.items()})
        path.parent.mkdir(parents=True, exist_ok=True)
        onnx.save(make.make(kind, size), path)
    return Model.read(path)


def bert() -> Model:
    """BERT-base: 12 layers of 768, 12 heads, its vocabulary and places."""
    return made("bert-14", "base", base=(12, 768, 12, 30522, 512))


def decoder(kind: str) -> Model:
    """A decoder whose keys and values come as past_key_values.* and go as present.*."""
    return made(kind, "bench")
