"""The bombs at full size, on demand: `python tests/fuzz/large.py`; `--size` is the length of a line in MB.

Each input is read in a process of its own, which says how long that took and how much memory it took beyond
the input. The exit status is 1 where one ended in a traceback or took more than the limits of the tests.
"""

from __future__ import annotations

import argparse
import gzip
import io
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parents[1] / "src"), str(HERE.parent)]

import iodiag  # noqa: E402
from fuzz.bombs import DEEP, LONG_LINES, MANY_LINES  # noqa: E402
from fuzz.limits import BYTES_PER_BYTE, BYTES_PER_LINE, LEAST_BYTES, memory_of  # noqa: E402
from iodiag.errors import IodiagError  # noqa: E402

_MB = 1 << 20
_MEMBERS, _DEPTH, _PACKED_MB, _SHORT_LINES_MB = 1_000_000, 1_000_000, 10_240, 16


def _members(count: int) -> bytes:
    """A tar of so many files, each a capture's name and a byte."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for number in range(count):
            entry = tarfile.TarInfo(f"var/log/sa/sa{number}")
            entry.size = 1
            archive.addfile(entry, io.BytesIO(b"x"))
    return buffer.getvalue()


def _packed(megabytes: int) -> bytes:
    """NUL bytes in gzip, which makes a thousandth of them."""
    buffer = io.BytesIO()
    with gzip.GzipFile(fileobj=buffer, mode="wb", compresslevel=1) as packed:
        for _ in range(megabytes):
            packed.write(bytes(_MB))
    return buffer.getvalue()


def inputs(line_mb: int) -> Mapping[str, Callable[[], bytes]]:
    """What is read, by its name."""
    return {
        **{f"one line of {name}": partial(make, line_mb * _MB) for name, make in LONG_LINES.items()},
        **{f"lines of {name}": partial(make, _SHORT_LINES_MB * _MB) for name, make in MANY_LINES.items()},
        **{f"{_DEPTH:,} deep: {name}": partial(make, _DEPTH) for name, make in DEEP.items()},
        f"a tar of {_MEMBERS:,} members": partial(_members, _MEMBERS),
        f"{_PACKED_MB >> 10} GiB of nothing in gzip": partial(_packed, _PACKED_MB),
    }


def _outcome(said: list[str], data: bytes) -> None:
    try:
        capture = iodiag.read(io.BytesIO(data), name="x")
    except IodiagError as error:
        said.append(f"refused: {error}")
    else:
        said.append(f"read: {sum(map(len, capture.tables.values()))} rows, {len(capture.notes)} notes")


def _read_one(name: str, line_mb: int) -> int:
    data = inputs(line_mb)[name]()
    said: list[str] = []
    started = time.process_time()
    grown = memory_of(partial(_outcome, said), data)
    seconds = time.process_time() - started
    allowed = LEAST_BYTES + BYTES_PER_BYTE * len(data) + BYTES_PER_LINE * data.count(b"\n")
    print(f"| {name} | {len(data) / _MB:,.1f} | {seconds:.1f} | {grown / _MB:,.0f} | {said[0][:150]} |")
    return int(grown > allowed or "\n" in said[0])


def main() -> int:
    """Read every input and print a table; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=1024, help="length of a line in MB")
    parser.add_argument("--only", default="", help="inputs whose names hold this")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        return _read_one(options.one, options.size)
    print("| input | MB | processor s | MB taken beyond it | outcome |\n|---|---:|---:|---:|---|", flush=True)
    failed = 0
    for name in inputs(options.size):
        if options.only in name:
            command = [sys.executable, __file__, "--size", str(options.size), "--one", name]
            failed += subprocess.run(command, check=False).returncode != 0
    return int(failed > 0)


if __name__ == "__main__":
    raise SystemExit(main())
