from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iodiag.formats.exports.sadf_pairs import FORMAT, read
from iodiag.model.capture import Ledger, ParseNote, SampleTable, Section, Source
from property_tests import examples

SAMPLES = Path(__file__).parents[3] / "samples" / "sadf-pairs"

DISK = ("tps", "rkB/s", "wkB/s", "areq-sz", "aqu-sz", "await", "svctm", "%util")
DISK_COLUMNS = [
    *("ios_per_s", "read_kb_per_s", "write_kb_per_s", "request_size_kb"),
    *("queue_depth", "await_ms", "svctm_ms", "util_pct"),
]


def items(text: str | bytes) -> list:
    data = text.encode() if isinstance(text, str) else text
    return list(read(Source("x.tsv", data)))


def tables(text: str) -> dict[str, pd.DataFrame]:
    return {item.family: item.frame for item in items(text) if isinstance(item, SampleTable)}


def of_kind(found: list, kind: type) -> list:
    return [item for item in found if isinstance(item, kind)]


def lines(stamp: str, item: str, **values: object) -> str:
    return "".join(f"db\t60\t{stamp}\t{item}\t{name}\t{value}\n" for name, value in values.items())


def pairs(item: str, names: str, stamp: str = "2026-11-20 12:00:01 UTC") -> str:
    return lines(stamp, item, **{name: f"{place}.00" for place, name in enumerate(names.split(), 1)})


@pytest.mark.parametrize(
    ("item", "names", "table", "wanted"),
    [
        ("sda", "tps rd_sec/s wr_sec/s avgrq-sz avgqu-sz await svctm %util", "disk",
         {"device": "sda", "read_kb_per_s": 1, "request_size_kb": 2, "util_pct": 8}),
        ("all", "%%user %%nice %%system %%iowait %%steal %%idle", "cpu",
         {"cpu": "all", "user_pct": 1, "idle_pct": 6}),
        ("cpu12", "%user %nice %system %iowait %steal %idle", "cpu", {"cpu": "12", "iowait_pct": 4}),
        ("sum", "intr/s", "interrupts", {"interrupt": "sum", "interrupts_per_s": 1}),
        ("i009", "intr/s", "interrupts", {"interrupt": "9"}),
        ("sum", "all CPU0 CPU1", "interrupts", {"interrupt": "sum", "cpu": "all", "interrupts_per_s": 1}),
        ("i024", "cpu3", "interrupts", {"interrupt": "24", "cpu": "3", "interrupts_per_s": 1}),
        ("-", "kbmemfree kbavail kbmemused %memused", "memory", {"free_kb": 1, "used_pct": 4}),
        ("eth0", "rxpck/s txpck/s rxkB/s", "network", {"interface": "eth0", "rx_kb_per_s": 3}),
        ("ttyS1", "rcvin/s xmtin/s", "serial", {"tty": "1", "tx_interrupts_per_s": 2}),
        ("-", "atmptf/s estres/s retrans/s isegerr/s orsts/s", "tcp_errors", {"retransmits_per_s": 3}),
        ("-", "call/s retrans/s read/s write/s", "nfs_client", {"retransmits_per_s": 2}),
    ],
)  # fmt: skip
def test_sections(item, names, table, wanted):
    row = tables(pairs(item, names) * 2)[table].iloc[0]
    assert {name: row[name] for name in wanted} == wanted


def test_sections_of_one_time_and_item_are_told_apart():
    text = pairs("-", "pswpin/s pswpout/s pgpgin/s pgpgout/s runq-sz plist-sz tps rtps wtps")
    found = tables(text)
    assert set(found) == {"swapping", "paging", "queue", "io"}
    assert found["io"].loc[0, ["ios_per_s", "line"]].tolist() == [7, 7]


def test_order_is_that_of_the_file():
    text = "".join(
        pairs(item, " ".join(DISK), f"2026-11-20 12:00:0{second} UTC")
        for second in (1, 2)
        for item in ("sdb", "sda")
    )
    frame = tables(text)["disk"]
    assert frame["device"].tolist() == ["sdb", "sda", "sdb", "sda"]
    assert frame["report"].tolist() == [0, 0, 1, 1]
    assert frame["line"].tolist() == [1, 9, 17, 25]


@pytest.mark.parametrize(
    ("stamp", "is_aware"),
    [("1795177441", True), ("2026-11-20 12:24:01 UTC", True), ("2026-11-20 12:24:01", False)],
)
def test_time_stamps(stamp, is_aware):
    frame = tables(pairs("-", "pswpin/s pswpout/s", stamp))["swapping"]
    assert frame["time"].dt.tz_localize(None).tolist() == [pd.Timestamp("2026-11-20 12:24:01")]
    assert (frame["time"].dt.tz is not None) == is_aware


def test_restarts_and_comments():
    row = pairs("-", "pswpin/s pswpout/s", "1795177441")
    later = pairs("-", "pswpin/s pswpout/s", "1795177442")
    found = items(
        row + "db\t-1\t1795177441\tCOM tea; break\ndb\t-1\t1795177441\tLINUX-RESTART\t(8 CPU)\n" + later
    )
    frame = of_kind(found, SampleTable)[0].frame
    assert frame["segment"].tolist() == [0, 1]
    assert [section.cpus for section in of_kind(found, Section)] == [None, 8]
    assert of_kind(found, Ledger)[0].counts == {"banner": 2, "row": 4}


def test_missing_value_leaves_the_rest_of_the_row():
    whole = pairs("sda", " ".join(DISK))
    cut = "".join(line for line in whole.splitlines(keepends=True) if "\tawait\t" not in line)
    frame = tables(whole + cut.replace("12:00:01", "12:00:02"))["disk"]
    assert frame["await_ms"].tolist()[0] == 6
    assert frame["await_ms"].isna().tolist() == [False, True]
    assert frame["util_pct"].tolist() == [8, 8]


@pytest.mark.parametrize(
    "line",
    [
        "db\t60\t2026-11-20 12:00:01 UTC\tsda\tawait\tfast",
        "db\t60\t2026-11-20 12:00:01 UTC\tsda\twarp/s\t1.00",
        "db\t60\t2026-11-20 12:00:01 UTC\tsda\tawait",
        "db\t60\t2026-11-",
    ],
)
def test_damaged_lines_are_named(line):
    text = pairs("-", "pswpin/s pswpout/s") + line + "\n" + pairs("-", "pswpin/s pswpout/s", "1795177442")
    found = items(text)
    assert len(of_kind(found, SampleTable)[0].frame) == 2
    assert [(note.line, note.text) for note in of_kind(found, ParseNote) if note.is_unread] == [(3, line)]


@pytest.mark.parametrize("value", ["100", "1", ""])
def test_a_value_that_lost_decimals_is_left_out(value: str):
    rows = [pairs("-", "pswpin/s pswpout/s", stamp) for stamp in ("1795177441", "1795177442", "1795177443")]
    damaged = rows[2].rpartition("\t")[0] + f"\t{value}\n"
    found = items("".join([*rows[:2], damaged]))
    assert of_kind(found, SampleTable)[0].frame["pages_out_per_s"].isna().tolist() == [False, False, True]
    assert [note.line for note in of_kind(found, ParseNote) if note.is_unread] == [6]


numbers = st.floats(0, 1e7).map(lambda value: round(value, 2))


@examples(50)
@given(
    st.lists(
        st.tuples(st.sampled_from(["sda", "dm-0", "cciss/c0d0"]), st.lists(numbers, min_size=8, max_size=8)),
        min_size=1,
        max_size=8,
    )
)
def test_what_is_written_is_read(rows):
    text = "".join(
        lines(
            str(1795177441 + at),
            item,
            **{name: f"{value:.2f}" for name, value in zip(DISK, values, strict=True)},
        )
        for at, (item, values) in enumerate(rows)
    )
    frame = tables(text)["disk"]
    assert frame["device"].tolist() == [item for item, _ in rows]
    assert np.allclose(frame[DISK_COLUMNS], [values for _, values in rows])
    assert frame["line"].tolist() == [1 + 8 * at for at in range(len(rows))]


@pytest.mark.slow
@examples(100)
@given(st.data())
def test_any_damage_is_survived_and_every_line_counted(data):
    text = (SAMPLES / "11.6.1-p.tsv").read_bytes()
    at = data.draw(st.integers(0, len(text)))
    noise = data.draw(st.binary(max_size=40) | st.sampled_from([b"\t", b"\n", b"\t\t\n"]))
    damaged = text[:at] + noise + text[at + data.draw(st.integers(0, 200)) :]
    (ledger,) = of_kind(items(damaged), Ledger)
    assert ledger.total == sum(1 for line in damaged.split(b"\n") if line.strip(b" \t\r\n\0"))


@pytest.mark.parametrize(
    "text",
    [
        "".join(pairs("-", f"pswpin/s x{n}") for n in range(3000)),
        pairs("-", "pswpin/s " * 2) + "db\t60\t1795177441\t-\tpswpin/s\t" + "9" * 50_000 + "\n",
    ],
    ids=["names", "digits"],
)
def test_hostile_input_ends(text):
    items(text)


@pytest.mark.parametrize("path", sorted(SAMPLES.glob("*.tsv")), ids=lambda path: path.stem)
def test_samples(path):
    found = items(path.read_bytes())
    assert FORMAT.recognise(path.read_bytes()[:4096])
    assert not of_kind(found, ParseNote)
