"""Whole folders and archives of collectors: one host, and each burst's length, clock and first report."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pandas as pd
import pytest

from iodiag.api import analyze, join, read_many
from iodiag.model.capture import Capture
from writers.collectors import Host, exawatcher, oswatcher, pt_stalk

Files = Mapping[str, str]


def in_folder(files: Files, top: Path) -> Path:
    for path, text in files.items():
        place = top / "capture" / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    return top / "capture"


def in_tar(files: Files, top: Path) -> Path:
    """A tar.gz whose members are compressed one by one, as collectors do with the hours that are over."""
    with tarfile.open(top / "capture.tar.gz", "w:gz") as archive:
        for path, text in files.items():
            data = gzip.compress(text.encode())
            member = tarfile.TarInfo(f"{path}.gz")
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return top / "capture.tar.gz"


def in_zip(files: Files, top: Path) -> Path:
    with zipfile.ZipFile(top / "capture.zip", "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
    return top / "capture.zip"


Pack = Callable[[Files, Path], Path]
PACKS = pytest.mark.parametrize("pack", [in_folder, in_tar, in_zip])


def captured(files: Files, top: Path, pack: Pack = in_folder) -> Capture:
    captures, problems = read_many([pack(files, top)])
    assert not problems
    return join(captures)


@PACKS
def test_an_archive_of_oswatcher(tmp_path: Path, pack: Pack):
    host = Host()
    capture = captured(oswatcher(host, runs=40) | oswatcher(host, runs=40), tmp_path, pack)
    assert list(capture.hosts) == ["db1"]
    disk = capture.tables["disk"]
    assert set(disk["interval_s"]) == {1.0}
    assert not disk["since_boot"].any()
    swapping = capture.tables["swapping"]
    assert swapping["since_boot"].tolist() == [True, False, False] * 40
    assert set(swapping["interval_s"].dropna()) == {1.0}
    cpu = capture.tables["cpu"]
    assert set(cpu[cpu["source"].str.contains("mpstat")]["interval_s"]) == {1.0}


def test_the_nodes_of_a_cluster_are_told_by_the_names_of_their_files(tmp_path: Path):
    nodes = [oswatcher(Host(name=name, seed=seed), runs=20) for seed, name in enumerate(("rac-1", "rac-2"))]
    capture = captured(nodes[0] | nodes[1], tmp_path)
    assert sorted(capture.hosts) == ["rac-1", "rac-2"]
    disk = capture.tables["disk"]
    assert all(host in source for host, source in zip(disk["host"], disk["source"], strict=True))


@PACKS
def test_an_archive_of_exawatcher(tmp_path: Path, pack: Pack):
    capture = captured(exawatcher(Host(name="cel01.example.com")), tmp_path, pack)
    assert list(capture.hosts) == ["cel01.example.com"]
    disk = capture.tables["disk"]
    assert disk["since_boot"].tolist() == [True, True] + [False] * 118
    assert set(disk["interval_s"].dropna()) == {5.0}
    swapping = capture.tables["swapping"]
    assert swapping["since_boot"].tolist() == [True, False] * 12
    assert set(swapping["interval_s"].dropna()) == {5.0}


@PACKS
def test_a_folder_of_pt_stalk(tmp_path: Path, pack: Pack):
    files = pt_stalk(Host())
    place = pack(files, tmp_path)
    capture = join(read_many([place])[0])
    assert list(capture.hosts) == ["db1"]
    disk = capture.tables["disk"]
    own = disk[disk["source"].str.contains("-iostat(?:$|[.])", regex=True)]
    assert own["since_boot"].tolist() == [True, True] + [False] * 58
    assert set(own["interval_s"].dropna()) == {1.0}
    assert own["time"].iloc[0] == pd.Timestamp("2026-11-23 12:00:00")
    report = analyze([place])
    assert {device.name: device.samples for device in report.devices} == {"sda": 29, "dm-0": 29}
