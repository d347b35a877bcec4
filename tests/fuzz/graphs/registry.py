"""The operators that can be drawn: each family registers functions that add one operator to a builder."""

import importlib
import pathlib

OPERATORS = {}  # name -> function(builder)


def operator(*names):
    """Registers a function for the operators; it gets the builder and the operator's name."""

    def register(function):
        for name in names:
            if name in OPERATORS:
                raise ValueError(f"{name} is registered twice")
            OPERATORS[name] = lambda builder, name=name: function(builder, name)
        return function

    return register


def load_families():
    for file in sorted((pathlib.Path(__file__).parent / "families").glob("*.py")):
        importlib.import_module(f"families.{file.stem}")
    return OPERATORS
