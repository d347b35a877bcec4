"""The models of the tables, made where they are missing."""
import pathlib
import subprocess
import sys

import numpy as np

from .paths import ROOT, SHARED

FILLED = ROOT / "build/skeletons"
QUANTISED = ROOT / "build/quantized"

IMAGE = {"input": (3, 224, 224)}  # sizes behind the batch
SKELETONS = {
    "ResNet-50": ("resnet50.ts", IMAGE),
    "ResNet-18": ("resnet18.ts", IMAGE),
    "MobileNetV2": ("mobilenet_v2.ts", IMAGE),
    "EfficientNet-B0": ("efficientnet_b0.ts", IMAGE),
    "BERT-base s128": ("bert_base.ts", {"input0": (128,), "input1": (128,)}),
    "ViT-B/16": ("vit_b16.ts", IMAGE),
}
# Ratio to the better of the peers that is aimed at; fp32: also without approximate tactics.
TARGETS = {
    "fp32": {"ResNet-50": 1.25, "ResNet-18": 1.4, "MobileNetV2": 1.15, "EfficientNet-B0": 1.2, "BERT-base s128": 1.05, "ViT-B/16": 1.1},
    "fp32 exact": {"ResNet-50": 1.05, "ResNet-18": 1.05},
    "bf16": {"ResNet-50": 1.1, "ResNet-18": 1.1, "MobileNetV2": 1.15, "EfficientNet-B0": 1.3, "BERT-base s128": 1.15, "ViT-B/16": 1.2},
    **{f"fp32 batch {batch}": {"ResNet-50": 1.0, "MobileNetV2": 1.0, "EfficientNet-B0": 1.0} for batch in (8, 32)},
    "int8": {"ResNet-50": 1.2, "ResNet-18": 1.2, "MobileNetV2": 1.3, "EfficientNet-B0": 2.5, "BERT-base s128": 1.5},
}


def skeleton(name: str) -> pathlib.Path:
    folder = SKELETONS[name][0]
    model = FILLED / folder / "model.onnx"
    if not (model.parent / "weights.bin").exists():
        subprocess.run([sys.executable, SHARED / "skeletons/fill_weights.py", folder, "--to", FILLED], check=True)
    return model


def sizes(name: str, batch: int = 1) -> dict[str, tuple[int, ...]]:
    return {tensor: (batch, *rest) for tensor, rest in SKELETONS[name][1].items()}


def shapes(name: str, batch: int = 1) -> list[str]:
    """As --shapes takes them: "input:1x3x224x224"."""
    return [f"{tensor}:{'x'.join(map(str, dims))}" for tensor, dims in sizes(name, batch).items()]


def draw(name: str, batch: int = 1, random: np.random.Generator | None = None) -> dict[str, np.ndarray]:
    """Random inputs: images, or tokens with a mask that hides none."""
    random = random or np.random.default_rng(1)
    if "input0" in SKELETONS[name][1]:
        dims = sizes(name, batch)["input0"]
        return {"input0": random.integers(0, 1000, dims), "input1": np.ones(dims, np.int64)}
    return {tensor: random.standard_normal(dims, np.float32) for tensor, dims in sizes(name, batch).items()}


def quantized(name: str) -> pathlib.Path:
    """The model in Q/DQ form: per channel, signed weights, ranges of a few random samples."""
    import onnx
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    source = skeleton(name)
    target = QUANTISED / SKELETONS[name][0] / "model.onnx"
    if target.exists():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(1)
    samples = [draw(name, random=random) for _ in range(4)]

    class Samples(CalibrationDataReader):
        def get_next(self):
            return samples.pop(0) if samples else None

    prepared = target.with_name("prepared.onnx")
    onnx.save(onnx.load(source), prepared)  # with its weights in one file, as the quantizer wants it
    quant_pre_process(str(prepared), str(prepared), skip_symbolic_shape=True)
    quantize_static(str(prepared), str(target), Samples(), quant_format=QuantFormat.QDQ, per_channel=True,
                    activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)
    prepared.unlink()
    return target


def small() -> list[pathlib.Path]:
    """The real models with recorded inputs."""
    return sorted(path for path in (SHARED / "models").glob("*/*.onnx") if (path.parent / "test_data_set_0").exists())


def recorded_shapes(source: pathlib.Path) -> list[str]:
    """--opt-shapes with the sizes of the recorded inputs, where the model leaves some open."""
    import onnx

    graph = onnx.load(source, load_external_data=False).graph
    constants = {constant.name for constant in graph.initializer}
    inputs = [value for value in graph.input if value.name not in constants]
    if all(dim.HasField("dim_value") for value in inputs for dim in value.type.tensor_type.shape.dim):
        return []
    words = []
    for index, value in enumerate(inputs):
        tensor = onnx.load_tensor(source.parent / "test_data_set_0" / f"input_{index}.pb")
        words += ["--opt-shapes", f"{value.name}:{'x'.join(map(str, tensor.dims))}"]
    return words
