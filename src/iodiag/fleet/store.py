"""The data set: what of it is done, one host-day at a time, and the files that join all of them.

A host-day is done when its record stands under `.iodiag/days/`: it is written last, and names the key
(a checksum of all that the result depends on) and the size and checksum of every file; it ends with its own.
What no record names is left over from a run that was killed, and removed. The joined files are made from the
records alone, so they are the same however many runs it took. Whatever is read is checked first: a disk may
change what it holds.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from iodiag.errors import ConfigError, OutputError
from iodiag.fleet.output_files import TEMPORARY, OutputStore, write
from iodiag.fleet.plan import InputRow

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Day", "OutputStore", "Record", "join", "records", "sweep", "write_day"]

RUN = ".iodiag/run"
"""The name of the run that may write; a worker of an earlier one finds another name, and writes nothing."""

_DAYS, _HOURS = ".iodiag/days", ".iodiag/hours"
_ROWS_AT_ONCE = 100_000

_WORDS = ("host", "day")
COLUMNS: Mapping[str, Mapping[str, str]] = {
    "findings": {
        **dict.fromkeys((*_WORDS, "rule", "severity", "confidence"), "word"),
        "devices": "words",
        **dict.fromkeys(("start", "end", "title", "summary", "evidence", "explained_by"), "word"),
        **dict.fromkeys(("remedy", "confirm"), "words"),
        "key": "word",
        "is_undated": "flag",
    },
    "devices": {
        **dict.fromkeys((*_WORDS, "device", "kind", "model", "firmware", "kernel"), "word"),
        "rotational": "flag",
        "samples": "count",
        "direction": "word",
        **{
            f"{quantity}_{stat}": "number"
            for quantity in (
                "ios_per_s",
                "kb_per_s",
                "latency_ms",
                "request_size_kb",
                "queue_depth",
                "util_pct",
            )
            for stat in ("median", "p95")
        },
    },
    "outcomes": dict.fromkeys((*_WORDS, "rule", "status", "reason", "missing"), "word"),
    "manifest": {
        **dict.fromkeys(("input", "sha256"), "word"),
        "size_bytes": "count",
        "host": "word",
        "days": "words",
        **dict.fromkeys(("status", "reason", "key"), "word"),
    },
    "hours": {
        **dict.fromkeys(("host", "device", "day"), "word"),
        "hour": "count",
        "direction": "word",
        **dict.fromkeys(("size_class", "load_bin", "samples"), "count"),
        **dict.fromkeys(
            (
                "seconds",
                "ios_per_s",
                "kb_per_s",
                "latency_ms",
                "median_ln_latency",
                "mad_ln_latency",
                "queue_depth",
                "util_pct",
            ),
            "number",
        ),
    },
}
"""The columns of the joined files, and what each holds."""


@dataclass(frozen=True)
class Day:
    """Everything that the data set keeps of one host-day."""

    host: str
    day: str
    key: str
    inputs: tuple[InputRow, ...]
    findings: list[dict[str, Any]]
    devices: list[dict[str, Any]]
    outcomes: list[dict[str, Any]]
    hours: list[dict[str, Any]] = field(repr=False)
    tables: Mapping[str, pa.Table] = field(repr=False)
    report: str = field(repr=False)


@dataclass(frozen=True)
class Record:
    """A host-day that is done. `files` are its files, each with its size in bytes and its checksum."""

    host: str
    day: str
    key: str
    files: Mapping[str, tuple[int, str]]
    inputs: tuple[InputRow, ...]

    @property
    def path(self) -> str:
        """Where the record itself stands."""
        return record_path(self.host, self.day)

    @property
    def report(self) -> str:
        """Where its report stands."""
        return report_path(self.host, self.day)

    @property
    def page(self) -> str:
        """Where its page stands, if the fleet report leads to it."""
        return report_path(self.host, self.day, "html")

    @property
    def is_settled(self) -> bool:
        """Whether all its inputs could be read: what could not is tried again by the next run."""
        return all(row.status in ("read", "partly") for row in self.inputs)


def folder_name(text: str) -> str:
    """A host or a day as the name of a folder: percent-encoded, so that no name leads elsewhere.

    Capital letters are encoded too: where case does not count, `Host` and `host` are one folder. So are the
    first letter of a name that Windows gives to a device, and a dot or a space at either end. Other spaces
    and brackets stay, so that `host (folder)` can be read, and an address encodes them only once.
    """
    name = re.sub(r"%[0-9A-F]{2}|[A-Z]", _encoded, quote(text, safe=" ()")) or "%"
    if _RESERVED.fullmatch(name) or name.startswith((".", " ")):
        name = f"%{ord(name[0]):02X}{name[1:]}"
    if name.endswith((".", " ")):
        name = f"{name[:-1]}%{ord(name[-1]):02X}"
    if len(name) <= 200:
        return name
    return f"{name[:150]}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"


_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?")


def _encoded(found: re.Match[str]) -> str:
    return found[0] if len(found[0]) > 1 else f"%{ord(found[0]):02X}"


def record_path(host: str, day: str) -> str:
    """Where the record of a host-day stands."""
    return f"{_DAYS}/{folder_name(host)}/{folder_name(day)}.json"


def report_path(host: str, day: str, ending: str = "json") -> str:
    """Where the report of a host-day stands."""
    return f"reports/{folder_name(host)}/{folder_name(day)}.{ending}"


def write_day(place: OutputStore, token: str, day: Day) -> None:
    """Write a host-day, its record last. Raises OutputError where that is not possible, or no longer due."""
    if place.read(RUN) != token.encode():
        raise OutputError(f"{place.name}: another run has begun to write there; this one ends")
    where = f"host={folder_name(day.host)}/day={folder_name(day.day)}/part-{day.key}.parquet"
    contents = {f"tables/{name}/{where}": _parquet(table) for name, table in day.tables.items()}
    if day.hours:
        contents[f"{_HOURS}/{where}"] = _parquet(table_of("hours", day.hours))
    contents[report_path(day.host, day.day)] = day.report.encode()
    for path, data in contents.items():
        write(place, path, data)
    record = {
        "host": day.host,
        "day": day.day,
        "key": day.key,
        "files": {path: (len(data), checksum(data)) for path, data in contents.items()},
        "inputs": [asdict(row) for row in day.inputs],
        "rows": {"findings": day.findings, "devices": day.devices, "outcomes": day.outcomes},
    }
    write(place, record_path(day.host, day.day), _sealed(json.dumps(record, allow_nan=False).encode()))


def checksum(data: bytes) -> str:
    """The SHA-256 of some bytes."""
    return hashlib.sha256(data).hexdigest()


_SEAL = b', "sha256": "'


def _sealed(record: bytes) -> bytes:
    """A JSON object with its own checksum as its last key."""
    return record[:-1] + _SEAL + checksum(record).encode() + b'"}'


def _unsealed(data: bytes) -> bytes | None:
    """The object as it was before it was sealed; None where a byte of it is another."""
    record = data.rpartition(_SEAL)[0] + b"}"
    return record if _sealed(record) == data else None


def records(
    place: OutputStore, files: Mapping[str, int], wanted: Iterable[str] | None = None
) -> Iterator[Record | tuple[str, str]]:
    """The host-days that are done among the files of a data set, or a record's path and its damaged file.

    Done is what has all its files, at their sizes: a record is written last. With `wanted` only those records
    are looked at.
    """
    for path in sorted(files if wanted is None else files.keys() & set(wanted)):
        if not path.startswith(f"{_DAYS}/") or path.rpartition("/")[2].startswith(TEMPORARY):
            continue
        record = _record(_content(place, path))
        if record is None or record.path != path:
            yield path, path
        else:
            other = (name for name, (size, _) in record.files.items() if files.get(name) != size)
            fault = next(other, None)
            yield record if fault is None else (path, fault)


def has_days(files: Iterable[str]) -> bool:
    """Whether any host-day was ever done in a data set."""
    return any(path.startswith(f"{_DAYS}/") for path in files)


def damaged_file(record: Record, place: OutputStore) -> str:
    """The first file of a host-day that is not as it was written; empty where all are."""
    if not _content(place, record.path):
        return record.path
    return next((path for path in record.files if intact(place, record, path) is None), "")


def intact(place: OutputStore, record: Record, path: str) -> bytes | None:
    """The bytes of a host-day's file; None where they are not those that were written."""
    data = place.read(path)
    return data if data is not None and checksum(data) == record.files[path][1] else None


def _content(place: OutputStore, path: str) -> dict[str, Any]:
    """A record as it was written; empty where a fault of the disk left another."""
    data = _unsealed(place.read(path) or b"")
    content = {} if data is None else json.loads(data)
    return content if isinstance(content, dict) else {}


def _record(content: Mapping[str, Any]) -> Record | None:
    try:
        inputs = tuple(InputRow(**{**row, "days": tuple(row["days"])}) for row in content["inputs"])
        files = {path: (int(size), str(checksum)) for path, (size, checksum) in content["files"].items()}
        return Record(content["host"], content["day"], content["key"], files, inputs)
    except (KeyError, TypeError, ValueError):
        return None


def files_of(record: str, files: Iterable[str]) -> Iterator[str]:
    """Those of some files that belong to a host-day, by the path of its record alone."""
    host, _, day = record.removeprefix(f"{_DAYS}/").removesuffix(".json").rpartition("/")
    for path in files:
        is_page = path.startswith(f"reports/{host}/{day}.")
        if path == record or is_page or f"/host={host}/day={day}/" in path:
            yield path


def sweep(place: OutputStore, files: Iterable[str], wanted: Iterable[str]) -> int:
    """Remove what killed runs and earlier inputs left: all of our kinds of files that are not wanted."""
    kept = set(wanted)
    stale = [path for path in files if path not in kept and _is_ours(path)]
    for path in stale:
        place.remove(path)
    return len(stale)


def _is_ours(path: str) -> bool:
    is_temporary = path.rpartition("/")[2].startswith(TEMPORARY)
    return is_temporary or path.startswith(("tables/", "reports/", f"{_DAYS}/", f"{_HOURS}/"))


def join(place: OutputStore, done: Iterable[Record], rows: Iterable[InputRow]) -> dict[str, str]:
    """Write findings, devices, outcomes, hours and the manifest of all host-days, in order of host and day.

    Holds one batch of rows at a time, however many host-days there are; of the manifest all lines. Gives the
    records whose host-days are damaged, each with the file that is: the joined files lack them.
    """
    ordered = sorted(done, key=lambda record: (record.host, record.day))
    damaged: dict[str, str] = {}
    for name in ("findings", "devices", "outcomes"):
        _write_joined(place, name, _rows_of(place, ordered, name, damaged))
    _write_joined(place, "hours", _hours_of(place, ordered, damaged))
    inputs: dict[tuple[str, str], InputRow] = {}
    for row in (*rows, *(row for record in ordered for row in record.inputs)):
        inputs[row.input, row.host] = _together(inputs.get((row.input, row.host)), row)
    listed = [asdict(inputs[place_and_host]) for place_and_host in sorted(inputs)]
    _write_joined(place, "manifest", [table_of("manifest", listed)])
    return damaged


def _rows_of(
    place: OutputStore, ordered: Iterable[Record], name: str, damaged: dict[str, str]
) -> Iterator[pa.Table]:
    for record in ordered:
        if content := _content(place, record.path):
            yield table_of(name, content["rows"][name])
        else:
            damaged[record.path] = record.path


def _hours_of(place: OutputStore, ordered: Iterable[Record], damaged: dict[str, str]) -> Iterator[pa.Table]:
    import pyarrow.parquet as pq

    for record in ordered:
        for path in record.files:
            if path.startswith(f"{_HOURS}/"):
                data = intact(place, record, path)
                if data is None:
                    damaged[record.path] = path
                else:
                    yield pq.read_table(io.BytesIO(data))


def _together(first: InputRow | None, second: InputRow) -> InputRow:
    """Two lines on one input and host as one: the days of both, and the worse of their states."""
    if first is None:
        return second
    order = ("read", "duplicate", "partly", "unknown", "failed")
    worse = max(first, second, key=lambda row: order.index(row.status))
    days = tuple(dict.fromkeys((*first.days, *second.days)))
    return InputRow(**{**asdict(worse), "days": days})


def _write_joined(place: OutputStore, name: str, tables: Iterable[pa.Table]) -> None:
    """Tables below each other, in row groups that depend on nothing but their rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with (
        place.writing(f"{name}.parquet") as handle,
        pq.ParquetWriter(handle, schema(name), compression="zstd") as writer,
    ):
        batch: list[pa.Table] = []
        for table in tables:
            batch.append(table)
            if sum(len(part) for part in batch) >= _ROWS_AT_ONCE:
                writer.write_table(pa.concat_tables(batch).combine_chunks())
                batch = []
        writer.write_table(pa.concat_tables([schema(name).empty_table(), *batch]).combine_chunks())


@cache
def schema(name: str) -> pa.Schema:
    """The Arrow schema of a joined file."""
    import pyarrow as pa

    kinds = {
        "word": pa.string(),
        "words": pa.list_(pa.string()),
        "count": pa.int64(),
        "number": pa.float64(),
        "flag": pa.bool_(),
    }
    return pa.schema([(column, kinds[kind]) for column, kind in COLUMNS[name].items()])


def table_of(name: str, rows: list[dict[str, Any]]) -> pa.Table:
    """Rows as an Arrow table with the columns of a joined file."""
    import pyarrow as pa

    storable = [{column: _storable(value) for column, value in row.items()} for row in rows]
    return pa.Table.from_pylist(storable, schema=schema(name))


def _storable(value: Any) -> Any:
    """Text that UTF-8 can hold: a byte of a file's name that is none stays as an escape, `\\udcff`."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    return [_storable(item) for item in value] if isinstance(value, list | tuple) else value


def _parquet(table: pa.Table) -> bytes:
    import pyarrow.parquet as pq

    buffer = io.BytesIO()
    pq.write_table(table, buffer, compression="zstd")
    return buffer.getvalue()


def check_pyarrow() -> None:
    """Raise ConfigError when the Parquet library is not there."""
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError:
        raise ConfigError("fleet writes Parquet, which needs pyarrow: pip install iodiag[fleet]") from None
