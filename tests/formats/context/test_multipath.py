import pytest

from iodiag.formats.context.multipath import FORMAT
from reading import blocks_of, devices_of

NEW = """\
mpatha (360a98000572d5765636f69746a6d4e75) dm-3 NETAPP,LUN
size=100G features='3 queue_if_no_path pg_init_retries 50' hwhandler='0' wp=rw
|-+- policy='round-robin 0' prio=50 status=active
| |- 1:0:0:1 sdb 8:16 active ready running
| `- 2:0:0:1 sdc 8:32 failed faulty running
`-+- policy='round-robin 0' prio=10 status=enabled
  `- 1:0:1:1 sdd 8:48 active ready running
360a98000572d5765636f69746a6d4e76 dm-4 HP,OPEN-V
size=50G features='0' hwhandler='0' wp=rw
`-+- policy='service-time 0' prio=1 status=active
  `- 3:0:0:2 sde 8:64 active ready running
"""
OLD = """\
mpath0 (360a98000572d5765636f69746a6d4e75) dm-3 NETAPP,LUN
[size=100G][features=1 queue_if_no_path][hwhandler=0]
\\_ round-robin 0 [prio=8][active]
 \\_ 1:0:0:1 sdb 8:16 [active][ready]
 \\_ 2:0:0:1 sdc 8:32 [failed][faulty]
"""


def test_tree():
    (block,) = blocks_of(FORMAT, NEW + "\n$ iostat\n")
    assert block.used == 11
    found = devices_of(FORMAT, NEW)
    assert found["dm-3"].members == ("sdb", "sdc", "sdd")
    assert found["dm-3"].size_kb == 100 * 1024**2
    assert {"mpatha", "360a98000572d5765636f69746a6d4e75"} <= set(found["dm-3"].aliases)
    assert found["dm-4"].members == ("sde",)
    assert found["dm-4"].model == "HP,OPEN-V"
    assert block.facts[0].text == "mpatha had 3 paths, 1 of them failed"
    assert block.facts[0].values["failed"] == "sdc"


@pytest.mark.parametrize("text", [OLD, OLD.replace("\\_", "_"), "    " + OLD.replace("\n", "\n    ")])
def test_old_tree(text):
    assert devices_of(FORMAT, text)["dm-3"].members == ("sdb", "sdc")


@pytest.mark.parametrize("text", ["dm-3 is slow, very\n", "mpatha (360a98000572) dm-3 NETAPP,LUN\nhello\n"])
def test_other_text_is_left_alone(text):
    assert blocks_of(FORMAT, text) == []
