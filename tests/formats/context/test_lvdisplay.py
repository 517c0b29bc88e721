import pytest

from iodiag.formats.context.lvdisplay import FORMAT
from reading import blocks_of, devices_of

VOLUME = """\
  --- Logical volume ---
  LV Path                /dev/vg-0/data
  LV Name                data
  VG Name                vg-0
  LV UUID                abc-def
  LV Write Access        read/write
  LV Creation host, time host1, 2020-01-01 10:00:00 +0000
  LV Status              available
  # open                 1
  LV Size                6.00 GiB
  Current LE             1536
  Segments               1
  Allocation             inherit
  Read ahead sectors     auto
  - currently set to     256
  Block device           253:8
   
"""
SEGMENTS = """\
  --- Segments ---
  Logical extents 0 to 1535:
    Type                striped
    Stripes             2
    Stripe size         64.00 KiB
    Stripe 0:
      Physical volume   /dev/sda
      Physical extents  0 to 767
    Stripe 1:
      Physical volume   /dev/sdb
      Physical extents  0 to 767


"""


def test_volume():
    text = VOLUME + VOLUME.replace("data", "root").replace("253:8", "253:9")
    (block,) = blocks_of(FORMAT, text + "\n\n[root@x]# iostat -x\n")
    found = devices_of(FORMAT, text)
    assert set(found) == {"dm-8", "dm-9"}
    assert {"vg--0-data", "vg-0/data", "253:8"} <= set(found["dm-8"].aliases)
    assert found["dm-8"].size_kb == 6 * 1024**2
    assert found["dm-8"].level is None
    assert block.used == text.rstrip().count("\n") + 1


def test_map_of_segments():
    device = devices_of(FORMAT, VOLUME + SEGMENTS)["dm-8"]
    assert (device.level, device.chunk_kb, device.slots) == ("striped", 64, 2)
    assert device.members == ("sda", "sdb")


def test_old_release_prints_the_path_as_name():
    text = "  --- Logical volume ---\n  LV Name                /dev/vg0/lv\n  VG Name                vg0\n"
    assert list(devices_of(FORMAT, text)) == ["vg0-lv"]


@pytest.mark.parametrize(
    "text", ["--- Logical volume ---\n", "--- Volume group ---\n  VG Name   vg0\n", "--- x ---\n"]
)
def test_other_text_is_left_alone(text):
    assert blocks_of(FORMAT, text) == []
