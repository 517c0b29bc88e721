import pytest

from iodiag.formats.context.free import FORMAT
from reading import blocks_of

HEAD = "              total        used        free      shared  buff/cache   available\n"


@pytest.mark.parametrize(
    ("text", "values"),
    [
        (
            HEAD + "Mem:        8000000     1234567      345678       12345     6472075     6000000\n"
            "Swap:       2000000      100000     1900000\n",
            {
                "available_pct": 75,
                "swap_used_pct": 5,
                "memory_kb": 8000000,
                "available_kb": 6000000,
                "swap_kb": 2000000,
                "swap_used_kb": 100000,
            },
        ),
        (
            HEAD + "Mem:    8192000000  1228800000   409600000    12288000  6553600000  6144000000\n"
            "Swap:   2048000000           0  2048000000\n",
            {
                "available_pct": 75,
                "swap_used_pct": 0,
                "memory_kb": 8000000,
                "available_kb": 6000000,
                "swap_kb": 2000000,
                "swap_used_kb": 0,
            },
        ),
        (
            HEAD + "Mem:             400         291         158           0          17         100\n"
            "Swap:           4000         400        3600\n",
            {"available_pct": 25, "swap_used_pct": 10},
        ),
        (
            HEAD + "Mem:           7.7Gi       1.2Gi       300Mi        12Mi       6.2Gi       7.7Gi\n"
            "Swap:             0B          0B          0B\n",
            {
                "available_pct": 100,
                "memory_kb": pytest.approx(7.7 * 1024**2),
                "available_kb": pytest.approx(7.7 * 1024**2),
                "swap_kb": 0,
                "swap_used_kb": 0,
            },
        ),
        (
            "             total       used       free     shared    buffers     cached\n"
            "Mem:       8000000    1234567     345678          0      64720     600000\n"
            "-/+ buffers/cache:     569847    7430153\nSwap:      2000000     100000    1900000\n",
            {"swap_used_pct": 5, "memory_kb": 8000000, "swap_kb": 2000000, "swap_used_kb": 100000},
        ),
    ],
)
def test_renderings(text, values):
    (block,) = blocks_of(FORMAT, text + "procs\n")
    assert block.facts[0].values == values
    assert block.used == text.count("\n")


@pytest.mark.parametrize("text", [HEAD, HEAD + "Mem: x y\n", "total used free beer\n"])
def test_other_text_is_left_alone(text):
    assert blocks_of(FORMAT, text) == []
