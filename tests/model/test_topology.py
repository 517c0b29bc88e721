import pytest
from hypothesis import given
from hypothesis import strategies as st

from iodiag.model.topology import Device, device_names, merge


@pytest.mark.parametrize(
    ("printed", "spelling"),
    [
        ("/dev/sda", "sda"),
        ("/dev/mapper/vg0-data", "vg0-data"),
        ("vg-a/data-x", "vg--a-data--x"),
        ("cciss!c0d0", "cciss/c0d0"),
        ("dev253-8", "253:8"),
        ("253:8", "dev253-8"),
        ("dev8-17", "sdb1"),
        ("8:0", "sda"),
        ("65:0", "sdq"),
        ("66:161", "sdaq1"),
        ("9:127", "md127"),
        ("[data_rimage_0]", "data_rimage_0"),
    ],
)
def test_spellings(printed, spelling):
    assert spelling in device_names(printed)


def test_cciss_is_no_volume_group():
    assert device_names("cciss/c0d0") == ("cciss/c0d0",)


def stated(origin, **fields):
    return Device(provenance=dict.fromkeys(fields, origin), **fields)


TREE = Device(
    "dm-8", ("vg0-data", "252:8"), kind="lvm", members=("dm-0", "dm-1"), provenance={"members": "lsblk x:1"}
)
RIMAGE = Device("dm-1", ("vg0-data_rimage_0", "252:1"), kind="lvm", members=("sda",))
RMETA = Device("dm-0", ("vg0-data_rmeta_0", "252:0"), kind="lvm", members=("sda",))
TABLE = Device(
    "vg0-data",
    ("vg0/data",),
    kind="dm",
    level="raid5",
    chunk_kb=64,
    slots=1,
    members=("252:1",),
    provenance={"members": "dmsetup x:9", "level": "dmsetup x:9"},
)


@pytest.mark.parametrize("order", [(TREE, RIMAGE, RMETA, TABLE), (TABLE, RMETA, RIMAGE, TREE)])
def test_inputs_meet_in_any_alias(order):
    topology = merge(order)
    data = topology.devices["dm-8"]
    assert data.members == ("dm-1",)
    assert data.provenance["members"] == "dmsetup x:9"
    assert (data.kind, data.level, data.chunk_kb) == ("lvm", "raid5", 64)
    assert set(data.aliases) == {"252:8", "dev252-8", "vg0-data", "vg0/data"}
    assert [leaf.name for leaf in topology.leaves("dev252-8")] == ["sda"]
    assert [parent.name for parent in topology.parents("dm-1")] == ["dm-8"]


def test_bridge_between_two_earlier_entries_joins_them():
    first = Device("mpatha", kind="multipath")
    second = Device("253:3", level="multipath")
    topology = merge([first, second, Device("dm-3", ("mpatha", "253:3"))])
    assert list(topology.devices) == ["dm-3"]
    assert topology.devices["dm-3"].level == "multipath"


def test_wider_tree_replaces_a_part_of_it():
    part = stated("lsblk a:1", name="md0", members=("sda",))
    whole = stated("lsblk b:1", name="md0", members=("sda", "sdb"))
    assert merge([part, whole]).devices["md0"].members == ("sda", "sdb")
    assert merge([whole, part]).devices["md0"].members == ("sda", "sdb")


def test_spare_in_the_tree_is_no_member():
    tree = stated("lsblk a:1", name="md0", members=("sda", "sdb", "sdc"))
    roles = stated("mdstat b:1", name="md0", members=("sda", "sdb"), slots=2)
    assert merge([tree, roles]).devices["md0"].members == ("sda", "sdb")
    assert merge([roles, tree]).devices["md0"].members == ("sda", "sdb")


def test_first_statement_of_a_field_wins_with_its_origin():
    topology = merge(
        [stated("a 1", name="sda", rotational=True), stated("b 2", name="sda", rotational=False, model="X")]
    )
    assert topology.devices["sda"].rotational is True
    assert topology.devices["sda"].provenance["rotational"] == "a 1"
    assert topology.devices["sda"].provenance["model"] == "b 2"


def test_members_that_nothing_describes_are_devices_too():
    topology = merge([Device("md0", members=("8:0", "/dev/sdb", "259:1"))])
    assert topology.find("dev259-1") is topology.find("259:1")
    numbered = topology.find("259:1").name
    assert topology.devices["md0"].members == ("sda", "sdb", numbered)
    assert [leaf.name for leaf in topology.leaves("md0")] == ["sda", "sdb", numbered]


def test_nothing_is_believed_of_what_stands_on_each_other_in_a_circle():
    said = {"a": ("b",), "b": ("c", "sda"), "c": ("a",), "top": ("a",), "md0": ("sdb", "sdc")}
    topology = merge([Device(name, members=members) for name, members in said.items()])
    found = {device.name: device.members for device in topology if device.members}
    assert found == {"b": ("sda",), "top": ("a",), "md0": ("sdb", "sdc")}
    assert topology.above("sda") == (topology.devices["b"],)


NAMES = st.sampled_from(["sda", "8:0", "dm-1", "252:1", "vg-a", "vg/a", "md0", "9:0", "dev252-1"])


@given(
    st.lists(
        st.builds(Device, NAMES, st.lists(NAMES, max_size=2).map(tuple), members=st.lists(NAMES).map(tuple))
    )
)
def test_merging_twice_changes_nothing(devices):
    once = merge(devices)
    twice = merge(once)
    assert {d.name: set(d.members) for d in once} == {d.name: set(d.members) for d in twice}
    assert all(once.find(d.name) is d for d in once)
