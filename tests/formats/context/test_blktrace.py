import pytest

from iodiag.formats.context import blkparse, btt
from reading import blocks_of
from sample_files import SAMPLES

BTT = (SAMPLES / "btt/one-device.txt").read_text()
SUMMARY = (SAMPLES / "blkparse/two-cpus.txt").read_text()


def test_btt_parts_the_kernel_from_the_device():
    (block,) = blocks_of(btt.FORMAT, BTT + "prose\n")
    assert block.used == BTT.count("\n") - 1
    (fact,) = block.facts
    assert (fact.values["device"], fact.values["requests"]) == ("sda", 12687)
    assert fact.values["whole_mean_ms"] == pytest.approx(37.609824)
    assert fact.values["device_mean_ms"] == pytest.approx(34.02808)
    assert fact.values["device_most_ms"] == pytest.approx(708.048174)
    assert fact.values["kernel_mean_ms"] == pytest.approx(3.581744)
    assert (fact.ref.first, fact.ref.last) == (7, 12)


def test_btt_of_several_devices_names_none_of_them():
    more = BTT.replace(" (  8,  0) |    12687", " (  8, 16) |    12687")
    (block,) = blocks_of(btt.FORMAT, more)
    assert "device" not in block.facts[0].values
    assert "of all traced devices" in block.facts[0].text


def test_btt_without_a_completed_request_tells_nothing():
    cut = "\n".join(line for line in BTT.split("\n") if not line.startswith(("D2C", "Q2C")))
    assert [block.facts for block in blocks_of(btt.FORMAT, cut)] == [()]


def test_blkparse_takes_the_total():
    (block,) = blocks_of(blkparse.FORMAT, SUMMARY)
    assert block.used == SUMMARY.count("\n")
    (fact,) = block.facts
    assert fact.values == {
        **{"device": "sda", "reads": 60, "read_kb": 240, "writes": 15078, "write_kb": 5_030_000},
        **{"reads_requeued": 0, "writes_requeued": 75, "read_merges": 0, "write_merges": 1_242_000},
        **{"read_kb_per_s": 2, "write_kb_per_s": 46340},
    }
    assert "75 put back into the queue" in fact.text


@pytest.mark.parametrize(("shown", "name"), [("8,16", "sdb"), ("259,3", "259:3"), ("nvme0n1", "nvme0n1")])
def test_blkparse_names_its_device_as_samples_do(shown, name):
    text = f"Total ({shown}):\n Reads Completed:       40, 160KiB\t Writes Completed: 50, 200KiB\n"
    (block,) = blocks_of(blkparse.FORMAT, text)
    assert block.facts[0].values["device"] == name


def test_blkparse_with_a_broken_line_tells_nothing():
    assert blocks_of(blkparse.FORMAT, SUMMARY.replace("Writes Completed", "Wr1tes")) == []


def test_blkparse_of_one_cpu_has_no_total():
    (block,) = blocks_of(blkparse.FORMAT, SUMMARY[: SUMMARY.index("CPU1")])
    (fact,) = block.facts
    assert (fact.values["reads"], fact.values["writes"], fact.values["writes_requeued"]) == (40, 5148, 5)
