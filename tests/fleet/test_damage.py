"""What a disk changed in a data set is noticed where it is read, said, and judged again."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path

import pytest

from fleet.conftest import Fleet, assert_same, everything, finish, run_here, start
from iodiag.errors import OutputError
from iodiag.fleet import store
from iodiag.fleet.output_files import Folder

FLIPS = int(os.environ.get("IODIAG_FLIPS", "6"))
"""At how many random places a bit is flipped: a few by default, 200 in the long run."""


def flipped(path: Path, place: int, bit: int = 0) -> None:
    """Change one bit of a file."""
    data = bytearray(path.read_bytes())
    data[place] ^= 1 << bit
    path.write_bytes(bytes(data))


def first(out: Path, pattern: str) -> Path:
    return sorted(path for path in out.glob(pattern) if path.is_file())[0]


@pytest.fixture
def data_set(fleet: Fleet, tmp_path: Path) -> Path:
    return Path(shutil.copytree(fleet.out, tmp_path / "out"))


@pytest.mark.parametrize("pattern", [".iodiag/days/*/*.json", ".iodiag/hours/*/*/*.parquet"])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.6, 0.999])
def test_what_a_run_reads_is_checked_and_judged_again(
    fleet: Fleet, data_set: Path, pattern: str, share: float
):
    path = first(data_set, pattern)
    flipped(path, int(path.stat().st_size * share))
    outcome = run_here(fleet.inputs, data_set)
    assert outcome.fresh == 1
    assert [line.partition(": ") for line in outcome.damaged] == [
        (str(path), ": ", "was damaged, or is not whole; its host-day is judged again")
    ]
    assert_same(data_set, fleet.out)


@pytest.mark.parametrize(
    "pattern", ["tables/*/*/*/*.parquet", "reports/*/*.json", "reports/*/*.html", ".iodiag/pages.json"]
)
def test_verify_checks_every_file(fleet: Fleet, data_set: Path, pattern: str):
    path = first(data_set, pattern)
    flipped(path, path.stat().st_size // 2)
    outcome = run_here(fleet.inputs, data_set, verify=True)
    # the list of pages is made anew from the pages themselves
    expected = [] if path.name == "pages.json" else [str(path)]
    assert [line.partition(": ")[0] for line in outcome.damaged] == expected
    assert_same(data_set, fleet.out)


@pytest.mark.parametrize(
    "pattern", [".iodiag/hours/*/*/*.parquet", "tables/*/*/*/*.parquet", "reports/*/*.json"]
)
def test_what_has_another_size_is_said_without_being_read(fleet: Fleet, data_set: Path, pattern: str):
    path = first(data_set, pattern)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    outcome = run_here(fleet.inputs, data_set)
    assert outcome.fresh == 1
    assert [line.partition(": ")[0] for line in outcome.damaged] == [str(path)]
    assert_same(data_set, fleet.out)


@pytest.mark.parametrize("pattern", [".iodiag/days/*/*.json", ".iodiag/pages.json", "reports/*/*.html"])
@pytest.mark.parametrize("content", [None, "[" * 100_000], ids=["device", "deep"])
def test_what_can_be_no_file_of_a_data_set_is_made_again(
    fleet: Fleet, data_set: Path, pattern: str, content: str | None
):
    path = first(data_set, pattern)
    path.unlink()
    if content is None:
        path.symlink_to("/dev/zero")
    else:
        path.write_text(content, encoding="utf-8")
    run_here(fleet.inputs, data_set, verify=True)
    assert_same(data_set, fleet.out)


def test_a_report_is_checked_when_its_page_is_made(fleet: Fleet, data_set: Path):
    page = first(data_set, "reports/*/*.html")
    page.unlink()
    flipped(page.with_suffix(".json"), 1000)
    outcome = run_here(fleet.inputs, data_set)
    assert [line.partition(": ")[0] for line in outcome.damaged] == [str(page.with_suffix(".json"))]
    assert_same(data_set, fleet.out)


def test_what_cannot_be_judged_again_is_named_and_left_as_it_is(fleet: Fleet, data_set: Path, tmp_path: Path):
    path = first(data_set, ".iodiag/days/*/*.json")
    own = {name for name in everything(data_set) if path.parent.name in name and path.stem in name}
    shutil.copytree(fleet.inputs, tmp_path / "in")
    gone = next(entry for entry in sorted((tmp_path / "in").rglob("*")) if path.parent.name in entry.name)
    shutil.rmtree(gone) if gone.is_dir() else gone.unlink()
    flipped(path, 100)
    outcome = run_here(tmp_path / "in", data_set)
    assert [line.partition(": ")[0] for line in outcome.damaged] == [str(path)]
    assert "the inputs of its host-day are not given" in outcome.damaged[0]
    assert {name for name in own if not name.endswith(".html")} <= set(everything(data_set))
    flipped(path, 100)
    assert run_here(fleet.inputs, data_set).damaged == ()
    assert_same(data_set, fleet.out)


def test_a_disk_that_damages_all_it_holds_ends_the_run(
    fleet: Fleet, data_set: Path, monkeypatch: pytest.MonkeyPatch
):
    real = Folder.read

    def read(self: Folder, path: str) -> bytes | None:
        data = real(self, path)
        return data and data[:-1] + b"?" if path.startswith(".iodiag/hours") else data

    monkeypatch.setattr(Folder, "read", read)
    with pytest.raises(OutputError, match=r"is damaged again; check the disk"):
        run_here(fleet.inputs, data_set)


def test_bits_at_random_places_change_nothing_in_the_end(fleet: Fleet, data_set: Path):
    """After each flip a run with --verify ends in the undisturbed bytes, and says what it redid."""
    chance = random.Random(20261123)
    undisturbed = everything(data_set)
    names = [name for name, data in undisturbed.items() if data]
    sizes = [len(undisturbed[name]) for name in names]
    for _ in range(FLIPS):
        (name,) = chance.choices(names, sizes if chance.random() < 0.5 else None)
        flipped(data_set / name, chance.randrange(len(undisturbed[name])), chance.randrange(8))
        outcome = run_here(fleet.inputs, data_set, verify=True)
        is_of_a_day = name.startswith(("tables/", "reports/", ".iodiag/days/", ".iodiag/hours/"))
        said = [line.partition(": ")[0] for line in outcome.damaged]
        assert said == ([str(data_set / name)] if is_of_a_day else []), name
        assert_same(data_set, fleet.out)


def test_the_command_says_what_was_damaged(fleet: Fleet, data_set: Path):
    path = first(data_set, "tables/disk/*/*/*.parquet")
    flipped(path, 50)
    status, said = finish(start(fleet.inputs, "-o", data_set, "--jobs", 1, "--verify"))
    assert status == 0
    assert f"iodiag: {path}: was damaged, or is not whole; its host-day is judged again\n" in said
    assert store.checksum(path.read_bytes()) == store.checksum(
        (fleet.out / path.relative_to(data_set)).read_bytes()
    )
