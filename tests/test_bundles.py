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
from sample_files import SAMPLES
from writers.collectors import (
    Host,
    azure_script,
    cbcollect,
    datastax,
    elastic,
    exawatcher,
    gitlabsos,
    mdiag,
    oswatcher,
    pt_stalk,
)
from writers.reports import sosreport, supportconfig

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
    assert set(cpu[cpu["source"].str.contains("mpstat")]["interval_s"].dropna()) == {1.0}
    # each top is started anew: a moment of no known length
    assert cpu[cpu["source"].str.contains("_top_")]["interval_s"].isna().all()


def test_the_nodes_of_a_cluster_are_told_by_the_names_of_their_files(tmp_path: Path):
    nodes = [oswatcher(Host(name=name, seed=seed), runs=20) for seed, name in enumerate(("rac-1", "rac-2"))]
    capture = captured(nodes[0] | nodes[1], tmp_path)
    assert sorted(capture.hosts) == ["rac-1", "rac-2"]
    disk = capture.tables["disk"]
    assert all(host in source for host, source in zip(disk["host"], disk["source"], strict=True))


def test_a_top_that_runs_on_below_one_date_keeps_its_own_times(tmp_path: Path):
    capture = captured(exawatcher(Host(name="cel01.example.com")), tmp_path)
    cpu = capture.tables["cpu"]
    top = cpu[cpu["source"].str.contains("_TopExaWatcher_")]
    disk = capture.tables["disk"]
    assert top["time"].tolist() == disk["time"].drop_duplicates().tolist()
    assert not any("before that of the row above" in note.reason for note in capture.notes)


@PACKS
def test_the_archive_of_azure_s_script(tmp_path: Path, pack: Pack):
    host = Host(name="vm01")
    capture = captured(azure_script(host), tmp_path, pack)
    assert list(capture.hosts) == ["vm01"]
    disk = capture.tables["disk"]
    assert disk["since_boot"].sum() == 2
    assert set(disk["interval_s"].dropna()) == {1.0}
    assert disk["time"].iloc[-1].to_pydatetime() == host.clock.replace(tzinfo=None)
    assert capture.tables["queue"]["interval_s"].tolist()[1:] == [1.0] * 59
    assert capture.tables["swapping"]["since_boot"].tolist() == [True] + [False] * 59
    assert any(device.mountpoints == ("/",) for device in capture.topology)


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
    queue = capture.tables["queue"]
    every_second = queue[queue["source"].str.contains("-vmstat(?:$|[.])", regex=True)]
    assert every_second["interval_s"].tolist()[1:] == [1.0] * 29, "as iostat's beside it"
    assert every_second["time"].tolist()[-1] == pd.Timestamp("2026-11-23 12:00:29")
    assert not set(queue["interval_s"].dropna()) - {1.0}, "nothing tells the length of the file of the whole"
    report = analyze([place])
    assert {device.name: device.samples for device in report.devices} == {"sda": 29, "dm-0": 29}


@PACKS
def test_an_archive_of_the_datastax_collector(tmp_path: Path, pack: Pack):
    nodes = [Host(name=name, seed=seed) for seed, name in enumerate(("cass1", "cass2"))]
    files = {
        f"nodes/10.0.0.{n}/{path}": text
        for n, node in enumerate(nodes, 1)
        for path, text in datastax(node).items()
    }
    capture = captured(files, tmp_path, pack)
    assert sorted(capture.hosts) == ["cass1", "cass2"]
    disk = capture.tables["disk"]
    assert not disk["since_boot"].any(), "iostat -y prints no average since boot"
    assert set(disk["interval_s"].dropna()) == {1.0}
    assert disk["time"].min() > pd.Timestamp("2026-11-23 12:00:00")


@PACKS
def test_an_archive_of_elastic_s_support_diagnostics(tmp_path: Path, pack: Pack):
    capture = captured(elastic(Host(name="es1")), tmp_path, pack)
    assert list(capture.hosts) == ["es1"]
    disk = capture.tables["disk"]
    assert disk["since_boot"].tolist() == [True, True] + [False] * 8
    assert set(disk["interval_s"].dropna()) == {1.0}
    assert disk["time"].iloc[0] == pd.Timestamp("2026-11-23 12:00:00")


@PACKS
def test_gitlabsos_s_files_are_known_by_their_names(tmp_path: Path, pack: Pack):
    capture = captured(gitlabsos(Host(name="git1.example.com")), tmp_path, pack)
    assert list(capture.hosts) == ["git1.example.com"]
    disk = capture.tables["disk"]
    assert disk["since_boot"].tolist() == [True, True] + [False] * 18
    assert set(disk["interval_s"].dropna()) == {1.0}
    swapping = capture.tables["swapping"]
    assert swapping["since_boot"].tolist() == [True, False, False]
    assert swapping["interval_s"].tolist()[1:] == [1.0, 1.0]
    assert {fact.kind for fact in capture.evidence} >= {"mounts"}


@PACKS
def test_mdiag_s_json_is_read_as_what_its_commands_printed(tmp_path: Path, pack: Pack):
    text = mdiag(Host(name="mongo1"))
    capture = captured({"mdiag-mongo1.json": text}, tmp_path, pack)
    assert list(capture.hosts) == ["mongo1"]
    disk = capture.tables["disk"]
    assert disk["since_boot"].tolist() == [True, True] + [False] * 8
    assert set(disk["interval_s"].dropna()) == {1.0}
    line = text.split("\n")[int(disk["line"].iloc[-1]) - 1]
    assert str(disk["device"].iloc[-1]) in line, "a line of the file as it was"
    sda = capture.topology.find("sda")
    assert sda is not None
    assert (sda.scheduler, sda.rotational, sda.model) == ("deadline", True, "ST4000NM0035-1V4107")
    (listing,) = [fact for fact in capture.evidence if fact.kind == "smartctl"]
    assert (dict(listing.values)["device"], dict(listing.values)["pending_sectors"]) == ("sda", 24)


@PACKS
def test_the_sections_of_cbcollect_info_say_how_long_samples_are(tmp_path: Path, pack: Pack):
    name = "cbcollect_info_ns_1@10.0.0.1_20261123-120000/couchbase.log"
    capture = captured({name: cbcollect(Host(name="cb1"))}, tmp_path, pack)
    assert list(capture.hosts) == ["cb1"]
    disk = capture.tables["disk"]
    assert disk["since_boot"].tolist() == [True, True] + [False] * 8
    assert set(disk["interval_s"].dropna()) == {1.0}
    sda = capture.topology.find("sda")
    assert sda is not None
    assert sda.rotational is True


def facts_of_disks(capture: Capture) -> dict[tuple[str, str], str | None]:
    found = {}
    for fact in capture.evidence:
        values = dict(fact.values)
        found[fact.kind, str(values.get("device", values.get("part", "")))] = fact.host
    return found


def without_command(name: str) -> bytes:
    data = (SAMPLES / name).read_bytes()
    return data[data.index(b"smartctl 7") :]


@PACKS
def test_what_disks_report_of_themselves_is_taken_from_a_sosreport(tmp_path: Path, pack: Pack):
    tree = {
        "ata/smartctl_-a_.dev.sdb": without_command("smartctl/ata-pending.txt"),
        "ata/smartctl_-a_.dev.sdc_-j": (SAMPLES / "smartctl/ata.json").read_bytes(),
        "nvme/nvme_list": (SAMPLES / "nvme-list/two.txt").read_bytes(),
        "nvme/nvme_smart-log_.dev.nvme0n1": (SAMPLES / "nvme-smart-log/hot.txt").read_bytes(),
        "nvme/smartctl_--all_.dev.nvme1n1": without_command("smartctl/nvme.txt"),
        "megacli/MegaCli64_LDPDInfo_-aALL": (SAMPLES / "raid-controller/megacli.txt").read_bytes(),
        "hpssm/ssacli_ctrl_all_show_status": (SAMPLES / "raid-controller/ssacli.txt").read_bytes(),
    }
    report = sosreport("web1")
    top = next(iter(report)).partition("/")[0]
    files = {path: data for path, data in report.items() if path.endswith(("/hostname", "lsblk"))}
    files |= {f"{top}/sos_commands/{path}": data for path, data in tree.items()}
    found = facts_of_disks(captured({path: data.decode() for path, data in files.items()}, tmp_path, pack))
    wanted = [
        ("smartctl", "sdb"),
        ("smartctl", "sdc"),
        ("smartctl", "nvme1n1"),
        ("nvme-smart-log", "nvme0n1"),
    ]
    wanted += [("raid-controller", "volume 0"), ("raid-controller", "sda"), ("nvme-list", "nvme1n1")]
    assert set(wanted) <= set(found)
    assert {found[one] for one in wanted} == {"web1"}


def test_what_disks_report_of_themselves_is_taken_from_a_supportconfig(tmp_path: Path):
    report = supportconfig("suse1")
    top = next(iter(report)).partition("/")[0]
    separator = (
        "#==[ Command ]======================================#\n# /usr/sbin/smartctl --all /dev/sd{}\n{}\n"
    )
    texts = [without_command(f"smartctl/{name}").decode() for name in ("sas_.dev.sda.txt", "ata-pending.txt")]
    files = {path: data.decode() for path, data in report.items() if "environment" in path}
    files[f"{top}/fs-smartmon.txt"] = "".join(map(separator.format, "ab", texts))
    found = facts_of_disks(captured(files, tmp_path))
    assert found == {("smartctl", "sda"): "suse1", ("smartctl", "sdb"): "suse1"}
