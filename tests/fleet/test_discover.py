"""Whose an input is and of which day: by its own words, then its report's, then its place."""

from __future__ import annotations

import io
import json
import os
import shutil
import tarfile
from pathlib import Path
from urllib.parse import unquote

import pandas as pd
import pytest

from fleet.conftest import run_here
from iodiag.fleet.discover import days_of, inputs_of, scan
from iodiag.fleet.plan import Job, Options, plan
from iodiag.fleet.store import folder_name
from writers.fleet_writer import ROLES, sa_day, write_context

RESERVED = ("con", "CON", "NUL", "prn", "Aux", "com1", "LPT9", "nul.txt")
VMSTAT = """\
procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----
 r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st
 1  0      0 812345  12345 234567    0    0     5    10  100  200  3  1 95  1  0
 1  0      0 812300  12345 234567    0    0     6    20  120  210  4  1 94  1  0
 2  0      0 812200  12345 234567    0    0     7    30  130  220  5  1 93  1  0
"""
SAR = """\
Linux 5.14.0 ({host}) \t03/02/2026 \t_x86_64_\t(4 CPU)

11:30:01 PM       DEV       tps     rkB/s     wkB/s     dkB/s   areq-sz    aqu-sz     await     %util
11:40:01 PM       sda     10.00    100.00     20.00      0.00     12.00      0.10      1.00      1.00
12:00:01 AM       sda     12.00    100.00     20.00      0.00     10.00      0.10      1.00      1.00
12:10:01 AM       sda     13.00    100.00     20.00      0.00      9.23      0.10      1.00      1.00
Average:          sda     11.67    100.00     20.00      0.00     10.41      0.10      1.00      1.00
"""


def put(folder: Path, files: dict[str, str | bytes]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def jobs_of(folder: Path) -> dict[tuple[str, str], Job]:
    planned = plan([scan(item) for item in inputs_of([str(folder)])[0]], Options())
    return {(job.host, job.day): job for job in planned.jobs}


def read_by(job: Job) -> set[str]:
    return {Path(reading.name).name for reading in job.readings}


LSBLK = 'NAME="sda" KNAME="sda" PKNAME="" MAJ:MIN="8:0" TYPE="disk" ROTA="1"\n'


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        pytest.param(
            {"x/sar.txt": SAR.format(host="web1"), "x/lsblk": LSBLK},
            {("web1", "2026-03-02"): {"sar.txt", "lsblk"}, ("web1", "2026-03-03"): {"sar.txt", "lsblk"}},
            id="one input of two days; context of the folder goes to both",
        ),
        pytest.param(
            {"two.txt": SAR.format(host="a") + "\n" + SAR.format(host="b")},
            {(host, f"2026-03-0{day}"): {"two.txt"} for host in "ab" for day in (2, 3)},
            id="one input of two hosts",
        ),
        pytest.param(
            {"a/sar": SAR.format(host="a"), "b/sar": SAR.format(host="b"), "b/more/lsblk": LSBLK},
            {
                **{("a", f"2026-03-0{day}"): {"sar"} for day in (2, 3)},
                **{("b", f"2026-03-0{day}"): {"sar", "lsblk"} for day in (2, 3)},
            },
            id="context goes to the host above it",
        ),
        pytest.param(
            {"a/sar": SAR.format(host="a"), "b/sar": SAR.format(host="b"), "lsblk": LSBLK},
            {(host, f"2026-03-0{day}"): {"sar"} for host in "ab" for day in (2, 3)},
            id="context above several hosts is of none",
        ),
        pytest.param(
            {"x/sar": SAR.format(host="a"), "x/more/sar": SAR.format(host="b"), "x/lsblk": LSBLK},
            {
                **{("a", f"2026-03-0{day}"): {"sar", "lsblk"} for day in (2, 3)},
                **{("b", f"2026-03-0{day}"): {"sar"} for day in (2, 3)},
            },
            id="captures right in the folder count before those below",
        ),
        pytest.param(
            {"db7/vmstat.txt": VMSTAT, "db7/lsblk": LSBLK, "db8/data/vmstat.txt": VMSTAT},
            {("db7", "undated"): {"vmstat.txt", "lsblk"}},
            id="without a name the folder's; the same samples again are a copy",
        ),
        pytest.param(
            {"a/sar": SAR.format(host="a"), "b/vmstat.txt": VMSTAT},
            {("a", "2026-03-02"): {"sar"}, ("a", "2026-03-03"): {"sar"}, ("b", "undated"): {"vmstat.txt"}},
            id="samples without a name are not the neighbour's",
        ),
    ],
)
def test_inputs_are_grouped_by_host_and_day(tmp_path, files, expected):
    found = jobs_of(put(tmp_path / "in", files))
    assert {pair: read_by(job) for pair, job in found.items()} == expected


def test_a_day_has_the_rows_whose_middle_lies_in_it(tmp_path):
    folder = put(tmp_path / "in", {"x/sar.txt": SAR.format(host="web1")})
    run_here(folder, tmp_path / "out")
    disk = pd.read_parquet(tmp_path / "out" / "tables" / "disk")
    assert disk.groupby("day", observed=True)["ios_per_s"].apply(list).to_dict() == {
        "2026-03-02": [10.0, 12.0],
        "2026-03-03": [13.0],
    }
    assert set(disk["zone"]) == {""}


def test_the_days_of_an_sa_file_are_those_of_its_hosts_clock():
    frame = pd.DataFrame(
        {
            "time": pd.to_datetime(
                ["2026-03-01T23:10Z", "2026-03-02T22:00Z", "2026-03-02T22:20Z", None], utc=True
            ),
            "interval_s": [600.0, 600.0, float("nan"), 600.0],
        }
    )
    assert days_of(frame, 2 * 3600).tolist() == ["2026-03-02", "2026-03-02", "2026-03-03", "undated"]


def test_a_sosreport_of_several_days_is_opened_whole(tmp_path):
    role = ROLES[0]
    whole = io.BytesIO()
    context = tmp_path / "context"
    context.mkdir()
    write_context(context, role, is_degraded=False)
    with tarfile.open(fileobj=whole, mode="w:xz") as archive:
        for name, data in {
            "sosreport-db9/hostname": b"db9.example.com\n",
            "sosreport-db9/proc/mdstat": (context / "mdstat").read_bytes(),
            "sosreport-db9/var/log/sa/sa02": sa_day("db9.example.com", role, 0, ""),
            "sosreport-db9/var/log/sa/sa03": sa_day("db9.example.com", role, 1, "slow-member"),
        }.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    folder = put(tmp_path / "in", {"ticket.tar.xz": whole.getvalue()})
    found = jobs_of(folder)
    assert set(found) == {("db9.example.com", "2026-03-02"), ("db9.example.com", "2026-03-03")}
    assert [len(reading.parts) for job in found.values() for reading in job.readings] == [2, 2]
    outcome = run_here(folder, tmp_path / "out")
    assert (outcome.host_days, outcome.problems) == (2, ())
    findings = pd.read_parquet(tmp_path / "out" / "findings.parquet")
    slow = findings[findings["rule"] == "slow-member"]
    assert slow["day"].tolist() == ["2026-03-03"]
    report = json.loads((tmp_path / "out/reports/db9.example.com/2026-03-03.json").read_text())
    assert report["generated"] == "2026-03-03T23:59:59Z"
    kinds = {source["format"] for source in report["sources"]}
    assert {"sa", "mdstat"} <= kinds


def test_an_input_whose_name_is_in_no_encoding_is_read(tmp_path):
    given = tmp_path / "in" / "caf\udce9"
    given.mkdir(parents=True)
    (given / "iostat\udcff.txt").write_text(SAR.format(host="db1"))
    outcome = run_here(tmp_path / "in", tmp_path / "out")
    assert (outcome.host_days, outcome.problems) == (2, ())
    (name,) = pd.read_parquet(tmp_path / "out" / "manifest.parquet")["input"]
    assert name.endswith("/caf\\udce9/iostat\\udcff.txt")


def test_what_is_no_file_is_no_input_of_a_fleet(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    items, problems = inputs_of(["/dev/zero", str(tmp_path / "pipe")])
    assert items == []
    said = "is no file; give files and directories, which can be read again"
    assert [str(one) for one in problems] == [f"/dev/zero: {said}", f"{tmp_path}/pipe: {said}"]


def test_an_input_that_is_too_large_is_refused_at_the_limit(tmp_path, monkeypatch):
    monkeypatch.setenv("IODIAG_LIMITS", "streamed=1M")
    (tmp_path / "large.txt").write_bytes(bytes((1 << 20) + 1))
    ((item,), _) = inputs_of([str(tmp_path / "large.txt")])
    (said,) = scan(item).failures
    assert said.endswith("holds more than 1 MiB; split it (IODIAG_LIMITS=streamed=… raises this limit)")


def test_a_copy_of_an_input_is_read_once(tmp_path):
    data = sa_day("mail1", ROLES[2], 0, "")
    folder = put(tmp_path / "in", {"a/sa02": data, "b/sa20260302": data})
    run_here(folder, tmp_path / "out")
    manifest = pd.read_parquet(tmp_path / "out" / "manifest.parquet").sort_values("input")
    assert manifest["status"].tolist() == ["read", "duplicate"]
    assert manifest["reason"].tolist() == ["", f"holds the same samples as {folder}/a/sa02"]
    shutil.rmtree(tmp_path / "out")


@pytest.mark.parametrize(
    "name", ["..", ".", "", "a/b", "c:\\d", ".hidden", "x" * 400, "é\n", "%2E", *RESERVED]
)
def test_a_hosts_name_never_leads_out_of_its_folder(name):
    folder = folder_name(name)
    assert folder not in ("", ".", "..")
    assert not folder.startswith(".")
    assert not set(folder) & set("/\\\n:")
    assert len(folder) <= 200
    assert folder_name(name + "x") != folder
    assert folder.partition(".")[0].lower() not in {word.lower() for word in RESERVED}
    assert not folder.endswith((".", " "))
    assert unquote(folder) == name or len(folder) > 150 or not name


def test_hosts_whose_names_differ_in_case_have_folders_of_their_own_everywhere():
    names = ["host", "Host", "HOST", "h%4fst", "h%4Fst"]
    assert len({folder_name(name).lower() for name in names}) == len(names)


@pytest.mark.parametrize("secret", ["", "k"])
def test_hosts_whose_names_differ_in_case_keep_their_host_days(tmp_path, secret):
    given = put(
        tmp_path / "in", {f"{at}.txt": SAR.format(host=host) for at, host in enumerate(("DB1", "db1"))}
    )
    once = run_here(given, tmp_path / "once", secret=secret)
    assert (once.host_days, once.problems) == (4, ())
    manifest = pd.read_parquet(tmp_path / "once" / "manifest.parquet")
    assert manifest["host"].nunique() == len(manifest) == 2
    # one after the other: the second run replaces nothing of the first
    for name in ("0.txt", "1.txt"):
        count = run_here([str(given / name)], tmp_path / "apart", secret=secret).host_days
    assert count == 4


def test_hosts_that_share_a_name_but_not_their_disks_are_jobs_of_their_own(tmp_path):
    flash = LSBLK.replace('ROTA="1"', 'ROTA="0"')
    text = SAR.format(host="node")
    alike = jobs_of(put(tmp_path / "alike", {"x/sar": text, "x/lsblk": LSBLK, "y/lsblk": LSBLK}))
    assert {host for host, _ in alike} == {"node"}
    other = text.replace("\nAverage", "\n\nAverage") + "\n"
    files = {"x/sar": text, "x/lsblk": LSBLK, "y/sar": other, "y/lsblk": flash}
    jobs = jobs_of(put(tmp_path / "apart", files))
    assert {host for host, _ in jobs} == {"node (x)", "node (y)"}
    assert all(job.named == "node" and read_by(job) == {"sar", "lsblk"} for job in jobs.values())
