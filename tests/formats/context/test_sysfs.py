import pytest

from iodiag.formats.context.sysfs import FORMAT
from reading import blocks_of, devices_of

GREP = """\
/sys/block/dm-0/queue/scheduler:none
/sys/block/sda/queue/scheduler:[none] mq-deadline kyber
/sys/block/dm-0/queue/rotational:0
/sys/block/sda/queue/rotational:1
/sys/block/sda/queue/nr_requests:256
/sys/block/sda/queue/read_ahead_kb:128
/sys/block/sda/queue/write_cache:write back
/sys/block/sda/queue/logical_block_size:512
/sys/block/sda/queue/max_sectors_kb:1280
/sys/block/sda/queue/nomerges:0
/sys/block/md0/md/level:raid5
/sys/block/md0/md/chunk_size:65536
/sys/block/md0/md/raid_disks:4
/sys/block/md0/md/degraded:1
/sys/block/md0/md/stripe_cache_size:256
/sys/block/md0/md/sync_action:recover
/sys/block/dm-0/dm/name:vg0-data
/sys/block/sda/size:8388608
/sys/block/sda/dev:8:0
"""


def test_fields_and_their_lines():
    (block,) = blocks_of(FORMAT, GREP + "\nDevice  r/s\n")
    found = devices_of(FORMAT, GREP)
    sda, md0, dm0 = found["sda"], found["md0"], found["dm-0"]
    assert (sda.rotational, sda.scheduler, sda.nr_requests) == (True, "none", 256)
    assert (sda.read_ahead_kb, sda.write_cache) == (128, "write back")
    assert sda.size_kb == 4 * 1024**2
    assert sda.provenance["nr_requests"] == "sysfs paste.txt:5"
    assert "8:0" in sda.aliases
    assert (md0.kind, md0.level, md0.chunk_kb, md0.slots, md0.active_slots) == ("md", "raid5", 64, 4, 3)
    assert md0.activity == "recovery"
    assert (dm0.rotational, dm0.kind) == (False, "dm")
    assert "vg0/data" in dm0.aliases
    facts = {fact.values["device"]: fact for fact in block.facts}
    assert facts["sda"].values == {"device": "sda", "max_sectors_kb": 1280, "nomerges": 0}
    assert facts["md0"].values["stripe_cache_size"] == 256
    assert facts["md0"].text == "md0 had stripe_cache_size 256, sync_action recover, degraded 1"
    assert block.used == 19


def headings(text):
    pairs = [line.split(":", 1) for line in text.splitlines()]
    return "\n".join(f"==> {path} <==\n{value}\n" for path, value in pairs)


def subsections(text):
    """What mdiag's text makes of each file."""
    pairs = [line.split(":", 1) for line in text.splitlines()]
    return "\n".join(
        f"\n-r--r--r-- 1 root root 4096 Nov 23 12:00 {path}\n--> start subsection {path} <--\n{value}\n"
        f"--> end subsection {path} <--"
        for path, value in pairs
    )


@pytest.mark.parametrize(
    "rewrite",
    [
        headings,
        subsections,
        lambda text: text.replace(":", ": ", 1).replace(":", ": "),
        lambda text: "\n".join(line.replace(":", " = ", 1) for line in text.splitlines()),
        lambda text: "\n".join("   " + line for line in text.splitlines()),
        lambda text: "\n".join("root@x:~# cat " + line.replace(":", "\n", 1) for line in text.splitlines()),
        lambda text: text.replace("/sys/block/", "/sys/class/block/"),
        lambda text: "\n".join(
            line.replace("/sys/block/", "") for line in text.splitlines() if "/dev:" not in line
        ),
    ],
    ids=["head", "mdiag", "spaced colon", "equals", "indented", "cat", "class", "relative"],
)
def test_renderings(rewrite):
    found = devices_of(FORMAT, rewrite(GREP))
    assert found["sda"].scheduler == "none"
    assert found["sda"].write_cache == "write back"
    assert found["sda"].rotational is True
    assert found["md0"].chunk_kb == 64


@pytest.mark.parametrize(
    ("text", "scheduler"),
    [("noop deadline [cfq]", "cfq"), ("[mq-deadline]", "mq-deadline"), ("none", "none"), ("noop cfq", None)],
)
def test_scheduler_in_force(text, scheduler):
    found = devices_of(FORMAT, f"/sys/block/cciss!c0d0/queue/scheduler:{text}\n")
    assert found["cciss/c0d0"].scheduler == scheduler


def test_loop_over_devices_prints_only_schedulers():
    found = devices_of(FORMAT, "sda: noop deadline [cfq]\nnvme0n1: [none] mq-deadline\n\nsda: 3 errors\n")
    assert found["sda"].scheduler == "cfq"
    assert found["nvme0n1"].scheduler == "none"


def test_idle_array_has_no_activity():
    assert devices_of(FORMAT, "/sys/block/md0/md/sync_action:idle\n")["md0"].activity is None


@pytest.mark.parametrize("text", ["/var/queue/mail: 3\n", "the queue/scheduler: cfq\n", "==> a.txt <==\nx\n"])
def test_other_text_is_left_alone(text):
    assert blocks_of(FORMAT, text) == []
