"""How steady a machine is by itself: what a fixed piece of work takes on each of its cores at the same time, without any engine."""
import multiprocessing
import os
import statistics
import time

COLUMNS = ["cores at the same time", "p50 ms", "p99/p50 of one core", "p99/p50 of the slowest of all"]
STEPS = 20000  # of a piece, about a millisecond


def _measure(core: int, seconds: float, found) -> None:
    os.sched_setaffinity(0, {core})
    times, end = [], time.monotonic() + seconds
    while time.monotonic() < end:
        start, total = time.perf_counter(), 0
        for i in range(STEPS):
            total += i
        times.append(time.perf_counter() - start)
    found.put(times)


def _percentiles(times: list[float]) -> tuple[float, float]:
    cuts = statistics.quantiles(times, n=100)
    return cuts[49], cuts[98]


def row(cores: list[int], seconds: float = 6) -> list[str]:
    """Pieces are taken as rounds of all cores, as a parallel step waits for the slowest of its threads."""
    found = multiprocessing.Queue()
    workers = [multiprocessing.Process(target=_measure, args=(core, seconds, found)) for core in cores]
    for worker in workers:
        worker.start()
    taken = [found.get() for _ in workers]
    for worker in workers:
        worker.join()
    each = [_percentiles(times) for times in taken]
    p50, p99 = _percentiles([max(times) for times in zip(*taken)])
    return [str(len(cores)), f"{1e3 * statistics.median(one[0] for one in each):.2f}",
            f"{statistics.median(one[1] / one[0] for one in each):.1f}", f"{p99 / p50:.1f}"]
