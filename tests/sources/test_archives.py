from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
from pathlib import Path

import pytest
import zstandard

import iodiag
from command_line import program
from iodiag.api import join
from iodiag.errors import SourceError, UnknownFormat
from iodiag.model.capture import Capture
from iodiag.sources import archives
from iodiag.sources.limits import InputLimits
from writers.captures import iostat
from writers.reports import (
    below,
    busy_iostat,
    sa_day,
    sample,
    sar_day,
    some_vmstat,
    sosreport,
    supportconfig,
    tar,
    unpack,
    zipped,
)

COMPRESS = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": lambda data: zstandard.ZstdCompressor().compress(data),
}
TWO = {"case/iostat.txt": busy_iostat("web1"), "case/lsblk.txt": sample("lsblk/lvm-raid5-tree.txt")}


def put(folder: Path, name: str, data: bytes) -> str:
    (folder / name).write_bytes(data)
    return str(folder / name)


def names_in(captures: list[Capture], top: str) -> set[str]:
    return {name.removeprefix(top) for capture in captures for name in capture.sources}


def read_all(*places: str) -> tuple[list[Capture], list[str]]:
    captures, problems = iodiag.read_many(places)
    return captures, [str(problem) for problem in problems]


@pytest.mark.parametrize("compression", COMPRESS)
@pytest.mark.parametrize(
    "packed", [tar(TWO), zipped(TWO), zipped(TWO, to_pipe=True)], ids=["tar", "zip", "pipe"]
)
def test_an_archive_is_read_in_place(tmp_path, packed, compression):
    path = put(tmp_path, "any name", COMPRESS[compression](packed))
    captures, problems = read_all(path)
    assert problems == []
    assert names_in(captures, path) == {":case/iostat.txt", ":case/lsblk.txt", ""}
    whole = iodiag.read(path)
    assert whole.disk is not None
    assert set(whole.disk["source"]) == {f"{path}:case/iostat.txt"}
    assert whole.topology.find("vg0-data")
    assert [p.name for p in tmp_path.iterdir()] == ["any name"], "nothing is unpacked to disk"


def test_an_archive_comes_through_a_pipe_or_an_open_file():
    done = program("inspect", "-", stdin=tar(TWO, "xz"))
    assert b"(stdin):case/lsblk.txt" in done.stdout
    assert set(iodiag.read(io.BytesIO(zipped(TWO)), name="t.zip").sources) == {
        "t.zip:case/iostat.txt",
        "t.zip:case/lsblk.txt",
        "t.zip",
    }


def test_lines_are_quoted_from_the_member(tmp_path):
    capture = iodiag.read(put(tmp_path, "t.tar", tar(TWO)))
    assert capture.disk is not None
    row = capture.disk.iloc[-1]
    assert capture.sources[row["source"]].quote(row["line"]).split()[0] == row["device"]


@pytest.mark.parametrize("var_log", ["var/log/sa", "var/log/sysstat"], ids=["red hat", "ubuntu"])
@pytest.mark.parametrize("form", ["tar.xz", "directory", "zip of it"])
def test_a_sosreport_goes_in_whole(tmp_path, var_log, form):
    tree = sosreport("web1.example.com", var_log)
    if form == "directory":
        place = str(unpack(tree, tmp_path) / next(iter(tree)).partition("/")[0])
    elif form == "tar.xz":
        place = put(
            tmp_path, "sos.tar.xz", tar(tree, "xz", links={"top/sys/block/sda": "../../../etc/passwd"})
        )
    else:
        place = put(tmp_path, "case.zip", zipped({"customer/sos.tar.gz": tar(tree, "gz")}))
    captures, problems = read_all(place)
    assert problems == []
    top = next(iter(tree)).partition("/")[0]
    read = {name.partition(f"{top}/")[2] for name in names_in(captures, "")} - {""}
    assert read == {
        f"{var_log}/sa20",
        f"{var_log}/sar20",
        "hostname",
        "proc/diskstats",
        "proc/mdstat",
        "proc/meminfo",
        "proc/mounts",
        "proc/pressure/io",
        "sos_commands/block/lsblk",
        "sos_commands/block/lsblk_-D",
        "sos_commands/devicemapper/dmsetup_table",
        "sos_commands/lvm2/lvs_-a_-o_lv_tags_devices",
        "sys",
        "var/log/messages",
    }
    report = iodiag.analyze(captures)
    assert {summary.section.host for summary in report.sources} == {"web1.example.com"}
    assert {outcome.host for outcome in report.findings} <= {"web1.example.com"}
    (data,) = [
        device
        for device in join(captures).topologies["web1.example.com"]
        if "vg0-data" in (device.name, *device.aliases)
    ]
    assert (data.level, len(data.members)) == ("raid5", 4)


def test_values_of_sys_are_the_same_facts_as_their_dump(tmp_path):
    paths = [
        f"sys/block/sda/queue/{key}" for key in ("rotational", "scheduler", "nr_requests", "read_ahead_kb")
    ]
    values = dict(zip(paths, ("1", "none [mq-deadline] bfq", "256", "128"), strict=True))
    tree = {f"top/{path}": f"{value}\n".encode() for path, value in values.items()}
    tree |= {"top/sys/block/md0/md/chunk_size": b"65536\n", "top/sys/block/md0/md/level": b"raid5\n"}
    tree |= {"top/sys/block/md0/md/raid_disks": b"4\n", "top/sys/block/sda/queue/max_sectors_kb": b"1280\n"}
    dump = "".join(f"/{path.removeprefix('top/')}:{data.decode()}" for path, data in tree.items())
    packed = iodiag.read(put(tmp_path, "sos.tar", tar(tree)))
    dumped = iodiag.read(io.BytesIO(dump.encode()), name="dump.txt")

    def told(capture):
        return {d.name: {k: v for k, v in vars(d).items() if k != "provenance"} for d in capture.topology}

    assert told(packed) == told(dumped)
    assert [f.values for f in packed.evidence] == [f.values for f in dumped.evidence]
    origin = packed.topology.devices["sda"].provenance["rotational"]
    name, _, line = origin.partition(" ")[2].rpartition(":")
    assert packed.sources[name].quote(int(line)) == "/sys/block/sda/queue/rotational:1"


@pytest.mark.parametrize("form", ["archive", "directory"])
def test_a_supportconfigs_texts_are_read_output_by_output(tmp_path, form):
    tree = supportconfig("suse1")
    place = put(tmp_path, "scc.txz", tar(tree, "xz")) if form == "archive" else str(unpack(tree, tmp_path))
    captures, problems = read_all(place)
    assert problems == []
    report = iodiag.analyze(captures)
    assert {summary.section.host for summary in report.sources} == {"suse1"}
    formats = {summary.section.format for summary in report.sources}
    assert {"iostat", "vmstat", "lsblk", "lvs", "sysfs", "mdstat", "sa", "hostname"} <= formats
    assert not [name for name in names_in(captures, "") if "messages" in name]
    whole = iodiag.read(place)
    sda = whole.topology.find("sda")
    assert sda is not None
    assert (sda.scheduler, sda.rotational) == ("deadline", True)
    lines = whole.disk
    assert lines is not None
    disk = lines[lines["source"].astype(str).str.endswith("fs-diskio.txt")].iloc[-1]
    text = next(data for path, data in tree.items() if path.endswith("fs-diskio.txt")).decode().splitlines()
    assert text[disk["line"] - 1].split()[0] == disk["device"], "a line of the file as it was"
    cpu = whole.tables["cpu"]
    assert set(cpu[cpu["source"].astype(str).str.endswith("health-check.txt")]["interval_s"].dropna()) == {
        1.0
    }


@pytest.mark.parametrize("form", ["directory", "archive"])
def test_thirty_days_of_sa_files_are_one_capture(tmp_path, form):
    tree = {f"sa/sa{day + 1:02}": sa_day(day, disks=1, records=24) for day in range(30)}
    place = (
        str(unpack(tree, tmp_path) / "sa")
        if form == "directory"
        else put(tmp_path, "sa.tgz", tar(tree, "gz"))
    )
    captures, problems = read_all(place)
    assert problems == []
    report = iodiag.analyze(captures)
    (disk,) = report.devices
    assert disk.samples == 30 * 23


@pytest.mark.parametrize("with_zone", [False, True])
def test_the_same_days_as_sa_files_and_as_sar_text_count_once(tmp_path, with_zone):
    days = range(4)
    tree = {f"sa/sa{18 + day}": sa_day(day) for day in days}
    tree |= {f"sa/sar{18 + day}": sar_day(day) for day in days if day < 3}
    captures, _ = read_all(str(unpack(tree, tmp_path)))
    report = iodiag.analyze(captures, tz="Europe/Berlin" if with_zone else None)
    assert {device.samples for device in report.devices} == {4 * 144}, (
        "the day that has no sar text is there too"
    )


def test_sar_text_of_days_without_sa_files_is_kept_where_the_zone_is_known(tmp_path):
    tree = {"sa/sa18": sa_day(0), "sa/sar18": sar_day(0), "sa/sar20": sar_day(2)}
    captures, _ = read_all(str(unpack(tree, tmp_path)))
    report = iodiag.analyze(captures, tz="Europe/Berlin")
    assert {device.samples for device in report.devices} == {144 + 137}


def raid(level: str, host: str) -> dict[str, bytes]:
    """A host with four disks below an array, and the same small writes to it on either level."""
    shape = "level 5, 64k chunk, algorithm 2" if level == "raid5" else "64K chunks 2 near-copies"
    mdstat = (
        f"Personalities : [raid6] [raid5] [raid10]\nmd0 : active {level} sdd[3] sdc[2] sdb[1] sda[0]\n"
        f"      12567552 blocks super 1.2 {shape} [4/4] [UUUU]\n\nunused devices: <none>\n"
    )
    reads = 60 if level == "raid5" else 0
    leg = {"r/s": reads, "w/s": 60, "rkB/s": reads * 4, "wkB/s": 240, "w_await": 45, "aqu-sz": 5, "%util": 99}
    array = {"w/s": 120, "wkB/s": 480, "w_await": 130, "aqu-sz": 16, "%util": 100}
    samples = [
        {"md0": array} | dict.fromkeys(("sda", "sdb", "sdc", "sdd"), leg | {"r_await": 45 * bool(reads)})
    ] * 20
    return {
        "iostat.txt": iostat(samples).replace("(box)", f"({host})").encode(),
        "mdstat.txt": mdstat.encode(),
    }


@pytest.mark.parametrize("form", ["folders", "archives", "one archive", "texts"])
def test_two_hosts_in_one_call_are_kept_apart(tmp_path, form):
    hosts = {"one": raid("raid5", "one"), "two": raid("raid10", "two")}
    if form == "folders":
        for host, tree in hosts.items():
            unpack(below(host, tree), tmp_path)
        places = [str(tmp_path)]
    elif form == "archives":
        places = [put(tmp_path, f"{host}.tar.gz", tar(tree, "gz")) for host, tree in hosts.items()]
    elif form == "one archive":
        both = {path: data for host, tree in hosts.items() for path, data in below(host, tree).items()}
        places = [put(tmp_path, "both.zip", zipped(both))]
    else:
        text = b"\n".join(tree["iostat.txt"] + b"\n" + tree["mdstat.txt"] for tree in hosts.values())
        places = [put(tmp_path, "ticket.txt", text)]
    captures, problems = read_all(*places)
    assert problems == []
    report = iodiag.analyze(captures)
    assert {f.host for f in report.findings if f.rule == "raid-partial-stripe-write"} == {"one"}
    joined = join(captures)
    levels = {host: topology.devices["md0"].level for host, topology in joined.topologies.items()}
    assert levels == {"one": "raid5", "two": "raid10"}
    assert [summary.section.host for summary in report.sources if summary.section.format == "mdstat"] == [
        "one",
        "two",
    ]


def test_reports_of_two_hosts_have_their_own_devices_and_facts(tmp_path):
    places = [put(tmp_path, f"{host}.tar.xz", tar(sosreport(host), "xz")) for host in ("web1", "db1")]
    captures, problems = read_all(*places)
    assert problems == []
    report = iodiag.analyze(captures)
    sections = [summary.section for summary in report.sources]
    assert {s.host for s in sections} == {"web1", "db1"}
    assert all((s.host == "web1") == ("web1.tar" in s.source) for s in sections)
    assert sum(s.source.endswith("/lsblk") for s in sections) == 2, (
        "equal listings of two hosts are both read"
    )


def test_context_that_no_host_owns_is_named(tmp_path):
    unpack({"a/iostat.txt": busy_iostat("a"), "b/iostat.txt": busy_iostat("b")}, tmp_path)
    lsblk = put(tmp_path, "lsblk.txt", sample("lsblk/lvm-raid5-tree.txt"))
    captures, _ = read_all(str(tmp_path / "a"), str(tmp_path / "b"), lsblk)
    report = iodiag.analyze(captures)
    (summary,) = [s for s in report.sources if s.section.source == lsblk]
    assert summary.section.host is None
    assert "a, b" in summary.notes[0].reason


def test_samples_that_no_host_owns_are_looked_at_by_themselves(tmp_path):
    unpack({f"{host}/i.txt": busy_iostat(host, samples=4 + n) for n, host in enumerate(("a", "b"))}, tmp_path)
    unpack({"c/i.txt": busy_iostat(samples=9), "c/lsblk": sample("lsblk/lvm-raid5-tree.txt")}, tmp_path)
    report = iodiag.analyze(read_all(str(tmp_path))[0])
    assert sorted(device.samples for device in report.devices if device.name == "sda")[:2] == [4, 5]
    assert len([device for device in report.devices if device.name == "sda"]) == 3


def test_a_folders_other_captures_are_of_its_host(tmp_path):
    unpack(below("a", {"iostat.txt": busy_iostat("a"), "vmstat.txt": some_vmstat()}), tmp_path)
    unpack(below("b", {"iostat.txt": busy_iostat("b"), "vmstat.txt": some_vmstat(9)}), tmp_path)
    captures, _ = read_all(str(tmp_path))
    hosts = {
        str(f["source"].iloc[0]).split("/")[-2]: set(f["host"])
        for c in captures
        if (f := c.tables.get("cpu")) is not None
    }
    assert hosts == {"a": {"a"}, "b": {"b"}}


def test_the_same_file_is_read_once_with_a_note(tmp_path):
    first = put(tmp_path, "a.txt", busy_iostat("web1"))
    again = put(tmp_path, "b.txt.gz", gzip.compress(busy_iostat("web1")))
    captures, problems = read_all(first, again, first)
    assert problems == []
    assert [list(capture.sources) for capture in captures] == [[first]]
    assert any(note.reason.startswith(f"{again} holds the same bytes") for note in captures[0].notes)
    assert {d.samples for d in iodiag.analyze([iodiag.read(first), iodiag.read(again)]).devices} == {8}


@pytest.mark.parametrize("cut", [0.5, 0.9])
def test_of_an_archive_that_is_cut_off_what_is_whole_is_read(tmp_path, cut):
    tree = {f"iostat-{n}.txt": busy_iostat("web1", samples=20 + n) for n in range(8)}
    data = tar(tree, "gz")
    place = put(tmp_path, "t.tgz", data[: int(len(data) * cut)])
    captures, problems = read_all(place)
    (line,) = problems
    assert "cut off" in line
    assert place in line
    whole = [c for c in captures if c.disk is not None]
    assert 1 <= len(whole) <= 8
    assert sum(len(capture.disk) for capture in whole) < 4 * sum(21 + n for n in range(8))
    assert all(not capture.unparsed for capture in whole), "the half line at the cut is left out"
    done = program("analyze", place, "--format", "json")
    assert done.returncode == 0
    assert done.stderr.count(b"\n") == 1
    notes = [
        n["reason"] for s in json.loads(done.stdout)["sources"] for n in s["notes"] if s["name"] == place
    ]
    assert notes == [line.removeprefix(f"{place}: ")]
    assert program("analyze", place, "--strict").returncode == 3


def test_of_a_single_file_that_is_cut_off_whole_lines_are_read(tmp_path):
    data = gzip.compress(busy_iostat("web1", samples=300))
    place = put(tmp_path, "i.gz", data[: len(data) // 2])
    captures, problems = read_all(place)
    assert [not capture.unparsed for capture in captures] == [True]
    assert len(problems) == 1
    assert "the rest is lost" in problems[0]
    assert program("analyze", place, "--strict").returncode == 3


HOSTILE = {
    "/etc/cron.d/x": busy_iostat("a", samples=3),
    "../../../../tmp/climber.txt": busy_iostat("a", samples=4),
    "a/../b": busy_iostat("a", samples=5),
    "new\nline \x1b[31mred.txt": busy_iostat("a", samples=6),
    "C:\\windows\\x.txt": busy_iostat("a", samples=7),
    "‮evil": busy_iostat("a", samples=9),
    "long" * 2000: busy_iostat("a", samples=10),
}


@pytest.mark.parametrize("pack", [tar, zipped], ids=["tar", "zip"])
def test_hostile_names_are_only_names(tmp_path, pack):
    place = put(tmp_path, "x", pack(HOSTILE))
    before = sorted(Path("/tmp").iterdir())
    captures, problems = read_all(place)
    assert problems == []
    assert len([capture for capture in captures if capture.disk is not None]) == len(HOSTILE)
    assert all(name.isprintable() for capture in captures for name in capture.sources)
    assert sorted(Path("/tmp").iterdir()) == before or not (Path("/tmp") / "climber.txt").exists()
    done = program("analyze", place)
    assert done.returncode == 0
    assert b"\x1b[31m" not in done.stdout + done.stderr


def test_members_of_one_name_are_told_apart():
    first, second = (busy_iostat("web1", samples=n) for n in (3, 4))
    data = tar({"a.txt": first})[: 512 + len(first) + -len(first) % 512] + tar({"a.txt": second})
    capture = iodiag.read(io.BytesIO(data), name="t")
    assert {"t:a.txt", "t:a.txt#2"} <= set(capture.sources)
    assert capture.disk is not None
    for source, row in capture.disk.groupby(capture.disk["source"].astype(str)).last().iterrows():
        assert capture.sources[str(source)].quote(row["line"]).split()[0] == row["device"]


def nested(depth: int) -> bytes:
    data = tar(TWO)
    for level in range(1, depth):
        data = zipped({f"level{level}.tar": data}) if level % 2 else tar({f"level{level}.zip": data}, "gz")
    return data


def test_archives_in_archives_are_read_to_a_stated_depth(tmp_path):
    captures, problems = read_all(put(tmp_path, "x", nested(InputLimits().depth)))
    assert problems == []
    assert any(capture.disk is not None for capture in captures)
    captures, problems = read_all(put(tmp_path, "y", nested(InputLimits().depth + 1)))
    assert captures == []
    assert "inside 3 others" in problems[0]


BOMB = b"Linux 6.1.0 (web1) \t11/20/26 \t_x86_64_\t(2 CPU)\n\n" + busy_iostat(samples=2)


@pytest.mark.parametrize(
    ("limit", "tree", "word"),
    [
        ("members=3", {f"f{n}": b"x" for n in range(9)}, "more than 3 files"),
        ("member=1M", {"big": BOMB + b"\n" * (5 << 20)}, "more than 1 MiB"),
        ("kept=16k", {f"f{n}": BOMB * 9 for n in range(9)}, "more than"),
        ("streamed=1M", {"zeros": bytes(5 << 20)}, "unpacks to more than"),
    ],
)
@pytest.mark.parametrize("pack", ["tar", "zip"])
def test_limits_are_one_clear_line(tmp_path, monkeypatch, limit, tree, word, pack):
    monkeypatch.setenv("IODIAG_LIMITS", limit)
    tree = {"a.txt": busy_iostat("web1"), **tree}
    # a zip that is written to a pipe must be unpacked to find the next member
    place = put(tmp_path, "x", tar(tree, "gz") if pack == "tar" else zipped(tree, to_pipe=True))
    captures, problems = read_all(place)
    assert any(word in problem for problem in problems), problems
    assert len(problems) == 1
    assert captures, "what came before the limit is kept"


def test_a_compressed_bomb_is_refused_before_it_is_unpacked(tmp_path, monkeypatch):
    monkeypatch.setenv("IODIAG_LIMITS", "unknown=2M")
    place = put(tmp_path, "bomb.gz", gzip.compress(bytes(9 << 20)))
    _, (problem,) = read_all(place)
    assert "unpacks to more than 2 MiB" in problem
    inside = put(
        tmp_path, "bomb.tar", tar({"bomb.gz": gzip.compress(bytes(9 << 20)), "i.txt": busy_iostat("a")})
    )
    captures, problems = read_all(inside)
    assert problems == []
    assert any("passed over" in note.reason for capture in captures for note in capture.notes)


def test_a_file_that_is_too_large_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("IODIAG_LIMITS", "input=1000")
    for name, data in (("a.txt", busy_iostat("a")), ("a.gz", gzip.compress(busy_iostat("a")))):
        with pytest.raises(SourceError, match="more than 1,000 bytes"):
            iodiag.read(put(tmp_path, name, data))


def test_large_files_are_judged_by_their_beginning(tmp_path, monkeypatch):
    monkeypatch.setattr(archives, "SMALL_BYTES", 2000)
    monkeypatch.setattr(archives, "HEAD_BYTES", 2000)
    tree = {
        "late.log": b"nothing to see here\n" * 500 + busy_iostat("a"),
        "early.log": b"from the ticket:\n" + busy_iostat("a", samples=9),
        "utf16.log": busy_iostat("a", samples=7).decode().encode("utf-16"),
        "image.bin": bytes(range(256)) * 40,
    }
    captures, problems = read_all(str(unpack(tree, tmp_path)))
    assert problems == []
    assert sorted(len(c.disk) for c in captures if c.disk is not None) == [8 * 4, 10 * 4]
    (note,) = [note for capture in captures for note in capture.notes]
    assert "late.log" in note.reason
    assert "image.bin" in note.reason


@pytest.mark.parametrize("pack", [tar, zipped], ids=["tar", "zip"])
def test_an_archive_without_any_capture_is_one_line(tmp_path, pack):
    place = put(tmp_path, "x", pack({"notes.txt": b"call me back\n"}))
    with pytest.raises(UnknownFormat, match=r"no file in this (tar|zip) holds a capture"):
        iodiag.read(place)
    done = program("analyze", place)
    assert (done.returncode, done.stderr.count(b"\n")) == (3, 1)


def test_what_cannot_be_read_is_bounded(tmp_path):
    data = bytearray(zipped({f"f{n}": b"x" for n in range(50)} | {"i.txt": busy_iostat("a")}))
    at = 0
    for _ in range(50):
        at = data.index(b"PK\x03\x04", at)
        data[at + 6] |= 1
        at += 4
    _, problems = read_all(put(tmp_path, "x.zip", bytes(data)))
    assert len(problems) == archives.MAX_LOST + 1
    assert "is encrypted" in problems[0]
    assert "30 more files" in problems[-1]


def test_a_damaged_member_does_not_end_the_rest(tmp_path):
    tree = {
        "bad.gz": gzip.compress(busy_iostat("a"))[:60] + b"\xff" * 40,
        "cut.gz": gzip.compress(busy_iostat("a", samples=400))[:-400],
        "good.txt": busy_iostat("a"),
    }
    captures, problems = read_all(put(tmp_path, "x.tar", tar(tree)))
    assert len([c for c in captures if c.disk is not None]) == 2
    assert len(problems) == 2
    assert "x.tar:bad.gz: is damaged" in problems[0]
    assert "x.tar:cut.gz" in problems[1]


def test_a_directory_keeps_its_names_and_its_rights(tmp_path, monkeypatch):
    unpack({"b.txt": busy_iostat("a"), ".hidden": busy_iostat("a", samples=3)}, tmp_path)
    (tmp_path / "link.txt").symlink_to("b.txt")
    captures, _ = read_all(str(tmp_path))
    assert names_in(captures, "") == {f"{tmp_path}/b.txt"}
    monkeypatch.chdir(tmp_path)
    captures, _ = read_all(".")
    assert names_in(captures, "") == {"b.txt"}


def test_a_file_that_cannot_be_read_is_one_line(tmp_path, monkeypatch):
    unpack({"a.txt": busy_iostat("a"), "b.txt": busy_iostat("a")}, tmp_path)
    plain = Path.open

    def refuse(path, *arguments, **options):
        if path.name == "b.txt":
            raise PermissionError(13, "Permission denied")
        return plain(path, *arguments, **options)

    monkeypatch.setattr(Path, "open", refuse)
    _, (problem,) = read_all(str(tmp_path))
    assert problem.endswith("b.txt: cannot be read (Permission denied); check the rights")
    with pytest.raises(SourceError, match="Permission denied"):
        iodiag.read(tmp_path / "b.txt")
