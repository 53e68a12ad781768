"""What does not go with nodes that are switched off: each is refused by its name, with a cure."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import fedsched as fs
from fedsched.core.errors import InfeasibleError
from fedsched.engine.codes import Dispatch
from fedsched.engine.pack.power_state_refusals import BOOTING, refuse_power, refuse_rule, refuse_unswitched
from fedsched.model.reading import Reading
from fedsched.policies import Planned, Timeout
from fedsched.simulate import prepare

NODES = fs.NodeGroup(2, 1.0, 100.0, 50.0, off_watts=5.0, boot_seconds=30.0)
WHOLE = fs.Federation((fs.Cluster("a", (NODES,)),), power=Timeout(10.0))
LOG = fs.Workload(submit=[0, 5], tasks=[1, 1], runtime=[10, 10])


@pytest.mark.needs("ortools")
def test_what_does_not_go_with_boots_is_refused_by_name() -> None:
    """Rules that plan ahead, downtimes, instants in pieces, jobs that run already, searches: each says so."""
    log, there = LOG, WHOLE
    for policy in ("conservative", "lookahead"):
        with pytest.raises(InfeasibleError, match=f"not {policy}; take one of them"):
            fs.simulate(log, there, policy)
    with pytest.raises(InfeasibleError, match="does not go with downtimes"):
        fs.simulate(log, replace(there, calendar=(fs.Downtime("a", 5.0, 6.0),)))
    with pytest.raises(InfeasibleError, match="same_time='sequential'"):
        fs.simulate(log, there, same_time="sequential")
    narrow = fs.Federation((*there.clusters, replace(there.clusters[0], name="b", uplink=5.0)), power=there.power)
    with pytest.raises(InfeasibleError, match="send over finite uplinks"):
        fs.simulate(replace(log, task_bandwidth=np.array([1.0, 1.0])), narrow)
    run = prepare(log, replace(there, power=None))
    run.advance(until=1.0)
    with pytest.raises(InfeasibleError, match="does not go with running jobs"):
        prepare(log, there, running=run.running())
    rolling = fs.Rolling(evaluations=5)
    for who in (
        lambda: fs.optimize(log, there, evaluations=5),
        lambda: fs.simulate(log, there, rolling),
        lambda: fs.bounds.exact(log, there),
    ):
        with pytest.raises(InfeasibleError, match="only simulate\\(\\) knows"):
            who()


@pytest.mark.parametrize("rule", list(Dispatch))
def test_rules_know_nodes_that_boot_or_are_refused(rule: Dispatch) -> None:
    """A rule that plans ahead is refused where jobs may wait for boots, and nowhere else."""
    for power in (None, Planned()):
        refuse_rule(replace(WHOLE, power=power), rule.name.lower())
    if rule in BOOTING:
        refuse_rule(WHOLE, rule.name.lower())
        return
    with pytest.raises(InfeasibleError, match="take one of them"):
        refuse_rule(WHOLE, rule.name.lower())


def test_shapes_that_are_chosen_late_are_refused() -> None:
    """Who chooses a shape by when it ends does not know when nodes are on; who has a fixed one may wait for these."""
    log = fs.Workload(submit=[0], tasks=[1], runtime=[10], alternatives={1: "1x10|2x5"})
    refuse_unswitched(log, WHOLE, Reading(alternatives="fixed"), running=False)
    with pytest.raises(InfeasibleError, match="does not go with alternatives='earliest_finish'"):
        refuse_unswitched(log, WHOLE, Reading(alternatives="earliest_finish"), running=False)


def test_whoever_knows_no_power_saving_says_so() -> None:
    """A federation that switches nothing off is taken; one that does is not, by whatever rule."""
    refuse_power("optimize", replace(WHOLE, power=None))
    for power in (Planned(), Timeout(10.0)):
        with pytest.raises(InfeasibleError, match=f"optimize: power={power} switches nodes off"):
            refuse_power("optimize", replace(WHOLE, power=power))
