import pytest

from iodiag.formats.context.lvs import FORMAT
from reading import blocks_of, devices_of, topology_of

RAID5 = """\
  LV              VG  Attr       LSize Pool Cpy%Sync Convert Devices                             Stripe Type  
  data            vg0 Rwi-a-r--- 6.00g      100.00           data_rimage_0(0),data_rimage_1(0)   64.00k raid5 
  [data_rimage_0] vg0 iwi-aor--- 3.00g                       /dev/sda(1)                             0  linear
  [data_rimage_1] vg0 iwi-aor--- 3.00g                       /dev/sdb(1)                             0  linear
  [data_rmeta_0]  vg0 ewi-aor--- 4.00m                       /dev/sda(0)                             0  linear
  [data_rmeta_1]  vg0 ewi-aor--- 4.00m                       /dev/sdb(0)                             0  linear
"""


def test_raid_volume_and_its_legs():
    topology = topology_of(FORMAT, RAID5)
    data = topology.devices["vg0-data"]
    assert (data.level, data.chunk_kb, data.kind) == ("raid5", 64, "lvm")
    assert data.members == ("vg0-data_rimage_0", "vg0-data_rimage_1")
    assert data.size_kb == 6 * 1024**2
    assert topology.devices["vg0-data_rimage_1"].members == ("sdb",)
    assert topology.devices["vg0-data_rimage_1"].chunk_kb is None
    assert [leaf.name for leaf in topology.leaves("/dev/vg0/data")] == ["sda", "sdb"]


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        (
            "  LV   VG     Attr       LSize  Pool Origin Data%  Meta%  Move Log Cpy%Sync Convert\n"
            "  home fedora -wi-ao---- <1.82t\n",
            "fedora-home",
            {"level": None, "kind": "lvm", "members": ()},
        ),
        (
            "  LV     VG         Attr   LSize  Origin Snap%  Move Log Copy%  Convert Devices       \n"
            "  lvroot VolGroup00 -wi-ao 30.00G                                       /dev/sda2(0)  \n"
            "  lvroot VolGroup00 -wi-ao 30.00G                                       /dev/sdb1(64) \n",
            "VolGroup00-lvroot",
            {"level": "linear", "members": ("sda2", "sdb1")},
        ),
        (
            "  LV   VG   Attr       LSize   #Str Stripe Type    Devices\n"
            "  fast vg-1 -wi-ao---- 100.00g    2 64.00k striped /dev/sda(0),/dev/sdb(0)\n",
            "vg--1-fast",
            {"level": "striped", "chunk_kb": 64, "slots": 2, "members": ("sda", "sdb")},
        ),
        (
            "  LV   VG   #Str Type   Attr       LSize   Cpy%Sync\n"
            "  mir  vg0     2 mirror mwi-aom--- 100.00g 41.28\n",
            "vg0-mir",
            {"level": "raid1", "copies": 2, "activity": "resync 41.28%"},
        ),
        (
            "  LV   VG   Attr       LSize   KMaj KMin Type\n"
            "  r10  vg0  rwi-aor--- 100.00g  253    8 raid10\n",
            "dm-8",
            {"level": "raid10", "copies": None, "aliases": ("253:8", "dev253-8", "vg0-r10", "vg0/r10")},
        ),
        (
            "  LV,VG,Attr,LSize,Type,Devices\n  a,vg0,-wi-a-----,1.00g,linear,/dev/sda(0)\n",
            "vg0-a",
            {"level": "linear", "members": ("sda",)},
        ),
        (
            "  LV VG  Attr   LSize Devices\n  a  vg0 -wi-ao 1.00g /dev/sda(0),/dev/sdb(0)\n",
            "vg0-a",
            {"level": "striped", "members": ("sda", "sdb")},
        ),
        (
            "  LV   VG  Attr       LSize Type\n  x    vg0 Vwi-a-tz-- 1.00t thin\n",
            "vg0-x",
            {"level": "thin"},
        ),
        (
            "  LV   VG  Attr       LSize LV UUID\n"
            "  x    vg0 -wi-ao---- 1.00t Sm1Uyu-OyKZ-pNkc-Dp0S-wTdA-JBhC-n7cyUt\n",
            "vg0-x",
            {"level": None, "size_kb": 1024**3},
        ),
        (
            "  LV VG  Attr       LSize LV Tags Devices     KRahead Rahead #Str Stripe\n"
            "  a  vg0 -wi-ao---- 1.00g         /dev/sda(0) 128.00k   auto    1     0 \n",
            "vg0-a",
            {"level": "linear", "members": ("sda",), "chunk_kb": None},
        ),
        (
            "  LV   VG  Attr       LSize\n  x    vg0 rwi-a-r--- 1.00t\n",
            "vg0-x",
            {"level": "raid"},
        ),
    ],
)
def test_column_sets(text, name, expected):
    device = devices_of(FORMAT, text)[name]
    assert {field: getattr(device, field) for field in expected} == expected


def test_pvs_and_vgs():
    text = (
        "  PV         VG     Fmt  Attr PSize   PFree \n"
        "  /dev/sda2  fedora lvm2 a--  930.51g     0 \n"
        "  /dev/sdb1  fedora lvm2 a--  931.51g 10.00g\n"
        "  /dev/sdc          lvm2 ---  931.51g 931.51g\n"
        "  VG     #PV #LV #SN Attr   VSize VFree \n"
        "  fedora   2   3   0 wz--n- 1.82t 10.00g\n"
        "Device: rrqm/s\n"
    )
    first, second = blocks_of(FORMAT, text)
    assert (first.used, second.used) == (4, 2)
    assert first.facts[0].values == {"volume_group": "fedora", "physical_volumes": 2, "disks": "sda2 sdb1"}
    assert second.facts[0].text == "volume group fedora lay on 2 physical volumes"
    assert [d.name for d in first.devices] == ["sda2", "sdb1", "sdc"]


def test_columns_nobody_knows_are_passed_over():
    text = (
        "  PV         VG  Fmt  Attr PSize  PFree DevSize PV UUID PMdaFree PMdaSize #PMda #PMdaUse PE Start\n"
        "  /dev/sda2  vg0 lvm2 a--  <9.00g    0    9.00g x9-aa       0 1020.00k     1        1    0     0\n"
    )
    (block,) = blocks_of(FORMAT, text)
    assert block.used == 2
    assert block.devices[0].name == "sda2"


def test_json_report():
    text = (
        '  {\n      "report": [\n          {\n              "lv": [\n'
        '                  {"lv_name":"data", "vg_name":"vg0", "lv_attr":"rwi-a-r---", "segtype":"raid6",'
        ' "stripes":"5", "stripe_size":"64.00k", "devices":"data_rimage_0(0),data_rimage_1(0)"}\n'
        "              ]\n          }\n      ]\n  }\nnext\n"
    )
    (block,) = blocks_of(FORMAT, text)
    assert block.used == 8
    assert (block.devices[0].level, block.devices[0].chunk_kb) == ("raid6", 64)
    assert block.devices[0].members == ("vg0-data_rimage_0", "vg0-data_rimage_1")


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: "\n".join("\t" + line for line in text.split("\n")),
        lambda text: "\n".join(" ".join(line.split()) for line in text.split("\n")),
        lambda text: text.replace("  data ", "data ", 1),
    ],
    ids=["indented", "blanks collapsed", "shifted row"],
)
def test_damage_leaves_the_volume(damage):
    found = devices_of(FORMAT, damage(RAID5))
    assert found["vg0-data"].members == ("vg0-data_rimage_0", "vg0-data_rimage_1")
    assert found["vg0-data"].level == "raid5"
    assert found["vg0-data_rimage_0"].members == ("sda",)


@pytest.mark.parametrize(
    "text", ["LV VG\n", "PV Name: foo\n", "  LV VG Attr LSize\n\n", "VG this LV that\n", '"report": ["x"]\n']
)
def test_other_text_is_left_alone(text):
    assert blocks_of(FORMAT, text) == []
