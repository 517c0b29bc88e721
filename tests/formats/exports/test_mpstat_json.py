from __future__ import annotations

import io
import json

import pytest

import iodiag
from sample_files import SAMPLES

TEXT = (SAMPLES / "mpstat-json/12.6.1-P-ALL.json").read_text()


def read(text: str):
    return iodiag.read(io.BytesIO(text.encode()), name="mpstat.json")


def test_every_cpu_of_every_report_is_a_sample():
    capture = read(TEXT)
    (section,) = capture.sections
    assert (section.format, section.host, section.cpus, section.reports) == ("mpstat-json", "labhost", 2, 3)
    rows = capture.tables["cpu"]
    assert rows["cpu"].tolist() == ["all", "0", "1"] * 3
    assert set(rows["interval_s"]) == {1.0}
    assert not rows["since_boot"].any()
    assert rows["time"].dt.strftime("%F %T").unique()[0] == "2026-11-23 17:07:57"
    printed = [
        row for report in json.loads(TEXT)["sysstat"]["hosts"][0]["statistics"] for row in report["cpu-load"]
    ]
    for row, cells in zip(rows.itertuples(), printed, strict=True):
        assert row.iowait_pct == cells["iowait"]
        assert row.system_pct == pytest.approx(cells["sys"] + cells["irq"] + cells["soft"])
        assert row.user_pct == pytest.approx(cells["usr"] + cells["guest"])
        assert TEXT.split("\n")[row.line - 1].strip().startswith(f'{{"cpu": "{cells["cpu"]}"')


def test_a_report_alone_is_taken_as_since_boot_with_a_note():
    first = TEXT.index("{", TEXT.index('"statistics"'))
    second = TEXT.index('{\n\t\t\t\t\t"timestamp"', first + 1)
    end = TEXT.rindex("\t\t\t]\n\t\t}")
    capture = read(TEXT[:second].rstrip().rstrip(",") + "\n" + TEXT[end:])
    assert capture.tables["cpu"]["since_boot"].all()
    assert [note for note in capture.notes if "since boot" in note.reason]
    told = read("$ mpstat -P ALL -o JSON 1 1\n" + TEXT[:second].rstrip().rstrip(",") + "\n" + TEXT[end:])
    assert not told.tables["cpu"]["since_boot"].any()
    assert set(told.tables["cpu"]["interval_s"]) == {1.0}


def test_nodes_and_interrupts_are_passed_over():
    other = '"sum-interrupts": [\n{"cpu": "all", "intr": 812.00}\n],\n"cpu-load": ['
    assert (
        read(TEXT.replace('"cpu-load": [', other))
        .tables["cpu"]
        .equals(read(TEXT.replace('"cpu-load": [', '"sum-interrupts": [\n\n],\n"cpu-load": [')).tables["cpu"])
    )


def test_a_lost_line_never_changes_rows_without_a_note():
    lines = TEXT.split("\n")
    whole = read(TEXT).tables["cpu"].drop(columns="line")
    silent = []
    for line, text in enumerate(lines):
        try:
            capture = read("\n".join(lines[:line] + lines[line + 1 :]))
        except iodiag.IodiagError:
            continue
        if not capture.unparsed and not capture.tables["cpu"].drop(columns="line").equals(whole):
            silent.append(text.strip())
    # without the date of the host no sample has a day
    assert silent == ['"date": "11/23/26",']
