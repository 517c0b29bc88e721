"""Columns of words and times are what pandas makes of them."""

from __future__ import annotations

import pickle
from datetime import UTC, datetime

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iodiag.model.capture import Capture
from iodiag.table.table import Table, in_order_of_lines, stacked_all_columns
from iodiag.table.tables import Tables
from iodiag.table.texts import Texts
from iodiag.table.times import LAST_SECOND, Times, moment, span

MAYBE_WORDS = st.lists(st.sampled_from(["sda", "sdb", "", "all"]) | st.none(), max_size=10)
SECONDS = st.floats(-1e10, 1e10) | st.just(float("nan")) | st.integers(0, 2_000_000_000).map(float)


@given(MAYBE_WORDS)
def test_words_are_a_categorical(words):
    column = Texts.of(words)
    expected = pd.Series(pd.Categorical(words, categories=pd.Index(sorted({*words} - {None}), dtype="str")))
    pd.testing.assert_series_equal(pd.Series(column.in_pandas()), expected)
    assert list(column) == [word or "" for word in words]
    assert column.is_missing().tolist() == [word is None for word in words]
    for word in ("sda", "nowhere"):
        assert (column == word).tolist() == [other == word for other in words]
        assert (column != word).tolist() == [other != word for other in words]
    assert column.isin({"sda", "all"}).tolist() == [word in ("sda", "all") for word in words]
    assert set(column.distinct()) == {*words} - {None}


@given(st.lists(st.integers(0, 3), max_size=10), st.lists(st.sampled_from("abc"), min_size=4, max_size=4))
def test_coded_words_may_have_two_codes_for_one_word(codes, words):
    column = Texts.coded(np.array(codes, dtype=np.int64), words)
    assert list(column) == [words[code] for code in codes]
    assert column.categories == tuple(sorted({words[code] for code in codes}))


@given(st.lists(MAYBE_WORDS, min_size=1, max_size=4))
def test_joined_words_are_the_words_one_after_the_other(parts):
    joined = Texts.joined([Texts.of(part) for part in parts])
    assert [None if none else word for word, none in zip(joined, joined.is_missing(), strict=True)] == [
        word for part in parts for word in part
    ]


@given(MAYBE_WORDS)
def test_compact_texts_are_the_same_texts_and_know_no_others(words):
    whole = Texts.of([*words, "zz", None])
    part = whole[: len(words)].compact()
    assert list(part) == list(whole[: len(words)])
    assert set(part.categories) == {word for word in words if word is not None}
    assert part.is_missing().tolist() == [word is None for word in words]


def test_many_words_take_wider_codes():
    words = [f"sd{number:05}" for number in range(40_000)]
    column = Texts.of(words)
    assert column.codes.dtype == np.int32
    assert column[39_999] == "sd39999"
    assert list(column[np.array([127, 128, 32_768])]) == ["sd00127", "sd00128", "sd32768"]


@given(st.lists(SECONDS, max_size=8), st.booleans())
def test_times_are_those_of_pandas(seconds, is_moment):
    array = np.array(seconds, dtype=np.float64)
    times = Times.of(array, is_moment=is_moment)
    known = np.where(np.abs(array) < LAST_SECOND, array, np.nan)
    expected = pd.to_datetime(pd.Series(known), unit="s").astype("datetime64[ns]")
    if is_moment:
        expected = expected.dt.tz_localize("UTC")
    found = pd.Series(times.in_pandas())
    assert found.dtype == expected.dtype
    assert found.isna().tolist() == expected.isna().tolist()
    off = (found - expected).dropna().dt.total_seconds().abs()
    assert (off <= 1e-6).all()  # doubles of these sizes are no finer
    if times.is_unknown().all():
        assert times.min() is times.max() is times.first() is None
    else:
        assert abs((times.min() - expected.min().round("us").to_pydatetime()).total_seconds()) <= 2e-6
        assert times.max() >= times.first() >= times.min()


def test_a_time_is_shown_in_its_zone():
    frame = pd.DataFrame({"time": pd.to_datetime(["2026-07-01 10:00", None]).tz_localize("UTC")})
    berlin = frame.assign(time=frame["time"].dt.tz_convert("Europe/Berlin"))
    for table, clock in ((frame, "10:00:00+00:00"), (berlin, "12:00:00+02:00")):
        times = Table.of(table)["time"]
        assert times.min().isoformat() == f"2026-07-01T{clock}"
        assert times[1] is None
        assert times.clock()[0] == np.datetime64(f"2026-07-01T{clock[:8]}")


def test_moments_are_whole_microseconds():
    assert moment(1_511_180_000.123) == datetime(2017, 11, 20, 12, 13, 20, 123_000)
    shown = ("1970-01-01 00:00:30.500000", "1970-01-01 00:01:00")
    times = np.array([np.nan, 60.0, 30.5, 1e300])
    assert span(times, is_moment=False) == shown
    assert span(times, is_moment=True) == tuple(f"{text}+00:00" for text in shown)
    assert span(np.array([np.nan]), is_moment=True) == (None, None)


COLUMNS = st.sets(st.sampled_from(["device", "time", "line", "await_ms", "is_group"]), min_size=1)


def table_of(names: set[str], count: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    columns = {
        "device": pd.Categorical(rng.choice(["sda", "sdb"], count), categories=["sda", "sdb"]),
        "time": pd.Series(rng.integers(0, 10**9, count).astype("datetime64[s]").astype("datetime64[ns]")),
        "line": rng.integers(1, 99, count),
        "await_ms": rng.random(count),
        "is_group": rng.random(count) < 0.5,
    }
    return pd.DataFrame({name: column for name, column in columns.items() if name in names})


@given(st.lists(st.tuples(COLUMNS, st.integers(1, 5)), min_size=1, max_size=4), st.integers(0, 9))
def test_tables_below_each_other_are_concatenated_frames(shapes, seed):
    frames = [table_of(names, count, seed + number) for number, (names, count) in enumerate(shapes)]
    whole = stacked_all_columns([Table.of(frame) for frame in frames]).frame
    pd.testing.assert_frame_equal(whole, pd.concat(frames, ignore_index=True), check_categorical=False)


def test_rows_are_sorted_by_their_lines_and_stay_in_order_within_one():
    frame = pd.DataFrame({"line": [3, 1, 3, 2], "await_ms": [1.0, 2.0, 3.0, 4.0]})
    assert in_order_of_lines(Table.of(frame))["await_ms"].tolist() == [2.0, 4.0, 1.0, 3.0]


def test_columns_of_another_length_are_refused():
    with pytest.raises(ValueError, match="await_ms has 3 values for 2 samples"):
        Table.of_columns({"line": np.arange(2), "await_ms": np.zeros(3)}, 2)


def columns() -> Table:
    data = {
        "device": Texts.of(["sda", "sdb"]),
        "time": Times.of(np.array([1.0, 2.0]), is_moment=True),
        "await_ms": np.array([1.0, 2.0]),
    }
    return Table.of_columns(data, 2)


def test_a_table_is_a_frame_for_whoever_asks_for_one_and_changes_are_seen():
    capture = Capture(tables=Tables({"disk": columns()}))
    assert capture.disk is capture.tables["disk"]
    assert capture.disk["time"].tolist() == [pd.Timestamp(s, unit="s", tz="UTC") for s in (1, 2)]
    capture.disk.loc[0, "await_ms"] = 9.0
    assert capture.tables.samples("disk").floats("await_ms").tolist() == [9.0, 2.0]
    assert "cpu" not in capture.tables
    assert capture.tables.samples("cpu") is None
    assert capture.tables.get("cpu") is None


def test_what_is_given_as_a_dict_of_frames_is_tables():
    frame = columns().frame
    capture = Capture(tables={"disk": frame})
    assert capture.disk is frame
    assert repr(capture) == "Capture(nothing; disk: 2)"
    assert datetime.fromtimestamp(1, UTC) == capture.tables.samples("disk")["time"].min()


def test_tables_can_be_sent_to_another_process():
    sent = pickle.loads(pickle.dumps(Tables({"disk": columns()})))
    pd.testing.assert_frame_equal(sent["disk"], columns().frame)
