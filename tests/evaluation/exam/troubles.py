"""Troubles of storage: each furnishes a scene, and says what is true of it."""

from __future__ import annotations

import math
from dataclasses import replace

from evaluation.exam.devices import KINDS, volume
from evaluation.exam.engine import Device, Done, Request, Station, Submit, delay, stripe, through
from evaluation.exam.loads import at_random, closed, group_commit, in_sequence, opened, written_back
from evaluation.exam.scene import Scene, delayed
from evaluation.exam.truth import SYMPTOMS, Truth, trouble

SYNC = "serialized-commit low-concurrency-bound flush-latency"
FULL = "true-saturation"
CAPPED = "volume-cap true-saturation"


def one_synchronous_writer(scene: Scene) -> Truth:
    """One task that waits for each of its writes to be stable; the device is never asked for two things."""
    kind = scene.rng.choice(("HDD", "HDD", "SATA SSD", "volume", "USB stick"))
    device = scene.disk(kind)
    scene.expect({"HDD": 150, "USB stick": 150}.get(kind, 1600))
    size = scene.rng.choice((4.0, 8.0, 16.0, 32.0))
    draw = at_random(scene.rng, reads=0, sizes=(size, size, 2 * size), span=0.05, synced=True)
    pause = scene.rng.uniform(0, 0.03) * scene.rng.choice(
        (0.006, 0.001) if kind == "HDD" else (0.001, 0.0005)
    )
    closed(scene.clock, device.submit, 1, draw, think=lambda: 1e-5 + pause, waiters=scene.waiters)
    scene.bystander()
    return trouble(SYNC, device.name, present="serialized-commit low-concurrency-bound")


def group_commits(scene: Scene) -> Truth:
    """Many sessions that commit through one log."""
    kind = scene.rng.choice(("HDD", "HDD", "SATA SSD", "volume"))
    device = scene.disk(kind)
    scene.expect(150 if kind == "HDD" else 1600)
    sessions = scene.rng.randint(8, 64)
    # somebody is ready to commit whenever a write completes
    think = scene.rng.uniform(0.05, 0.3) * sessions * (0.01 if kind == "HDD" else 0.0005)
    record = scene.rng.uniform(0.5, 6)
    group_commit(scene.clock, scene.rng, device.submit, sessions, think, record, scene.waiters)
    scene.bystander()
    return trouble(SYNC, device.name, present="serialized-commit low-concurrency-bound")


def _at_a_cap(scene: Scene, per_s: float, mb_per_s: float, sizes: tuple[float, ...], depth: int) -> Device:
    device = scene.disk("volume", below=volume(scene.clock, scene.rng, scene.rng, per_s, mb_per_s))
    size = sum(sizes) / len(sizes)
    scene.expect(min(per_s, 1024 * mb_per_s / size))
    draw = at_random(scene.rng, reads=scene.rng.choice((0.0, 0.3, 0.5, 0.7, 1.0)), sizes=sizes)
    # demand goes up and down, but never below what the limit lets through
    closed(scene.clock, device.submit, depth, draw, waiters=scene.waiters)
    for number in range(scene.samples):
        begin = scene.began + number * scene.window
        more, stop = scene.rng.randrange(depth), begin + scene.window
        closed(scene.clock, device.submit, more, draw, waiters=scene.waiters, start=begin, stop=stop)
    scene.bystander()
    return device


def iops_cap(scene: Scene) -> Truth:
    """A limit on operations, asked for more than it lets through."""
    per_s = scene.rng.choice((100, 300, 500, 1000, 1600, 2000, 3000, 6000, 16000))
    depth = math.ceil(per_s * 0.0015 * scene.rng.uniform(1.5, 5)) + 4
    device = _at_a_cap(scene, per_s, 1000, scene.rng.choice(((4.0,), (8.0,), (4.0, 8.0, 16.0))), depth)
    return _held(device)


def _held(device: Device) -> Truth:
    """One sample shows one rate, not that it is flat: depth over latency is a rate of any device."""
    return replace(trouble(CAPPED, device.name, also="throttled-above-device"), open_up_to=1)


def bandwidth_cap(scene: Scene) -> Truth:
    """A limit on bytes, reads and writes together."""
    mb_per_s = scene.rng.choice((25, 48, 60, 90, 125, 140, 160, 250, 287))
    sizes = scene.rng.choice(((64.0,), (128.0,), (64.0, 128.0, 256.0), (32.0, 64.0, 128.0)))
    per_s = 1024 * mb_per_s / (sum(sizes) / len(sizes))
    depth = math.ceil(per_s * 0.0015 * scene.rng.uniform(1.5, 5)) + 4
    return _held(_at_a_cap(scene, 64000, mb_per_s, sizes, depth))


def throttled_above(scene: Scene) -> Truth:
    """A control group's limit holds callers back before the block layer counts them; the device is calm."""
    kind = scene.rng.choice(("SATA SSD", "NVMe", "volume"))
    device = scene.disk(kind)
    # a volume of a millisecond is hardly idle at 1000/s, and may be the limit for all that can be seen
    per_s = scene.rng.choice((100, 200, 400) if kind == "volume" else (100, 200, 400, 512, 1000))
    scene.expect(per_s)
    gate = Station(scene.clock, 1, lambda request, waiting: 1 / per_s)
    draw = at_random(
        scene.rng, reads=scene.rng.choice((1.0, 0.7, 0.0)), sizes=scene.rng.choice(((4.0,), (8.0,)))
    )
    clients = scene.rng.randint(4, 16)
    closed(scene.clock, through(gate.submit, device.submit), clients, draw, waiters=scene.waiters)
    scene.printing.has_vmstat = True
    return trouble("throttled-above-device", device.name, also="volume-cap")


def saturation(scene: Scene) -> Truth:
    """More callers than the device can serve at once, without a pause."""
    kind = scene.rng.choice(("HDD", "HDD", "SATA SSD", "USB stick", "SD card", "NVMe"))
    device = scene.disk(kind)
    servers, most = {"SATA SSD": (8, 90e3), "NVMe": (64, 700e3)}.get(kind, (1, 400))
    scene.expect(most)
    reads = scene.rng.choice((1.0, 0.7, 0.3))
    sizes = scene.rng.choice(((4.0,), (8.0,), (16.0,), (4.0, 16.0, 64.0)))
    clients = round(servers * scene.rng.uniform(5, 20))
    closed(
        scene.clock,
        device.submit,
        clients,
        at_random(scene.rng, reads=reads, sizes=sizes),
        waiters=scene.waiters,
    )
    scene.bystander()
    also = "fragmentation-sized-reads" if kind == "HDD" else ""
    # 50 in flight at 1.6 ms: flash that takes 0.1 ms alone and is full, or a volume that takes 1.5 and is
    # not; 17 at 34 ms and 490/s: a stick that is full, or a stripe of eight disks with two requests each
    open_up_to = 10 if kind in ("SATA SSD", "USB stick") else 0
    return replace(trouble(FULL, device.name, also=also), open_up_to=open_up_to)


def streams_on_a_disk(scene: Scene) -> Truth:
    """Several sequential streams that make a disk seek between them: backups, scans, copies."""
    device = scene.disk(scene.rng.choice(("HDD", "USB stick", "SD card")))
    scene.expect(300)
    size, kind = scene.rng.choice((128.0, 256.0, 512.0)), scene.rng.choice(("read", "write"))
    for _ in range(scene.rng.randint(4, 12)):
        place, count = scene.rng.random(), scene.rng.randint(1, 3)

        def draw(place: float = place) -> Request:
            return Request("read" if kind == "read" else "write", size, place, merges=int(size / 4) - 1)

        closed(scene.clock, device.submit, count, draw, waiters=scene.waiters)
    scene.bystander()
    return trouble(FULL, device.name, also="writeback-burst")


def writeback_flood(scene: Scene) -> Truth:
    """Dirty pages are written as fast as the queue takes them, and readers wait behind them."""
    kind = scene.rng.choice(("HDD", "HDD", "SATA SSD", "SD card", "volume"))
    below = None
    if kind == "volume":
        per_s = scene.rng.choice((500, 1000, 3000))
        below = volume(scene.clock, scene.rng, scene.rng, per_s, scene.rng.choice((60, 125, 250)))
    device = scene.disk(kind, below=below)
    scene.expect({"HDD": 300, "SD card": 200}.get(kind, 8000))
    readers, pause = scene.rng.randint(1, 6), 0.003 if kind in ("HDD", "SD card") else 0.0005
    think = lambda: scene.rng.expovariate(1 / pause)  # noqa: E731
    reads = at_random(scene.rng, sizes=(4.0, 16.0), span=0.2)
    closed(scene.clock, device.submit, readers, reads, think=think, waiters=scene.waiters)
    draw = written_back(scene.rng, scene.rng.choice((8.0, 32.0, 128.0)))
    start = (
        0.0 if scene.samples <= 2 else scene.began + scene.window * scene.rng.randint(1, scene.samples - 1)
    )
    closed(scene.clock, device.submit, scene.rng.choice((64, 128)), draw, start=start)
    # the flood meets the volume's limit
    also = {"HDD": "fragmentation-sized-reads", "volume": "volume-cap"}.get(kind, "")
    return trouble("writeback-burst true-saturation", device.name, present="writeback-burst", also=also)


def _member_load(scene: Scene, target: Submit, clients: int) -> None:
    draw = at_random(scene.rng, reads=scene.rng.uniform(0.3, 1), sizes=(8.0, 16.0))
    pause = scene.rng.uniform(0, 0.01)
    closed(scene.clock, target, clients, draw, think=lambda: 1e-5 + pause, waiters=scene.waiters)


def slow_member(scene: Scene) -> Truth:
    """One disk of an array takes several times as long as the others, whose pace it sets."""
    level = scene.rng.choice(("raid1", "raid10", "raid0", "raid5"))
    count = 2 if level == "raid1" else scene.rng.choice((4, 6))
    slow = scene.rng.randrange(count)
    members = scene.disks("HDD", count, slow, scene.rng.uniform(4, 30))
    scene.expect(60 * count)
    array = scene.array(level, members)
    _member_load(scene, array.submit, scene.rng.randint(2, 12))
    also = "true-saturation raid-partial-stripe-write fragmentation-sized-reads"
    return trouble("slow-member", f"{members[slow].name} {array.name}", also=also)


def slow_member_hidden(scene: Scene) -> Truth:
    """The same, but only the array is shown: that it waits can be seen, and not why."""
    truth = slow_member(scene)
    scene.hidden |= {name for name in scene.devices if not name.startswith("md")}
    scene.printing.has_lsblk = scene.printing.has_mdstat = False
    scene.printing.layout = scene.rng.choice(("X5", "X6"))
    scene.printing.unit = "kB"
    told = trouble(FULL, "md0", also=f"{' '.join(truth.also)} low-concurrency-bound", present="")
    # 5 in flight at 147 ms, 34 requests/s: one slow member, or slow disks all of them
    return replace(told, open_up_to=10)


def slow_sibling(scene: Scene) -> Truth:
    """Disks at like rates, one of which takes 20 to 200 times as long."""
    count = scene.rng.choice((2, 3, 4, 6))
    kind = scene.rng.choice(("HDD", "SATA SSD"))
    slow, slowness = scene.rng.randrange(count), scene.rng.uniform(20, 200) * (1 if kind == "HDD" else 5)
    disks = scene.disks(kind, count, slow, slowness)
    scene.expect(20 * count)
    per_s = scene.rng.uniform(2, 20)
    for disk in disks:
        draw = at_random(scene.rng, reads=0.5, sizes=(4.0, 16.0))
        opened(scene.clock, scene.rng, disk.submit, per_s, draw, scene.waiters, spread=0.05)
    return trouble("slow-member extreme-latency", disks[slow].name, present="slow-member", also=FULL)


def slow_layer(scene: Scene) -> Truth:
    """A dm device or an array that holds requests back above disks that answer at once."""
    kind = scene.rng.choice(("HDD", "SATA SSD", "NVMe"))
    seconds = (
        scene.rng.choice((0.05, 0.1, 0.5, 2.0, 6.0)) if kind != "HDD" else scene.rng.choice((0.5, 2.0, 6.0))
    )
    clients = scene.rng.choice((1, 4, 16, 64))
    scene.expect(max(20.0, clients / seconds))
    if scene.is_modern and scene.rng.random() < 0.5:
        members = scene.disks("SATA SSD" if kind == "NVMe" else kind, 4)
        slow = delayed(scene.clock, stripe(members, 2, scene.rng), seconds, scene.rng)
        layer = scene.layer("raid10", "md0", members, slow)
    else:
        disk = scene.disk(kind)
        slow = delayed(scene.clock, disk.submit, seconds, scene.rng)
        layer = scene.layer(scene.rng.choice(("lvm", "crypt")), "dm-0", [disk], slow)
    draw = at_random(scene.rng, reads=scene.rng.choice((0.0, 0.5, 1.0)), sizes=(4.0, 16.0))
    closed(scene.clock, layer.submit, clients, draw, waiters=scene.waiters)
    names = "layer-added-latency throttled-above-device"
    also = "low-concurrency-bound true-saturation hung-io io-standstill"
    told = trouble(names, layer.name, present="layer-added-latency", also=also)
    if seconds < scene.samples * scene.window:
        return told
    # in a capture shorter than one request nothing completes: slow and stuck print the same
    return replace(told, names=told.names | {"hung-io"}, open_up_to=scene.samples)


def stuck(scene: Scene) -> Truth:
    """From some moment on nothing completes."""
    kind = scene.rng.choice(("HDD", "SATA SSD", "NVMe", "volume"))
    latest = 0 if scene.samples <= 2 else scene.rng.randint(0, scene.samples // 2)
    scene.expect(400)
    moment = 0.9 * scene.began if not latest else scene.began + latest * scene.window
    gate = Station(scene.clock, 256, lambda request, waiting: math.inf if scene.clock.now >= moment else 1e-6)
    plain = KINDS[kind].build(scene.clock, scene.rng, scene.rng)
    device = scene.disk(kind, below=through(gate.submit, plain))
    clients = scene.rng.choice((1, 3, 16))
    draw = at_random(scene.rng, reads=0.6, sizes=(4.0, 16.0))
    think = lambda: scene.rng.expovariate(50)  # noqa: E731
    closed(scene.clock, device.submit, clients, draw, think=think, waiters=scene.waiters)
    scene.bystander()
    # nothing completes in any sample: a counter that leaked prints the same rows; and where only the first
    # one shows that it worked, that one may be the report since boot
    open_up_to = {0: 10, 1: 3}.get(latest, 0)
    return replace(trouble("hung-io", device.name, also="io-standstill"), open_up_to=open_up_to)


def sick_disk(scene: Scene) -> Truth:
    """A disk that tries again and again: seconds per request, few of them."""
    seconds = min(scene.rng.choice((0.5, 1.0, 3.0)) * scene.rng.uniform(0.9, 1.5), 0.6 * scene.step)
    arm = Station(scene.clock, 1, lambda request, waiting: scene.rng.gammavariate(2, seconds / 2))
    device = scene.disk("HDD", below=arm.submit)
    scene.expect(20)
    # what waits longer than half a minute would be given up
    clients = min(scene.rng.choice((1, 2, 8, 32, 128)), round(30 / seconds))
    draw = at_random(scene.rng, reads=scene.rng.choice((0.0, 0.5, 1.0)), sizes=(4.0, 16.0))
    closed(scene.clock, device.submit, clients, draw, waiters=scene.waiters)
    scene.bystander()
    also = "true-saturation low-concurrency-bound slow-member io-standstill"
    return trouble("extreme-latency device-errors hung-io", device.name, present="extreme-latency", also=also)


def partial_stripes(scene: Scene) -> Truth:
    """Small writes on RAID 5 or 6: each reads old data and parity, and writes both."""
    level, count = scene.rng.choice((("raid5", 3), ("raid5", 4), ("raid5", 6), ("raid6", 6), ("raid6", 8)))
    members = scene.disks("HDD", count)
    array = scene.array(level, members)
    scene.expect(80 * count)
    draw = at_random(
        scene.rng, reads=scene.rng.choice((0.0, 0.0, 0.3)), sizes=scene.rng.choice(((4.0,), (8.0,), (16.0,)))
    )
    closed(scene.clock, array.submit, scene.rng.randint(8, 64), draw, waiters=scene.waiters)
    return trouble("raid-partial-stripe-write", "md0", also=FULL)


def partial_stripes_hidden(scene: Scene) -> Truth:
    """A hardware controller's volume: that it is full can be seen, parity cannot."""
    partial_stripes(scene)
    scene.devices = {"sda": scene.devices["md0"]}
    scene.spins = {"sda": True}
    scene.layers.clear()
    scene.printing.has_lsblk = scene.printing.has_mdstat = False
    return trouble(FULL, "sda", also="raid-partial-stripe-write", present=FULL)


def fragments(scene: Scene) -> Truth:
    """A scan in small pieces that lie apart: one or few readers, each piece costs a seek."""
    device = scene.disk("HDD")
    scene.expect(150)
    clients = scene.rng.choice((1, 1, 2, 4))
    draw = at_random(scene.rng, sizes=scene.rng.choice(((4.0,), (8.0,), (8.0, 16.0))))
    closed(scene.clock, device.submit, clients, draw, think=lambda: 2e-4, waiters=scene.waiters)
    scene.bystander()
    other = "low-concurrency-bound" if clients == 1 else "true-saturation"
    return trouble(f"fragmentation-sized-reads {other}", device.name, present="fragmentation-sized-reads")


def shared_path(scene: Scene) -> Truth:
    """Disks behind one bus that is slower than they are; nothing shown tells what they could do."""
    count = scene.rng.choice((3, 4, 6, 8))
    bus_mb = scene.rng.uniform(0.3, 0.55) * count * 80
    size = scene.rng.choice((128.0, 256.0, 512.0))
    scene.expect(bus_mb * 1024 / size)
    names = _readers_behind(scene, bus_mb, count, count, size)
    also = frozenset({"true-saturation", "low-concurrency-bound", "volume-cap", *SYMPTOMS})
    told = frozenset({"shared-ceiling"})
    return Truth("unknowable", told, also, told, names)


def shared_path_and_one_alone(scene: Scene) -> Truth:
    """The same, and first one of the disks alone, which is faster then."""
    truth = shared_path(scene)
    _readers_behind(scene.earlier(), 80 * len(truth.devices), len(truth.devices), 1, 256.0)
    return replace(truth, sort="trouble")


def _readers_behind(scene: Scene, bus_mb: float, count: int, readers: int, size: float) -> frozenset[str]:
    """Disks behind a bus, the first of which are read from beginning to end."""

    def transfer(request: Request, waiting: int) -> float:
        return request.size_kb / (bus_mb * 1024) * scene.rng.uniform(0.9, 1.1)

    disks = scene.disks("HDD", count, behind=Station(scene.clock, 1, transfer).submit)
    for disk in disks[:readers]:
        # reading ahead keeps two requests in flight
        closed(scene.clock, disk.submit, 2, in_sequence("read", size), waiters=scene.waiters)
    return frozenset(disk.name for disk in disks)


LONG = 14
"""Samples of a capture that has to show a change: what came before it, and what after."""


def write_cache_lost(scene: Scene) -> Truth:
    """At some moment writes begin to wait for the medium, as reads did all along."""
    scene.samples = LONG
    kind = scene.rng.choice(("HDD", "HDD", "SATA SSD"))
    usual = 0.009 if kind == "HDD" else 0.002
    per_s = scene.rng.uniform(0.1, 0.3) / usual
    scene.expect(per_s)
    moment = scene.began + scene.window * scene.rng.uniform(4, 9)
    medium = KINDS["HDD"].build(scene.clock, scene.rng, scene.rng)
    if kind == "SATA SSD":
        medium = delay(
            scene.clock, lambda request: usual * scene.rng.uniform(0.5, 1.5) * (1 + (request.kind == "write"))
        )
    cached = usual * scene.rng.uniform(0.02, 0.08)
    cache = delay(scene.clock, lambda request: cached * scene.rng.lognormvariate(0, 0.3))

    def submit(request: Request, done: Done) -> None:
        is_cached = request.kind == "write" and scene.clock.now < moment
        (cache if is_cached else medium)(request, done)

    device = scene.disk(kind, below=submit)
    size = scene.rng.choice((4.0, 8.0, 16.0))
    for reads, share in ((1.0, 0.5), (0.0, 0.5)):
        draw = at_random(scene.rng, reads=reads, sizes=(size,))
        opened(scene.clock, scene.rng, device.submit, share * per_s, draw, scene.waiters, spread=0.1)
    scene.bystander()
    told = trouble("write-cache-lost", device.name, present="", also="backend-latency-shift")
    # one latency for reads and writes steps up to twice: a cache, or anything else behind the device
    return replace(told, open_up_to=LONG) if scene.printing.is_mixed else told


def write_cliff(scene: Scene) -> Truth:
    """A drive's cache takes so many bytes, then the medium sets the pace; a pause empties the cache."""
    scene.samples = LONG
    size, fast = scene.rng.choice((128.0, 256.0, 512.0)), scene.rng.uniform(100, 400) * 1024
    slow = fast / scene.rng.uniform(6, 30)
    scene.expect(fast / size)
    room, level, last = fast * scene.window * scene.rng.uniform(2.5, 3.5), 0.0, 0.0

    def service(request: Request, waiting: int) -> float:
        nonlocal level, last
        if scene.clock.now - last > 0.5 * scene.window:
            level = 0.0
        last = scene.clock.now
        if request.kind == "read":
            return 2e-4
        level += request.size_kb
        return request.size_kb / (fast if level < room else slow) * scene.rng.uniform(0.9, 1.1)

    device = scene.disk("SATA SSD", below=Station(scene.clock, 1, service).submit)
    for begin, end in ((0.5, 6.5), (8.5, 13.9)):
        start, stop = (scene.began + scene.window * number for number in (begin, end))
        draw = in_sequence("write", size)
        closed(
            scene.clock,
            device.submit,
            scene.rng.randint(2, 8),
            draw,
            waiters=scene.waiters,
            start=start,
            stop=stop,
        )
    also = "true-saturation writeback-burst volume-cap backend-latency-shift low-concurrency-bound"
    return trouble("sustained-write-cliff", device.name, present="sustained-write-cliff", also=also)


def first_touch(scene: Scene) -> Truth:
    """A volume whose blocks are fetched from far away when they are first read."""
    scene.samples = LONG
    clients, usual = scene.rng.randint(1, 8), scene.rng.uniform(5e-4, 1.5e-3)
    scene.expect(clients / usual)
    fetch = usual * scene.rng.uniform(20, 60)
    blocks = max(40, round(scene.rng.uniform(4, 8) * clients * scene.window / fetch))
    seen: set[int] = set()

    def seconds(request: Request) -> float:
        block = int(request.place * blocks)
        is_new = block not in seen
        seen.add(block)
        return usual * scene.rng.lognormvariate(0, 0.2) + fetch * is_new

    device = scene.disk("volume", below=delay(scene.clock, seconds))
    draw = at_random(scene.rng, sizes=(scene.rng.choice((8.0, 16.0, 32.0)),))
    closed(scene.clock, device.submit, clients, draw, waiters=scene.waiters, start=scene.began)
    also = "low-concurrency-bound util-false-alarm backend-latency-shift"
    return trouble("first-touch-penalty", device.name, present="", also=also)


def stall_of_what_is_shared(scene: Scene) -> Truth:
    """Unrelated disks of several kinds answer nothing for a moment, all of them."""
    scene.samples = LONG
    count = scene.rng.randint(3, 6)
    scene.expect(60)
    begin = scene.began + scene.window * scene.rng.uniform(3, 9)
    end = begin + scene.window * scene.rng.uniform(0.9, 2.5)
    names = []
    for number in range(count):
        kind = scene.rng.choice(("HDD", "SATA SSD", "SATA SSD"))
        gate = delay(
            scene.clock, lambda request: end - scene.clock.now if begin <= scene.clock.now < end else 0
        )
        below = through(gate, KINDS[kind].build(scene.clock, scene.rng, scene.rng))
        device = scene.disk(kind, f"sd{chr(ord('a') + number)}", below)
        draw = at_random(
            scene.rng, reads=scene.rng.choice((1.0, 0.5)), sizes=(scene.rng.choice((4.0, 16.0)),)
        )
        opened(
            scene.clock, scene.rng, device.submit, scene.rng.uniform(10, 60), draw, scene.waiters, spread=0.1
        )
        names.append(device.name)
    told = "common-cause-stall"
    return trouble(told, " ".join(names), also="hung-io io-standstill", present="")


def thermal_throttle(scene: Scene) -> Truth:
    """A drive that heats up while it is fast, and cools down while it is slow."""
    scene.samples = 3 * LONG
    size, fast = scene.rng.choice((16.0, 64.0, 128.0)), scene.rng.uniform(500, 3000) * 1024
    slow = fast / scene.rng.uniform(2, 4)
    scene.expect(fast / size)
    heats, cools = (scene.window * scene.rng.uniform(2.5, 4.5) for _ in range(2))
    began = scene.began

    def service(request: Request, waiting: int) -> float:
        is_hot = (scene.clock.now - began) % (heats + cools) > heats
        return request.size_kb / (slow if is_hot else fast) * scene.rng.uniform(0.9, 1.1)

    device = scene.disk("NVMe", below=Station(scene.clock, 1, service).submit)
    draw = at_random(scene.rng, reads=scene.rng.choice((1.0, 0.7)), sizes=(size,))
    closed(scene.clock, device.submit, scene.rng.randint(4, 32), draw, waiters=scene.waiters)
    also = "true-saturation volume-cap approaching-saturation"
    return trouble("thermal-throttle", device.name, present="", also=also)


def slow_path(scene: Scene) -> Truth:
    """Paths to one LUN that are asked in turn, one of which takes many times as long; lsblk names the map."""
    scene.printing.has_lsblk = True
    count = scene.rng.choice((2, 2, 4))
    slow = scene.rng.randrange(count)
    paths = scene.disks("SATA SSD", count, slow, scene.rng.uniform(20, 80))
    scene.expect(300)
    turn = 0

    def in_turn(request: Request, done: Done) -> None:
        nonlocal turn
        turn += 1
        paths[turn % count].submit(request, done)

    top = scene.layer("mpath", "dm-0", paths, in_turn)
    draw = at_random(
        scene.rng, reads=scene.rng.choice((1.0, 0.7, 0.0)), sizes=(scene.rng.choice((4.0, 8.0)),)
    )
    closed(scene.clock, top.submit, scene.rng.randint(2, 16), draw, waiters=scene.waiters)
    also = "slow-member true-saturation"
    return trouble("path-imbalance", f"{paths[slow].name} {top.name}", also=also)


def copy_on_write(scene: Scene) -> Truth:
    """Small writes to a volume with a snapshot; only the rates of the hidden volumes tell."""
    scene.printing.has_lsblk = False
    disk = scene.disk("HDD")
    real = scene.layer("lvm", "dm-1", [disk], disk.submit)
    store = scene.layer("lvm", "dm-2", [disk], disk.submit)
    chunk, chunks = scene.rng.choice((32.0, 64.0, 128.0, 256.0)), scene.rng.randint(3000, 30000)
    copied: set[int] = set()

    def origin(request: Request, done: Done) -> None:
        number = int(request.place * chunks)
        if request.kind == "read" or number in copied:
            real.submit(request, done)
            return
        copied.add(number)
        place = scene.rng.random()
        old = Request("read", chunk, request.place)
        kept, noted = (Request("write", chunk, place) for _ in range(2))
        steps = [(real, old), (store, kept), (store, noted), (real, request)]

        def follow() -> None:
            if not steps:
                done()
                return
            device, step = steps.pop(0)
            device.submit(step, follow)

        follow()

    top = scene.layer("lvm", "dm-0", [real], origin)
    scene.expect(60)
    draw = at_random(scene.rng, reads=scene.rng.choice((0.0, 0.3)), sizes=(4.0, 8.0))
    opened(scene.clock, scene.rng, top.submit, scene.rng.uniform(6, 15), draw, scene.waiters, spread=0.1)
    also = "layer-added-latency low-concurrency-bound serialized-commit"
    return replace(trouble("copy-on-write-penalty", top.name, present="", also=also), open_up_to=3)
