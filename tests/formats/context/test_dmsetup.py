import pytest

from iodiag.formats.context.dmsetup import FORMAT
from reading import blocks_of, devices_of, topology_of

TABLE = """\
vg0-data: 0 12582912 raid raid5_ls 4 128 nosync region_size 4096 3 252:0 252:1 252:2 252:3 252:4 252:5
vg0-data_rimage_0: 0 4194304 linear 8:0 10240
vg0-data_rimage_1: 0 4194304 linear 8:16 10240
vg0-data_rimage_2: 0 4194304 linear 8:32 10240
"""
TREE = """\
vg0-data (252:6)
 |-vg0-data_rimage_2 (252:5)
 |  `- (8:32)
 |-vg0-data_rmeta_2 (252:4)
 |  `- (8:32)
 |-vg0-data_rimage_1 (252:3)
 |  `- (8:16)
 |-vg0-data_rmeta_1 (252:2)
 |  `- (8:16)
 |-vg0-data_rimage_0 (252:1)
 |  `- (8:0)
 `-vg0-data_rmeta_0 (252:0)
    `- (8:0)
"""


@pytest.mark.parametrize(
    "text", [TABLE + "\n" + TREE, TREE + "\n" + TABLE, TABLE + "\n$ dmsetup ls --tree\n" + TREE]
)
def test_table_and_tree_make_one_topology(text):
    topology = topology_of(FORMAT, text)
    data = topology.devices["dm-6"]
    assert data.members == ("dm-1", "dm-3", "dm-5")
    assert (data.level, data.chunk_kb, data.slots, data.size_kb) == ("raid5", 64, 3, 6291456)
    assert topology.devices["dm-3"].members == ("sdb",)
    assert topology.devices["dm-3"].level == "linear"
    assert sorted(leaf.name for leaf in topology.leaves("vg0/data")) == ["sda", "sdb", "sdc"]


def test_tree_alone_leaves_the_metadata_out():
    found = devices_of(FORMAT, TREE)
    assert sorted(found["dm-6"].members) == ["dm-1", "dm-3", "dm-5"]
    assert found["dm-1"].members == ("sda",)


@pytest.mark.parametrize(
    "rewrite",
    [
        lambda text: text.replace("`-", "└─").replace("|-", "├─").replace(" |", " │"),
        lambda text: "\n".join("    " + line for line in text.split("\n")),
        lambda text: text.replace("vg0-data (", "vg0-data <dm-6> ("),
        lambda text: text + "root@x# iostat\n",
    ],
)
def test_renderings_of_the_tree(rewrite):
    found = devices_of(FORMAT, rewrite(TREE))
    assert sorted(found["dm-6"].members) == ["dm-1", "dm-3", "dm-5"]
    assert found["dm-5"].members == ("sdc",)


def test_inverted_tree():
    text = " (8:0)\n |-vg0-root (253:0)\n `-vg0-swap (253:1)\n"
    found = devices_of(FORMAT, text)
    assert found["dm-0"].members == ("sda",)
    assert found["dm-1"].members == ("sda",)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("a-b: 0 100 linear 8:2 2048", {"level": "linear", "members": ("sda2",), "kind": "dm"}),
        (
            "a-b: 0 400 striped 4 256 8:0 384 8:16 384 8:32 384 8:48 384",
            {"level": "striped", "chunk_kb": 128, "slots": 4, "members": ("sda", "sdb", "sdc", "sdd")},
        ),
        (
            "a-b: 0 100 raid raid10 5 128 raid10_copies 3 region_size 4096 3 - 8:0 - 8:16 8:33 8:32",
            {"level": "raid10", "copies": 3, "members": ("sda", "sdb", "sdc")},
        ),
        ("a-b: 0 100 raid raid1 3 0 region_size 8192 2 8:1 8:0 8:17 8:16", {"copies": 2, "chunk_kb": None}),
        ("a-b: 0 100 raid raid6_zr 3 128 region_size 8 4 8:1 8:0 - 8:16 - 8:32 - 8:48", {"level": "raid6"}),
        (
            "a-b: 0 100 mirror disk 2 8:48 1024 2 8:0 0 8:16 0 1 handle_errors",
            {"level": "raid1", "members": ("sda", "sdb"), "copies": 2},
        ),
        (
            "luks-x: 0 100 crypt aes-xts-plain64 :64:logon:cryptsetup:u-d0 0 8:3 32768 1 allow_discards",
            {"level": "crypt", "kind": "crypt", "members": ("sda3",)},
        ),
        ("p-tpool: 0 100 thin-pool 8:1 8:2 128 0 0", {"level": "thin-pool", "members": ("sda2",)}),
        ("p-t: 0 100 thin 8:0 1", {"level": "thin", "members": ("sda",)}),
        (
            "a-c: 0 100 cache 8:1 8:17 8:33 128 1 writeback smq 0",
            {"level": "cache", "members": ("sdb1", "sdc1")},
        ),
        (
            "mpatha: 0 100 multipath 1 queue_if_no_path 0 1 1 round-robin 0 2 1 8:16 1 8:32 1",
            {"kind": "multipath", "level": "multipath", "members": ("sdb", "sdc")},
        ),
        ("a-s: 0 100 snapshot 8:1 8:2 P 8", {"level": "snapshot"}),
    ],
)
def test_targets(line, expected):
    (device,) = (d for d in devices_of(FORMAT, line).values() if d.provenance)
    assert {field: getattr(device, field) for field in expected} == expected


def test_segments_of_one_device_are_added_up():
    text = "a-b: 0 100 linear 8:2 2048\na-b: 100 100 linear 8:17 2048\n"
    device = devices_of(FORMAT, text)["a-b"]
    assert (device.members, device.size_kb) == (("sda2", "sdb1"), 100)


def test_status():
    text = (
        "vg0-data: 0 12582912 raid raid5_ls 4 AAaD 1048576/4194304 recover 0 0 -\n"
        "vg0-data_rimage_0: 0 4194304 linear \n"
        "pool: 0 100 thin-pool 5 25/1024 100/2000 - rw discard_passdown queue_if_no_space\n"
    )
    (block,) = blocks_of(FORMAT, text)
    found = devices_of(FORMAT, text)
    assert (found["vg0-data"].slots, found["vg0-data"].active_slots) == (4, 2)
    assert found["vg0-data"].activity == "recovery 25.0%"
    assert found["vg0-data"].members == ()
    assert block.facts[0].text == "vg0-data had 2 of 4 legs in sync (AAaD)"
    assert block.used == 3


@pytest.mark.parametrize(
    ("text", "name", "members"),
    [
        ("vg0-data: 2 dependencies\t: (8, 0) (8, 16)\n", "vg0-data", ("sda", "sdb")),
        ("vg0-data: 2 dependencies\t: (sda) (sdb)\n", "vg0-data", ("sda", "sdb")),
        ("vg0-data\t(252:8)\n", "dm-8", ()),
        ("vg0-data\t(252, 8)\nvg0-b\t(252, 9)\n", "dm-8", ()),
        ("vg0-data (dm-8)\n", "dm-8", ()),
        (
            "Name      Maj Min Stat Open Targ Event  UUID\nvg0-data  253   8 L--w    1    1      0 LVM-5x\n",
            "dm-8",
            (),
        ),
        (
            "Name:              vg0-data\nState:             ACTIVE\nRead Ahead:        256\n"
            "Major, minor:      253, 8\nNumber of targets: 1\nUUID: LVM-x\n\nName:              c\n"
            "Major, minor:      253, 9\nUUID: CRYPT-LUKS2-x\n",
            "dm-8",
            (),
        ),
    ],
)
def test_listings(text, name, members):
    device = devices_of(FORMAT, text)[name]
    assert device.members == members
    assert "vg0/data" in device.aliases


@pytest.mark.parametrize(
    "text",
    ["(8:0)\n", "Name: Bob\n", "see above (8:30)\n", "Lunch (12:30)\n", "Name Maj Min\n"],
)
def test_other_text_is_left_alone(text):
    assert blocks_of(FORMAT, text) == []


def test_table_alone_names_the_legs_of_a_raid_volume():
    topology = topology_of(FORMAT, TABLE)
    assert topology.devices["vg0-data"].members == ("dm-1", "dm-3", "dm-5")
    assert "vg0-data_rimage_1" in topology.devices["dm-3"].aliases
    assert [leaf.name for leaf in topology.leaves("vg0-data")] == ["sda", "sdb", "sdc"]
