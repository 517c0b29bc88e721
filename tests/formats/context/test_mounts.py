import pytest

from iodiag.formats.context.mounts import FORMAT
from reading import blocks_of, devices_of


@pytest.mark.parametrize(
    ("text", "name", "target", "filesystem"),
    [
        ("proc /proc proc rw,nosuid 0 0\n/dev/sda1 / ext4 rw,relatime,barrier=0 0 0\n", "sda1", "/", "ext4"),
        ("/dev/mapper/vg0-data on /srv type xfs (rw,noatime,attr2)\n", "vg0-data", "/srv", "xfs"),
        ("/dev/sdb1 on /media/my disk type ext4 (ro)\n", "sdb1", "/media/my disk", "ext4"),
        ("25 1 8:17 / /boot rw,relatime shared:1 - ext4 /dev/sdb1 rw\n", "sdb1", "/boot", "ext4"),
        ("/mnt/db /dev/sda xfs rw,relatime,attr2\n", "sda", "/mnt/db", "xfs"),
        (
            "TARGET    SOURCE    FSTYPE OPTIONS\n/         /dev/vda1 ext4   rw,relatime\n"
            "├─/proc   proc      proc   rw,nosuid\n└─/boot   /dev/vda2 ext2   rw\n",
            "vda2",
            "/boot",
            "ext2",
        ),
        (
            "Filesystem      Size  Used Avail Use% Mounted on\ntmpfs           392M  1.6M  391M   1% /run\n"
            "/dev/md0        7.3T  5.1T  1.9T  74% /srv/a b\n",
            "md0",
            "/srv/a b",
            None,
        ),
        (
            "Filesystem Type 1K-blocks Used Available Use% Mounted on\n/dev/sda1 ext4 1000 500 500 50% /\n",
            "sda1",
            "/",
            "ext4",
        ),
    ],
)
def test_renderings(text, name, target, filesystem):
    (block,) = blocks_of(FORMAT, text + "\n$ iostat\n")
    assert block.used == text.count("\n")
    assert devices_of(FORMAT, text)[name].mountpoints == (target,)
    (fact,) = (fact for fact in block.facts if fact.values["device"] == name)
    assert fact.values.get("filesystem") == filesystem


def test_options_and_fill_are_facts():
    (block,) = blocks_of(FORMAT, "/dev/sda1 / ext4 rw,barrier=0 0 0\nsrv:/x /n nfs4 rw,sync 0 0\n")
    assert [fact.values["options"] for fact in block.facts] == ["rw,barrier=0", "rw,sync"]
    assert [device.name for device in block.devices] == ["sda1"]
    text = "Filesystem Size Used Avail Use% Mounted on\n/dev/sda1 9G 8G 1G 89% /\n"
    assert blocks_of(FORMAT, text)[0].facts[0].values["used_pct"] == 89


@pytest.mark.parametrize(
    "text", ["come on /now type of (rw) thing\n", "Filesystem x Mounted on\n", "a /b c rw\n"]
)
def test_other_text_is_left_alone(text):
    assert blocks_of(FORMAT, text) == []


def test_df_of_inodes_is_no_fill_of_space():
    text = "Filesystem Inodes IUsed IFree IUse% Mounted on\n/dev/sda1 9 8 1 89% /\n"
    (fact,) = blocks_of(FORMAT, text)[0].facts
    assert (fact.values.get("inodes_used_pct"), fact.values.get("used_pct")) == (89, None)


INODES = """\
Filesystem     Inodes IUsed IFree IUse% Mounted on
none             512K     3  512K    1% /run/user
none              999 -500K  501K     - /usr/lib/drivers
/dev/vdb          16M  2.5M   14M   16% /srv
E:\\               999 -500K  501K     - /mnt/e
"""


def test_rows_of_df_whose_totals_are_nonsense_do_not_end_it():
    (block,) = blocks_of(FORMAT, INODES)
    assert block.used == 5
    (found,) = block.facts
    assert (found.values["device"], found.values["inodes_used_pct"]) == ("vdb", 16)


def test_df_of_what_lies_on_no_device_is_passed_over():
    (block,) = blocks_of(FORMAT, "".join(INODES.splitlines(keepends=True)[:3]))
    assert (block.used, block.facts, block.devices) == (3, (), ())


def test_rows_of_df_whose_header_was_cut_off_are_read_where_they_count_space():
    text = "/dev/vda1  40G  32G  5.5G  86% /\ntmpfs  3.9G  0  3.9G  0% /run\n/dev/vdb  2T  1T  1T  50% /srv\n"
    (block,) = blocks_of(FORMAT, text)
    assert block.used == 3
    assert [fact.values["used_pct"] for fact in block.facts] == [86, 50]
    assert blocks_of(FORMAT, "/dev/vda1  2.5M  300K  2.2M  12% /\n") == []
