"""The structures inside sa files: which counters each activity keeps, by generation.

A field that sar prints as it stands bears the header token that it is printed under, so that
`raw_columns.sar` gives its column and unit; fields from which something is computed, and names, have
names of their own. From 0x2175 on the file counts the integers of each width, and fields are found
by their place among them. Before, the places were those of C structures with their alignment;
newer releases only appended, so that the declared size tells how many fields there are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from iodiag.formats.sa._header import Activity, Order, padded
from iodiag.formats.sa._layout import FieldRun, fields_of, view, width

_NAMES = """
cpu, tasks, interrupts, swapping, paging, io, memory, kernel tables, queue,
serial, disk, network, network errors, nfs client, nfs server, sockets, ip, ip errors, icmp,
icmp errors, tcp, tcp errors, udp, sockets6, ip6, ip6 errors, icmp6, icmp6 errors, udp6,
cpu frequency, fan, temperature, voltage, hugepages, weighted cpu frequency, usb, filesystem, fibre channel,
softnet, pressure cpu, pressure io, pressure memory, battery
"""
NAMES = dict(enumerate(re.split(r",\s+", _NAMES.strip()), 1))
"""Activity numbers of sysstat, and the section of `raw_columns.sar` that each is printed in."""

_CPU = "user nice system idle iowait steal irq softirq guest guest_nice"
_IO_TOTALS = "tps rtps wtps bread/s bwrtn/s"
_MEMORY = (
    "kbmemfree kbbuffers kbcached total_kb kbswpfree swap_total_kb kbswpcad kbcommit kbactive kbinact"
    " kbdirty kbanonpg kbslab kbkstack kbpgtbl kbvmused kbavail kbshmem"
)
_HUGE = "kbhugfree total_kb kbhugrsvd kbhugsurp"
_KTABLES = "file-nr inode-nr dentunusd pty-nr"
_LOADS = "ldavg-1 ldavg-5 ldavg-15"
_SERIAL = "rcvin/s xmtin/s framerr/s prtyerr/s brk/s ovrun/s number"
_NETWORK = "rxpck/s txpck/s rxbyt/s txbyt/s rxcmp/s txcmp/s rxmcst/s"
_ERRORS = "coll/s rxerr/s txerr/s rxdrop/s txdrop/s rxfifo/s txfifo/s rxfram/s txcarr/s"
_FC = "fch_rxf/s fch_txf/s fch_rxw/s fch_txw/s"
_FS = "blocks free available files files_free"
_TICKS = "rd_ticks wr_ticks tot_ticks rq_ticks major minor"

_LONGS = {
    4: "pswpin/s pswpout/s",
    5: "pgpgin/s pgpgout/s fault/s majflt/s pgfree/s pgscank/s pgscand/s pgsteal/s pgprom/s pgdem/s",
    19: (
        "imsg/s omsg/s iech/s iechr/s oech/s oechr/s itm/s itmr/s otm/s otmr/s"
        " iadrmk/s iadrmkr/s oadrmk/s oadrmkr/s"
    ),
    20: (
        "ierr/s oerr/s idstunr/s odstunr/s itmex/s otmex/s iparmpb/s oparmpb/s isrcq/s osrcq/s"
        " iredir/s oredir/s"
    ),
    21: "active/s passive/s iseg/s oseg/s",
    22: "atmptf/s estres/s retrseg/s isegerr/s orsts/s",
    23: "idgm/s odgm/s noport/s idgmerr/s",
    27: (
        "imsg6/s omsg6/s iech6/s iechr6/s oechr6/s igmbq6/s igmbr6/s ogmbr6/s igmbrd6/s ogmbrd6/s"
        " irtsol6/s ortsol6/s irtad6/s inbsol6/s onbsol6/s inbad6/s onbad6/s"
    ),
    28: (
        "ierr6/s idtunr6/s odtunr6/s itmex6/s otmex6/s iprmpb6/s oprmpb6/s"
        " iredir6/s oredir6/s ipck2b6/s opck2b6/s"
    ),
    29: "idgm6/s odgm6/s noport6/s idgmer6/s",
    30: "frequency",
}
"""Structures of unsigned longs alone, in all generations."""

_INTS = {
    14: "call/s retrans/s read/s write/s access/s getatt/s",
    15: "scall/s badcall/s packet/s udp/s tcp/s hit/s miss/s sread/s swrite/s saccess/s sgetatt/s",
    16: "totsck tcpsck tcp-tw udpsck rawsck ip-frag",
    24: "tcp6sck udp6sck raw6sck ip6-frag",
    39: "total/s dropd/s squeezd/s rx_rps/s flw_lim/s blg_len",
}
"""Structures of u32 alone, in all generations."""

_GROWN = {
    17: "irec/s fwddgm/s idel/s orq/s asmrq/s asmok/s fragok/s fragcrt/s",
    18: "ihdrerr/s iadrerr/s iukwnpr/s idisc/s odisc/s onort/s asmf/s fragf/s",
    25: "irec6/s fwddgm6/s idel6/s orq6/s asmrq6/s asmok6/s imcpck6/s omcpck6/s fragok6/s fragcr6/s",
    26: (
        "ihdrer6/s iadrer6/s iukwnp6/s i2big6/s idisc6/s odisc6/s inort6/s onort6/s asmf6/s fragf6/s"
        " itrpck6/s"
    ),
}
"""Structures of unsigned longs up to revision 0x8a, of u64 from 0x8b on."""


class CountedStruct(NamedTuple):
    """A structure of 0x2175: u64 (or doubles), unsigned long and u32 fields, then characters.

    `magics` are the revisions that have these fields. `tail` lists `name:bytes`.
    """

    magics: tuple[int, ...]
    quads: str = ""
    longs: str = ""
    ints: str = ""
    tail: str = ""
    quad_code: str = "u8"


_COUNTED: dict[int, tuple[CountedStruct, ...]] = {
    **{kind: (CountedStruct((0x8A,), longs=names),) for kind, names in _LONGS.items()},
    **{kind: (CountedStruct((0x8A,), ints=names),) for kind, names in _INTS.items()},
    **{kind: (CountedStruct((0x8B, 0x8C), names),) for kind, names in _GROWN.items()},
    1: (CountedStruct((0x8A, 0x8B), _CPU),),
    2: (CountedStruct((0x8A, 0x8B), "cswch/s", "proc/s"),),
    3: (CountedStruct((0x8A, 0x8B), "intr/s"), CountedStruct((0x8C,), ints="intr/s", tail="name:8")),
    6: (CountedStruct((0x8B,), f"{_IO_TOTALS} dtps bdscd/s"),),
    7: (CountedStruct((0x8A, 0x8B), _MEMORY),),
    8: (CountedStruct((0x8A, 0x8B), _KTABLES),),
    9: (CountedStruct((0x8B, 0x8C), "runq-sz blocked plist-sz", ints=_LOADS),),
    10: (CountedStruct((0x8A, 0x8B), ints=_SERIAL),),
    11: (
        CountedStruct(
            (0x8B, 0x8C), "tps wwn wwn_more", "rd_sec/s wr_sec/s dc_sec/s", f"{_TICKS} dc_ticks part"
        ),
    ),
    12: (CountedStruct((0x8C, 0x8D), _NETWORK, ints="speed", tail="name:16 duplex:1"),),
    13: (CountedStruct((0x8B, 0x8C), _ERRORS, tail="name:16"),),
    31: (CountedStruct((0x8A,), "rpm lowest", tail="chip:20", quad_code="f8"),),
    32: (CountedStruct((0x8A,), "degC lowest highest", tail="chip:20", quad_code="f8"),),
    33: (CountedStruct((0x8A,), "inV lowest highest", tail="chip:20", quad_code="f8"),),
    34: (CountedStruct((0x8A, 0x8B), _HUGE),),
    35: (CountedStruct((0x8A, 0x8B), "time_in_state", "frequency"),),
    36: (CountedStruct((0x8A,), ints="bus vendor product_number power", tail="manufacturer:24 product:48"),),
    37: (CountedStruct((0x8A, 0x8B), _FS, tail="name:128 mountpoint:128"),),
    38: (CountedStruct((0x8A,), longs=_FC, tail="name:16"),),
    40: (CountedStruct((0x8A,), "%scpu", "%scpu-10 %scpu-60 %scpu-300"),),
    41: (CountedStruct((0x8A,), "%sio %fio", "%sio-10 %sio-60 %sio-300 %fio-10 %fio-60 %fio-300"),),
    42: (CountedStruct((0x8A,), "%smem %fmem", "%smem-10 %smem-60 %smem-300 %fmem-10 %fmem-60 %fmem-300"),),
    43: (CountedStruct((0x8A,), tail="name:1 capacity:1 status:1"),),
}


def _name(at: int, size: int = 16) -> FieldRun:
    return FieldRun(f"S{size}", at, size, "name")


def _sensor(chip_at: int, names: str) -> tuple[FieldRun, ...]:
    return FieldRun("f8", 0, 8, names), FieldRun("S20", chip_at, 20, "chip")


_PLACED: dict[tuple[int, int], tuple[FieldRun, ...]] = {
    **{(kind, 0x8A): (FieldRun("ulong", 0, 8, names),) for kind, names in (_LONGS | _GROWN).items()},
    **{(kind, 0x8A): (FieldRun("u4", 0, 4, names),) for kind, names in _INTS.items()},
    **{(kind, 0x8B): (FieldRun("u8", 0, 16, names),) for kind, names in _GROWN.items()},
    (1, 0x8A): (FieldRun("u8", 0, 16, _CPU),),
    (2, 0x8A): (FieldRun("u8", 0, 16, "cswch/s"), FieldRun("ulong", 16, 8, "proc/s")),
    (3, 0x8A): (FieldRun("u8", 0, 16, "intr/s"),),
    (6, 0x8B): (FieldRun("u8", 0, 8, _IO_TOTALS),),
    (7, 0x8A): (FieldRun("ulong", 0, 8, _MEMORY),),
    (8, 0x8A): (FieldRun("u4", 0, 4, _KTABLES),),
    (9, 0x8A): (FieldRun("ulong", 0, 8, "runq-sz"), FieldRun("u4", 8, 4, f"{_LOADS} plist-sz")),
    (9, 0x8B): (FieldRun("ulong", 0, 8, "runq-sz blocked"), FieldRun("u4", 16, 4, f"{_LOADS} plist-sz")),
    (10, 0x8A): (FieldRun("u4", 0, 4, _SERIAL),),
    (11, 0x8A): (
        FieldRun("u8", 0, 16, "rd_sec/s wr_sec/s"),
        FieldRun("ulong", 32, 8, "rd_ticks wr_ticks tot_ticks rq_ticks tps"),
        FieldRun("u4", 72, 4, "major minor"),
    ),
    (11, 0x8B): (
        FieldRun("u8", 0, 8, "tps"),
        FieldRun("ulong", 16, 8, "rd_sec/s wr_sec/s"),
        FieldRun("u4", 32, 4, _TICKS),
    ),
    (12, 0x8A): (FieldRun("ulong", 0, 8, _NETWORK), _name(56)),
    (12, 0x8B): (FieldRun("u8", 0, 16, _NETWORK), _name(112)),
    (12, 0x8C): (
        FieldRun("u8", 0, 16, _NETWORK),
        FieldRun("u4", 112, 4, "speed"),
        _name(116),
        FieldRun("u1", 132, 1, "duplex"),
    ),
    (13, 0x8A): (FieldRun("ulong", 0, 8, _ERRORS), _name(72)),
    (13, 0x8B): (FieldRun("u8", 0, 16, _ERRORS), _name(144)),
    (31, 0x8A): _sensor(16, "rpm lowest"),
    (32, 0x8A): _sensor(24, "degC lowest highest"),
    (33, 0x8A): _sensor(24, "inV lowest highest"),
    (34, 0x8A): (FieldRun("ulong", 0, 8, "kbhugfree total_kb"),),
    (35, 0x8A): (FieldRun("u8", 0, 8, "time_in_state"), FieldRun("ulong", 16, 8, "frequency")),
    (36, 0x8A): (
        FieldRun("u4", 0, 4, "bus vendor product_number power"),
        FieldRun("S24", 16, 24, "manufacturer"),
        FieldRun("S48", 40, 48, "product"),
    ),
    (37, 0x8A): (FieldRun("u8", 0, 16, _FS), _name(80, 72)),
    (38, 0x8A): (FieldRun("ulong", 0, 8, _FC), _name(32)),
}

_IO_BY_SIZE = {20: (FieldRun("u4", 0, 4, _IO_TOTALS),), 80: (FieldRun("u8", 0, 16, _IO_TOTALS),)}
_FS_WITH_MOUNTPOINT = (FieldRun("u8", 0, 16, _FS), _name(80, 128), FieldRun("S128", 208, 128, "mountpoint"))


def structure(activity: Activity, order: Order, long_bytes: int) -> np.dtype[np.void] | None:
    """A view of one structure as the file declares it, or None for a revision that is not known.

    Fields that the declared size or counts do not reach are left out.
    """
    if activity.at is not None:
        places = list(fields_of(activity.fields))
    elif activity.types:
        places = [(name, code, at) for name, (code, at) in _counted_places(activity, long_bytes).items()]
    else:
        places = list(_fixed_places(activity))
    return view(places, order, long_bytes, activity.size) if places else None


def _counted_places(activity: Activity, long_bytes: int) -> Mapping[str, tuple[str, int]]:
    """Type and offset of each field of a structure that counts its own integers."""
    known = (c for c in _COUNTED.get(activity.id, ()) if activity.magic in c.magics)
    fields, types = next(known, None), activity.types
    if fields is None or types is None:
        return {}
    slot, end = 8, padded(types)
    if end > activity.size and long_bytes == 4:
        # 32-bit writers of 12.3.3 to 12.4.1 and 12.5.1 did not pad the pressure structures.
        slot, end = 4, 8 * types[0] + 4 * (types[1] + types[2])
    if end > activity.size:
        return {}
    places: dict[str, tuple[str, int]] = {}
    groups = (
        (fields.quads, fields.quad_code, 0, 8, types[0]),
        (fields.longs, "ulong", 8 * types[0], slot, types[1]),
        (fields.ints, "u4", 8 * types[0] + slot * types[1], 4, types[2]),
    )
    for names, code, start, step, count in groups:
        for number, name in enumerate(names.split()[:count]):
            places[name] = (code, start + step * number)
    for entry in fields.tail.split():
        name, size = entry.split(":")
        if end + int(size) > activity.size:
            break
        places[name] = (f"S{size}" if size != "1" else "u1", end)
        end += int(size)
    return places


def _fixed_places(activity: Activity) -> Iterator[tuple[str, str, int]]:
    """Each field of a C structure of an old generation, as far as the declared size reaches."""
    runs = _PLACED.get((activity.id, activity.magic), ())
    if runs and activity.id == 37 and activity.size >= 336:
        # 11.1.4 lengthened the name from 72 bytes to 128 without a new magic.
        runs = _FS_WITH_MOUNTPOINT
    if (activity.id, activity.magic) == (6, 0x8A):
        # so did RHEL 6.3 the counters from 32 bits to 64: only the size tells
        runs = _IO_BY_SIZE.get(activity.size, ())
    for name, code, at in fields_of(runs):
        if at + width(code) <= activity.size:
            yield name, code, at
