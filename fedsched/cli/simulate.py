"""`fedsched simulate`: run a policy on a log and print what it costs."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from fedsched.cli import options  # noqa: TC001 the command line reads the types
from fedsched.cli.shared import (
    CHART_FORMATS,
    INTERRUPTED,
    PLAN_FORMATS,
    check_output,
    load_federation,
    load_workload,
    number_text,
    print_json,
    print_table,
    progress_bar,
    write_schedule,
)

if TYPE_CHECKING:
    from fedsched.policies import Policy
    from fedsched.schedule import Schedule


def command(
    trace: options.Trace,
    /,
    *,
    federation: options.Federation = None,
    nodes: options.Nodes = None,
    policy: str = "easy",
    order: str | None = None,
    dispatch: str | None = None,
    backfill_order: str | None = None,
    placement: str | None = None,
    same_time: Literal["batch", "sequential"] = "batch",
    saturation: options.Saturation = "dynamic",
    knowledge: options.Knowledge = "estimate",
    kill_at_estimate: options.KillAtEstimate = False,
    head: options.Head = None,
    sample: int | None = None,
    seed: options.Seed = 0,
    out: options.OutPlan = None,
    gantt: options.Gantt = None,
    json: options.Json = False,
) -> int:
    """Run a policy on a log and print what it costs.

    Parameters
    ----------
    policy
        fcfs, easy, easy-sjbf, conservative, lookahead, min-min, …; ORDER-DISPATCH and HEURISTIC-DISPATCH combine.
    order
        In place of the policy's queue order: fcfs, sjf, ljf, smallest, largest, saf, laf, xfactor, wfp3, unicef, f1.
    dispatch
        In place of the policy's dispatch rule: strict, greedy, local, easy, conservative or lookahead.
    backfill_order
        In place of the policy's order of backfilling: the names of --order.
    placement
        fastest, single, home, best_fit, efficient, powerful, big_small or link_aware.
    same_time
        How events of one instant are read.
    sample
        Only so many jobs, drawn at random.

    Examples
    --------
    fedsched simulate sample --federation example --policy easy --gantt plan.png --out plan.csv
    fedsched simulate sample --nodes 128 --order saf --dispatch greedy --json
    """
    from fedsched.simulate import simulate

    check_output(out, PLAN_FORMATS)
    check_output(gantt, CHART_FORMATS, what="a chart")
    rules = _rules(policy, order=order, dispatch=dispatch, backfill_order=backfill_order, placement=placement)
    workload = load_workload(trace, head)
    if sample is not None:
        workload = workload.sample(sample, seed=seed)
    cluster = load_federation(federation, nodes, workload)
    begun = time.perf_counter()
    with progress_bar("simulating") as progress:
        schedule = simulate(
            workload,
            cluster,
            rules,
            same_time=same_time,
            saturation=saturation,
            knowledge=knowledge,
            kill_at_estimate=kill_at_estimate,
            progress=progress,
        )
    seconds = time.perf_counter() - begun
    if out is not None:
        write_schedule(schedule, out)
    if gantt is not None:
        schedule.gantt(gantt)
    if json:
        print_json(schedule.to_json() | {"seconds": seconds, "written": [str(path) for path in (out, gantt) if path]})
    else:
        _print_costs(schedule, seconds)
    if schedule.complete:
        return 0
    kept = f" and in {', '.join(str(path) for path in (out, gantt) if path)}" if out or gantt else ""
    print(f"fedsched: {'; '.join(schedule.notes)}. What was done until then is above{kept}.", file=sys.stderr)
    return INTERRUPTED


def _rules(
    policy: str, *, order: str | None, dispatch: str | None, backfill_order: str | None, placement: str | None
) -> Policy:
    """Return the policy's rules with those exchanged that are given."""
    from fedsched.errors import unknown_name
    from fedsched.policies import POLICIES, Rules

    if policy.lower() not in POLICIES:
        raise unknown_name("policy", policy, POLICIES)
    rules = POLICIES[policy.lower()]
    if not isinstance(rules, Rules):
        for option, value in (("order", order), ("backfill-order", backfill_order), ("placement", placement)):
            if value is not None:
                raise ValueError(f"--{option} {value}: policy {policy.lower()!r} chooses that itself; leave it out.")
        return replace(rules, dispatch=dispatch or rules.dispatch)
    changed = (order, dispatch, backfill_order) != (None, None, None)
    return replace(
        rules,
        order=order or rules.order,
        dispatch=dispatch or rules.dispatch,
        backfill_order=backfill_order or rules.backfill_order,
        placement=placement or rules.placement,
        name="" if changed else policy.lower(),
    )


def _print_costs(schedule: Schedule, seconds: float) -> None:
    from fedsched.metrics import METRICS

    values = schedule.metrics().as_dict()
    rows = [
        (metric.name, number_text(values[metric.name]), metric.unit, metric.meaning)
        for metric in METRICS
        if values[metric.name] == values[metric.name]
    ]
    print(schedule.workload)
    print_table(f"{schedule.policy}, {schedule.federation}", ("metric", "value", "unit", "meaning"), rows, align="lrll")
    if schedule.complete:
        print(f"{len(schedule):,} jobs in {seconds:.2f} s; start hash {schedule.start_hash()}")
    else:
        finished = int((schedule.finish == schedule.finish).sum())
        print(f"{finished:,} of {len(schedule):,} jobs finished in {seconds:.2f} s; the metrics are of those alone")
