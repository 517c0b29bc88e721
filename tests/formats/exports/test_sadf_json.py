from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iodiag.formats.exports._json_scan import NOT_CLOSED
from iodiag.formats.exports.sadf_json import FORMAT, read
from iodiag.model.capture import Ledger, ParseNote, SampleTable, Section, Source
from property_tests import examples

SAMPLES = Path(__file__).parents[3] / "samples" / "sadf-json"

QUEUE = (
    '"queue": {"runq-sz": 2, "plist-sz": 139, "ldavg-1": 4.48, "ldavg-5": 3.46, "ldavg-15": 1.67, '
    '"blocked": 0}'
)


def document(*samples: str, host: str = "db1", restarts: str = "", facts: str = "") -> str:
    return (
        '{"sysstat": {\n\t"hosts": [\n\t\t{\n'
        f'\t\t\t"nodename": "{host}",\n\t\t\t"release": "5.14.0",\n\t\t\t"number-of-cpus": 4,{facts}\n'
        '\t\t\t"file-date": "2026-11-20",\n\t\t\t"statistics": [\n\t\t\t\t{\n'
        + "\n\t\t\t\t},\n\t\t\t\t{\n".join(samples)
        + f'\n\t\t\t\t}}\n\t\t\t],\n\t\t\t"restarts": [\n{restarts}\n\t\t\t]\n\t\t}}\n\t]\n}}}}\n'
    )


def sample(second: int, *sections: str, zone: str = '"utc": 1, ') -> str:
    stamp = f'"timestamp": {{"date": "2026-11-20", "time": "12:00:{second:02d}", {zone}"interval": 1}}'
    return ",\n".join([stamp, *sections])


def items(text: str | bytes) -> list:
    data = text.encode() if isinstance(text, str) else text
    return list(read(Source("x.json", data)))


def tables(text: str) -> dict[str, pd.DataFrame]:
    return {item.family: item.frame for item in items(text) if isinstance(item, SampleTable)}


def of_kind(found: list, kind: type) -> list:
    return [item for item in found if isinstance(item, kind)]


@pytest.mark.parametrize(
    ("section", "table", "wanted"),
    [
        ('"disk": [{"disk-device": "sda", "tps": 2.0, "rd_sec": 9.0, "wr_sec": 8.0, "avgrq-sz": 8.5, '
         '"avgqu-sz": 0.1, "await": 1.0, "svctm": 0.5, "util-percent": 3.0}]', "disk",
         {"device": "sda", "read_kb_per_s": 4.5, "request_size_kb": 4.25, "svctm_ms": 0.5, "util_pct": 3}),
        # kB is printed as it is, sectors are rounded the other way round: kB wins
        ('"disk": [{"disk-device": "sda", "tps": 2.0, "rd_sec": 9.01, "wr_sec": 8.0, "dc_sec": 4.0, '
         '"rkB": 4.51, "wkB": 4.0, "dkB": 2.0, "avgrq-sz": 10.53, "areq-sz": 5.26, "avgqu-sz": 0.1, '
         '"aqu-sz": 0.1, "await": 1.0, "util-percent": 3.0}]', "disk",
         {"read_kb_per_s": 4.51, "discard_kb_per_s": 2, "request_size_kb": 5.26, "queue_depth": 0.1}),
        ('"cpu-load": [{"cpu": "all", "usr": 1.0, "nice": 2.0, "sys": 3.0, "iowait": 4.0, "steal": 5.0, '
         '"irq": 0.5, "soft": 0.25, "guest": 6.0, "gnice": 7.0, "idle": 71.25}]', "cpu",
         {"cpu": "all", "user_pct": 7, "nice_pct": 9, "system_pct": 3.75, "guest_pct": 6}),
        ('"io": {"tps": 9.0, "io-reads": {"rtps": 5.0, "bread": 80.0}, "io-writes": {"wtps": 4.0, '
         '"bwrtn": 6.0}, "io-discard": {"dtps": 1.0, "bdscd": 2.0}}', "io",
         {"ios_per_s": 9, "reads_per_s": 5, "read_kb_per_s": 40, "discard_kb_per_s": 1}),
        ('"memory": {"memfree": 10, "avail": 20, "memused": 30, "memused-percent": 1.5, "inactive": 7, '
         '"shared": 8, "swpfree": 40, "swpused-percent": 2.5}', "memory",
         {"free_kb": 10, "available_kb": 20, "used_kb": 30, "used_pct": 1.5, "inactive_kb": 7,
          "shared_kb": 8}),
        ('"memory": {"swpfree": 40, "swpused": 3, "swpused-percent": 2.5}', "swap",
         {"free_kb": 40, "used_kb": 3, "used_pct": 2.5}),
        ('"interrupts": [{"intr": "sum", "value": 9.5}]', "interrupts",
         {"interrupt": "sum", "interrupts_per_s": 9.5}),
        ('"interrupts": [{"intr": "LOC", "all": 9.5, "CPU0": 4.0}]', "interrupts",
         {"interrupt": "LOC", "cpu": "all", "interrupts_per_s": 9.5}),
        ('"psi": {"psi-io": {"some_avg10": 1.0, "some_avg": 2.0, "full_avg300": 3.0, "full_avg": 4.0}}',
         "pressure",
         {"io_some_10s_pct": 1, "io_some_pct": 2, "io_full_300s_pct": 3, "io_full_pct": 4}),
        ('"psi": {"psi-mem": {"some_avg60": 1.0}}', "pressure", {"memory_some_60s_pct": 1}),
        ('"network": {"net-dev": [{"iface": "eth0", "rxpck": 1.0, "rxkB": 2.0, "ifutil-percent": 3.0}]}',
         "network",
         {"interface": "eth0", "rx_kb_per_s": 2, "util_pct": 3}),
        ('"network": {"net-etcp": {"atmptf": 1.0, "retrseg": 2.0}}', "tcp_errors", {"retransmits_per_s": 2}),
        ('"network": {"fchosts": [{"fchost": "host0", "fch_rxf": 1.0}]}', "fibre_channel",
         {"fc_host": "host0", "rx_frames_per_s": 1}),
        ('"power-management": {"cpu-frequency": [{"number": "all", "frequency": 3522.54}]}', "cpu_frequency",
         {"cpu": "all", "frequency_mhz": 3522.54}),
        ('"power-management": {"fan-speed": [{"number": 1, "rpm": 3200, "drpm": 200, "device": "isa-0"}]}',
         "fan",
         {"fan": "1", "speed_rpm": 3200, "chip": "isa-0"}),
        ('"filesystems": [{"filesystem": "/dev/sda9", "MBfsfree": 2, "%fsused": 17.0, "Ifree": 5}]',
         "filesystem",
         {"filesystem": "/dev/sda9", "free_kb": 2048, "used_pct": 17, "inodes_free": 5}),
        ('"hugepages": {"hugfree": 1, "hugused-percent": 2.0}', "hugepages", {"free_kb": 1, "used_pct": 2}),
        ('"process-and-context-switch": {"proc": 3.56, "cswch": 68.5}', "system",
         {"processes_per_s": 3.56, "context_switches_per_s": 68.5}),
    ],
)  # fmt: skip
def test_sections(section, table, wanted):
    row = tables(document(sample(1, section)))[table].iloc[0]
    assert {name: row[name] for name in wanted} == wanted


def test_changes_of_memory_are_rows_of_their_own():
    section = '"memory": {"memfree": 10, "frmpg": -1.5, "bufpg": 2.0, "campg": 3.0}'
    frame = tables(document(sample(1, section)))["memory"]
    assert frame["free_kb"].tolist()[0] == 10
    assert frame["free_change_pages_per_s"].tolist()[1] == -1.5


@pytest.mark.parametrize(
    ("zone", "is_aware", "says"),
    [
        ('"utc": 1, ', True, ""),
        ('"tz": "UTC", ', True, ""),
        ('"utc": 0, ', False, ""),
        ("", False, ""),
        ('"tz": "IST", ', False, "IST"),
    ],
)
def test_zones(zone, is_aware, says):
    found = items(document(sample(1, QUEUE, zone=zone)))
    frame = of_kind(found, SampleTable)[0].frame
    assert (frame["time"].dt.tz is not None) == is_aware
    assert frame["time"].dt.tz_localize(None).tolist() == [pd.Timestamp("2026-11-20 12:00:01")]
    assert [says in note.reason for note in of_kind(found, ParseNote)] == ([True] if says else [])


def test_restarts_divide_the_samples_of_a_host():
    restarts = '{"boot": {"date": "2026-11-20", "time": "12:00:02", "utc": 1, "cpu_count": 8}}'
    text = document(*(sample(second, QUEUE) for second in (1, 2, 3, 4)), restarts=restarts)
    found = items(text)
    frame = of_kind(found, SampleTable)[0].frame
    assert frame["segment"].tolist() == [0, 0, 1, 1]
    assert frame["report"].tolist() == [0, 1, 0, 1]
    assert [(s.cpus, s.kernel, s.host) for s in of_kind(found, Section)] == [
        (4, "5.14.0", "db1"),
        (8, "5.14.0", "db1"),
    ]


def test_two_restarts_of_one_second_of_which_one_states_no_cpus():
    boot = '{"boot": {"date": "2026-11-20", "time": "12:00:02", "utc": 1%s}}'
    text = document(
        *(sample(second, QUEUE) for second in (1, 2, 3, 4)), restarts=f"{boot % ''},{boot % CPUS}"
    )
    assert of_kind(items(text), SampleTable)[0].frame["segment"].tolist()[:2] == [0, 0]


CPUS = ', "cpu_count": 8'


def test_several_documents_and_prose():
    text = "Hello\n\n" + document(sample(1, QUEUE)) + "and\n\n" + document(sample(1, QUEUE), host="db2")
    found = items(text)
    frame = of_kind(found, SampleTable)[0].frame
    assert frame["segment"].tolist() == [0, 1]
    assert frame["host"].tolist() == ["db1", "db2"]
    assert ['"runq-sz"' in text.split("\n")[line - 1] for line in frame["line"]] == [True, True]
    assert of_kind(found, Ledger)[0].counts["noise"] == 2


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text.replace('"file-date": "2026-11-20",', '"file-date": "2026-11-20"'),
        lambda text: text.replace("},\n\"queue\"", "}\n\"queue\""),
        lambda text: text.replace("4.48", "4,48").replace("3.46", "3,46"),
        lambda text: text[: text.rindex('"restarts"')],
        lambda text: "\n".join("> " + line for line in text.split("\n")),
        lambda text: text.replace("\n", "\r\n"),
        lambda text: " ".join(text.split()),
    ],
    ids=["no comma", "no comma between sections", "decimal commas", "no end", "quoted", "crlf", "one line"],
)  # fmt: skip
def test_faults_cost_nothing(damage):
    swap = '"swap-pages": {"pswpin": 0.00, "pswpout": 1.00}'
    text = document(sample(1, swap, QUEUE), sample(2, swap, QUEUE))
    found = items(damage(text))
    frames = {item.family: item.frame for item in of_kind(found, SampleTable)}
    assert frames["queue"]["load_1m"].tolist() == [4.48, 4.48]
    assert frames["swapping"]["pages_out_per_s"].tolist() == [1, 1]
    assert not [note for note in of_kind(found, ParseNote) if note.is_unread]


def test_unknown_sections_and_values_are_named():
    text = document(sample(1, '"warp": {"factor": 9.0}', '"swap-pages": {"pswpin": 0.0, "flux": 1.0}'))
    (note,) = of_kind(items(text), ParseNote)
    assert "warp" in note.reason
    assert "flux" in note.reason


def test_cut_section_is_named():
    text = document(sample(1, QUEUE), sample(2, QUEUE))
    cut = text[: text.rindex('"ldavg-5"')]
    found = items(cut)
    assert len(of_kind(found, SampleTable)[0].frame) == 1
    assert [note.line for note in of_kind(found, ParseNote) if note.is_unread] == [cut.count("\n") + 1]


@pytest.mark.slow
@examples(100)
@given(st.data())
def test_any_damage_is_survived_and_every_line_counted(data):
    text = (SAMPLES / "11.2.0-j.json").read_bytes()
    at = data.draw(st.integers(0, len(text)))
    damaged = text[:at] + data.draw(st.binary(max_size=40)) + text[at + data.draw(st.integers(0, 300)) :]
    (ledger,) = of_kind(items(damaged), Ledger)
    assert ledger.total == sum(1 for line in damaged.split(b"\n") if line.strip(b" \t\r\n\0"))


@pytest.mark.parametrize(
    "text",
    [
        document(*(sample(1, f'"queue": {{"runq-sz": 1, "x{i}": 2}}') for i in range(3000))),
        document(*(sample(1, f'"x{i}": {{"a": 2}}') for i in range(3000))),
        document(sample(1, QUEUE)).replace("2026-11-20", "9999-99-99"),
        document(sample(1, QUEUE.replace("139", "9" * 50_000))),
    ],
    ids=["layouts", "sections", "dates", "digits"],
)
def test_hostile_input_ends(text):
    items(text)


@pytest.mark.parametrize("path", sorted(SAMPLES.glob("*.json")), ids=lambda path: path.stem)
def test_samples(path):
    found = items(path.read_bytes())
    assert FORMAT.recognise(path.read_bytes()[:4096])
    assert not of_kind(found, ParseNote)


def test_a_number_at_the_cut_is_not_read():
    clock = '"timestamp": {"date": "2026-11-20", "time": "00:10:01", "interval": 600}'
    cut = '"io": {"tps": 798.00, "io-reads": {"rtps": 632.00, "bread": 101'
    text = f'{{"sysstat": {{"hosts": [{{"nodename": "h", "statistics": [{{{clock}, {cut}'
    found = items(text)
    (table,) = of_kind(found, SampleTable)
    assert {name for name in table.frame.columns if name.endswith("_per_s")} == {"ios_per_s", "reads_per_s"}
    assert [note.reason for note in of_kind(found, ParseNote) if not note.is_unread] == [NOT_CLOSED]
    assert len([note for note in of_kind(found, ParseNote) if note.is_unread]) == 1
