"""The same jobs on a Dask cluster that is there already: its scheduler places them, its workers do them."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from iodiag.errors import ConfigError, IodiagError, OutputError
from iodiag.fleet.executor import Item, Result

AHEAD = 4
"""Jobs sent per worker thread; more would fill the scheduler's memory, not the workers."""


class Cluster:
    """A connection to a scheduler."""

    def __init__(self, address: str) -> None:
        try:
            from distributed import Client
        except ImportError:
            raise ConfigError("--scheduler needs dask.distributed: pip install iodiag[fleet]") from None
        self._address = address
        # what its log says of a lost connection is said here in a line
        for name in ("distributed", "distributed.client"):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
        try:
            self._client = Client(address, timeout="10s", set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            raise ConfigError(
                f"--scheduler {address}: cannot be reached ({reason}); check the address"
            ) from None

    def each(
        self, function: Callable[[Item], Result], items: Iterable[Item]
    ) -> Iterator[tuple[Item, Result | IodiagError]]:
        """The items with their results as these come; an error for an item that workers died of.

        Raises what the function raises, and OutputError when the scheduler has gone.
        """
        from distributed import CancelledError, as_completed
        from distributed.scheduler import KilledWorker

        waiting = iter(items)
        running: dict[str, Item] = {}
        stream = as_completed(loop=self._client.loop)
        try:
            while True:
                for item in islice(waiting, max(0, self._room() - len(running))):
                    future = self._client.submit(function, item, pure=False)
                    running[future.key] = item
                    stream.add(future)
                if not running:
                    return
                future = next(stream)
                item = running.pop(future.key)
                try:
                    yield item, future.result()
                except ImportError as error:
                    raise ConfigError(f"--scheduler: a worker lacks a package: {error}; install it") from None
                except KilledWorker:
                    yield item, OutputError("the workers that read it died, most likely for want of memory")
        except (CancelledError, OSError, TimeoutError, StopIteration):
            raise OutputError(
                f"--scheduler {self._address}: has gone; start it and give the same command again: "
                "what is done stays done"
            ) from None

    def _room(self) -> int:
        """How many jobs may be sent: a few per thread of the workers there are now."""
        threads: int = sum(self._client.nthreads().values())
        return AHEAD * max(1, threads)

    def stop(self) -> None:
        """Give up what was sent, and the connection."""
        with contextlib.suppress(OSError, TimeoutError):
            self._client.close(timeout=5)


@contextlib.contextmanager
def cluster(address: str) -> Iterator[Cluster]:
    """A connection for the time of a block."""
    connected = Cluster(address)
    try:
        yield connected
    finally:
        connected.stop()
