"""Vernier turns ONNX models into inference engines, and proves how accurate they are. docs/python.md is the guide.

    import vernier_engine as vn

    engine = vn.build("model.onnx", bf16=True)
    session = vn.Session(engine)
    outputs = session({"x": image})
    report = vn.compare("model.onnx", vn.reference(), vn.cpu(bf16=True), vn.onnxruntime())
"""

from . import results, runners
from ._core import version as _version
from .engine import Engine, build
from .errors import BadInput, Busy, Cancelled, NotReady, OutOfMemory, Unsupported, Usage, VernierError
from .evaluation import evaluate
from .results import load_report
from .runners import callable, command, cpu, cuda, load_run, onnxruntime, openvino, reference, tensorrt, torch
from .session import DeviceArray, Event, LayerTime, Outputs, Session, TensorInfo
from .verbs import bench, calibrate, check, compare, diagnose, export, inspect, tune

__version__ = _version()

__all__ = [
    "BadInput", "Busy", "Cancelled", "DeviceArray", "Engine", "Event", "LayerTime", "NotReady", "OutOfMemory", "Outputs", "Session", "TensorInfo",
    "Unsupported", "Usage", "VernierError", "bench", "build", "calibrate", "callable", "check", "command", "compare", "cpu", "cuda",
    "diagnose", "evaluate", "export", "inspect", "load_report", "load_run", "onnxruntime", "openvino", "reference", "results", "runners",
    "tensorrt", "torch", "tune",
]  # fmt: skip
