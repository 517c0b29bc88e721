"""Hosts whose storage is healthy, whose memory is short, or of which nobody could tell."""

from __future__ import annotations

from dataclasses import replace

from evaluation.exam.devices import KINDS, volume
from evaluation.exam.engine import Device
from evaluation.exam.loads import at_random, bursts, closed, in_sequence, opened, paced, written_back
from evaluation.exam.scene import Memory, Scene
from evaluation.exam.troubles import fragments, iops_cap, saturation
from evaluation.exam.truth import Truth, trouble

SHORT = Memory(free=48_000, buffers=1_200, cache=36_000, swapped=1_400_000)
HEALTHY = Truth("healthy")


def _swap_device(scene: Scene) -> Device:
    """A disk with a swap volume on it, which is shown or not."""
    kind = scene.rng.choice(("HDD", "SATA SSD"))
    disk = scene.disk(kind)
    scene.expect({"HDD": 300}.get(kind, 6000))
    swap = scene.layer("lvm", "dm-1", [disk], disk.submit)
    scene.memory = Memory(SHORT.free, SHORT.buffers, SHORT.cache, SHORT.swapped, swap="dm-1")
    scene.printing.has_vmstat = True
    if scene.rng.random() < 0.5:
        scene.hidden.add("dm-1")
    return swap


def swap_thrash(scene: Scene) -> Truth:
    """Pages are swapped out and asked for again; every fault waits for the disk."""
    swap = _swap_device(scene)
    faulting = scene.rng.randint(2, 12)
    faults = at_random(scene.rng, sizes=(4.0, 4.0, 16.0, 32.0), span=0.1)
    closed(scene.clock, swap.submit, faulting, faults, think=lambda: 3e-4, waiters=scene.waiters)
    # what is faulted in pushes as much out
    closed(scene.clock, swap.submit, max(1, faulting // 2), written_back(scene.rng, 32.0), think=lambda: 3e-4)
    return trouble("swap-thrash", " ".join(scene.devices), also="true-saturation fragmentation-sized-reads")


def swap_flood(scene: Scene) -> Truth:
    """Memory runs out: pages leave as fast as the swap device takes them, few come back yet."""
    swap = _swap_device(scene)
    closed(scene.clock, swap.submit, scene.rng.choice((32, 64, 128)), written_back(scene.rng, 64.0))
    # tasks that have to free pages themselves before they get one
    reclaiming = scene.rng.randint(1, 6)
    closed(scene.clock, swap.submit, reclaiming, written_back(scene.rng, 64.0), waiters=scene.waiters)
    faults = at_random(scene.rng, sizes=(4.0,), span=0.1)
    if scene.rng.random() < 0.5:
        opened(scene.clock, scene.rng, swap.submit, 1.5, faults, scene.waiters)
    scene.runnable = float(scene.rng.randint(1, 2 * scene.cpus))
    return trouble("swap-thrash", " ".join(scene.devices), also="true-saturation writeback-burst")


def refaults(scene: Scene) -> Truth:
    """No swap, and no room for the page cache: programs are read from disk again and again."""
    kind = scene.rng.choice(("HDD", "SATA SSD", "SD card", "volume"))
    device = scene.disk(kind)
    scene.expect({"HDD": 200, "SD card": 500}.get(kind, 6000))
    scene.memory = Memory(
        SHORT.free, SHORT.buffers, SHORT.cache, major_faults_per_io=scene.rng.uniform(0.5, 1)
    )
    scene.printing.has_vmstat, scene.printing.has_paging = scene.rng.random() < 0.5, True
    draw = at_random(scene.rng, sizes=(4.0, 16.0, 64.0, 128.0), span=0.3)
    clients = scene.rng.randint(2, 20)
    closed(scene.clock, device.submit, clients, draw, think=lambda: 3e-4, waiters=scene.waiters)
    scene.system = scene.rng.uniform(10, 40)
    return trouble("page-cache-thrash", device.name, also="true-saturation fragmentation-sized-reads")


def cpu_exhausted(scene: Scene) -> Truth:
    """Every CPU computes; storage has a light load."""
    _light(scene)
    scene.system = scene.rng.uniform(3, 30)
    scene.user = 101 - scene.system + scene.rng.uniform(0, 5)
    scene.runnable = scene.cpus * scene.rng.uniform(1.5, 4)
    _with_cpu(scene)
    return Truth("elsewhere")


def stolen(scene: Scene) -> Truth:
    """The hypervisor gives a good part of the CPUs to others, and the host wants what is left."""
    _light(scene)
    scene.steal = scene.rng.uniform(15, 55)
    scene.user, scene.system = 0.75 * (101 - scene.steal), 0.25 * (101 - scene.steal)
    scene.runnable = scene.cpus * scene.rng.uniform(1.2, 3)
    _with_cpu(scene)
    return Truth(
        "elsewhere", frozenset({"steal-noisy-neighbour"}), present=frozenset({"steal-noisy-neighbour"})
    )


def _with_cpu(scene: Scene) -> None:
    scene.printing.has_cpu = True


def _light(scene: Scene) -> Device:
    kind = scene.rng.choice(("HDD", "SATA SSD", "NVMe", "volume"))
    device = scene.disk(kind)
    per_s = 0.15 * 1000 / KINDS[kind].usual_ms * scene.rng.uniform(0.3, 1)
    _ask(scene, device, per_s, at_random(scene.rng, reads=0.6, sizes=(4.0, 8.0, 16.0), span=0.5))
    return device


def _ask(scene: Scene, device: Device, per_s: float, draw: object) -> None:
    scene.expect(per_s * 1.3)
    opened(scene.clock, scene.rng, device.submit, per_s, draw, scene.waiters)  # type: ignore[arg-type]


def idle(scene: Scene) -> Truth:
    """Next to nothing: a log line now and then."""
    device = scene.disk(scene.rng.choice(tuple(KINDS)))
    _ask(
        scene, device, scene.rng.uniform(0.1, 3), at_random(scene.rng, reads=0.2, sizes=(4.0, 12.0), span=0.1)
    )
    return HEALTHY


def light_desktop(scene: Scene) -> Truth:
    """Bursts of reads when a program starts, a few writes in between."""
    kind = scene.rng.choice(("HDD", "SATA SSD", "NVMe"))
    device = scene.disk(kind)
    scene.expect(60)
    draw = at_random(scene.rng, reads=0.5, sizes=(4.0, 16.0, 64.0), span=0.2)
    opened(
        scene.clock, scene.rng, device.submit, 0.08 * 1000 / max(KINDS[kind].usual_ms, 2), draw, scene.waiters
    )
    pause = lambda: scene.rng.expovariate(1 / 0.1)  # noqa: E731
    closed(scene.clock, device.submit, 1, draw, think=pause, waiters=scene.waiters)
    return HEALTHY


def busy_database(scene: Scene) -> Truth:
    """Reads and writes of pages at a third to a half of what the device could do."""
    kind = scene.rng.choice(("HDD", "SATA SSD", "NVMe", "volume"))
    device = scene.disk(kind)
    built = KINDS[kind]
    capacity = 1000 * min(built.servers, 16) / built.usual_ms
    share = scene.rng.uniform(0.1, 0.3 if kind == "HDD" else 0.45)
    if kind == "HDD":
        scene.cpus = max(scene.cpus, 4)
    draw = at_random(scene.rng, reads=scene.rng.uniform(0.5, 0.9), sizes=(8.0, 16.0), span=0.3)
    _ask(scene, device, share * capacity, draw)
    scene.bystander()
    return HEALTHY


def backup(scene: Scene) -> Truth:
    """One stream from the disk to a network that takes less than the disk could give."""
    device = scene.disk(scene.rng.choice(("HDD", "SATA SSD", "NVMe")))
    size = scene.rng.choice((128.0, 256.0))
    mb_per_s = scene.rng.uniform(15, 45)
    scene.expect(1024 * mb_per_s / size)
    pause = size / 1024 / mb_per_s
    closed(
        scene.clock, device.submit, 1, in_sequence("read", size),
        think=lambda: pause * scene.rng.uniform(0.6, 1.4), waiters=scene.waiters,
    )  # fmt: skip
    return HEALTHY


def idle_pages_put_away(scene: Scene) -> Truth:
    """One stream fills the page cache, and pages that nobody asks for again are swapped out to make room."""
    device = scene.disk(scene.rng.choice(("SATA SSD", "NVMe")))
    swap = scene.layer("lvm", "dm-1", [device], device.submit)
    scene.memory = Memory(190_000, 2_000_000, 10_800_000, scene.rng.randint(0, 900_000), swap="dm-1")
    scene.printing.has_vmstat = True
    mb_per_s = scene.rng.uniform(60, 240)
    scene.expect(4 * mb_per_s + 500)
    pause = 0.256 / mb_per_s
    closed(
        scene.clock, device.submit, 1, in_sequence("read", 256.0),
        think=lambda: pause * scene.rng.uniform(0.6, 1.4), waiters=scene.waiters,
    )  # fmt: skip
    opened(scene.clock, scene.rng, swap.submit, scene.rng.uniform(100, 500), written_back(scene.rng, 32.0))
    if scene.rng.random() < 0.5:
        # a few of them were needed after all
        opened(scene.clock, scene.rng, swap.submit, 5.0, at_random(scene.rng, sizes=(4.0, 16.0), span=0.1))
    return HEALTHY


def deep_reads(scene: Scene) -> Truth:
    """Many at once, on a device that serves many at once: util is full, the device is not."""
    device = scene.disk("NVMe")
    scene.expect(300e3)
    clients = scene.rng.choice((4, 8, 16, 24))
    scene.cpus = max(scene.cpus, 8)
    closed(scene.clock, device.submit, clients, at_random(scene.rng, sizes=(4.0,)), think=lambda: 2e-5)
    return Truth("healthy", also=frozenset({"util-false-alarm"}))


def below_the_cap(scene: Scene) -> Truth:
    """A network volume at a third to two thirds of its limit."""
    per_s = scene.rng.choice((1000, 3000, 6000, 16000))
    device = scene.disk("volume", below=volume(scene.clock, scene.rng, scene.rng, per_s))
    draw = at_random(scene.rng, reads=0.6, sizes=(8.0, 16.0))
    _ask(scene, device, per_s * scene.rng.uniform(0.3, 0.65), draw)
    return HEALTHY


def paced_below_the_cap(scene: Scene) -> Truth:
    """A client that asks for exactly so much, and a device that has room: the rate is a round number."""
    device = scene.disk(scene.rng.choice(("volume", "volume", "SATA SSD", "NVMe")))
    per_s = scene.rng.choice((500, 1000, 2000, 3000, 5000, 8000))
    scene.expect(per_s)
    sizes = scene.rng.choice(((4.0,), (8.0,), (16.0,), (64.0,)))
    draw = at_random(scene.rng, reads=scene.rng.choice((1.0, 0.7, 0.0)), sizes=sizes)
    paced(scene.clock, scene.rng, device.submit, per_s, draw)
    return HEALTHY


def busy_array(scene: Scene) -> Truth:
    """RAID 1 or 10 of disks at a fifth to a third of what they could do."""
    level = scene.rng.choice(("raid1", "raid10"))
    members = scene.disks("HDD", 2 if level == "raid1" else scene.rng.choice((4, 6)))
    array = scene.array(level, members)
    draw = at_random(scene.rng, reads=scene.rng.uniform(0.5, 0.9), sizes=(8.0, 16.0), span=0.3)
    _ask(scene, array, 110 * len(members) * scene.rng.uniform(0.12, 0.2), draw)
    return HEALTHY


def equal_siblings(scene: Scene) -> Truth:
    """Disks side by side at like rates, each as fast as the others."""
    disks = scene.disks(scene.rng.choice(("HDD", "SATA SSD")), scene.rng.choice((2, 3, 4, 6)))
    scene.expect(20 * len(disks))
    per_s = scene.rng.uniform(2, 20)
    for disk in disks:
        draw = at_random(scene.rng, reads=0.5, sizes=(4.0, 16.0))
        opened(scene.clock, scene.rng, disk.submit, per_s, draw, scene.waiters, spread=0.05)
    return HEALTHY


def background_writes(scene: Scene) -> Truth:
    """Every few seconds the pages that became dirty are written at once, and wait for each other only."""
    kind = scene.rng.choice(("HDD", "SATA SSD", "volume"))
    device = scene.disk(kind)
    scene.expect(60)
    scene.has_waiters = False
    draw = written_back(scene.rng, scene.rng.choice((8.0, 32.0)))
    bursts(scene.clock, scene.rng, device.submit, 5.0, scene.rng.randint(10, 120), draw)
    return HEALTHY


def plain_layer(scene: Scene) -> Truth:
    """LVM or dm-crypt over a disk that is not busy."""
    disk = scene.disk(scene.rng.choice(("SATA SSD", "NVMe")))
    layer = scene.layer(scene.rng.choice(("lvm", "crypt")), "dm-0", [disk], disk.submit)
    _ask(scene, layer, scene.rng.uniform(200, 3000), at_random(scene.rng, reads=0.6, sizes=(8.0, 16.0)))
    return HEALTHY


def one_reader(scene: Scene) -> Truth:
    """One task that reads here and there, without a pause: the device has room, the task waits."""
    kind = scene.rng.choice(("SATA SSD", "NVMe", "volume"))
    device = scene.disk(kind)
    scene.expect(1000 / KINDS[kind].usual_ms)
    draw = at_random(scene.rng, sizes=(4.0,))
    closed(scene.clock, device.submit, 1, draw, think=lambda: 1e-5, waiters=scene.waiters)
    names = frozenset({"low-concurrency-bound", "util-false-alarm"})
    return Truth("pace", names, frozenset(), frozenset({"low-concurrency-bound"}), frozenset({device.name}))


def before_and_after(scene: Scene) -> Truth:
    """Two pastes: a volume below its limit, then the same volume held at it."""
    truth = iops_cap(scene)
    calm = scene.earlier()
    below = volume(calm.clock, scene.rng, scene.rng, 16000)
    device = calm.disk("volume", min(truth.devices), below)
    _ask(calm, device, scene.rng.uniform(20, 80), at_random(scene.rng, reads=0.6, sizes=(8.0,)))
    # the first paste shows what the volume takes when nothing holds it
    return replace(truth, also=truth.also | {"backend-latency-shift"}, open_up_to=0)


def since_boot_only(scene: Scene) -> Truth:
    """A single report, which averages the time since boot, of a host in trouble or not."""
    scene.rng.choice((busy_database, saturation, fragments))(scene)
    scene.printing.layout = scene.rng.choice(("X1", "X2", "X3", "X4", "X5", "X6"))
    scene.printing.has_banner = scene.printing.has_first = scene.printing.is_since_boot_only = True
    scene.printing.has_vmstat = False
    return Truth("unknowable")


def without_latencies(scene: Scene) -> Truth:
    """Plain iostat: rates alone, of a host in trouble or not."""
    scene.rng.choice((busy_database, iops_cap, fragments))(scene)
    scene.printing.layout, scene.printing.has_vmstat, scene.printing.has_cpu = "plain", False, False
    return Truth("unknowable")
