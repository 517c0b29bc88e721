# ruff: noqa: E501  # lines of captures stay as they are printed
"""Before and after in one text: what each device did in each phase, in JSON and in the report."""

from __future__ import annotations

import io
import json

import pytest

import iodiag

HEADER = "Device r/s w/s rkB/s wkB/s rrqm/s wrqm/s %rrqm %wrqm r_await w_await aqu-sz rareq-sz wareq-sz svctm %util\n"
IDLE = "sdz" + " 0.00" * 15 + "\n"


def row(device: str, rate: float, wait: float) -> str:
    busy = min(rate * wait / 10, 100)
    return (
        f"{device} {rate:.2f} 0.00 {8 * rate:.2f} 0.00 0.00 0.00 0.00 0.00 {wait:.2f} 0.00 "
        f"{rate * wait / 1000:.2f} 8.00 0.00 0.00 {busy:.2f}\n"
    )


BEFORE = HEADER + row("sda", 100.37, 4) + IDLE + "\n" + HEADER + row("sda", 300.41, 8) + IDLE + "\n"
AFTER = HEADER + row("sda", 802.53, 2) + row("sdb", 10.17, 1) + IDLE


def analyzed(text: str) -> iodiag.Report:
    return iodiag.analyze([iodiag.read(io.BytesIO(text.encode()), name="mail.txt")])


def test_each_phase_has_its_own_means():
    report = analyzed(f"Before:\n\n{BEFORE}After:\n\n{AFTER}")
    first, last = json.loads(report.to_json())["phases"]
    assert (first["device"], first["label"], first["phase"], first["samples"]) == ("sda", "Before:", 0, 2)
    assert (last["device"], last["label"], last["phase"], last["samples"]) == ("sda", "After:", 1, 1)
    # a latency is weighted by its requests
    assert first["means"]["read_await_ms"] == pytest.approx((100.37 * 4 + 300.41 * 8) / 400.78, rel=1e-5)
    assert last["means"]["reads_per_s"] == 802.53
    assert first["seconds"] is last["seconds"] is None


def test_the_report_shows_them_side_by_side():
    text = analyzed(f"Before:\n\n{BEFORE}After:\n\n{AFTER}").to_markdown()
    section = text.split("## Before and after")[1].split("\n## ")[0]
    assert "| Mean | Before: | After: | Last to first |" in section
    assert "| reads/s | 200.4 | 802.5 | 4x |" in section
    assert "`sdb`" not in section  # not in both
    assert "`sdz`" not in section


def test_one_phase_or_a_heading_above_every_report_is_no_comparison():
    assert analyzed(BEFORE).phases == ()
    assert analyzed("".join(f"Run {n}:\n{BEFORE}" for n in range(8))).phases == ()


@pytest.mark.parametrize(("between", "phases"), [("......", 0), ("[...]", 0), ("Later:", 2)])
def test_rows_left_out_below_dots_are_no_phase_of_their_own(between, phases):
    assert len(analyzed(f"{BEFORE}{between}\n{AFTER}").phases) == phases
    more = HEADER + row("sda", 200.13, 3) + IDLE
    three = analyzed(f"Before:\n\n{BEFORE}.....\n{more}After:\n\n{AFTER}").phases
    assert [(one.label, one.samples) for one in three] == [("Before:", 3), ("After:", 1)]


def test_what_a_phase_is_called_may_name_anything_and_is_hidden():
    capture = iodiag.read(io.BytesIO(f"On bofhserver:\n{BEFORE}On newserver:\n{AFTER}".encode()), name="x")
    hidden = iodiag.anonymized(iodiag.analyze([capture]), [capture])
    assert len(hidden.phases) == 2
    assert "server" not in hidden.to_json()
    assert "server" not in hidden.to_markdown()


@pytest.mark.parametrize("second", ["$ iostat -x 1", f"Second:\n\n{HEADER}{row('sda', 512.3, 3)}\nThird:"])
def test_commands_alone_and_more_than_two_runs_are_no_change(second):
    text = analyzed(f"First:\n\n{BEFORE}\n{second}\n\n{AFTER}").to_markdown()
    assert "Last to first" not in text
    assert "## Before and after" not in text


@pytest.mark.parametrize(
    "labels",
    [("fio -rw=randwrite -bs=4k:", "fio -rw=randread -bs=4k:"), ("# Linux 4.4.0-11:", "# Linux 5.4.0-10:")],
)
def test_two_benchmarks_or_kernels_are_no_course_of_time(labels):
    first, second = labels
    assert "## Runs side by side" in analyzed(f"{first}\n\n{BEFORE}\n{second}\n\n{AFTER}").to_markdown()


@pytest.mark.parametrize(
    ("words", "label"),
    [
        (
            "The scan keeps its pace while the copies\nfill the disk:",
            "The scan keeps its pace while the copies fill the disk:",
        ),
        ("Nothing else ran.\nafter:", "after:"),
    ],
)
def test_a_label_is_a_whole_sentence(words, label):
    phases = analyzed(f"{words}\n\n{BEFORE}Later:\n\n{AFTER}").phases
    assert phases[0].label == label


def test_a_latency_of_all_requests_is_that_of_no_direction():
    header = "Device: rrqm/s wrqm/s r/s w/s rkB/s wkB/s avgrq-sz avgqu-sz await svctm %util\n"
    rows = [
        f"sda 0.00 0.00 58.00 {w}.00 464.00 {8 * w}.00 16.00 {q} {t} 0.70 90.00\n"
        for w, q, t in ((1251, 26.7, 20.4), (3, 0.1, 1.5))
    ]
    for phase in analyzed(f"With:\n\n{header}{rows[0]}\nWithout:\n\n{header}{rows[1]}").phases:
        assert "await_ms" in phase.means
        assert not {"read_await_ms", "write_await_ms"} & set(phase.means)


@pytest.mark.parametrize(
    ("rate", "wait", "is_told"), [(39.17, 1.27, True), (67.3, 1.27, False), (39.17, 3, False)]
)
def test_the_verdict_tells_what_phases_of_the_same_reads_show(rate, wait, is_told):
    first, last = (HEADER + row("sda", *each) for each in ((37.31, 8.25), (rate, wait)))
    report = analyzed(f"Without a cache:\n\n{first * 3}With a cache:\n\n{last * 3}")
    told = (
        "Reads of sda take 8.25 ms in phase 1 and 1.27 ms in phase 2 at the same rate (37.31/s and 39.17/s)."
    )
    assert (told in report.headline) is is_told


def test_another_node_is_no_change_and_few_requests_have_no_ratio_of_latency():
    few = HEADER + row("sda", 9.5, 6) + IDLE
    other = analyzed(f"One node is slow:\n\n{BEFORE}but the other nodes are normal:\n\n{AFTER}").to_markdown()
    assert "## Runs side by side" in other
    assert "Last to first" not in other
    fewer = analyzed(f"Before:\n\n{BEFORE}After the fix of the server:\n\n{few}").to_markdown()
    assert "## Before and after" in fewer
    assert "| read await ms | 6.998 | 6 |  |" in fewer
    assert "| reads/s | 200.4 | 9.5 | 0.047x |" in fewer


@pytest.mark.parametrize(
    ("queue", "busy", "in_flight", "has_busy"), [(0.00, 99.01, 0.4, False), (0.40, 40.00, 0.4, True)]
)
def test_what_counters_say_that_are_not_true_is_compared_with_nothing(queue, busy, in_flight, has_busy):
    numbers = (
        f"4000.00 0.00 16000.00 0.00 0.00 0.00 0.00 0.00 0.10 0.00 {queue:.2f} 4.00 0.00 0.00 {busy:.2f}"
    )
    report = analyzed(f"Before:\n\n{HEADER}{row('sda', 4000.0, 0.1)}\nAfter:\n\n{HEADER}sda {numbers}\n")
    last = report.phases[-1].means
    assert last["queue_depth"] == pytest.approx(in_flight, abs=0.01)
    assert ("util_pct" in last) == has_busy
