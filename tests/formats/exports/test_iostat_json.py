import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iodiag.formats.exports._json_scan import scan
from iodiag.formats.exports.iostat_json import FORMAT, read
from iodiag.model.capture import Ledger, ParseNote, SampleTable, Section, Source
from property_tests import examples

SAMPLES = Path(__file__).parents[3] / "samples" / "iostat-json"

X6 = (
    '{"disk_device": "%s", "r/s": 154.00, "w/s": 178.00, "d/s": 1.00, "f/s": 22.00, "rkB/s": 3080.00, '
    '"wkB/s": 3556.00, "dkB/s": 8.00, "rrqm/s": 1.00, "wrqm/s": 63.00, "drqm/s": 2.00, "rrqm": 0.65, '
    '"wrqm": 26.14, "drqm": 66.67, "r_await": 0.08, "w_await": 0.07, "d_await": 0.09, "f_await": 0.05, '
    '"rareq-sz": 20.00, "wareq-sz": 19.98, "dareq-sz": 8.00, "aqu-sz": 0.03, "util": 1.98}'
)
X3 = (
    '{"disk_device": "%s", "rrqm": 3.00, "wrqm": 4.00, "r": 100.00, "w": 50.00, "rkB": 800.00, '
    '"wkB": 400.00, "avgrq-sz": 16.00, "avgqu-sz": 0.50, "await": 3.10, "r_await": 3.00, '
    '"w_await": 3.30, "svctm": 1.00, "util": 15.00}'
)


def document(*reports: str, date: str = "11/20/26", host: str = "db1") -> str:
    """What iostat prints, with each report's members given as text."""
    return (
        '{"sysstat": {\n\t"hosts": [\n\t\t{\n'
        f'\t\t\t"nodename": "{host}",\n\t\t\t"sysname": "Linux",\n\t\t\t"release": "5.14.0",\n'
        f'\t\t\t"machine": "x86_64",\n\t\t\t"number-of-cpus": 4,\n\t\t\t"date": "{date}",\n'
        '\t\t\t"statistics": [\n\t\t\t\t'
        + ",\n\t\t\t\t".join("{\n" + report + "\n\t\t\t\t}" for report in reports)
        + "\n\t\t\t]\n\t\t}\n\t]\n}}\n"
    )


def report(*rows: str, clock: str = "", cpu: str = "") -> str:
    members = [f'\t"timestamp": "{clock}"'] if clock else []
    members += [f'\t"avg-cpu": {cpu}'] if cpu else []
    members += ['\t"disk": [\n' + ",\n".join(rows) + "\n\t]"]
    return ",\n".join(members)


def items(text: str | bytes) -> list:
    data = text.encode() if isinstance(text, str) else text
    return list(read(Source("x.json", data)))


def tables(text: str | bytes) -> dict[str, pd.DataFrame]:
    return {item.family: item.frame for item in items(text) if isinstance(item, SampleTable)}


def of_kind(found: list, kind: type) -> list:
    return [item for item in found if isinstance(item, kind)]


def unread(text: str | bytes) -> list[int]:
    return [note.line for note in of_kind(items(text), ParseNote) if note.is_unread]


def test_newest_keys():
    row = tables(document(report(X6 % "nvme0n1")))["disk"].iloc[0]
    assert row["device"] == "nvme0n1"
    wanted = {
        "reads_per_s": 154,
        "discard_kb_per_s": 8,
        "read_merges_pct": 0.65,
        "write_merges_per_s": 63,
        "flush_await_ms": 0.05,
        "write_request_size_kb": 19.98,
        "queue_depth": 0.03,
        "util_pct": 1.98,
    }
    assert {name: row[name] for name in wanted} == pytest.approx(wanted)


def test_rrqm_counts_merges_up_to_11_5_6():
    frame = tables(document(report(X3 % "sda")))["disk"]
    assert frame.loc[0, ["read_merges_per_s", "write_merges_per_s"]].tolist() == [3, 4]
    assert frame.loc[0, "request_size_kb"] == 8
    assert "read_merges_pct" not in frame


@pytest.mark.parametrize(
    ("old", "new", "unit"),
    [
        ('"rkB": 800.00, "wkB": 400.00', '"rkB": 0.78, "wkB": 0.39', "MB"),
        ('"rkB": 800.00, "wkB": 400.00', '"rkB": 1600.00, "wkB": 800.00', "512-byte sectors"),
        ('"rkB": 800.00, "wkB": 400.00', '"rkB": 800.00, "wkB": 400.00', None),
    ],
)
def test_unit_under_old_keys_is_told_by_request_sizes(old, new, unit):
    found = items(document(report((X3 % "sda").replace(old, new))))
    frame = of_kind(found, SampleTable)[0].frame
    assert frame.loc[0, "read_kb_per_s"] == pytest.approx(800, rel=0.01)
    assert frame.loc[0, "write_kb_per_s"] == pytest.approx(400, rel=0.01)
    notes = of_kind(found, ParseNote)
    assert [unit in note.reason for note in notes] == ([True] if unit else [])


def test_one_damaged_row_does_not_hide_the_unit_of_all():
    row = (X3 % "sda").replace('"rkB": 800.00, "wkB": 400.00', '"rkB": 1600.00, "wkB": 800.00')
    damaged = row.replace('"r": 100.00', '"r": 10000')
    rows = tables(document(report(damaged), report(row), report(row)))["disk"]
    assert rows["write_kb_per_s"].tolist() == [400, 400, 400]


def test_sectors_under_keys_that_say_mb():
    wrong = (
        (X6 % "sda")
        .replace('"rkB/s": 3080.00, "wkB/s": 3556.00, "dkB/s": 8.00', "")
        .replace('"rrqm/s"', '"rMB/s": 6160.00, "wMB/s": 7112.00, "dMB/s": 16.00, "rrqm/s"')
    )
    row = tables(document(report(wrong)))["disk"].iloc[0]
    assert row[["read_kb_per_s", "write_kb_per_s", "discard_kb_per_s"]].tolist() == [3080, 3556, 8]


@pytest.mark.parametrize(
    ("keys", "wanted"),
    [
        ('"tps": 4.00, "MB_read/s": 2.00, "MB_wrtn/s": 1.00, "MB_read": 4, "MB_wrtn": 2',
         {"ios_per_s": 4, "read_kb_per_s": 2048, "write_kb": 2048}),
        ('"tps": 4.00, "kB_read_per_sec": 2.00, "kB_wrtn_per_sec": 1.00, "kB_read": 4, "kB_wrtn": 2',
         {"ios_per_s": 4, "read_kb_per_s": 2, "write_kb": 2}),
        ('"tps": 4.00, "Blk_read/s": 2.00, "Blk_wrtn/s": 1.00, "Blk_read": 4, "Blk_wrtn": 2',
         {"read_kb_per_s": 1, "write_kb_per_s": 0.5, "read_kb": 2}),
        ('"tps": 2.0, "kB/s": 8.0, "rqm/s": 1.0, "await": 0.5, "areq-sz": 4.00, "aqu-sz": 0.10, "util": 5.0',
         {"kb_per_s": 8, "merges_per_s": 1, "request_size_kb": 4, "queue_depth": 0.1, "util_pct": 5}),
    ],
)  # fmt: skip
def test_plain_and_narrow(keys, wanted):
    row = tables(document(report('{"disk_device": "sda", ' + keys + "}")))["disk"].iloc[0]
    assert {name: row[name] for name in wanted} == wanted


def test_plain_report_with_discards_says_that_its_unit_is_not_sure():
    row = (
        '{"disk_device": "sda", "tps": 4.00, "kB_read/s": 2.00, "kB_wrtn/s": 1.00, "kB_dscd/s": 0.00, '
        '"kB_read": 4, "kB_wrtn": 2, "kB_dscd": 0}'
    )
    found = items(document(report(row)))
    assert of_kind(found, SampleTable)[0].frame.loc[0, "read_kb_per_s"] == 2
    assert ["sectors" in note.reason for note in of_kind(found, ParseNote)] == [True]


def test_what_holds_for_every_run_is_said_once():
    wrong = document(report((X3 % "sda").replace("800.00", "1600.00").replace("400.00", "800.00")))
    (note,) = of_kind(items(wrong * 3), ParseNote)
    assert '"rrqm"' in wrong.split("\n")[note.line - 1]


def test_cpu_section_and_host():
    cpu = '{"user": 1.00, "nice": 2.00, "system": 3.00, "iowait": 4.00, "steal": 5.00, "idle": 85.00}'
    found = items(document(report(X6 % "sda", cpu=cpu)))
    frame = next(item.frame for item in of_kind(found, SampleTable) if item.family == "cpu")
    assert frame.loc[0, ["cpu", "nice_pct", "iowait_pct", "idle_pct"]].tolist() == ["all", 2, 4, 85]
    assert frame["host"].tolist() == ["db1"]
    (section,) = of_kind(found, Section)
    assert (section.host, section.kernel, section.cpus, section.reports) == ("db1", "5.14.0", 4, 1)
    assert section.layout == "avg-cpu; iostat -x (X6)"


def three_reports(**kwargs: str) -> str:
    rows = (X6 % "sda", (X6 % "sda").replace("154.00", "9.00"), (X6 % "sda").replace("154.00", "33.00"))
    return document(*(report(row, **kwargs) for row in rows))


def test_lines_are_those_of_the_values():
    text = three_reports()
    frame = tables(text)["disk"]
    lines = text.split("\n")
    assert ['"sda"' in lines[line - 1] for line in frame["line"]] == [True] * 3
    assert [f'"r/s": {row.reads_per_s:.2f}' in lines[row.line - 1] for row in frame.itertuples()] == [
        True
    ] * 3


def test_reformatted_json_points_at_the_first_member():
    text = json.dumps(json.loads(three_reports()), indent=2)
    frame = tables(text)["disk"]
    assert [text.split("\n")[line - 1].strip() for line in frame["line"]] == ['"disk_device": "sda",'] * 3


@pytest.mark.parametrize(
    ("clocks", "times", "is_aware"),
    [
        (("11/20/26 12:25:54", "11/20/26 12:25:56"), ["2026-11-20 12:25:54", "2026-11-20 12:25:56"], False),
        (("20.11.2026 12:25:54", "20.11.2026 12:25:56"),
         ["2026-11-20 12:25:54", "2026-11-20 12:25:56"], False),
        (("2026-11-20T12:25:54+0530", "2026-11-20T12:25:56+0530"),
         ["2026-11-20 06:55:54", "2026-11-20 06:55:56"], True),
        (("1795177454", "1795177456"), ["2026-11-20 12:24:14", "2026-11-20 12:24:16"], True),
    ],
)  # fmt: skip
def test_timestamps(clocks, times, is_aware):
    frame = tables(document(*(report(X6 % "sda", clock=clock) for clock in clocks)))["disk"]
    assert frame["time"].dt.strftime("%Y-%m-%d %H:%M:%S").tolist() == times
    assert (frame["time"].dt.tz is not None) == is_aware
    assert frame["interval_s"].iloc[1] == 2


def busy(*rates: float) -> str:
    return document(*(report((X6 % "sda").replace("154.00", f"{rate:.2f}")) for rate in rates))


def since_boot(text: str) -> list[bool]:
    return tables(text)["disk"]["since_boot"].tolist()


def odd_first(text: str) -> str:
    """The first report with rates that no short interval gives."""
    for old, new in (
        ("178.00", "283.06"),
        ('"d/s": 1.00', '"d/s": 33.07'),
        ("22.00", "62.33"),
        ("63.00", "158.61"),
    ):
        text = text.replace(old, new, 1)
    return text


def test_first_report_is_since_boot():
    assert since_boot(odd_first(busy(1273.17, 246, 149))) == [True, False, False]


@pytest.mark.parametrize("trace", [",\n", "\n"])
def test_trace_of_a_left_out_report(trace):
    text = odd_first(busy(1273.17, 246, 149)).replace('"statistics": [\n', '"statistics": [\n' + trace)
    assert since_boot(text) == [False] * 3


def test_shown_command_without_since_boot_report():
    text = "[root@db1 ~]# iostat -xy -o JSON 5 3\n" + odd_first(busy(1273.17, 246, 149))
    frame = tables(text)["disk"]
    assert frame["since_boot"].tolist() == [False] * 3
    assert frame["interval_s"].tolist() == [5] * 3


def test_rates_on_the_grid_of_a_second_contradict():
    assert since_boot(busy(250, 246, 149)) == [False] * 3


@pytest.mark.parametrize(("interval", "is_first"), [("5", False), ("7", True), ("", True)])
def test_a_lone_report_on_the_grid_of_the_stated_interval_is_not_since_boot(interval, is_first):
    row = (X3 % "sda").replace("100.00", "100.20").replace("50.00", "50.40")
    assert since_boot(f"$ iostat -x -o JSON {interval}\n" + document(report(row))) == [is_first]


def test_decimal_commas():
    row = (X6 % "sda").replace(".", ",")
    frame = tables(document(report(row)))["disk"]
    assert frame.loc[0, ["write_request_size_kb", "util_pct"]].tolist() == [
        19.98,
        1.98,
    ]


def test_interrupted_before_the_closing_brackets_and_prose_behind():
    text = three_reports()
    cut = (
        text[: text.rindex("\n\t\t\t]")]
        + "\n^C\n[root@db1 ~]# uptime\n 12:00:01 up 3 days, load average: 1.0\n"
    )
    found = items("Here is what I see:\n\n$ iostat -x -o JSON 1\n" + cut)
    assert len(of_kind(found, SampleTable)[0].frame) == 3
    assert not [note for note in of_kind(found, ParseNote) if note.is_unread]
    (ledger,) = of_kind(found, Ledger)
    assert ledger.counts["row"] == 3
    assert ledger.total == sum(1 for line in ("a\n\nb\n" + cut).split("\n") if line.strip())


def test_cut_object_is_named_and_left_out():
    text = three_reports()
    cut = text[: text.rindex('"rareq-sz"')]
    assert len(tables(cut)["disk"]) == 2
    assert unread(cut) == [cut.count("\n") + 1]


def test_concatenated_runs_are_segments():
    text = three_reports() + document(report(X6 % "sdb"), host="db2") + busy(1, 2)[:-20] + three_reports()
    frame = tables(text)["disk"]
    assert frame["segment"].tolist() == [0, 0, 0, 1, 2, 2, 3, 3, 3]
    assert frame["report"].tolist() == [0, 1, 2, 0, 0, 1, 0, 1, 2]
    assert frame["host"].tolist()[3] == "db2"


def test_text_capture_around_the_json_is_read_too():
    text = (
        "Linux 5.14.0 (db1) \t11/20/26 \t_x86_64_\t(4 CPU)\n\n"
        "Device             tps    kB_read/s    kB_wrtn/s    kB_read    kB_wrtn\n"
        "sdz               1.00         4.00         0.00          4          0\n\n" + three_reports()
    )
    frames = [item.frame for item in items(text) if isinstance(item, SampleTable)]
    assert sorted({str(device) for frame in frames for device in frame["device"]}) == ["sda", "sdz"]


def test_group_lines():
    frame = tables(document(report(X6 % "sda", X6 % " disks")))["disk"]
    assert frame["device"].tolist() == ["sda", "disks"]
    assert frame["is_group"].tolist() == [False, True]


def test_unknown_keys_are_named():
    found = items(document(report((X6 % "sda").replace('"util"', '"warp-factor": 9.00, "util"'))))
    assert ["warp-factor" in note.reason for note in of_kind(found, ParseNote)] == [True]


def test_nan_and_absurd_values_are_missing():
    row = (X6 % "sda").replace("154.00", "-nan").replace("178.00", "1e999").replace("22.00", "null")
    frame = tables(document(report(row)))["disk"]
    assert frame.loc[0, ["reads_per_s", "writes_per_s", "flushes_per_s"]].isna().all()
    assert frame.loc[0, "util_pct"] == 1.98


@pytest.mark.parametrize(
    "text",
    [
        '{"sysstat": ' + "[" * 100_000,
        '{"sysstat": ' + '{"a": ' * 100_000,
        '{"sysstat": {"hosts": [{"statistics": [{"disk": [{"disk_device": "sda", "r/s": ' + "9" * 100_000,
        '{"sysstat": {"hosts": [{"statistics": [' + "{}," * 10_000 + "]}]}}",
        '{"sysstat"' * 10_000,
        '{"sysstat": {"hosts": [{"statistics": [{"timestamp": "11/20/9999 12:00:00", "disk": '
        '[{"disk_device": "a", "r/s": 1}]}]}]}}',
    ],
    ids=["lists", "objects", "digits", "empty", "starts", "year"],
)
def test_hostile_input_ends(text):
    items(text)


@pytest.mark.parametrize("path", sorted(SAMPLES.glob("*.json")), ids=lambda path: path.stem)
def test_samples_hold_what_their_json_says(path):
    text = path.read_text()
    frame = tables(text)["disk"]
    assert len(frame) == 3
    for row in frame.itertuples():
        line = json.loads(text.split("\n")[row.line - 1].strip().rstrip(","))
        rate = next(value for key, value in line.items() if key in ("r/s", "r", "tps"))
        assert rate == getattr(row, "reads_per_s" if "reads_per_s" in frame else "ios_per_s")
    assert not unread(text)
    assert FORMAT.recognise(text.encode()[:4096])


@pytest.mark.slow
@examples(150)
@given(st.data())
def test_any_cut_or_damage_loses_rows_but_never_changes_them(data):
    text = three_reports().encode()
    whole = {(row.reads_per_s, row.util_pct) for row in tables(text)["disk"].itertuples()}
    first = data.draw(st.integers(20, len(text)))
    last = data.draw(st.integers(first, min(first + 200, len(text))))
    damaged = text[:first] + text[last:]
    found = tables(damaged).get("disk")
    # the row that the hole joins may lack either, and be the only one that is left
    each = () if found is None else found.reindex(columns=["reads_per_s", "util_pct"]).itertuples()
    kept = {(row.reads_per_s, row.util_pct) for row in each}
    # it may be another whole row; at most that one is new
    assert len(kept - whole) <= 1
    (ledger,) = of_kind(items(damaged), Ledger)
    assert ledger.total == sum(1 for line in damaged.split(b"\n") if line.strip())


@examples(100)
@given(st.binary(max_size=300), st.integers(0, 2000))
def test_any_bytes_are_survived(noise, at):
    text = three_reports().encode()
    items(text[:at] + noise + text[at:])


numbers = st.floats(0, 1e9).map(lambda value: round(value, 2))


@examples(50)
@given(
    st.lists(
        st.tuples(st.sampled_from(["sda", "dm-0", "cciss/c0d0"]), numbers, numbers), min_size=1, max_size=8
    )
)
def test_what_is_written_is_read(rows):
    written = [
        f'{{"disk_device": "{name}", "r/s": {reads:.2f}, "rkB/s": {kilobytes:.2f}}}'
        for name, reads, kilobytes in rows
    ]
    text = document(*(report(row) for row in written))
    frame = tables(text)["disk"]
    assert frame["device"].tolist() == [name for name, _, _ in rows]
    assert np.allclose(frame["reads_per_s"], [reads for _, reads, _ in rows])
    assert np.allclose(frame["read_kb_per_s"], [kilobytes for _, _, kilobytes in rows])
    assert [written[i] in text.split("\n")[line - 1] for i, line in enumerate(frame["line"])] == [True] * len(
        rows
    )


def test_scan_tells_the_path_and_what_is_left_open():
    events = list(scan(b'x {"sysstat": {"hosts": [{"nodename": "a", "statistics": [{"disk": [{"r/s": 1,5}'))
    assert [(event.kind, event.path) for event in events if event.kind in ("scalar", "object")] == [
        ("scalar", ("sysstat", "hosts", "nodename")),
        ("object", ("sysstat", "hosts", "statistics", "disk")),
    ]
    assert events[-2].members == {"r/s": 1.5}
    assert (events[-1].kind, events[-1].value) == ("end", 0.0)
    assert not any(isinstance(event.value, float) and math.isnan(event.value) for event in events)


def notes_on(text: str) -> list[str]:
    found = read(Source("x.json", text.encode()))
    return [note.reason for note in found if isinstance(note, ParseNote)]


def test_times_that_are_damaged_are_said():
    clocks = [f"11/20/26 12:00:0{second}" for second in (1, 2, 3)]
    whole = document(*(report(X6 % "sda", clock=clock) for clock in clocks))
    assert not notes_on(whole)
    assert notes_on(whole.replace(clocks[1], "11/20/26 12:0:02")) == [
        "the time of this report cannot be read"
    ]
    swapped = document(*(report(X6 % "sda", clock=clocks[at]) for at in (0, 2, 1)))
    assert any("before that of the row above" in reason for reason in notes_on(swapped))
    assert "the date of this run cannot be read" in notes_on(document(report(X6 % "sda"), date="11/2026"))
