"""Asks TensorRT's parser and builder whether they take a model: `vernier check MODEL --for tensorrt --tensorrt=PYTHON`.

It speaks the protocol of the runners (protocol.py), and answers `load` alone. The package is `tensorrt`, or `tensorrt_rtx`, whose
builder needs no GPU. Nothing is run or timed. Options: sample (JSON: {input: {"dims": [...], "values": [...]}}, sizes for the profile of
free dimensions, and content of inputs that decide sizes), compute_capability (of tensorrt_rtx: "SM89").
"""

import importlib
import json
import sys

from protocol import Failure, serve

PACKAGES = ("tensorrt", "tensorrt_rtx")
CAPABILITIES = ("SM89", "SM86", "SM80")  # one whose types are those of most: bf16 and fp8
NO_DEVICE = "Cuda Runtime"  # lines on the GPU that is not there, behind what is wrong with the model


def open_package():
    """The first package that makes a builder here, its logger's lines, and that builder."""
    reasons = []
    for name in PACKAGES:
        try:
            trt = importlib.import_module(name)
        except ImportError as error:
            reasons.append(f"{name}: {error}")
            continue
        lines = []
        logger = make_logger(trt, lines)
        try:
            builder = trt.Builder(logger)
        except Exception as error:  # what a factory that yields nothing raises is left open
            reasons.append(f"{name} {trt.__version__}: {'; '.join(lines) or error}")
            continue
        return name, trt, logger, lines, builder
    if all(reason.split(":")[0] in PACKAGES for reason in reasons):
        raise Failure(f"{sys.executable} can import neither {' nor '.join(PACKAGES)}", "unsupported",
                      advice=f"install one with '{sys.executable} -m pip install tensorrt-rtx', or name a Python that has it")  # fmt: skip
    raise Failure(f"no builder of TensorRT can be made: {'; '.join(reasons)}", "unsupported",
                  advice="tensorrt needs a GPU even to parse; tensorrt-rtx does not")  # fmt: skip


def make_logger(trt, lines):
    class Logger(trt.ILogger):
        """Keeps what it is told of errors."""

        def __init__(self):
            trt.ILogger.__init__(self)

        def log(self, severity, message):
            if severity in (trt.ILogger.ERROR, trt.ILogger.INTERNAL_ERROR):
                lines.append(message)

    return Logger()


def told(text):
    """Gives what it says of the model, in one line."""
    lines = [line.strip() for line in str(text).splitlines()]
    return " ".join(line for line in lines if line and NO_DEVICE not in line)


class TensorRtCheck:
    def hello(self):
        self.name, self.trt, self.logger, self.lines, self.builder = open_package()
        return {"engine": self.name, "version": self.trt.__version__, "capabilities": []}

    def load(self, model, options, threads):
        flags = self.trt.NetworkDefinitionCreationFlag
        strongly_typed = 1 << int(flags.STRONGLY_TYPED) if hasattr(flags, "STRONGLY_TYPED") else 0
        network = self.builder.create_network(strongly_typed)
        parser = self.trt.OnnxParser(network, self.logger)
        findings = []
        if not parser.parse_from_file(model):
            for i in range(parser.num_errors):
                error = parser.get_error(i)
                node = error.node_name() if hasattr(error, "node_name") else ""
                findings.append({"stage": "parser", "node": node, "message": told(error.desc())})
        else:
            findings = self.build(network, options)
        return {"description": {"engine": f"{self.name} {self.trt.__version__}", "findings": json.dumps(findings)}}

    def build(self, network, options):
        config = self.builder.create_builder_config()
        if hasattr(self.trt, "ComputeCapability") and hasattr(config, "num_compute_capabilities"):
            known = self.trt.ComputeCapability.__members__
            wanted = options.get("compute_capability") or next((each for each in CAPABILITIES if each in known), None)
            if wanted not in known:
                raise Failure(f"compute_capability '{wanted}' is none of {', '.join(known)}")
            config.num_compute_capabilities = 1
            config.set_compute_capability(known[wanted], 0)
        self.add_profile(network, config, json.loads(options.get("sample", "{}")))
        del self.lines[:]
        if self.builder.build_serialized_network(network, config) is not None:
            return []
        texts = [text for text in map(told, self.lines) if text] or ["it gives no engine, and no reason"]
        return [{"stage": "builder", "node": "", "message": text} for text in texts]

    def add_profile(self, network, config, sample):
        inputs = [network.get_input(i) for i in range(network.num_inputs)]
        free = [each for each in inputs if each.is_shape_tensor or any(size < 0 for size in each.shape)]
        if not free:
            return
        profile = self.builder.create_optimization_profile()
        for each in free:
            known = sample.get(each.name, {})
            if each.is_shape_tensor:
                values = known.get("values", [1])
                profile.set_shape_input(each.name, values, values, values)
            else:
                dims = tuple(known.get("dims") or (max(1, size) for size in each.shape))
                profile.set_shape(each.name, dims, dims, dims)
        config.add_optimization_profile(profile)


if __name__ == "__main__":
    serve(TensorRtCheck())
