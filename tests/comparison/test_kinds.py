"""Gang schedulers and metaschedulers beside searches and policies: what runs where, and that the figures are theirs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

import fedsched as fs
from fedsched import market
from fedsched.compare import (
    Budget,
    GangEntrant,
    GangInstance,
    Instance,
    MarketEntrant,
    MarketInstance,
    compare,
)
from fedsched.core.errors import UnknownNameError
from fedsched.gang import presets
from fedsched.market.generator import Domain, Jobs

if TYPE_CHECKING:
    from pathlib import Path

ONCE = Budget(evaluations=1)
SMALL = MarketInstance("small", ("cost", "finish"), Domain(nodes=60), Jobs(jobs=4))
SHORT = presets.DimitriadouKaratza(completions=300)


def gangs(**settings: object) -> GangInstance:
    """Return a short setting."""
    return GangInstance("short", ("mean_response", "mean_slowdown"), {"completions": 300, **settings}, jobs="gangs")


def test_gang_presets_are_compared_by_name() -> None:
    """Tests that a run's row is the preset's own metrics for that seed, with the instance's settings."""
    found = compare([gangs()], ["dimitriadou-karatza-1", "dimitriadou-karatza-3"], range(2), ONCE)
    assert not found.failed
    assert found.methods == ("dimitriadou-karatza-1", "dimitriadou-karatza-3")
    metrics = replace(SHORT, approach=3).run(1).metrics("gangs")
    (record,) = [one for one in found.records if one.method.endswith("3") and one.seed == 1]
    assert record.front == ((metrics.mean_response, metrics.mean_slowdown),)


def test_a_setting_makes_another_instance(tmp_path: Path) -> None:
    """Tests that a file of runs keeps settings apart, and that a second call runs nothing again."""
    entrant = GangEntrant("mine", SHORT)
    compare([gangs()], [entrant], range(2), ONCE, path=tmp_path / "runs.jsonl")
    found = compare([gangs(local_rate=6.0)], [entrant], range(2), ONCE, path=tmp_path / "runs.jsonl")
    again = compare([gangs()], [entrant], range(2), ONCE, path=tmp_path / "runs.jsonl")
    assert len((tmp_path / "runs.jsonl").read_text().splitlines()) == 4
    assert found.values()["short"]["mine"].tolist() != again.values()["short"]["mine"].tolist()


def test_metaschedulers_share_their_cycles() -> None:
    """Tests that a seed's row is what the method makes of that cycle."""
    found = compare([SMALL], ["css", "slicer", MarketEntrant("one", market.Slicer(groups=1))], range(3), ONCE)
    assert not found.failed
    environment = SMALL.domain.environment(2)
    batch = SMALL.jobs.batch(2, domain=SMALL.domain)
    totals = market.schedule(batch, environment, method="slicer", seed=2).totals()
    (record,) = [one for one in found.records if one.method == "slicer" and one.seed == 2]
    assert record.front == ((totals.cost, totals.finish),)


def test_a_cycle_that_leaves_a_job_out_is_a_failed_run() -> None:
    """Tests that totals over fewer jobs are not compared with others."""
    crowded = MarketInstance("crowded", ("cost",), Domain(nodes=6), Jobs(jobs=40))
    (record,) = compare([crowded], ["css"], [0], ONCE).records
    assert "found no window" in record.error
    assert record.front == ()


def test_what_runs_elsewhere_is_refused_by_name() -> None:
    """Tests that a method on an instance of another kind is a failed run that says so."""
    jobs = Instance("jobs", fs.Workload.example().head(10), fs.Federation.example())
    records = compare([jobs], ["pinto-2014-s1", "css"], [0], ONCE).records
    assert "GangInstance" in records[0].error
    assert "MarketInstance" in records[1].error
    (stranger,) = compare([gangs(speed=3)], ["dimitriadou-karatza-1"], [0], ONCE).records
    assert "speed" in stranger.error
    assert "local_rate" in stranger.error


def test_metrics_that_nobody_minimises_are_refused() -> None:
    """Tests that an objective without a sense is refused with the known ones."""
    with pytest.raises(UnknownNameError, match="mean_wait"):
        GangInstance("g", ("completed",))
    with pytest.raises(UnknownNameError, match="energy"):
        MarketInstance("m", ("scheduled",))
    with pytest.raises(UnknownNameError, match="gangs"):
        GangInstance("g", jobs="gang")


def test_searches_and_policies_say_what_they_run_on() -> None:
    """Tests that on a market they are failed runs whose reason names what runs there."""
    found = compare([SMALL], ["easy", "memetic"], [0], ONCE)
    assert all("markets by methods of fedsched.market" in record.error for record in found.failed)
    assert len(found.failed) == 2


def test_seeds_of_markets_and_gangs_are_problems_of_their_own(tmp_path: Path) -> None:
    """Tests that runs say so, also those of a file written before runs did."""
    path = tmp_path / "runs.jsonl"
    whole = compare([SMALL], ["css", "bsf"], range(2), ONCE, path=path)
    assert {record.problem for record in whole.records} == {("small", 0), ("small", 1)}
    path.write_text(path.read_text().replace(', "drawn": true', ""))
    assert compare([SMALL], ["css", "bsf"], range(2), ONCE, path=path).records == whole.records
    jobs = Instance("jobs", fs.Workload.example().head(5), fs.Federation.example())
    assert not compare([jobs], ["easy"], [0], ONCE).records[0].drawn


def test_shared_nodes_are_another_instance() -> None:
    """Tests that how jobs share nodes is part of the problem, and that what a record lacks is said as it is there."""
    node = fs.NodeGroup(2, resources={"cpu": 4})
    machine = fs.Federation((fs.Cluster("one", (node,)),), name="one")
    jobs = fs.Workload(submit=[0, 0, 0], tasks=[2, 2, 2], runtime=[10, 10, 10], demand={"cpu": [1, 2, 1]})
    plain, packed = Instance("one", jobs, machine), Instance("one", jobs, machine, sharing="pack")
    assert packed.sharing == fs.NodeSharing(choice="pack")
    assert len({one.fingerprint() for one in (plain, packed, Instance("one", jobs, machine, sharing="best"))}) == 3
    found = compare([packed], ["fcfs"], range(1), ONCE)
    assert found.records[0].front == ((10.0,),)
    assert compare([plain], ["fcfs"], range(1), ONCE).records[0].front == ((30.0,),)
