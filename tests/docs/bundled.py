"""Makes what README.md calls model.onnx, large.onnx, some.npz, photos/ and val/, of the bundled digits: bundled.py EXAMPLES, into this folder"""
import pathlib
import subprocess
import sys

import numpy as np


def write_image(path, pixels):
    """As PGM, of pixels from 0 to 1."""
    path.parent.mkdir(parents=True, exist_ok=True)
    height, width = pixels.shape
    path.write_bytes(b"P5 %d %d 255\n" % (width, height) + np.round(pixels * 255).astype(np.uint8).tobytes())


def main():
    digits = pathlib.Path(sys.argv[1]) / "digits"
    images, labels = np.load(digits / "held_out.npz")["image"], np.load(digits / "labels.npy")
    pathlib.Path("model.onnx").write_bytes((digits / "digits.onnx").read_bytes())
    subprocess.run([sys.executable, digits / "grow_activation.py", "model.onnx", "block2_1_bn", "block2_2_conv", "large.onnx"], check=True)
    np.savez("some.npz", image=images[:32])
    for number, (image, label) in enumerate(zip(images, labels)):
        write_image(pathlib.Path("val", str(label), f"{number}.pgm"), image[0])
        if number < 16:
            write_image(pathlib.Path("photos", f"{number}.pgm"), image[0])


main()
