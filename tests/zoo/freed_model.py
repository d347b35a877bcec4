"""Models whose sizes are free as far as they allow, and words for `vernier build` for a profile of them (tests/profiles)."""
import dataclasses
import pathlib
import subprocess

import onnx


class Refused(Exception):
    """Why no size of the model can move."""


@dataclasses.dataclass
class Freed:
    freed: int  # dimensions that the model had fixed
    profile: list[str]
    text: str  # the profile for people


def write_freed(model: pathlib.Path, dims: dict[str, list[str]], freed: pathlib.Path) -> int:
    """Writes the model with these dimensions of its inputs, numbers or names; gives how many were fixed before.

    External data are not copied if `freed` lies beside the model."""
    proto = onnx.load(model, load_external_data=freed.parent != model.parent)
    names, count = {}, 0
    for value in proto.graph.input:
        for dim, wanted in zip(value.type.tensor_type.shape.dim, dims.get(value.name, [])):
            if dim.dim_value > 0 and not wanted.isdigit():
                dim.dim_param = names.setdefault(wanted, f"free_{len(names)}")
                count += 1
    for value in proto.graph.output:
        for dim in value.type.tensor_type.shape.dim:
            dim.ClearField("dim_value")
    del proto.graph.value_info[:]
    onnx.save(proto, freed)
    return count


def free_sizes(tool: pathlib.Path, model: pathlib.Path, shapes: list[dict[str, list[int]]], freed: pathlib.Path) -> Freed:
    """By the tool find_profiles, around the sizes of each sample. Throws Refused."""
    words = [f"{name}:{'x'.join(map(str, sizes))}" for sample in shapes for name, sizes in sample.items()]
    found = subprocess.run([tool, model, *words], check=True, stdout=subprocess.PIPE, text=True).stdout
    rows = [line.split("\t") for line in found.splitlines()]
    if rows[0][0] == "none":
        raise Refused(rows[0][1])
    count = write_freed(model, {name: dims.split("|") for name, dims, *_ in rows}, freed)
    options = ("--min-shapes", "--opt-shapes", "--max-shapes")
    profile = [word for name, _, *sizes in rows for option, each in zip(options, sizes, strict=True) for word in (option, f"{name}:{each}")]
    return Freed(count, profile, ", ".join(f"{name} {low} to {high}" for name, _, low, _, high in rows))
