import pytest

from iodiag.formats.context.lsblk import FORMAT
from reading import blocks_of, devices_of, lines_of, topology_of

UNICODE = """\
root@db1:~# lsblk
NAME                    MAJ:MIN RM   SIZE RO TYPE  MOUNTPOINT
sda                       8:0    0 931.5G  0 disk
├─sda1                    8:1    0   512M  0 part  /boot/efi
├─sda2                    8:2    0   732M  0 part  /boot
└─sda3                    8:3    0 930.3G  0 part
  └─sda3_crypt          253:0    0 930.3G  0 crypt
    ├─vg--a-root        253:1    0 929.3G  0 lvm   /
    └─vg--a-swap_1      253:2    0   976M  0 lvm   [SWAP]
nvme0n1                 259:0    0 238.5G  0 disk
└─nvme0n1p1             259:1    0 238.5G  0 part
  └─md127                 9:127  0 238.4G  0 raid1 /srv
nvme1n1                 259:2    0 238.5G  0 disk
└─nvme1n1p1             259:3    0 238.5G  0 part
  └─md127                 9:127  0 238.4G  0 raid1 /srv
sr0                      11:0    1  1024M  0 rom
root@db1:~# iostat -x 5
"""


def test_tree_stands_on_what_is_above():
    found = devices_of(FORMAT, UNICODE)
    assert found["sda3"].members == ("sda",)
    assert found["dm-0"].members == ("sda3",)
    assert found["dm-0"].kind == found["dm-0"].level == "crypt"
    assert found["dm-1"].members == ("dm-0",)
    assert {"vg--a-root", "vg-a/root", "253:1", "dev253-1"} <= set(found["dm-1"].aliases)
    assert found["dm-2"].mountpoints == ("[SWAP]",)
    assert found["md127"].members == ("nvme0n1p1", "nvme1n1p1")
    assert (found["md127"].kind, found["md127"].level) == ("md", "raid1")
    assert found["sda1"].kind == "partition"
    assert found["sr0"].kind == "other"


def test_every_value_says_where_it_stands():
    found = devices_of(FORMAT, UNICODE)
    assert found["sda1"].provenance == dict.fromkeys(
        ("kind", "members", "mountpoints", "size_kb"), "lsblk paste.txt:4"
    )


def test_block_ends_at_the_next_prompt():
    (block,) = blocks_of(FORMAT, UNICODE)
    assert block.used == 15


@pytest.mark.parametrize(
    ("option", "text", "expected"),
    [
        (
            "-t",
            "NAME ALIGNMENT MIN-IO OPT-IO PHY-SEC LOG-SEC ROTA SCHED    RQ-SIZE  RA WSAME\n"
            "sda          0    512      0     512     512    1 deadline     128 128    0B\n"
            "└─md0        0  65536 196608     512     512    1              128 768    0B\n",
            {
                "sda": {"rotational": True, "scheduler": "deadline", "nr_requests": 128},
                "md0": {"members": ("sda",), "read_ahead_kb": 768.0, "scheduler": None},
            },
        ),
        (
            "-o ROTA,NAME,TYPE,MODEL",
            "ROTA NAME        TYPE MODEL\n"
            "   0 nvme0n1     disk Samsung SSD 970 EVO Plus 1TB\n"
            "   0 └─nvme0n1p1 part\n"
            "   1 sda         disk ST4000NM0035-1V4\n",
            {
                "nvme0n1": {"rotational": False, "model": "Samsung SSD 970 EVO Plus 1TB"},
                "nvme0n1p1": {"members": ("nvme0n1",)},
                "sda": {"rotational": True, "model": "ST4000NM0035-1V4"},
            },
        ),
        (
            "-l -o NAME,KNAME,PKNAME,TYPE,SIZE",
            "NAME      KNAME PKNAME TYPE  SIZE\n"
            "sda       sda          disk    4G\n"
            "vg0-data  dm-0  sda    lvm     2G\n",
            {"dm-0": {"members": ("sda",), "aliases": ("vg0-data", "vg0/data"), "size_kb": 2 * 1024.0**2}},
        ),
        (
            "-r",
            "NAME MAJ:MIN RM RO TYPE MOUNTPOINT\nsda 8:0 0 0 disk \nsda1 8:1 0 0 part /my\\x20disk\n",
            {"sda1": {"mountpoints": ("/my disk",)}, "sda": {"mountpoints": ()}},
        ),
        (
            "-r with an empty cell inside",
            "NAME FSTYPE LABEL TYPE\nsda   disk\nsda1 ext4 root part\n",
            {"sda": {"kind": "disk"}, "sda1": {"kind": "partition"}},
        ),
        (
            "-P",
            'NAME="sda" MAJ:MIN="8:0" RM="0" SIZE="4G" RO="0" TYPE="disk" MOUNTPOINT=""\n'
            'NAME="md0" MAJ:MIN="9:0" RM="0" SIZE="8G" RO="0" TYPE="raid10" MOUNTPOINT="/srv"\n',
            {"sda": {"kind": "disk"}, "md0": {"level": "raid10", "mountpoints": ("/srv",)}},
        ),
        (
            "-f",
            "NAME        FSTYPE            FSVER LABEL    UUID          FSAVAIL FSUSE% MOUNTPOINTS\n"
            "sda\n"
            "└─sda1      linux_raid_member 1.2   box:0    a9c2f9b1-3a53\n"
            "  └─md0     xfs                              5f1d6a1e-1111      1.2T    35% /srv\n",
            {"md0": {"members": ("sda1",), "mountpoints": ("/srv",)}},
        ),
        (
            "several mount points",
            "NAME   MAJ:MIN RM  SIZE RO TYPE MOUNTPOINTS\n"
            "vda    252:0    0   25G  0 disk\n"
            "├─vda1 252:1    0   24G  0 part /var/snap\n"
            "│                               /\n"
            "└─vda2 252:2    0    1G  0 part /boot\n",
            {"vda1": {"mountpoints": ("/var/snap", "/")}, "vda2": {"members": ("vda",)}},
        ),
        (
            "-s, the tree turned round",
            "NAME  MAJ:MIN RM SIZE RO TYPE  MOUNTPOINT\n"
            "md0     9:0    0   8G  0 raid0 /srv\n"
            "|-sda   8:0    0   4G  0 disk\n"
            "`-sdb   8:16   0   4G  0 disk\n",
            {"md0": {"members": ("sda", "sdb")}, "sda": {"members": ()}},
        ),
        (
            "multipath below LVM",
            "NAME                                MAJ:MIN RM  SIZE RO TYPE  MOUNTPOINT\n"
            "sdb                                   8:16   0  100G  0 disk\n"
            "└─360a98000572d5765636f69746a6d4e75 253:3    0  100G  0 mpath\n"
            "  └─data-db                         253:4    0  100G  0 lvm   /db\n"
            "sdc                                   8:32   0  100G  0 disk\n"
            "└─360a98000572d5765636f69746a6d4e75 253:3    0  100G  0 mpath\n"
            "  └─data-db                         253:4    0  100G  0 lvm   /db\n",
            {"dm-3": {"members": ("sdb", "sdc"), "level": "multipath"}, "dm-4": {"members": ("dm-3",)}},
        ),
    ],
)
def test_renderings(option, text, expected):
    found = devices_of(FORMAT, text)
    for name, fields in expected.items():
        for field, value in fields.items():
            assert getattr(found[name], field) == value, (option, name, field)


def test_chunk_of_a_striped_array_from_its_io_sizes():
    text = (
        "NAME  TYPE  MIN-IO OPT-IO\n"
        "sda   disk     512      0\n"
        "└─md0 raid5  65536 196608\n"
        "sdb   disk    4096  65536\n"
    )
    found = devices_of(FORMAT, text)
    assert found["md0"].chunk_kb == 64
    assert found["sdb"].chunk_kb is None


JSON = """\
{
   "blockdevices": [
      {"name": "sda", "maj:min": "8:0", "rm": false, "size": "4G", "type": "disk", "mountpoints": [null],
         "children": [
            {"name": "vg0-data", "maj:min": "253:0", "rota": "1", "type": "lvm", "mountpoints": ["/a", "/b"]}
         ]
      }
   ]
}
"""


def test_json_is_read_up_to_its_end():
    (block,) = blocks_of(FORMAT, JSON + "Device: rrqm/s\n")
    assert block.used == 8
    found = devices_of(FORMAT, JSON)
    assert found["dm-0"].members == ("sda",)
    assert found["dm-0"].mountpoints == ("/a", "/b")
    assert found["dm-0"].rotational is True
    assert found["dm-0"].provenance["kind"] == "lsblk paste.txt:5"


@pytest.mark.parametrize("text", [JSON[:120], '"blockdevices": [1, null, {"name": 3}]', '"blockdevices": {}'])
def test_broken_json_is_not_read(text):
    assert blocks_of(FORMAT, text) == []


def test_metadata_legs_are_no_members():
    text = (
        "NAME                MAJ:MIN RM SIZE RO TYPE MOUNTPOINTS\n"
        "sda                   8:0    0   4G  0 disk \n"
        "|-vg0-data_rmeta_0  252:0    0   4M  0 lvm  \n"
        "| `-vg0-data        252:8    0   6G  0 lvm  \n"
        "`-vg0-data_rimage_0 252:1    0   2G  0 lvm  \n"
        "  `-vg0-data        252:8    0   6G  0 lvm  \n"
        "sdb                   8:16   0   4G  0 disk \n"
        "|-vg0-data_rmeta_1  252:2    0   4M  0 lvm  \n"
        "| `-vg0-data        252:8    0   6G  0 lvm  \n"
        "`-vg0-data_rimage_1 252:3    0   2G  0 lvm  \n"
        "  `-vg0-data        252:8    0   6G  0 lvm  \n"
    )
    topology = topology_of(FORMAT, text)
    assert topology.devices["dm-8"].members == ("dm-1", "dm-3")
    assert [leaf.name for leaf in topology.leaves("vg0/data")] == ["sda", "sdb"]
    assert topology.canonical("dev252-8") == "dm-8"


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: "\n".join("    " + line for line in text.split("\n")),
        lambda text: "\n".join(" ".join(line.split()) for line in text.split("\n")),
        lambda text: text.replace("├─", "|-").replace("└─", "`-").replace("│", "|"),
        lambda text: "see below:\n\n" + text,
    ],
    ids=["indented", "blanks collapsed", "ascii", "behind prose"],
)
def test_damage_leaves_the_tree(damage):
    found = devices_of(FORMAT, damage(UNICODE))
    assert found["md127"].members == ("nvme0n1p1", "nvme1n1p1")
    assert found["dm-0"].members == ("sda3",)
    assert found["dm-1"].mountpoints == ("/",)


@pytest.mark.parametrize(
    "text",
    [
        "NAME                 STATUS   ROLES\nnode1                Ready    <none>\n",
        "NAME      TYPE       SIZE USED PRIO\n/dev/sda2 partition   2G   0B   -2\n",
        "NAME       SIZELIMIT OFFSET AUTOCLEAR RO BACK-FILE\n/dev/loop0         0      0         1  1 /a\n",
        'NAME="Ubuntu" VERSION="22.04"\n',
        "NAME   SIZE  ALLOC   FREE\ntank   928G   400G   528G\n",
        "The NAME OF THE GAME\n",
        "NAME MAJ:MIN RM SIZE RO TYPE MOUNTPOINT\n\n",
    ],
)
def test_other_tables_are_left_alone(text):
    assert blocks_of(FORMAT, text) == []


def test_long_lines_of_header_words_are_harmless():
    assert FORMAT.starts.search("NAME " * 100_000 + "!") is None
    assert FORMAT.read(lines_of("NAME " * 50), "x") is None


def test_without_its_header():
    rows = (
        "sda      8:0    0 278.9G  0 disk \n├─sda1   8:1    0   512M  0 part /boot\n"
        "└─sda5   8:5    0 168.7G  0 part /\nsdb      8:16   0   3.8T  0 disk \n"
    )
    with_header = "NAME MAJ:MIN RM SIZE RO TYPE MOUNTPOINT\n" + rows
    bare, whole = devices_of(FORMAT, rows), devices_of(FORMAT, with_header)
    assert bare["sda1"].members == whole["sda1"].members == ("sda",)
    assert bare["sdb"].size_kb == whole["sdb"].size_kb
    assert "dev8-16" in bare["sdb"].aliases
