"""pt-summary: queues and mounts of devices; its rounded vmstat is no sample."""

from iodiag.api import join, read_many
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


def test_a_report_below_the_saved_summary_is_read():
    text = (
        "platform    Linux\nhostname    db1\nkernel    5.14.0\n"
        "Device:         rrqm/s   wrqm/s     r/s     w/s    rkB/s    wkB/s\n"
        "sda    0.00    0.00    1.00    2.00    8.00   16.00\n"
    )
    assert len(reading(text).tables) == 1


def test_a_folder_of_saved_samples_names_its_host_schedulers_and_mounts(tmp_path):
    saved = {
        "summary": "platform    Linux\nhostname    db1\nkernel    5.14.0\ndisks    sda\nsdb\n"
        "internal::sda    [deadline] 128\nfile-nr    9248  0  203574\n",
        "mounted_fs": "/dev/sda7 333G 35G 281G 12% /srv on /srv type ext4 (rw,noatime)\n"
        "none 1002M 1.4M 1000M 1% /run/shm on /run/lock type tmpfs (rw,noexec)\n",
        "vmstat": "procs -----------memory---------- ---swap-- -----io---- -system-- ----cpu----\n"
        " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa\n"
        " 2  0      0 491008 199604 741304    0    0     2     1  147   54  4  1 95  0\n"
        " 0  9      0 487528 199604 745220    0    0     0  8000  884 2284 28 26  6 40\n",
    }
    for name, text in saved.items():
        (tmp_path / name).write_text(text)
    capture = join(read_many([tmp_path])[0])
    assert list(capture.hosts) == ["db1"]
    assert capture.tables["queue"]["host"].tolist() == ["db1", "db1"]
    sda, sda7 = capture.topology.find("sda"), capture.topology.find("sda7")
    assert sda is not None
    assert (sda.scheduler, sda.nr_requests) == ("deadline", 128)
    assert sda7 is not None
    assert sda7.mountpoints == ("/srv",)
