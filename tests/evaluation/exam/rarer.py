"""What captures show seldom: limits nearly reached, bursts, habits of reading; and hosts that look alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from evaluation.exam import beside
from evaluation.exam.devices import KINDS, MB, volume
from evaluation.exam.engine import Device, Done, Request, Station, Submit, delay, through
from evaluation.exam.hosts import HEALTHY, busy_database, idle, light_desktop, plain_layer
from evaluation.exam.loads import at_random, closed, in_sequence, opened, paced
from evaluation.exam.scene import Memory, Scene
from evaluation.exam.surroundings import archive, post, remark
from evaluation.exam.troubles import FULL, LONG, fragments, saturation
from evaluation.exam.truth import Truth, trouble


def healthy_without(*rules: str, also: str = "") -> Truth:
    """A healthy host of which a rule of any role may not speak."""
    return Truth("healthy", also=frozenset(also.split()), absent=frozenset(rules))


def _ladder(scene: Scene, clients: int) -> Device:
    """A drive that first serves one reader, and then so many without a pause."""
    scene.samples = LONG
    device = scene.disk("SATA SSD")
    scene.expect(60e3)
    turn = scene.began + 5 * scene.window
    draw = at_random(scene.rng, sizes=(scene.rng.choice((4.0, 8.0)),))
    closed(scene.clock, device.submit, 1, draw, think=lambda: 1e-6, stop=turn)
    closed(scene.clock, device.submit, clients, draw, think=lambda: 1e-6, start=turn)
    return device


def near_the_limit(scene: Scene) -> Truth:
    """Three requests for each that the drive serves at once: each takes 2 to 3 times as long."""
    device = _ladder(scene, round(8 * scene.rng.uniform(2.2, 2.8)))
    also = "util-false-alarm low-concurrency-bound"
    told = trouble("approaching-saturation", device.name, also=also, present="approaching-saturation")
    return replace(told, sort="pace")


def far_from_the_limit(scene: Scene) -> Truth:
    """More requests at once, and the drive serves them all side by side."""
    _ladder(scene, scene.rng.randint(2, 6))
    scene.has_waiters = False
    absent = "approaching-saturation", FULL, "queue-limit"
    return healthy_without(*absent, also="util-false-alarm low-concurrency-bound")


def _stepping(scene: Scene, kind: str, factor: float, per_s: float, more: float = 1.0) -> Device:
    """A device that takes `factor` times as long from some moment on, and is asked `more` times as much."""
    scene.samples = LONG
    moment = scene.began + scene.window * scene.rng.randint(6, 8)
    plain = KINDS[kind].build(scene.clock, scene.rng, scene.rng)

    def below(request: Request, done: Done) -> None:
        begun = scene.clock.now
        wait = (factor - 1) if begun >= moment else 0.0
        plain(request, lambda: scene.clock.after(wait * (scene.clock.now - begun), done))

    device = scene.disk(kind, below=below)
    draw = at_random(scene.rng, reads=0.6, sizes=(8.0,))
    opened(scene.clock, scene.rng, device.submit, per_s, draw, scene.waiters, spread=0.03)
    if more > 1:

        def late(request: Request, done: Done) -> None:
            if scene.clock.now >= moment:
                device.submit(request, done)
            else:
                done()

        opened(scene.clock, scene.rng, late, per_s * (more - 1), draw, scene.waiters, spread=0.03)
    return device


def slower_at_the_same_load(scene: Scene) -> Truth:
    """What stands behind a volume becomes several times slower for reads and writes alike."""
    per_s = scene.rng.uniform(100, 400)
    scene.expect(per_s)
    device = _stepping(scene, "volume", scene.rng.uniform(2.5, 8), per_s)
    # a neighbour, a path, a rebuild: a step is all that one host sees
    return replace(trouble("backend-latency-shift", device.name), open_up_to=LONG)


def slower_under_more_load(scene: Scene) -> Truth:
    """A disk that is asked for more, and takes a little longer for it."""
    per_s = scene.rng.uniform(10, 20)
    scene.expect(3 * per_s)
    _stepping(scene, "HDD", 1.0, per_s, more=scene.rng.uniform(1.8, 2.6))
    return healthy_without("backend-latency-shift", "write-cache-lost")


def growing_backlog(scene: Scene) -> Truth:
    """More arrives than a disk completes, on a kernel that counts what is in flight."""
    scene.samples = LONG
    scene.printing.layout, scene.printing.has_banner = scene.rng.choice(("X1", "X2", "X3")), True
    service = scene.rng.uniform(0.004, 0.008)
    arm = Station(scene.clock, 1, lambda request, waiting: service * scene.rng.uniform(0.6, 1.4))
    device = scene.disk("HDD", below=arm.submit)
    scene.step = scene.rng.choice((2, 5))
    scene.window = float(scene.step)
    draw = at_random(scene.rng, reads=0.5, sizes=(8.0,))
    opened(scene.clock, scene.rng, device.submit, scene.rng.uniform(1.25, 1.6) / service, draw, spread=0.02)
    also = f"{FULL} writeback-burst extreme-latency"
    return trouble("backlog-drift", device.name, also=also)


def lost_merging(scene: Scene) -> Truth:
    """A writer of small pieces whose neighbours the block layer joined until its scheduler was changed."""
    device, size = _merging(scene)
    _streams(scene, device, (size, int(size / 4) - 1), (4.0, 0))
    return remark("coalescing-loss", device.name, "util-false-alarm low-concurrency-bound")


def smaller_writes(scene: Scene) -> Truth:
    """A writer that turns from large pieces to small ones: nothing merged before."""
    device, size = _merging(scene)
    _streams(scene, device, (size, 0), (4.0, 0))
    return healthy_without("coalescing-loss", also="util-false-alarm")


def _merging(scene: Scene) -> tuple[Device, float]:
    scene.samples = LONG
    scene.printing.layout = scene.rng.choice(("X1", "X2", "X3", "X4", "X5", "X6"))
    return scene.disk("HDD"), scene.rng.choice((32.0, 64.0, 128.0))


def _streams(scene: Scene, device: Device, *parts: tuple[float, int]) -> None:
    """Streams of as many kB/s one after the other, each of a size and with so many merges per request."""
    kb_per_s, moment = scene.rng.uniform(800, 2400), scene.rng.randint(6, 8)
    scene.expect(kb_per_s / 4)
    edges = (0.0, scene.began + moment * scene.window, scene.ends + 1)
    for number, (size, merges) in enumerate(parts):
        pause = size / kb_per_s
        closed(
            scene.clock, device.submit, 1, in_sequence("write", size, merges),
            think=partial(scene.rng.uniform, 0.7 * pause, 1.3 * pause),
            start=edges[number], stop=edges[number + 1],
        )  # fmt: skip


def pending_sectors(scene: Scene) -> Truth:
    """A disk that counts sectors which it cannot read; nobody has asked for them yet."""
    _calm_disk(scene)
    post(scene, beside.smartctl("sda", {197: scene.rng.randint(1, 300), 198: scene.rng.randint(0, 9)}))
    return remark("device-health", "sda")


def sound_attributes(scene: Scene) -> Truth:
    """A disk whose sectors were reallocated long ago, and that passes."""
    truth = _calm_disk(scene)
    post(scene, beside.smartctl("sda", {5: scene.rng.randint(0, 20), 199: scene.rng.randint(0, 3)}))
    return replace(truth, absent=frozenset({"device-health"}))


def _calm_disk(scene: Scene) -> Truth:
    device = scene.disk("HDD", "sda")
    scene.expect(40)
    draw = at_random(scene.rng, reads=0.5, sizes=(4.0, 16.0), span=0.2)
    opened(scene.clock, scene.rng, device.submit, scene.rng.uniform(3, 15), draw, scene.waiters)
    return HEALTHY


def discards_in_the_way(scene: Scene) -> Truth:
    """Files are deleted in batches, and the drive does nothing else while it discards."""
    gate = Station(scene.clock, 1, lambda request, waiting: 1e-6 if request.kind != "discard" else slow())
    slow: Callable[[], float] = partial(scene.rng.uniform, 0.02, 0.06)
    device = _discarding(scene, gate.submit)
    return trouble("discard-stall", device.name, also=f"{FULL} extreme-latency")


def quick_discards(scene: Scene) -> Truth:
    """The same batches on a drive that only takes a note of them."""
    quick = partial(scene.rng.uniform, 5e-5, 2e-4)
    _discarding(scene, delay(scene.clock, lambda request: quick() if request.kind == "discard" else 0.0))
    return healthy_without("discard-stall")


def _discarding(scene: Scene, gate: Submit) -> Device:
    """Reads and writes all the time, and discards in every third sample or so, all of which pass a gate."""
    scene.samples = LONG
    scene.printing.layout = scene.rng.choice(("X5", "X6"))
    plain = KINDS["SATA SSD"].build(scene.clock, scene.rng, scene.rng)

    def drive(request: Request, done: Done) -> None:
        (plain if request.kind != "discard" else _at_once)(request, done)

    device = scene.disk("SATA SSD", below=through(gate, drive))
    per_s = scene.rng.uniform(100, 300)
    scene.expect(1.5 * per_s)
    opened(scene.clock, scene.rng, device.submit, per_s, at_random(scene.rng, reads=0.6), scene.waiters)
    discards: Callable[[], Request] = lambda: Request("discard", 4096.0)  # noqa: E731
    for number in sorted(scene.rng.sample(range(LONG), 5)):
        begin = scene.began + (number + 0.02) * scene.window
        pace = partial(scene.rng.uniform, 0.01, 0.03)
        stop = begin + 0.9 * scene.window
        closed(scene.clock, device.submit, 1, discards, think=pace, start=begin, stop=stop)
    return device


def _at_once(request: Request, done: Done) -> None:
    done()


def slow_flushes(scene: Scene) -> Truth:
    """A log record now and then, for which the drive writes out its cache; others are read meanwhile."""
    device = _flushing(scene, scene.rng.uniform(0.02, 0.06))
    # half a minute of four commits a second is what it takes to be sure of a mean
    return remark("flush-latency", device.name, "serialized-commit low-concurrency-bound extreme-latency")


def quick_flushes(scene: Scene) -> Truth:
    """The same on a drive whose cache is safe."""
    _flushing(scene, scene.rng.uniform(2e-4, 1e-3))
    return healthy_without("flush-latency")


def _flushing(scene: Scene, flush: float) -> Device:
    scene.printing.layout, scene.samples = "X6", LONG
    plain = KINDS["SATA SSD"].build(scene.clock, scene.rng, scene.rng)
    out = Station(scene.clock, 1, lambda request, waiting: flush * scene.rng.uniform(0.7, 1.3))

    def drive(request: Request, done: Done) -> None:
        (out.submit if request.is_synced else plain)(request, done)

    device = scene.disk("SATA SSD", below=drive)
    per_s = scene.rng.uniform(50, 200)
    scene.expect(1.5 * per_s)
    opened(scene.clock, scene.rng, device.submit, per_s, at_random(scene.rng), scene.waiters)
    commits = at_random(scene.rng, reads=0.0, sizes=(4.0, 8.0), span=0.05, synced=True)
    opened(scene.clock, scene.rng, device.submit, scene.rng.uniform(5, 8), commits, scene.waiters)
    return device


def first_report(scene: Scene) -> Truth:
    """iostat as everybody runs it: the report since boot, and below it how busy the host is now."""
    how = scene.printing
    how.layout = scene.rng.choice(("X1", "X2", "X3", "X4", "X5", "X6"))
    how.has_first = how.has_banner = True
    scene.samples = max(scene.samples, 3)
    light_desktop(scene)
    return remark("first-report-since-boot")


def without_first_report(scene: Scene) -> Truth:
    """iostat -y: each report is a sample."""
    how = scene.printing
    how.layout = scene.rng.choice(("X1", "X2", "X3", "X4", "X5", "X6"))
    how.has_first, how.has_vmstat, how.has_banner = False, False, False
    scene.samples = max(scene.samples, 2)
    scene.cpus = max(scene.cpus, 4)
    truth = busy_database(scene)
    return replace(truth, absent=frozenset({"first-report-since-boot"}))


def _bursts(scene: Scene, device: Device, every_s: float, least: int, most: int) -> None:
    """So many requests at once every few seconds, how many changing from sample to sample."""
    draw = at_random(scene.rng, sizes=(8.0,))

    def begin() -> None:
        for _ in range(scene.rng.randint(least, most)):
            device.submit(draw(), lambda: None)
        scene.clock.after(every_s, begin)

    scene.has_waiters = False
    scene.clock.at(0.1, begin)


def bursts_between_idle(scene: Scene) -> Truth:
    """Requests come by the hundred at once, and a half-minute's mean shows a disk at ease."""
    scene.step, scene.window = 30, 30.0
    scene.samples = max(scene.samples, 5)
    device = scene.disk("HDD")
    _bursts(scene, device, scene.rng.uniform(4, 8), 80, 160)
    also = f"{FULL} micro-burst-throttle fragmentation-sized-reads low-concurrency-bound"
    return remark("interval-too-long", device.name, also)


def spread_over_the_interval(scene: Scene) -> Truth:
    """As many requests in as long samples, one after the other."""
    scene.step, scene.window = 30, 30.0
    device = scene.disk("HDD")
    draw = at_random(scene.rng, reads=0.7, sizes=(8.0,), span=0.3)
    opened(scene.clock, scene.rng, device.submit, scene.rng.uniform(10, 22), draw, scene.waiters)
    scene.cpus = max(scene.cpus, 4)
    return healthy_without("interval-too-long")


def bursts_at_a_limit(scene: Scene) -> Truth:
    """A volume with a limit on operations, which is asked for a part of them, all at once."""
    scene.samples = LONG
    per_s = scene.rng.choice((1000, 2000, 3000))
    device = _volume_with_room(scene, per_s)
    scene.window = 1.0
    _bursts(scene, device, 1.0, round(0.15 * per_s), round(0.75 * per_s))
    also = f"volume-cap interval-too-long {FULL} burst-bucket-empty throttled-above-device"
    return remark("micro-burst-throttle", device.name, also)


def below_a_limit(scene: Scene) -> Truth:
    """The same volume under as many requests that do not come at once."""
    scene.samples = LONG
    per_s = scene.rng.choice((1000, 2000, 3000))
    device = _volume_with_room(scene, per_s)
    scene.expect(per_s)
    draw = at_random(scene.rng, sizes=(8.0,))
    opened(scene.clock, scene.rng, device.submit, per_s * scene.rng.uniform(0.2, 0.5), draw, scene.waiters)
    return healthy_without("micro-burst-throttle", "volume-cap")


def _volume_with_room(scene: Scene, per_s: float) -> Device:
    scene.printing.has_lsblk = True
    return scene.disk("volume", "vda", volume(scene.clock, scene.rng, scene.rng, per_s))


def gone_device(scene: Scene) -> Truth:
    """Whatever the tasks wait for is not among the devices shown, which do nothing: work stands still."""
    scene.samples, scene.cpus = max(scene.samples, 5), scene.rng.choice((1, 2, 4))
    shown, gone = scene.disk("HDD", "sda"), scene.disk("HDD", "sdz", _never)
    scene.hidden.add(gone.name)
    scene.expect(100)
    turn = scene.began + 2 * scene.window
    draw = at_random(scene.rng, reads=0.5, sizes=(16.0, 64.0, 128.0))
    closed(scene.clock, shown.submit, 2, draw, think=lambda: 0.01, waiters=scene.waiters, stop=turn)
    # each task that has got its last answer asks for what does not come
    closed(scene.clock, gone.submit, 8 * scene.cpus, draw, waiters=scene.waiters, start=turn)
    scene.printing.has_vmstat = scene.printing.has_cpu = True
    return trouble("io-standstill", "", also="hung-io", present="")


def _never(request: Request, done: Done) -> None:
    return None


def work_that_ends(scene: Scene) -> Truth:
    """The same disk under the same load, which comes to its end."""
    scene.samples = max(scene.samples, 5)
    device = scene.disk("SATA SSD", "sda")
    scene.expect(100)
    turn = scene.began + 2 * scene.window
    draw = at_random(scene.rng, reads=0.5, sizes=(16.0, 64.0, 128.0))
    closed(scene.clock, device.submit, 1, draw, think=lambda: 0.02, waiters=scene.waiters, stop=turn)
    scene.printing.has_vmstat = scene.printing.has_cpu = True
    return healthy_without("io-standstill", "hung-io")


def slow_hours(scene: Scene) -> Truth:
    """Days of one load, and some hours of one of them in which the device takes several times as long."""
    first, long = scene.rng.randint(74, 100), scene.rng.randint(3, 8)
    factor = scene.rng.uniform(3, 6)
    device = archive(
        scene,
        lambda hour: 1.0,
        lambda hour: False,
        lambda hour: factor if first <= hour < first + long else 1.0,
    )
    also = "backend-latency-shift low-concurrency-bound serialized-commit util-false-alarm extreme-latency"
    # requests that turned to seeks look the same on a disk that turns
    return replace(remark("latency-above-baseline", device.name, also), open_up_to=scene.samples)


def merged_below(scene: Scene) -> Truth:
    """Small reads that pass a volume one by one, and a stream that its disk gets in large pieces."""
    device = _on_lvm(scene)
    half = scene.began + scene.window * scene.samples / 2
    small = at_random(scene.rng, sizes=(8.0,), span=0.1)
    closed(scene.clock, device.submit, 1, small, think=lambda: 0.02, stop=half)
    stream = in_sequence("read", 256.0, merges=63)
    closed(scene.clock, device.submit, 1, stream, think=lambda: 0.02, start=half)
    return remark("layer-iops-mismatch", device.name, "low-concurrency-bound")


def as_many_below(scene: Scene) -> Truth:
    """Small reads alone: the disk below gets as many."""
    device = _on_lvm(scene)
    small = at_random(scene.rng, sizes=(8.0, 16.0), span=0.1)
    closed(scene.clock, device.submit, 1, small, think=lambda: 0.02)
    return healthy_without("layer-iops-mismatch")


def _on_lvm(scene: Scene) -> Device:
    scene.samples = LONG
    scene.printing.has_lsblk = True
    disk = scene.disk("SATA SSD")
    scene.expect(100)
    return scene.layer("lvm", "dm-0", [disk], disk.submit)


def counted_twice(scene: Scene) -> Truth:
    """A volume on a disk, and both in one list."""
    plain_layer(scene)
    scene.printing.has_lsblk = True
    return remark("stack-double-count", "", "layer-iops-mismatch")


def counted_once(scene: Scene) -> Truth:
    """Disks side by side, of which none stands on another."""
    truth = scene.rng.choice((busy_database, light_desktop))(scene)
    scene.printing.has_lsblk = True
    return replace(truth, absent=frozenset({"stack-double-count"}))


def used_up_memory(scene: Scene) -> Truth:
    """Programs hold all memory and all swap, and the kernel looks for pages without finding any."""
    scene.rng.choice((idle, light_desktop))(scene)
    scene.system, scene.user = scene.rng.uniform(60, 90), 3.0
    scene.printing.has_cpu, scene.printing.has_vmstat = True, False
    scene.runnable = 3.0 * scene.cpus
    scene.beside.append(lambda samples: beside.memory(scene, samples, room=0.003, swap=100.0))
    return Truth("elsewhere", frozenset({"memory-exhausted"}), frozenset({"cpu-exhausted"}))


def full_swap_alone(scene: Scene) -> Truth:
    """Idle pages fill the swap, and half of the memory is page cache."""
    truth = scene.rng.choice((idle, light_desktop))(scene)
    scene.beside.append(lambda samples: beside.memory(scene, samples, room=0.5, swap=100.0))
    return replace(truth, absent=frozenset({"memory-exhausted"}))


def work_in_the_kernel(scene: Scene) -> Truth:
    """Copies and locks of the kernel take most of the CPUs; some time is left, and storage is calm."""
    scene.rng.choice((idle, light_desktop))(scene)
    scene.user, scene.system = scene.rng.uniform(5, 12), scene.rng.uniform(60, 75)
    scene.runnable = scene.cpus * scene.rng.uniform(1.3, 3) + 1
    scene.printing.has_cpu = scene.printing.has_vmstat = scene.printing.has_banner = True
    return remark("cpu-exhausted")


def some_work_in_the_kernel(scene: Scene) -> Truth:
    """The kernel has its part of the work, and fewer tasks than CPUs want to run."""
    truth = scene.rng.choice((idle, light_desktop))(scene)
    scene.user, scene.system = scene.rng.uniform(5, 25), scene.rng.uniform(10, 35)
    scene.printing.has_cpu = scene.printing.has_vmstat = scene.printing.has_banner = True
    return replace(truth, absent=frozenset({"cpu-exhausted"}))


def under_pressure(scene: Scene) -> Truth:
    """The kernel's own account of the time that tasks lost to a device that is full."""
    truth = scene.rng.choice((saturation, fragments))(scene)
    scene.beside.append(lambda samples: beside.pressure(scene, samples))
    scene.printing.has_vmstat = True
    also = truth.also | truth.names | {FULL, "low-concurrency-bound", "util-false-alarm"}
    return replace(truth, names=frozenset({"psi-io-pressure"}), also=also, present=frozenset())


def without_pressure(scene: Scene) -> Truth:
    """Requests of programs that do something else meanwhile: nobody waits."""
    device = scene.disk("NVMe")
    scene.expect(4000)
    draw = at_random(scene.rng, sizes=(4.0,))
    paced(scene.clock, scene.rng, device.submit, scene.rng.uniform(500, 2500), draw)
    scene.beside.append(lambda samples: beside.pressure(scene, samples))
    return healthy_without("psi-io-pressure")


def full_queue(scene: Scene) -> Truth:
    """A queue of fixed size above a disk: what does not get in is not counted."""
    slots = scene.rng.choice((32, 64, 128))
    device = _queued(scene, slots, 3 * slots)
    post(scene, beside.queue(device.name, {"nr_requests": slots}))
    return trouble("queue-limit", device.name, also=f"{FULL} low-concurrency-bound fragmentation-sized-reads")


def depth_of_its_client(scene: Scene) -> Truth:
    """The same disk under a program that keeps a number in flight that is no queue's."""
    clients = scene.rng.choice((20, 40, 48))
    device = _queued(scene, 4096, clients)
    post(scene, beside.queue(device.name, {"nr_requests": 256}))
    also = "low-concurrency-bound fragmentation-sized-reads"
    return replace(trouble(FULL, device.name, also=also), absent=frozenset({"queue-limit"}))


def _queued(scene: Scene, slots: int, clients: int) -> Device:
    """A disk that serves one reader first, and then many, of which so many at most are in its queue."""
    scene.samples = LONG
    scene.step = scene.rng.choice((2, 5, 10))
    scene.window = float(scene.step)
    device = scene.disk("HDD")
    free, waiting = slots, list[tuple[Request, Done]]()

    def enter(request: Request, done: Done) -> None:
        nonlocal free
        if not free:
            waiting.append((request, done))
            return
        free -= 1

        def leave() -> None:
            nonlocal free
            free += 1
            if waiting:
                enter(*waiting.pop(0))
            done()

        device.submit(request, leave)

    turn = scene.began + 5 * scene.window
    draw = at_random(scene.rng, sizes=(4.0,))
    closed(scene.clock, enter, 1, draw, waiters=scene.waiters, stop=turn)
    closed(scene.clock, enter, clients, draw, waiters=scene.waiters, start=turn)
    return device


def missing_member(scene: Scene) -> Truth:
    """A RAID 5 or a mirror that runs without one of its disks, under a light load."""
    _array(scene, gone=1)
    return remark("raid-degraded", "md0", "raid-partial-stripe-write slow-member")


def all_members(scene: Scene) -> Truth:
    """The same array with all of its disks."""
    _array(scene, gone=0)
    return healthy_without("raid-degraded", also="raid-partial-stripe-write")


def _array(scene: Scene, gone: int) -> None:
    level, count = scene.rng.choice((("raid5", 4), ("raid1", 2), ("raid10", 4)))
    members = scene.disks("SATA SSD", count)
    left = members[: count - gone] if level != "raid10" else members
    array = scene.array(level, left)
    scene.expect(300)
    draw = at_random(scene.rng, reads=0.8, sizes=(8.0, 16.0))
    opened(scene.clock, scene.rng, array.submit, scene.rng.uniform(20, 100), draw, scene.waiters)
    scene.printing.has_mdstat = False
    names = [member.name for member in left]
    post(scene, beside.mdstat(array.name, level, names, gone))


def slow_reads_behind_quick_writes(scene: Scene) -> Truth:
    """A controller that acknowledges writes at once: the mean hides what reads take."""
    _unlike(scene, read=scene.rng.uniform(0.025, 0.04), write=scene.rng.uniform(2e-4, 1e-3))
    also = f"{FULL} low-concurrency-bound extreme-latency slow-member"
    return remark("mixed-await", "sda", also)


def alike_both_ways(scene: Scene) -> Truth:
    """Reads and writes of a disk that take as long as each other."""
    _unlike(scene, read=0.008, write=0.006)
    return healthy_without("mixed-await")


def _unlike(scene: Scene, read: float, write: float) -> None:
    """A device that takes so long for a read and for a write, each of its kind side by side."""
    scene.printing.layout = scene.rng.choice(("X3", "X4", "X5", "X6"))
    usual = {"read": read, "write": write}
    below = delay(scene.clock, lambda request: usual[request.kind] * scene.rng.lognormvariate(0, 0.2))
    device = scene.disk("HDD", "sda", below)
    per_s = scene.rng.uniform(20, 40)
    scene.expect(2 * per_s)
    scene.cpus = max(scene.cpus, 4)
    draw = at_random(scene.rng, reads=0.35, sizes=(8.0,))
    opened(scene.clock, scene.rng, device.submit, per_s, draw, scene.waiters, spread=0.05)


def draining_writes(scene: Scene) -> Truth:
    """vmstat alone: a program fills the page cache and ends, and the CPUs wait while that is written."""
    return _buffered(scene, waits=True)


def drained_in_time(scene: Scene) -> Truth:
    """The same program on a host where nobody waits for what is written."""
    truth = _buffered(scene, waits=False)
    return replace(HEALTHY, sort="unknowable", also=truth.also, absent=frozenset({"writeback-burst"}))


def _buffered(scene: Scene, *, waits: bool) -> Truth:
    scene.samples, scene.step, scene.window = LONG, 1, 1.0
    how = scene.printing
    how.has_vmstat, how.has_disks = True, False
    mb_per_s = scene.rng.uniform(60, 160)
    device = scene.disk("HDD")
    size = 512.0
    stream = in_sequence("write", size, merges=127)
    turn = scene.began + 3 * scene.window
    pause = size / MB / mb_per_s
    closed(
        scene.clock, device.submit, 1, stream, think=lambda: pause, start=turn,
        waiters=scene.waiters if waits else None,
    )  # fmt: skip
    if waits:
        # whoever calls sync waits as long as it takes, one task per CPU
        closed(scene.clock, _never, scene.cpus * 4, stream, waiters=scene.waiters, start=turn)
    # what the program wrote into the cache in the first three samples
    scene.memory = Memory(8_000_000, 180_000, 2_000_000)
    filled = 5 * mb_per_s * MB / 3
    scene.cached = lambda number: 2_000_000 + filled * min(number, 3)
    also = "blocked-tasks io-standstill"
    return trouble("writeback-burst", "", also=also, present="")
