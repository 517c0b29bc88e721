from __future__ import annotations

import pytest

from views import view_of

COLUMNS = "r/s w/s rkB/s wkB/s rrqm/s wrqm/s %rrqm %wrqm r_await w_await aqu-sz rareq-sz wareq-sz svctm %util"
HEADER = f"Device {COLUMNS}\n"
BANNER = "Linux 6.18.44 (vm) \t11/20/26 \t_x86_64_\t(2 CPU)\n\n"
FIRST = "vda 332 233 4562 12072 16 131 5 36 2 1 1 14 52 0 4\n\n"


def disk(*rows: str, first: str = FIRST):
    text = BANNER + HEADER + first + "".join(f"{HEADER}vda {row}\n\n" for row in rows)
    (series,) = view_of(text).devices
    return series.samples


def test_zeros_without_decimals_are_below_half_and_no_zero():
    samples = disk(
        "143 6063 3073 19370 0 0 0 0 0 0 0 22 3 0 27", "143 6063 3073 19370 0 0 0 0 0 1 1 22 3 0 27"
    )
    assert set(samples.floats("half_digit")) == {0.5}
    for column in ("queue_depth", "read_await_ms", "write_await_ms"):
        assert not samples.has(column)
    assert samples.floats("util_pct").tolist() == [27, 27]


def test_numbers_that_are_far_above_their_last_digit_are_kept():
    samples = disk(*["143 63 3073 1937 0 0 0 0 0 5 7 22 3 0 97"] * 2, "1 1 4 4 0 0 0 0 0 0 0 22 3 0 1")
    assert samples.floats("queue_depth").tolist() == [7, 7, 0]


@pytest.mark.parametrize("zeros", ["0.00", "50.00"])
def test_whole_numbers_with_two_decimals_are_exact(zeros):
    first = " ".join(["vda", *["1.00"] * 15]) + "\n\n"
    samples = disk(" ".join(["100.00"] * 8 + [zeros] * 7), first=first)
    assert "half_digit" not in samples
    assert samples.has("queue_depth")


def test_a_size_is_what_is_printed_where_megabytes_in_hundredths_agree_with_it():
    """0.64 MB/s of 38.6 requests are 16.98 kB each within 0.13; the size has two decimals of a sector."""
    head = "Device: rrqm/s wrqm/s r/s w/s rMB/s wMB/s avgrq-sz avgqu-sz await svctm %util\n"
    view = view_of(head + "sda 0.00 124.00 0.00 38.60 0.00 0.64 33.86 0.15 3.79 0.46 1.78\n")
    rows = view.series("sda").samples
    assert rows.floats("write_size_kb")[0] == pytest.approx(16.93)
    assert rows.floats("size_kb")[0] == pytest.approx(16.93)
    other = view_of(head + "sda 0.00 124.00 0.00 38.60 0.00 0.64 40.00 0.15 3.79 0.46 1.78\n")
    assert other.series("sda").samples.floats("write_kb_per_s")[0] == pytest.approx(655.36)
