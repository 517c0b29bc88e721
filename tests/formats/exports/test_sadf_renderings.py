"""All renderings of one file by one release must give the same tables."""

from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from iodiag.model.capture import Ledger, ParseNote, SampleTable, Section, Source

SAMPLES = Path(__file__).parents[3] / "samples"
FORMATS = ("sadf-csv", "sadf-json", "sadf-xml", "sadf-pairs", "sadf-raw")
FILES = [path for name in FORMATS for path in sorted((SAMPLES / name).iterdir()) if path.suffix != ".toml"]


def formats():
    return {
        name: import_module(f"iodiag.formats.exports.{name.replace('-', '_')}").FORMAT for name in FORMATS
    }


def items(path: Path) -> list:
    return list(formats()[path.parent.name].read(Source(str(path), path.read_bytes())))


def tables(path: Path) -> dict[str, pd.DataFrame]:
    return {item.family: item.frame for item in items(path) if isinstance(item, SampleTable)}


@pytest.mark.parametrize(
    ("release", "format_id"),
    [
        ("10.0.5", "sadf-json"),
        ("12.7.7", "sadf-json"),
        ("9.1.7", "sadf-xml"),
        ("12.7.7", "sadf-xml"),
        ("9.1.7", "sadf-pairs"),
        ("12.7.7", "sadf-pairs"),
    ],
)
def test_equal_tables(release, format_id):
    (path,) = (
        path for path in FILES if path.parent.name == format_id and path.stem.startswith(f"{release}-")
    )
    wanted, found = tables(SAMPLES / "sadf-csv" / f"{release}-d.csv"), tables(path)
    assert set(found) == set(wanted)
    for family, frame in wanted.items():
        own = found[family]
        assert set(own.columns) == set(frame.columns)
        for name in frame.columns.difference(["source", "line", "time"]):
            if pd.api.types.is_numeric_dtype(frame[name]):
                assert np.allclose(own[name], frame[name], equal_nan=True), (family, name)
            else:
                assert own[name].astype(str).tolist() == frame[name].astype(str).tolist(), (family, name)
        # up to 10.0.1 the XML does not say that its times are UTC
        assert own["time"].dt.tz_localize(None).equals(frame["time"].dt.tz_localize(None))


def test_raw_counters_give_the_printed_rates():
    printed = tables(SAMPLES / "sadf-csv" / "12.7.7-d.csv")
    raw = tables(SAMPLES / "sadf-raw" / "12.7.7-r.txt")
    for family in ("disk", "io", "queue"):
        for name in printed[family].columns.difference(["source", "line", "time", "host", "device"]):
            if name in raw[family]:
                assert np.allclose(raw[family][name], printed[family][name], rtol=1e-3, atol=0.011), name
    # the release adds up the CPUs, the raw line is the kernel's own sum: a tick or two apart
    assert np.allclose(raw["cpu"]["user_pct"], printed["cpu"]["user_pct"], atol=1)
    assert raw["disk"]["time"].isna().all()


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_every_line_is_counted_and_nothing_is_unread(path):
    found = items(path)
    notes = [note for note in found if isinstance(note, ParseNote) and note.is_unread]
    (ledger,) = (item for item in found if isinstance(item, Ledger))
    assert not notes
    assert ledger.total == sum(1 for line in path.read_bytes().split(b"\n") if line.strip())
    assert ledger.counts["row"] >= 5
    assert [section.reports for section in found if isinstance(section, Section)] == [3, 2]


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_lines_hold_the_rows(path):
    text = path.read_text().split("\n")
    for frame in tables(path).values():
        for row in frame.itertuples():
            quote = text[row.line - 1]
            assert quote.strip()
            if "device" in frame:
                assert row.device in quote


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_one_format_owns_each_file(path):
    head = path.read_bytes()[:4096]
    assert [name for name, form in formats().items() if form.recognise(head)] == [path.parent.name]


@pytest.mark.parametrize("format_id", FORMATS)
def test_examples_are_recognised_and_read(format_id):
    form = formats()[format_id]
    example = form.example if isinstance(form.example, bytes) else form.example.encode()
    assert form.recognise(example)
    assert any(isinstance(item, SampleTable) for item in form.read(Source("example", example)))
