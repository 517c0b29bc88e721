"""Inputs made from other inputs, by changes that know what captures look like.

Every change takes bytes, a source of chance and the seeds of its family, and gives bytes; it is pure, so a
number names a mutation for good.
"""

from __future__ import annotations

import random
import re
import struct
from collections.abc import Callable, Sequence

Change = Callable[[bytes, random.Random, Sequence[bytes]], bytes]

_TOKENS = (
    *(
        b"0",
        b"-1",
        b"1",
        b"-0.00",
        b"nan",
        b"inf",
        b"1e999",
        b"-1e308",
        b"0x10",
        b"1,5",
        b"1.5k",
        b"12M",
        b"%",
    ),
    *(
        b"99999999999999999999",
        b"18446744073709551615",
        b"4294967296",
        b"1.2.3",
        b".",
        b"-",
        b"--",
        b":",
        b"",
    ),
    *(b"24:00:00", b"00:00:00", b"12:00:00 AM", b"13:00:00 PM", b"02/30/26", b"2026-13-01", b"1970-01-01"),
    *(
        b"Device",
        b"Device:",
        b"avg-cpu:",
        b"%util",
        b"r",
        b"b",
        b"Average:",
        b"LINUX",
        b"RESTART",
        b"sda",
        b"all",
    ),
    *(
        b"\xff\xfe",
        b"\xc3",
        b"\xe2\x80\xae",
        b"\xef\xbb\xbf",
        b"\x1b[31m",
        b"\0",
        b"\x08",
        b"\x0b",
        b"\x85",
        b"\n\x1d\n",
    ),
    *(
        b"<b>",
        b"&#0;",
        b"&lt;",
        b"> ",
        b"|",
        b"\\n",
        b"\\",
        b'"',
        b"'",
        b"=20",
        b"=\n",
        b"```",
        b"**",
        b"[code]",
    ),
    *(
        b"{",
        b"}",
        b"[",
        b"]",
        b",",
        b";",
        b"null",
        b"true",
        b"-Infinity",
        b"\\u0000",
        b"<!--",
        b"]]>",
        b"</sysstat>",
    ),
    *("１２".encode(), "٣".encode(), "²".encode(), "ß".encode(), b"\xf0\x9f\x92\xa9", b"a" * 300, b"9" * 400),
)
_WORD = re.compile(rb"[^\s,;{}\[\]<>\"]+")
_NUMBER = re.compile(rb"\d+(?:[.,]\d+)?")
_EDGES = (
    0,
    1,
    2,
    3,
    4,
    7,
    8,
    127,
    128,
    255,
    256,
    32767,
    65535,
    2**31 - 1,
    2**31,
    2**32 - 1,
    2**63,
    2**64 - 1,
)


def mutated(
    data: bytes, chance: random.Random, seeds: Sequence[bytes], changes: Sequence[Change], most: int
) -> bytes:
    """Data after one to six changes, or a seed after them; at most `most` bytes."""
    if seeds and (not data or chance.random() < 0.25):
        data = chance.choice(seeds)
    for _ in range(chance.choice((1, 1, 1, 2, 2, 3, 6))):
        data = chance.choice(changes)(data, chance, seeds)[:most]
    return data


def _lines(data: bytes) -> list[bytes]:
    return data.split(b"\n")


def _some(chance: random.Random, count: int) -> tuple[int, int]:
    """A short range of positions below `count`."""
    start = chance.randrange(count)
    return start, min(count, start + chance.choice((1, 1, 1, 2, 5, 20)))


def repeat_lines(data: bytes, chance: random.Random, seeds: Sequence[bytes]) -> bytes:
    lines = _lines(data)
    start, end = _some(chance, len(lines))
    return b"\n".join(lines[:start] + lines[start:end] * chance.choice((2, 2, 3, 30)) + lines[end:])


def delete_lines(data: bytes, chance: random.Random, seeds: Sequence[bytes]) -> bytes:
    lines = _lines(data)
    start, end = _some(chance, len(lines))
    return b"\n".join(lines[:start] + lines[end:])


def swap_lines(data: bytes, chance: random.Random, seeds: Sequence[bytes]) -> bytes:
    lines = _lines(data)
    one, other = chance.randrange(len(lines)), chance.randrange(len(lines))
    lines[one], lines[other] = lines[other], lines[one]
    return b"\n".join(lines)


def shuffle_lines(data: bytes, chance: random.Random, seeds: Sequence[bytes]) -> bytes:
    lines = _lines(data)
    chance.shuffle(lines)
    return b"\n".join(lines)


def join_lines(data: bytes, chance: random.Random, seeds: Sequence[bytes]) -> bytes:
    """Two lines become one, headers for instance, or a whole text does."""
    lines = _lines(data)
    at = chance.randrange(len(lines))
    if chance.random() < 0.1:
        return b" ".join(lines)
    return b"\n".join(
        [*lines[:at], chance.choice((b" ", b"", b"\t")).join(lines[at : at + 2]), *lines[at + 2 :]]
    )


def break_line(data: bytes, chance: random.Random, seeds: Sequence[bytes]) -> bytes:
    """A line wraps, or all do at one width."""
    if chance.random() < 0.3:
        width = chance.randrange(10, 120)
        return b"\n".join(
            line[i : i + width] for line in _lines(data) for i in range(0, max(len(line), 1), width)
        )
    at = chance.randrange(len(data) + 1)
    return data[:at] + b"\n" + data[at:]


def drop_column(data: bytes, chance: random.Random, seeds: Sequence[bytes]) -> bytes:
    """A word goes from a run of lines: a column of a table, its header with it or without."""
    lines = _lines(data)
    start = chance.randrange(len(lines))
    end, column = start + chance.randrange(1, 40), chance.randrange(12)
    for index in range(start, min(end, len(lines))):
        words = lines[index].split(b" ")
        full = [place for place, word in enumerate(words) if word]
        if column < len(full):
            del words[full[column]]
        lines[index] = b" ".join(words)
    return b"\n".join(lines)


def change_word(data: bytes, chance: random.Random, seeds: Sequence[bytes]) -> bytes:
    """A word becomes one that readers find hard, or one of another input."""
    words = list(_WORD.finditer(data))
    if not words:
        return chance.choice(_TOKENS)
    word = chance.choice(words)
    new = chance.choice(_TOKENS)
    if seeds and chance.random() < 0.3 and (others := _WORD.findall(chance.choice(seeds)[:20_000])):
        new = chance.choice(others)
    return data[: word.start()] + new + data[word.end() :]


def insert_token(data: bytes, chance: random.Random, seeds: Sequence[bytes]) -> bytes:
    at = chance.randrange(len(data) + 1)
    return data[:at] + chance.choice(_TOKENS) + data[at:]


def blow_up_number(data: bytes, chance: random.Random, seeds: Sequence[bytes]) -> bytes:
    numbers = list(_NUMBER.finditer(data))
    if not numbers:
        return data
    number = chance.choice(numbers)
    digits = number[0]
    new = chance.choice(
        (digits * chance.randrange(2, 60), digits + b"0" * chance.randrange(1, 30), b"-" + digits)
    )
    return data[: number.start()] + new + data[number.end() :]


def truncate(data: bytes, chance: random.Random, seeds: Sequence[bytes]) -> bytes:
    at = chance.randrange(len(data) + 1)
    return data[:at] if chance.random() < 0.7 else data[at:]


def flip_bits(data: bytes, chance: random.Random, seeds: Sequence[bytes]) -> bytes:
    changed = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 8)) if changed else 0):
        changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    return bytes(changed)


def change_bytes(data: bytes, chance: random.Random, seeds: Sequence[bytes]) -> bytes:
    start, size = chance.randrange(len(data) + 1), chance.choice((1, 1, 2, 4, 16))
    return data[:start] + chance.randbytes(chance.choice((0, size))) + data[start + size :]


def splice(data: bytes, chance: random.Random, seeds: Sequence[bytes]) -> bytes:
    """The beginning of one input and the end of another, at line ends or anywhere."""
    other = chance.choice(seeds) if seeds else data
    if chance.random() < 0.7:
        ours, theirs = _lines(data), _lines(other)
        return b"\n".join(ours[: chance.randrange(len(ours) + 1)] + theirs[chance.randrange(len(theirs)) :])
    return data[: chance.randrange(len(data) + 1)] + other[chance.randrange(len(other) + 1) :]


def dress(data: bytes, chance: random.Random, seeds: Sequence[bytes]) -> bytes:
    """What mail, shells, editors and other systems do to a text."""
    ways: tuple[Callable[[], bytes], ...] = (
        lambda: data.replace(b"\n", b"\r\n"),
        lambda: data.replace(b"\n", b"\r"),
        lambda: b"\xef\xbb\xbf" + data,
        lambda: data.decode("utf-8", "replace").encode("utf-16"),
        lambda: data.decode("utf-8", "replace").encode("utf-16-be"),
        lambda: b"\n".join(b"> " * chance.randrange(1, 4) + line for line in _lines(data)),
        lambda: b"\n".join(b"| " + line + b" |" for line in _lines(data)),
        lambda: b"\n".join(b"+" + line for line in _lines(data)),
        lambda: b"<pre>" + data.replace(b"<", b"&lt;") + b"</pre>",
        lambda: b"```\n" + data + b"\n```\n",
        lambda: data.replace(b"=", b"=3D").replace(b".", b"=2E", 3).replace(b"\n", b"=\n", 2),
        # a share of \\nas1 could not be told from an end of a line
        lambda: data if b"\\n" in data else data.replace(b"\n", b"\\n"),
        lambda: data.replace(b".", b","),
        lambda: data.replace(b"  ", b"\t"),
        lambda: data.replace(b"  ", b" "),
        lambda: data.replace(b" ", b"\xc2\xa0"),
        lambda: b"\n".join(b"Nov 20 14:00:00 host x[1]: " + line for line in _lines(data)),
        lambda: b"\n\n".join(_lines(data)),
        lambda: bytes(len(data) % 64) + data,
    )
    return chance.choice(ways)()


def nest(data: bytes, chance: random.Random, seeds: Sequence[bytes]) -> bytes:
    """Brackets or elements around a part, some or very many."""
    opening, closing = chance.choice(
        ((b"[", b"]"), (b"{", b"}"), (b'{"a":', b"}"), (b"<a>", b"</a>"), (b"(", b")"))
    )
    depth = chance.choice((1, 3, 100, 1500))
    start = chance.randrange(len(data) + 1)
    end = chance.choice((start, len(data), chance.randrange(start, len(data) + 1)))
    return data[:start] + opening * depth + data[start:end] + closing * chance.choice((depth, 0)) + data[end:]


def set_integer(data: bytes, chance: random.Random, seeds: Sequence[bytes]) -> bytes:
    """A field of 1, 2, 4 or 8 bytes becomes 0, 1, the most that it holds, or anything; headers above all."""
    size, code = chance.choice(((1, "B"), (2, "H"), (4, "I"), (8, "Q")))
    if len(data) < size:
        return data
    reach = chance.choice((64, 400, 1200, len(data)))
    at = chance.randrange(max(min(reach, len(data)) // size, 1)) * size
    if at + size > len(data):
        return data
    most = 2 ** (8 * size) - 1
    value = chance.choice((*_EDGES, most, chance.randrange(most + 1)))
    order = chance.choice("<<<>")
    return data[:at] + struct.pack(order + code, min(value, most)) + data[at + size :]


def repeat_part(data: bytes, chance: random.Random, seeds: Sequence[bytes]) -> bytes:
    start = chance.randrange(len(data) + 1)
    end = min(len(data), start + chance.choice((1, 4, 16, 100, 512)))
    return data[:end] + data[start:end] * chance.choice((1, 2, 50)) + data[end:]


def mend_tar(data: bytes, chance: random.Random, seeds: Sequence[bytes]) -> bytes:
    """A change in a tar header, with the header's checksum made right again."""
    blocks = [at for at in range(0, len(data) - 511, 512) if data[at + 257 : at + 262] == b"ustar"]
    if not blocks:
        return flip_bits(data, chance, seeds)
    at = chance.choice(blocks)
    header = bytearray(data[at : at + 512])
    place, size = chance.choice(((0, 100), (100, 8), (124, 12), (124, 12), (156, 1), (157, 100), (345, 155)))
    new = chance.choice(
        (
            *(
                b"",
                b"\xff" * size,
                b"\x80" + chance.randbytes(size),
                b"7" * (size - 1) or b"7",
                b"../../etc/passwd",
            ),
            *(
                chance.choice(b"01234567xgLKSVD\0").to_bytes(1, "big"),
                b"%o" % chance.randrange(2**33),
                b"0",
                b"/a/./../b",
            ),
        )
    )
    header[place : place + size] = new[:size].ljust(size, b"\0")
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    return data[:at] + bytes(header) + data[at + 512 :]


def draw(data: bytes, chance: random.Random, seeds: Sequence[bytes]) -> bytes:
    """Other bytes altogether, for families that only choose by them."""
    return chance.randbytes(8)


def keep_first_lines(data: bytes, chance: random.Random, seeds: Sequence[bytes]) -> bytes:
    lines = _lines(data)
    return b"".join(line + b"\n" for line in lines[: chance.randrange(len(lines))])


def cut_line(data: bytes, chance: random.Random, seeds: Sequence[bytes]) -> bytes:
    lines = _lines(data)
    at = chance.randrange(len(lines))
    lines[at] = lines[at][: chance.randrange(len(lines[at]) + 1)]
    return b"\n".join(lines)


def drop_byte(data: bytes, chance: random.Random, seeds: Sequence[bytes]) -> bytes:
    at = chance.randrange(len(data))
    return data[:at] + data[at + 1 :]


def swap_bytes(data: bytes, chance: random.Random, seeds: Sequence[bytes]) -> bytes:
    at = chance.randrange(len(data) - 1)
    return data[:at] + data[at : at + 2][::-1] + data[at + 2 :]


def swap_numbers(data: bytes, chance: random.Random, seeds: Sequence[bytes]) -> bytes:
    numbers = list(_NUMBER.finditer(data))
    one, other = sorted((chance.choice(numbers), chance.choice(numbers)), key=re.Match.start)
    if one.start() == other.start():
        return data
    between = data[one.end() : other.start()]
    return data[: one.start()] + other[0] + between + one[0] + data[other.end() :]


DAMAGE: dict[str, tuple[Change, ...]] = {
    "text": (repeat_lines, delete_lines, delete_lines, swap_lines, keep_first_lines, dress),
    "csv": (keep_first_lines, delete_lines, swap_lines),
    "json": (truncate, delete_lines, swap_lines),
    "xml": (truncate,),
    "sa": (truncate, repeat_part, drop_byte),
}
"""Per kind of file, what takes from an input or moves in it and changes no number."""

ALTERATIONS: tuple[Change, ...] = (cut_line, drop_byte, swap_bytes, swap_numbers)
"""What may make another number or name of one in a text, which then is a row of that one."""

TEXT: tuple[Change, ...] = (
    *(
        repeat_lines,
        delete_lines,
        swap_lines,
        shuffle_lines,
        join_lines,
        break_line,
        drop_column,
        change_word,
    ),
    *(change_word, insert_token, blow_up_number, truncate, flip_bits, change_bytes, splice, splice, dress),
)
STRUCTURED: tuple[Change, ...] = (*TEXT, nest, nest, repeat_part)
BINARY: tuple[Change, ...] = (
    *(
        set_integer,
        set_integer,
        set_integer,
        set_integer,
        flip_bits,
        change_bytes,
        truncate,
        splice,
        repeat_part,
    ),
)
ARCHIVE: tuple[Change, ...] = (*BINARY, mend_tar, mend_tar, mend_tar)
