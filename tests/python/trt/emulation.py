"""The tests of the emulation share this: a logger that keeps its lines, and networks that are read."""

import models
import numpy as np
import pytest
import vernier_engine.trt as trt


class Lines(trt.ILogger):
    """Keeps every message."""

    def __init__(self):
        super().__init__()
        self.lines = []

    def log(self, severity, msg):
        self.lines.append((severity, msg))

    def of(self, severity):
        return [text for kind, text in self.lines if kind == severity]


@pytest.fixture
def log():
    return Lines()


@pytest.fixture
def parsed(tmp_path, log):
    """A function of a model's name: builder, network, configuration, inputs."""

    def parse(name="static", flags=1):
        path, feeds = getattr(models, name)(tmp_path)
        builder = trt.Builder(log)
        network = builder.create_network(flags)
        assert trt.OnnxParser(network, log).parse_from_file(path)
        return builder, network, builder.create_builder_config(), feeds

    return parse


@pytest.fixture
def context(parsed):
    """Makes a context of the network `static`, with its input and memory for its output."""
    builder, network, config, feeds = parsed()
    made = builder.build_engine(network, config).create_execution_context()
    return made, feeds["input"], np.zeros((2, 5), np.float32)
