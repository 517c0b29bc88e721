import sys
from collections import Counter

import pytest

from iodiag.formats.context.mdstat import FORMAT
from reading import blocks_of, devices_of

PERSONALITIES = "Personalities : [raid1] [raid6] [raid5] [raid4] [raid10]\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "md0 : active raid5 sdd[3] sdc[2] sdb[1] sda[0]\n"
            "      12567552 blocks super 1.2 level 5, 64k chunk, algorithm 2 [4/4] [UUUU]\n",
            {
                "level": "raid5",
                "chunk_kb": 64,
                "members": ("sda", "sdb", "sdc", "sdd"),
                "slots": 4,
                "active_slots": 4,
                "size_kb": 12567552,
                "activity": None,
                "copies": None,
            },
        ),
        (
            "md0 : active raid1 sdb3[1] sda3[0](W)\n      129596288 blocks [2/2] [UU]\n"
            "      bitmap: 2/8 pages [8KB], 65536KB chunk\n",
            {"level": "raid1", "copies": 2, "chunk_kb": None, "members": ("sda3", "sdb3")},
        ),
        (
            "md0 : active raid10 sdd[3] sdc[2] sdb[1] sda[0]\n"
            "      8378368 blocks super 1.2 64K chunks 2 near-copies [4/4] [UUUU]\n",
            {"level": "raid10", "copies": 2, "chunk_kb": 64},
        ),
        (
            "md0 : active raid10 nvme1n1[1] nvme0n1[0]\n   512 blocks 512K chunks 2 far-copies [2/2] [UU]\n",
            {"copies": 2, "members": ("nvme0n1", "nvme1n1")},
        ),
        (
            "md0 : active raid0 sdb1[1] sda1[0]\n      1000 blocks super 1.2 512k chunks\n",
            {"level": "raid0", "chunk_kb": 512, "slots": None},
        ),
        (
            "md0 : active raid5 sde1[4](S) sdd1[3](F) sdc1[2] sdb1[1] sda1[0]\n"
            "      2930279808 blocks level 5, 64k chunk, algorithm 2 [4/3] [UUU_]\n"
            "      [===>.................]  recovery = 16.2% (15/97) finish=140.1min speed=97361K/sec\n",
            {"active_slots": 3, "activity": "recovery 16.2%", "members": ("sda1", "sdb1", "sdc1")},
        ),
        (
            "md0 : active (auto-read-only) raid1 sdb[1] sda[0]\n 9 blocks [2/2] [UU]\n   \tresync=PENDING\n",
            {"activity": "resync pending", "level": "raid1"},
        ),
        (
            "md0 : inactive sdc1[1](S) sdb1[0](S)\n      1953511936 blocks super 1.2\n",
            {"level": None, "members": (), "kind": "md"},
        ),
        (
            "md0 : active linear sdb[1] sda[0]\n      8378368 blocks super 1.2 0k rounding\n",
            {"level": "linear", "chunk_kb": None, "members": ("sda", "sdb")},
        ),
        (
            "md0 : active raid5 sdc[2] sdb[1] sda[0]\n"
            "      97 blocks super external:/md127/0 level 5, 128k chunk, algorithm 0 [3/3] [UUU]\n",
            {"chunk_kb": 128, "slots": 3},
        ),
    ],
)
def test_arrays(text, expected):
    device = devices_of(FORMAT, PERSONALITIES + text + "\nunused devices: <none>\n")["md0"]
    assert {field: getattr(device, field) for field in expected} == expected


TWO = (
    PERSONALITIES
    + "md1 : active raid1 sdb2[1] sda2[0]\n      136448 blocks [2/2] [UU]\n      \n"
    + "md2 : active raid6 sdf3[5] sde3[4] sdd3[3] sdc3[2] sdb3[1] sda3[0]\n"
    + "      7814047744 blocks super 1.2 level 6, 512k chunk, algorithm 2 [6/6] [UUUUUU]\n"
    + "      [>....................]  check =  2.4% (47103744/1953511936) finish=303.4min speed=104704K/sec\n"
    + "      bitmap: 0/15 pages [0KB], 65536KB chunk\n\nunused devices: <none>\n"
)


def test_facts_hold_the_progress():
    (block,) = blocks_of(FORMAT, TWO + "\nroot@box:~# iostat -x 1\n")
    assert block.used == 10
    values = block.facts[1].values
    assert values["activity"] == "check"
    assert values["progress_pct"] == 2.4
    assert values["speed_kb_per_s"] == 104704
    assert block.facts[1].ref.first == 5
    said = "with 6 of 6 members (check 2.4%) at 104704 kB/s, 303.4 minutes from its end"
    assert block.facts[1].text.endswith(said)


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: " ".join(text.split()),
        lambda text: text.replace("Personalities", "> Personalities").replace("> ", ""),
        lambda text: text.removeprefix(PERSONALITIES),
        lambda text: text.replace(" sdd3[3]", "\nsdd3[3]").replace("algorithm 2", "\nalgorithm 2"),
        lambda text: "\n".join("\t" + line for line in text.split("\n")),
        lambda text: text.replace("unused devices: <none>\n", "unused devices:\n"),
        lambda text: text[: text.index("bitmap")],
    ],
    ids=["on one line", "quoted", "headless", "wrapped", "indented", "tags taken off", "cut"],
)
def test_damage_leaves_the_arrays(damage):
    found = devices_of(FORMAT, damage(TWO))
    assert found["md2"].members == ("sda3", "sdb3", "sdc3", "sdd3", "sde3", "sdf3")
    assert found["md2"].activity == "check 2.4%"
    assert found["md1"].copies == 2
    assert found["md2"].chunk_kb == 512


def test_no_array_is_a_fact():
    (block,) = blocks_of(FORMAT, "Personalities : [linear]\nunused devices: <none>\n")
    assert block.facts[0].values == {"arrays": 0}
    assert block.devices == ()


def test_other_text_is_left_alone():
    assert blocks_of(FORMAT, "md0 is slow\nmd0: 12 errors\n") == []


def test_a_number_of_thousands_of_digits_is_passed_over_at_once():
    text = f"""\
Personalities : [raid5]
md0 : active raid5 sdd[3] sdc[2] sda[0]
      12567552 blocks super 1.2 level 5, 64k chunk, algorithm 2 [4/3] [U_UU]
      [=======>.............]  check = 38.7% ({"1625860" * 5000}/4189184) finish=0.7min speed=54195K/sec
"""
    calls: Counter[str] = Counter()
    sys.setprofile(lambda frame, event, arg: calls.update([event]))
    try:
        (block,) = blocks_of(FORMAT, text)
    finally:
        sys.setprofile(None)
    assert block.facts[0].values["progress_pct"] == 38.7
    assert calls["call"] < 10_000
