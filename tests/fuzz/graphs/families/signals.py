"""Signal processing."""

from draw import Recipe
from registry import operator


@operator("DFT")
def dft(b, op):
    kind = b.kind(op, among=["float", "double"])
    n, length, real = b.integer(1, 3), b.pick([1, 2, 3, 4, 5, 7, 8, 12]), b.chance(0.5)
    onesided, inverse = b.pick([None, 0, 1]), b.pick([None, 0, 1])
    if onesided:
        real, inverse = True, None
    x = b.value(kind, (n, length, 1 if real else 2))
    wanted = b.constant(b.integer(1, 9), "int64") if b.chance(0.3) else None
    if b.opset >= 20:
        b.node(op, [x, wanted, b.shape_input(b.pick([1, -2])) if b.chance(0.6) else None], onesided=onesided, inverse=inverse)
    else:
        b.node(op, [x, wanted], axis=1, onesided=onesided, inverse=inverse)


@operator("STFT")
def stft(b, op):
    kind = b.kind(op, among=["float", "double"])
    length, frame, step = b.integer(8, 20), b.pick([2, 3, 4, 8]), b.integer(1, 4)
    x = b.value(kind, (b.integer(1, 2), length, 1))
    window = b.new(kind, (frame,), Recipe(0, 1)) if b.chance(0.7) else None
    b.node(op, [x, b.constant(step, "int64"), window, b.constant(frame, "int64") if window is None or b.chance(0.5) else None], onesided=b.pick([None, 0, 1]))


@operator("HannWindow", "HammingWindow", "BlackmanWindow")
def window(b, op):
    b.node(op, [b.shape_input(b.integer(1, 12))], periodic=b.pick([None, 0, 1]), output_datatype=b.pick([None, 1, 11]))


@operator("MelWeightMatrix")
def mel(b, op):
    numbers = [("int64", b.integer(2, 6)), ("int64", b.pick([8, 16, 17])), ("int64", b.pick([8000, 16000])), ("float", 10.0), ("float", 3000.0)]
    b.node(op, [b.constant(value, kind) for kind, value in numbers], output_datatype=b.pick([None, 1, 11]))
