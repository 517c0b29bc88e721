from __future__ import annotations

import pytest

from iodiag.analysis.measure.quantiles import median
from iodiag.rules.causes import nfs_wait
from writers.captures import banner, clock

RULE = "nfs-wait"
HEAD = "              ops/s            kB/s           kB/op         retrans    avg RTT (ms)    avg exe (ms)"


def operation(way, rate, trip, took, again=0, size=8.0):
    share = 100 * again / max(rate, 1)
    return (
        f"{way}:{HEAD}\n          {rate:.3f}  {rate * size:.3f}  {size:.3f}  {again} ({share:.1f}%)  "
        f"{trip:.3f}  {took:.3f}\n"
    )


def nfsiostat(samples, backlog=0.0):
    """Reports of nfsiostat, the first since the mount; a sample is (reads/s, RTT, exe, sent again, size)."""
    text = ""
    for rate, trip, took, *more in [(2.0, 5000.0, 5000.0), *samples]:
        text += "\nnas:/export mounted on /data:\n\n           ops/s       rpc bklog\n"
        text += f"   {rate:.3f}   {backlog:.3f}\n\n"
        text += operation("read", rate, trip, took, *more) + operation("write", 0.0, 0.0, 0.0)
    return text


CALM = (300.0, 3.0, 3.2)


def only(report):
    (finding,) = [f for f in report.findings if f.rule == RULE]
    return finding


def test_a_round_trip_far_above_its_calm_samples_is_the_server_or_the_way(report_of):
    finding = only(report_of(nfsiostat([CALM] * 6 + [(50.0, 95.0, 96.0)] * 12)))
    assert (finding.severity, finding.confidence) == ("warning", "high")
    assert "/data" in finding.summary
    assert "against 3 ms" in finding.summary
    assert "12 of 18 samples" in finding.summary
    assert "nfsd" in finding.remedy[0]
    assert finding.samples == (6, 17)


USUAL = [(80.0, 24.0 + number % 3, 25.0 + number % 3) for number in range(8)]


def test_a_round_trip_that_takes_twice_as_long_from_a_moment_is_noted(report_of):
    finding = only(report_of(nfsiostat([*USUAL, *[(60.0, 60.0, 61.0)] * 8])))
    assert (finding.severity, finding.samples) == ("notice", (8, 15))
    assert "against 24 ms" in finding.summary


@pytest.mark.parametrize(
    "later",
    [
        pytest.param([(160.0, 60.0, 61.0)] * 8, id="more is asked for"),
        pytest.param([(60.0, 60.0, 61.0, 0, 64.0)] * 8, id="larger operations"),
        pytest.param([(80.0, 24.0, 25.0), (80.0, 90.0, 91.0)] * 4, id="now and then"),
        pytest.param([(60.0, 60.0, 61.0)] * 3, id="for a moment"),
    ],
)
def test_a_round_trip_that_did_not_become_slower(report_of, later):
    assert RULE not in [f.rule for f in report_of(nfsiostat([*USUAL, *later])).findings]


@pytest.mark.parametrize("samples", [1, 3])
def test_seconds_need_no_calm_samples(report_of, samples):
    finding = only(report_of(nfsiostat([(40.0, 900.0, 901.0)] * samples)))
    assert finding.severity == "warning"
    assert "against" not in finding.summary


def test_a_wait_as_long_as_the_round_trip_is_for_slots(report_of):
    finding = only(report_of(nfsiostat([(400.0, 12.0, 60.0)] * 4, backlog=20.0)))
    assert "slot" in finding.summary
    assert any("rpc bklog" in e.text for e in finding.evidence)
    assert "nconnect" in finding.remedy[0]


def test_operations_that_wait_beside_an_empty_queue_for_slots_wait_for_another_thing(report_of):
    finding = only(report_of(nfsiostat([(400.0, 12.0, 60.0)] * 4)))
    assert "not for a slot of the transport (rpc bklog 0)" in finding.summary
    assert any("19.20 reads wait on average" in item.text for item in finding.evidence)
    assert "nfs.max_session_slots" not in finding.remedy[0]


def test_operations_that_are_sent_again_are_the_network(report_of):
    finding = only(report_of(nfsiostat([(100.0, 30.0, 30.5, 5)] * 4)))
    assert "5.0 %" in finding.summary
    assert "ip -s link" in finding.remedy[0]


@pytest.mark.parametrize(
    ("samples", "status"),
    [
        ([CALM] * 10, "clear"),
        ([CALM] * 5 + [(300.0, 15.0, 15.2)] * 5, "clear"),
        ([CALM] * 5 + [(20.0, 60.0, 60.2, 0, 1024.0)] * 5, "clear"),
        ([(0.5, 300.0, 300.0)] * 5, "undetermined"),
        ([(30.0, 95.0, 96.0)] * 5, "undetermined"),
        ([(60.0, 3.0, 3.2, 2)] + [CALM] * 5, "clear"),
        ([], None),
    ],
    ids=[
        "calm",
        "a few times as long",
        "larger operations",
        "hardly used",
        "slow all the time",
        "two lost",
        "since the mount alone",
    ],
)
def test_what_does_not_show_it(report_of, samples, status):
    report = report_of(nfsiostat(samples), rules=[RULE])
    assert not report.findings
    if status is not None:
        (outcome,) = [o for o in report.outcomes if o.rule == RULE]
        assert outcome.status == status
        assert ("too few to judge" in outcome.reason) == (samples[0][0] < 1)


def test_one_odd_sample_among_many_is_a_notice(report_of):
    assert only(report_of(nfsiostat([CALM] * 19 + [(50.0, 95.0, 96.0)]))).severity == "notice"


def test_the_printed_share_counts_where_no_clock_tells_the_interval(report_of):
    # 5 s of 100 reads/s, of which 3 were sent again, are 0.6 %
    text = nfsiostat([(100.0, 3.0, 3.1, 3)] * 6).replace("3 (3.0%)", "3 (0.6%)")
    assert not report_of(text, rules=[RULE]).findings


def sar_nfs(again, samples=5):
    header = "call/s retrans/s read/s write/s access/s getatt/s"
    rows = "".join(f"{clock(n)} 400.00 {again:.2f} 300.00 80.00 5.00 15.00\n" for n in range(1, samples + 1))
    return f"{banner()}{clock(0)} {header}\n{rows}"


def test_sar_shows_calls_that_are_sent_again(report_of):
    finding = only(report_of(sar_nfs(12.0)))
    assert (finding.severity, finding.confidence) == ("warning", "medium")
    assert "3.0 % of the NFS calls" in finding.summary
    report = report_of(sar_nfs(0.5), rules=[RULE])
    assert [o.status for o in report.outcomes] == ["undetermined"]


def test_a_day_of_samples_takes_a_comparison_for_each_step_of_size(report_of, monkeypatch):
    compared = []
    monkeypatch.setattr(nfs_wait, "median", lambda data: compared.append(len(data)) or median(data))
    calm = [(300.0, 3.0, 3.2, 0, 8.0 + number / 100) for number in range(1430)]
    finding = only(report_of(nfsiostat([*calm, *[(300.0, 90.0, 91.0, 0, 15.0)] * 10])))
    assert "10 of 1,440 samples" in finding.summary
    assert len(compared) < 30


def since_the_mount(rate, trip, took):
    """A report whose rates are no whole operations over any few seconds."""
    text = "nas:/export mounted on /data:\n\n           ops/s       rpc bklog\n  9.001   0.000\n\n"
    return text + operation("read", 2.003, 1.5, 1.6) + operation("write", rate, trip, took)


@pytest.mark.parametrize("is_named", [True, False])
def test_a_wait_far_above_the_round_trip_shows_in_the_average_since_the_mount(report_of, is_named):
    text = since_the_mount(6.5, 1.0, 4600.0)
    report = report_of(text if is_named else text.split("\n", 2)[2])
    finding = only(report)
    assert (finding.severity, finding.confidence) == ("notice", "low")
    assert "Each write of NFS mount" in finding.summary
    assert "wait on this host before they are sent" in finding.summary
    assert "on average since it was mounted" in finding.summary
    assert finding.confirm[0] == "nfsiostat 5 12" + is_named * " /data"
    assert report.verdict.state == "open"
    assert "iostat -x" not in report.headline
    assert "4.6 s each (exe), 1 ms of it" in finding.evidence[0].text
    assert finding.evidence[0].lines == (9 if is_named else 7,)
    (reading,) = [f for f in report.findings if f.rule == "first-report-since-boot"]
    assert "averages since the mount were captured" in reading.summary
    assert reading.confirm[0] == "nfsiostat 5 12"
    assert not reading.refutes


@pytest.mark.parametrize(("backlog", "is_slots"), [(0.0, False), (40.0, True)])
def test_the_only_report_is_a_sample_where_it_is_of_whole_operations(report_of, backlog, is_slots):
    text = f"nas:/export mounted on /data:\n\n  ops/s  rpc bklog\n 517.400  {backlog:.3f}\n\n"
    text += operation("read", 0.0, 0.0, 0.0) + operation("write", 516.2, 20.0, 9000.0)
    finding = only(report_of(text))
    assert (finding.severity, finding.confidence) == ("warning", "high")
    assert "in 1 of 1 sample with traffic" in finding.summary
    assert ("most often for a slot" in finding.summary) == is_slots


def test_a_queue_since_the_mount_is_divided_by_its_age_and_tells_nothing_of_slots(report_of):
    finding = only(report_of(since_the_mount(6.5, 1.0, 4600.0)))
    assert "most often for a slot" in finding.summary
    assert any("divided by the age of the mount" in item for item in finding.cannot_know)


@pytest.mark.parametrize(
    "average", [(6.5, 1.0, 12.0), (6.5, 100.0, 400.0), (6.5, 1.0, 1.1), (0.001, 1.0, 4600.0)]
)
def test_an_average_that_is_not_far_above_shows_nothing_and_asks_for_nfsiostat(report_of, average):
    report = report_of(since_the_mount(*average))
    assert not [f for f in report.findings if f.rule == RULE]
    assert "`nfsiostat 5 12`" in report.headline


def test_operations_of_a_connection_are_not_told_of_one_of_its_mounts(report_of):
    text = since_the_mount(6.5, 1.0, 1.1)
    headline = report_of(text).headline
    assert "only averages since the mount (nfs mounts)" in headline
    assert "/data since its mount: 9.00 operations/s" in headline
    shared = report_of(text + "\n" + text.replace("/data", "/logs"))
    assert "its connection, which 2 mounts share, 9.00 operations/s" in shared.headline


@pytest.mark.parametrize(
    ("sample", "is_told"),
    [
        ((2000.0, 5.0, 5.1), True),
        ((2000.0, 5.0, 6.0), False),
        ((2000.0, 5.0, 5.1, 1), False),
        ((300.0, 5.0, 5.1), False),
    ],
    ids=["at the server", "on the client as well", "sent again", "one or two at a time"],
)
def test_a_load_that_is_all_at_the_server_says_how_much_of_it_is(report_of, sample, is_told):
    """2,000 reads/s of 5.1 ms are 10.2 under way, of which 10 are between the request and the answer."""
    found = [f for f in report_of(nfsiostat([sample] * 4), rules=[RULE]).findings if f.severity == "info"]
    assert bool(found) == is_told
    if is_told:
        assert "10.2 operations of NFS mount /data are under way on average, 10.0 of them" in found[0].summary
        assert found[0].confidence == "high"


def test_a_rate_of_one_in_40_seconds_is_not_told_as_none(report_of):
    finding = only(report_of(since_the_mount(0.025, 13.0, 480.0), rules=[RULE]))
    assert finding.evidence[0].text.startswith("0.025 writes/s: 480 ms each")


@pytest.mark.parametrize(("server", "is_own"), [("localhost", True), ("127.0.0.1", True), ("nas", False)])
def test_of_an_export_at_the_hosts_own_address_no_network_is_accused(report_of, server, is_own):
    text = nfsiostat([CALM] * 6 + [(50.0, 95.0, 96.0)] * 12).replace("nas:/", f"{server}:/")
    finding = only(report_of(text))
    assert ("by its address this host serves it" in finding.summary) == is_own
    assert ("the network is slow, not a local disk" in finding.summary) == (not is_own)
    assert any("ping" in remedy for remedy in finding.remedy) == (not is_own)
    assert "on the way" not in finding.summary
