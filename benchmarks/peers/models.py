"""The models of the tables, made where they are missing."""
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared"
FILLED = ROOT / "build/skeletons"
QUANTISED = ROOT / "build/quantised"

IMAGE = ["input:1x3x224x224"]
SKELETONS = {
    "ResNet-50": ("resnet50.ts", IMAGE),
    "ResNet-18": ("resnet18.ts", IMAGE),
    "MobileNetV2": ("mobilenet_v2.ts", IMAGE),
    "EfficientNet-B0": ("efficientnet_b0.ts", IMAGE),
    "BERT-base s128": ("bert_base.ts", ["input0:1x128", "input1:1x128"]),
    "ViT-B/16": ("vit_b16.ts", IMAGE),
}
# Ratio to the better of the peers that is aimed at; fp32: also without approximate tactics.
TARGETS = {
    "fp32": {"ResNet-50": 1.25, "ResNet-18": 1.4, "MobileNetV2": 1.15, "EfficientNet-B0": 1.2, "BERT-base s128": 1.05, "ViT-B/16": 1.1},
    "fp32 exact": {"ResNet-50": 1.05, "ResNet-18": 1.05},
    "bf16": {"ResNet-50": 1.1, "ResNet-18": 1.1, "MobileNetV2": 1.15, "EfficientNet-B0": 1.3, "BERT-base s128": 1.15, "ViT-B/16": 1.2},
    "int8": {"ResNet-50": 1.2, "ResNet-18": 1.2, "MobileNetV2": 1.3, "EfficientNet-B0": 2.5, "BERT-base s128": 1.5},
}


def skeleton(name: str) -> pathlib.Path:
    folder = SKELETONS[name][0]
    model = FILLED / folder / "model.onnx"
    if not (model.parent / "weights.bin").exists():
        subprocess.run([sys.executable, SHARED / "skeletons/fill_weights.py", folder, "--to", FILLED], check=True)
    return model


def shapes(name: str) -> list[str]:
    return SKELETONS[name][1]


def quantised(name: str) -> pathlib.Path:
    """The model in Q/DQ form: per channel, signed weights, ranges of a few random samples."""
    import numpy as np
    import onnx
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    source = skeleton(name)
    target = QUANTISED / SKELETONS[name][0] / "model.onnx"
    if target.exists():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(1)
    sizes = {text.split(":")[0]: [int(size) for size in text.split(":")[1].split("x")] for text in shapes(name)}
    kinds = {value.name: value.type.tensor_type.elem_type for value in onnx.load(source, load_external_data=False).graph.input}

    def draw(tensor: str):
        if kinds[tensor] == onnx.TensorProto.INT64:
            return random.integers(0, 1000, sizes[tensor]) if tensor.endswith("0") else np.ones(sizes[tensor], np.int64)
        return random.standard_normal(sizes[tensor], np.float32)

    class Samples(CalibrationDataReader):
        left = 4

        def get_next(self):
            self.left -= 1
            return {tensor: draw(tensor) for tensor in sizes} if self.left >= 0 else None

    prepared = target.with_name("prepared.onnx")
    onnx.save(onnx.load(source), prepared)  # with its weights in one file, as the quantiser wants it
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
