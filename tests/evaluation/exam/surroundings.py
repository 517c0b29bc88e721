"""Hosts whose trouble is told by what stands beside the samples of disks, and others that look alike."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from evaluation.exam import beside
from evaluation.exam.devices import KINDS, MB
from evaluation.exam.engine import Device, Done, Request, Station, delay, through
from evaluation.exam.hosts import HEALTHY, backup, below_the_cap, busy_database, idle, light_desktop
from evaluation.exam.loads import at_random, closed, in_sequence, opened, paced
from evaluation.exam.scene import Scene
from evaluation.exam.troubles import LONG
from evaluation.exam.truth import SYMPTOMS, Truth, trouble


def remark(names: str, devices: str = "", also: str = "") -> Truth:
    """Nobody waits for storage, but something is to be said."""
    told = frozenset(names.split())
    return Truth("pace", told, frozenset(also.split()) | SYMPTOMS, frozenset(), frozenset(devices.split()))


def post(scene: Scene, text: str) -> None:
    """Post a text beside the samples."""
    scene.beside.append(lambda samples: text)


def full_cpu(scene: Scene) -> Truth:
    """The interrupts of one queue fill one CPU, and it sets the pace of a drive that could do more."""
    scene.cpus, per_s = scene.rng.choice((4, 8, 16)), scene.rng.uniform(8e3, 60e3)
    scene.expect(per_s)
    interrupts = Station(scene.clock, 1, lambda request, waiting: scene.rng.uniform(0.95, 1.05) / per_s)
    plain = KINDS["NVMe"].build(scene.clock, scene.rng, scene.rng)
    device = scene.disk("NVMe", below=through(plain, interrupts.submit))
    draw = at_random(scene.rng, sizes=(scene.rng.choice((4.0, 8.0)),))
    closed(scene.clock, device.submit, scene.rng.choice((24, 48, 96)), draw, waiters=scene.waiters)
    share = scene.rng.choice(("%soft", "%soft", "%sys"))
    scene.user, scene.system = 2.0, 3.0 + 98.0 / scene.cpus
    scene.beside.append(lambda samples: beside.mpstat(scene, samples, {share: 98.0}))
    also = "true-saturation volume-cap util-false-alarm low-concurrency-bound"
    return replace(trouble("one-cpu-bound", device.name, present="", also=also), open_up_to=2)


def full_cpu_elsewhere(scene: Scene) -> Truth:
    """One CPU computes, or polls in the kernel, and storage has room."""
    scene.cpus = scene.rng.choice((4, 8, 16))
    share = scene.rng.choice(("%usr", "%sys"))
    # beside a steady rate with a queue nobody tells a task that polls from one that does the work
    truth = scene.rng.choice((busy_database, below_the_cap) if share == "%usr" else (light_desktop, backup))(
        scene
    )
    scene.user, scene.system = (3.0 + 98.0 / scene.cpus * (share == word) for word in ("%usr", "%sys"))
    scene.beside.append(lambda samples: beside.mpstat(scene, samples, {share: 98.0}))
    return truth


def misaligned(scene: Scene) -> Truth:
    """A partition off the sectors of a disk that turns: each small write costs one more turn."""
    arm = 0.5

    def service(request: Request, waiting: int) -> float:
        nonlocal arm
        seek, arm = 0.0008 + 0.012 * abs(request.place - arm) ** 0.5, request.place
        turns = scene.rng.random() + (request.kind == "write")
        return (seek + turns / 120) * (1 + min(waiting, 31)) ** -0.25

    disk = scene.disk("HDD", "sda", Station(scene.clock, 1, service).submit)
    part = scene.layer("part", "sda1", [disk], disk.submit)
    scene.expect(120)
    draw = at_random(scene.rng, reads=scene.rng.choice((0.0, 0.2)), sizes=(4.0, 8.0))
    closed(scene.clock, part.submit, scene.rng.randint(4, 24), draw, waiters=scene.waiters)
    scene.printing.has_lsblk = False
    post(scene, beside.alignment("sda", "sda1", scene.rng.choice((512, 3584, -1)), spins=True))
    return trouble("misaligned-io", "sda sda1", also="true-saturation serialized-commit writeback-burst")


def aligned(scene: Scene) -> Truth:
    """The same listing of a disk whose partition begins on a boundary, or where it costs next to nothing."""
    spins = scene.rng.random() < 0.5
    disk = scene.disk("HDD" if spins else "SATA SSD", "sda")
    part = scene.layer("part", "sda1", [disk], disk.submit)
    per_s = scene.rng.uniform(5, 30) if spins else scene.rng.uniform(50, 500)
    scene.expect(1.3 * per_s)
    draw = at_random(scene.rng, reads=0.5, sizes=(4.0, 8.0), span=0.3)
    opened(scene.clock, scene.rng, part.submit, per_s, draw, scene.waiters)
    scene.printing.has_lsblk = False
    post(scene, beside.alignment("sda", "sda1", 0 if spins else scene.rng.choice((0, 512)), spins))
    return replace(HEALTHY, also=frozenset({"misaligned-io"}) if not spins else frozenset())


def readahead(scene: Scene) -> Truth:
    """A scan of a far volume that asks for one window of readahead after the other."""
    ahead, windows = scene.rng.choice((128.0, 256.0)), scene.rng.choice((1, 1, 2))
    usual = windows * ahead / (45 * MB) * scene.rng.uniform(1, 3)
    scene.expect(windows / usual)
    far = delay(scene.clock, lambda request: usual * scene.rng.lognormvariate(0, 0.1))
    device = scene.disk("volume", scene.rng.choice(("vda", "xvdf")), far)
    closed(scene.clock, device.submit, windows, in_sequence("read", ahead), waiters=scene.waiters)
    post(scene, beside.queue(device.name, {"read_ahead_kb": ahead}))
    return remark("readahead-bound", device.name, "low-concurrency-bound util-false-alarm volume-cap")


def readahead_with_room(scene: Scene) -> Truth:
    """A stream that is paced by who takes it, below a setting of its size."""
    truth = backup(scene)
    post(scene, beside.queue(min(scene.devices), {"read_ahead_kb": scene.rng.choice((128, 256))}))
    return truth


def cut_stream(scene: Scene) -> Truth:
    """A stream that the queue cuts into small requests, each of which costs the controller the same."""
    each = scene.rng.uniform(0.5e-3, 1.5e-3)
    largest = scene.rng.choice((64, 128))

    def service(request: Request, waiting: int) -> float:
        return each * scene.rng.uniform(0.9, 1.1) + request.size_kb / (300 * MB)

    device = scene.disk("HDD", below=Station(scene.clock, 1, service).submit)
    scene.expect(1 / each)
    kind = scene.rng.choice(("read", "write"))
    draw = in_sequence(kind, float(largest), merges=largest // 4 - 1)  # type: ignore[arg-type]
    closed(scene.clock, device.submit, scene.rng.randint(4, 12), draw, waiters=scene.waiters)
    scene.printing.has_lsblk = True
    settings = {"max_sectors_kb": largest, "max_hw_sectors_kb": 4096, "nomerges": 0}
    post(scene, beside.queue(device.name, settings))
    return remark("queue-settings", device.name, "true-saturation writeback-burst volume-cap")


def small_requests(scene: Scene) -> Truth:
    """The same settings, and requests that are small by themselves."""
    scene.printing.has_lsblk = True
    truth = scene.rng.choice((busy_database, light_desktop))(scene)
    settings = {"max_sectors_kb": 128, "max_hw_sectors_kb": 4096, "nomerges": scene.rng.choice((0, 0, 2))}
    post(scene, beside.queue(min(scene.devices), settings))
    return truth


def full_file_system(scene: Scene) -> Truth:
    """No room is left on one file system; its disk is calm."""
    scene.rng.choice((idle, light_desktop))(scene)
    size = scene.rng.randint(2_000_000, 900_000_000)
    full = (f"/dev/{min(scene.devices)}2", "ext4", size, size - scene.rng.randint(0, 60), "/var")
    post(scene, beside.df([("/dev/mapper/vg0-root", "xfs", 41_022_688, 12_387_016, "/"), full]))
    return Truth("elsewhere", frozenset({"filesystem-full"}))


def roomy_file_system(scene: Scene) -> Truth:
    """Room is left wherever somebody writes; an image that is full by design lies beside."""
    truth = scene.rng.choice((idle, light_desktop, busy_database))(scene)
    size = scene.rng.randint(2_000_000, 900_000_000)
    used = int(size * scene.rng.uniform(0.2, 0.9))
    image = ("/dev/loop0", "squashfs", 65_000, 65_000, "/snap/core/1")
    post(scene, beside.df([(f"/dev/{min(scene.devices)}2", "ext4", size, used, "/var"), image]))
    return truth


def thin_pool(scene: Scene) -> Truth:
    """A thin pool that is soon full; nothing waits yet."""
    scene.rng.choice((idle, light_desktop))(scene)
    post(scene, beside.lvs(scene.rng.uniform(91, 99), scene.rng.uniform(10, 60)))
    return remark("thin-pool-exhaustion")


def roomy_thin_pool(scene: Scene) -> Truth:
    """A pool with room, whose one volume is all mapped."""
    truth = scene.rng.choice((idle, light_desktop, busy_database))(scene)
    post(scene, beside.lvs(scene.rng.uniform(20, 85), scene.rng.uniform(5, 60)))
    return truth


ERRORS = (
    "sd 2:0:0:0: [{disk}] tag#7 FAILED Result: hostbyte=DID_TIME_OUT driverbyte=DRIVER_OK",
    "sd 2:0:0:0: [{disk}] tag#7 FAILED Result: hostbyte=DID_RESET driverbyte=DRIVER_OK",
    "blk_update_request: critical medium error, dev {disk}, sector 1264871",
    "blk_update_request: I/O error, dev {disk}, sector 51200 op 0x0:(READ) flags 0x80700 phys_seg 1",
)


def failing_disk(scene: Scene) -> Truth:
    """A disk that answers nothing while its link is reset, and the kernel's log of it."""
    scene.samples, scene.printing.has_clock = LONG, True
    scene.expect(60)
    begin = scene.rng.uniform(4, 9)
    end = begin + max(scene.rng.uniform(1.2, 3), 2.0 / scene.step)
    first, last = (scene.began + scene.window * place for place in (begin, end))
    gate = delay(
        scene.clock, lambda request: last - scene.clock.now if first <= scene.clock.now < last else 0
    )
    kind = scene.rng.choice(("HDD", "SATA SSD"))
    plain = KINDS[kind].build(scene.clock, scene.rng, scene.rng)
    device = scene.disk(kind, "sda", through(gate, plain))
    draw = at_random(scene.rng, reads=0.6, sizes=(4.0, 16.0))
    opened(scene.clock, scene.rng, device.submit, scene.rng.uniform(10, 50), draw, scene.waiters, spread=0.1)
    scene.bystander()
    lines = scene.rng.sample(ERRORS, scene.rng.randint(1, 3))
    times = sorted(scene.first_second + scene.step * scene.rng.uniform(begin + 0.1, end) for _ in lines)
    log = beside.kernel_log("Nov 20", times, [line.format(disk=device.name) for line in lines])
    post(scene, log)
    # a host whose one disk stands still stands still, and what piled up meanwhile fills the disk
    also = "hung-io extreme-latency io-standstill true-saturation writeback-burst"
    return trouble("device-errors", device.name, also=also, present="")


def errors_of_another_day(scene: Scene) -> Truth:
    """A calm disk, and a log with a reset of the day before."""
    truth = scene.rng.choice((busy_database, light_desktop))(scene)
    line = scene.rng.choice(ERRORS[:2]).format(disk=min(scene.devices))
    post(scene, beside.kernel_log("Nov 19", [scene.rng.uniform(0, 86400)], [line]))
    return replace(truth, also=frozenset({"device-errors"}))


def nfs(scene: Scene, calls: Device, trips: Device, clients: int, pause: float) -> None:
    """Clients of a mount beside a local disk that has little to do."""
    local = scene.disk(scene.rng.choice(("HDD", "SATA SSD")))
    opened(scene.clock, scene.rng, local.submit, 3.0, at_random(scene.rng, reads=0.3, sizes=(4.0, 8.0)))
    draw = at_random(scene.rng, reads=scene.rng.choice((1.0, 0.7)), sizes=(scene.rng.choice((8.0, 32.0)),))
    think: Callable[[], float] = partial(scene.rng.expovariate, 1 / pause)
    closed(scene.clock, calls.submit, clients, draw, think=think, waiters=scene.waiters)
    edges = scene.began + scene.window * np.arange(scene.samples + 1)
    scene.beside.append(lambda samples: beside.nfsiostat(trips.log, calls.log, edges, scene.step))


def _mount(scene: Scene, slots: int, seconds: Callable[[], float]) -> tuple[Device, Device]:
    """A mount: calls wait for one of the client's slots, then for the server."""
    trips = Device(scene.clock, "trips", delay(scene.clock, lambda request: seconds()))
    free, waiting = slots, list[tuple[Request, Done]]()

    def begin(request: Request, done: Done) -> None:
        def finish() -> None:
            nonlocal free
            free += 1
            if waiting:
                free -= 1
                begin(*waiting.pop(0))
            done()

        trips.submit(request, finish)

    def submit(request: Request, done: Done) -> None:
        nonlocal free
        if free:
            free -= 1
            begin(request, done)
        else:
            waiting.append((request, done))

    return Device(scene.clock, "calls", submit), trips


def slow_mount(scene: Scene) -> Truth:
    """An NFS server that takes many times as long from some moment on, or too few slots for its clients."""
    usual = scene.rng.uniform(8e-4, 4e-3)
    if scene.rng.random() < 0.5:
        scene.samples = LONG
        # below a seek or two nobody notices
        slow, slots = max(scene.rng.uniform(15, 60), 0.03 / usual), math.inf
        clients = scene.rng.randint(3, 12)
    else:
        slow, slots = max(scene.rng.uniform(2, 8), 0.008 / usual), scene.rng.choice((2, 16))
        clients = round(slots * scene.rng.uniform(4, 8))
    scene.expect(clients / usual if slots == math.inf else slots / usual / slow)
    since = scene.began + scene.window * scene.rng.randint(4, 8) if slots == math.inf else 0.0

    def seconds() -> float:
        return usual * (slow if scene.clock.now >= since else 1) * scene.rng.lognormvariate(0, 0.2)

    calls, trips = _mount(scene, int(min(slots, 65536)), seconds)
    nfs(scene, calls, trips, clients, usual)
    return trouble("nfs-wait", "", also="iowait-misread", present="")


def calm_mount(scene: Scene) -> Truth:
    """A mount that answers as ever."""
    usual, clients = scene.rng.uniform(5e-4, 3e-3), scene.rng.randint(1, 6)
    scene.expect(clients / usual)
    calls, trips = _mount(scene, 65536, lambda: usual * scene.rng.lognormvariate(0, 0.2))
    nfs(scene, calls, trips, clients, 4 * usual)
    return HEALTHY


def counted_ticks(scene: Scene) -> Truth:
    """A quick drive with little to do on a kernel that counts a whole tick for each request."""
    scene.printing.layout, scene.printing.kernel = scene.rng.choice(("X5", "X6")), "5.4.0-26-generic"
    scene.printing.has_banner = True
    device = scene.disk("NVMe")
    per_s = scene.rng.uniform(150, 400)
    scene.expect(1.2 * per_s)
    draw = at_random(scene.rng, sizes=(4.0, 8.0))
    paced(scene.clock, scene.rng, device.submit, per_s, draw, scene.waiters)
    return remark("util-sampling-bias", device.name, "util-false-alarm svctm-misread")


HOUR = 3600
PER_HOUR = 2


def archive(
    scene: Scene,
    level: Callable[[int], float],
    jobs: Callable[[int], bool],
    slowness: Callable[[int], float] = lambda hour: 1.0,
) -> Device:
    """Days of samples from a midnight on: arrivals at a level of the hour, and a stream while a job runs.

    Each request takes `slowness` times as long as usual, which depends on the hour since the first midnight.
    """
    days = scene.rng.randint(5, 7)
    scene.samples, scene.step, scene.start = 24 * PER_HOUR * days, HOUR // PER_HOUR, 0
    # counts of an odd length lie on no grid of whole seconds
    scene.window = scene.rng.uniform(0.45, 0.55)
    how = scene.printing
    how.layout, how.unit, how.has_clock, how.has_first = "X6", "kB", True, False
    how.has_vmstat, how.is_quoted = False, False
    kind = scene.rng.choice(("HDD", "SATA SSD"))
    plain = KINDS[kind].build(scene.clock, scene.rng, scene.rng)

    def below(request: Request, done: Done) -> None:
        begun = scene.clock.now
        longer = slowness(int((begun - scene.began) / PER_HOUR / scene.window)) - 1
        plain(request, lambda: scene.clock.after(longer * (scene.clock.now - begun), done))

    device = scene.disk(kind, below=below)
    small = at_random(scene.rng, reads=0.6, sizes=(4.0, 16.0), span=0.2)
    stream = in_sequence(scene.rng.choice(("read", "write")), 256.0)  # type: ignore[arg-type]
    for hour in range(24 * days):
        begin = scene.began + hour * PER_HOUR * scene.window
        stop = begin + PER_HOUR * scene.window
        pause = 1 / (16 * level(hour % 24))
        think = partial(scene.rng.expovariate, 1 / pause)
        closed(
            scene.clock, device.submit, 1, small, think=think, waiters=scene.waiters, start=begin, stop=stop
        )
        if jobs(hour):
            pace = partial(scene.rng.uniform, 0.004, 0.012)
            closed(
                scene.clock,
                device.submit,
                1,
                stream,
                think=pace,
                waiters=scene.waiters,
                start=begin,
                stop=stop,
            )
    return device


def nightly_job(scene: Scene) -> Truth:
    """A backup, a dump or a check that runs at the same hours of every night."""
    first, long = scene.rng.randint(0, 6), scene.rng.randint(1, 3)
    device = archive(scene, lambda hour: 1.0, lambda hour: first <= hour % 24 < first + long)
    return remark("recurring-window", device.name, "latency-above-baseline util-false-alarm")


def no_habit(scene: Scene) -> Truth:
    """A working day that rises and falls, and jobs that run when somebody starts them."""
    runs = {scene.rng.randrange(168) for _ in range(6)}
    archive(scene, lambda hour: 0.6 + max(0.0, 2 * math.sin((hour - 7) / 12 * math.pi)), runs.__contains__)
    return HEALTHY
