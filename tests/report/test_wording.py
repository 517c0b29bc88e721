from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iodiag.report import wording


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (-0.0, "0"),
        (0.04567, "0.0457"),
        (0.999, "0.999"),
        (7.83, "7.83"),
        (13.694, "13.69"),
        (375.29, "375.3"),
        (100.0, "100"),
        (999.94, "999.9"),
        (999.96, "1,000"),
        (1439.63, "1,440"),
        (72914.67, "72,915"),
        (-12.5, "-12.5"),
        (1.8e19, "1.8e+19"),
        (3e-9, "3e-09"),
        (math.nan, "–"),
        (None, "–"),
        (math.inf, "∞"),
    ],
)
def test_numbers_keep_three_to_four_digits(value, text):
    assert wording.number(value) == text


@given(st.floats(min_value=1e-5, max_value=1e12))
def test_a_rounded_number_is_within_half_a_per_cent(value):
    assert float(wording.number(value).replace(",", "")) == pytest.approx(value, rel=0.005)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.25, "0.25 s"),
        (59, "59 s"),
        (600, "10 min"),
        (3600, "1 h"),
        (7500, "2 h 5 min"),
        (90061, "1 d 1 h"),
        (86405, "1 d"),
    ],
)
def test_durations_have_two_units(seconds, text):
    assert wording.duration(seconds) == text


@pytest.mark.parametrize(
    ("start", "end", "zone", "text"),
    [
        (None, None, None, ""),
        ("2019-09-19T07:10:01", "2019-09-19T08:00:00", None,
         "2019-09-19 07:10:01 to 08:00:00 (no time zone stated)"),
        ("2019-09-19T07:10:01+02:00", None, None, "2019-09-19 07:10:01 (UTC+02:00)"),
        ("2019-09-19T07:10:01-03:30", None, None, "2019-09-19 07:10:01 (UTC−03:30)"),
        (
            "2019-09-19T23:00:00+00:00",
            "2019-09-20T01:00:00+00:00",
            None,
            "2019-09-19 23:00:00 to 2019-09-20 01:00:00 (UTC)",
        ),
        ("2019-09-19T07:10:01", "2019-09-19T07:10:01", "Europe/Berlin",
         "2019-09-19 07:10:01 (Europe/Berlin)"),
        ("2019-09-19T07:10:01+00:00", None, "Europe/Berlin", "2019-09-19 07:10:01 (UTC)"),
        (
            "2019-10-27T01:00:00+02:00",
            "2019-10-27T03:00:00+01:00",
            None,
            "2019-10-27 01:00:00 to 03:00:00 (UTC+01:00 and UTC+02:00)",
        ),
        ("07:10:01", "07:20:01", None, "07:10:01 to 07:20:01 (no time zone stated)"),
        (None, "\x1b[2J", None, "‹U+001B›[2J (no time zone stated)"),
    ],
)  # fmt: skip
def test_a_time_span_says_its_zone(start, end, zone, text):
    assert wording.time_span(start, end, zone) == text


def test_the_covered_time_never_compares_clocks_with_and_without_a_zone():
    naive, aware = "2030-01-01T00:00:00", "2020-01-01T00:00:00+00:00"
    assert wording.time_range([(naive, naive), (aware, None)]) == (aware, aware)
    assert wording.time_range([("nonsense", None)]) == (None, None)
    assert wording.elapsed(naive, aware) == ""
    assert wording.elapsed("2020-01-01T00:00:00", "2020-01-01T00:59:00") == "59 min"


@pytest.mark.parametrize(
    ("lines", "text", "more"),
    [
        ((), "", 0),
        ((7,), "7", 0),
        ((3, 1, 2, 2), "1-3", 0),
        ((1, 2, 4), "1-2,4", 0),
        (tuple(range(1, 21, 2)), "1,3,5,7,9,11", 4),
    ],
)
def test_lines_become_ranges(lines, text, more):
    assert wording.line_ranges(lines) == (text, more)


def test_names_past_the_cap_are_counted():
    assert wording.plain(wording.names(["a", "b", "c"], 2)) == "a, b and 1 more"
    assert wording.plain(wording.names([])) == ""
    assert wording.name("").text == "(empty)"


def test_backticks_mark_code_and_a_single_one_does_not():
    assert wording.prose("set `su` of `x") == (
        wording.Span("set "),
        wording.Span("su", is_code=True),
        wording.Span(" of `x"),
    )


@given(st.text(max_size=60))
def test_visible_text_holds_no_invisible_character(text):
    shown = wording.visible(text)
    assert shown.isprintable()
    assert shown == text or not text.isprintable()


def test_long_text_is_cut_and_says_so():
    assert wording.visible("x" * 5000, 10) == "x" * 10 + "… (4,990 characters left out)"


@pytest.mark.parametrize(
    ("text", "is_link"),
    [
        ("https://docs.kernel.org/admin-guide/md.html", True),
        ("http://host:80/x?y=1#z", True),
        ("https://a.example/ <b>", False),
        ("javascript:alert(1)", False),
        ("https://a.example\n", False),
        ('https://a.example/"onload=', False),
        ("see https://a.example", False),
    ],
)
def test_only_a_plain_web_address_is_a_link(text, is_link):
    assert wording.is_link(text) is is_link


@pytest.mark.parametrize(
    ("column", "label", "said"),
    [
        ("read_await_ms", "read await ms", "read await 5.25 ms"),
        ("reads_per_s", "reads/s", "5.25 reads/s"),
        ("ios_per_s", "requests/s", "5.25 requests/s"),
        ("kb_per_s", "kB/s", "5.25 kB/s"),
        ("swap_in_kb_per_s", "swap in kB/s", "swap in 5.25 kB/s"),
        ("user_pct", "user %", "user 5.25 %"),
        ("request_size_kb", "request size kB", "request size 5.25 kB"),
        ("queue_depth", "in flight", "5.25 in flight"),
        ("load_1m", "load 1m", "load 1m 5.25"),
        ("x\x1b_ms", "x‹U+001B› ms", "x‹U+001B› 5.25 ms"),
    ],
)
def test_a_column_is_called_what_people_call_it(column, label, said):
    assert wording.column_label(column) == label
    assert wording.measured(column, 5.25) == said
