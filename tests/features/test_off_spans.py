"""Which nodes go off, are off and boot in a chart: beside the jobs, and on no node that works [66]."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
from engine.test_against_naive import run_engine
from support import strategies
from support.tiers import tries

import fedsched as fs
from fedsched.model.schedule.closed_spans import numbered
from fedsched.model.schedule.off_spans import bands
from fedsched.policies import Planned, Reserve, Timeout
from fedsched.report.plan_data import plan_of

NODE = fs.NodeGroup(2, 1.0, 100.0, 50.0, off_watts=5.0, boot_seconds=30.0, shutdown_seconds=10.0)


def test_bands_say_when_each_node_is_in_which_state() -> None:
    """Both nodes go off at 150, and one boots for a job of 300; the other stays off until the last end, at 340."""
    log = fs.Workload(submit=[0, 300], tasks=[2, 1], runtime=[50, 10])
    schedule = fs.simulate(log, fs.Federation((fs.Cluster("a", (NODE,)),), power=Timeout(100.0)))
    found = numbered(schedule)
    rows = sorted(zip(*(column.tolist() for column in bands(found.off, found.dark, 340.0)), strict=True))
    assert rows == [
        (150.0, 160.0, 0, 0, True),
        (150.0, 160.0, 1, 1, True),
        (160.0, 300.0, 0, 0, False),
        (160.0, 340.0, 1, 1, False),
        (300.0, 330.0, 0, 0, True),
    ]
    assert found.jobs.intervals() == [((0, 1),), ((0, 0),)]
    names = [name for name, *_ in plan_of(schedule, 1e-3)["columns"]]
    assert {"darkStart", "darkFinish", "darkFirst", "darkNodes", "darkChanges"} <= set(names)


def test_no_node_works_while_it_is_not_on() -> None:
    """Of random systems each node's jobs and bands follow one another, and no node-second of a band is lost."""
    seen = closed = 0
    for seed in range(66_900, 66_900 + tries(120)):
        draw = (strategies.saving_power, strategies.going_off_with_downtimes)[seed % 2]
        schedule = run_engine(draw(seed))
        closes = bool(schedule.federation.calendar)  # planned switching takes closed nodes for idle ones
        for power in (schedule.federation.power, *(() if closes else (Planned(), None))):
            promises = schedule.promises if power == schedule.federation.power else None
            there = replace(schedule, federation=replace(schedule.federation, power=power), promises=promises)
            found = numbered(there)
            last = float(np.nanmax(there.finish, initial=there.t0))
            dark = bands(found.off, found.dark, last)
            assert power is not None or not dark.first.size
            seconds = np.minimum(found.off.finish, last) - np.minimum(found.off.start, last)
            lasts = (dark.finish - dark.start) * (dark.last - dark.first + 1)
            assert np.isclose(lasts.sum(), seconds @ found.off.counts.sum(axis=1))
            job = np.repeat(np.arange(len(there)), found.jobs.pieces)
            runs = [
                *zip(there.start[job], there.finish[job], found.jobs.first, found.jobs.last, strict=True),
                *zip(*dark[:4], strict=True),
            ]
            shut = np.repeat(np.arange(found.spans.start.size), found.closed.pieces)
            times = found.spans.start[shut], np.minimum(found.spans.finish, last)[shut]
            rows = zip(*times, found.closed.first, found.closed.last, strict=True)
            runs += [row for row in rows if row[0] < row[1]]
            closed += shut.size
            of_node: dict[int, list[tuple[float, float]]] = {}
            for begin, end, first, after in runs:
                if begin == begin and end == end:
                    for node in range(int(first), int(after) + 1):
                        of_node.setdefault(node, []).append((float(begin), float(end)))
            for spans in of_node.values():
                assert all(before[1] <= behind[0] for before, behind in pairwise(sorted(spans)))
            seen += dark.first.size
    assert seen > tries(120) / 2
    assert closed > tries(120) / 8


def test_a_reserve_that_boots_for_nobody_is_drawn() -> None:
    """A node that boots ahead is drawn as it boots, though no job has it yet."""
    log = fs.Workload(submit=[0, 100, 1000], tasks=[1, 1, 1], runtime=[500, 10, 10])
    machine = fs.Federation((fs.Cluster("a", (fs.NodeGroup(3, off_watts=1.0, boot_seconds=40.0),)),), power=Reserve(1))
    schedule = fs.simulate(log, machine)
    found = numbered(schedule)
    rows = bands(found.off, found.dark, schedule.t0 + schedule.makespan)
    booting = rows.changes & (rows.start == 100.0)
    assert rows.finish[booting].tolist() == [140.0]
    assert schedule.start.tolist() == [0.0, 100.0, 1000.0]
