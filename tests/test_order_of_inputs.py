"""In which order inputs are given decides nothing: not on the command line, in a folder or in an archive."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import iodiag
from property_tests import examples
from sample_files import CASES, read

CASE_FILES = {
    case.name: sorted(p for p in case.iterdir() if p.is_file() and p.suffix != ".toml") for case in CASES
}


def report_of(captures: Sequence[Any]) -> dict[str, Any]:
    """A report without the moment it was made at."""
    return {**json.loads(iodiag.analyze(captures).to_json()), "generated": ""}


@pytest.mark.parametrize("case", CASE_FILES)
@examples(12, 2)
@given(data=st.data())
def test_the_files_of_a_case_in_any_order_make_one_report(case, data):
    files = CASE_FILES[case]
    shuffled = data.draw(st.permutations(files))
    assert report_of([read(path) for path in shuffled]) == report_of([read(path) for path in files])


@pytest.mark.parametrize("case", [case for case, files in CASE_FILES.items() if len(files) > 2][:3])
def test_a_folder_and_an_archive_in_any_order_say_the_same(case, tmp_path):
    files = CASE_FILES[case]
    said = []
    for number, ordered in enumerate((files, files[::-1])):
        archive = tmp_path / f"{number}" / "case.tar"
        archive.parent.mkdir()
        with tarfile.open(archive, "w") as out:
            for path in ordered:
                out.add(path, path.name)
        said.append(told(report_of([str(archive)])))
    assert said == [told(report_of([str(files[0].parent)]))] * 2


def told(report: dict[str, Any]) -> Any:
    """What a report says, without the addresses of its inputs."""
    outcomes = [{**outcome, "reason": "", "parts": ()} for outcome in report["outcomes"]]
    findings = [(one["rule"], one["severity"], one["confidence"]) for one in report["findings"]]
    return report["verdict"], report["headline"], findings, outcomes


def sar(await_ms: str) -> str:
    rows = [
        f"12:{minute:02}:01 AM sda 90.00 0.00 720.00 8.00 0.90 {await_ms} 10.00 90.00\n"
        for minute in range(10, 40)
    ]
    head = "12:00:01 AM DEV tps rd_sec/s wr_sec/s avgrq-sz avgqu-sz await svctm %util\n"
    return f"Linux 4.18.0 (db1) 11/20/2026 _x86_64_ (4 CPU)\n\n{head}{''.join(rows)}"


LSBLK = """NAME KNAME TYPE SIZE ROTA
sda sda disk 100G 1
└─vg-base-real dm-1 lvm 50G 1
  └─vg-base dm-0 lvm 50G 1
"""
LVS = """  LV   VG Attr       LSize  Type   #Str Devices
  base vg owi-a-s--- 50.00g linear    1 /dev/sda(0)
"""


def named(texts: dict[str, str | bytes]) -> list[Any]:
    return [
        iodiag.read(io.BytesIO(text.encode() if isinstance(text, str) else text), name=name)
        for name, text in texts.items()
    ]


@pytest.mark.parametrize(
    "texts",
    [
        pytest.param({"b.txt": sar("400.00"), "a.txt": sar("0.10")}, id="two recordings of the same minutes"),
        pytest.param(
            {"a-lvs.txt": LVS, "b-lsblk.txt": LSBLK, "sar.txt": sar("5.00")}, id="two listings of a stack"
        ),
    ],
)
def test_of_inputs_that_disagree_the_same_one_is_believed_in_any_order(texts):
    captures = named(texts)
    assert report_of(captures) == report_of(captures[::-1])


def test_of_two_listings_the_one_that_shows_the_nearer_layer_is_believed():
    joined = iodiag.api.join(named({"a-lvs.txt": LVS, "b-lsblk.txt": LSBLK}))
    assert joined.topology.devices["dm-0"].members == ("dm-1",)
