import io

import pytest

import iodiag
from iodiag.formats.tables.cifsiostat import layout
from iodiag.model.columns import FAMILIES
from sample_files import SAMPLES

HEADER = "Filesystem rkB/s wkB/s rops/s wops/s fo/s fc/s fd/s"


def test_shares_of_both_reports_are_rows():
    capture = iodiag.read(SAMPLES / "cifsiostat/two-shares.txt")
    rows = capture.tables["cifs_mounts"]
    assert rows["mount"].tolist() == [r"\\nas1\share", r"\\nas1\projects"] * 2
    assert rows["since_boot"].tolist() == [True, True, False, False]
    third = rows.iloc[2]
    assert (third["write_kb_per_s"], third["writes_per_s"], third["deletes_per_s"]) == (1024, 32, 1)
    assert not capture.unparsed


def test_names_may_come_last_and_sizes_have_suffixes():
    rows = iodiag.read(SAMPLES / "cifsiostat/human-t.txt").tables["cifs_mounts"]
    assert rows["mount"].tolist() == [r"\\nas1\share", r"\\nas1\projects"] * 2
    assert rows["read_kb_per_s"].tolist() == pytest.approx([12.4, 2048] * 2)
    assert rows["interval_s"].tolist()[2:] == [5, 5]


def test_a_name_on_its_own_line_and_bytes():
    (row,) = iodiag.read(SAMPLES / "cifsiostat/9.1-h.txt").tables["cifs_mounts"].to_dict("records")
    assert row["mount"] == r"\\nas1.example.com\share-with-long-name"
    assert (row["read_kb_per_s"], row["write_kb_per_s"]) == (2.0, 0.5)


@pytest.mark.parametrize(("unit", "factor"), [("", 1 / 1024), ("k", 1), ("M", 1024), ("G", 1024**2)])
def test_units(unit, factor):
    found = layout(tuple(HEADER.replace("kB", f"{unit}B").split()))
    assert {column.factor for column in found.columns if column.is_size} == {factor}
    assert {column.column for column in found.columns} == {entry.name for entry in FAMILIES["cifs_mounts"]}


@pytest.mark.parametrize(
    "header",
    [
        "Filesystem 1K-blocks Used Available Use% Mounted on",
        "Filesystem: ops/s rops/s wops/s",
        f"{HEADER} new/s",
    ],
)
def test_other_headers_are_left_alone(header):
    assert layout(tuple(header.split())) is None


def test_a_mount_is_no_disk():
    capture = iodiag.read(io.BytesIO((SAMPLES / "cifsiostat/two-shares.txt").read_bytes()))
    assert set(capture.tables) == {"cifs_mounts"}


def test_what_the_tool_printed_of_known_counters():
    rows = iodiag.read(SAMPLES / "cifsiostat/12.6.1-h.txt").tables["cifs_mounts"].iloc[2:]
    assert rows["mount"].tolist() == [r"\\nas1\projects", r"\\nas1\share"]
    assert rows["read_kb_per_s"].tolist() == [16, 4096]
    assert rows["write_kb_per_s"].tolist() == [20 * 1024, 2048]
    assert rows[["reads_per_s", "opens_per_s", "deletes_per_s"]].to_numpy().tolist() == [
        [16, 4, 0],
        [64, 20, 2],
    ]
