"""The library's functions take captures and paths alike."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

import iodiag

CASE = Path(__file__).parents[1] / "samples" / "cases" / "raid5-small-writes"
IOSTAT = CASE / "iostat.txt"


def said(report: iodiag.Report) -> tuple[object, ...]:
    return report.headline, report.findings, report.outcomes, report.sources


@pytest.mark.parametrize(
    "given",
    [
        str(IOSTAT),
        IOSTAT,
        [str(IOSTAT)],
        [IOSTAT],
        (path for path in [IOSTAT]),
        iodiag.read(IOSTAT),
        [iodiag.read(IOSTAT)],
    ],
    ids=["str", "Path", "list of str", "list of Path", "iterator", "Capture", "list of Capture"],
)
def test_captures_and_paths_are_analyzed_alike(given):
    assert said(iodiag.analyze(given)) == said(iodiag.analyze(iodiag.read(IOSTAT)))


def test_paths_and_captures_may_stand_side_by_side():
    captures = [iodiag.read(CASE / f"{name}.txt") for name in ("iostat", "lsblk", "mdstat")]
    mixed = [captures[0], CASE / "lsblk.txt", str(CASE / "mdstat.txt")]
    assert said(iodiag.analyze(mixed)) == said(iodiag.analyze(captures))


def test_compare_takes_paths():
    other = CASE.parent / "raid10-small-writes"
    by_path = iodiag.compare(CASE, str(other))
    assert said(by_path) == said(iodiag.compare(iodiag.read(CASE), iodiag.read(other)))
    assert by_path.comparison is not None


def test_a_path_where_nothing_lies_is_an_error_of_iodiag():
    with pytest.raises(iodiag.SourceError, match="nowhere"):
        iodiag.analyze(["nowhere.txt"])


@pytest.mark.parametrize(
    "call",
    [
        lambda: iodiag.analyze(IOSTAT, cpus=-1),
        lambda: iodiag.analyze(IOSTAT, interval=0),
        lambda: iodiag.analyze([]),
        lambda: iodiag.compare([], []),
        lambda: iodiag.read(IOSTAT, tables=["zz"]),
        lambda: iodiag.read(io.StringIO("x")),
        lambda: iodiag.read(None),
    ],
)
def test_what_a_caller_gives_wrongly_is_an_error_of_iodiag(call):
    with pytest.raises(iodiag.IodiagError, match=";"):
        call()
