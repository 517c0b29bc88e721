"""sar text: its sections, clocks and labels in all languages, averages, and sections nobody knows yet."""

# ruff: noqa: E501  # lines of captures stay as they are printed

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest

import iodiag
from iodiag.formats.raw_columns.sar import SECTIONS
from iodiag.formats.tables.sar_text import layout, unknown_section
from text_reading import reading
from writers.sar_writer import Section, clock, write

BANNER = "Linux 6.1.0 (db1) \t11/20/26 \t_x86_64_\t(2 CPU)"
DISK = ("DEV", "tps", "rkB/s", "wkB/s", "areq-sz", "aqu-sz", "await", "%util")
ROW = "    sda    306.00   3076.00   0.00   10.05   0.03   0.08   2.00"
HEADER = "DEV       tps     rkB/s     wkB/s   areq-sz    aqu-sz     await     %util"
# tokens of every section of the reference, and of a whole report of the 7.0 age
HEADERS = """
CPU %user %nice %system %iowait %steal %idle
CPU %usr %nice %sys %iowait %steal %irq %soft %guest %idle
CPU %usr %nice %sys %iowait %steal %irq %soft %guest %gnice %idle
proc/s cswch/s
proc/s
cswch/s
INTR intr/s
INTR all CPU0 CPU1
all CPU0 CPU1 INTR
CPU i011/s i013/s
pswpin/s pswpout/s
pgpgin/s pgpgout/s fault/s majflt/s
pgpgin/s pgpgout/s fault/s majflt/s pgfree/s pgscank/s pgscand/s pgsteal/s %vmeff
pgpgin/s pgpgout/s fault/s majflt/s pgfree/s pgscank/s pgscand/s pgsteal/s pgprom/s pgdem/s
pgpgin/s pgpgout/s activepg inadtypg inaclnpg inatarpg
tps rtps wtps bread/s bwrtn/s
tps rtps wtps dtps bread/s bwrtn/s bdscd/s
frmpg/s bufpg/s campg/s
kbmemfree kbmemused %memused kbbuffers kbcached kbswpfree kbswpused %swpused kbswpcad
kbmemfree kbavail kbmemused %memused kbbuffers kbcached kbcommit %commit kbactive kbinact kbdirty kbshmem
kbswpfree kbswpused %swpused kbswpcad %swpcad
kbhugfree kbhugused %hugused kbhugrsvd kbhugsurp
dentunusd file-nr inode-nr pty-nr
dentunusd file-sz inode-sz super-sz %super-sz dquot-sz %dquot-sz rtsig-sz %rtsig-sz
runq-sz plist-sz ldavg-1 ldavg-5 ldavg-15
runq-sz plist-sz ldavg-1 ldavg-5 ldavg-15 blocked
TTY rcvin/s xmtin/s framerr/s prtyerr/s brk/s ovrun/s
TTY rcvin/s txmtin/s framerr/s prtyerr/s brk/s ovrun/s
DEV tps sect/s
DEV tps rd_sec/s wr_sec/s avgrq-sz avgqu-sz await svctm %util
DEV tps rkB/s wkB/s areq-sz aqu-sz await svctm %util
DEV tps rkB/s wkB/s dkB/s areq-sz aqu-sz await %util
tps rkB/s wkB/s dkB/s areq-sz aqu-sz await %util DEV
IFACE rxpck/s txpck/s rxbyt/s txbyt/s rxcmp/s txcmp/s rxmcst/s
IFACE rxpck/s txpck/s rxkB/s txkB/s rxcmp/s txcmp/s rxmcst/s %ifutil
IFACE rxerr/s txerr/s coll/s rxdrop/s txdrop/s txcarr/s rxfram/s rxfifo/s txfifo/s
call/s retrans/s read/s write/s access/s getatt/s
scall/s badcall/s packet/s udp/s tcp/s hit/s miss/s sread/s swrite/s saccess/s sgetatt/s
totsck tcpsck udpsck rawsck ip-frag
totsck tcpsck udpsck rawsck ip-frag tcp-tw
atmptf/s estres/s retrans/s isegerr/s orsts/s
tcp6sck udp6sck raw6sck ip6-frag
fch_rxf/s fch_txf/s fch_rxw/s fch_txw/s FCHOST
CPU total/s dropd/s squeezd/s rx_rps/s flw_lim/s blg_len
CPU MHz
CPU wghMHz
FAN rpm drpm DEVICE
TEMP degC %temp DEVICE
IN inV %in DEVICE
BUS idvendor idprod maxpower manufact product
BAT %cap cap/min status
MBfsfree MBfsused %fsused %ufsused Ifree Iused %Iused FILESYSTEM
MBfsfree MBfsused %fsused %ufsused Ifree Iused %Iused MOUNTPOINT
%scpu-10 %scpu-60 %scpu-300 %scpu
%sio-10 %sio-60 %sio-300 %sio %fio-10 %fio-60 %fio-300 %fio
""".strip().split("\n")


@pytest.mark.parametrize("header", HEADERS)
def test_every_section_of_every_age(header: str):
    words = tuple(header.split())
    found = layout(words)
    assert found is not None
    assert (found.clock, found.unknown) == ("row", ())
    keys = {word for section in SECTIONS for word in section.key_tokens} - {"CPU"} | ({words[0]} & {"CPU"})
    has_key = found.key is not None
    assert has_key == (words[0] in keys or words[-1] in keys)
    assert len(found.columns) == len(words) - has_key
    assert found.key_at == ("last" if has_key and words[-1] in keys and words[0] not in keys else "first")


@pytest.mark.parametrize(
    "header", ["meeting blocked", "the product status", "blocked", "tps", "kbmemfree maybe not"]
)
def test_prose_is_no_header(header: str):
    assert layout(tuple(header.split())) is None or len(header.split()) < 2
    text = f"12:24:01 {header}\n12:24:02 1 2\n"
    assert not reading(text).tables


def test_the_header_s_clock_is_when_the_first_sample_began():
    read = reading(f"{BANNER}\n\n12:00:00 {HEADER}\n12:10:00 {ROW}\n12:20:00 {ROW}\nAverage: {ROW}\n")
    assert read.disk["interval_s"].tolist() == [600, 600]
    assert read.disk["time"].iloc[0] == pd.Timestamp("2026-11-20 12:10:00")
    assert read.averages["disk"]["ios_per_s"].tolist() == [306]
    assert read.disk["ios_per_s"].tolist() == [306, 306]
    assert read.counts == {"banner": 1, "header": 1, "row": 2, "summary": 1}


LABELS = """Gemideld:|Сярэдняе:|Průměr:|Middel:|Durchschn.:|Meznombro:|Media:|Batezbestekoa:|Keskiarvo:|Moyenne :|Moyenne\u202f:
Medie:|Prosjek:|Átlag:|Rata-rata:|平均値:|საშუალო:|평균:|Орточо:|Vidēji:|Medja:|Gj.snitt:|Gemiddeld:|Średnia:|Média:|Среднее:
Priemer:|Просек:|Genomsnitt:|Ortalama:|Середнє:|Trung bình:|平均时间:|平均時間：|Zusammenfassung:|Résumé:|Özet:|总计：|サマリ:|Tổng kết:|Summary"""


@pytest.mark.parametrize("label", LABELS.replace("\n", "|").split("|"))
def test_averages_in_every_language(label: str):
    fs = "100 20 16.67 20.00 1000 200 16.67 /srv/my data"
    text = (
        f"{BANNER}\n\n12:00:00 {HEADER}\n12:10:00 {ROW}\n{label:<11}{ROW}\n\n"
        "12:00:00  pswpin/s pswpout/s\n12:10:00 1.00 2.00\n"
        f"{label} 3.00 4.00\n\n"
        f"12:00:00 MBfsfree MBfsused %fsused %ufsused Ifree Iused %Iused FILESYSTEM\n12:10:00 {fs}\n{label} {fs}\n"
    )
    read = reading(text)
    assert read.averages["disk"]["device"].tolist() == ["sda"]
    assert read.averages["swapping"]["pages_out_per_s"].tolist() == [4]
    assert read.averages["filesystem"]["filesystem"].tolist() == ["/srv/my data"]
    assert read.tables["filesystem"]["free_kb"].tolist() == [100 * 1024]
    assert (len(read.disk), read.unread) == (1, [])


@pytest.mark.parametrize(
    ("heading", "labels"),
    [
        ("Summary:", ("Minimum:", "Maximum:", "Average:")),
        ("Zusammenfassung:", ("Minimum:", "Maximum:", "Durchschn.:")),
        ("Résumé :", ("Minimum :", "Maximum :", "Moyenne :")),
        ("Сводка:", ("Минимум:", "Максимум:", "Среднее:")),
    ],
)
def test_x_ends_a_section_with_minimum_maximum_and_average(heading: str, labels: tuple[str, ...]):
    block = "".join(f"{label} {ROW.replace('306.00', f'{n}.00')}\n" for n, label in enumerate(labels, 1))
    block += "".join(
        f"{label} {ROW.replace('306.00', f'{n}.00').replace('sda', 'sdb')}\n"
        for n, label in enumerate(labels, 4)
    )
    read = reading(f"{BANNER}\n\n12:00:00 {HEADER}\n12:10:00 {ROW}\n\n{heading} {HEADER}\n{block}")
    average = read.averages["disk"]
    assert dict(zip(average["device"], average["ios_per_s"], strict=True)) == {"sda": 3, "sdb": 6}
    assert len(read.disk) == 1
    assert (read.counts["summary"], read.unread) == (6, [])


def test_live_sar_repeats_the_header_above_its_averages():
    live = f"12:00:00 {HEADER}\n12:00:01 {ROW}\n\n12:00:00 proc/s cswch/s\n12:00:01 1.00 2.00\n\n"
    end = f"Average: {HEADER}\nAverage: {ROW}\n\nAverage: proc/s cswch/s\nAverage: 3.00 4.00\n"
    read = reading(f"{BANNER}\n\n{live}{live.replace('0:01', '0:02').replace('0:00', '0:01')}{end}")
    assert read.disk["report"].tolist() == read.tables["system"]["report"].tolist() == [0, 1]
    assert read.disk["interval_s"].tolist() == [1, 1]
    assert read.averages["system"]["context_switches_per_s"].tolist() == [4]
    assert not read.unread


def test_averages_alone():
    read = reading("16:40:00 pswpin/s pswpout/s\nAverage: 171.72 76.47\n")
    assert not read.tables
    assert read.averages["swapping"]["pages_in_per_s"].tolist() == [171.72]


def test_a_header_repeated_on_a_terminal():
    text = f"{BANNER}\n\n12:00:00 {HEADER}\n12:00:10 {ROW}\n12:00:20 {ROW}\n\n12:00:20 {HEADER}\n12:00:30 {ROW}\n"
    read = reading(text)
    assert read.disk["report"].tolist() == [0, 1, 2]
    assert read.disk["interval_s"].tolist() == [10, 10, 10]


def test_restart_begins_a_segment_and_comments_are_none_of_the_rows():
    text = (
        f"{BANNER}\n\n12:00:00 {HEADER}\n12:10:00 {ROW}\n12:15:00     COM backup; started 1 2 3 4 5 6 7\n12:20:00 {ROW}\nAverage: {ROW}\n\n"
        f"12:25:00     LINUX RESTART\t(2 CPU)\n\n12:30:00 {HEADER}\n12:40:00 {ROW}\n"
    )
    read = reading(text)
    assert read.disk["segment"].tolist() == [0, 0, 1]
    assert read.disk["report"].tolist() == [0, 1, 0]
    assert read.disk["interval_s"].tolist() == [600, 600, 600]
    assert read.counts["banner"] == 3
    assert not read.unread


def test_the_clock_goes_on_after_a_restart():
    text = f"{BANNER}\n\n23:40:00 {HEADER}\n23:50:00 {ROW}\n\n00:05:00     LINUX RESTART\n\n00:10:00 {HEADER}\n00:20:00 {ROW}\n"
    assert reading(text).disk["time"].tolist() == [
        pd.Timestamp("2026-11-20 23:50:00"),
        pd.Timestamp("2026-11-21 00:20:00"),
    ]


@pytest.mark.parametrize("is_american", [False, True])
def test_noon_midnight_and_the_day_after(is_american: bool):
    times = [0, 600, 12 * 3600, 12 * 3600 + 600, 86400 - 600, 86400, 86400 + 600]
    samples = tuple((clock(s, is_american), "sda", (1.0,) * 7) for s in times[1:])
    text, lines = write([Section(DISK[1:], samples, "DEV")] * 2, clock(times[0], is_american), BANNER)
    disk = reading(text).disk
    expected = [pd.Timestamp("2026-11-20") + pd.Timedelta(seconds=s) for s in times[1:]]
    assert disk["time"].tolist() == expected * 2
    assert disk["line"].tolist() == lines[0] + lines[1]
    assert disk["report"].tolist() == list(range(6)) * 2


def test_a_file_whose_header_is_of_the_day_before():
    text = f"{BANNER}\n\n23:50:00 {HEADER}\n00:00:00 {ROW}\n00:10:00 {ROW}\n"
    disk = reading(text).disk
    assert disk["time"].iloc[0] == pd.Timestamp("2026-11-21")
    assert disk["interval_s"].tolist() == [600, 600]


@pytest.mark.parametrize(
    ("header", "rows"),
    [
        ("12:24:01 PM", "12:34:01 PM"),
        ("12:24:01", "12:34:01"),
        ("12時24分01秒", "12時34分01秒"),
        ("12시 24분 01초", "12시 34분 01초"),
        ("12.24.01", "12.34.01"),
        ("12:24:01 p. m.", "12:34:01 p. m."),
        ("12:24:01 PM", "12:34:01"),
        ("12:24:01", "12:34:01 PM"),
    ],
)
def test_clocks_of_all_locales(header: str, rows: str):
    read = reading(f"{BANNER}\n\n{header} {HEADER}\n{rows} {ROW}\n")
    assert read.disk["time"].tolist() == [pd.Timestamp("2026-11-20 12:34:01")]
    assert read.disk["interval_s"].tolist() == [600]


def test_rows_whose_clocks_were_cut_away():
    read = reading(f"{HEADER}\n{ROW}\n{ROW.replace('sda', 'sdb')}\n{ROW}\n")
    assert read.disk["device"].tolist() == ["sda", "sdb", "sda"]
    assert read.disk["report"].tolist() == [0, 0, 1]
    assert read.disk["time"].isna().all()


def test_sensors_usb_and_batteries_keep_their_words():
    text = (
        f"{BANNER}\n\n"
        "12:00:00     FAN       rpm      drpm                   DEVICE\n12:10:00       1   1200.00    200.00       it8718-isa-0290\n\n"
        "12:00:00     BAT      %cap   cap/min status\n12:10:00       0     79.00     -0.50 Not charging\n\n"
        "12:00:00     BUS  idvendor    idprod  maxpower manufact                product\n"
        "12:10:00       1      1d6b         2         0 Linux Foundation        2.0 root hub\n"
        "12:10:00       2      46d       c52b        98 Logitech                USB Receiver\n"
        "Summary:       1      1d6b         2         0 Linux Foundation        2.0 root hub\n"
    )
    read = reading(text)
    assert read.tables["fan"][["fan", "chip"]].to_numpy().tolist() == [["1", "it8718-isa-0290"]]
    assert read.tables["fan"]["speed_rpm"].tolist() == [1200]
    assert read.tables["battery"]["status"].tolist() == ["Not charging"]
    usb = read.tables["usb"]
    assert usb["manufacturer"].tolist() == ["Linux Foundation", "Logitech"]
    assert usb["product"].tolist() == ["2.0 root hub", "USB Receiver"]
    assert usb["vendor_id"].tolist() == ["1d6b", "46d"]
    assert usb["max_power_ma"].tolist() == [0, 98]
    assert len(read.averages["usb"]) == 1
    assert not read.unread


USB = ("12:00:00     BUS  idvendor    idprod  maxpower manufact                product", "%-23s %s")
OLD_USB = (
    "12:00:00     BUS  idvendor    idprod  maxpower                manufact"
    "                                         product",
    "%23s %47s",
)


@pytest.mark.parametrize(("header", "form"), [USB, OLD_USB], ids=["from 12.1", "before"])
@pytest.mark.parametrize("strip", [str, str.rstrip], ids=["padded", "stripped"])
def test_usb_devices_without_a_name_are_read_by_their_place(header, form, strip):
    names = [("Yubico", ""), ("", "Mass Storage"), ("", ""), ("Acme", "Hub 3")]
    rows = [
        strip(f"12:10:00       {bus}      1a40       801       {bus}00 {form % pair}")
        for bus, pair in enumerate(names, 1)
    ]
    # the last one's power is cut off, or another number
    rows += [
        "12:20:00       1      1a40       801       10",
        "12:20:00       1      1a40       801          100",
    ]
    read = reading("\n".join([BANNER, "", header, *rows, ""]))
    usb = read.tables["usb"]
    assert list(zip(usb["manufacturer"], usb["product"], strict=True)) == names
    assert usb["max_power_ma"].tolist() == [100, 200, 300, 400]
    assert read.unread


def test_an_average_whose_beginning_was_written_over():
    header = "12:00:00 DEV tps rkB/s wkB/s areq-sz aqu-sz await svctm %util"
    rows = [f"{label}: sd{disk} 1.00 8.00 0.00 8.00 0.01 2.00 1.00 0.10" for label, disk in (
        ("...rage", "a"), ("Average", "b"), ("..imum", "c"), ("...rages", "d"),
    )]  # fmt: skip
    read = reading("\n".join([BANNER, "", header, *rows, ""]))
    assert read.averages["disk"]["device"].tolist() == ["sda", "sdb"]
    assert len(read.unread) == 2


def test_the_long_cpu_form_has_the_meaning_of_the_short_one():
    text = (
        f"{BANNER}\n\n12:00:00 CPU %usr %nice %sys %iowait %steal %irq %soft %guest %gnice %idle\n"
        "12:10:00 all 10.00 2.00 3.00 4.00 5.00 1.00 0.50 6.00 0.25 68.25\n"
    )
    cpu = reading(text).tables["cpu"].iloc[0]
    assert (cpu["system_pct"], cpu["user_pct"], cpu["nice_pct"]) == (4.5, 16.0, 2.25)


def test_interrupts_by_cpu_become_a_row_each():
    read = reading(
        f"{BANNER}\n\n12:00:00 INTR all CPU0 CPU1\n12:10:00 9 3.00 1.00 2.00\n12:10:00 sum 3.00 1.00 2.00\n"
    )
    table = read.tables["interrupts"]
    assert table["interrupt"].tolist() == ["9"] * 3 + ["sum"] * 3
    assert table["cpu"].tolist() == ["all", "0", "1"] * 2
    assert table["line"].tolist() == [4, 4, 4, 5, 5, 5]


@pytest.mark.parametrize(
    ("words", "row", "key"),
    [
        ("%foo-10 bar/s baz/s", "1.00 2.00 3.00", None),
        ("GPU busy/s mem/s", "card0 2.00 3.00", "GPU"),
        ("busy/s mem/s GPU", "2.00 3.00 card0", "GPU"),
    ],
)
def test_a_section_nobody_knows_keeps_its_own_words(words: str, row: str, key: str | None):
    read = reading(f"{BANNER}\n\n12:00:00 {words}\n12:10:00 {row}\n12:20:00 {row}\nAverage: {row}\n")
    (family,) = read.tables
    assert family == "unknown_" + words.split()[0].strip("%").replace("-", "_").replace("/", "_").lower()
    table = read.tables[family]
    assert table["line"].tolist() == [4, 5]
    values = [word for word in words.split() if word != key]
    assert list(table[values].iloc[0]) == [float(cell) for cell in row.split() if cell[0].isdigit()]
    assert key is None or table[key].tolist() == ["card0"] * 2
    assert "does not know" in read.remarks
    assert not read.unread


@pytest.mark.parametrize(
    ("words", "row"),
    [
        (("UID", "PID", "kB_rd/s", "Command"), ["0", "1", "2.00", "init"]),
        (("a/s", "b/s"), ["1.00"]),
        (("a/s", "a/s"), ["1.00", "2.00"]),
        (("nothing", "technical"), ["1.00", "2.00"]),
        (("a/s", "b", "c/s"), ["1.00", "x", "2.00"]),
        ((), []),
    ],
)
def test_what_is_no_unknown_section(words: tuple[str, ...], row: list[str]):
    assert unknown_section(words, row) is None


def test_mpstat_is_told_by_where_steal_stands():
    header = "CPU %usr %nice %sys %iowait %irq %soft %steal %guest %gnice %idle"
    row = "all 2.00 0.00 2.00 0.00 1.00 1.00 84.00 0.00 0.00 10.00"
    read = reading(f"{BANNER}\n\n12:00:00 {header}\n12:00:01 {row}\n12:00:02 {row}\nAverage: {row}\n")
    assert read.sections[0].format == "mpstat"
    assert read.tables["cpu"]["interval_s"].tolist() == [1, 1]
    assert not read.tables["cpu"]["since_boot"].any()
    once = reading(f"{BANNER}\n\n12:00:00 {header}\n12:00:00 {row}\n").tables["cpu"]
    assert once["since_boot"].tolist() == [True]
    assert np.isnan(once["interval_s"]).all()


def test_human_values_in_sar():
    read = reading(
        f"{BANNER}\n\n12:00:00 {HEADER}\n12:10:00  sda  306.00  3.0M  1.5k  10.1k  0.03  0.08  2.0%\n"
    )
    assert read.disk["read_kb_per_s"].tolist() == [3 * 1024]
    assert read.disk["write_kb_per_s"].tolist() == [1.5]
    assert read.disk["util_pct"].tolist() == [2.0]


def test_frames_of_sections_with_the_same_clocks_can_be_changed_apart():
    text = f"""{BANNER}

12:00:00       proc/s   cswch/s
12:10:00         1.00      7.00
12:20:00         2.00      8.00

12:00:00     pswpin/s pswpout/s
12:10:00         0.00      1.00
12:20:00         0.00      2.00
"""
    capture = iodiag.read(io.BytesIO(text.encode()), name="sar")
    one, other = capture.tables["system"], capture.tables["swapping"]
    before = other.copy()
    assert one["time"].tolist() == other["time"].tolist()
    for column in ("time", "interval_s", "report", "segment"):
        one.loc[0, column] = one.loc[1, column]
    pd.testing.assert_frame_equal(other, before)
    assert not any(np.shares_memory(one[name].array, other[name].array) for name in ("interval_s", "report"))
    assert not np.shares_memory(one["time"].array.view("i8"), other["time"].array.view("i8"))


def test_a_word_that_no_row_repeats_is_no_zone():
    header = "10:00:00 ZONE       tps      rtps      wtps   bread/s   bwrtn/s\n"
    assert "io" not in reading(f"{header}10:00:01 5.00 3.00 2.00 24.00 16.00\n").tables


def _of_india(begin_s: int, header: str, row: str, *, is_live: bool = False) -> str:
    """A day and three hours of a section, with a clock of twelve hours without halves."""

    def shown(seconds: int) -> str:
        return f"{seconds // 3600 % 12 or 12:02}:{seconds // 60 % 60:02}:{seconds % 60:02}  IST"

    lines = [f"{shown(begin_s)}{header}"]
    for end in range(begin_s + 600, begin_s + 27 * 3600, 600):
        lines.append(f"{shown(end)}{row}")
        if is_live:
            lines += ["", f"{shown(end)}{header}"]
    return "\n".join([*lines, "", ""])


@pytest.mark.parametrize("is_live", [False, True])
def test_a_zone_behind_clocks_of_twelve_hours(is_live: bool):
    banner = "Linux 3.11.0 (db1) \tThursday 04 September 2014 \t_i686_\t(2 CPU)\n\n"
    cpu = (
        "     CPU     %user     %nice   %system   %iowait    %steal     %idle",
        "   all" + "     10.00" * 6,
    )
    queue = (
        "   runq-sz  plist-sz   ldavg-1   ldavg-5  ldavg-15",
        "         1       431      1.67      1.22      0.97",
    )
    text = banner + "".join(_of_india(5, *section, is_live=is_live) for section in (cpu, queue))
    read = reading(text)
    assert not read.unread
    for family in ("cpu", "queue"):
        times = read.tables[family]["time"]
        assert times.diff().dropna().unique().tolist() == [pd.Timedelta("10min")]
        assert [str(times.iloc[at]) for at in (0, 71, -1)] == [
            "2014-09-04 00:10:05",
            "2014-09-04 12:00:05",
            "2014-09-05 02:50:05",
        ]
    assert "neither AM nor PM" in read.remarks
    zoned = reading(text.replace("  IST", " PM HKT").replace("12:", "01:"))
    assert "neither AM" not in zoned.remarks
    assert (zoned.tables["cpu"]["time"].dt.hour >= 12).all()


def test_a_start_of_the_host_that_was_not_printed_shortens_no_other_sample():
    """Before 4.1.5 sar prints no RESTART: the header's clock alone tells when counting began anew."""
    text = """Linux 2.4.20-8 (h) 	06/10/03

00:05:06          tps      rtps      wtps   bread/s   bwrtn/s
00:15:06        27.41      9.42     17.99    277.34   1350.34
00:25:06        55.70     18.48     37.22   1495.57   1383.44
Average:        41.60     14.27     27.33   1003.95   1749.43

00:46:36          tps      rtps      wtps   bread/s   bwrtn/s
00:56:36        55.70     18.48     37.22   1495.57   1383.44
Average:        41.60     14.27     27.33   1003.95   1749.43
"""
    assert iodiag.read(io.BytesIO(text.encode())).tables["io"]["interval_s"].tolist() == [600, 600, 600]


def test_a_time_right_below_itself_is_of_the_next_section():
    """Sections without items have one row per time; the header between two of them is lost."""
    text = """Linux 2.6.18-8.el5 (h) 	05/14/07

00:05:06       proc/s
00:15:06         0.92
00:15:06      1194.71
00:25:06       975.33
"""
    read = reading(text)
    assert read.tables["system"]["processes_per_s"].tolist() == [0.92]
    assert read.unread == [5, 6]


@pytest.mark.parametrize(
    ("begin_s", "hours"),
    [(1, (0, 9)), (9 * 3600, (9, 18)), (12 * 3600 + 1200, (12, 22))],
    ids=["an archive", "a morning", "behind noon"],
)
def test_clocks_of_twelve_hours_that_lost_their_halves(begin_s: int, hours: tuple[int, int]):
    def shown(seconds: int) -> str:
        return f"{seconds // 3600 % 12 or 12:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"

    row = "        27.41      9.42     17.99    277.34   1350.34\n"
    rows = [f"{shown(begin_s + 600 * n)}{row}" for n in range(1, 60)]
    header = f"{shown(begin_s)}          tps      rtps      wtps   bread/s   bwrtn/s\n"
    read = reading(f"Linux 3.10.0 (h) \t11/20/26 \t_x86_64_\t(4 CPU)\n\n{header}{''.join(rows)}")
    table = read.tables["io"]
    assert (table["time"].dt.hour.iloc[0], table["time"].dt.hour.iloc[-1]) == hours
    assert "neither AM nor PM" in read.remarks
    assert table["interval_s"].tolist() == [600.0] * 59


@pytest.mark.parametrize(("header", "is_average"), [("02:43:55", True), ("02:43:54", False)])
@pytest.mark.parametrize(
    "banner", ["", "Linux 5.4.0 (h) \t10/04/23 \t_x86_64_\t(4 CPU)\n\n"], ids=["cut", "banner"]
)
def test_mpstat_without_an_interval_has_the_clock_of_its_row_in_its_header(header, is_average, banner):
    text = f"{banner}{header}     CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal  %guest  %gnice   %idle\n"
    text += (
        "02:43:55     all    6.38    0.00    0.14    0.11    0.00    0.05    0.00    0.00    0.00   93.31\n"
    )
    cpu = iodiag.read(io.BytesIO(text.encode())).tables["cpu"]
    assert cpu["since_boot"].tolist() == [is_average]
