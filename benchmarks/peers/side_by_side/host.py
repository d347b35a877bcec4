"""An engine in a process of its own."""
import multiprocessing
import os
import traceback
from contextlib import contextmanager

from . import engines, tasks
from .vernier_cli import environment


def serve(connection, engine: str, cores: list[int] | None, options: dict) -> None:
    """The process: loads the engine, and answers each task with its result or with what it failed of."""
    if cores:
        os.sched_setaffinity(0, cores)  # before a library counts the cores
    loaded = None
    while True:
        try:
            task, arguments = connection.recv()
        except EOFError:
            return
        try:
            loaded = loaded or engines.load(engine, **options)
            connection.send((getattr(tasks, task)(loaded, *arguments), None))
        except Exception:  # an engine may raise anything; the table says what
            connection.send((None, traceback.format_exc(limit=-1).strip().splitlines()[-1]))


class Host:
    """Does the tasks of tasks.py, one at a time. Raises RuntimeError for a task that fails or ends the process."""

    def __init__(self, engine: str, cores: list[int] | None = None, **options):
        self.engine = engine
        context = multiprocessing.get_context("spawn")
        self.connection, other = context.Pipe()
        self.process = context.Process(target=serve, args=(other, engine, cores, options), daemon=True)
        with libraries_of(engine):
            self.process.start()
        other.close()

    def __call__(self, task, *arguments):
        try:
            self.connection.send((task.__name__, arguments))
            result, failure = self.connection.recv()
        except (EOFError, OSError):
            self.process.join()
            raise RuntimeError(f"{self.engine}: its process ended with {self.process.exitcode}") from None
        if failure:
            raise RuntimeError(f"{self.engine}: {failure}")
        return result

    def close(self) -> None:
        self.connection.close()
        self.process.join(timeout=10)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


@contextmanager
def libraries_of(engine: str):
    """The environment that a new process inherits: the peers bring their own libraries, Vernier may need those of a pack."""
    before = dict(os.environ)
    if engine == "vernier":
        os.environ.update(environment())
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
