import pytest

from iodiag.formats.context.mdadm import FORMAT
from reading import blocks_of, devices_of

DETAIL = """\
/dev/md0:
           Version : 1.2
     Creation Time : Fri Nov 20 13:42:22 2026
        Raid Level : raid5
        Array Size : 12567552 (11.99 GiB 12.87 GB)
     Used Dev Size : 4189184 (4.00 GiB 4.29 GB)
      Raid Devices : 4
     Total Devices : 4
       Persistence : Superblock is persistent

       Update Time : Fri Nov 20 13:42:27 2026
             State : clean, degraded, recovering
    Active Devices : 3
   Working Devices : 4
    Failed Devices : 0
     Spare Devices : 1

            Layout : left-symmetric
        Chunk Size : 64K

    Rebuild Status : 12% complete

              Name : labguest:0  (local to host labguest)
              UUID : ab0e9346:d17b516e:e125e1d1:67c1db40
            Events : 4

    Number   Major   Minor   RaidDevice State
       0     259        0        0      active sync   /dev/nvme0n1
       1     259        4        1      active sync   /dev/nvme1n1
       4       8       32        2      spare rebuilding   /dev/sdc
       3       8       48        3      active sync   /dev/sdd

       2       8       64        -      faulty spare   /dev/sde
"""


def test_detail():
    (block,) = blocks_of(FORMAT, DETAIL + "\nroot@x:~# cat /proc/mdstat\n")
    assert block.used == DETAIL.count("\n")
    found = devices_of(FORMAT, DETAIL)
    md0 = found["md0"]
    assert (md0.level, md0.chunk_kb, md0.slots, md0.active_slots) == ("raid5", 64, 4, 3)
    assert md0.activity == "recovery 12%"
    assert md0.members == ("nvme0n1", "nvme1n1", "sdc", "sdd")
    assert md0.size_kb == 12567552
    assert "259:4" in found["nvme1n1"].aliases
    assert block.facts[0].values["failed_members"] == 0
    assert block.facts[0].text == "md0 was clean, degraded, recovering, 3 of 4 members active"


@pytest.mark.parametrize(
    ("layout", "level", "copies"),
    [("near=2", "raid10", 2), ("near=1, far=2", "raid10", 2), ("offset=3", "raid10", 3), ("", "raid1", 2)],
)
def test_copies(layout, level, copies):
    text = f"/dev/md1:\n Raid Level : {level}\n Raid Devices : 2\n Layout : {layout}\n"
    assert devices_of(FORMAT, text)["md1"].copies == copies


def examined(name, role, extra=""):
    return (
        f"/dev/{name}:\n"
        "          Magic : a92b4efc\n"
        "        Version : 1.2\n"
        "     Array UUID : 6c4f1d2e:11111111:22222222:33333333\n"
        "           Name : nas:2\n"
        "     Raid Level : raid6\n"
        "   Raid Devices : 5\n"
        f"{extra}\n"
        "     Chunk Size : 512K\n"
        f"   Device Role : {role}\n"
        "   Array State : AAAAA ('A' == active, '.' == missing, 'R' == replacing)\n"
    )


def test_examine_joins_the_members_of_one_array():
    text = (
        examined("sdb1", "Active device 1") + examined("sda1", "Active device 0") + examined("sdc1", "spare")
    )
    (block,) = blocks_of(FORMAT, text)
    assert block.used == text.count("\n")
    (array,) = block.devices
    assert array.name == "md-uuid-6c4f1d2e:11111111:22222222:33333333"
    assert (array.level, array.chunk_kb, array.slots) == ("raid6", 512, 5)
    assert array.members == ("sda1", "sdb1")


def test_examine_of_one_member_claims_no_members():
    (block,) = blocks_of(FORMAT, examined("sdb1", "Active device 1"))
    assert block.devices[0].members == ()


def test_examine_and_detail_meet_in_the_uuid():
    text = examined("sda1", "Active device 0") + "\n# mdadm -D /dev/md2\n"
    text += "/dev/md2:\n     Raid Level : raid6\n   UUID : 6c4f1d2e:11111111:22222222:33333333\n"
    found = devices_of(FORMAT, text)
    assert list(found) == ["md2"]
    assert found["md2"].chunk_kb == 512


def test_old_superblocks_name_their_array():
    text = (
        "/dev/sda1:\n          Magic : a92b4efc\n        Version : 0.90.00\n"
        "           UUID : 1:2:3:4\n     Raid Level : raid5\n   Raid Devices : 3\nPreferred Minor : 3\n\n"
        "     Chunk Size : 64K\n\n      Number   Major   Minor   RaidDevice State\n"
        "this     0       8        1        0      active sync   /dev/sda1\n\n"
        "   0     0       8        1        0      active sync   /dev/sda1\n"
        "   1     1       8       17        1      active sync   /dev/sdb1\n"
    )
    (block,) = blocks_of(FORMAT, text)
    assert block.used == text.count("\n")
    assert block.devices[0].name == "md3"
    assert block.devices[0].chunk_kb == 64


def test_scan_lines():
    text = (
        "ARRAY /dev/md0 level=raid5 num-devices=3 metadata=1.2 name=nas:0 UUID=a:b:c:d\n"
        "   devices=/dev/sda1,/dev/sdb1,/dev/sdc1\n"
        "ARRAY /dev/md1 metadata=1.2 UUID=e:f:g:h\n"
    )
    found = devices_of(FORMAT, text)
    assert found["md0"].members == ("sda1", "sdb1", "sdc1")
    assert found["md0"].level == "raid5"
    assert found["md1"].kind == "md"


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: "\n".join("    " + line for line in text.split("\n")),
        lambda text: "\n".join(" ".join(line.split()) for line in text.split("\n")),
        lambda text: text[: text.index("       2       8")],
    ],
    ids=["indented", "blanks collapsed", "cut"],
)
def test_damage_leaves_the_array(damage):
    md0 = devices_of(FORMAT, damage(DETAIL))["md0"]
    assert md0.members == ("nvme0n1", "nvme1n1", "sdc", "sdd")
    assert md0.chunk_kb == 64


@pytest.mark.parametrize(
    "text",
    [
        "/dev/sda:\n Timing cached reads: 1 MB in 2.00 seconds = 9 MB/sec\n",
        "/dev/md0:\n\n",
        "/dev/sda:\nhello\n",
    ],
)
def test_other_text_is_left_alone(text):
    assert blocks_of(FORMAT, text) == []
