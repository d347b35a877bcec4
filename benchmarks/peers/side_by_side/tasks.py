"""The process of an engine is asked to do these tasks. Each takes the engine first, and times by its own clock."""
import threading
import time

import numpy as np


def outputs(engine, inputs) -> dict[str, np.ndarray]:
    session = engine.session()
    session.bind(inputs)()
    return session.outputs()


def times(engine, inputs, seconds: float, least: int = 1, warm_up: int = 1) -> list[float]:
    """Seconds of each run: of as many as fill `seconds`, and of `least` at least, after some that do not count."""
    if not hasattr(engine, "kept"):  # one session for all windows of a table
        engine.kept = engine.session()
    run = engine.kept.bind(inputs)
    for _ in range(warm_up):
        run()
    taken = []
    end = time.perf_counter() + seconds
    while len(taken) < least or time.perf_counter() < end:
        begin = time.perf_counter()
        run()
        taken.append(time.perf_counter() - begin)
    return taken


def throughput(engine, inputs, sessions: int, seconds: float) -> float:
    """Runs a second of so many sessions at the same time, each in a thread of its own."""
    runs = [engine.session().bind(inputs) for _ in range(sessions)]
    counts, stop, failures = [0] * sessions, threading.Event(), []
    start = threading.Barrier(sessions + 1)

    def serve(index: int) -> None:
        try:
            runs[index]()
            start.wait()
            while not stop.is_set():
                runs[index]()
                counts[index] += 1
        except Exception as error:
            failures.append(error)
            start.abort()

    threads = [threading.Thread(target=serve, args=(index,)) for index in range(sessions)]
    for thread in threads:
        thread.start()
    try:
        start.wait()
        begin = time.perf_counter()
        time.sleep(seconds)
    except threading.BrokenBarrierError:  # a session has failed, which is raised below
        begin = 0
    stop.set()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return sum(counts) / (time.perf_counter() - begin)


def each_once(engine, samples) -> list[float]:
    """Seconds of one run on each sample in turn, from binding to the outputs, in one session."""
    if not hasattr(engine, "kept"):
        engine.kept = engine.session()
    taken = []
    for inputs in samples:
        begin = time.perf_counter()
        engine.kept.bind(inputs)()
        taken.append(time.perf_counter() - begin)
    return taken


def decode(engine, caches, prompt: np.ndarray, tokens: np.ndarray) -> tuple[list[float], np.ndarray]:
    """Seconds of each token after the prompt, and the last logits. The tokens are given: all engines do the same work."""
    decoder = engine.decoder(caches)
    mask = np.ones((1, len(prompt) + len(tokens)), np.int64)
    decoder.step(prompt[None], mask[:, :len(prompt)].copy())
    taken = []
    for count, token in enumerate(tokens, len(prompt) + 1):
        begin = time.perf_counter()
        logits = decoder.step(np.array([[token]]), mask[:, :count].copy())
        taken.append(time.perf_counter() - begin)
    return taken, np.array(logits)[0, -1]


def resident_memory(engine) -> int:
    """Bytes that this process has in memory (VmRSS)."""
    for line in open("/proc/self/status"):
        if line.startswith("VmRSS"):
            return int(line.split()[1]) * 1024
    raise RuntimeError("/proc/self/status has no VmRSS")
