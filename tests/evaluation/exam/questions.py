"""The exam's questions: a mechanism, a number of samples, a seed, and the capture that follows from them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from random import Random

from evaluation.exam import hosts, printing, rarer, surroundings, troubles
from evaluation.exam.scene import Sample, Scene
from evaluation.exam.truth import Mechanism, Truth

SAMPLES = (1, 2, 3, 5, 10)
"""How many samples a capture has; people post few."""

MECHANISMS: Mapping[str, Mechanism] = {
    "one synchronous writer": troubles.one_synchronous_writer,
    "group commit": troubles.group_commits,
    "IOPS cap": troubles.iops_cap,
    "bandwidth cap": troubles.bandwidth_cap,
    "throttled above the device": troubles.throttled_above,
    "saturated device": troubles.saturation,
    "streams on one disk": troubles.streams_on_a_disk,
    "writeback flood": troubles.writeback_flood,
    "slow member": troubles.slow_member,
    "slow member, array alone shown": troubles.slow_member_hidden,
    "slow sibling": troubles.slow_sibling,
    "slow layer": troubles.slow_layer,
    "stuck I/O": troubles.stuck,
    "sick disk": troubles.sick_disk,
    "RAID 5/6 partial stripes": troubles.partial_stripes,
    "RAID 5/6, array alone shown": troubles.partial_stripes_hidden,
    "small reads on an HDD": troubles.fragments,
    "shared path, one disk alone first": troubles.shared_path_and_one_alone,
    "write cache lost": troubles.write_cache_lost,
    "write cliff": troubles.write_cliff,
    "first touch": troubles.first_touch,
    "stall of what is shared": troubles.stall_of_what_is_shared,
    "thermal throttle": troubles.thermal_throttle,
    "slow path": troubles.slow_path,
    "copies for a snapshot": troubles.copy_on_write,
    "one full CPU": surroundings.full_cpu,
    "misaligned partition": surroundings.misaligned,
    "failing disk": surroundings.failing_disk,
    "slow NFS mount": surroundings.slow_mount,
    "swap thrash": hosts.swap_thrash,
    "swap flood": hosts.swap_flood,
    "refaults without swap": hosts.refaults,
    "before and after": hosts.before_and_after,
    "CPU exhausted": hosts.cpu_exhausted,
    "CPU stolen": hosts.stolen,
    "one reader": hosts.one_reader,
    "full file system": surroundings.full_file_system,
    "readahead": surroundings.readahead,
    "stream cut by the queue": surroundings.cut_stream,
    "thin pool nearly full": surroundings.thin_pool,
    "busy by ticks": surroundings.counted_ticks,
    "job of every night": surroundings.nightly_job,
    "near its limit": rarer.near_the_limit,
    "slower at the same load": rarer.slower_at_the_same_load,
    "growing backlog": rarer.growing_backlog,
    "lost merging": rarer.lost_merging,
    "pending sectors": rarer.pending_sectors,
    "discards in the way": rarer.discards_in_the_way,
    "slow flushes": rarer.slow_flushes,
    "bursts between idle time": rarer.bursts_between_idle,
    "bursts at a limit": rarer.bursts_at_a_limit,
    "work stands still": rarer.gone_device,
    "slow hours": rarer.slow_hours,
    "merged below": rarer.merged_below,
    "counted twice": rarer.counted_twice,
    "used up memory": rarer.used_up_memory,
    "work in the kernel": rarer.work_in_the_kernel,
    "tasks under pressure": rarer.under_pressure,
    "full queue": rarer.full_queue,
    "missing member": rarer.missing_member,
    "slow reads, quick writes": rarer.slow_reads_behind_quick_writes,
    "buffered writes drain": rarer.draining_writes,
    "first report since boot": rarer.first_report,
    "idle": hosts.idle,
    "light desktop": hosts.light_desktop,
    "busy database": hosts.busy_database,
    "backup": hosts.backup,
    "idle pages put away": hosts.idle_pages_put_away,
    "deep reads on NVMe": hosts.deep_reads,
    "below the cap": hosts.below_the_cap,
    "paced below the cap": hosts.paced_below_the_cap,
    "busy array": hosts.busy_array,
    "equal siblings": hosts.equal_siblings,
    "background writes": hosts.background_writes,
    "plain layer": hosts.plain_layer,
    "one CPU busy with other work": surroundings.full_cpu_elsewhere,
    "aligned partition": surroundings.aligned,
    "errors of another day": surroundings.errors_of_another_day,
    "calm NFS mount": surroundings.calm_mount,
    "file system with room": surroundings.roomy_file_system,
    "paced stream": surroundings.readahead_with_room,
    "small requests by themselves": surroundings.small_requests,
    "thin pool with room": surroundings.roomy_thin_pool,
    "days without a habit": surroundings.no_habit,
    "far from its limit": rarer.far_from_the_limit,
    "slower under more load": rarer.slower_under_more_load,
    "smaller writes": rarer.smaller_writes,
    "sound attributes": rarer.sound_attributes,
    "quick discards": rarer.quick_discards,
    "quick flushes": rarer.quick_flushes,
    "spread over the interval": rarer.spread_over_the_interval,
    "below a limit on bursts": rarer.below_a_limit,
    "work that ends": rarer.work_that_ends,
    "as many below": rarer.as_many_below,
    "counted once": rarer.counted_once,
    "full swap alone": rarer.full_swap_alone,
    "some work in the kernel": rarer.some_work_in_the_kernel,
    "no pressure": rarer.without_pressure,
    "depth of its client": rarer.depth_of_its_client,
    "all members": rarer.all_members,
    "alike both ways": rarer.alike_both_ways,
    "written in time": rarer.drained_in_time,
    "no report since boot": rarer.without_first_report,
    "shared path": troubles.shared_path,
    "since boot only": hosts.since_boot_only,
    "no latency columns": hosts.without_latencies,
}


@dataclass(frozen=True)
class Question:
    """A capture as posted, and what is true of the host."""

    mechanism: str
    samples: int
    number: int
    truth: Truth
    text: str


def furnished(mechanism: str, samples: int, seed: int, number: int) -> tuple[Scene, Truth, list[Sample]]:
    """The scene of a question, captured. A healthy host that was too busy is drawn again."""
    for attempt in count():
        rng = Random(f"{seed} {mechanism} {samples} {number} {attempt}")
        scene = Scene.drawn(rng, samples)
        truth = MECHANISMS[mechanism](scene)
        captured = scene.captured()
        if truth.sort != "healthy" or scene.is_at_ease():
            return scene, truth, captured
    raise AssertionError("counting never ends")


def question(mechanism: str, samples: int, seed: int, number: int) -> Question:
    """One question, the same whenever it is drawn."""
    return asked(mechanism, number, *furnished(mechanism, samples, seed, number))


def asked(mechanism: str, number: int, scene: Scene, truth: Truth, captured: list[Sample]) -> Question:
    """The question that a captured scene makes."""
    text = printing.text(scene, captured)
    if scene.before is not None:
        text = f"Before:\n\n{printing.text(scene.before, scene.before.captured())}\nAfter:\n\n{text}"
    return Question(mechanism, scene.samples, number, truth, text)


def questions(
    seed: int, each: int, mechanisms: Iterable[str] | None = None, samples: Sequence[int] = SAMPLES
) -> Iterator[Question]:
    """`each` questions of every mechanism and number of samples."""
    for mechanism in mechanisms or MECHANISMS:
        for length in samples:
            for number in range(each):
                yield question(mechanism, length, seed, number)
