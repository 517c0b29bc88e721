"""One entry per family of readers: bytes in, silence or the failure out.

`fuzz_one(family, data)` raises nothing when all holds: no exception but IodiagError, the account of lines
sums up, rows point at the lines that hold their values, damage gives no other rows without a note, no rule
fails, and no name leaks from a report without names.
"""

from __future__ import annotations

import io
import json
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import iodiag
from fuzz import mutate
from fuzz.oracles import Reading, check_ledgers, check_no_other_rows, check_rows, rows_read
from iodiag.anonymize.rewriting import anonymous_captures
from iodiag.errors import IodiagError
from iodiag.model.capture import Capture
from iodiag.model.report import Report
from iodiag.report import as_html
from iodiag.report.as_json import from_json
from iodiag.sources.archives import Contents, find
from writers import reports as collections
from writers import sa_writer as w
from writers.sa_cases import item, record

SAMPLES = Path(__file__).parents[2] / "samples"
CORPUS = Path(__file__).parent / "corpus"
_TABLES = (
    "iostat",
    "sar",
    "vmstat",
    "mpstat",
    "pt-diskstats",
    "vmstat-disk",
    "seeds",
    "cases",
    "iotop",
    "pidstat",
    "cifsiostat",
    "tapestat",
)
_JSON = ("sadf-json", "iostat-json", "mpstat-json", "cifsiostat-json", "fio")
_CSV = ("sadf-csv", "sadf-pairs", "sadf-raw")
_FILES = ("sa", "sadf-xml", *_JSON, *_CSV)


@dataclass(frozen=True)
class Family:
    """Readers that share a shape: what runs them, the inputs to begin with, the changes that fit."""

    run: Callable[[bytes], None]
    seeds: Callable[[], list[bytes]]
    changes: Sequence[mutate.Change]
    most_bytes: int
    share: float


def _read(data: bytes) -> Capture | None:
    try:
        return iodiag.read(io.BytesIO(data), name="x")
    except IodiagError as error:
        message = str(error)
    assert "\n" not in message, message
    return None


def _fuzz_reader(data: bytes) -> None:
    capture = _read(data)
    if capture is not None:
        check_ledgers(capture)
        check_rows(capture)
        # DataFrames take most of the time: a part of the inputs gets them
        if len(data) % 8 == 0:
            assert len(dict(capture.tables)) == len(capture.tables)


def _fuzz_columns(data: bytes) -> None:
    header, _, rows = data.partition(b"\n")
    try:
        capture = iodiag.read(io.BytesIO(rows), name="x", columns=header.decode("utf-8", "replace"))
    except IodiagError:
        return
    check_ledgers(capture)


def _fuzz_archive(data: bytes) -> None:
    try:
        for found in find(io.BytesIO(data), lambda head: True, "x"):
            if isinstance(found, Contents):
                assert found.kept <= found.files
                assert all("\n" not in line for line in found.lost)
    except IodiagError:
        pass


def _fuzz_analysis(data: bytes) -> None:
    """Rules and renderings, over up to three inputs that a mark parts."""
    captures = [capture for part in data.split(b"\0PART\0")[:3] if (capture := _read(part)) is not None]
    if not captures:
        return
    try:
        report = iodiag.analyze(captures)
    except IodiagError:
        return
    failed = [outcome for outcome in report.outcomes if outcome.status == "error"]
    assert not failed, failed
    text = report.to_json()
    json.loads(text)
    assert "\x1b" not in report.to_markdown()
    # the page takes most of the time: a part of the inputs gets one
    if len(data) % 8 == 0:
        report.to_html()


@cache
def _undamaged(kind: str) -> list[tuple[bytes, tuple[set[Reading], set[str]]]]:
    """The inputs of one kind that can be read, each with its rows and what its notes say."""
    inputs = {
        "text": lambda: [data[: data.rfind(b"\n") + 1] for data in _files(*_TABLES, most=4000)],
        "csv": lambda: _files(*_CSV, most=4000),
        "json": lambda: _files(*_JSON, most=1 << 20),
        "xml": lambda: _files("sadf-xml", most=1 << 20),
        "sa": sa_files,
    }[kind]()
    read = ((data, _read(data)) for data in inputs)
    return [
        (data, (rows_read(capture), {note.reason for note in capture.notes}))
        for data, capture in read
        if capture is not None
    ]


def _read_before() -> list[bytes]:
    """Any bytes; the undamaged inputs are read now, on nobody's account."""
    for kind in mutate.DAMAGE:
        _undamaged(kind)
    return [b"0"]


def _fuzz_damage(data: bytes) -> None:
    """An input that the bytes choose, damaged: no other row without a note.

    Only where a digit or a letter is changed may a row have another number or name: that which is printed.
    """
    chance = random.Random(data)
    kind = chance.choice(list(mutate.DAMAGE))
    given, whole = chance.choice(_undamaged(kind))
    alterations = () if kind == "sa" else mutate.ALTERATIONS
    if kind == "xml":  # which has a number on a line
        alterations = (*alterations, mutate.swap_lines)
    change = chance.choice((*mutate.DAMAGE[kind], *alterations))
    capture = _read(change(given, chance, ()))
    if capture is not None:
        check_no_other_rows(whole, capture, is_altered=change in alterations)


_NUMBERED = {
    "source",
    "cpu",
    "interrupt",
    "tty",
    "clock",
    "kind",
    "scope",
    "resource",
    "stamp",
    "policy",
    "message",
}
_STATED = ("process", "user", "table", "job", "device", "mountpoint", "group")


def _names_in(capture: Capture) -> set[str]:
    """The words of which a capture makes the names of hosts, devices, mounts, processes, people, …"""
    found = {*capture.hosts}
    for frame in capture.tables.values():
        for column in {*frame.columns} - _NUMBERED:
            if frame[column].dtype.kind not in "fiubmM":
                found |= {*frame[column].dropna().astype(str)}
    for device in capture.topology:
        found |= {device.name, *device.aliases, *device.members, *device.mountpoints}
    for fact in capture.evidence:
        found |= {str(fact.values[key]) for key in _STATED if key in fact.values}
    words = {word for name in found for word in re.findall(r"[A-Za-z][\w-]+", name)}
    return words - {"all", "lo", "nan", "None"}


def _said(report: Report) -> str:
    """A report in every format that holds text, in small letters."""
    page = as_html.render(report, with_charts=False)
    texts = (report.to_json(), report.to_markdown(full=True), report.to_ticket(), report.to_sarif(), page)
    return "".join(texts).lower()


def _judged(report: Report) -> list[object]:
    """What a report says of whatever it calls the things."""
    return [
        report.verdict and report.verdict.state,
        *((f.rule, f.severity, f.samples) for f in report.findings),
    ]


def _fuzz_names(data: bytes) -> None:
    """A text that the bytes choose, its names replaced by words of letters, lines of it lost: none leaks."""
    chance = random.Random(data)
    text, _ = chance.choice(_undamaged("text"))
    undamaged = _read(text)
    assert undamaged is not None
    # without a d: what begins with sd, hd or vd is judged as such a disk, under its pseudonym as well
    new = {name: "".join(chance.choices("bcfghjklmnpqrstvwxz", k=8)) for name in sorted(_names_in(undamaged))}
    pattern = "|".join(rf"(?<![\w-]){re.escape(name)}(?![\w-])" for name in new) or "(?!)"
    renamed = re.sub(pattern, lambda found: new[found[0]], text.decode("utf-8", "replace")).encode()
    capture = _read(chance.choice(mutate.DAMAGE["text"])(renamed, chance, ()))
    if capture is None:
        return
    report = iodiag.analyze(capture)
    direct = iodiag.analyze(capture, names=iodiag.Pseudonyms())
    assert _judged(direct) == _judged(report)
    again = iodiag.anonymized(from_json(report.to_json().encode()))
    (hidden,) = anonymous_captures([capture], iodiag.Pseudonyms())
    tables = "".join(frame.to_csv() for frame in (*hidden.tables.values(), *hidden.averages.values()))
    for said in (_said(direct), _said(again), tables.lower()):
        assert not [word for word in new.values() if word in said], new


def fuzz_one(family: str, data: bytes) -> None:
    """Run one input through a family of readers; raises what is wrong."""
    FAMILIES[family].run(data)


def _files(*folders: str, most: int = 12_000) -> list[bytes]:
    """Samples of some folders, long ones cut."""
    found = []
    for folder in folders:
        for path in sorted((SAMPLES / folder).rglob("*")):
            if path.is_file() and path.suffix != ".toml":
                found.append(path.read_bytes()[:most])
    return found


def _contexts() -> list[bytes]:
    names = sorted(path.name for path in SAMPLES.iterdir() if path.is_dir())
    return _files(*(name for name in names if name not in (*_TABLES, *_FILES)))


def sa_files() -> list[bytes]:
    """A small file of each generation of sadc's format, byte order and width of long."""
    generations = {
        0x2170: [w.CPU_OLDEST, w.DISK_OLDEST, w.MEMORY_OLDEST],
        0x2171: [w.CPU_OLD, w.DISK_OLD, w.NET_OLD, w.QUEUE_OLD],
        0x2173: [w.CPU_OLD, w.DISK_OLD, w.NET_OLD, w.QUEUE_OLD],
        0x2175: [
            w.CPU,
            w.DISK,
            w.NET,
            w.MEMORY,
            w.FILESYSTEM,
            w.SOFTNET,
            w.PRESSURE_IO,
            w.BATTERY,
            w.FOREIGN,
        ],
    }
    files = []
    for magic, layouts in generations.items():
        for order, long_bytes in (("<", 8), (">", 4)):
            items = {
                layout.id: [item(layout, **({"name": b"a"} if "name" in layout.names else {}))]
                * layout.subitems
                for layout in layouts
            }
            records = [record(n, items) for n in range(3)]
            files.append(w.SaFile(layouts, records, magic, order, long_bytes).write())
    return files


def _archives() -> list[bytes]:
    tree = {
        "a/iostat.txt": collections.sample("seeds/util-ladder.txt")[:400],
        "a/proc/mdstat": b"Personalities : \nunused devices: <none>\n",
        "a/hostname": b"db1\n",
        "sys/block/sda/queue/rotational": b"1\n",
    }
    inner = {"in.tar": collections.tar(tree), "in.zip": collections.zipped(tree), "x" * 120: b"1\n"}
    found = [collections.tar(tree, kind, form=form) for kind in ("", "gz", "bz2", "xz") for form in (0, 1, 2)]
    found += [collections.zipped(tree, method, pipe) for method in (0, 8, 12) for pipe in (False, True)]
    found += [
        collections.tar(inner),
        collections.zipped(inner),
        collections.tar(tree, links={"a/l": "../../x"}),
    ]
    return [
        *found,
        collections.tar(
            {
                f"scc_h_261120_1400/{name.rpartition('/')[2]}": body[:900]
                for name, body in collections.supportconfig().items()
            }
        ),
    ]


def _columns() -> list[bytes]:
    rows = b"sda 1.50 2 3.25 4.00\nsdb 4 5.5 6 7.00\n"
    headers = (
        b"Device: tps kB_read/s kB_wrtn/s kB_read",
        b"Device r/s w/s await %util",
        b"r b swpd free buff",
    )
    return [header + b"\n" + rows for header in headers]


def _parted() -> list[bytes]:
    texts = _files("seeds", "iostat", "vmstat", "sar", "pt-diskstats", "sadf-json", most=4000)
    cases = [
        b"\0PART\0".join(path.read_bytes()[:4000] for path in sorted(folder.glob("*.txt")))
        for folder in sorted((SAMPLES / "cases").iterdir())
    ]
    return [*texts, *cases]


FAMILIES = {
    "text": Family(_fuzz_reader, lambda: _files(*_TABLES, most=1500), mutate.TEXT, 2048, 0.1),
    "context": Family(_fuzz_reader, _contexts, mutate.TEXT, 3072, 0.25),
    "json": Family(_fuzz_reader, lambda: _files(*_JSON, most=8000), mutate.STRUCTURED, 8192, 0.03),
    "xml": Family(_fuzz_reader, lambda: _files("sadf-xml"), mutate.STRUCTURED, 8192, 0.015),
    "csv": Family(_fuzz_reader, lambda: _files(*_CSV, most=2000), mutate.TEXT, 3072, 0.025),
    "sa": Family(_fuzz_reader, sa_files, mutate.BINARY, 8192, 0.12),
    "archive": Family(_fuzz_archive, _archives, mutate.ARCHIVE, 16_384, 0.386),
    "columns": Family(_fuzz_columns, _columns, mutate.TEXT, 1024, 0.02),
    "analysis": Family(_fuzz_analysis, _parted, mutate.TEXT, 8192, 0.002),
    "damage": Family(_fuzz_damage, _read_before, (mutate.draw,), 32, 0.05),
    "names": Family(_fuzz_names, _read_before, (mutate.draw,), 32, 0.002),
}
