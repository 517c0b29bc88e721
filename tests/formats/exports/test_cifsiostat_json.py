from __future__ import annotations

import io
import json

import pytest

import iodiag
from sample_files import SAMPLES

SHARES = (SAMPLES / "cifsiostat-json/shares.json").read_text()
DRIVES = (SAMPLES / "cifsiostat-json/tapestat.json").read_text()


def read(text: str):
    return iodiag.read(io.BytesIO(text.encode()), name="report.json")


def test_shares_are_samples():
    capture = read(SHARES)
    (section,) = capture.sections
    assert (section.format, section.layout, section.host) == ("cifsiostat-json", "cifsiostat", "fs1")
    rows = capture.tables["cifs_mounts"]
    assert rows["mount"].tolist() == [r"\\nas1\share", r"\\nas1\projects"] * 2
    assert rows["write_kb_per_s"].tolist() == [2048, 0, 1024, 0]
    assert rows["interval_s"].tolist()[2:] == [5, 5]
    assert rows["since_boot"].tolist() == [True, True, False, False]


def test_a_share_that_is_mounted_twice_loses_no_row():
    twice = json.loads(SHARES)
    for report in twice["sysstat"]["hosts"][0]["statistics"]:
        report["filesystem"].insert(1, report["filesystem"][0])
    capture = read(json.dumps(twice))
    assert len(capture.tables["cifs_mounts"]) == 6
    assert not capture.unparsed


def test_drives_read_as_their_text_does():
    text = iodiag.read(SAMPLES / "tapestat/two-drives.txt").tables["tapes"]
    rows = read(DRIVES).tables["tapes"]
    clocks = ["source", "line", "time", "interval_s", "host", "segment"]
    printed = [name for name in rows if name not in clocks]
    assert rows[printed].equals(text[printed])
    assert read(DRIVES.replace('"%', '"')).tables["tapes"][printed].equals(text[printed])


def test_the_list_s_name_and_the_order_of_keys_do_not_matter():
    reordered = json.loads(SHARES)
    for report in reordered["sysstat"]["hosts"][0]["statistics"]:
        report["filesystems"] = [dict(reversed(row.items())) for row in report.pop("filesystem")]
    rows = read(json.dumps(reordered)).tables["cifs_mounts"].drop(columns="line")
    expected = read(SHARES).tables["cifs_mounts"].drop(columns="line")
    assert rows[list(expected)].equals(expected)


@pytest.mark.parametrize(("text", "table"), [(SHARES, "cifs_mounts"), (DRIVES, "tapes")])
def test_a_lost_line_never_changes_rows_without_a_note(text, table):
    lines = text.split("\n")
    whole = read(text).tables[table].drop(columns="line")
    silent = []
    for line, lost in enumerate(lines):
        try:
            capture = read("\n".join(lines[:line] + lines[line + 1 :]))
        except iodiag.IodiagError:
            continue
        if not capture.unparsed and not capture.tables[table].drop(columns="line").equals(whole):
            silent.append(lost.strip()[:10])
    # the clocks have a date of their own; rows may be fewer in a report, as where a mount comes and goes
    assert not [lost for lost in silent if not lost.startswith(('{"fs_name', '{"tape_d'))]
