import pytest

from iodiag.api import read_many
from iodiag.formats.context import cgroup
from iodiag.formats.context.cgroup import FORMAT
from reading import blocks_of, lines_of

GREP = """\
io.max:8:0 rbps=max wbps=1048576 riops=400 wiops=max
io.stat:8:0 rbytes=98353152 wbytes=0 rios=24012 wios=0 dbytes=0 dios=0
io.pressure:some avg10=97.50 avg60=60.48 avg300=17.63 total=58740927
io.pressure:full avg10=90.04 avg60=55.29 avg300=16.08 total=53536733
"""


def test_grep():
    (block,) = blocks_of(FORMAT, GREP + "Device r/s\n")
    assert block.used == 4
    limit, pressure = block.facts
    assert limit.values == {"device": "sda", "limit_write_kb_per_s": 1024, "limit_reads_per_s": 400}
    assert limit.text == "a control group is limited to 1024 kB/s of writes, 400 reads/s on sda"
    assert pressure.values == {"io_some_10s_pct": 97.5, "io_full_10s_pct": 90.04}


@pytest.mark.parametrize(
    ("text", "values"),
    [
        (
            "==> /sys/fs/cgroup/system.slice/db.service/io.max <==\n"
            "259:0 rbps=max wbps=max riops=100 wiops=50\n",
            {
                "device": "259:0",
                "group": "system.slice/db.service",
                "limit_reads_per_s": 100,
                "limit_writes_per_s": 50,
            },
        ),
        (
            "# cat /sys/fs/cgroup/x/io.max\n8:16 rbps=2097152 wbps=max riops=max wiops=max\n",
            {"device": "sdb", "group": "x", "limit_read_kb_per_s": 2048},
        ),
        (
            "/sys/fs/cgroup/blkio/docker/ab/blkio.throttle.read_iops_device:8:0 300\n",
            {"device": "sda", "group": "docker/ab", "limit_reads_per_s": 300},
        ),
        ("8:0 rbps=max wbps=max riops=7 wiops=max\n", {"device": "sda", "limit_reads_per_s": 7}),
    ],
)
def test_renderings(text, values):
    (block,) = blocks_of(FORMAT, text)
    assert block.facts[0].values == values


@pytest.mark.parametrize(
    "text",
    [
        "io.pressure:some avg10=1.2.3 avg60=0.50 avg300=0.10 total=100\n",
        "io.pressure:some avg10=. avg60=0.50 avg300=0.10 total=100\n",
        "io.max:8:0 rbps=1.2.3 wbps=max riops=max wiops=max\n",
    ],
)
def test_damaged_numbers_are_no_numbers(text):
    assert not [fact for block in blocks_of(FORMAT, text) for fact in block.facts]


def test_no_limit_is_no_fact():
    (block,) = blocks_of(FORMAT, "io.max:8:0 rbps=max wbps=max riops=max wiops=max\n")
    assert block.facts == ()


@pytest.mark.parametrize(
    "text", ["set io.max: it helps\n", "8:0 is the disk\n", "io.stat:\n", "see io.max\n"]
)
def test_other_text_is_left_alone(text):
    assert blocks_of(FORMAT, text) == []


def below_clocks(line, head=""):
    """Three samples, 5 s apart; `line` makes the text of one from its clock, and its two lines."""
    return head + "".join(
        line.format(
            date=f"Mon Nov 23 12:00:{5 * n:02} UTC 2026",
            clock=f"2026-11-23 12:00:{5 * n:02}",
            some=f"some avg10={n}.00 avg60=0.50 avg300=0.10 total={1000 * n}",
            full=f"full avg10=0.{n}0 avg60=0.40 avg300=0.05 total={100 * n}",
        )
        for n in range(3)
    )


PRESSURE = "/sys/fs/cgroup/system.slice/db.service/io.pressure"


@pytest.mark.parametrize(
    ("line", "head"),
    [
        ("{date}\n{some}\n{full}\n", f"while true; do date; cat {PRESSURE}; sleep 5; done\n"),
        (f"{{date}}\n==> {PRESSURE} <==\n{{some}}\n{{full}}\n", ""),
        (f"{{date}}\n{PRESSURE}:{{some}}\n{PRESSURE}:{{full}}\n", ""),
        (f"{{date}}\n# cat {PRESSURE}\n{{some}}\n{{full}}\n\n", ""),
        (f"{{clock}}\n{PRESSURE}\n{{some}}\n{{full}}\n", ""),
        ("{clock} {some}\n{clock} {full}\n", f"# {PRESSURE}\n"),
    ],
    ids=["loop", "head", "grep", "cat", "path", "clock in front"],
)
def test_the_pressure_of_a_group_below_clocks_is_one_fact(tmp_path, line, head):
    (tmp_path / "group.txt").write_text(below_clocks(line, head))
    captures, problems = read_many([tmp_path / "group.txt"])
    assert not problems
    ((fact,),) = [capture.evidence for capture in captures]
    assert fact.values == {
        "group": "system.slice/db.service",
        "io_some_10s_pct": 1.0,
        "io_full_10s_pct": pytest.approx(0.1),
    }
    assert "(mean of 3 samples): 1.00 % (some, at most 2.00 %)" in fact.text
    assert (fact.ref.first, fact.ref.last)[1] == below_clocks(line, head).rstrip().count("\n") + 1


@pytest.mark.parametrize("line", ["{date}\n==> %s <==\n{some}\n{full}\n", "{date}\n%s:{some}\n%s:{full}\n"])
def test_the_pressure_of_the_root_is_the_host_s(tmp_path, line):
    root = "/sys/fs/cgroup/io.pressure"
    (tmp_path / "root.txt").write_text(below_clocks(line.replace("%s", root)))
    (capture,), _ = read_many([tmp_path / "root.txt"])
    assert capture.tables["pressure"]["io_some_10s_pct"].tolist() == [0.0, 1.0, 2.0]


def test_lines_of_other_files_are_not_all_looked_through_from_each(monkeypatch):
    entry, made = cgroup._Entry, []
    monkeypatch.setattr(cgroup, "_Entry", lambda *parts: made.append(parts) or entry(*parts))
    broken = "io.max:8:0 rbps=max wbps=max io.stat:254:0 rbytes=1 io.pressure:some\n"
    assert FORMAT.read(lines_of(broken * 2000), "paste.txt") is None
    assert len(made) <= 20
    # what other files of a group say stands above its limits
    (block,) = blocks_of(FORMAT, "cpu.max:default 1\n" * 50 + GREP)
    assert len(block.facts) == 2
