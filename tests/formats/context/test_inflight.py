import pytest

from iodiag.formats.context.inflight import FORMAT
from reading import blocks_of

GREP = "/sys/block/md0/inflight:       0       52\n/sys/block/sda/inflight:       0        0\n"


@pytest.mark.parametrize(
    "text",
    [
        GREP,
        GREP.replace(":", "\n"),
        "".join(f"==> {line}\n" for line in GREP.replace(":", " <==\n").split("\n/")).replace(
            "==> sys", "==> /sys"
        ),
        "".join(f"$ cat /{line}\n" for line in GREP.replace(":", "\n").lstrip("/").split("\n/")),
        GREP.replace("/sys/block/", "/sys/class/block/"),
    ],
    ids=["grep", "paths", "head", "cat", "class"],
)
def test_renderings(text):
    (block,) = blocks_of(FORMAT, text + "\nDevice  r/s\nsda 1.00\n")
    assert [(f.values["device"], f.values["reads"], f.values["writes"]) for f in block.facts] == [
        ("md0", 0, 52),
        ("sda", 0, 0),
    ]


def test_lines_of_a_pattern_are_summed_as_nothing_says_whose_they_are():
    text = "# cat /sys/block/nvme*/inflight\n   0   1\n   2   3\n\n/sys/block/md127\n   0   9\n   5   5\n"
    (block,) = blocks_of(FORMAT, text)
    assert [(f.values["device"], f.values["devices"], f.values["writes"]) for f in block.facts] == [
        ("nvme*", 2, 4),
        ("md127", 1, 9),
    ]
    assert block.used == 6, "the second pair of numbers is of nothing that is named"


def test_a_device_that_comes_again_is_another_look_at_it():
    again = GREP.replace("52", "60")
    assert [
        (fact.values["device"], fact.values["writes"], fact.values["devices"])
        for block in blocks_of(FORMAT, GREP + "\n" + again)
        for fact in block.facts
    ] == [("md0", 52, 1), ("sda", 0, 1), ("md0", 60, 1), ("sda", 0, 1)]
    loop = "$ cat /sys/block/sda/inflight\n 0 5\n$ cat /sys/block/sda/inflight\n 0 7\n"
    facts = [fact for block in blocks_of(FORMAT, loop) for fact in block.facts]
    assert [fact.values["writes"] for fact in facts] == [5, 7]


@pytest.mark.parametrize("text", ["grep . /sys/block/*/inflight", "# cat /sys/block/sda/inflight\nsda 1 2\n"])
def test_a_command_without_its_output_is_not_read(text):
    assert not blocks_of(FORMAT, text)
