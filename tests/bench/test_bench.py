"""The benchmark measures what it says: inputs are sound, sums agree, ratios stand the right way up."""

from __future__ import annotations

import pytest

import iodiag
from bench import agreement, curve, groups, inputs, run
from bench.timing import Ratio, Taken, in_turn, process


def test_the_inputs_are_read_without_a_remark(tmp_path):
    files = groups.Files(tmp_path, 60_000, 30_000)
    for path in (files.iostat(), files.wrapped(), files.squeezed(), files.sa()):
        capture = iodiag.read(path)
        assert not capture.unparsed
        assert set(capture.disk["device"]) >= {"sda", "sdx"} or path == files.sa()
        assert capture.disk.groupby("device", observed=True).size().nunique() == 1
    assert files.iostat().stat().st_size >= 60_000


def test_the_same_seed_makes_the_same_input(tmp_path):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        inputs.iostat_text(tmp_path / name, 20_000, seed)
        inputs.sa_binary(tmp_path / f"{name}.sa", 20_000, seed)
    for ending in ("", ".sa"):
        a, b, c = ((tmp_path / f"{name}{ending}").read_bytes() for name in "abc")
        assert a == b != c


def test_a_wrong_sum_is_noticed(tmp_path, monkeypatch):
    files = groups.Files(tmp_path, 60_000, 30_000)
    text = files.small_iostat().read_bytes()
    head, place, tail = text.rpartition(b"sdx ")
    files.wrapped().write_bytes(head + place + b"        1.00" + tail[12:])
    with pytest.raises(AssertionError, match="wrapped: sums"):
        list(agreement.check(files))


@pytest.mark.slow
def test_the_runner_prints_ratios_and_paths(tmp_path, capsys):
    page = tmp_path / "page.md"
    page.write_text(f"before\n{run.BEGIN}\nold\n{run.END}\nafter\n")
    run.main(["--size", "0.3", "--turns", "1", "--only", "text", "--only", "sa", "--page", str(page)])
    text = page.read_text()
    assert text.startswith("before\n")
    assert text.endswith("\nafter\n")
    assert "old" not in text
    assert "| iostat text to frames, against naive pandas | " in text
    assert "| iostat text, every row wrapped | " in text
    run.put_into(page, "new")
    assert "naive pandas" not in page.read_text()


def test_ratios_stand_the_right_way_up():
    results = {"ours": [Taken(2.0, 1.0), Taken(4.0, 1.0)], "other": [Taken(8.0, 3.0), Taken(8.0, 3.0)]}
    speed = groups.Comparison("", "ours", "other", 2.0)
    assert run.ratio(speed, results, "wall_s") == Ratio(3.0, 2.0, 4.0)
    cost = groups.Comparison("", "ours", "other", 0.3, is_cost=True)
    assert run.ratio(cost, results, "cpu_s").median == pytest.approx(1 / 3)
    both = run.comparisons_table([(groups.Group("", {}, (speed, cost), {}), results)])
    assert (both.count("| yes |"), both.count("| no |")) == (1, 1)


def test_a_rate_has_its_goal():
    group = groups.Group("", {}, (), {"ours": 300_000_000}, rates={"ours": 150.0})
    assert "| ours | 100 MB/s | | ≥ 150 MB/s | no |" in run.comparisons_table(
        [(group, {"ours": [Taken(3.0, 1.0)]})]
    )


def test_the_curve_says_where_time_grows_faster_than_size():
    sizes = ((1, 0.5), (2, 0.9), (4, 2.7))
    found = [curve.Point("devices", str(mb), mb * inputs.MB, seconds, seconds) for mb, seconds in sizes]
    first, second, third = curve.table(found).splitlines()[2:]
    assert first == "| devices | 1 | 1 | 0.5 | 0.5 |  | 0.5 | 0.5 |  |"
    assert second.count("| 0.90 |") == 2
    assert third.count("| **1.50** |") == 2


def test_the_inputs_of_the_curve_have_as_many_devices_and_hosts(tmp_path):
    inputs.many_devices(tmp_path / "devices", 100)
    inputs.many_hosts(tmp_path / "hosts", 7)
    assert iodiag.read(tmp_path / "devices").disk["device"].nunique() == 100
    assert len(iodiag.read(tmp_path / "hosts").hosts) == 7


def test_turns_alternate_and_a_failed_process_is_no_measurement():
    order = []
    first = lambda: order.append("a") or Taken(1.0, 1.0)  # noqa: E731
    second = lambda: order.append("b") or Taken(1.0, 1.0)  # noqa: E731
    assert [len(results) for results in in_turn([first, second], 2)] == [2, 2]
    assert order == ["a", "b"] * 3
    assert process(["true"])().peak_mb > 0
    with pytest.raises(SystemExit, match="status 1"):
        process(["false"])()
