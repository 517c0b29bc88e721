"""Each planted trouble is found on its host and day, and a healthy host gets no warning.

By default a small fleet; `IODIAG_FLEET=200x7` writes and judges one of that size on all cores.
"""

from __future__ import annotations

import os

import pandas as pd

from fleet.conftest import Count, run_here
from iodiag.fleet.local import workers
from iodiag.fleet.plan import Options
from iodiag.fleet.run import run
from writers.fleet_writer import ROLES, TROUBLES, day_name, sa_day, write_context, write_fleet

SIZE = os.environ.get("IODIAG_FLEET", "")


def test_a_fleet_of_the_stated_size(fleet, tmp_path):
    inputs, out, planted = fleet.inputs, fleet.out, fleet.planted
    if SIZE:
        hosts, days = map(int, SIZE.split("x"))
        inputs, out = tmp_path / "in", tmp_path / "out"
        planted = write_fleet(inputs, hosts, days)
        with workers(len(os.sched_getaffinity(0))) as executor:
            run([str(inputs)], str(out), Options(), executor, Count())
    findings = pd.read_parquet(out / "findings.parquet")
    found = set(zip(findings["host"], findings["day"], findings["rule"], strict=True))
    assert {(p.host, p.day, p.rule) for p in planted} - found == set()
    grave = findings[findings["severity"].isin(["warning", "critical"])]
    ill = {(p.host, p.day) for p in planted}
    assert set(zip(grave["host"], grave["day"], strict=True)) - ill == set()
    states = pd.read_parquet(out / "manifest.parquet")["status"]
    assert set(states) == {"read"}


def test_every_trouble_is_found_on_its_day_alone(tmp_path):
    roles = {role.name: role for role in ROLES}
    for rule, name in TROUBLES.items():
        place = tmp_path / "in" / rule
        place.mkdir(parents=True)
        write_context(place, roles[name], is_degraded=rule == "raid-degraded")
        (place / "sa03").write_bytes(sa_day(rule, roles[name], 1, rule))
        if rule != "raid-degraded":
            (place / "sa02").write_bytes(sa_day(rule, roles[name], 0, ""))
    run_here(tmp_path / "in", tmp_path / "out")
    findings = pd.read_parquet(tmp_path / "out" / "findings.parquet")
    own = findings[findings["rule"] == findings["host"]]
    assert dict(zip(own["rule"], own["day"], strict=True)) == dict.fromkeys(TROUBLES, day_name(1))
    assert len(own) == len(TROUBLES)
