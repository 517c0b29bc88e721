"""The table of sar's words: whole, consistent with the registry, and found from any header."""

from __future__ import annotations

import random

import pandas as pd
import pytest

from iodiag.formats.raw_columns.sar import SECTIONS, combine_long_cpu, find_section
from iodiag.model.columns import KEY_COLUMNS, LABEL_COLUMNS, find
from iodiag.table.table import Table

HEADERS = {
    "cpu": ["CPU %user %nice %system %iowait %steal %idle", "CPU %usr %sys %irq %soft %guest %gnice %idle"],
    "tasks": ["proc/s cswch/s", "cswch/s", "proc/s"],
    "interrupts": ["INTR intr/s", "INTR all CPU0 CPU1 CPU127", "CPU0 INTR"],
    "interrupts per cpu": ["CPU i000/s i011/s i255/s"],
    "swapping": ["pswpin/s pswpout/s"],
    "paging": [
        "pgpgin/s pgpgout/s fault/s majflt/s",
        "pgpgin/s pgsteal/s %vmeff",
        "pgpgin/s activepg inatarpg",
    ],
    "io": ["tps rtps wtps bread/s bwrtn/s", "tps rtps wtps dtps bread/s bwrtn/s bdscd/s"],
    "memory changes": ["frmpg/s bufpg/s campg/s", "frmpg/s shmpg/s bufpg/s campg/s"],
    "memory": [
        "kbmemfree kbmemused %memused kbbuffers kbcached kbswpfree kbswpused %swpused kbswpcad",
        "kbmemfree kbavail kbmemused %memused kbbuffers kbcached kbcommit %commit kbactive kbdirty kbshmem",
    ],
    "swap": ["kbswpfree kbswpused %swpused kbswpcad %swpcad"],
    "hugepages": ["kbhugfree kbhugused %hugused kbhugrsvd kbhugsurp"],
    "kernel tables": ["dentunusd file-nr inode-nr pty-nr", "dentunusd file-sz inode-sz super-sz %super-sz"],
    "queue": ["runq-sz plist-sz ldavg-1 ldavg-5 ldavg-15 blocked", "runq-sz plist-sz ldavg-1 ldavg-5"],
    "serial": ["TTY rcvin/s xmtin/s framerr/s", "TTY rcvin/s txmtin/s brk/s ovrun/s"],
    "disk": [
        "DEV tps sect/s",
        "DEV tps rd_sec/s wr_sec/s avgrq-sz avgqu-sz await svctm %util",
        "tps rkB/s wkB/s dkB/s areq-sz aqu-sz await %util DEV",
        "DEV tps",
    ],
    "network": ["IFACE rxpck/s txpck/s rxbyt/s txbyt/s", "rxpck/s rxkB/s txkB/s %ifutil IFACE"],
    "network errors": ["IFACE rxerr/s txerr/s coll/s rxdrop/s"],
    "nfs client": ["call/s retrans/s read/s write/s access/s getatt/s"],
    "nfs server": ["scall/s badcall/s packet/s udp/s tcp/s hit/s miss/s"],
    "tcp errors": ["atmptf/s estres/s retrans/s isegerr/s orsts/s", "atmptf/s retrseg/s"],
    "udp6": ["idgm6/s odgm6/s noport6/s idgmer6/s"],
    "fibre channel": ["fch_rxf/s fch_txf/s fch_rxw/s fch_txw/s FCHOST"],
    "softnet": ["CPU total/s dropd/s squeezd/s rx_rps/s flw_lim/s blg_len"],
    "node cpu": ["NODE %usr %nice %sys %iowait %irq %soft %steal %guest %gnice %idle"],
    "mpstat interrupts": ["CPU intr/s", "CPU 24/s 25/s NMI/s LOC/s", "CPU HI/s TIMER/s NET_TX/s IRQ_POLL/s"],
    "cpu frequency": ["CPU MHz"],
    "weighted cpu frequency": ["CPU wghMHz"],
    "fan": ["FAN rpm drpm DEVICE", "DEVICE FAN rpm drpm"],
    "temperature": ["TEMP degC %temp DEVICE"],
    "voltage": ["IN inV %in DEVICE"],
    "usb": ["BUS idvendor idprod maxpower manufact product"],
    "battery": ["BAT %cap cap/min status"],
    "filesystem": ["MBfsfree MBfsused %fsused %ufsused Ifree Iused %Iused FILESYSTEM", "MOUNTPOINT MBfsfree"],
    "pressure cpu": ["%scpu-10 %scpu-60 %scpu-300 %scpu"],
    "pressure io": ["%sio-10 %sio %fio-300 %fio"],
    "pressure memory": ["%smem-10 %fmem"],
    "process": ["PID minflt/s majflt/s %user %system nswap/s CPU"],
}


@pytest.mark.parametrize(
    ("name", "header"), [(name, line) for name, lines in HEADERS.items() for line in lines]
)
def test_a_header_finds_its_section_in_any_order(name: str, header: str) -> None:
    tokens = header.split()
    for _ in range(3):
        section = find_section(tokens)
        assert section is not None
        assert section.name == name
        assert all(section.knows(token) for token in tokens)
        random.Random(name).shuffle(tokens)


@pytest.mark.parametrize(
    "header",
    [
        "",
        "Device tps kB_read/s",
        "DEV",
        "IFACE %user %system",
        "one two three %idle",
        "USER PID %CPU %MEM COMMAND",
    ],
)
def test_other_headers_find_none(header: str) -> None:
    assert find_section(header.split()) is None


def test_words_of_later_releases_do_not_hide_a_section() -> None:
    section = find_section(["DEV", "tps", "rkB/s", "wkB/s", "newest/s"])
    assert section is not None
    assert section.name == "disk"
    assert not section.knows("newest/s")


def test_every_word_leads_to_a_column_of_the_registry() -> None:
    for section in SECTIONS:
        for token, target in section.columns.items():
            assert target is None or find(section.family_of(token), target[0]), (section.name, token)
        words = {KEY_COLUMNS.get(section.family), *LABEL_COLUMNS.get(section.family, ())}
        assert {*section.key_tokens.values(), *section.label_tokens.values()} <= words, section.name
        if section.spread:
            assert section.spread.key in words
            assert find(section.family, section.spread.column)


def test_tokens_that_are_items_name_them() -> None:
    named = {
        token: section.spread.item(token)
        for section in SECTIONS
        for token in ("all", "CPU12", "i000/s", "i011/s", "i1234/s", "idle")
        if section.spread and section.spread.item(token) is not None
    }
    assert named == {"all": "all", "CPU12": "12", "i000/s": "0", "i011/s": "11", "i1234/s": "1234"}


def test_the_long_cpu_form_gets_the_meaning_of_the_short_one() -> None:
    frame = pd.DataFrame(
        {
            "user_pct": [10.0, 20.0],
            "nice_pct": [1.0, 2.0],
            "system_pct": [5.0, 6.0],
            "irq_pct": [0.5, float("nan")],
            "softirq_pct": [1.5, float("nan")],
            "guest_pct": [3.0, float("nan")],
        }
    )
    combined = combine_long_cpu(Table.of(frame))
    # The second row came from the short form, which has no parts.
    assert combined["system_pct"].tolist() == [7.0, 6.0]
    assert combined["user_pct"].tolist() == [13.0, 20.0]
    assert combined["nice_pct"].tolist() == [1.0, 2.0]
    short = Table.of(frame[["user_pct", "system_pct"]])
    assert combine_long_cpu(short) is short
