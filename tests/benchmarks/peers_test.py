"""Tests what the tables of benchmarks/peers rest on: ratios, rounds, sections, processes. peers_test.py SOURCE_DIR"""
import argparse
import pathlib
import sys
import tempfile
import time
import types
import unittest

ROOT = pathlib.Path(sys.argv.pop(1)) if __name__ == "__main__" else pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks/peers"))

import numpy as np
from side_by_side import machine, pack, results, samples, tasks, threads
from side_by_side.host import Host


def rounds(median: float, spread: float = 0.01, count: int = 9, seed: int = 1) -> samples.Rounds:
    random = np.random.default_rng(seed)
    return [list(median * (1 + spread * random.standard_normal(40))) for _ in range(count)]


class Ratios(unittest.TestCase):
    def test_a_ratio_is_the_peers_time_over_ours(self):
        found = samples.ratio(rounds(1.0), rounds(1.5, seed=2), 50)
        self.assertAlmostEqual(found.value, 1.5, delta=0.02)
        self.assertTrue(found.low <= found.value <= found.high)
        self.assertLess(found.high - found.low, 0.05)

    def test_rounds_that_differ_widen_the_interval(self):
        disturbed = rounds(1.0)[:5] + rounds(3.0, count=4)
        found = samples.ratio(rounds(1.0), disturbed, 50)
        self.assertGreater(found.high - found.low, 1)

    def test_one_round_tells_no_interval(self):
        self.assertTrue(np.isnan(samples.ratio(rounds(1.0, count=1), rounds(2.0, count=1), 50).low))

    def test_each_percentile_has_its_own_better_peer(self):
        rare = [[1.0] * 95 + [9.0] * 5 for _ in range(9)]  # faster in the median, slower in the tail
        taken = {"vernier": rounds(1.0), "rarely slow": rare, "steady": rounds(1.2)}
        self.assertEqual(samples.to_better(taken, 50).peer, "rarely slow")
        self.assertEqual(samples.to_better(taken, 99).peer, "steady")

    def test_who_comes_first_changes(self):
        order = []
        samples.interleaved({name: lambda name=name: order.append(name) or [1.0] for name in "abc"}, 2)
        self.assertEqual("".join(order), "abccba")


class Files(unittest.TestCase):
    def test_a_run_replaces_its_own_sections_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "table.md"
            results.write_sections(path, "# Head\n", {"one": "| a |", "two": "| b |"})
            sections = results.read_sections(path)
            sections["two"] = "| c |"
            results.write_sections(path, "# Head\n", sections, ["two"])
            self.assertEqual(path.read_text(), "# Head\n\n## two\n\n| c |\n\n## one\n\n| a |\n")

    def test_a_row_that_failed_has_all_columns_and_breaks_no_line(self):
        table = results.table(["model", "p50"], [[results.reason(RuntimeError(f"{ROOT}/x | y\nz"))]])
        self.assertEqual(table.splitlines()[2], "| failed: x / y z |  |")


class Broken:
    """An engine whose second session fails."""

    made = 0

    def session(self):
        self.made += 1
        return types.SimpleNamespace(bind=lambda inputs: self.run if self.made == 1 else self.fail)

    def run(self):
        time.sleep(0.001)

    def fail(self):
        raise RuntimeError("no memory")


class Tasks(unittest.TestCase):
    def test_throughput_counts_all_sessions(self):
        whole = types.SimpleNamespace(session=lambda: types.SimpleNamespace(bind=lambda inputs: lambda: time.sleep(0.01)))
        one, four = (tasks.throughput(whole, {}, count, 0.3) for count in (1, 4))
        self.assertLess(one, 100.1)
        self.assertGreater(four, 2 * one)

    def test_a_session_that_fails_is_no_throughput(self):
        with self.assertRaisesRegex(RuntimeError, "no memory"):
            tasks.throughput(Broken(), {}, 2, 0.1)

    def test_a_window_has_the_runs_that_are_asked_for(self):
        whole = types.SimpleNamespace(session=lambda: types.SimpleNamespace(bind=lambda inputs: lambda: None))
        self.assertGreaterEqual(len(tasks.times(whole, {}, 0.0, 7)), 7)
        whole = types.SimpleNamespace(session=lambda: types.SimpleNamespace(bind=lambda inputs: lambda: time.sleep(0.01)))
        self.assertLess(len(tasks.times(whole, {}, 0.05, 1)), 7)


class Processes(unittest.TestCase):
    def test_what_an_engine_raises_is_raised_here(self):
        with Host("no_such") as host, self.assertRaisesRegex(RuntimeError, "no_such: ModuleNotFoundError"):
            host(tasks.resident_memory)

    def test_a_process_that_ends_is_an_error_and_no_wait(self):
        with Host("no_such") as host:
            host.process.kill()
            with self.assertRaisesRegex(RuntimeError, "its process ended with -9"):
                host(tasks.resident_memory)


class Threads(unittest.TestCase):
    arguments = argparse.Namespace(precision=["fp32"], counts=[1, 2, 1 << 20], models=["ResNet-18"], budget=0.0)

    def test_no_more_threads_than_cores_and_the_most_first(self):
        sections = [section for section, *_ in threads.cells(self.arguments)]
        self.assertNotIn(f"fp32, {1 << 20} threads", sections)
        self.assertEqual(sections[-1], "fp32, 1 thread")
        self.assertIn(f"fp32, {len(machine.cores())} sessions of one thread", sections)

    def test_what_the_time_does_not_reach_is_told(self):
        late = argparse.Namespace(**{**vars(self.arguments), "budget": 1e-9})
        for rows in threads.measure(late).values():
            self.assertEqual(rows, [["ResNet-18", "not reached in the time of this run"]])


class Pack(unittest.TestCase):
    def test_the_c_library_stays_behind_and_what_it_carries_comes(self):
        names = {path.name for path in pack.closure(pathlib.Path(sys.executable).resolve(), pathlib.Path(np._core._multiarray_umath.__file__))}
        self.assertTrue(names, "numpy brings libraries of its own")
        self.assertFalse({name for name in names if name.startswith(("libc.so", "libm.so", "ld-linux"))})


if __name__ == "__main__":
    unittest.main()
