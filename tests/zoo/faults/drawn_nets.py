"""Small networks that nobody planned: their operators, sizes and wiring are drawn by a seed."""

import numpy as np
import onnx

from nets import Net

POINTWISE = ("Relu", "LeakyRelu", "Elu", "HardSwish", "Sigmoid", "Tanh", "Softplus", "HardSigmoid")


def activated(net: Net, x: str, rng) -> str:
    kind = str(rng.choice(["Relu", "Relu", "Clip", "Gelu", "Silu", "PRelu", *POINTWISE[1:]]))
    if kind == "Clip":
        low, high = (0.0, 6.0) if rng.integers(2) else (-0.5, 0.8)
        return net.op("Clip", x, net.weight(np.float32(low)), net.weight(np.float32(high)))
    if kind == "Gelu":
        erf = net.op("Erf", net.op("Div", x, net.weight(np.float32(np.sqrt(2)))))
        return net.op("Mul", net.op("Mul", x, net.op("Add", erf, net.weight(np.float32(1)))), net.weight(np.float32(0.5)))
    if kind == "Silu":
        return net.op("Mul", x, net.op("Sigmoid", x))
    if kind == "PRelu":
        channels = net.channels[x]
        return net.op("PRelu", x, net.weight(np.float32(rng.uniform(0.1, 0.4, (channels, 1, 1)))))
    return net.op(kind, x)


def normalised(net: Net, x: str, rng) -> str:
    channels = net.channels[x]
    draw = lambda low, high: net.weight(np.float32(rng.uniform(low, high, channels)))
    if rng.integers(3):
        return net.op("BatchNormalization", x, draw(0.5, 1.5), draw(-0.3, 0.3), draw(-0.2, 0.2), draw(0.01, 1.5), epsilon=1e-3)
    return net.op("InstanceNormalization", x, draw(0.5, 1.5), draw(-0.3, 0.3), epsilon=1e-2)


def resized(net: Net, x: str, rng) -> str:
    kind = int(rng.integers(5))
    if kind == 0:
        return net.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[0, 0, 1, 1])
    if kind == 1:
        return net.op("AveragePool", x, kernel_shape=[3, 3], strides=[1, 1], pads=[1, 1, 1, 1])
    if kind == 2:
        scales = net.weight(np.float32([1, 1, 2, 2] if rng.integers(2) else [1, 1, 1.5, 1.5]))
        mode = str(rng.choice(["linear", "nearest"]))
        return net.op("Resize", x, "", scales, mode=mode, coordinate_transformation_mode=str(rng.choice(["half_pixel", "asymmetric"])))
    if kind == 3:
        return net.op("Pad", x, net.weight(np.array([0, 0, 1, 0, 0, 0, 0, 1], np.int64)), mode=str(rng.choice(["reflect", "edge", "constant"])))
    channels = net.channels[x]
    kernel = np.float32(rng.normal(0, np.sqrt(1 / channels), (channels, channels, 2, 2)))
    return net.op("ConvTranspose", x, net.weight(kernel), net.weight(np.float32(rng.normal(0, 0.1, channels))), strides=[2, 2])


def convolutional(seed: int) -> tuple[onnx.ModelProto, dict]:
    rng = np.random.default_rng(seed)
    batch, channels, size = int(rng.choice([1, 1, 2, 3])), int(rng.choice([3, 4, 6])), int(rng.integers(7, 15))
    net = Net(seed, x=(batch, channels, size, size + int(rng.integers(0, 3))))
    x = net.block("x", int(rng.choice([8, 10, 16])), kernel=int(rng.choice([1, 3])), activation="Relu")
    for _ in range(int(rng.integers(2, 5))):
        out = int(rng.choice([8, 12, 16, 20]))
        if rng.integers(3) == 0 and net.channels[x] % 2 == 0:  # a residual block
            y = net.conv(activated(net, net.conv(x, net.channels[x]), rng), net.channels[x])
            x = activated(net, net.op("Add", y, x), rng)
            continue
        group = int(rng.choice([1, 1, 1, net.channels[x]]))
        x = net.conv(x, net.channels[x] if group > 1 else out, kernel=int(rng.choice([1, 3])), group=group)
        x = normalised(net, x, rng) if rng.integers(3) == 0 else x
        x = activated(net, x, rng)
        x = resized(net, x, rng) if rng.integers(2) == 0 else x
    if rng.integers(2):
        x = net.op("Concat", x, net.op("Sigmoid", x), axis=1)
        net.channels[x] *= 2
    channels = net.channels[x]
    pooled = net.op("Flatten", net.op("GlobalAveragePool", x))
    classes = int(rng.choice([5, 10, 12]))
    weights = net.weight(np.float32(rng.normal(0, 1 / np.sqrt(channels), (classes, channels))))
    logits = net.op("Gemm", pooled, weights, net.weight(np.float32(rng.normal(0, 0.1, classes))), transB=1)
    outputs = [x, net.op("Softmax", logits, axis=-1)] if rng.integers(2) else [x, logits]
    return net.model(*outputs), {"x": net.inputs["x"]}


def layer_norm(net: Net, x: str, size: int, rng) -> str:
    gamma = net.weight(np.float32(rng.uniform(0.5, 1.5, size)))
    beta = net.weight(np.float32(rng.normal(0, 0.2, size)))
    if rng.integers(2):
        return net.op("LayerNormalization", x, gamma, beta, axis=-1, epsilon=1e-3)
    less = net.op("Sub", x, net.op("ReduceMean", x, axes=[-1], keepdims=1))
    variance = net.op("ReduceMean", net.op("Mul", less, less), axes=[-1], keepdims=1)
    root = net.op("Sqrt", net.op("Add", variance, net.weight(np.float32(1e-2))))
    return net.op("Add", net.op("Mul", net.op("Div", less, root), gamma), beta)


def linear(net: Net, x: str, out: int, size: int, rng) -> str:
    made = net.matmul(x, out, size)
    return net.op("Add", made, net.weight(np.float32(rng.normal(0, 0.2, out)))) if rng.integers(4) else made


def attention(net: Net, x: str, length: int, size: int, heads: int, rng) -> str:
    split = net.weight(np.array([0, length, heads, size // heads], np.int64))
    parts = [net.op("Transpose", net.op("Reshape", linear(net, x, size, size, rng), split), perm=perm) for perm in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3])]
    logits = net.op("Mul", net.op("MatMul", parts[0], parts[1]), net.weight(np.float32(1 / np.sqrt(size // heads))))
    mixed = net.op("MatMul", net.op("Softmax", logits, axis=-1), parts[2])
    joined = net.op("Reshape", net.op("Transpose", mixed, perm=[0, 2, 1, 3]), net.weight(np.array([0, length, size], np.int64)))
    return linear(net, joined, size, size, rng)


def transformer(seed: int) -> tuple[onnx.ModelProto, dict]:
    rng = np.random.default_rng(seed)
    batch, length, heads = int(rng.choice([1, 2, 4])), int(rng.integers(5, 13)), int(rng.choice([2, 4]))
    size = heads * int(rng.choice([8, 12, 16]))
    net = Net(seed, x=(batch, length, size))
    net.channels["x"] = 1
    x = "x"
    for _ in range(int(rng.integers(1, 3))):
        x = net.op("Add", x, attention(net, layer_norm(net, x, size, rng), length, size, heads, rng))
        y = linear(net, layer_norm(net, x, size, rng), 2 * size, size, rng)
        gate = ["Gelu", "Relu", "Silu", "Tanh"][int(rng.integers(4))]
        if gate == "Gelu":
            erf = net.op("Erf", net.op("Mul", y, net.weight(np.float32(np.sqrt(0.5)))))
            y = net.op("Mul", net.op("Mul", net.op("Add", erf, net.weight(np.float32(1))), y), net.weight(np.float32(0.5)))
        else:
            y = net.op("Mul", y, net.op("Sigmoid", y)) if gate == "Silu" else net.op(gate, y)
        x = net.op("Add", x, linear(net, y, size, 2 * size, rng))
    x = layer_norm(net, x, size, rng)
    first = net.op("Slice", x, *(net.weight(np.array([v], np.int64)) for v in (1, 4, 1)))
    return net.model(x, net.op("LogSoftmax" if rng.integers(2) else "Softmax", first, axis=-1), opset=17), {"x": net.inputs["x"]}


def tabular(seed: int) -> tuple[onnx.ModelProto, dict]:
    rng = np.random.default_rng(seed)
    rows, size = int(rng.choice([3, 8, 17, 40])), int(rng.choice([10, 24, 33]))
    net = Net(seed, x=(rows, size))
    x, width = "x", size
    for _ in range(int(rng.integers(2, 4))):
        out = int(rng.choice([16, 24, 40]))
        weights = np.float32(rng.normal(0, 1.4 / np.sqrt(width), (width, out)))
        y = net.op("Gemm", x, net.weight(weights), net.weight(np.float32(rng.normal(0, 0.2, out))))
        kind = str(rng.choice(["Relu", "Tanh", "Sigmoid", "Elu", "LeakyRelu", "Softplus", "Exp"]))
        y = net.op("Exp", net.op("Tanh", y)) if kind == "Exp" else net.op(kind, y)
        x, width = (net.op("Add", x, y), out) if out == width else (y, out)
    total = net.op("ReduceSum", x, net.weight(np.array([1], np.int64)), keepdims=1)
    scaled = net.op("Div", x, net.op("Add", net.op("Abs", total), net.weight(np.float32(1))))
    picked = net.op("Gather", scaled, net.weight(np.int64(rng.permutation(width)[: width // 2])), axis=1)
    return net.model(picked, x), {"x": net.inputs["x"]}


def drawn_net(seed: int) -> tuple[onnx.ModelProto, dict[str, tuple]]:
    """A model, and the sizes of its inputs, all of floats."""
    return (convolutional, transformer, tabular)[np.random.default_rng(seed).choice(3, p=[0.5, 0.3, 0.2])](seed)


def inputs_of(sizes: dict[str, tuple], seed: int, count: int = 2):
    """Samples of the caller, as Case.inputs wants them."""

    def draw():
        rng = np.random.default_rng(seed)
        return [{name: rng.standard_normal(size, np.float32) for name, size in sizes.items()} for _ in range(count)]

    return draw
