"""Tools that are not read: refused by name, or passed over where something else is there to read."""

import io

import pytest

import iodiag

IOSTAT = """\
Device            r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wkB/s   wrqm/s  %wrqm w_await wareq-sz  aqu-sz  %util
sda             10.00    160.00     0.00   0.00    5.00    16.00    2.00      8.00     0.00   0.00    1.00     4.00    0.05   4.00
"""  # noqa: E501
ELSEWHERE = {
    "FreeBSD -x": (
        "                        extended device statistics\n"
        "device       r/s     w/s     kr/s     kw/s  ms/r  ms/w  ms/o  ms/t qlen  %b\n"
        "ada0           2      10     64.1    310.0     1     2     0     2    0   1\n"
    ),
    "FreeBSD": (
        "       tty            ada0             cd0             cpu\n"
        " tin  tout  KB/t tps  MB/s   KB/t tps  MB/s  us ni sy in id\n"
        "   0     8 28.51   7  0.21   0.00   0  0.00   0  0  0  0 99\n"
    ),
    "FreeBSD gstat": (
        "dT: 1.002s  w: 1.000s\n"
        " L(q)  ops/s    r/s   kBps   ms/r    w/s   kBps   ms/w   %busy Name\n"
        "    3    210    200  25600   12.5     10     80    1.5   88.0| da1\n"
    ),
    "macOS": (
        "              disk0       cpu    load average\n"
        "    KB/t  tps  MB/s  us sy id   1m   5m   15m\n"
        "   33.28   32  1.05   8  4 88  2.11 2.20 2.01\n"
    ),
    "macOS vm_stat": "Mach Virtual Memory Statistics: (page size of 4096 bytes)\nPages free:     20210.\n",
    "NetBSD": (
        "device  read KB/t    r/s   time     MB/s write KB/t    w/s   time     MB/s\n"
        "wd0         24.55      2   0.01     0.05      18.06     11   0.10     0.19\n"
    ),
    "OpenBSD vmstat": (
        " r   s   avm     fre  flt  re  pi  po  fr  sr sd0 cd0  int   sys   cs us sy id\n"
        " 1  80  210M   1200M  100   0   0   0   0   0   0   0   10   200  100  0  1 99\n"
    ),
    "illumos -xn": (
        "    r/s    w/s   kr/s   kw/s wait actv wsvc_t asvc_t  %w  %b device\n"
        "    0.5    4.2    8.1   40.0  0.0  0.1    0.0   12.1   0   2 c0t0d0\n"
    ),
    "Solaris vmstat": (
        " r b w   swap  free  re  mf pi po fr de sr s0 s1 s2 s3   in   sy   cs us sy id\n"
        " 0 0 0 4203100 1310304 3 14  2  0  0  0  0  1  0  0  0  402  512  330  1  1 98\n"
    ),
    "Solaris sar": (
        "SunOS db1 5.10 Generic sun4v    03/18/2004\n\n"
        "12:36:32   device        %busy   avque   r+w/s  blks/s  avwait  avserv\n"
        "12:40:01   sd1              15     0.7      26     399    18.1    10.0\n"
        "           sd2               1     0.0       0       5     0.0     6.0\n"
    ),
    "AIX iostat": (
        "System configuration: lcpu=4 drives=3\n\n"
        "tty:      tin         tout    avg-cpu: % user % sys % idle % iowait\n"
        "          0.0         13.5                1.2    0.8     97.9      0.1\n\n"
        "Disks:        % tm_act     Kbps      tps    Kb_read   Kb_wrtn\n"
        "hdisk0           1.0      24.0       3.1     100112    803312\n"
    ),
    "AIX vmstat": (
        " r  b   avm   fre  re  pi  po  fr   sr  cy  in   sy  cs us sy id wa\n"
        " 1  1 412345 12345   0   0   0   0    0   0 123 1234 345  3  1 95  1\n"
    ),
    "AIX sar": (
        "AIX db2 3 5 00F6D4A04C00    11/20/26\n\n"
        "10:00:00     device    %busy    avque    r+w/s    Kbs/s   avwait   avserv\n"
        "10:00:01     hdisk0      1      0.0        3       24      0.0      4.1\n"
    ),
    "HP-UX iostat": "  device    bps     sps    msps\n\n  c0t6d0      8     1.0     1.0\n",
    "HP-UX vmstat": (
        "   r   b   w    avm    free   re   at    pi   po    fr   de    sr   in     sy    cs  us sy id\n"
        "   1   0   0  65432  123456   10    1     0    0     0    0     0  411   2200   180   1  1 98\n"
    ),
    "AIX iostat -D": (
        "System configuration: lcpu=8 drives=3 paths=4 vdisks=0\n\n"
        "hdisk0         xfer:  %tm_act      bps      tps      bread      bwrtn\n"
        "                          0.4     14.7K     1.3       6.2K       8.5K\n"
    ),
    "BSD top": (
        "  PID USERNAME    THR PRI NICE   SIZE    RES STATE   C   TIME    WCPU COMMAND\n"
        "  812 root          1  20    0    20M     5M select  0   0:01   0.10% sshd\n"
    ),
}
OF_LINUX = {
    "dstat": (
        "--total-cpu-usage-- -dsk/total- -net/total- ---paging-- ---system--\n"
        "usr sys idl wai stl| read  writ| recv  send|  in   out | int   csw\n"
        " 43   3  55   0   0|1414k 1664k|   0     0 |   0     0 | 436   556\n"
    ),
    "dstat of single disks": (
        "----system---- --dsk/sda-----dsk/sda1- ---sda-------sda1--\n"
        "     time     | read  writ: read  writ|rawa wawa:rawa wawa\n"
        "20-11 15:39:23|  38k 3442k:  38k 3442k|0.54 4.64:0.53 4.90\n"
    ),
    "pcp-dstat": '"pcp-dstat 5.3.7 CSV Output"\n"Host:","db1",,,,"User:","root"\n',
    "nmon": (
        "AAA,progname,nmon\nAAA,version,16n\nZZZZ,T0001,15:39:23,20-NOV-2026\n"
        "DISKBUSY,Disk %Busy vm1,sda,sdb\nDISKBUSY,T0001,1.0,0.0\n"
    ),
    "atop": (
        "ATOP - vm1     2026/11/20  15:40:16      -----------------      1h30m16s elapsed\n"
        "CPU | sys       5% | user     86% | irq       0% | idle    108% | wait      0% |\n"
        "DSK |          sda | busy      1% | read  306803 | write 139355 | avio 64.5 us |\n"
    ),
    "collectl": (
        "waiting for 1 second sample...\n#<--------CPU--------><----------Disks----------->\n"
        "#cpu sys inter  ctxsw KBRead  Reads KBWrit Writes\n 100   2   576    671   28    6     4     1\n"
    ),
    "collectl of a guest": "#<----CPU[HYPER]-----><----------Disks----------->\n#cpu sys inter  ctxsw\n",
    "collectl in a file": "# Collectl:   V4.3.1-1  HiRes: 1  Options: -scdn\n>>> 1795190416.001 <<<\n",
    "PCP pmstat": (
        "@ Fri Nov 20 15:40:16 2026\n"
        " loadavg                      memory      swap        io    system         cpu\n"
        "   1 min   swpd   free   buff  cache   pi   po   bi   bo   in   cs  us  sy  id\n"
        "    0.12      0   1.2g   120m   3.2g    0    0    0   12  220  400   1   1  98\n"
    ),
    "PCP pmrep": "  k.a.load  d.d.read\n  1 minute       sda\n     0.120     12.00\n",
    "PCP pmdumplog": "Log Label (Log Format Version 2)\nPerformance metrics from host vm1\n",
    "esxtop": (
        " 3:40:16pm up 12 days 3:04, 500 worlds, 8 VMs, 16 vCPUs; CPU load average: 0.10, 0.12, 0.11\n\n"
        " ADAPTR PATH   NPTH   CMDS/s  READS/s WRITES/s DAVG/cmd KAVG/cmd GAVG/cmd QAVG/cmd\n"
        " vmhba0 -         1    12.00    10.00     2.00     1.23     0.01     1.24     0.00\n"
    ),
    "esxtop -b": '"(PDH-CSV 4.0) (UTC)(0)","\\\\esx1\\Memory\\Free MBytes"\n"11/20/2026 15:40:16","52.00"\n',
    "collectl -sD without its banner": (
        "#Time     Name  KBytes Merged  IOs Size  KBytes Merged  IOs Size  RWSize  QLen  Wait SvcTim Util\n"
        "10:12:30 sdc      2041      1   31   66       0      0    0    0      66     1     9      7   22\n"
    ),
    "collectl -sD": (
        "# DISK STATISTICS (/sec)\n"
        "#          <---------reads---------------><---------writes--------------> Pct\n"
        "#Name       KBytes Merged  IOs Size  Wait  KBytes Merged  IOs Size  Wait Util\n"
        "sda              7      0    1    8     1       0      0    0    0     0    0\n"
    ),
}


def read(text):
    return iodiag.read(io.BytesIO(text.encode()), name="paste.txt")


@pytest.mark.parametrize("name", ELSEWHERE)
def test_other_systems_are_refused_by_name(name):
    with pytest.raises(iodiag.IodiagError, match=r"^paste\.txt:\d+: this is ") as refused:
        read(ELSEWHERE[name])
    system = name.split()[0].replace("illumos", "Solaris or illumos").replace("FreeBSD", "BSD")
    system = {"Solaris": "S", "NetBSD": "BSD", "OpenBSD": "BSD"}.get(system, system)
    assert system in str(refused.value)
    assert "iostat -xt 1" in str(refused.value)


@pytest.mark.parametrize("tool", OF_LINUX)
def test_other_tools_are_refused_by_name(tool):
    with pytest.raises(
        iodiag.IodiagError, match=rf"this is {tool.split()[0]}\b.*, which iodiag does not read"
    ):
        read(OF_LINUX[tool])


def test_the_file_of_pcp_dstat_is_not_asked_for_where_it_is_refused():
    with pytest.raises(iodiag.IodiagError, match="run iostat -xt 1 on that host instead"):
        read(OF_LINUX["pcp-dstat"])


@pytest.mark.parametrize(
    ("head", "said"),
    [
        (b"\xef\xbe\xed\xfe\x88\x02\x80\0", "a file of atop, which iodiag does not read; run iostat -xt 1"),
        (b"\0\0\0\x84\x50\x05\x26\x02", "an archive of PCP, .*; give the output of `pcp -a ARCHIVE iostat"),
    ],
    ids=["atop", "PCP"],
)
def test_binary_files_of_other_tools_are_refused_by_name(head, said):
    with pytest.raises(iodiag.IodiagError, match=f"this is {said}"):
        iodiag.read(io.BytesIO(head + bytes(400)), name="x")


@pytest.mark.parametrize("text", [*ELSEWHERE.values(), *OF_LINUX.values()], ids=[*ELSEWHERE, *OF_LINUX])
@pytest.mark.parametrize("is_first", [True, False])
def test_beside_a_capture_they_add_no_rows(text, is_first):
    capture = read(text + "\n" + IOSTAT if is_first else IOSTAT + "\n" + text)
    assert list(capture.tables) == ["disk"]
    assert len(capture.disk) == 1
    assert [note for note in capture.notes if "not read" in note.reason]


@pytest.mark.parametrize(
    "word", ["top of the page\n", "I ran dstat and nmon\n", "atop the stack\n", "PID USER\n"]
)
def test_prose_about_them_is_prose(word):
    capture = read(word + IOSTAT)
    assert not [note for note in capture.notes if "not read" in note.reason]


ZPOOL = """\
                 capacity     operations     bandwidth
pool           alloc   free   read  write   read  write
-------------  -----  -----  -----  -----  -----  -----
tank           42.4G   402G    907  6.50K  59.7M   104M
  mirror       42.4G   180G    307  2.81K  20.2M  35.0M
    wwn-0x50a      -      -    153  1.42K  10.1M  17.5M
-------------  -----  -----  -----  -----  -----  -----
"""
LISTED = "NAME   SIZE  ALLOC   FREE  EXPANDSZ   FRAG    CAP  DEDUP  HEALTH  ALTROOT\ntank   136T  40,5T  95,8T         1    24%    29%  1.00x  ONLINE  -\n"  # noqa: E501
POOL = """\
  pool: tank
 state: ONLINE
config:

        NAME        STATE     READ WRITE CKSUM
        tank        ONLINE       0     0     0
          mirror-0  ONLINE       0     0     0
            da1     ONLINE       0     0     2
"""
PS = "UID        PID  PPID  C STIME TTY          TIME CMD\nroot         1     0  0 10:00 ?        00:00:01 init\n"  # noqa: E501
PS_USE = "USER       PID %CPU %MEM    VSZ   RSS COMMAND\nroot         1  0.0  0.1 168140 11620 init\n"

NET_DEV = """\
Inter-|   Receive                            |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls
    lo: 46296962   55721    0    0    0     0          0         0 46296962   55721    0    0    0     0
  eth0: 10390762  258559    0    0    0     0          0         0 16149575  158559    0    0    0     0
"""


@pytest.mark.parametrize(
    ("table", "says"),
    [
        (ZPOOL, "zpool iostat: its samples are"),
        (LISTED, "zpool list: it is"),
        (POOL, "zpool status: it is"),
        (PS, "ps: it is"),
        (PS_USE, "ps: it is"),
        (NET_DEV, "/proc/net/dev: it is"),
    ],
    ids=["iostat", "list", "status", "ps", "ps without states", "net"],
)
@pytest.mark.parametrize("is_first", [True, False])
def test_their_lines_are_named_once_and_none_of_ours_is_unread(table, says, is_first):
    capture = read(table + "\n" + IOSTAT if is_first else IOSTAT + "\n" + table)
    assert [note.reason for note in capture.notes] == [f"this is {says} not read"]
    assert "unread" not in capture.ledgers[0].counts
    report = iodiag.analyze(capture)
    assert "could not be read" not in report.headline
    page = report.to_markdown()
    assert ("**Not read:** the samples of zpool iostat in `paste.txt` (line " in page) == (table is ZPOOL)


def test_what_only_another_system_has_is_refused_before_pools_that_linux_has_too():
    with pytest.raises(iodiag.IodiagError, match=r"paste\.txt:11: this is the gstat of FreeBSD"):
        read(POOL + "\n" + ELSEWHERE["FreeBSD gstat"])


def test_a_table_that_nobody_knows_does_not_count_against_ours():
    rows = "alpha-queue 1.5G 20 307 4.0K 9\nbeta-queue 1.5G 20 307 4.0K 9\n"
    capture = read(f"{rows}\n{IOSTAT}\nand the queues\n{rows}")
    assert not capture.unparsed
    (note,) = capture.notes
    assert (note.count, note.reason) == (4, "numbers of no table that iodiag reads: 4 lines")


MARKS = """\
FSUse%        Count         Size    Files/sec     App Overhead
     0         1000         4096         33.2            33703
     0        20000         4096         47.3          1321030
"""


def test_numbers_below_the_heading_of_another_program_do_not_count_against_ours():
    capture = read(f"{MARKS}\n{IOSTAT}")
    assert not capture.unparsed
    (note,) = capture.notes
    assert (note.line, note.reason) == (2, "numbers of no table that iodiag reads: 2 lines")


@pytest.mark.parametrize(
    "heading",
    [
        "these are the rows of the host\n",  # words that the numbers do not stand below
        MARKS.splitlines(keepends=True)[0].replace("Files/sec", "    %util"),  # what is left of a header
        "",
    ],
)
def test_numbers_below_other_words_may_be_ours(heading):
    rows = "".join(MARKS.splitlines(keepends=True)[1:])
    assert len(read(f"{heading}{rows}\n{IOSTAT}").unparsed) >= 2


@pytest.mark.parametrize(
    "row",
    [
        "sdb 9.00 8.00 7.00 6.00 5.00 4.00\n",
        "12:00:01 tank 9.00 8.00 7.00 6.00 5.00\n",
        "9 8 7 6 5 4 3 2\n",
        "tank " + "9.00 " * 14 + "\n",
    ],
    ids=["device", "time", "numbers", "as wide"],
)
def test_a_row_that_may_be_ours_counts(row):
    assert len(read(f"{row}\n{row}\n{IOSTAT}").unparsed) == 2
