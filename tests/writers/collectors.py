"""What collectors write that start a tool again for each sample: OSWatcher, pt-stalk, loops in a shell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import numpy as np

HEADER = (
    "Device:   rrqm/s   wrqm/s      r/s     w/s    rkB/s    wkB/s avgrq-sz avgqu-sz   await  svctm  %util"
)
CPU = "avg-cpu:  %user   %nice %system %iowait  %steal   %idle"
VMSTAT = (
    "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n"
    " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st"
)
MPSTAT = "CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal  %guest  %gnice   %idle"
NOON = datetime(2026, 11, 23, 12, 0, 0)
BUSY = 40.0
"""Requests per second of the busiest device."""


@dataclass
class Host:
    """A host with disks whose requests are counted from its boot on; each tool asks it for reports.

    A sample takes `jitter` hundredths of a second more now and then, as the kernel counts it.
    """

    name: str = "db1"
    devices: tuple[str, ...] = ("sda", "dm-0")
    seed: int = 1
    uptime: float = 40_000.0
    clock: datetime = NOON
    jitter: float = 0.2
    rng: np.random.Generator = field(init=False)
    counts: dict[str, tuple[float, float]] = field(init=False)

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)
        self.counts = {device: (3.1 * self.uptime, 7.3 * self.uptime) for device in self.devices}

    @property
    def banner(self) -> str:
        return f"Linux 5.14.0 ({self.name}) \t{self.clock:%m/%d/%y} \t_x86_64_\t(4 CPU)\n"

    @property
    def date(self) -> str:
        return f"{self.clock:%a %b %d %H:%M:%S} UTC {self.clock:%Y}"

    def iostat(self, interval: float = 1.0, count: int = 2, skips_first: bool = False) -> list[str]:
        """The reports of `iostat -xk interval count`: an average since boot (but for -y), then samples."""
        reports = []
        for number in range(count + skips_first):
            if number:
                self.wait(interval)
            if not (skips_first and not number):
                reports.append(self._report(number == 0))
        return reports

    def top(self) -> str:
        """One screen of `top -b`."""
        return (
            f"top - {self.clock:%H:%M:%S} up 9 days,  9:56,  1 user,  load average: 3.27, 6.64, 5.26\n"
            "Tasks: 191 total,   1 running, 190 sleeping,   0 stopped,   0 zombie\n"
            f"%Cpu(s):  3.5 us,  0.6 sy,  0.0 ni, {40 + self.clock.second / 2:.1f} id, "
            f"{55.4 - self.clock.second / 2:.1f} wa,  0.2 hi,  0.3 si,  0.0 st\n"
            "KiB Mem : 65172132 total,  1581324 free, 14824920 used, 48765888 buff/cache\n"
            "KiB Swap: 16777212 total, 11357828 free,  5419384 used. 32606304 avail Mem\n\n"
            "   PID USER      PR  NI    VIRT    RES    SHR S  %CPU %MEM     TIME+ COMMAND\n"
            "  1203 oracle    20   0   16.8g 159000 128564 D   5.6  0.2   1:51.06 ora_dbw0\n\n"
        )

    def vmstat(self, interval: float = 1.0, count: int = 3) -> str:
        """The output of `vmstat interval count`."""
        lines = [VMSTAT]
        for number in range(count):
            if number:
                self.wait(interval)
            rates = [self._rates(device, number == 0) for device in self.devices]
            kb_in, kb_out = (8 * sum(pair[at] for pair in rates) for at in (0, 1))
            cpu = (3, 1, 94, 2, 0) if number == 0 else self._cpu()
            line = [
                int(self.rng.integers(0, 5)),
                0,
                0,
                413456,
                1408,
                23048,
                0,
                0,
                round(kb_in),
                round(kb_out),
            ]
            seen = (329, 669) if number == 0 else (self.rng.integers(100, 900), self.rng.integers(100, 900))
            lines.append(" ".join(f"{int(cell):>4}" for cell in (*line, *seen, *cpu)))
        return "\n".join(lines) + "\n"

    def mpstat(self, count: int = 2) -> str:
        """The output of `mpstat -P ALL 1 count` without its averages."""
        text = self.banner
        for _ in range(count):
            begun = self.clock
            self.wait(1.0)
            text += f"\n{begun:%H:%M:%S}     {MPSTAT}\n"
            for cpu in ("all", "0", "1"):
                user, system, idle, wait, steal = self._cpu()
                cells = (user, 0, system, wait, 0, 0, steal, 0, 0, idle)
                text += (
                    f"{self.clock:%H:%M:%S}     {cpu:>3} " + " ".join(f"{cell:6.2f}" for cell in cells) + "\n"
                )
        return text

    def wait(self, seconds: float) -> None:
        """Let some time pass, with its requests and a bit more than was asked for."""
        self._last = seconds + 0.01 * (self.rng.random() < self.jitter)
        self._added: dict[str, tuple[int, int]] = {}
        for number, (device, (reads, writes)) in enumerate(self.counts.items()):
            busy = BUSY / (number + 1) * self.rng.uniform(0, 2)
            added = tuple(int(n) for n in self.rng.poisson((0.3 * busy * seconds, busy * seconds)))
            self._added[device] = added[0], added[1]
            self.counts[device] = reads + added[0], writes + added[1]
        self.uptime += self._last
        self.clock += timedelta(seconds=seconds)

    def _rates(self, device: str, is_since_boot: bool) -> tuple[float, float]:
        pair = self.counts[device] if is_since_boot else self._added[device]
        length = self.uptime if is_since_boot else self._last
        return pair[0] / length, pair[1] / length

    def _cpu(self) -> tuple[int, int, int, int, int]:
        user, system = (int(n) for n in self.rng.integers(0, 40, 2))
        return user, system, 100 - user - system, 0, 0

    def _report(self, is_since_boot: bool) -> str:
        user, system, idle, wait, steal = (3, 1, 94, 2, 0) if is_since_boot else self._cpu()
        cells = (user, 0, system, wait, steal, idle)
        text = f"{CPU}\n          " + " ".join(f"{cell:7.2f}" for cell in cells) + f"\n\n{HEADER}\n"
        for device in self.devices:
            reads, writes = self._rates(device, is_since_boot)
            total = reads + writes
            busy = min(100.0, 0.5 * total)
            size, wait_ms = (16.0, 5.0) if total else (0.0, 0.0)
            row = (0, 0, reads, writes, 8 * reads, 8 * writes, size, 0.005 * total, wait_ms, wait_ms, busy)
            text += f"{device:<10}" + " ".join(f"{cell:8.2f}" for cell in row) + "\n"
        return text + "\n"


def loop(
    host: Host,
    runs: int = 12,
    count: int = 2,
    *,
    interval: float = 1.0,
    pause: float = 28.0,
    skips_first: bool = False,
    has_banner: bool = True,
    mark: str = "{date}",
) -> str:
    """`while true; do date; iostat -x 1 2; sleep …; done`, with -y or not, and the `mark` above each run."""
    text = ""
    for _ in range(runs):
        text += mark.format(date=host.date, epoch=host.clock.timestamp()) + "\n"
        text += f"{host.banner}\n" if has_banner else ""
        text += "".join(host.iostat(interval, count, skips_first))
        host.wait(pause)
    return text


def oswatcher(host: Host, runs: int = 120, snap: float = 30.0) -> dict[str, str]:
    """The hour's files of OSWatcher Black Box, by their paths in its archive.

    Of three reports of iostat it keeps the last; of vmstat's three rows all.
    """
    stamp = f"{host.clock:%y.%m.%d.%H}00.dat"
    title = "Linux OSWbb v8.1.2"
    settings = f"SNAP_INTERVAL {snap:.0f}\nCPU_CORES 4\nVCPUS 4\nOSWBB_ARCHIVE_DEST /u01/oswbb/archive\n"
    files = {
        "iostat": f"{title}\n",
        "vmstat": f"{title}   {host.name}\n{settings}",
        "mpstat": f"{title}\n",
        "ps": f"{title}   {host.name}\n",
        "top": f"{title}   {host.name}\n",
    }
    for _ in range(runs):
        mark = f"zzz ***{host.date}\n"
        files["top"] += f"{mark}\n{host.top()}"
        files["vmstat"] += mark + host.vmstat()
        files["mpstat"] += mark + host.mpstat()
        files["ps"] += (
            f"{mark}F S UID        PID  PPID  C PRI  NI ADDR SZ WCHAN  STIME TTY          TIME CMD\n"
        )
        files["ps"] += (
            "4 S root         1     0  0  80   0 - 47967 ep_pol Nov01 ?        00:05:01 /sbin/init\n"
        )
        files["iostat"] += mark + host.iostat(1.0, 3)[-1]
        host.wait(snap - 5)
    return {f"archive/osw{tool}/{host.name}_{tool}_{stamp}": text for tool, text in files.items()}


def exawatcher(host: Host, samples: int = 60) -> dict[str, str]:
    """Files of ExaWatcher: one long iostat, and a vmstat that is started again for each sample."""
    begun, stamp = f"{host.clock:%m/%d/%Y %H:%M:%S}", f"{host.clock:%Y_%m_%d_%H_%M_%S}"

    def head(module: str, command: str) -> str:
        line = "#" * 60
        return (
            f"{line}\n# Starting Time:\t{begun}\n# Sample Interval(s):\t5\n# Archive Count:\t720\n"
            f"# Collection Module:\t{module}\n# Collection Command:\t{command}\n{line}\n"
        )

    iostat = head("IostatExaWatcher", "/usr/bin/iostat -t -x  5  720")
    iostat += f"zzz <{begun}> Count:720\n{host.banner}\n"
    vmstat = head("VmstatExaWatcher", "/usr/bin/vmstat  5  2")
    top = f"{head('TopExaWatcher', '/usr/bin/top -b -d 5 -n 720')}zzz <{begun}> Count:720\n"
    for number in range(samples):
        if number:
            host.wait(5.0)
        iostat += f"{host.clock:%m/%d/%Y %I:%M:%S %p}\n{host._report(number == 0)}"
        top += host.top()
    for _ in range(samples // 5):
        vmstat += f"zzz <{host.clock:%m/%d/%Y %H:%M:%S}> Count:720\n{host.vmstat(5.0, 2)}"
    return {
        f"archive/{tool.capitalize()}.ExaWatcher/{stamp}_{tool.capitalize()}ExaWatcher_{host.name}.dat": text
        for tool, text in (("iostat", iostat), ("vmstat", vmstat), ("top", top))
    }


def azure_script(host: Host, seconds: int = 60) -> dict[str, str]:
    """The files of the script of Azure's support: awk puts a time in front of every line of iostat."""
    top = f"123456789012345/{host.name}_20-Nov-2026"
    begun = host.clock
    vmstat = f"vmstat data\n{host.vmstat(1.0, seconds)}"
    host.clock = begun
    lines = [f"{begun:%Y-%m-%d %T} {line}\n" for line in f"{host.banner}\n".splitlines()]
    for number in range(seconds):
        host.wait(1.0 if number else 0.0)
        lines += [f"{host.clock:%Y-%m-%d %T} {line}\n" for line in host._report(number == 0).splitlines()]
    disks = "disk utilisation\nFilesystem      Size  Used Avail Use% Mounted on\n"
    disks += "/dev/sda1        29G   20G  9.0G  69% /\n \n"
    return {
        f"{top}/disks/iostat_detailed.txt": "".join(lines),
        f"{top}/disks/disks_{begun:%d-%h-%Y_%T}.txt": disks,
        f"{top}/memory/vmstat_{begun:%d-%h-%Y_%T}.txt": vmstat,
    }


def pt_stalk(host: Host, seconds: int = 30) -> dict[str, str]:
    """The files that pt-stalk leaves of one trigger, by their names."""
    prefix = f"{host.clock:%Y_%m_%d_%H_%M_%S}"
    marks: Sequence[str] = [
        f"TS {host.clock.timestamp() + n:.0f}.00{n:07d} {host.clock + timedelta(seconds=n):%Y-%m-%d %H:%M:%S}"
        for n in range(seconds)
    ]
    begun = host.clock
    files = {"iostat": f"{host.banner}\n" + "".join(host.iostat(1.0, seconds)), "vmstat": ""}
    host.clock = begun
    files["iostat-overall"] = f"{host.banner}\n" + "".join(host.iostat(float(seconds), 2))
    files["vmstat"], files["vmstat-overall"] = host.vmstat(1.0, seconds), host.vmstat(float(seconds), 2)
    row = "   8  {0} {1} {2} 10 {3} {4} 200 20 4000 900 0 {5} {4}\n"
    files["diskstats"] = "".join(
        f"{mark}\n"
        + "".join(
            row.format(minor, device, 1000 + 50 * n, 80_000 + 800 * n, 5000 + 250 * n, 6000 + 240 * n)
            for minor, device in enumerate(host.devices)
        )
        for n, mark in enumerate(marks)
    )
    files["df"] = "".join(
        f"{mark}\nFilesystem     1K-blocks     Used Available Use% Mounted on\n"
        "/dev/sda1       41251136 20625568  18507392  53% /\n"
        for mark in marks
    )
    session = (
        "*************************** 1. row ***************************\n     Id: 8\n   User: app\n"
        "   Host: localhost\n"
        "     db: shop\nCommand: Query\n   Time: 2\n  State: Commit\n   Info: COMMIT\n"
    )
    files["processlist"] = "".join(f"{mark}\n{session}" for mark in marks)
    files["hostname"] = f"{host.name}\n"
    return {f"{prefix}-{name}": text for name, text in files.items()}


def timed(host: Host, count: int, skips_first: bool = False) -> str:
    """The output of `iostat -xt 1 count`, with -y or not."""
    text = f"{host.banner}\n"
    for number in range(count + skips_first):
        if number:
            host.wait(1.0)
        if number or not skips_first:
            text += f"{host.clock:%m/%d/%Y %I:%M:%S %p}\n{host._report(number == 0)}"
    return text


def datastax(host: Host, samples: int = 5) -> dict[str, str]:
    """What DataStax's collector leaves of one node's system, by the paths below the node's folder."""
    return {
        "os-metrics/iostat": timed(host, samples, skips_first=True),
        "os-metrics/free": "         total     used     free\nMem:  16316412  8123456   301112\n",
        "os-metrics/disk_device.txt": "data: ,/dev/sda1\ncommitlog: /dev/sda1\n",
        "os-info.txt": f"kernel_name: Linux\nnode_name: {host.name}\nkernel_release: 5.14.0\n",
        "nodetool/status": "UN  10.0.0.1  1.2 GiB  256  33.3%  0000  rack1\n",
    }


def elastic(host: Host, samples: int = 5) -> dict[str, str]:
    """What Elastic's support diagnostics leave of a host's system calls, by their paths."""
    files = {
        "nodes_stats.json": '{"nodes": {"x": {"fs": {"io_stats": {"total": {}}}}}}',
        "syscalls/iostat.txt": timed(host, samples),
        "syscalls/uname.txt": f"Linux {host.name} 5.14.0 #1 SMP x86_64 GNU/Linux\n",
        "syscalls/top.txt": "top - 12:00:00 up 5 days,  1 user,  load average: 1.00\n",
    }
    return {f"api-diagnostics-20261123-120000/{path}": text for path, text in files.items()}


def gitlabsos(host: Host, samples: int = 10) -> dict[str, str]:
    """What GitLabSOS leaves of a host: a file per command, without a heading."""
    files = {
        "hostname": f"{host.name}\n",
        "uname": f"Linux {host.name} 5.14.0 #1 SMP x86_64 GNU/Linux\n",
        "vmstat": host.vmstat(),
        "iostat": f"{host.banner}\n" + "".join(host.iostat(1.0, samples)),
        "df_hT": "Filesystem Type Size Used Avail Use% Mounted on\n/dev/sda1 ext4 20G 19G 1.0G 95% /\n",
        "df_inodes": "Filesystem Type Inodes IUsed IFree IUse% Mounted on\n/dev/sda1 ext4 1M 99K 1M 9% /\n",
        "free_m": "         total     used     free\nMem:  16316412  8123456   301112\n",
        "mount": "/dev/sda1 on / type ext4 (rw,relatime)\n",
        "top_cpu": "top - 12:00:00 up 5 days,  1 user,  load average: 1.00\n",
        "var/log/gitlab/gitaly/current": '{"level":"info","msg":"finished unary call with code OK"}\n',
    }
    return {f"gitlabsos.{host.name}_20261123120000/{path}": text for path, text in files.items()}


def mdiag(host: Host, samples: int = 5) -> str:
    """The JSON of MongoDB's mdiag: a section per command and file, every line a text of its own."""
    smartctl = (
        "smartctl 7.3 2022-02-28 r5338 [x86_64-linux-6.1.0] (local build)\n\n"
        "Device Model:     ST4000NM0035-1V4107\nRotation Rate:    7200 rpm\n\n"
        "ID# ATTRIBUTE_NAME          FLAG     VALUE WORST THRESH TYPE      UPDATED  WHEN_FAILED RAW_VALUE\n"
        "197 Current_Pending_Sector  0x0012   100   100   000    Old_age   Always       -       24\n"
    )
    scheduler = "/sys/devices/pci0000:00/ata1/host0/target0:0:0/0:0:0:0/block/sda/queue/scheduler"
    uname = f"Linux {host.name} 5.14.0 #1 SMP x86_64 GNU/Linux\n"
    parts = [
        ("uname", '"command" : [ "uname", "-a" ]', "output", uname),
        ("scheduler", f'"filename" : "{scheduler}"', "content", "noop [deadline] cfq\n"),
        ("proc/4711", '"filename" : "/proc/4711/limits"', "content", "Max open files  64000  64000  files\n"),
        ("iostat", '"command" : [ "iostat", "-xtm", "1", "5" ]', "output", timed(host, samples)),
        ("smartctl", '"command" : [ "smartctl", "--all", "/dev/sda" ]', "output", smartctl),
    ]
    head = f'{{\n    "ref" : "CS-1",\n    "host" : "{host.name}",\n    "tag" : {{ "$date" : "" }},\n'
    sections = []
    for name, title, field_name, output in parts:
        escaped = output.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t")
        body = ",\n".join(f'        "{line}"' for line in escaped.split("\n"))
        sections.append(f'{head}    "section" : "{name}",\n    {title},\n    "{field_name}" : [\n{body} ],\n')
    return "[\n" + ",\n".join(f'{section}    "error" : null\n}}' for section in sections) + "\n]\n"


def cbcollect(host: Host, samples: int = 5) -> str:
    """The couchbase.log of cbcollect_info: each command below a title between two rulers."""
    parts = [
        ("uname", "uname -a", f"Linux {host.name} 5.14.0 #1 SMP x86_64 GNU/Linux\n"),
        (
            "Extended iostat",
            "iostat -x -p ALL 1 10 || iostat -x 1 10",
            f"{host.banner}\n" + "".join(host.iostat(1.0, samples)),
        ),
        (
            "Block device queue settings",
            "find /sys/block/*/queue -type f | xargs grep -vH xxxx | sort",
            "/sys/block/sda/queue/nr_requests:128\n/sys/block/sda/queue/rotational:1\n",
        ),
    ]
    ruler = "=" * 78
    return "".join(f"{ruler}\n{title}\n{command}\n{ruler}\n{output}" for title, command, output in parts)
