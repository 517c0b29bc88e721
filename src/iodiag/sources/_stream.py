"""Bytes that are read forward only: files, pipes, decompression and members of archives alike."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator

PIECE_BYTES = 1 << 18
"""How much is asked for at a time; no layer holds more than a few such pieces ahead."""


class DamageError(Exception):
    """Why bytes end before they should. `is_cut` tells that what came before is sound."""

    def __init__(self, reason: str, is_cut: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.is_cut = is_cut


class ByteStream:
    """Bytes that come in pieces, with a look ahead.

    Reading never raises for bytes that end early: it gives what there is, and `damage` then says
    why no more came. `position` counts the bytes that were read or skipped. `rest`, where there is one,
    gives all bytes from a position on in one go; where they may be more than so many, it gives None.
    """

    def __init__(
        self, pieces: Iterator[bytes], rest: Callable[[int, int], bytes | None] | None = None
    ) -> None:
        self._pieces = pieces
        self._rest = rest
        self._ahead = bytearray()
        self.position = 0
        self.damage: DamageError | None = None

    def peek(self, size: int) -> bytes:
        """The next bytes, fewer than `size` only before the end; they stay to be read."""
        while len(self._ahead) < size and (piece := self._next_piece()):
            self._ahead += piece
        return bytes(self._ahead[:size])

    def read(self, size: int) -> bytes:
        """The next bytes, fewer than `size` only at the end."""
        data = self.peek(size)
        del self._ahead[: len(data)]
        self.position += len(data)
        return data

    def unread(self, data: bytes) -> None:
        """Put bytes back that were read too much."""
        self._ahead[:0] = data
        self.position -= len(data)

    def pieces(self, size: int | None = None) -> Iterator[bytes]:
        """The next `size` bytes (all that are left for None) in pieces; ends early where the bytes do."""
        left = size
        while left is None or left > 0:
            if self._ahead:
                piece = bytes(self._ahead if left is None else self._ahead[:left])
                del self._ahead[: len(piece)]
            elif not (piece := self._next_piece()):
                return
            elif left is not None and len(piece) > left:
                self._ahead += piece[left:]
                piece = piece[:left]
            self.position += len(piece)
            left = None if left is None else left - len(piece)
            yield piece

    def skip(self, size: int) -> None:
        """Pass over bytes. Raises DamageError where there are fewer."""
        if size > sum(map(len, self.pieces(size))):
            raise self.cut_off()

    def cut_off(self) -> DamageError:
        """Why the bytes ended, where there should be more."""
        return self.damage or DamageError("is cut off", is_cut=True)

    def read_all(self, most: int) -> bytes:
        """All that is left, but at most one byte more than `most`, which tells that there is more."""
        if self._rest is not None and self.damage is None:
            data = self._rest(self.position, most)
            if data is not None:
                self._ahead.clear()
                self.position += len(data)
                return data
        buffer = io.BytesIO()
        for piece in self.pieces(most + 1):
            buffer.write(piece)
        return buffer.getvalue()

    def close(self) -> None:
        """Let go of what the bytes come from."""
        if close := getattr(self._pieces, "close", None):
            close()

    def _next_piece(self) -> bytes:
        """The next piece; b"" at the end, whatever the reason."""
        while self.damage is None:
            try:
                piece = next(self._pieces, b"")
            except DamageError as damage:
                self.damage = damage
                break
            return piece
        return b""


def pieces_of(read: Callable[[int], bytes], ends_short: bool = False) -> Iterator[bytes]:
    """The pieces that a file's `read` gives.

    With `ends_short` a short piece is the last: a terminal would want Ctrl-D once more to say so again.
    """
    try:
        while piece := read(PIECE_BYTES):
            yield piece
            if ends_short and len(piece) < PIECE_BYTES:
                return
    except OSError as error:
        raise DamageError(f"cannot be read any further ({error.strerror or error})", is_cut=True) from None


def part_of(stream: ByteStream, size: int) -> Iterator[bytes]:
    """The next bytes of a stream as a stream of their own: the body of a member of known size."""
    left = size
    for piece in stream.pieces(size):
        left -= len(piece)
        yield piece
    if left:
        raise stream.cut_off()


def rest_of(stream: ByteStream) -> Iterator[bytes]:
    """The pieces that are left, with the damage that ends them."""
    yield from stream.pieces()
    if stream.damage:
        raise stream.damage
