import pytest

from iodiag.formats.context.meminfo import FORMAT
from reading import blocks_of


def test_series_keeps_the_worst():
    text = "Dirty:    32 kB\nWriteback:   0 kB\n1795179778\nDirty:   74896 kB\nWriteback:   11932 kB\n"
    (block,) = blocks_of(FORMAT, "1795179772\n" + text + "\nprocs ---\n")
    assert block.used == 5
    assert block.facts[0].values == {"dirty_kb": 74896, "writeback_kb": 11932, "samples": 2}
    assert block.facts[0].text == "memory: at most 74896 kB dirty, at most 11932 kB under writeback"


@pytest.mark.parametrize("clock", ["2024-03-02 10:00:01", "Sat Mar  2 10:00:01 UTC 2024", "== 1709373601"])
def test_a_series_below_clocks_is_one(clock):
    text = f"Dirty:    32 kB\nWriteback:   0 kB\n{clock}\nDirty:   748 kB\nWriteback:   9 kB\n"
    (block,) = blocks_of(FORMAT, f"{clock}\n{text}\nprocs ---\n")
    assert block.facts[0].values == {"dirty_kb": 748, "writeback_kb": 9, "samples": 2}


def test_whole_file():
    text = (
        "MemTotal:        8052320 kB\nMemFree:          345678 kB\nMemAvailable:    6500000 kB\n"
        "Buffers:           12345 kB\nCached:          6000000 kB\nActive(anon):     1 kB\nDirty:  96 kB\n"
        "HugePages_Total:       0\nDirectMap4k:      123456 kB\n"
    )
    (block,) = blocks_of(FORMAT, text + "Device: r/s\n")
    assert block.used == 9
    assert block.facts[0].values["memory_kb"] == 8052320
    assert block.facts[0].values["available_kb"] == 6500000
    assert block.facts[0].text == "memory: 96 kB dirty"


@pytest.mark.parametrize("text", ["Dirty: 12 kB\n", "Dirty:\n", "Cached: 3 kB\nnothing\n"])
def test_other_text_is_left_alone(text):
    assert blocks_of(FORMAT, text) == []
