"""Jobs on this machine: a process per core, each with one job at a time, and a new one where one died."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from multiprocessing.connection import wait as wait_for

from iodiag.errors import IodiagError, OutputError
from iodiag.fleet.executor import Item, Result

AHEAD = 2
"""Jobs that wait in the queue per process, so that none is idle; the others are not yet sent."""


class Workers:
    """So many processes that do jobs. They end with this one, however it ends."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._pool = self._new_pool(count)

    def each(
        self, function: Callable[[Item], Result], items: Iterable[Item]
    ) -> Iterator[tuple[Item, Result | IodiagError]]:
        """The items with their results as these come; an error for an item that no process survives.

        Raises what the function raises. A process that dies (most likely for want of memory) takes
        down its neighbours, so all that were under way are tried again one by one: who is alone when a
        process dies is the cause.
        """
        waiting = iter(items)
        running: dict[Future[Result], Item] = {}
        while True:
            suspects: list[Item] = []
            for item in islice(waiting, self._count * (1 + AHEAD) - len(running)):
                try:
                    running[self._pool.submit(function, item)] = item
                except BrokenProcessPool:
                    suspects.append(item)
                    break
            if not running and not suspects:
                return
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                item = running.pop(future)
                try:
                    result = future.result()
                except BrokenProcessPool:
                    suspects.append(item)
                else:
                    yield item, result
            if suspects:
                suspects += running.values()
                running.clear()
                yield from self._one_by_one(function, suspects)

    def _one_by_one(
        self, function: Callable[[Item], Result], items: Iterable[Item]
    ) -> Iterator[tuple[Item, Result | IodiagError]]:
        self.stop()
        self._pool = self._new_pool(1)
        for item in items:
            try:
                result: Result | IodiagError = self._pool.submit(function, item).result()
            except BrokenProcessPool:
                result = OutputError("the process that read it died, most likely for want of memory")
                self.stop()
                self._pool = self._new_pool(1)
            yield item, result
        self.stop()
        self._pool = self._new_pool(self._count)

    def stop(self) -> None:
        """End the processes at once, whatever they do."""
        processes = list((self._pool._processes or {}).values())
        self._pool.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            process.kill()
        for process in processes:
            process.join()

    @staticmethod
    def _new_pool(count: int) -> ProcessPoolExecutor:
        # a fresh interpreter per process: nothing of this one's threads, locks and handles
        context = multiprocessing.get_context("spawn")
        return ProcessPoolExecutor(count, mp_context=context, initializer=_begin)


@contextlib.contextmanager
def workers(count: int) -> Iterator[Workers]:
    """Processes for the time of a block."""
    pool = Workers(count)
    try:
        yield pool
    finally:
        pool.stop()


def _begin() -> None:
    """Leave Ctrl-C to the parent, and end when the parent does, even when it was killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait_for([parent.sentinel])
        os._exit(1)
