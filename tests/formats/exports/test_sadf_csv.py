import io
from operator import itemgetter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import iodiag
from iodiag.formats.exports.sadf_csv import FORMAT, _cut, _Fields, _plans_of, read
from iodiag.model.capture import Ledger, ParseNote, SampleTable, Section, Source
from property_tests import examples

SAMPLES = Path(__file__).parents[3] / "samples" / "sadf-csv"

DISK = "# hostname;interval;timestamp;DEV;tps;rkB/s;wkB/s;dkB/s;areq-sz;aqu-sz;await;%util\n"
OLD_DISK = "# hostname;interval;timestamp;DEV;tps;rd_sec/s;wr_sec/s;avgrq-sz;avgqu-sz;await;svctm;%util\n"
CPU = "# hostname;interval;timestamp;CPU;%user;%nice;%system;%iowait;%steal;%idle\n"


def items(text: str | bytes) -> list:
    data = text.encode() if isinstance(text, str) else text
    return list(read(Source("x.csv", data)))


def tables(text: str | bytes) -> dict[str, pd.DataFrame]:
    return {item.family: item.frame for item in items(text) if isinstance(item, SampleTable)}


def of_kind(found: list, kind: type) -> list:
    return [item for item in found if isinstance(item, kind)]


def unread(text: str) -> list[int]:
    return [note.line for note in of_kind(items(text), ParseNote) if note.is_unread]


def test_units_of_both_generations():
    text = OLD_DISK + "db;600;2026-11-20 12:00:01 UTC;dev8-0;2.00;8.00;16.00;12.00;0.10;3.00;1.00;5.00\n"
    row = tables(text)["disk"].iloc[0]
    assert row[["read_kb_per_s", "write_kb_per_s", "request_size_kb", "svctm_ms"]].tolist() == [4, 8, 6, 1]
    text = DISK + "db;600;2026-11-20 12:00:01 UTC;sda;2.00;4.00;8.00;1.00;6.00;0.10;3.00;5.00\n"
    row = tables(text)["disk"].iloc[0]
    assert row[["read_kb_per_s", "discard_kb_per_s", "request_size_kb"]].tolist() == [4, 1, 6]
    assert (row["device"], row["host"], row["interval_s"], row["line"]) == ("sda", "db", 600, 2)


@pytest.mark.parametrize(
    ("stamp", "seconds", "is_aware", "says"),
    [
        ("2026-11-20 12:30:01 UTC", "2026-11-20 12:30:01", True, ""),
        ("2026-11-20 12:30:01 GMT", "2026-11-20 12:30:01", True, ""),
        ("1795177801", "2026-11-20 12:30:01", True, ""),
        ("1795177801 ", "2026-11-20 12:30:01", True, ""),
        ("2026-11-20 12:30:01", "2026-11-20 12:30:01", False, ""),
        ("2026-11-20 12:30:01 IST", "2026-11-20 12:30:01", False, "IST"),
    ],
)
def test_time_stamps(stamp, seconds, is_aware, says):
    found = items(CPU + f"db;600;{stamp};-1;1.00;2.00;3.00;4.00;5.00;85.00\n")
    frame = of_kind(found, SampleTable)[0].frame
    assert frame["time"].dt.strftime("%Y-%m-%d %H:%M:%S").tolist() == [seconds]
    assert (frame["time"].dt.tz is not None) == is_aware
    assert [says in note.reason for note in of_kind(found, ParseNote)] == ([True] if says else [])


def test_mixed_zones_are_kept_as_printed():
    row = "db;600;2026-11-20 12:{}0:01{};-1;1.00;2.00;3.00;4.00;5.00;85.00\n"
    found = items(CPU + row.format(3, " UTC") + row.format(4, ""))
    assert of_kind(found, SampleTable)[0].frame["time"].dt.tz is None
    assert len(of_kind(found, ParseNote)) == 1


def test_minus_one_is_all_cpus_and_the_sum_of_interrupts():
    text = (
        CPU
        + "".join(
            f"db;1;2026-11-20 12:00:01 UTC;{cpu};1.00;2.00;3.00;4.00;5.00;85.00\n" for cpu in (-1, 0, 1)
        )
        + "# hostname;interval;timestamp;INTR;intr/s\n"
        + "db;1;2026-11-20 12:00:01 UTC;-1;950.00\ndb;1;2026-11-20 12:00:01 UTC;19;25.00\n"
    )
    found = tables(text)
    assert found["cpu"]["cpu"].tolist() == ["all", "0", "1"]
    assert found["interrupts"]["interrupt"].tolist() == ["sum", "19"]
    assert found["interrupts"]["interrupts_per_s"].tolist() == [950, 25]


def test_long_cpu_form_is_added_up():
    text = (
        "# hostname;interval;timestamp;CPU;%usr;%nice;%sys;%iowait;%steal;%irq;%soft;%guest;%gnice;%idle\n"
        "db;1;2026-11-20 12:00:01 UTC;-1;1.00;2.00;3.00;4.00;5.00;0.50;0.25;6.00;7.00;71.25\n"
    )
    row = tables(text)["cpu"].iloc[0]
    assert row[["user_pct", "nice_pct", "system_pct", "guest_pct"]].tolist() == [7, 9, 3.75, 6]


def test_restart_begins_a_segment_and_comments_do_not():
    row = "db;1;2026-11-20 12:00:0{};-1;1.00;2.00;3.00;4.00;5.00;85.00\n"
    text = (
        CPU
        + row.format("1 UTC")
        + "db;-1;2026-11-20 12:00:01 UTC;COM backup; started\n"
        + row.format("2 UTC")
        + "db;-1;2026-11-20 12:00:02 UTC;LINUX-RESTART\t(8 CPU)\n"
        + CPU
        + row.format("3 UTC")
    )
    found = items(text)
    frame = of_kind(found, SampleTable)[0].frame
    assert frame["segment"].tolist() == [0, 0, 1]
    assert frame["report"].tolist() == [0, 1, 0]
    assert [section.cpus for section in of_kind(found, Section)] == [None, 8]
    assert of_kind(found, Ledger)[0].counts == {"banner": 2, "header": 2, "row": 3}


def test_report_is_the_same_time_across_sections():
    text = CPU
    for second in (1, 2, 3):
        text += f"db;1;2026-11-20 12:00:0{second} UTC;-1;1.00;2.00;3.00;4.00;5.00;85.00\n"
    text += DISK
    for second in (2, 3):
        for device in ("sda", "sdb"):
            text += f"db;1;2026-11-20 12:00:0{second} UTC;{device};2.00;4.00;8.00;1.00;6.00;0.10;3.00;5.00\n"
    found = tables(text)
    assert found["cpu"]["report"].tolist() == [0, 1, 2]
    assert found["disk"]["report"].tolist() == [1, 1, 2, 2]


def test_another_host_is_another_segment():
    row = "{};1;2026-11-20 12:00:01 UTC;-1;1.00;2.00;3.00;4.00;5.00;85.00\n"
    found = items(CPU + row.format("a") + CPU + row.format("b"))
    frame = of_kind(found, SampleTable)[0].frame
    assert frame["segment"].tolist() == [0, 1]
    assert frame["host"].tolist() == ["a", "b"]
    assert [section.host for section in of_kind(found, Section)] == ["a", "b"]


def test_decimal_commas():
    text = DISK + "db;600;2026-11-20 12:00:01 UTC;sda;2,50;4,00;8,00;1,00;6,00;0,10;3,00;5,25\n" * 2
    row = tables(text)["disk"].iloc[0]
    assert row[["ios_per_s", "util_pct"]].tolist() == [2.5, 5.25]


@pytest.mark.parametrize(
    ("header", "row", "table", "wanted"),
    [
        ("FAN;DEVICE;rpm;drpm", "1;thinkpad-isa-0000;3200.00;200.00", "fan",
         {"fan": "1", "chip": "thinkpad-isa-0000", "speed_rpm": 3200}),
        ("TEMP;DEVICE;degC;%temp", "1;acpitz-0;47.00;44.76", "temperature",
         {"sensor": "1", "chip": "acpitz-0", "temperature_c": 47}),
        ("manufact;product;BUS;idvendor;idprod;maxpower", "Linux;EHCI Host;2;1d6b;2;0", "usb",
         {"manufacturer": "Linux", "product": "EHCI Host", "bus": "2", "vendor_id": "1d6b"}),
        ("manufact;product;BUS;idvendor;idprod;maxpower", ";;2;1d6b;2;500", "usb",
         {"manufacturer": "", "bus": "2", "max_power_ma": 500}),
        ("FILESYSTEM;MBfsfree;MBfsused;%fsused;%ufsused;Ifree;Iused;%Iused",
         "/dev/sda9;705;145;17.04;18.92;6008414;102818;1.68", "filesystem",
         {"filesystem": "/dev/sda9", "free_kb": 721920, "inodes_used": 102818}),
        ("FILESYSTEM,MBfsfree;MBfsused;%fsused;%ufsused;Ifree;Iused;%Iused",
         "/dev/sda9;705;145;17.04;18.92;6008414;102818;1.68", "filesystem", {"free_kb": 721920}),
        ("FCHOST;fch_rxf/s;fch_txf/s;fch_rxw/s;fch_txw/s", "host0;1.00;2.00;3.00;4.00", "fibre_channel",
         {"fc_host": "host0", "tx_words_per_s": 4}),
        ("pswpin/s;pswpout/s", "nan;2.00", "swapping", {"pages_out_per_s": 2}),
        ("INTR;CPU*", "sum;31915.30;5759.67;11829.29", "interrupts",
         {"interrupt": "sum", "cpu": "all", "interrupts_per_s": 31915.3}),
    ],
)  # fmt: skip
def test_items_and_labels_anywhere(header, row, table, wanted):
    text = f"# hostname;interval;timestamp;{header}\ndb;1;2026-11-20 12:00:01 UTC;{row}\n"
    found = tables(text)[table].iloc[0]
    assert {name: found[name] for name in wanted} == wanted
    assert not unread(text)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("db;1;2026-11-20 12:00:01 UTC;sda;2.00;4.00;8.00", "whole row"),
        ("db;1;2026-11-20 12:00:01 UTC;sda;2.00;4.00;8.00;1.00;6.00;0.10;3.00;x", "whole row"),
        ("db;1;2026-11-20 12:00:01 UTC;sda;2.00;4.00;8.00;1.00;6.00;0.10;3.00;5", "whole row"),
        ("db;1;2026-11-20 12:00:01 UTC;sda;2.00;400;8.00;1.00;6.00;0.10;3.00;5.00", "whole row"),
        ("db;1;2026-11-20 12:00:01 UTC;sda;2.00;4.00;8.00;1.00;6.00;0.10;3.00;", "whole row"),
        ("db;1;2026-11", "cut off"),
        ("db;1;2026-13-45 12:00:01 UTC;sda;2.00;4.00;8.00;1.00;6.00;0.10;3.00;5.00", "whole row"),
    ],
)
def test_damaged_rows_are_named(row, reason):
    good = "db;1;2026-11-20 12:00:01 UTC;sda;2.00;4.00;8.00;1.00;6.00;0.10;3.00;5.00\n"
    text = DISK + good + row + "\n" + good
    found = items(text)
    assert len(of_kind(found, SampleTable)[0].frame) == 2
    (note,) = of_kind(found, ParseNote)
    assert note.is_unread
    assert (note.line, note.text) == (3, row)
    assert reason in note.reason


def test_a_column_that_nobody_knows_is_told():
    text = (
        CPU.replace("%iowait", "%iowat") + "db;1;2026-11-20 12:00:01 UTC;-1;2.00;0.00;8.00;1.00;0.00;89.00\n"
    )
    (note,) = of_kind(items(text), ParseNote)
    assert "%iowat" in note.reason


def test_rows_without_a_header_are_unread():
    text = "db;1;2026-11-20 12:00:01 UTC;sda;2.00;4.00\n" * 2
    assert FORMAT.recognise(text.encode())
    assert unread(text) == [1, 2]


def test_unknown_section_is_named():
    text = "# hostname;interval;timestamp;XYZ;abc/s\ndb;1;2026-11-20 12:00:01 UTC;1;2.00\n"
    assert unread(text) == [2]


def test_prose_quoting_and_line_ends():
    plain = DISK + "db;1;2026-11-20 12:00:01 UTC;sda;2.00;4.00;8.00;1.00;6.00;0.10;3.00;5.00\n"
    text = "Hello,\r\n\r\n> $ sadf -d sa20 -- -d\r\n" + "".join(
        f"> {line}\r\n" for line in plain.splitlines()
    )
    found = items(text)
    frame = of_kind(found, SampleTable)[0].frame
    assert (frame.loc[0, "line"], frame.loc[0, "util_pct"]) == (5, 5)
    assert not [note for note in of_kind(found, ParseNote) if note.is_unread]
    assert of_kind(found, Ledger)[0].total == 4


WIDE = (
    "# hostname;interval;timestamp;CPU;%user;%nice;%system;%iowait;%steal;%idle[...];pswpin/s;pswpout/s;"
    "runq-sz;plist-sz;ldavg-1;ldavg-5;ldavg-15;blocked;DEV;tps;rkB/s;wkB/s;areq-sz;aqu-sz;await;svctm;%util[...]\n"
)


def test_wide_lines():
    text = (
        WIDE
        + "db;1;2026-11-20 12:00:01 UTC;-1;1.00;2.00;3.00;4.00;5.00;85.00;0;1.00;2.00;3.00;4.00;5.00;85.00;"
        + "0.00;7.00;2;150;0.10;0.20;0.30;1;sda;2.00;4.00;8.00;6.00;0.10;3.00;1.00;5.00;"
        + "sdb;3.00;4.00;8.00;6.00;0.10;3.00;1.00;5.00\n"
    )
    found = tables(text)
    assert found["cpu"]["cpu"].tolist() == ["all", "0"]
    assert found["swapping"]["pages_out_per_s"].tolist() == [7]
    assert found["queue"]["tasks"].tolist() == [150]
    assert found["disk"]["device"].tolist() == ["sda", "sdb"]
    assert found["disk"]["ios_per_s"].tolist() == [2, 3]
    assert not unread(text)


def test_wide_lines_with_a_column_per_cpu():
    text = (
        "# hostname;interval;timestamp;INTR;CPU*[...];pswpin/s;pswpout/s\n"
        "db;1;2026-11-20 12:00:01 UTC;sum;31915.30;1027.05;0;0.00;0.00;NMI;5.00;0.13;1.00;7.00\n"
        "db;1;2026-11-20 12:00:02 UTC;sum;31915.30;1.00;7.00\n"
    )
    found = tables(text)
    assert found["interrupts"]["interrupt"].tolist() == ["sum", "0", "NMI", "sum"]
    assert found["interrupts"]["interrupts_per_s"].tolist() == [31915.3, 0, 5, 31915.3]
    assert found["swapping"]["pages_out_per_s"].tolist() == [7, 7]


def test_wide_line_that_does_not_fit_is_named():
    text = WIDE + "db;1;2026-11-20 12:00:01 UTC;-1;1.00;2.00;3.00;4.00;5.00;85.00;0.00;7.00\n"
    assert unread(text) == [2]


numbers = st.floats(0, 1e7).map(lambda value: f"{value:.2f}")


@examples(60)
@given(
    cpus=st.integers(0, 5),
    devices=st.lists(st.sampled_from(["sda", "dm-0", "dev8-16", "cciss/c0d0"]), unique=True),
    queue=st.tuples(st.integers(0, 300), st.integers(0, 900)),
    data=st.data(),
)
def test_wide_lines_are_cut_as_they_were_written(cpus, devices, queue, data):
    plans = _plans_of(WIDE.strip().removeprefix("# hostname;interval;timestamp"))
    assert plans is not None
    pieces: list[list[str]] = []
    for cpu in (-1, *range(cpus)):
        pieces.append([str(cpu), *(data.draw(numbers) for _ in range(6))])
    pieces.append([data.draw(numbers) for _ in range(2)])
    pieces.append([str(queue[0]), str(queue[1]), "0.10", "0.20", "0.30", "0"])
    for device in devices:
        pieces.append([device, *(data.draw(numbers) for _ in range(8))])
    fields = [field for piece in pieces for field in piece]
    found = _cut(plans, _Fields(fields, False), 0)
    assert found is not None
    assert [fields[piece.first : piece.last] for piece in found] == pieces


rows_of_disks = st.lists(
    st.tuples(
        st.integers(0, 5000),
        st.sampled_from(["sda", "nvme0n1", "dev253-1"]),
        st.lists(numbers, min_size=8, max_size=8),
    ),
    min_size=1,
    max_size=12,
    unique_by=itemgetter(0, 1),
).map(lambda rows: sorted(rows, key=itemgetter(0)))  # times of a section rise


@examples(60)
@given(rows_of_disks)
def test_what_is_written_is_read(rows):
    written = [
        f"db;600;{pd.Timestamp('2026-11-20') + pd.Timedelta(seconds=at)} UTC;{device};{';'.join(values)}"
        for at, device, values in rows
    ]
    text = DISK + "\n".join(written) + "\n"
    frame = tables(text)["disk"]
    columns = ["ios_per_s", "read_kb_per_s", "write_kb_per_s", "discard_kb_per_s"]
    columns += ["request_size_kb", "queue_depth", "await_ms", "util_pct"]
    assert np.allclose(frame[columns], [[float(value) for value in values] for _, _, values in rows])
    assert frame["device"].tolist() == [device for _, device, _ in rows]
    assert frame["line"].tolist() == list(range(2, len(rows) + 2))
    order = sorted({at for at, _, _ in rows})
    assert frame["report"].tolist() == [order.index(at) for at, _, _ in rows]


@pytest.mark.slow
@examples(150)
@given(st.data())
def test_any_damage_is_survived_and_every_line_counted(data):
    text = (SAMPLES / "10.0.5-d.csv").read_bytes()
    at = data.draw(st.integers(0, len(text)))
    noise = data.draw(
        st.binary(max_size=40) | st.sampled_from([b"\n", b";", b";;;", b"\n# hostname;interval;timestamp;"])
    )
    damaged = text[:at] + noise + text[at + data.draw(st.integers(0, 200)) :]
    (ledger,) = of_kind(items(damaged), Ledger)
    assert ledger.total == sum(1 for line in damaged.split(b"\n") if line.strip(b" \t\r\n\0"))


@pytest.mark.parametrize(
    "text",
    [
        "# hostname;interval;timestamp" + ";a" * 100_000 + "\n",
        "# hostname;interval;timestamp"
        + ";CPU;%user[...]" * 5_000
        + "\ndb;1;2026-11-20 12:00:01 UTC"
        + ";1" * 50_000,
        WIDE + ";" * 100_000 + "\n" + "db;1;1795177801" + ";1" * 99_000,
        CPU + "db;1;9999999999;-1;1.00;2.00;3.00;4.00;5.00;85.00\n",
        CPU + "db;1;1795177801;-1;" + "9" * 50_000 + ";2.00;3.00;4.00;5.00;85.00\n",
    ],
    ids=["words", "sections", "fields", "year", "digits"],
)
def test_hostile_input_ends(text):
    items(text)


@pytest.mark.parametrize("path", sorted(SAMPLES.glob("*.csv")), ids=lambda path: path.stem)
def test_samples(path):
    found = items(path.read_bytes())
    assert FORMAT.recognise(path.read_bytes()[:4096])
    assert [section.reports for section in of_kind(found, Section)] == [3, 2]
    assert not of_kind(found, ParseNote)


ONE = "# hostname;interval;timestamp;{}\n"
FRONT = "db1;600;2026-11-20 12:30:01 UTC;"


@pytest.mark.parametrize(
    ("header", "rows", "kept"),
    [
        # interfaces below the header of disks
        (DISK[30:-1], ["sda" + ";1.00" * 8, "eth0" + ";2.00" * 8], 1),
        (DISK[30:-1], ["sda" + ";1.00" * 8, "sdb" + ";2.00" * 8], 2),
        # a second section without items, of as many columns
        ("proc/s;cswch/s", ["1.00;100.00", "0.00;0.00"], 1),
        # rates in the place of an interrupt's name
        ("INTR;CPU*", ["-1;100.00;50.00", "0.00;0.00"], 1),
    ],
)
def test_rows_of_one_sample_below_another_section_s_header_are_not_taken(header, rows, kept):
    text = ONE.format(header) + "".join(f"{FRONT}{row}\n" for row in rows)
    capture = iodiag.read(io.BytesIO(text.encode()), name="x.csv")
    lines = {line for table in capture.tables.values() for line in table["line"]}
    assert lines == set(range(2, 2 + kept))
    assert len(capture.unparsed) == len(rows) - kept
