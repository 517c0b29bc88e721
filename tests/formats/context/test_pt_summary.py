"""pt-summary: queues and mounts of devices; its rounded vmstat is no sample."""

from iodiag.formats.context.pt_summary import FORMAT
from reading import devices_of
from text_reading import reading

SUMMARY = """\
# Percona Toolkit System Summary Report ######################
        Date | 2026-11-23 12:00:00 UTC (local TZ: UTC +0000)
    Hostname | db1
# Mounted Filesystems ########################################
  Filesystem  Size Used Type  Opts              Mountpoint
  /dev/sda1    40G  53% xfs   rw,noatime        /srv
# Disk Schedulers And Queue Size #############################
         sda | [deadline] 128
        dm-0 | UNREADABLE
# Simplified and fuzzy rounded vmstat (wait please) ##########
  procs  ---swap-- -----io---- ---system---- --------cpu--------
   r  b    si   so    bi    bo     ir     cs  us  sy  il  wa  st
   2  0     0    0     3    15     30    125   0   0  99   0   0
   0  0     0    0     0    20   1250   2500   1   0  99   0   0
# Memory management ##########################################
"""


def test_queues_and_mounts():
    devices = devices_of(FORMAT, SUMMARY)
    assert (devices["sda"].scheduler, devices["sda"].nr_requests) == ("deadline", 128)
    assert devices["sda1"].mountpoints == ("/srv",)


def test_the_rounded_vmstat_is_named_and_not_read():
    read = reading(SUMMARY)
    assert not read.tables
    assert not read.unread
    assert {section.host for section in read.sections} == {"db1"}
    assert any(section.layout.endswith("not read") for section in read.sections)
