"""Reading a text with context formats alone, as the driver of text inputs does."""

from __future__ import annotations

from iodiag.formats.text.clean.lines import Piece, Text
from iodiag.formats.text.structure.walk import Window
from iodiag.formats.types import ContextBlock, ContextFormat
from iodiag.model.topology import Device, DeviceTopology, merge


def lines_of(text: str) -> Window:
    whole = Text.of_pieces(Piece(line, number) for number, line in enumerate(text.split("\n"), 1))
    return Window(whole, 0, len(whole))


def blocks_of(form: ContextFormat, text: str) -> list[ContextBlock]:
    """Every block that a format finds in a text, from the top."""
    lines = lines_of(text)
    found: list[ContextBlock] = []
    at = 0
    while at < len(lines):
        block = form.read(lines[at:], "paste.txt") if form.starts.search(lines[at].text) else None
        if block:
            assert block.used >= 1
            found.append(block)
        at += block.used if block else 1
    return found


def devices_of(form: ContextFormat, text: str) -> dict[str, Device]:
    """The devices of a text, by their canonical names."""
    return dict(topology_of(form, text).devices)


def topology_of(form: ContextFormat, text: str) -> DeviceTopology:
    return merge(device for block in blocks_of(form, text) for device in block.devices)
