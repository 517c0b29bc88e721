import io
import re
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import iodiag
from iodiag.errors import FormatError
from iodiag.formats.exports.sadf_xml import FORMAT, read
from iodiag.model.capture import Ledger, ParseNote, SampleTable, Section, Source
from property_tests import examples

SAMPLES = Path(__file__).parents[3] / "samples" / "sadf-xml"

QUEUE = '<queue runq-sz="2" plist-sz="139" ldavg-1="4.48" ldavg-5="3.46" ldavg-15="1.67" blocked="0"/>'


def document(*samples: str, head: str = "", root: str = "<sysstat>", restarts: str = "") -> str:
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n{head}{root}\n<host nodename="db1">\n'
        "<release>5.14.0</release>\n<number-of-cpus>4</number-of-cpus>\n<statistics>\n"
        + "\n".join(samples)
        + f"\n</statistics>\n<restarts>\n{restarts}\n</restarts>\n</host>\n</sysstat>\n"
    )


def sample(second: int, *sections: str, zone: str = 'utc="1" ') -> str:
    stamp = f'<timestamp date="2026-11-20" time="12:00:{second:02d}" {zone}interval="1">'
    return "\n".join([stamp, *sections, "</timestamp>"])


def items(text: str | bytes) -> list:
    data = text.encode() if isinstance(text, str) else text
    return list(read(Source("x.xml", data)))


def tables(text: str) -> dict[str, pd.DataFrame]:
    return {item.family: item.frame for item in items(text) if isinstance(item, SampleTable)}


def of_kind(found: list, kind: type) -> list:
    return [item for item in found if isinstance(item, kind)]


@pytest.mark.parametrize(
    ("section", "table", "wanted"),
    [
        ('<disk per="second"><disk-device dev="sda" tps="2.00" rd_sec="9.01" rkB="4.51" avgrq-sz="10.53" '
         'areq-sz="5.26" util-percent="3.00"/></disk>', "disk",
         {"device": "sda", "read_kb_per_s": 4.51, "request_size_kb": 5.26, "util_pct": 3}),
        ('<cpu-load><cpu number="all" user="1.00" system="2.00" idle="97.00"/></cpu-load>', "cpu",
         {"cpu": "all", "user_pct": 1, "system_pct": 2}),
        ('<io per="second"><tps>9.00</tps><io-reads rtps="5.00" bread="80.00"/></io>', "io",
         {"ios_per_s": 9, "reads_per_s": 5, "read_kb_per_s": 40}),
        ('<memory unit="kB"><memfree>10</memfree><memused-percent>1.50</memused-percent></memory>', "memory",
         {"free_kb": 10, "used_pct": 1.5}),
        ('<memory per="second" unit="kB"><swpfree>10</swpfree></memory>', "swap", {"free_kb": 10}),
        ('<interrupts><int-global per="second"><irq intr="sum" value="9.50"/></int-global></interrupts>',
         "interrupts", {"interrupt": "sum", "interrupts_per_s": 9.5}),
        ('<interrupts><int-global per="second"><irq intr="sum" cpu="3" value="9.50"/></int-global>'
         "</interrupts>", "interrupts", {"interrupt": "sum", "cpu": "3", "interrupts_per_s": 9.5}),
        ('<network per="second"><net-dev iface="eth0" rxkB="2.00" ifutil-percent="3.00"/></network>',
         "network",
         {"interface": "eth0", "rx_kb_per_s": 2, "util_pct": 3}),
        ('<power-management><temperature unit="degree Celsius"><temp number="1" degC="47.00" '
         'percent-temp="44.76" device="acpitz-0"/></temperature></power-management>', "temperature",
         {"sensor": "1", "temperature_c": 47, "range_pct": 44.76, "chip": "acpitz-0"}),
        ('<power-management><battery unit="%"><bat number="0" percent-capacity="83" variation="-3.85" '
         'status="Full"/></battery></power-management>', "battery",
         {"battery": "0", "capacity_pct": 83, "capacity_pct_per_min": -3.85, "status": "Full"}),
        ('<filesystems><filesystem fsname="/dev/sda9" MBfsfree="2" fsused-percent="17.00"/></filesystems>',
         "filesystem", {"filesystem": "/dev/sda9", "free_kb": 2048, "used_pct": 17}),
        ('<psi per="second"><psi-cpu some_avg10="1.00" some_avg="2.00"/></psi>', "pressure",
         {"cpu_some_10s_pct": 1, "cpu_some_pct": 2}),
        ('<serial per="second"><tty line="0" rcvin="1.00" xmtin="2.00"/></serial>', "serial",
         {"tty": "0", "tx_interrupts_per_s": 2}),
        ('<swap-pages per="second" pswpin="0,50" pswpout="1,00"/>', "swapping", {"pages_in_per_s": 0.5}),
    ],
)  # fmt: skip
def test_sections(section, table, wanted):
    row = tables(document(sample(1, section)))[table].iloc[0]
    assert {name: row[name] for name in wanted} == wanted


DOCTYPE = (
    '<!DOCTYPE sysstat PUBLIC "DTD v3.12 sysstat //EN"\n"http://pagesperso-orange.fr/x/sysstat-3.12.dtd">\n'
)
NAMESPACE = (
    '<sysstat\nxmlns="https://sysstat.github.io"\nxmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">'
)


@pytest.mark.parametrize(
    "text",
    [
        document(sample(1, QUEUE), head=DOCTYPE),
        document(sample(1, QUEUE), head=DOCTYPE, root=NAMESPACE),
        document(sample(1, QUEUE), root=NAMESPACE),
        "Hello\n\n$ sadf -x sa20\n" + document(sample(1, QUEUE)) + "$ uptime\n",
        "\n".join("> " + line for line in document(sample(1, QUEUE), head=DOCTYPE).split("\n")),
        " ".join(document(sample(1, QUEUE)).split()),
        document(sample(1, QUEUE), restarts="<!-- \xe9 -->").encode("latin-1"),
    ],
    ids=["doctype", "both", "name space", "prose", "quoted", "one line", "bytes"],
)
def test_dress_does_not_matter(text):
    found = items(text)
    (table,) = of_kind(found, SampleTable)
    plain = text if isinstance(text, str) else text.decode("latin-1")
    assert "<queue" in plain.split("\n")[table.frame.loc[0, "line"] - 1]
    assert table.frame.loc[0, "load_1m"] == 4.48
    assert not [note for note in of_kind(found, ParseNote) if note.is_unread]


def test_restarts_zones_and_facts():
    boot = '<boot date="2026-11-20" time="12:00:02" tz="UTC" cpu_count="8"/>'
    text = document(*(sample(n, QUEUE, zone='tz="UTC" ') for n in (1, 2, 3)), restarts=boot)
    found = items(text)
    frame = of_kind(found, SampleTable)[0].frame
    assert frame["segment"].tolist() == [0, 0, 1]
    assert frame["time"].dt.tz is not None
    assert [(s.host, s.kernel, s.cpus) for s in of_kind(found, Section)] == [
        ("db1", "5.14.0", 4),
        ("db1", "5.14.0", 8),
    ]


def test_several_documents():
    frame = tables(document(sample(1, QUEUE)) + document(sample(1, QUEUE)))["queue"]
    assert frame["segment"].tolist() == [0, 1]


def test_values_of_nested_elements_stand_where_they_begin():
    text = document(
        sample(1, '<memory unit="kB">', "<memfree>10</memfree>", "<memused>3</memused>", "</memory>")
    )
    assert text.split("\n")[tables(text)["memory"].loc[0, "line"] - 1] == "<memfree>10</memfree>"


LAUGHS = "".join(f'<!ENTITY l{n + 1} "{f"&l{n};" * 10}">' for n in range(9))


@pytest.mark.parametrize(
    "head",
    [
        f'<!DOCTYPE sysstat [<!ENTITY l0 "lol">{LAUGHS}]>\n',
        '<!DOCTYPE sysstat [<!ENTITY x SYSTEM "file:///etc/passwd">]>\n',
        '<!DOCTYPE sysstat [<!ENTITY % x SYSTEM "http://127.0.0.1/x.dtd"> %x;]>\n',
    ],
    ids=["billion laughs", "file", "parameter entity"],
)
def test_entities_are_refused(head):
    with pytest.raises(FormatError, match=r"x\.xml: line 2: declares the entity"):
        items(document(sample(1, QUEUE), head=head))


def test_depth_is_bounded():
    with pytest.raises(FormatError, match="nest deeper"):
        items(document("<a>" * 100_000))


def test_what_follows_a_fault_is_unread():
    whole = document(sample(1, QUEUE), sample(2, QUEUE), sample(3, QUEUE))
    at = whole.index("12:00:02")
    found = items(whole[:at] + "<" + whole[at:])
    assert len(of_kind(found, SampleTable)[0].frame) == 1
    notes = [note for note in of_kind(found, ParseNote) if note.is_unread]
    assert notes[0].line == whole[:at].count("\n") + 1


def test_cut_end_keeps_the_samples_before():
    whole = document(
        sample(1, QUEUE), sample(2, '<memory unit="kB">\n<memfree>10</memfree>\n<memused>1</memused>')
    )
    found = items(whole[: whole.index("<memused>") + 5])
    assert len(of_kind(found, SampleTable)[0].frame) == 1
    notes = [note for note in of_kind(found, ParseNote) if note.is_unread]
    assert [note.text for note in notes] == ["<memfree>10</memfree>", "<memu"]


@pytest.mark.slow
@examples(100)
@given(st.data())
def test_any_damage_is_survived_and_every_line_counted(data):
    text = (SAMPLES / "9.1.7-x.xml").read_bytes()
    at = data.draw(st.integers(0, len(text)))
    damaged = text[:at] + data.draw(st.binary(max_size=40)) + text[at + data.draw(st.integers(0, 300)) :]
    try:
        found = items(damaged)
    except FormatError:
        return
    (ledger,) = of_kind(found, Ledger)
    assert ledger.total == sum(1 for line in damaged.split(b"\n") if line.strip(b" \t\r\n\0"))


@pytest.mark.parametrize("path", sorted(SAMPLES.glob("*.xml")), ids=lambda path: path.stem)
def test_samples(path):
    found = items(path.read_bytes())
    assert FORMAT.recognise(path.read_bytes()[:4096])
    assert not of_kind(found, ParseNote)


# a sample a minute: of samples a second long the clock's seconds prove nothing
MINUTES = re.compile(r'time="12:26:(\d\d)" tz="UTC" interval="1"')
TEXT = MINUTES.sub(r'time="12:\1:00" tz="UTC" interval="60"', (SAMPLES / "12.7.7-x.xml").read_text())
LINES = TEXT.split("\n")
STARTS = [at for at, line in enumerate(LINES) if "<timestamp " in line]


@pytest.mark.parametrize(
    ("first", "last"),
    [
        pytest.param(STARTS[1] - 1, STARTS[1] + 1, id="the borders of two samples"),
        pytest.param(STARTS[1] - 4, STARTS[1] + 5, id="the end of one and the beginning of the next"),
        pytest.param(STARTS[1], STARTS[2], id="a sample"),
        pytest.param(STARTS[1] - 20, STARTS[1] + 8, id="half of either"),
    ],
)
def test_a_period_whose_lines_are_lost_is_noted(first, last):
    whole = iodiag.read(io.BytesIO(TEXT.encode()), name="x.xml")
    assert not whole.unparsed
    capture = iodiag.read(io.BytesIO("\n".join(LINES[:first] + LINES[last:]).encode()), name="x.xml")
    assert capture.unparsed
    times = set(whole.tables["disk"]["time"])
    assert set(capture.tables["disk"]["time"]) < times
