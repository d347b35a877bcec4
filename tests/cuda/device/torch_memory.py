#!/usr/bin/env python3
"""Sessions on tensors of torch: torch_memory.py MODEL... prints a line for each check of each model, and ends with 1 if one failed.

Memory of the GPU is bound without a copy, runs keep the order of torch's streams and only enqueue, pinned memory is copied at once, and
what a session cannot use is refused. Every output is compared bit for bit with that of a session on memory of the host. Needs the
package vernier_engine and torch with CUDA."""
import re
import statistics
import sys
import threading
import time
import traceback

import numpy as np
import torch
import vernier_engine as vn

DEVICE = "cuda:0"
HELD_UP = 100_000_000  # clock cycles that a stream sleeps: tens of milliseconds


def handle(stream):
    return stream.cuda_stream


def drawn(draw, info):
    """Numbers for an input, one sample where that is free, else 16; indices are 0 and 1."""
    shape = [size if isinstance(size, int) else 1 if axis == 0 else 16 for axis, size in enumerate(info.shape)]
    if info.dtype.kind == "f":
        return draw.standard_normal(shape).astype(info.dtype)
    return draw.integers(0, 2, shape).astype(info.dtype)


class Checks:
    """An engine in fp16, a session on the host's memory whose outputs are expected, and one that is checked."""

    def __init__(self, model):
        self.engine = vn.build(model, cuda=True, fp16=True, verify=False)
        self.session = vn.Session(self.engine)
        draw = np.random.default_rng(3)
        self.arrays = {each.name: drawn(draw, each) for each in self.session.inputs}
        self.expected = {name: np.array(value) for name, value in vn.Session(self.engine)(self.arrays).items()}
        self.inputs = {name: torch.from_numpy(array).to(DEVICE) for name, array in self.arrays.items()}
        self.outputs = {name: torch.empty(value.shape, dtype=torch.from_numpy(value).dtype, device=DEVICE) for name, value in self.expected.items()}
        torch.cuda.synchronize()

    def bind(self):
        for name, tensor in (*self.inputs.items(), *self.outputs.items()):
            self.session.bind(name, tensor)

    def poison(self):
        for tensor in self.outputs.values():
            tensor.fill_(float("nan"))

    def require_right(self, outputs=None):
        for name, tensor in (outputs or self.outputs).items():
            assert np.array_equal(tensor.cpu().numpy(), self.expected[name]), f"'{name}' differs"

    def fed_tensors(self):
        outputs = self.session(self.inputs)
        assert all(np.array_equal(outputs[name], self.expected[name]) for name in outputs)

    def bound_tensors(self):
        self.bind()
        self.poison()
        torch.cuda.synchronize()
        self.session()
        self.session.synchronize()
        self.require_right()

    def order_of_a_stream(self):
        """Runs come after what was enqueued before them and before what is enqueued behind them, and the host waits for nothing."""
        self.bind()
        told = []
        for stream in (torch.cuda.Stream(), torch.cuda.Stream()):
            self.session.use_stream(DEVICE, handle(stream))
            self.session()
            self.session.synchronize()  # captured by now
            with torch.cuda.stream(stream):
                kept = {name: tensor.clone() for name, tensor in self.inputs.items()}
                for tensor in self.inputs.values():
                    tensor.zero_()
                self.poison()
                stream.synchronize()
                torch.cuda._sleep(HELD_UP)
                for name, tensor in self.inputs.items():
                    tensor.copy_(kept[name])
                began = time.perf_counter()
                self.session()
                took = time.perf_counter() - began
                assert not stream.query(), "the stream was not held up for long enough to tell"
                copies = {name: tensor.clone() for name, tensor in self.outputs.items()}
                self.poison()
                began = time.perf_counter()
                stream.synchronize()
                waited = time.perf_counter() - began
            self.require_right(copies)
            told.append(f"returned after {1e6 * took:.0f} us, {1e3 * waited:.1f} ms before the outputs were there")
            assert took < waited / 4, told[-1]
        self.session.leave_stream()
        return "; ".join(told)

    def nothing_is_copied(self):
        """By the kernels and copies that CUPTI sees of a run."""
        self.bind()
        self.session()
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
            self.session()
            self.session.synchronize()
        names = [event.name for event in profile.events()]
        copies = [name for name in names if "Memcpy" in name and "DtoD" not in name]
        assert names, "the profiler saw nothing"
        assert not copies, f"{copies} among {len(names)} events"
        return f"{len(names)} events, none a copy from or to the host"

    def memory_stays(self):
        self.bind()
        self.session()
        before = torch.cuda.mem_get_info()[0]
        for _ in range(2000):
            self.session()
        self.session.synchronize()
        after = torch.cuda.mem_get_info()[0]
        assert before == after, f"{before - after} bytes more are in use"
        self.require_right()

    def pinned_memory(self):
        """Pinned memory of the host gives the same bits, and is copied without a detour."""
        times = {}
        for kind in ("pageable", "pinned", "on the GPU"):
            session = vn.Session(self.engine)
            tensors = {name: torch.from_numpy(array.copy()) for name, array in self.arrays.items()}
            outputs = {name: torch.empty(value.shape, dtype=torch.from_numpy(value).dtype) for name, value in self.expected.items()}
            if kind == "pinned":
                tensors, outputs = ({name: tensor.pin_memory() for name, tensor in each.items()} for each in (tensors, outputs))
            elif kind == "on the GPU":
                tensors, outputs = ({name: tensor.to(DEVICE) for name, tensor in each.items()} for each in (tensors, outputs))
            for name, tensor in (*tensors.items(), *outputs.items()):
                session.bind(name, tensor)
            taken = []
            for _ in range(400):
                began = time.perf_counter()
                session()
                session.synchronize()
                taken.append(time.perf_counter() - began)
            self.require_right(outputs)
            times[kind] = 1e3 * statistics.median(taken)
        return "p50 in ms: " + ", ".join(f"{kind} {each:.3f}" for kind, each in times.items())

    def arrays_of_ours(self):
        session = vn.Session(self.engine)
        arrays = {}
        for name, array in self.arrays.items():
            arrays[name] = session.device_array("cuda", array.shape, array.dtype)
            arrays[name].copy_from(array)
            assert np.array_equal(torch.from_dlpack(arrays[name]).cpu().numpy(), array)
        outputs = session(arrays)
        assert all(np.array_equal(outputs[name], self.expected[name]) for name in outputs)

    def two_sessions_on_two_streams(self):
        failures = []

        def work(number):
            try:
                stream, session = torch.cuda.Stream(), vn.Session(self.engine)
                session.use_stream(DEVICE, handle(stream))
                with torch.cuda.stream(stream):
                    inputs = {name: torch.from_numpy(array).to(DEVICE) for name, array in self.arrays.items()}
                    outputs = {name: torch.empty_like(tensor) for name, tensor in self.outputs.items()}
                    for name, tensor in (*inputs.items(), *outputs.items()):
                        session.bind(name, tensor)
                    for _ in range(200):
                        session()
                        copies = {name: tensor.clone() for name, tensor in outputs.items()}
                        for tensor in outputs.values():
                            tensor.zero_()
                    stream.synchronize()
                self.require_right(copies)
            except Exception:
                failures.append(f"{number}: {traceback.format_exc()}")

        threads = [threading.Thread(target=work, args=(number,)) for number in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures, failures

    def what_is_refused(self):
        name, tensor = next(iter(self.inputs.items()))
        flat = torch.empty(tensor.numel() + 8, dtype=tensor.dtype, device=DEVICE)
        wide = torch.empty((*tensor.shape[:-1], 2 * tensor.shape[-1]), dtype=tensor.dtype, device=DEVICE)
        for bad, says in ((wide[..., ::2], "dense|contiguous|strid"), (flat[1 : 1 + tensor.numel()].view(tensor.shape), "not aligned"),
                          (tensor.double(), "type|f64"), (tensor[:0], "size|dim|shape")):
            self.require_refusal(lambda bad=bad: self.session.bind(name, bad), says)
        if torch.cuda.device_count() > 1:
            self.require_refusal(lambda: self.session.bind(name, tensor.to("cuda:1")), "has no device 'cuda:1'")

    def require_refusal(self, bind, says):
        try:
            bind()
            self.session()
        except vn.VernierError as error:
            assert re.search(says, str(error)), f"refused, but says: {error}"
            return
        raise AssertionError(f"nothing was refused: {says}")


def main(models):
    failed = 0
    for model in models:
        checks = Checks(model)
        for name in ("fed_tensors", "bound_tensors", "order_of_a_stream", "nothing_is_copied", "memory_stays", "pinned_memory", "arrays_of_ours",
                     "two_sessions_on_two_streams", "what_is_refused"):
            try:
                print(f"OK    {name.replace('_', ' ')}: {getattr(checks, name)() or 'the same bits' if name != 'what_is_refused' else 'refused'}", flush=True)
            except Exception as error:
                failed += 1
                lines = traceback.format_exception(error)
                print(f"FAIL  {name.replace('_', ' ')}: {str(error)[:300]} ({lines[-2].strip()[:120]})", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
