"""The runner protocol: python/vernier_runners/protocol.py, which the program's runners use, too."""

import importlib.util

from ._program import RUNNER_SCRIPTS

_spec = importlib.util.spec_from_file_location("vernier_engine._runner_protocol", RUNNER_SCRIPTS / "protocol.py")
assert _spec is not None and _spec.loader is not None
_module = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_module)

Failure, Packed = _module.Failure, _module.Packed
answer, read_values, write_values = _module.answer, _module.read_values, _module.write_values
