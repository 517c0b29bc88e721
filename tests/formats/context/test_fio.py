import json
import re

import pytest

from iodiag.formats.context.fio import FORMAT
from reading import blocks_of
from sample_files import SAMPLES

NORMAL = """\
randread: (g=0): rw=randread, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=libaio, iodepth=64
fio-3.33
Starting 1 process
Jobs: 1 (f=1): [r(1)][100.0%][r=11.7MiB/s][r=3004 IOPS][eta 00m:00s]

randread: (groupid=0, jobs=1): err= 0: pid=1234: Fri Nov 20 13:06:35 2026
  read: IOPS=12.5k, BW=11.7MiB/s (12.3MB/s)(529MiB/45016msec)
    slat (nsec): min=9830, max=28872k, avg=80408.63, stdev=360762.51
    clat (usec): min=1632, max=74877, avg=21189.79, stdev=4250.53
     lat (usec): min=3107, max=74888, avg=21270.20, stdev=4246.05
    clat percentiles (usec):
     |  1.00th=[ 7832],  5.00th=[15008], 10.00th=[17695], 20.00th=[19530],
     | 99.99th=[70779]
   bw (  KiB/s): min=10482, max=14235, per=100.00%, avg=12035.43, stdev=411.02, samples=89
   iops        : min= 2620, max= 3558, avg=3008.72, stdev=102.86, samples=89
  lat (msec)   : 2=0.01%, 4=0.13%, 10=1.43%, 20=23.00%, 50=75.26%
  cpu          : usr=6.65%, sys=33.87%, ctx=49837, majf=0, minf=75
  IO depths    : 1=0.1%, 2=0.1%, 4=0.1%, 8=0.1%, 16=0.1%, 32=0.1%, >=64=100.0%
     submit    : 0=0.0%, 4=100.0%, 8=0.0%, 16=0.0%, 32=0.0%, 64=0.0%, >=64=0.0%
     issued rwts: total=135311,0,0,0 short=0,0,0,0 dropped=0,0,0,0
     latency   : target=0, window=0, percentile=100.00%, depth=64

Run status group 0 (all jobs):
   READ: bw=11.7MiB/s (12.3MB/s), 11.7MiB/s-11.7MiB/s (12.3MB/s-12.3MB/s), io=529MiB (554MB), run=45016-45016msec

Disk stats (read/write):
  sda: ios=134609/0, merge=0/0, ticks=2688736/0, in_queue=2688736, util=99.61%
"""  # noqa: E501


def test_normal_output():
    (block,) = blocks_of(FORMAT, NORMAL + "root@x:~# iostat\n")
    assert block.used == NORMAL.count("\n")
    (fact,) = block.facts
    percentiles = [name for name in fact.values if re.match(r"p\d+_|max_", name)]
    assert {name: value for name, value in fact.values.items() if name not in percentiles} == {
        "job": "randread",
        "rw": "randread",
        "block_size_kb": 4,
        "iodepth": 64,
        "ioengine": "libaio",
        "jobs": 1,
        "direction": "read",
        "iops": 12500,
        "kb_per_s": pytest.approx(11.7 * 1024),
        "duration_s": 45.016,
        "latency_ms": pytest.approx(21.2702),
        "device": "sda",
    }
    said = "21.3 ms each (p50 at most 50 ms, p99 at most 50 ms) on sda"
    assert fact.text == f"fio randread (randread): read 12500 IOPS of 4 kB at depth 64, {said}"
    # 0.17 % of the requests took longer than all bins, by their sum
    assert "p999_ms" not in fact.values


def test_percentiles_are_those_that_fio_prints():
    (block,) = blocks_of(FORMAT, (SAMPLES / "fio/percentiles.txt").read_text())
    (fact,) = block.facts
    shown = {name: fact.values[name] for name in ("p50_ms", "p90_ms", "p99_ms", "p999_ms")}
    assert shown == {"p50_ms": 0.047, "p90_ms": 0.059, "p99_ms": 0.685, "p999_ms": 6.718}
    # its mean holds the time of submission as well
    assert "ms each (of completion: p50 0.047 ms" in fact.text
    assert "p99_from_ms" not in fact.values


def test_bins_stand_in_and_fsyncs_are_apart():
    (block,) = blocks_of(FORMAT, (SAMPLES / "fio/bins-and-fsync.txt").read_text())
    (fact,) = block.facts
    assert (fact.values["p50_ms"], fact.values["p90_ms"], fact.values["p99_ms"]) == (0.004, 0.01, 0.05)
    assert (fact.values["fsync_p50_ms"], fact.values["fsync_p99_ms"]) == (3.654, 15.008)
    assert (fact.values["max_from_ms"], fact.values["max_ms"]) == (0.1, 4.0)


def test_bins_of_a_job_of_two_directions_say_nothing_of_either():
    text = NORMAL.replace("   bw (", "  write: IOPS=10, BW=40KiB/s (41kB/s)(40KiB/1000msec)\n   bw (")
    text = re.sub(r"    clat percentiles.*\n(?:     \|.*\n)*", "", text)
    (block,) = blocks_of(FORMAT, text)
    assert [fact.values.get("p50_ms") for fact in block.facts] == [None, None]


def test_bins_of_json():
    bins = {"latency_us": {"2": 0.0, "250": 40.0, "500": 59.5}, "latency_ms": {"2": 0.5, ">=2000": 0.0}}
    one = {"jobname": "j", "read": {"iops": 10.0, "bw": 40, "total_ios": 1000}, **bins}
    text = json.dumps({"fio version": "fio-3.33", "jobs": [one]}, indent=1)
    (block,) = blocks_of(FORMAT, text)
    values = block.facts[0].values
    assert (values["p50_from_ms"], values["p50_ms"], values["p99_ms"], values["max_ms"]) == (
        0.25,
        0.5,
        0.5,
        2.0,
    )


def test_old_output():
    text = (
        "t: (groupid=0, jobs=4): err= 0: pid=2: Tue Nov 20 12:08:27 2012\n"
        "  read : io=1024.0MB, bw=12023KB/s, iops=3005 , runtime= 45016msec\n"
        "    clat (usec): min=16 , max=74 , avg=21.79, stdev=42.53\n"
        "     lat (msec): min=1 , max=74 , avg=20.50, stdev= 4.53\n"
        "  write: io=512MB, bw=6000.5KB/s, iops=1500 , runtime= 45016msec\n"
        "     lat (usec): min=1 , max=74 , avg=900.00, stdev= 4.53\n"
    )
    (block,) = blocks_of(FORMAT, text)
    read, write = block.facts
    assert (read.values["iops"], read.values["kb_per_s"], read.values["latency_ms"]) == (3005, 12023, 20.5)
    assert (write.values["direction"], write.values["latency_ms"]) == ("write", 0.9)
    assert read.values["jobs"] == 4


def job(**more):
    options = {"filename": "/dev/md0", "rw": "randwrite", "bs": "16k", "iodepth": "8"}
    return {
        "jobname": "w",
        "job options": options,
        "read": {"iops": 0.0, "bw": 0},
        "write": {"iops": 116.2, "bw": 1859, "runtime": 60000, "lat_ns": {"mean": 137.5e6}},
        "sync": {"lat_ns": {"mean": 9.5e6}},
        **more,
    }


def dumped(**more):
    text = json.dumps(
        {"fio version": "fio-3.33", "jobs": [job(**more)], "disk_util": [{"name": "sda"}]}, indent=2
    )
    return "fio: some warning\n" + text + "\nDevice  r/s\n"


def test_json():
    text = dumped()
    (block,) = blocks_of(FORMAT, text)
    assert block.used == text.count("\n") - 3
    (fact,) = block.facts
    assert fact.values["iops"] == 116.2
    assert fact.values["kb_per_s"] == 1859
    assert fact.values["latency_ms"] == pytest.approx(137.5)
    assert fact.values["fsync_ms"] == pytest.approx(9.5)
    assert fact.values["block_size_kb"] == 16
    assert fact.values["device"] == "md0"
    lines = text.split("\n")
    assert '"iops": 116.2' in lines[fact.ref.first - 1]
    assert '"mean": 137500000.0' in lines[fact.ref.last - 1]


def test_json_of_2x_counts_in_microseconds():
    text = dumped(write={"iops": 1.0, "bw": 4, "lat": {"mean": 2500.0}}, sync=None)
    assert blocks_of(FORMAT, text)[0].facts[0].values["latency_ms"] == 2.5


@pytest.mark.parametrize(
    "text",
    [
        dumped()[:200],
        '"fio version": 3',
        '{"fio version": "x", "jobs": [1, {}]}',
        "a: (g=0): rw=read, then\n\nhello",
    ],
)
def test_broken_output_is_not_read(text):
    assert blocks_of(FORMAT, text) == []


DISKS = """\
Disk stats (read/write):
    md6: ios=0/5000, merge=0/0, ticks=0/0, in_queue=0, util=0.00%, aggrios=1003/4006, aggrmerge=0/0, aggrticks=3/4, aggrin_queue=7, aggrutil=42.63%
  sda: ios=1000/4000, merge=0/0, ticks=3/4, in_queue=7, util=42.63%
  sdb: ios=1001/4005, merge=0/0, ticks=3/4, in_queue=7, util=26.11%
  sdc: ios=1009/4015, merge=0/0, ticks=3/4, in_queue=7, util=42.14%
"""  # noqa: E501


@pytest.mark.parametrize(
    ("text", "members"),
    [
        (DISKS, ("sda", "sdb", "sdc")),
        (DISKS[: DISKS.index("  sdc")], None),  # the rest is cut off
        (DISKS.replace("md6", "dm-6"), None),  # a volume may be of a part of its disks alone
    ],
)
def test_the_disks_of_an_array_are_known_without_the_jobs(text, members):
    found = [device for block in blocks_of(FORMAT, text) for device in block.devices]
    assert [device.members for device in found] == [members] * bool(members)
    with_jobs = blocks_of(FORMAT, NORMAL[: NORMAL.index("Disk stats")] + text)
    assert [device.members for block in with_jobs for device in block.devices] == [members] * bool(members)


def test_a_run_that_is_not_over_tells_its_rate():
    head = "".join(NORMAL.splitlines(keepends=True)[:3])
    (block,) = blocks_of(
        FORMAT, head + "Jobs: 4 (f=4): [m(4)][7%][r=11.7MiB/s,w=2048KiB/s][r=3.1k,w=512 IOPS]\n"
    )
    read, written = block.facts
    assert (read.values["direction"], read.values["iops"], read.values["jobs"]) == ("read", 3100, 4)
    assert (written.values["kb_per_s"], written.values["iops"]) == (2048, 512)
    assert "latency_ms" not in read.values
