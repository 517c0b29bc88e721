"""Samples are what a frame of the same columns is, whatever part of a part is taken."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iodiag.table.table import Table, by_text, is_repeated, numbered, repeated, stacked

WORDS = ("sda", "dm-0", "md0")


def frame_of(count: int, zone: str | None = None) -> pd.DataFrame:
    rng = np.random.default_rng(count)
    times = pd.date_range("2026-03-02 13:00:00", periods=count, freq="s", tz=zone, unit="ns")
    return pd.DataFrame(
        {
            "device": pd.Categorical(rng.choice(WORDS, count), categories=WORDS),
            "time": times.where(np.arange(count) % 5 != 4),
            "line": np.arange(count) + 7,
            "await_ms": np.where(rng.random(count) < 0.2, np.nan, rng.random(count)),
            "is_idle": rng.random(count) < 0.5,
        }
    )


def parts(count: int) -> st.SearchStrategy[object]:
    masks = st.lists(st.booleans(), min_size=count, max_size=count).map(lambda m: np.array(m, dtype=np.bool_))
    places = st.lists(st.integers(0, max(count - 1, 0)), max_size=count).map(lambda p: np.array(p, np.intp))
    ends = st.integers(-count - 1, count + 1) | st.none()
    return st.one_of(masks, places, st.builds(slice, ends, ends))


@given(st.data(), st.integers(0, 12), st.sampled_from([None, "Europe/Berlin"]))
def test_a_part_of_a_part_is_what_pandas_takes(data, count, zone):
    frame = frame_of(count, zone)
    samples = Table.of(frame)
    for _ in range(data.draw(st.integers(1, 4))):
        if data.draw(st.booleans()):
            extra = np.arange(len(frame), dtype=np.float64)
            frame, samples = frame.assign(await_ms=extra), samples.with_columns(await_ms=extra)
        wanted = data.draw(parts(len(frame)))
        frame = frame.iloc[wanted].reset_index(drop=True)
        samples = samples[wanted]
        assert len(samples) == len(frame)
    for name in samples.names:
        pd.testing.assert_series_equal(samples.only([name]).frame[name], frame[name])
        if name not in ("device", "time"):
            assert np.array_equal(samples[name], frame[name].to_numpy(), equal_nan=name == "await_ms")
    assert list(samples["device"]) == frame["device"].tolist()
    assert [samples["time"][row] for row in range(len(frame))] == [
        None if pd.isna(time) else time.to_pydatetime() for time in frame["time"]
    ]
    pd.testing.assert_frame_equal(samples.frame, frame)


@given(st.integers(0, 6), st.integers(0, 6))
def test_stacked_samples_are_frames_one_below_the_other(first, second):
    frames = frame_of(first), frame_of(second).assign(busy=1.0)
    below = stacked([Table.of(frame) for frame in frames])
    expected = pd.concat([frames[0], frames[1].drop(columns="busy")], ignore_index=True)
    pd.testing.assert_frame_equal(below.frame, expected)


@given(st.lists(st.sampled_from("abcd"), max_size=12), st.booleans())
def test_words_are_numbered_as_they_appear(words, is_category):
    column = pd.Categorical(words, categories=list("dcbax")) if is_category else pd.Series(words, dtype=str)
    codes, names = numbered(Table.of(pd.DataFrame({"device": column}))["device"])
    assert names == list(dict.fromkeys(words))
    assert [names[code] for code in codes] == words


def test_a_column_is_looked_up_once_and_nobody_changes_it():
    samples = Table.of(frame_of(6))[1:5]
    assert samples["await_ms"] is samples["await_ms"]
    assert samples.floats("line") is samples.floats("line")
    for column in (samples["await_ms"], samples.floats("line"), samples.floats("absent")):
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 1


def test_what_is_absent_is_unknown_as_numbers_and_an_error_as_a_column():
    samples = Table.of(frame_of(3))
    assert np.isnan(samples.floats("svctm_ms")).all()
    assert "svctm_ms" not in samples
    with pytest.raises(KeyError):
        samples["svctm_ms"]


@pytest.mark.parametrize("length", [2, 4])
def test_masks_and_columns_of_another_length_are_refused(length):
    samples = Table.of(frame_of(3))
    with pytest.raises(IndexError):
        samples[np.ones(length, dtype=np.bool_)]
    with pytest.raises(ValueError, match="values for 3 samples"):
        samples.with_columns(busy=np.ones(length))


def test_only_what_is_asked_for_is_copied():
    asked = []

    def look_up(name):
        asked.append(name)
        return np.arange(5.0)

    samples = Table({"a": None, "b": None}, 5, look_up)
    part = samples[np.array([0, 2, 4])][np.array([True, False, True])]
    assert asked == []
    assert part["b"].tolist() == [0.0, 4.0]
    assert asked == ["b"]
    assert np.shares_memory(samples[1:3]["b"], samples["b"])


@given(st.integers(0, 12))
def test_samples_of_each_word_are_the_groups_of_a_frame(count):
    frame = frame_of(count)
    expected = frame.groupby("device", observed=True, sort=False)["line"].apply(list).to_dict()
    assert {word: part["line"].tolist() for word, part in by_text(Table.of(frame), "device")} == expected


def test_only_some_columns_are_those_that_there_are():
    part = Table.of(frame_of(3)).only(("line", "absent", "device"))
    assert list(part.names) == ["line", "device"]
    assert part["line"].tolist() == [7, 8, 9]
    with pytest.raises(KeyError):
        part["await_ms"]


@given(st.data(), st.integers(0, 12))
def test_a_part_of_one_value_is_that_value_in_the_memory_of_one(data, count):
    samples = Table.of_columns({"length": repeated(1.5, count), "line": np.arange(count)}, count)
    part = samples[data.draw(parts(count))]
    assert part["length"].tolist() == [1.5] * len(part["line"])
    assert not len(part) or is_repeated(part["length"])
    assert part.frame["length"].tolist() == [1.5] * len(part)


def test_what_is_made_of_others_is_made_when_it_is_asked_for():
    asked = []

    def twice(samples):
        asked.append(len(samples))
        return 2 * samples.floats("await_ms")

    samples = Table.of(frame_of(6)).with_made({"twice": twice})
    part = samples[2:4]
    assert "twice" in part
    assert asked == []
    np.testing.assert_array_equal(part["twice"], 2 * part.floats("await_ms"))
    assert asked == [6]
