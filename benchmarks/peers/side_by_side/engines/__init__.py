"""Engines behind one interface. Each module has a class Engine, made of what `load` names, and

    engine.session()              what runs at the same time as other sessions of the engine
    session.bind(inputs)          a function that runs once on these arrays, which are not copied, and leaves the outputs in memory
    session.outputs()             copies of them, by name
    engine.decoder(caches)        feeds its caches back; decoder.step(ids, mask) gives the logits, as long as no other step begins

`caches` maps each input to the output that is its next content, and `caches.dims(length)` are the sizes of all of them.
"""
import dataclasses
import importlib

NAMES = {"vernier": "Vernier", "onnxruntime": "ONNX Runtime", "openvino": "OpenVINO"}


@dataclasses.dataclass(frozen=True)
class Caches:
    """Keys and values of a decoder: [1, heads, length, width] each, with room for `capacity` tokens."""

    pairs: dict[str, str]
    heads: int
    width: int
    capacity: int

    def dims(self, length: int) -> tuple[int, int, int, int]:
        return (1, self.heads, length, self.width)


def load(name: str, **options):
    """The engine of this name: threads=INT and model=PATH; Vernier takes engine_file=PATH; OpenVINO precision, sizes, streams, stateful."""
    return importlib.import_module(f".{name}_engine", __package__).Engine(**options)
