"""cuda-python's runtime with a device in software, for tests: its memory is out of the host's reach, and what a stream is asked
for is done when somebody waits for it, and not before. So who reads too early reads poison.
"""
import ctypes
import enum
import itertools

POISON = 0xCD
memory, streams, freed = {}, {}, set()
addresses = itertools.count(0x7F0000000000, 1 << 32)


class cudaMemcpyKind(enum.IntEnum):
    cudaMemcpyHostToDevice = 1
    cudaMemcpyDeviceToHost = 2


def cudaGetDevice():
    return 0, 0


def cudaStreamCreate():
    handle = len(streams) + 1
    streams[handle] = []
    return 0, handle


def cudaMalloc(size):
    address = next(addresses)
    memory[address] = bytearray([POISON]) * size
    return 0, address


def cudaFree(address):
    freed.add(address)
    del memory[address]
    return (0,)


def cudaMemcpyAsync(target, source, size, kind, stream):
    def copy():
        if kind == cudaMemcpyKind.cudaMemcpyHostToDevice:
            memory[target][:size] = ctypes.string_at(source, size)
        else:
            ctypes.memmove(target, bytes(memory[source][:size]), size)

    streams[stream].append(copy)
    return (0,)


def cudaStreamSynchronize(stream):
    while streams[stream]:
        streams[stream].pop(0)()
    return (0,)
