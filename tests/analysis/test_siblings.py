from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iodiag.analysis.measure.clusters import clusters
from iodiag.analysis.view.device_names import is_md, is_partition_of_any, is_physical, virtual_disks


@pytest.mark.parametrize(
    ("rates", "expected"),
    [
        ([(100, 100), (102, 101), (500, 100)], [{0, 1}]),
        ([(100, 100), (104, 100), (108, 100), (112, 100)], [{0, 1, 2, 3}]),
        ([(100, 100), (100, 300), (101, 301)], [{1, 2}]),
        ([(2, 5000), (30, 5000)], [{0, 1}]),
        ([(100, 100), (float("nan"), 100), (101, 100)], [{0, 2}]),
        ([], []),
    ],
    ids=["a pair", "no gap", "other writes", "a few reads beside", "unknown", "nothing"],
)
def test_groups_end_at_gaps(rates, expected):
    found = clusters(np.array(rates, dtype=float).reshape(-1, 2), 0.05)
    assert [set(group) for group in found] == expected


@given(st.lists(st.tuples(st.floats(0, 1e6), st.floats(0, 1e6)), max_size=40))
def test_no_device_is_in_two_groups(rates):
    found = clusters(np.array(rates, dtype=float).reshape(-1, 2), 0.05)
    members = [place for group in found for place in group]
    assert len(members) == len(set(members))
    assert all(len(group) >= 2 for group in found)


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("sda1", True),
        ("nvme0n1p2", True),
        ("sda", False),
        ("nvme0n1", False),
        ("sdb1", False),
        ("dm-1", False),
        ("dev8-17", True),
        ("dev8-16", False),
        ("dev8-33", False),
        ("dev253-17", False),
    ],
)
def test_partitions_of_listed_disks(name, part):
    assert is_partition_of_any(name, {"sda", "nvme0n1", "dev8-16", "dev253-16"}) is part


@pytest.mark.parametrize(
    ("name", "physical", "md"),
    [
        ("sda", True, False),
        ("nvme0c0n1", True, False),
        ("dev8-16", True, False),
        ("vdb2", True, False),
        ("dm-3", False, False),
        ("dev253-3", False, False),
        ("md127", False, True),
        ("dev9-0", False, True),
        ("vg0-data", False, False),
    ],
)
def test_what_a_name_tells(name, physical, md):
    assert is_physical(name) is physical
    assert is_md(name) is md


@pytest.mark.parametrize(
    ("names", "disks"),
    [
        (("dev252-0", "dev252-16", "dev253-0", "dev253-1"), {"dev252-0", "dev252-16"}),
        (("dev254-0", "dev254-32", "dev253-3", "sda"), {"dev254-0", "dev254-32"}),
        (("dev252-0", "dev253-0", "dev253-1"), set()),
        (("dev252-0", "dev252-16", "dev253-0"), set()),
        (("dev252-0", "dev252-1", "dev252-16"), set()),
        (("dev8-0", "dev8-16", "dev253-1"), set()),
    ],
)
def test_numbers_in_steps_of_sixteen_beside_others_are_of_disks(names, disks):
    """Of a lone number 0 it is not known, nor where both drivers may count in steps."""
    assert virtual_disks(names) == disks
