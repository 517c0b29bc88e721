"""No name of a capture gets out of --anonymize, in any format, and a name always has the same pseudonym."""

from __future__ import annotations

import dataclasses
import io
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner
from hypothesis import assume, given
from hypothesis import strategies as st

import iodiag
from iodiag.anonymize.allowed_words import is_plain, release_of
from iodiag.anonymize.collect_names import Name, kind_of_device, names_of_capture, of_device
from iodiag.anonymize.pseudonyms import Pseudonyms
from iodiag.anonymize.rewriting import anonymous_captures
from iodiag.cli import cli
from iodiag.model.capture import Capture
from iodiag.model.finding import Ignore
from iodiag.model.report import Report
from iodiag.model.topology import device_names
from iodiag.report import as_html, as_json
from iodiag.report.as_terminal import console, show
from property_tests import examples
from sample_files import CASES, FILES, SAMPLES, first_of_each_format, name_of

SOURCE = Path(iodiag.__file__).parent
OF_DISKS = [path for path in FILES if path.parent.name in ("raid-controller", "smartctl", "kernel-log")]
STANDARD = {"/", "/boot", "/home", "/var", "/mnt"}
MADE_BY_US = re.compile(r"(?:[a-z_]+)-\d+")

IOSTAT = """\
Linux 5.14.0-acme7 ({host}) \t11/20/26 \t_x86_64_\t(4 CPU)

10:00:01
Device            r/s     w/s     rkB/s     wkB/s   rrqm/s   wrqm/s  r_await w_await aqu-sz  %util
{device}       100.00    0.00   1600.00      0.00     0.00     0.00     9.60    0.00   0.96  96.00
{other}          2.00    0.00     16.00      0.00     0.00     0.00     1.00    0.00   0.00   0.20

10:00:02
Device            r/s     w/s     rkB/s     wkB/s   rrqm/s   wrqm/s  r_await w_await aqu-sz  %util
{device}       110.00    0.00   1760.00      0.00     0.00     0.00     9.00    0.00   0.99  99.00
{other}          2.00    0.00     16.00      0.00     0.00     0.00     1.00    0.00   0.00   0.20
"""


@cache
def own_words() -> frozenset[str]:
    """All words that iodiag itself is made of: what it says may hold them, whatever a capture says."""
    texts = [p.read_text("utf-8") for p in SOURCE.rglob("*") if p.suffix in (".py", ".toml", ".css", ".html")]
    return frozenset(word.lower() for text in texts for word in re.findall(r"\w+", text))


def words_of(captures: list[Capture]) -> set[str]:
    """Every word of the inputs, their names and hosts that is no word of a tool or of iodiag."""
    texts = [
        s.data.decode("utf-8", "replace")
        for c in captures
        for s in c.sources.values()
        if s.pos_unit == "line"
    ]
    texts += [name for c in captures for name in (*c.sources, *c.hosts)]
    words = {word.lower() for text in texts for word in re.findall(r"[^\W_]+", text)}
    tables = (frame for c in captures for frame in (*c.tables.values(), *c.averages.values()))
    interrupts = " ".join(
        item for frame in tables if "interrupt" in frame for item in frame["interrupt"].unique()
    )
    of_kernel = {word.lower() for word in re.findall(r"[^\W_]+", interrupts)}  # numbers, or names such as NMI
    known = (
        own_words()
        | of_kernel
        | {
            "el5",
            "el6",
            "el7",
            "deb12u1",
            "neighbors",
            "gt",
        }
    )  # of releases, a setting, of HTML
    return {
        w
        for w in words
        if re.search(r"[^\W\d]", w) and not re.match(r"\d+(t\d|z$)", w) and not is_plain(w) and w not in known
    }


def names_in(captures: list[Capture]) -> set[str]:
    """What a capture says is a name, gathered without the module under test."""
    found: set[str] = set()
    for capture in captures:
        found |= {*capture.sources, *capture.hosts, *(Path(name).name for name in capture.sources)}
        for device in capture.topology:
            found |= {device.name, *device.aliases, *device.members, *device.mountpoints}
        for frame in (*capture.tables.values(), *capture.averages.values()):
            for column in {"device", "host", "interface", "filesystem", "mountpoint", "mount", "export"} & {
                *frame
            }:
                found |= {*frame[column].astype(str)}
    return {name for name in found if re.search(r"[A-Za-z]", name)} - STANDARD


def shown_in(text: str, names: set[str]) -> list[str]:
    return [n for n in names if re.search(rf"(?<![^\W_]){re.escape(n)}(?![^\W_])", text)]


def terminal(report: Report) -> str:
    text = io.StringIO()
    show(report, console(text, width=200), full=True)
    return text.getvalue()


def renderings(report: Report) -> dict[str, str]:
    return {
        "markdown": report.to_markdown(full=True),
        "ticket": report.to_ticket(),
        "html": as_html.render(report, with_charts=False),
        "json": report.to_json(),
        "sarif": report.to_sarif(),
        "terminal": terminal(report),
    }


def texts_of(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for item in value.values() for text in texts_of(item)]
    if isinstance(value, (list, tuple)):
        return [text for item in value for text in texts_of(item)]
    return []


def run(*arguments: object, stdin: str | None = None, env: dict[str, str] | None = None):
    return CliRunner(env=env).invoke(cli, [str(argument) for argument in arguments], input=stdin)


@pytest.mark.parametrize("path", [*first_of_each_format(FILES), *CASES], ids=name_of)
def test_no_name_of_a_sample_is_in_any_output(path):
    captures, _ = iodiag.read_many([path])
    names, words = names_in(captures), words_of(captures)
    hidden = anonymous_captures(captures, Pseudonyms())
    outputs = renderings(iodiag.anonymized(iodiag.analyze(captures), captures))
    for number, capture in enumerate(hidden):
        for family, frame in (*capture.tables.items(), *capture.averages.items()):
            outputs[f"{family} {number}"] = frame.to_csv()
        outputs[f"capture {number}"] = json.dumps(
            [dataclasses.asdict(x) for x in (*capture.sections, *capture.evidence, *capture.notes)],
            default=str,
        )
    for name, text in outputs.items():
        assert shown_in(text, names) == [], name
        assert words & {word.lower() for word in re.findall(r"[^\W_]+", text)} == set(), name


def test_charts_hold_no_names():
    captures, _ = iodiag.read_many([SAMPLES / "cases" / "slow-member"])
    page = iodiag.anonymized(iodiag.analyze(captures), captures).to_html()
    assert "<svg" in page
    assert shown_in(page, names_in(captures)) == []


def test_hosts_whose_names_differ_in_case_stay_two_hosts():
    texts = [IOSTAT.format(host=host, device="sda", other="sdb") for host in ("DB1", "db1")]
    captures = [iodiag.read(io.BytesIO(text.encode())) for text in texts]
    report = iodiag.anonymized(iodiag.analyze(captures), captures)
    assert len({state.host for state in report.states}) == 2
    captures = list(anonymous_captures(captures, Pseudonyms()))
    assert len({host for capture in captures for host in capture.hosts}) == 2


def test_a_comparison_holds_no_names_of_either_side():
    sides = [SAMPLES / "cases" / name for name in ("raid5-small-writes", "raid10-small-writes")]
    captures = [iodiag.read_many([side])[0] for side in sides]
    report = iodiag.compare(*captures)
    for text in renderings(iodiag.anonymized(report, [*captures[0], *captures[1]])).values():
        assert shown_in(text, names_in([*captures[0], *captures[1]])) == []


def test_states_and_the_verdict_hold_pseudonyms():
    captures, _ = iodiag.read_many([SAMPLES / "cases" / "raid5-small-writes"])
    report = iodiag.analyze(captures)
    hidden = iodiag.anonymized(report, captures)
    assert (hidden.verdict.state, hidden.verdict.rule) == (report.verdict.state, report.verdict.rule)
    assert (report.verdict.devices, hidden.verdict.devices) == (("md0",), ("array-1",))
    known = {device.name for device in hidden.devices}
    assert {state.device for state in hidden.states} <= known
    assert {state.host for state in hidden.states} == {"host-1"}
    assert {state.source for state in hidden.states} <= {s.section.source for s in hidden.sources}
    assert not {state.source for state in hidden.states} & set(captures[0].sources)
    assert [s.direction for s in hidden.states] == [s.direction for s in report.states]
    assert [s.text for s in hidden.states] == [s.text for s in report.states]


def test_a_device_that_only_a_state_names_is_hidden():
    captures, _ = iodiag.read_many([SAMPLES / "cases" / "raid5-small-writes"])
    report = iodiag.analyze(captures)
    state = dataclasses.replace(report.states[0], device="vg7-payroll", host="acmehost", source="acme.txt")
    shown = dataclasses.asdict(dataclasses.replace(report, states=(state,)))["states"]
    assert "payroll" in str(shown)
    hidden = iodiag.anonymized(dataclasses.replace(report, states=(state,)), captures)
    assert not re.search("payroll|acme", str(hidden.states))


def test_the_verdict_stays_the_same():
    captures, _ = iodiag.read_many([SAMPLES / "cases" / "raid5-small-writes"])
    report = iodiag.analyze(captures)
    hidden = iodiag.anonymized(report, captures)
    assert [(f.rule, f.severity, f.confidence) for f in hidden.findings] == [
        (f.rule, f.severity, f.confidence) for f in report.findings
    ]
    assert hidden.findings[0].title.replace("`array-1`", "`md0`") == report.findings[0].title
    assert [len(one.aliases) for one in hidden.devices] == [0] * len(report.devices)


@pytest.mark.parametrize("ending", ["md", "html", "json", "sarif"])
def test_analyze_hides_names_in_every_format(tmp_path, ending):
    given = tmp_path / "acme-prod.txt"
    given.write_text(IOSTAT.format(host="acme-db1.prod.acme.example", device="vg0-payroll", other="sdq"))
    out = tmp_path / f"out.{ending}"
    done = run("analyze", given, "-o", out, "--anonymize")
    assert done.exit_code == 0
    names = {"acme", "vg0", "payroll", "sdq", "db1", "prod", "acme7"}
    assert shown_in(out.read_text().replace(str(tmp_path), ""), names) == []
    assert shown_in(done.stderr.replace(str(out), ""), names) == []


def test_inspect_and_convert_hide_names(tmp_path):
    given = tmp_path / "acme-prod.txt"
    given.write_text(
        IOSTAT.format(host="acme-db1", device="vg0-payroll", other="sdq") + "the unread acme line 4711 %\n"
    )
    names = {"acme", "vg0", "payroll", "sdq", "db1", "prod", "4711", str(tmp_path)}
    commands = [("inspect", given), ("inspect", given, "--json"), ("convert", given, "--format", "csv")]
    commands += [("convert", given, "--format", "jsonl"), ("analyze", given)]
    for command in commands:
        done = run(*command, "--anonymize")
        assert done.exit_code == 0, done.output
        assert shown_in(done.output, names) == []
        assert "host-1" in done.output
    out = tmp_path / "t.parquet"
    assert run("convert", given, "--anonymize", "-o", out).exit_code == 0
    assert {*pd.read_parquet(out)["device"]} == {"volume-1", "disk-1"}


UNKNOWN_SECTION = """Linux 5.4.0 (acme-db1) \t01/20/24 \t_x86_64_\t(4 CPU)

12:00:01        CPU     %user     %nice   %system   %iowait    %steal     %idle
12:10:01        all      1.00      0.00      1.00      0.00      0.00     98.00

12:00:01      PAYROLL   ledger/s   salaries
12:10:01      smith         1.50          7
"""


def test_the_words_of_a_header_that_no_tool_prints_are_hidden(tmp_path):
    given = tmp_path / "t.txt"
    given.write_text(UNKNOWN_SECTION)
    names = {"acme", "payroll", "ledger", "salaries", "smith"}
    assert "unknown_payroll" in run("inspect", given).output  # else nothing is hidden
    for command in ("inspect",), ("inspect", "--json"), ("convert", "--table", "unknown_1"):
        done = run(*command, given, "--anonymize")
        assert done.exit_code == 0, done.output
        assert "unknown_1" in " ".join((done.output, *command))
        assert shown_in(done.output, names) == []
    assert "column_1,column_2,column_3\n" in done.output
    refused = run("convert", given, "--anonymize")
    assert refused.exit_code == 2
    assert shown_in(refused.output, names) == []


def test_errors_and_notes_hide_the_names_of_inputs(tmp_path):
    folder = tmp_path / "acme"
    folder.mkdir()
    good, bad = folder / "good.txt", folder / "payroll: 1.txt"
    good.write_text(IOSTAT.format(host="h", device="sdq", other="sdr"))
    bad.write_text("nothing of ours")
    done = run("analyze", good, bad, folder / "none.txt", "--anonymize", "--format", "json")
    assert done.exit_code == 0
    assert shown_in(done.stderr, {"acme", "payroll", "none.txt", str(tmp_path)}) == []
    assert re.findall(r"left out: (file-\d): ", done.stderr) == ["file-2", "file-3"]
    done = run("analyze", folder / "none.txt", "--anonymize")
    assert done.exit_code == 3
    assert done.stderr.startswith("iodiag: file-1: ")


def test_a_key_gives_the_same_pseudonym_in_every_run(tmp_path):
    pages = []
    for other in ("aaa", "sdr"):
        text = IOSTAT.format(host=f"h-{other}", device="sdq", other=other)
        done = run("analyze", "-", "--anonymize-key", "k1", "--format", "json", stdin=text)
        pages.append({tuple(sorted(d["name"] for d in json.loads(done.stdout)["devices"]))})
    of_variable = run(
        "analyze", "-", "--anonymize", "--format", "json", stdin=text, env={"IODIAG_ANONYMIZE_KEY": "k1"}
    )
    assert {d["name"] for d in json.loads(of_variable.stdout)["devices"]} == {*next(iter(pages[1]))}
    assert len({*next(iter(pages[0]))} & {*next(iter(pages[1]))}) == 1
    assert Pseudonyms(key="k1").name("sdq", "disk") != Pseudonyms(key="k2").name("sdq", "disk")


def test_a_key_in_the_environment_alone_hides_nothing():
    text = IOSTAT.format(host="h", device="sdq", other="sdr")
    assert "sdq" in run("analyze", "-", stdin=text, env={"IODIAG_ANONYMIZE_KEY": "k"}).stdout


def test_a_report_that_is_rendered_again_is_anonymized_from_itself(tmp_path):
    captures, _ = iodiag.read_many([SAMPLES / "cases" / "commit-stall"])
    report = iodiag.analyze(captures)
    (tmp_path / "r.json").write_text(report.to_json())
    done = run("analyze", tmp_path / "r.json", "--anonymize")
    assert done.exit_code == 0
    assert shown_in(done.output, names_in(captures)) == []
    hidden = iodiag.anonymized(report, captures)
    assert as_json.from_json(hidden.to_json()).to_markdown() == hidden.to_markdown()


def test_a_number_in_what_a_text_calls_its_runs_is_hidden_when_rendered_again():
    head = " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa"
    quiet = "\n".join(
        f" 1  0  0 81230{n}  20000 300000  0  0  5  2{n} 300 40{n}  5  2 93  0" for n in range(4)
    )
    waiting = "\n".join(
        f" 0 1{n}  0 81230{n}  20000 300000  0  0  40{n}0  20 300 40{n}  5  2 3 90" for n in range(4)
    )
    text = "\n".join(
        f"case 4711882 {when} the change:\n{head}\n{rows}\n"
        for when, rows in (("before", quiet), ("after", waiting))
    )
    report = iodiag.analyze([iodiag.read(io.BytesIO(text.encode()))])
    assert "case 4711882 after the change" in report.headline
    assert (
        "4711882"
        not in as_json.from_json(iodiag.anonymized(as_json.from_json(report.to_json())).to_json()).to_json()
    )


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("Linux 5.14.0 (myhost)", "Linux 5.14.0 (host-1)"),
        ("myhost.corp.example and myhost", "host-1 and host-1"),
        ("MYHOST-sda", "host-1-disk-1"),
        ("sda1 sda sdab", "partition-1 disk-1 … (the rest of 13 characters is left out)"),
        ("vg0-data 0 1 2", "volume-1 0 1 2"),
        ("/dev/mapper/vg0-data", "/dev/mapper/volume-1"),
        ("data vg0", "volume-1 group-1"),
        ("wait 10.1.2.3 10.1.2.3 12.7.7", "wait ip-1 ip-1 12.7.7"),
        ("| 8 | bob | localhost |", "| 8 | … (the rest of 23 characters is left out)"),
        ("UUID=5e1f-77aa", "UUID=… (the rest of 14 characters is left out)"),
        ("sda   12.5 1.2e-05 3.6T 100%", "disk-1   12.5 1.2e-05 3.6T 100%"),
        ("/srv/pay/roll ext4", "volume-2 ext4"),
    ],
)
def test_a_quoted_line_keeps_what_every_tool_prints(text, hidden):
    names = Pseudonyms()
    host = iodiag.read(
        io.BytesIO(IOSTAT.format(host="myhost.corp.example", device="sda", other="sda1").encode())
    )
    names.add(names_of_capture(host))
    names.add([of_device("dm-0", ("vg0/data",))])
    names.add([of_device("/srv/pay/roll", ())])
    assert names.line(text) == hidden


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("sda", "disk"),
        ("sda1", "partition"),
        ("nvme0n1", "disk"),
        ("nvme0n1p2", "partition"),
        ("md127", "array"),
        ("dm-3", "volume"),
        ("dev8-16", "disk"),
        ("dev253-1", "device"),
        ("loop0", "loop"),
        ("vg0-data", "volume"),
        ("mpatha", "volume"),
    ],
)
def test_a_pseudonym_keeps_the_kind(name, kind):
    assert kind_of_device(name) == kind


@pytest.mark.parametrize(
    ("release", "shown"),
    [
        ("5.14.0-503.40.1.el9_5.x86_64", "5.14.0-503.40.1.el9_5.x86_64"),
        ("6.1.0-50-amd64", "6.1.0-50-amd64"),
        ("6.8.0-acme-db+", "6.8.0-…"),
    ],
)
def test_a_kernel_of_ones_own_is_cut(release, shown):
    assert release_of(release) == shown


MARKUP = ["a.*b", "(ab", "[x9", "x\\d+", "$HOME", "<b>x9</b>", "x9|y", "`x9`"]
ALIKE = [
    "host-1",
    "disk-1",
    "x9",
    "x9x9",
    "x9-x9",
    "x9.x9",
    "x9.x9.x9",
    "sda1",
    "sda",
    "sdaa",
    "ſda9",
    "İstanbul9",
]
ODD_NAMES = st.one_of(
    st.text(st.characters(categories=["L", "N", "P", "S"]), min_size=1, max_size=8).map("x9".__add__),
    st.sampled_from([*MARKUP, *ALIKE]),
)


@examples(150)
@given(st.lists(ODD_NAMES, min_size=1, max_size=4, unique_by=str.lower), ODD_NAMES)
def test_whatever_a_thing_is_called_its_name_is_gone(devices, host):
    # one name for both is kept where it is the kernel's for a device
    assume(host not in devices)
    names = Pseudonyms()
    names.add([Name("host", (host,)), *(of_device(name, ()) for name in devices)])
    given = {*devices, host}
    for name in given:
        marked, others = f"`{name}` 1 2", [names.line(f"{name} 1 2"), names.remark(f"{name} 1 2")]
        for shown in (names.prose(name if name in devices else marked), *others):
            assert name.lower() not in shown.lower().replace(names.name(name).lower(), "", 1)
        assert names.name(name) in others[0]
    assert not {names.name(name) for name in given} & given
    assert len({names.name(name) for name in devices}) == len({device_names(name)[0] for name in devices})


@examples(15)
@given(st.lists(st.from_regex(r"q[a-z]{5}[0-9]{2}", fullmatch=True), min_size=3, max_size=3, unique=True))
def test_the_report_is_the_same_whatever_the_things_are_called(drawn):
    pages = []
    # where a report sorts names, it shows how they sort
    for host, device, other in ([drawn[0], *sorted(drawn[1:])], ["qxhost77", "qxdevi77", "qxothe77"]):
        text = IOSTAT.format(host=host, device=f"vol-{device}", other=f"vol-{other}")
        capture = iodiag.read(io.BytesIO(text.encode()), name=f"{host}.txt")
        report = dataclasses.replace(iodiag.analyze(capture), generated="")
        pages.append(iodiag.anonymized(report, [capture]).to_markdown())
    squeezed = [re.sub(r" +", " ", page) for page in pages]
    assert squeezed[0] == squeezed[1]


@pytest.mark.parametrize("word", ["read", "data", "backup", "requests"])
def test_a_host_with_a_plain_word_for_a_name_spoils_no_sentence(word):
    captures = [iodiag.read(io.BytesIO(IOSTAT.format(host=word, device="sda", other="sdb").encode()))]
    report = iodiag.analyze(captures)
    plain = iodiag.analyze(
        iodiag.read(io.BytesIO(IOSTAT.format(host="q9", device="sda", other="sdb").encode()))
    )
    sentences = [f.summary for f in iodiag.anonymized(report, captures).findings]
    assert sentences == [f.summary for f in iodiag.anonymized(plain).findings]
    assert iodiag.anonymized(report, captures).hosts == ["host-1"]


LETTERS = st.text("bcdfghjklmnpqrstvwxz", min_size=6, max_size=9).filter(
    lambda word: not word.startswith("mmcblk")  # how the kernel's own names begin, which is kept
)
LSBLK = """\
NAME          MAJ:MIN RM  SIZE RO TYPE MOUNTPOINT
{disk}        8:0    0  100G  0 disk
`-{group}-{volume} 253:0 0 90G 0 lvm  /{place}
"""
SAR = """\
Linux 5.14.0 ({host}) \t11/20/26 \t_x86_64_\t(4 CPU)

10:00:01 DEV tps rd_sec/s wr_sec/s avgrq-sz avgqu-sz await svctm %util
10:00:02 {disk} 100.00 800.00 0.00 8.00 9.50 95.00 9.50 99.00
10:00:03 {disk} 100.00 800.00 0.00 8.00 9.50 95.00 9.50 99.00
"""


def folder_of(place: Path, names: dict[str, str]) -> Path:
    """Captures of two hosts, by iostat with groups and by sar, and a tree of devices, called after things."""
    for host in ("host", "other"):
        folder = place / names["folder"] / names[host]
        folder.mkdir(parents=True)
        called = names | {"host": names[host]}
        text = IOSTAT.format(
            host=called["host"], device=f"{called['group']}-{called['volume']}", other="{disk}"
        )
        grouped = f" {called['tier']} 102.00 0.00 1616.00 0.00 0.00 0.00 9.60 0.00 0.96 96.00"
        (folder / f"{names['file']}.txt").write_text(text.format(**called) + grouped + "\n")
        (folder / "z-sar.txt").write_text(SAR.format(**called))
        (folder / "z-lsblk.txt").write_text(LSBLK.format(**called))
    return place / names["folder"]


def texts_below(folder: Path) -> Iterator[str]:
    """The names and contents of all files below a folder, those of Parquet unpacked."""
    for path in folder.rglob("*"):
        yield str(path.relative_to(folder))
        if path.suffix == ".parquet":
            yield pd.read_parquet(path, partitioning=None).to_csv()
        if path.is_file():
            yield path.read_bytes().decode("latin-1")


def outputs_of(given: Path, out: Path) -> Iterator[str]:
    """All that the commands write of a folder, direct and rendered again, the names of the files included."""
    sides = sorted(given.iterdir())
    run("analyze", given, "-o", out / "stored.json")
    run("compare", *sides, "-o", out / "compared.json")
    reports = [("analyze", given), ("compare", *sides)]
    reports += [("analyze", out / "stored.json"), ("analyze", out / "compared.json")]
    for number, command in enumerate(reports):
        folder = out / str(number)
        folder.mkdir()
        files = [word for e in ("md", "html", "json", "sarif") for word in ("-o", folder / f"r.{e}")]
        done = run(*command, *files, "--full", "--anonymize", "--format", "ticket")
        assert done.exit_code == 0, done.output
        yield done.output.replace(str(out), "")
        yield from (p.name if p.suffix == ".png" else p.read_text() for p in folder.iterdir())
        yield run(*command, "--format", "ticket", "--anonymize").output
    for command in (["inspect"], ["inspect", "--json"], ["convert", "--table", "disk"]):
        done = run(*command, given, "--anonymize")
        assert done.exit_code == 0, done.output
        yield done.output
    done = run("fleet", given, "-o", out / "fleet", "--jobs", 1, "--anonymize")
    assert done.exit_code == 0, done.output
    yield done.output.replace(str(out), "")
    yield from texts_below(out / "fleet")
    assert run("convert", given, "-o", out / "t.parquet", "--table", "disk", "--anonymize").exit_code == 0
    yield pd.read_parquet(out / "t.parquet").to_csv() + (out / "t.parquet").read_bytes().decode("latin-1")


THINGS = ("host", "other", "disk", "group", "volume", "place", "folder", "file", "tier")


@examples(8, fewest=2)
@given(st.lists(LETTERS, min_size=len(THINGS), max_size=len(THINGS), unique=True))
def test_no_word_of_letters_that_names_a_thing_is_in_any_output(words):
    with TemporaryDirectory() as place:
        out = Path(place, "out")
        out.mkdir()
        given = folder_of(Path(place), dict(zip(THINGS, words, strict=True)))
        for text in outputs_of(given, out):
            assert [word for word in words if word in text.lower()] == []


@pytest.mark.parametrize("word", ["backup", "data", "reads"])
def test_a_host_with_a_plain_word_for_a_name_is_hidden_in_the_headline(word):
    full = IOSTAT.replace(" 9.60    0.00   0.96", "90.60    0.00   9.96").replace(
        " 9.00    0.00   0.99", "90.00    0.00   9.99"
    )
    captures = [
        iodiag.read(io.BytesIO(full.format(host=host, device="sda", other="sdb").encode()))
        for host in (word, "other")
    ]
    headline = iodiag.anonymized(iodiag.analyze(captures), captures).headline
    assert "(`host-1`)" in headline
    assert f"({word})" not in headline


def test_flags_that_only_a_part_of_the_rows_has_stay(tmp_path):
    names = dict.fromkeys(THINGS, "x") | {"host": "ha", "other": "hb", "disk": "sda", "tier": "grp"}
    (capture,) = anonymous_captures([iodiag.read(folder_of(tmp_path, names))], Pseudonyms())
    assert {*capture.disk["is_group"].dropna()} == {True, False}
    assert capture.disk["is_group"].isna().any()


def test_what_many_devices_did_over_time_is_without_names():
    head = next(line for line in IOSTAT.splitlines() if line.startswith("Device"))
    words = [f"{a}{b}zqk" for a in "bcdfg" for b in "hjklm"]
    text = IOSTAT.splitlines()[0].format(host="zebra") + "\n"
    for second in range(10, 20):
        rows = [f"{word} 100.00 0.00 1600.00 0.00 0.00 0.00 9.60 0.00 0.96 {second}.00" for word in words]
        text += "\n".join(["", f"10:00:{second}", head, *rows, ""])
    capture = iodiag.read(io.BytesIO(text.encode()))
    report = iodiag.analyze(capture)
    assert {one.device for one in report.activity} == set(words)
    hidden = iodiag.anonymized(report, [capture])
    for rendered in (hidden.to_json(), hidden.to_html(), hidden.to_markdown(full=True)):
        assert not [word for word in words if word in rendered]


OWN_WORDS = [
    *("average", "await", "busy", "count", "critical", "device", "disk", "evidence", "finding", "full"),
    *("high", "host", "latency", "load", "measured", "members", "queue", "reads", "requests", "sample"),
    *("samples", "saturated", "seconds", "share", "time", "trouble", "waits", "warning", "writes"),
]
FOREIGN = [f"q{letter}zxw" for letter in "abcdefghi"]


def said_of(words: list[str], place: Path) -> list[str]:
    """All that is said of the things that are called so, with every pseudonym's number left out."""
    (place / "out").mkdir(parents=True)
    given = folder_of(place, dict(zip(THINGS, words, strict=True)))
    sides, told = sorted(given.iterdir()), []
    for command in (("analyze", given), ("compare", *sides), ("inspect", given)):
        endings = {"analyze": ("md", "html", "json"), "compare": ("json",)}.get(command[0], ())
        files = [word for e in endings for word in ("-o", place / "out" / f"r.{e}")]
        done = run(*command, *files, *(["--full", "--no-charts"] if files else []), "--anonymize")
        assert done.exit_code == 0, done.output
        told += [done.output.replace(str(place), "")]
        told += [path.read_text() for path in map(Path, map(str, files[1::2]))]
    told = [
        re.sub(r'"generated": "[^"]*"|\d{4}-\d\d-\d\dT[\d:]+Z|iodiag: wrote .*', "", text) for text in told
    ]
    return [re.sub(r"(?:[ \u2500-]|&nbsp;)+", " ", re.sub(r"-\d+(p\d+)?\b", "-N", text)) for text in told]


@examples(8)
@given(st.permutations(OWN_WORDS), st.permutations(range(len(THINGS))))
def test_things_called_by_words_of_iodiag_are_spoken_of_as_any_others(words, order):
    # what is sorted by name is so by any names in the same order
    own, foreign = sorted(words[: len(THINGS)]), FOREIGN
    with TemporaryDirectory() as place:
        said = [said_of([some[at] for at in order], Path(place, some[0])) for some in (own, foreign)]
    for one, other in zip(*said, strict=True):
        assert one == other


@examples(12)
@given(st.permutations(OWN_WORDS))
def test_a_stored_report_holds_no_word_of_iodiag_that_names_a_device(words):
    names = dict(zip(THINGS, FOREIGN, strict=True)) | {"disk": words[0], "tier": words[1], "place": words[2]}
    with TemporaryDirectory() as place:
        captures, _ = iodiag.read_many([folder_of(Path(place), names)])
    stored = as_json.from_json(iodiag.analyze(captures).to_json().encode())
    assert {words[0], words[1]} <= set(stored.names)
    hidden = json.loads(iodiag.anonymized(stored).to_json())
    composed = [hidden[key] for key in ("headline", "series", "names")]
    own = {"kind", "direction"}  # what iodiag calls them
    composed += [
        {key: value for key, value in one.items() if key not in own}
        for one in (*hidden["devices"], *hidden["states"])
    ]
    composed += [[f[key] for key in ("title", "summary", "remedy", "confirm")] for f in hidden["findings"]]
    composed += [
        [e["text"], [q["text"] for q in e["quotes"]]] for f in hidden["findings"] for e in f["evidence"]
    ]
    shown = [MADE_BY_US.sub("", text.lower()) for text in texts_of(composed)]
    said = {word for text in shown for word in re.findall(r"[^\W_]+", text)}
    assert said & {words[0], words[1]} == set()


@pytest.mark.parametrize("path", [*OF_DISKS, *CASES], ids=name_of)
def test_what_is_judged_under_pseudonyms_is_judged_alike(path):
    captures, _ = iodiag.read_many([path])
    plain, hidden = iodiag.analyze(captures), iodiag.analyze(captures, names=Pseudonyms())
    judged = [
        (
            report.verdict and (report.verdict.state, report.verdict.rule, report.verdict.severity),
            [(f.rule, f.severity, f.confidence, f.samples, len(f.devices)) for f in report.findings],
            sorted((one.rule, one.status) for one in report.outcomes),
        )
        for report in (plain, hidden)
    ]
    assert judged[0] == judged[1]
    assert shown_in(hidden.to_json(), names_in(captures)) == []


def test_what_is_asked_for_and_ignored_is_called_by_real_names(tmp_path):
    text = IOSTAT.format(host="db1", device="vg0-payroll", other="sdq").replace(" 9.60 ", " 960.0 ")
    capture = iodiag.read(io.BytesIO(text.encode()))
    asked = iodiag.analyze(capture, devices=["vg0/payroll"], names=Pseudonyms())
    assert [one.name for one in asked.devices] == ["volume-1"]
    found = {finding.rule for finding in iodiag.analyze(capture).findings}
    ignore = [Ignore(rule, "known", device="vg0-*", host="db*") for rule in found]
    plain, hidden = (iodiag.analyze(capture, ignore=ignore, names=n) for n in (None, Pseudonyms()))
    assert plain.ignored
    assert [one.finding.rule for one in hidden.ignored] == [one.finding.rule for one in plain.ignored]
