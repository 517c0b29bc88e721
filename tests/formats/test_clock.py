"""Dates and clocks as the tools, `date` and log collectors print them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iodiag.formats import clock as _clock
from iodiag.formats.clock import (
    Clock,
    day_order,
    find_stamp,
    grid_interval,
    interval_lengths,
    leading_time,
    parse_line,
)

NOON = 12 * 3600 + 24 * 60 + 1


@pytest.mark.parametrize(
    ("line", "day", "seconds", "offset"),
    [
        ("11/20/26 12:24:01", (11, 20, 26), NOON, None),
        ("11/20/2026 12:24:01 PM", (11, 20, 2026), NOON, None),
        ("11/20/2026 12:24:01 AM", (11, 20, 2026), 24 * 60 + 1, None),
        ("20.11.2026 12:24:01", (20, 11, 2026), NOON, None),
        ("20.11.26 12.24.01", (20, 11, 26), NOON, None),
        ("2026年11月20日 12時24分01秒", (2026, 11, 20), NOON, None),
        ("2026-11-20T12:24:01-0500", (2026, 11, 20), NOON, -18000),
        ("2026-11-20 12:24:01.5Z", (2026, 11, 20), NOON + 0.5, 0),
        ("2026-11-20T12:24:01+05:30", (2026, 11, 20), NOON, 19800),
        ("Fri Nov 20 12:24:01 UTC 2026", (2026, 11, 20), NOON, 0),
        ("Fri Nov 20 12:24:01 PM EST 2026", (2026, 11, 20), NOON, -18000),
        ("Fri 20 Nov 2026 12:24:01 PM CET", (2026, 11, 20), NOON, 3600),
        ("Fri Nov 20 12:24:01 CST 2026", (2026, 11, 20), NOON, None),
        ("Fr 20. Nov 12:24:01 CET 2026", (2026, 11, 20), NOON, 3600),
        ("mar. 03 mars 2020 12:24:01 CET", (2020, 3, 3), NOON, 3600),
        ("vendredi 20 novembre 2026, 12:24:01 (UTC+0100)", (2026, 11, 20), NOON, 3600),
        ("2026年 11月 20日 金曜日 12:24:01 JST", (2026, 11, 20), NOON, 32400),
        ("zzz ***Fri Nov 20 12:24:01 EST 2026", (2026, 11, 20), NOON, -18000),
        ("zzz ***Fri Nov 20 12:24:01 EST 2026 Sample interval: 30 secs", (2026, 11, 20), NOON, -18000),
        ("=== Fri Nov 20 12:24:01 UTC 2026 ===", (2026, 11, 20), NOON, 0),
    ],
)
def test_lines_that_hold_a_time(line: str, day: tuple[int, int, int], seconds: float, offset: float | None):
    clock = parse_line(line)
    assert clock is not None
    assert (clock.day, clock.seconds, clock.offset_s, clock.only_above_header) == (
        day,
        seconds,
        offset,
        False,
    )


@pytest.mark.parametrize(
    "line", ["Time: 12:24:01", "Zeit: 12:24:01", "12:24:01", "12:24:01 PM", "11/20/2026 12:24"]
)
def test_times_that_only_a_report_below_them_confirms(line: str):
    clock = parse_line(line)
    assert clock is not None
    assert clock.only_above_header


@pytest.mark.parametrize(
    "line",
    [
        "On 11/20/2026 12:24:01 PM John wrote:",
        "Posted: 11/20/2026 12:24:01",
        "Date: Fri, 20 Nov 2026 12:24:01 +0100",
        "Uptime: 12:24:01",
        "11/20/26",
        "25:00:01",
        "12:61:01",
        "sda 0.00 1.00 2.00",
        "",
        "1234",
        "12:24:01 12:24:02",
        "x" * 5000,
    ],
)
def test_lines_that_hold_none(line: str):
    assert parse_line(line) is None


def test_epochs():
    assert parse_line("1795177441") == Clock(epoch=1795177441.0)
    clock = parse_line("912345678")
    assert clock is not None
    assert clock.only_above_header


@pytest.mark.parametrize(
    ("prefix", "seconds"),
    [
        ("Nov 20 12:24:01 host iostat[123]: ", NOON),
        ("2026-11-20T12:24:01+00:00 host x: ", NOON),
        ("[12:24:01] ", NOON),
        ("[Fri Nov 20 12:24:01 2026] ", NOON),
        ("2026-11-20 12:24:01,500 INFO ", NOON + 0.5),
        ("host1: ", None),
        ("17 ", None),
    ],
)
def test_the_stamp_of_a_log_collector(prefix: str, seconds: float | None):
    clock = find_stamp(prefix)
    assert (clock.seconds if clock else None) == seconds


@pytest.mark.parametrize(
    ("words", "taken"),
    [
        ("12:24:01 DEV tps", 1),
        ("12:24:01 PM DEV", 2),
        ("12시 24분 01초 DEV", 3),
        ("12:24:01 p. m. DEV", 3),
        ("1.50 2.00", 0),
        ("DEV", 0),
    ],
)
def test_the_clock_in_front_of_a_line(words: str, taken: int):
    seconds, count = leading_time(words.split())
    assert count == taken
    assert seconds == (NOON if taken else None)


@pytest.mark.parametrize(
    ("dates", "has_am_pm", "order", "is_guess"),
    [
        (["11/20/26"], False, "mdy", False),
        (["20/11/26"], False, "dmy", False),
        (["10.11.2026"], False, "dmy", False),
        (["2026-11-10"], False, "mdy", False),
        (["10/11/26"], False, "mdy", True),
        (["10/11/26"], True, "mdy", True),
        (["09/11/26", "10/11/26", "11/11/26"], False, "dmy", True),
        (["11/09/26", "11/10/26"], False, "mdy", True),
        (["02-03-2015"], False, "dmy", True),
        (["20-03-2015"], False, "dmy", False),
        (["10-01-28"], False, "ymd", True),
        (["13-01-28"], False, "ymd", True),
        (["10-01-25"], False, "dmy", True),
        (["01-28-10"], False, "mdy", False),
        ([], False, "mdy", False),
    ],
)
def test_day_or_month_first(dates: list[str], has_am_pm: bool, order: str, is_guess: bool):
    clocks = [clock for text in dates if (clock := _clock.parse_date(text))]
    found, sentence = day_order(clocks, has_am_pm, this_year=2026)
    assert (found, bool(sentence)) == (order, is_guess)


def test_a_year_of_two_digits_in_front():
    clock = _clock.parse_date("10-01-28")
    assert clock is not None
    assert str(_clock.to_day(clock, "ymd")) == "2010-01-28"


@pytest.mark.parametrize("text", ["Thursday 04 September 2014", "2014년 09월 04일", "4 sept 2014"])
def test_dates_in_words(text: str):
    clock = _clock.parse_date(text)
    assert clock is not None
    assert clock.seconds is None
    assert str(_clock.to_day(clock, "mdy")) == "2014-09-04"


@pytest.mark.parametrize("text", ["", "Thursday", "04 September", "kernel 2014"])
def test_what_is_no_date(text: str):
    assert _clock.parse_date(text) is None


def test_impossible_days_are_unknown():
    clock = _clock.parse_date("31/31/26")
    assert clock is not None
    assert _clock.to_day(clock, "mdy") is None
    assert np.isnan(_clock.moment(clock, "mdy"))


def test_lengths_of_samples():
    ends = np.array([10.0, 15.0, 21.0, 25.0, 24.0, 85.0])
    assert interval_lengths(ends, 5.0).tolist()[:4] == [5, 5, 5, 5]
    assert np.isnan(interval_lengths(ends, 5.0)[4])
    assert interval_lengths(ends, None)[5] == 61
    assert interval_lengths(np.array([7.0, 8.0]), 5.0).tolist() == [1, 1]  # no sample lasts less than asked
    assert len(interval_lengths(np.empty(0), None)) == 0


@given(st.sampled_from([1, 2, 5, 10]), st.lists(st.integers(1, 5000), min_size=20, max_size=40, unique=True))
def test_rates_lie_on_the_grid_of_their_interval(length: int, events: list[int]):
    rates = np.array([round(event / length, 2) for event in events])
    found = grid_interval(rates)
    # a multiple of the true grid may be the finest that these events show
    assert np.isnan(found) or (np.abs(rates * found - np.round(rates * found)) <= 0.0051 * found).all()
    assert grid_interval(np.array([1.0, 2.0])) != grid_interval(np.array([1.0, 2.0]))


@given(st.text(max_size=90))
def test_any_text_is_read_or_refused(text: str):
    clock = parse_line(text)
    assert clock is None or clock.seconds is not None or clock.epoch is not None
    find_stamp(text)
