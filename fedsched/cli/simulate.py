"""`fedsched simulate`: run a policy on a log, or on several, and print what it costs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path  # noqa: TC003 the command line reads the types
from typing import TYPE_CHECKING, Literal, NamedTuple

from fedsched.cli import options  # noqa: TC001 the command line reads the types
from fedsched.cli.costs import Run, print_costs, print_side_by_side
from fedsched.cli.shared import (
    CHART_FORMATS,
    INTERRUPTED,
    PLAN_FORMATS,
    NotTakenError,
    check_apart,
    check_output,
    file_labels,
    load_federation,
    load_workload,
    print_json,
    progress_bar,
    say,
    stopwatch,
    write_schedule,
    written,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fedsched.policies import Policy

ROLLING = "rolling"


def command(
    trace: options.Trace,
    /,
    *more: options.MoreTraces,
    from_: options.From = None,
    federation: options.Federation = None,
    nodes: options.Nodes = None,
    uplink: options.Uplink = (),
    communication: options.Communication = None,
    policy: str = "easy",
    order: str | None = None,
    dispatch: str | None = None,
    backfill_order: str | None = None,
    placement: str | None = None,
    method: str | None = None,
    window: int | None = None,
    evaluations: int | None = None,
    every: str | None = None,
    objective: str | None = None,
    checkpoint: Path | None = None,
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

    Several logs are simulated one after the other, and their figures stand side by side.

    Parameters
    ----------
    more
        More logs, each simulated by itself; --json then prints a list.
    policy
        fcfs, easy, easy-sjbf, min-min, …, any ORDER-DISPATCH or HEURISTIC-DISPATCH; rolling plans anew as time goes by.
    order
        In place of the policy's queue order: fcfs, sjf, ljf, smallest, largest, saf, laf, xfactor, wfp3, unicef, f1.
    dispatch
        In place of the policy's dispatch rule: strict, greedy, local, easy, conservative or lookahead.
    backfill_order
        In place of the policy's order of backfilling: the names of --order.
    placement
        fastest, single, home, best_fit, efficient, powerful, big_small or link_aware.
    method
        rolling: the search (memetic, ga, sa, …).
    window
        rolling: how many waiting jobs are planned; the others stand behind them.
    evaluations
        rolling: how many plans a search may simulate each time.
    every
        rolling: `change`, or plan at most each so many simulated seconds.
    objective
        rolling: the metric to minimise.
    checkpoint
        rolling: a file where the run saves itself, and from which it goes on when called again.
    same_time
        How events of one instant are read.
    sample
        Only so many jobs, drawn at random.

    Examples
    --------
    fedsched simulate sample --federation example --policy easy --gantt plan.png --out plan.csv
    fedsched simulate sample --nodes 128 --order saf --dispatch greedy --json
    fedsched simulate sample --head 100 --federation example --policy rolling --evaluations 300
    fedsched simulate sample figure-1-6 --nodes 128
    """
    from fedsched.simulate import simulate

    traces = (trace, *more)
    if more:
        _refuse_of_one({"out": out, "gantt": gantt, "checkpoint": checkpoint}, len(traces))
    check_output(out, PLAN_FORMATS)
    check_output(gantt, CHART_FORMATS, what="a chart")
    check_apart((*traces, federation), {"--out": out, "--gantt": gantt, "--checkpoint": checkpoint})
    search = _Search(method, window, evaluations, every, objective, checkpoint)
    if policy.lower() == ROLLING:
        _refuse({"order": order, "dispatch": dispatch, "backfill-order": backfill_order}, "is found by the search")
        rules: Policy = search.policy(placement, seed)
    else:
        _refuse(search._asdict(), f"goes with --policy {ROLLING}")
        rules = _rules(policy, order=order, dispatch=dispatch, backfill_order=backfill_order, placement=placement)
    runs: list[Run] = []
    for source, label in zip(traces, file_labels(traces), strict=True):
        workload = load_workload(
            source, head, kind=from_, communication=communication, announced=json
        )  # the table says it too
        if sample is not None:
            workload = workload.sample(sample, seed=seed)
        cluster = load_federation(federation, nodes, workload, uplink=uplink)
        with stopwatch() as taken, progress_bar(f"simulating {label}" if more else "simulating") as progress:
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
            runs.append(Run(label, schedule, taken()))
        if not schedule.complete:
            break
    if out is not None:
        write_schedule(schedule, out)
    if gantt is not None:
        schedule.gantt(gantt)
    files = written(out, gantt, checkpoint)
    if json:
        said = [run.to_json() | {"written": files} for run in runs]
        print_json(said if more else said[0])
    elif more:
        print_side_by_side(runs)
    else:
        print_costs(runs[0])
    if schedule.complete:
        return 0
    kept = f" and in {', '.join(files)}" if files else ""
    say(f"fedsched: {'; '.join(schedule.notes)}. What was done until then is above{kept}.", err=True)
    return INTERRUPTED


def _refuse_of_one(options: Mapping[str, object], logs: int) -> None:
    given = {option: value for option, value in options.items() if value is not None}
    if given:
        option, value = next(iter(given.items()))
        raise NotTakenError(
            given,
            f"--{option} {value} is for one log, and {logs} are given; simulate each alone for it, or leave it out.",
        )


def _refuse(options: Mapping[str, object], why: str) -> None:
    given = {option: value for option, value in options.items() if value is not None}
    if given:
        option, value = next(iter(given.items()))
        raise NotTakenError(given, f"--{option} {value} {why}; leave it out.")


class _Search(NamedTuple):
    """The options of --policy rolling; None where the default holds."""

    method: str | None
    window: int | None
    evaluations: int | None
    every: str | None
    objective: str | None
    checkpoint: Path | None

    def policy(self, placement: str | None, seed: int) -> Policy:
        """Return the rolling policy."""
        from fedsched.rolling import Rolling

        usual = Rolling()
        return Rolling(
            method=usual.method if self.method is None else self.method,
            window=usual.window if self.window is None else self.window,
            evaluations=usual.evaluations if self.evaluations is None else self.evaluations,
            every=usual.every if self.every is None else _seconds(self.every),
            objective=usual.objective if self.objective is None else self.objective,
            placement=placement,
            seed=seed,
            checkpoint=self.checkpoint,
        )


def _seconds(every: str) -> str | float:
    try:
        return float(every)
    except ValueError:
        return every  # a word: the policy says which it knows


def _rules(
    policy: str, *, order: str | None, dispatch: str | None, backfill_order: str | None, placement: str | None
) -> Policy:
    """Return the policy's rules with those exchanged that are given."""
    from fedsched.errors import unknown_name
    from fedsched.policies import POLICIES, Rules

    if policy.lower() not in POLICIES:
        raise unknown_name("policy", policy, [*POLICIES, ROLLING])
    rules = POLICIES[policy.lower()]
    if not isinstance(rules, Rules):
        own = {"order": order, "backfill-order": backfill_order, "placement": placement}
        _refuse(own, f"is what policy {policy.lower()!r} chooses itself")
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
