"""Copies among sources: the same bytes given again."""

from __future__ import annotations

from iodiag.model.capture import Capture, Source


class Seen:
    """The sources that were read before. Only those of one size need their checksums."""

    def __init__(self) -> None:
        self._of_size: dict[int, tuple[Source, Capture]] = {}
        self._of_checksum: dict[str, Capture] = {}

    def add(self, source: Source, capture: Capture) -> None:
        """Keep a source and what was read of it."""
        if self._of_size.setdefault(len(source.data), (source, capture))[0] is not source:
            self._of_checksum.setdefault(source.sha256, capture)

    def copy_of(self, source: Source) -> Capture | None:
        """What was read of the first source with the same bytes."""
        if len(source.data) not in self._of_size:
            return None
        first, capture = self._of_size[len(source.data)]
        return capture if first.sha256 == source.sha256 else self._of_checksum.get(source.sha256)
