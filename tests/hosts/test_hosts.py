from __future__ import annotations

import pandas as pd
import pytest

from iodiag.hosts.captures_to_hosts import STATEMENT, assign_hosts, topologies_of, without_host
from iodiag.model.capture import Capture, Fact, Section, Source, SourceRef
from iodiag.model.topology import Device, DeviceTopology


def capture_of(path: str, host: str | None = None, kind: str = "context", folder: str | None = None):
    """A capture as reading one file gives it: samples of `disk` or others, `context`, a `statement`."""
    folder = path.rpartition("/")[0] if folder is None else folder
    section = Section(
        path, STATEMENT if kind == "statement" else "x", "", host, is_context=kind in ("context", "statement")
    )
    capture = Capture(sources={path: Source(path, path.encode(), folder=folder)}, sections=[section])
    if kind in ("disk", "samples"):
        frame = pd.DataFrame({"source": [path], "host": pd.Categorical([host or ""]), "device": ["sda"]})
        capture.tables["disk" if kind == "disk" else "cpu"] = frame
    elif kind == "context":
        capture.topology = DeviceTopology({"sda": Device("sda", model=path)})
        capture.evidence.append(Fact("x", {}, "", SourceRef(path, 1, 1)))
    return capture


def host_of(capture: Capture) -> str | None:
    """The host that everything in a capture has."""
    hosts = {section.host for section in capture.sections}
    hosts |= {fact.host for fact in capture.evidence}
    hosts |= set(capture.topologies)
    hosts |= {host or None for frame in capture.tables.values() for host in frame["host"]}
    (host,) = hosts
    return host


NAMED = [("a/iostat", "A", "disk"), ("b/iostat", "B", "disk")]


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        ([("a/lsblk", None, "context"), ("b/lsblk", None, "context")], ["A", "B"]),
        ([("a/vmstat", None, "samples")], ["A"]),
        ([("a/iostat-2", None, "disk")], ["A"]),
        ([("a/deep/er/lsblk", None, "context")], ["A"]),
        # what the folder above holds for both is nobody's
        ([("lsblk", None, "context")], [None]),
        ([("c/lsblk", None, "context")], [None]),
        # an unknown host's own disks, and what lies beside them
        ([("c/iostat", None, "disk"), ("c/lsblk", None, "context")], [None, None]),
        ([("c/x/iostat", "C", "disk"), ("c/y/lsblk", None, "context")], ["C", "C"]),
        ([("c/x/iostat", "C", "disk"), ("c/y/iostat", None, "disk")], ["C", None]),
        # in an archive they are of the archive's host
        ([("c.tar:x/iostat", "C", "disk"), ("c.tar:y/iostat", None, "disk")], ["C", "C"]),
        ([("c.tar:x/iostat", "C", "disk"), ("c.tar:lsblk", None, "context", "c.tar:")], ["C", "C"]),
        # a stated name counts for a whole tree
        ([("c/hostname", "C", "statement"), ("c/s/x", None, "context"), ("c/y/io", None, "disk")], ["C"] * 3),
        # in the spelling of the captures below it, even where the host was renamed
        ([("c/hostname", "C", "statement"), ("c/d/io", "C.net", "disk"), ("c/x", None)], ["C.net"] * 3),
        ([("c/hostname", "new", "statement"), ("c/d/io", "old", "disk"), ("c/x", None)], ["old"] * 3),
        ([("c/hostname", "B", "statement"), ("c/sys/x", None, "context")], ["B", "B"]),
        # nor does a day of sar before the renaming decide whose other commands' output is
        (
            [
                ("c/hostname", "C", "statement"),
                ("c/cmds/sar/sar27", "old", "samples"),
                ("c/cmds/process/iotop", "C", "samples"),
                ("c/cmds/block/lsblk", None, "context"),
            ],
            ["C", "old", "C", "C"],
        ),
        (
            [
                ("c/hostname", "C", "statement"),
                ("c/cmds/sar/sar27", "old", "samples"),
                ("c/log/messages", "C", "samples"),
                ("c/cmds/block/lsblk", None, "context"),
            ],
            ["C", "old", "C", "C"],
        ),
        # standard input lies nowhere
        ([("(stdin)", None, "context")], [None]),
    ],
)
def test_what_names_no_host_is_of_the_nearest_place_that_does(others, expected):
    captures = [capture_of(*entry) for entry in (*NAMED, *others)]
    settled = assign_hosts(captures)
    assert [host_of(capture) for capture in settled[2:]] == expected
    assert [host_of(capture) for capture in settled[:2]] == ["A", "B"]
    again = assign_hosts(settled)
    assert [host_of(capture) for capture in again] == [host_of(capture) for capture in settled]


def test_a_short_stated_name_is_the_only_long_one_that_fits():
    captures = [capture_of("x/iostat", "web1.a.com", "disk"), capture_of("y/hostname", "web1", "statement")]
    assert [host_of(capture) for capture in assign_hosts(captures)] == ["web1.a.com"] * 2
    both = [*captures, capture_of("z/iostat", "web1.b.org", "disk")]
    assert [host_of(capture) for capture in assign_hosts(both)][1] == "web1"


def test_all_is_of_the_only_host():
    captures = [
        capture_of("a/iostat", "A", "disk"),
        capture_of("b/iostat", None, "disk"),
        capture_of("(stdin)", None, "context", folder=""),
    ]
    assert [host_of(capture) for capture in assign_hosts(captures)] == ["A", "A", "A"]


def test_without_any_name_nothing_is_given_away():
    captures = [capture_of("a/iostat", None, "disk"), capture_of("a/lsblk")]
    assert [host_of(capture) for capture in assign_hosts(captures)] == [None, None]
    assert without_host(assign_hosts(captures)) == []


def test_context_that_several_hosts_could_own_is_noted_once():
    captures = assign_hosts([capture_of(*entry) for entry in (*NAMED, ("lsblk", None, "context"))])
    (note,) = without_host(captures)
    assert note.source == "lsblk"
    assert "A, B" in note.reason
    captures[2].notes.append(note)
    assert without_host(captures) == []


def test_listings_of_one_text_are_of_the_hosts_they_stand_below():
    sections = [
        Section("t", "iostat", "", "A", first_line=1),
        Section("t", "lsblk", "", "A", is_context=True, first_line=10),
        Section("t", "iostat", "", "B", first_line=20),
        Section("t", "lsblk", "", "B", is_context=True, first_line=30),
    ]
    devices = [Device("sda", model=str(n), provenance={"model": f"lsblk t:{n}"}) for n in (12, 33)]
    found = topologies_of(devices, sections)
    assert {host: topology.devices["sda"].model for host, topology in found.items()} == {"A": "12", "B": "33"}
    assert topologies_of(devices, sections[:2]) == {}
    facts = [Fact("x", {}, "", SourceRef("t", line, line)) for line in (12, 33)]
    capture = Capture(sources={"t": Source("t", b"")}, sections=sections, evidence=facts, topologies=found)
    (settled,) = assign_hosts([capture])
    assert [fact.host for fact in settled.evidence] == ["A", "B"]
    assert set(settled.topologies) == {"A", "B"}
