"""The engine of a tracker. With --late it runs as the tracker ran it: another thread writes the features of the frame
into a new buffer, which takes longer at one time than at another, and the engine starts all the same. With --late
--wait it waits.
"""
import pathlib
import random
import sys
import threading
import time

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).absolute().parents[3] / "python/vernier_runners"))

from onnxruntime_runner import OnnxRuntime  # noqa: E402
from protocol import serve  # noqa: E402

LAUNCH, BUSY = 0.01, 0.06  # seconds until the engine reads, and until a camera that is busy has written


class Tracker(OnnxRuntime):
    def __init__(self):
        self.camera = random.Random(9)

    def run(self, inputs, taps):
        if "--late" not in sys.argv:
            return super().run(inputs, taps)
        buffers = {name: np.zeros_like(value) for name, value in inputs.items()}
        writer = threading.Thread(target=self.write, args=(inputs, buffers))
        writer.start()
        time.sleep(LAUNCH)
        if "--wait" in sys.argv:
            writer.join()
        read = {name: buffer.copy() for name, buffer in buffers.items()}
        result = super().run(read, taps)
        writer.join()
        return result

    def write(self, inputs, buffers):
        if self.camera.random() < 0.4:
            time.sleep(BUSY)
        for name, value in inputs.items():
            buffers[name][...] = value


serve(Tracker())
