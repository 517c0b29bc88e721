"""What a slow command is doing, in a line on the terminal; nothing where standard error is no terminal."""

from __future__ import annotations

import contextlib
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from threading import Event, Thread
from typing import TextIO

_STARTED = time.monotonic()
_AFTER_S, _EVERY_S = 1.0, 0.25


@contextlib.contextmanager
def progress(doing: str, is_quiet: bool) -> Iterator[Callable[[str], None]]:
    """Say what is being done for the time of a block, from one second after the start of the program on.

    The function that the block is given changes the words. Nothing else may be written to standard error
    in the block. The line is gone at its end.
    """
    words = [doing]
    if is_quiet or not sys.stderr.isatty():
        yield words.append
        return
    ended = Event()
    drawing = Thread(target=_draw, args=(words, ended, sys.stderr), daemon=True)
    drawing.start()
    try:
        yield words.append
    finally:
        ended.set()
        drawing.join()


def _draw(words: list[str], ended: Event, screen: TextIO) -> None:
    began = time.monotonic()
    wait = max(0.0, _AFTER_S - (began - _STARTED))
    is_drawn = False
    while not ended.wait(wait):
        wait, is_drawn = _EVERY_S, True
        line = f"iodiag: {words[-1]}, {time.monotonic() - began:.0f} s"
        screen.write(f"\r{line[: shutil.get_terminal_size().columns - 1]}\x1b[K")
        screen.flush()
    if is_drawn:
        screen.write("\r\x1b[K")
        screen.flush()
