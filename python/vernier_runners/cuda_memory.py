"""Memory of a CUDA device and one stream, by cuda-python, else by PyTorch. Everything is done in the order of the stream."""

import importlib

import numpy as np
from protocol import Failure


def open_device():
    for name in ("cuda.bindings.runtime", "cuda.cudart"):
        try:
            return CudaPython(importlib.import_module(name))
        except ImportError:
            continue
    try:
        import torch
    except ImportError as error:
        raise Failure("there is neither cuda-python nor PyTorch, which reach the memory of the GPU", "unsupported",
                      advice="install one of them: pip install cuda-python") from error  # fmt: skip
    return Torch(torch)


class CudaPython:
    def __init__(self, cudart):
        self.cudart, self.rooms = cudart, {}
        self.name = f"GPU {self.call('cudaGetDevice')}"
        self.stream = int(self.call("cudaStreamCreate"))

    def call(self, name, *arguments):
        error, *results = getattr(self.cudart, name)(*arguments)
        if int(error) != 0:
            raise Failure(f"{name}: {error}", "unsupported" if name in ("cudaGetDevice", "cudaStreamCreate") else "bad_input")
        return results[0] if results else None

    def room(self, key, size):
        """The address of memory for `key`, grown where it is too small."""
        address, room = self.rooms.get(key, (None, 0))
        if room < size:
            if address is not None:
                self.call("cudaFree", address)
            address = int(self.call("cudaMalloc", size))
            self.rooms[key] = (address, size)
        return address

    def upload(self, key, data):
        address = self.room(key, max(1, len(data)))
        self.sources = getattr(self, "sources", {})
        self.sources[key] = np.frombuffer(data, np.uint8)  # alive until the copy is done
        if len(data) > 0:
            kind = self.cudart.cudaMemcpyKind.cudaMemcpyHostToDevice
            self.call("cudaMemcpyAsync", address, self.sources[key].ctypes.data, len(data), kind, self.stream)
        return address

    def download(self, key, size):
        """An array that holds the bytes once the stream was synchronised."""
        target = np.empty(size, np.uint8)
        if size > 0:
            kind = self.cudart.cudaMemcpyKind.cudaMemcpyDeviceToHost
            self.call("cudaMemcpyAsync", target.ctypes.data, self.rooms[key][0], size, kind, self.stream)
        return target

    def synchronize(self):
        self.call("cudaStreamSynchronize", self.stream)


class Torch:
    def __init__(self, torch):
        if not torch.cuda.is_available():
            raise Failure("PyTorch finds no CUDA device", "unsupported")
        self.torch, self.rooms = torch, {}
        self.name = torch.cuda.get_device_name()
        self.queue = torch.cuda.Stream()
        self.stream = self.queue.cuda_stream

    def room(self, key, size):
        if key not in self.rooms or self.rooms[key].numel() < size:
            self.rooms[key] = self.torch.empty(size, dtype=self.torch.uint8, device="cuda")
        return self.rooms[key].data_ptr()

    def upload(self, key, data):
        address = self.room(key, max(1, len(data)))
        with self.torch.cuda.stream(self.queue):
            if len(data) > 0:
                self.rooms[key][: len(data)].copy_(self.torch.frombuffer(bytearray(data), dtype=self.torch.uint8))
        return address

    def download(self, key, size):
        with self.torch.cuda.stream(self.queue):
            return self.rooms[key][:size].cpu().numpy()

    def synchronize(self):
        self.queue.synchronize()
