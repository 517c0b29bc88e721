import pandas as pd
import pytest

from iodiag.formats.context.nfsiostat import FORMAT
from iodiag.model.columns import FAMILIES
from reading import blocks_of
from text_reading import reading

OLD = """\
nas1:/vol/home mounted on /home:

   op/s\t\trpc bklog
  12.00 \t   0.50
read:             ops/s\t\t   kB/s\t\t  kB/op\t\tretrans\t\tavg RTT (ms)\tavg exe (ms)
\t\t  2.000 \t 64.000 \t 32.000 \t       0 (0.0%) \t  4.000 \t  4.500
write:            ops/s\t\t   kB/s\t\t  kB/op\t\tretrans\t\tavg RTT (ms)\tavg exe (ms)
\t\t 10.000 \t320.000 \t 32.000 \t       3 (5.0%) \t 12.000 \t 80.250
"""
NEW = """\

[fd00::5]:/export mounted on /srv/data:

           ops/s       rpc bklog
          70.000           0.000

read:              ops/s            kB/s           kB/op         retrans    avg RTT (ms)    avg exe (ms)  avg queue (ms)          errors
                   0.000           0.000           0.000        0 (0.0%)           0.000           0.000           0.000        0 (0.0%)
write:             ops/s            kB/s           kB/op         retrans    avg RTT (ms)    avg exe (ms)  avg queue (ms)          errors
                  70.000         280.000           4.000        0 (0.0%)           1.250           1.300           0.020        2 (2.9%)
"""  # noqa: E501
ATTRIBUTES = """\
nas1:/vol/home mounted on /home:

           ops/s       rpc bklog
          12.000           0.000

getattr:           ops/s            kB/s           kB/op         retrans    avg RTT (ms)    avg exe (ms)
                  11.000           2.000           0.182        0 (0.0%)           0.400           0.500
             900 VFS opens
              12 inoderevalidates (forced GETATTRs)
               0 page cache invalidations
               3 attribute cache invalidations
"""


def frame_of(text):
    (block,) = blocks_of(FORMAT, text)
    return block.tables[0].frame, block


def test_columns_of_old_and_new_versions():
    frame, block = frame_of(OLD + "\nprose\n")
    row = frame.iloc[0]
    assert (row["mount"], row["export"], row["line"]) == ("/home", "nas1:/vol/home", 8)
    assert (row["ops_per_s"], row["backlog"]) == (12, 0.5)
    assert (row["reads_per_s"], row["read_kb_per_s"], row["read_request_size_kb"]) == (2, 64, 32)
    assert (row["write_retransmissions"], row["write_round_trip_ms"], row["write_await_ms"]) == (3, 12, 80.25)
    assert row["write_retransmitted_pct"] == 5
    assert "write_queue_ms" not in frame
    assert block.used == OLD.count("\n")
    frame, _ = frame_of(NEW)
    assert frame.loc[0, ["mount", "export"]].tolist() == ["/srv/data", "[fd00::5]:/export"]
    assert frame.loc[0, ["write_queue_ms", "write_errors", "read_errors"]].tolist() == [0.02, 2, 0]


def test_every_column_is_in_the_registry():
    known = {column.name for column in FAMILIES["nfs_mounts"]}
    frame, _ = frame_of(NEW)
    front = list(frame.columns[: frame.columns.get_loc("export") + 1])
    assert set(frame.columns) - set(front) <= known


def test_the_first_report_is_the_mean_since_the_mount():
    frame, _ = frame_of(OLD + NEW + "2026-11-20 12:00:05\n" + OLD + NEW + "2026-11-20 12:00:15\n" + OLD)
    assert frame["report"].tolist() == [0, 0, 1, 1, 2]
    assert frame["since_boot"].tolist() == [True, True, False, False, False]
    assert str(frame["time"].iloc[-1]) == "2026-11-20 12:00:15"
    assert frame["interval_s"].iloc[-1] == 10
    assert frame["interval_s"][:4].isna().all()


def test_what_is_mounted_later_begins_with_its_own_mean_since_the_mount():
    frame, _ = frame_of(OLD + OLD + NEW + OLD + NEW)
    assert frame["report"].tolist() == [0, 1, 1, 2, 2]
    assert frame["since_boot"].tolist() == [True, False, True, False, False]


def test_statistics_of_caches_belong_to_the_block_and_are_not_kept():
    frame, block = frame_of(ATTRIBUTES + "\n" + OLD)
    assert block.used == ATTRIBUTES.count("\n") + 1 + OLD.count("\n")
    assert len(frame) == 2
    assert pd.isna(frame["reads_per_s"][0])
    assert frame["ops_per_s"].tolist() == [12, 12]


def test_dots_that_stand_for_what_was_left_out_are_no_numbers():
    frame, block = frame_of(OLD + "...\n" + OLD)
    assert not block.unread
    assert frame["report"].tolist() == [0, 1]


def test_a_line_that_does_not_fit_its_header_is_shown():
    damaged = OLD.replace("  2.000 \t 64.000 \t", "  2.000 \t")
    frame, block = frame_of(damaged)
    assert block.unread == (6,)
    assert frame["writes_per_s"].tolist() == [10]
    assert "reads_per_s" not in frame


@pytest.mark.parametrize(
    "text",
    [
        "nas1:/vol/home mounted on /home:\n\nNo such mount\n",
        "note: it was mounted on /home: see below\n",
        "/dev/sda1 mounted on /boot:\n",
    ],
)
def test_prose_is_left_alone(text):
    assert blocks_of(FORMAT, text) == []


@pytest.mark.parametrize("text", [OLD.replace(" 2.000 ", " 2.013 "), NEW])
def test_without_its_line_a_mount_has_no_name_and_its_numbers_are_an_average(text):
    bare = text[text.index("op") - 12 :].split("\n", 1)[1] if text is NEW else text.split("\n", 2)[2]
    named, _ = frame_of(text)
    frame, block = frame_of("the mount in question:\n" + bare + bare)
    assert frame["mount"].tolist() == ["(unnamed)"] * 2
    assert frame["since_boot"].all()
    assert frame["writes_per_s"].tolist() == named["writes_per_s"].tolist() * 2
    below = [n for n, line in enumerate(("x\n" + bare + bare).splitlines(), 1) if line.startswith("write:")]
    assert frame["line"].tolist() == [n + 1 for n in below]
    assert frame["write_await_ms"].tolist() == named["write_await_ms"].tolist() * 2
    assert not block.unread


@pytest.mark.parametrize(("reads", "is_mean"), [("2.000", False), ("2.013", True)])
def test_two_rates_of_whole_operations_are_a_sample_whatever_the_mount(reads, is_mean):
    frame, _ = frame_of("read:" + OLD.partition("read:")[2].replace(" 2.000 ", f" {reads} "))
    assert frame["since_boot"].tolist() == [is_mean]


@pytest.mark.parametrize("total", ["0.450", "0.451"])
def test_a_total_that_is_the_rounded_sum_of_its_parts_is_no_evidence_of_a_sample(total):
    """3 reads and 6 writes in 20 s: two whole numbers are so by chance, three are not."""
    text = NEW.replace("70.000           0.000", f"{total}           0.000")
    text = text.replace(
        "    0.000           0.000           0.000   ", "    0.150           0.600           4.000   "
    )
    text = text.replace(" 70.000         280.000", "  0.300           1.200")
    frame, _ = frame_of(text)
    assert frame[["ops_per_s", "reads_per_s", "writes_per_s"]].iloc[0].tolist() == [float(total), 0.15, 0.3]
    assert frame["since_boot"].tolist() == [True]


def test_operations_that_come_again_below_one_name_are_of_nobody_known():
    operations = NEW.split("\n\n", 2)[2]
    frame, block = frame_of(NEW + "\n" + operations.replace("70.000 ", "90.000 "))
    assert frame["mount"].tolist() == ["/srv/data"]
    assert frame["writes_per_s"].tolist() == [70]
    assert len(block.unread) == len([line for line in operations.splitlines() if line.strip()])


def test_a_report_without_its_heading_gives_the_mount_above_no_number():
    # the writes of the mount are lost as well, and those below are of the report that follows
    reads, total = NEW.split("write:")[0], NEW.split("mounted on")[1].split("\n", 1)[1]
    frame, block = frame_of(reads + total.replace("70.000 ", "90.000 "))
    assert len(frame) == 1
    assert "writes_per_s" not in frame
    assert block.unread


def wrapped(text):
    """Every value, and every heading behind the name of its operation, on a line of its own."""
    lines = []
    for line in text.splitlines():
        if line.startswith(("read:", "write:")):
            name, rest = line.split(":", 1)
            lines += [f"{name}:", rest]
        elif line.strip()[:1].isdigit():
            lines += [f"    {value}" for value in line.replace(" (", "(").split()]
        else:
            lines.append(line)
    return "\n".join(lines).replace("(", " (").replace("  (ms", " (ms") + "\n"


@pytest.mark.parametrize("text", [OLD, NEW])
def test_values_on_a_line_each_are_those_of_one_line(text):
    plain, _ = frame_of(text)
    frame, block = frame_of(wrapped(text.strip()) + "\nprose\n")
    assert not block.unread
    assert block.used == wrapped(text.strip()).count("\n")
    pd.testing.assert_frame_equal(frame.drop(columns="line"), plain.drop(columns="line"))


def test_a_value_that_is_missing_among_wrapped_ones_takes_none_of_the_next():
    lines = wrapped(OLD).splitlines()
    del lines[lines.index("    64.000")]
    frame, block = frame_of("\n".join(lines) + "\n")
    assert len(block.unread) == 5
    assert "reads_per_s" not in frame
    assert frame["writes_per_s"].tolist() == [10]


@pytest.mark.parametrize("prefix", ["# ", "#", "web1: ", "12:00:01 web1 nfs[7]: "])
@pytest.mark.parametrize("text", [OLD, NEW])
def test_a_prefix_before_each_line_is_taken_off(text, prefix):
    plain, _ = frame_of(text)
    dressed = "".join(f"{prefix}{line}\n" for line in text.strip().splitlines())
    frame = reading(dressed).tables["nfs_mounts"]
    assert frame["mount"].tolist() == plain["mount"].tolist()
    assert frame["write_await_ms"].tolist() == plain["write_await_ms"].tolist()


def test_writes_that_a_mount_has_twice_are_not_read_again():
    writes = NEW[NEW.index("write:") :]
    (block,) = blocks_of(FORMAT, NEW + writes.replace("70.000 ", "90.000 "))
    assert block.tables[0].frame["writes_per_s"].tolist() == [70]
    assert len(block.unread) == 2


@pytest.mark.parametrize("text", [OLD, NEW])
def test_reports_whose_line_breaks_were_lost_are_read_as_with_them(text):
    named, _ = frame_of(text)
    flat = " ".join(text.split())
    frame, block = frame_of(f"{flat} {flat.replace(' mounted on /', ' mounted on /other/')}\n{flat}\n")
    assert len(frame) == 3
    assert (block.used, block.unread, frame["line"].tolist()) == (2, (), [1, 1, 2])
    numbers = named.columns[named.columns.get_loc("export") + 1 :]
    for at in range(3):
        assert frame[numbers].iloc[at].tolist() == named[numbers].iloc[0].tolist()


def test_values_that_lost_their_header_are_said_and_the_mount_keeps_its_name():
    read = reading(NEW.replace("           ops/s       rpc bklog\n", ""))
    assert read.tables["nfs_mounts"]["mount"].tolist() == ["/srv/data"]
    assert read.tables["nfs_mounts"]["writes_per_s"].tolist() == [70.0]
    assert len(read.unread) == 1


def test_a_row_that_lost_a_bracket_is_read():
    whole, damaged = (reading(text).tables["nfs_mounts"] for text in (OLD, OLD.replace("(5.0%)", "(5.0%")))
    assert damaged["write_await_ms"].tolist() == whole["write_await_ms"].tolist() == [80.25]
