from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iodiag.formats.exports.sadf_raw import FORMAT, read
from iodiag.model.capture import Ledger, ParseNote, SampleTable, Section, Source
from property_tests import examples

SAMPLES = Path(__file__).parents[3] / "samples" / "sadf-raw"


def items(text: str | bytes) -> list:
    data = text.encode() if isinstance(text, str) else text
    return list(read(Source("x.txt", data)))


def tables(text: str) -> dict[str, pd.DataFrame]:
    return {item.family: item.frame for item in items(text) if isinstance(item, SampleTable)}


def of_kind(found: list, kind: type) -> list:
    return [item for item in found if isinstance(item, kind)]


def every(seconds: int, line: str, zone: str = " UTC") -> str:
    """Two samples of the same line."""
    return f"12:00:00{zone}{line}\n12:00:{seconds:02d}{zone}{line}\n"


NEW = (
    "; major; 8; minor; 0; DEV; sda; tps; 100; 120; rkB/s; 1000; 1160; wkB/s; 500; 580; dkB/s; 0; 80; "
    "rd_ticks; 300; 320; wr_ticks; 40; 50; dc_ticks; 0; 10; tot_ticks; 70; 170; aqu-sz; 900; 2900;"
)
OLD = (
    " major:8 minor:0 DEV:sda tps:100>120 rd_sec/s:1000>1160 wr_sec/s:500>580 tot_ticks:70>170 "
    "avgqu-sz:900>2900"
)


def test_disk_of_both_shapes():
    new, old = tables(every(10, NEW))["disk"].iloc[0], tables(every(10, OLD))["disk"].iloc[0]
    wanted = {"ios_per_s": 2, "read_kb_per_s": 8, "write_kb_per_s": 4, "util_pct": 1, "queue_depth": 0.2}
    assert {name: new[name] for name in wanted} == pytest.approx(wanted)
    assert {name: old[name] for name in wanted} == pytest.approx(wanted)
    assert (new["device"], new["discard_kb_per_s"], new["request_size_kb"], new["await_ms"]) == (
        "sda",
        4,
        8,
        2,
    )
    assert (old["request_size_kb"], old["svctm_ms"]) == (6, 5)
    assert "svctm_ms" not in new
    assert "await_ms" not in old


def test_idle_disk_is_zero_and_a_counter_that_fell_is_unknown():
    idle = NEW.replace("; 100; 120;", "; 100; 100;")
    assert tables(every(10, idle))["disk"].loc[0, ["ios_per_s", "await_ms"]].tolist() == [0, 0]
    fell = NEW.replace("rkB/s; 1000; 1160", "rkB/s [DEC]; 1160; 1000")
    row = tables(every(10, fell))["disk"].iloc[0]
    assert pd.isna(row["read_kb_per_s"])
    assert row["write_kb_per_s"] == 4


@pytest.mark.parametrize(
    ("line", "table", "wanted"),
    [
        ("; CPU; -1; %user; 10; 30; %nice; 0; 0; %system; 5; 15; %iowait; 0; 10; %steal; 0; 0; "
         "%idle; 100; 160;", "cpu",
         {"cpu": "all", "user_pct": 20, "system_pct": 10, "iowait_pct": 10, "idle_pct": 60}),
        ('; FILESYSTEM; "/dev/sda1"; f_bfree; 3145728; f_blocks; 8388608; f_bavail; 2097152; Ifree; 60; '
         "f_files; 80;", "filesystem",
         {"filesystem": "/dev/sda1", "free_kb": 3072, "used_kb": 5120, "used_pct": 62.5,
          "unprivileged_used_pct": 75, "inodes_free": 60, "inodes_used": 20, "inodes_used_pct": 25}),
        (" CPU:-1 %user:10>30 %nice:0>0 %system:5>15 %iowait:0>10 %steal:0>0 %idle:100>160", "cpu",
         {"cpu": "all", "user_pct": 20, "idle_pct": 60}),
        ("; CPU [OFF]; 3; %usr; 10; 20; %nice; 0; 0; %sys; 0; 10; %iowait; 0; 0; %steal; 0; 0; %irq; 0; 10; "
         "%soft; 0; 10; %guest; 0; 20; %gnice; 0; 0; %idle; 0; 40;", "cpu",
         {"cpu": "3", "user_pct": 30, "system_pct": 30, "irq_pct": 10, "guest_pct": 20, "idle_pct": 40}),
        ("; runq-sz; 6; plist-sz; 169; ldavg-1; 592; ldavg-5; 347; ldavg-15; 156; blocked; 0;", "queue",
         {"run_queue": 6, "load_1m": 5.92, "load_15m": 1.56}),
        ("; IFACE; eth0; rxpck/s; 0; 100; txpck/s; 0; 50; rxkB/s; 0; 102400; speed; 1000; duplex; 2;",
         "network",
         {"interface": "eth0", "rx_packets_per_s": 10, "rx_kb_per_s": 10}),
        ("; tps; 0; 30; rtps; 0; 20; wtps; 0; 10; bread/s; 0; 200; bwrtn/s; 0; 100;", "io",
         {"reads_per_s": 2, "read_kb_per_s": 10}),
        ("; %sio-10; 319; %sio-60; 114; %sio-300; 43; %sio; 0; 2000000;", "pressure",
         {"io_some_10s_pct": 3.19, "io_some_pct": 20}),
        ("; INTR; sum; all; 0; 100; CPU0; 0; 40;", "interrupts",
         {"interrupt": "sum", "cpu": "all", "interrupts_per_s": 10}),
        ("; CPU; -1; MHz; 351754;", "cpu_frequency", {"cpu": "all", "frequency_mhz": 3517.54}),
    ],
)  # fmt: skip
def test_sections(line, table, wanted):
    row = tables(every(10, line))[table].iloc[0]
    assert {name: row[name] for name in wanted} == pytest.approx(wanted)


def test_a_file_system_that_lost_a_count_has_no_sizes():
    line = "; FILESYSTEM; /dev/sda1; f_bfree; 3145728; f_blocks; 8388608; Ifree; 60; f_files; 80;"
    assert set(tables(every(1, line))["filesystem"]) & {"free_kb", "used_pct", "inodes_free"} == {
        "inodes_free"
    }


def test_intervals_are_the_clocks_and_dates_stay_unknown():
    text = "".join(
        f"{clock} UTC; pswpin/s; 0; 600; pswpout/s; 0; 0;\n" for clock in ("23:50:00", "00:00:00", "00:05:00")
    )
    frame = tables(text)["swapping"]
    assert frame["interval_s"].tolist() == [450, 600, 300]
    assert frame["pages_in_per_s"].tolist() == [600 / 450, 1, 2]
    assert frame["report"].tolist() == [0, 1, 2]
    assert frame["time"].isna().all()


def test_single_sample_has_shares_but_no_rates():
    row = tables("12:00:00 UTC" + NEW + "\n")["disk"].iloc[0]
    assert pd.isna(row["ios_per_s"])
    assert row["await_ms"] == 2


def test_debugging_output_tells_the_date():
    text = "".join(
        f"# uptime_cs; 719255; ust_time; {1795177440 + n}; extra_next; 0; record_type; 1; HH:MM:SS; x\n"
        f"# name; A_SWAP; nr_curr; 1; nr_alloc; 1; nr_ini; 1\n"
        f"12:24:0{n} UTC; pswpin/s; 0; 5; pswpout/s; 0; 0;\n"
        for n in (0, 5)
    )
    frame = tables(text)["swapping"]
    assert frame["time"].tolist() == list(pd.to_datetime(["2026-11-20 12:24:00Z", "2026-11-20 12:24:05Z"]))
    assert frame["pages_in_per_s"].tolist() == [1, 1]


@pytest.mark.parametrize(
    ("mark", "comment"),
    [
        ("12:00:10 UTC; LINUX-RESTART (8 CPU)", "12:00:09 UTC; COM tea"),
        ("12:00:10 UTC\tLINUX-RESTART\t(8 CPU)", "12:00:09 UTC\tCOM tea"),
    ],
)
def test_restarts_and_comments(mark, comment):
    found = items(every(10, NEW) + comment + "\n" + mark + "\n" + every(20, NEW))
    assert of_kind(found, SampleTable)[0].frame["segment"].tolist() == [0, 0, 1, 1]
    assert [section.cpus for section in of_kind(found, Section)] == [None, 8]
    assert of_kind(found, Ledger)[0].counts == {"banner": 2, "row": 4}


@pytest.mark.parametrize(
    "line",
    [
        "12:00:00 UTC; warp; 1; 2; drive; 3; 4;",
        "12:00:00 UTC; tps; 1; x; rtps; 0; 20; wtps; 0; 10;",
        "12:00:00 UTC; tps; 1; 2; 3; rtps; 0; 20; wtps; 0; 10;",
        "12:00:00 UTC; tps; rtps;",
    ],
)
def test_what_is_not_understood_is_named(line):
    found = items(every(10, NEW) + line + "\n")
    assert [(note.line, note.text) for note in of_kind(found, ParseNote) if note.is_unread] == [(3, line)]


@pytest.mark.slow
@examples(100)
@given(st.sampled_from(["11.5.4-r.txt", "12.7.7-r.txt"]), st.data())
def test_any_damage_is_survived_and_every_line_counted(name, data):
    text = (SAMPLES / name).read_bytes()
    at = data.draw(st.integers(0, len(text)))
    noise = data.draw(st.binary(max_size=40) | st.sampled_from([b"; ", b"\n", b":", b">"]))
    damaged = text[:at] + noise + text[at + data.draw(st.integers(0, 200)) :]
    (ledger,) = of_kind(items(damaged), Ledger)
    assert ledger.total == sum(1 for line in damaged.split(b"\n") if line.strip(b" \t\r\n\0"))


@pytest.mark.parametrize("path", sorted(SAMPLES.glob("*.txt")), ids=lambda path: path.stem)
def test_samples(path):
    found = items(path.read_bytes())
    assert FORMAT.recognise(path.read_bytes()[:4096])
    assert not of_kind(found, ParseNote)


@pytest.mark.parametrize(
    "text",
    [
        "12:24:01          DEV       tps     rkB/s\n12:24:02          vda    306.00   3076.00\n",
        "12:24:01 UTC; an appointment; with; words\n12:24:02 UTC; another; 1;\n",
        "12:00:00 tps: 5 rtps: 7\n" * 2,
    ],
)
def test_other_texts_are_not_taken(text):
    assert not FORMAT.recognise(text.encode())


def _damaged(old: str, new: str) -> tuple[list, list]:
    """What a sample holds, and what it holds with a change."""
    text = (SAMPLES / "12.7.7-r.txt").read_text()
    assert old in text
    return items(text), items(text.replace(old, new, 1))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("3576424; 3599456; rd_ticks", "3576424; 359456; rd_ticks", id="a digit lost"),
        pytest.param("291586; 291599; wr_ticks", "291586; 291995; wr_ticks", id="digits swapped"),
        pytest.param("439359; 439386;", "439359; 439", id="cut in the line"),
    ],
)
def test_a_damaged_counter_is_said_and_its_rate_left_out(old: str, new: str):
    columns = ["line", "ios_per_s", "await_ms", "discard_kb_per_s", "queue_depth"]
    rows = []
    for found in _damaged(old, new):
        disk = next(table.frame for table in of_kind(found, SampleTable) if table.family == "disk")
        rows.append({tuple(row) for row in disk[columns].fillna(-1.0).itertuples(index=False)})
    assert not {row for row in rows[1] - rows[0] if -1.0 not in row}
    assert [note for note in of_kind(found, ParseNote) if note.is_unread]


def test_lines_out_of_order_are_said():
    lines = (SAMPLES / "12.7.7-r.txt").read_text().splitlines()
    assert not [n for n in of_kind(items("\n".join([*lines, ""])), ParseNote)]
    moved = items("\n".join([lines[1], lines[0], *lines[2:], ""]))
    assert any("its clock is before that of the row above" in n.reason for n in of_kind(moved, ParseNote))


def test_a_line_behind_a_restart_that_is_older_is_said():
    lines = (SAMPLES / "12.7.7-r.txt").read_text().splitlines()
    assert "RESTART" in lines[12]
    lines[9], lines[13] = lines[13], lines[9]
    moved = items("\n".join([*lines, ""]))
    assert any("its clock is before that of the row above" in n.reason for n in of_kind(moved, ParseNote))
