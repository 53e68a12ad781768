"""`fedsched market`: schedule a batch of jobs on priced slots of nodes that their owners use too."""

from __future__ import annotations

import inspect
from dataclasses import fields
from pathlib import Path  # noqa: TC003 the command line reads the types
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Group, Parameter

from fedsched.cli.shared import groups, options
from fedsched.cli.shared.input_output import (
    CHART_FORMATS,
    NotTakenError,
    check_apart,
    check_output,
    load_workload,
    number_text,
    print_json,
    print_table,
    progress_bar,
    reading_of,
    say,
    written,
)
from fedsched.core.text import counted
from fedsched.core.values import is_number

if TYPE_CHECKING:
    from fedsched.market import Assignment, Domain, Environment, Flow
    from fedsched.market.methods import Method
    from fedsched.market.tariff import Prices
    from fedsched.model.jobs.workload import Workload

Name = Literal["css", "slicer", "backfilling", "bsf"]
MEANINGS = {
    "scheduled": "jobs with a window",
    "cost": "what all users pay",
    "cpu": "node time that the batch reserves",
    "energy": "its nodes' power × time",
    "start": "mean start",
    "runtime": "mean run time (longest slot)",
    "finish": "mean finish",
    "job_cost": "mean cost of a job",
    "job_cpu": "mean node time of a job",
    "makespan": "last finish",
    "alternatives": "windows that a job had to choose from, mean",
    "utilisation": "share of all node time that the batch takes",
    "idle": "share that no job takes",
}
TOTALS = {
    "jobs": "that arrived",
    "served": "got a window",
    "gone": "gave up, or missed their deadline",
    "waiting": "wait at the end",
    "wait": "cycles that served jobs waited, mean",
    "longest": "cycles, the longest wait of all",
    "waited": "share not served in their first cycle",
    "overtaken": "later jobs served earlier, mean over all jobs",
    "delay": "from arrival to start, mean",
    "runtime": "mean run time (longest slot)",
    "cost": "mean cost of a job",
    "cpu": "mean node time of a job",
    "sold": "share of all node time that windows take",
}


def print_flows(flows: dict[str, Flow], *, json: bool, show: bool) -> None:
    """Print, as tables or JSON, what became of the jobs under each method; with `show` also a row for every cycle."""
    totals = {name: flow.totals().as_dict() for name, flow in flows.items()}
    if json:
        cycles = {
            name: {field.name: getattr(rows, field.name).tolist() for field in fields(rows)}
            for name, rows in ((name, flow.cycles()) for name, flow in flows.items())
        }
        print_json({"totals": totals, "cycles": cycles})
        return
    first = next(iter(flows.values()))
    served = [f"{name} {row['served']:,.0f} of {row['jobs']:,.0f}" for name, row in totals.items()]
    say(f"Jobs that got a window: {', '.join(served)}.")
    say(f"{counted(len(first.begin), 'successive cycle')}, one every {first.period:g}, each sees {first.horizon:g}")
    rows = [(name, *(number_text(totals[of][name]) for of in totals), text) for name, text in TOTALS.items()]
    print_table("flow", ("metric", *totals, "meaning"), rows, align="l" + "r" * len(totals) + "l")
    if show:
        for name, flow in flows.items():
            of_cycle = flow.cycles()
            names = [field.name for field in fields(of_cycle)]
            columns = [getattr(of_cycle, column).tolist() for column in names]
            lines = [(str(c + 1), *map(number_text, row)) for c, row in enumerate(zip(*columns, strict=True))]
            print_table(name, ("cycle", *names), lines, align="r" * (len(names) + 1))


# Groups of options in the long help.
NODES = Group("Nodes and prices", sort_key=1)
BATCH = Group("Batch of jobs", sort_key=2)
CYCLES = Group("Cycles", sort_key=3)
# In the short help.
FIRST = (
    "--method", "--cycles", "--nodes", "--jobs", "--flow",
    "--trace", "--federation", "--file", "--out", "--gantt", "--json",
)  # fmt: skip


def command(
    *,
    method: tuple[Name, ...] = ("css", "slicer", "backfilling", "bsf"),
    problem: Literal["time", "cost", "profit", "idleness"] = "time",
    groups: int = 5,
    first: int | None = None,
    select: Literal["order", "cost", "performance"] = "order",
    nodes: Annotated[int, Parameter(group=NODES)] = 24,
    jobs: Annotated[int, Parameter(group=BATCH)] = 20,
    tasks: Annotated[tuple[int, int], Parameter(group=BATCH)] = (2, 5),
    length: Annotated[tuple[float, float], Parameter(group=BATCH)] = (100.0, 200.0),
    budget: Annotated[tuple[float, float], Parameter(group=BATCH)] = (0.9, 1.6),
    cycles: Annotated[int, Parameter(group=CYCLES)] = 1,
    flow: Annotated[bool, Parameter(group=CYCLES)] = False,
    period: Annotated[float | None, Parameter(group=CYCLES)] = None,
    carried: Annotated[Literal["oldest", "newest"] | None, Parameter(group=CYCLES)] = None,
    patience: Annotated[int | None, Parameter(group=CYCLES)] = None,
    price_from: Annotated[tuple[tuple[float, float], ...], Parameter(group=NODES)] = (),
    price_demand: Annotated[float | None, Parameter(group=NODES)] = None,
    file: Annotated[Path | None, Parameter(group=NODES)] = None,
    trace: Annotated[Path | None, Parameter(group=NODES)] = None,
    log: groups.HowRead = groups.HOW_READ,
    federation: options.Federation = None,
    begin: Annotated[float, Parameter(group=NODES)] = 0.0,
    interval: Annotated[float, Parameter(group=NODES)] = 600.0,
    out: Annotated[Path | None, Parameter(group=options.OUTPUT)] = None,
    show: Annotated[bool, Parameter(group=options.OUTPUT)] = False,
    gantt: Annotated[Path | None, Parameter(group=options.OUTPUT)] = None,
    seed: options.Seed = None,
    json: options.Json = False,
) -> int:
    """Schedule a batch of jobs on priced slots of nodes that their owners use too.

    Parameters
    ----------
    method
        css, slicer, backfilling or bsf. Several are compared. Default: all.
    problem
        The objective by which the virtual organisation combines the jobs' windows.
    groups
        The number of parts into which the slicer cuts the batch.
    first
        The number of the batch's jobs that bsf gives to the slicer. Default: half.
    select
        Which jobs bsf gives to the slicer: the first, the most expensive, or the most critical in the nodes they need.
    nodes
        The number of nodes of a generated domain.
    jobs
        The number of jobs in a batch.
    tasks
        The smallest and the largest number of parallel tasks of a job.
    length
        The shortest and the longest reservation, on the slowest node (--trace: on a node of speed 1).
    budget
        The smallest and the largest budget, as multiples of what the job costs on the market.
    cycles
        The number of generated domains and batches. Their results are averaged.
    flow
        Run successive cycles in one domain. Jobs without a window wait for the next cycle, and sold slots stay sold.
    period
        The time from one cycle to the next (--flow). Default: the scheduling interval.
    carried
        The jobs that go first in a cycle (--flow): those that have waited longest (oldest, the default), or newest.
    patience
        The number of cycles without a window after which a job gives up (--flow). Default: it never does.
    price_from
        A time, and a factor for all prices from then on. For a tariff, repeat the option in order of time.
    price_demand
        How strongly prices follow the demand of each 100 time units: 0: not at all; 1: in proportion to it.
    file
        Read nodes and jobs from this file. A .toml file, see the docs on the market; nothing is generated.
    trace
        Use the time that this log leaves idle under EASY. It runs on --federation; no domain is generated.
    federation
        The machine of --trace: a .toml file, or the name of a shipped federation. Default: the log's machine.
    begin
        The begin of the scheduling interval (--trace), in seconds after the first submission.
    interval
        The length of the scheduling interval.
    out
        Write the last cycle's windows: .csv. They are those of the first method.
    show
        Print every job's window of the last cycle (--flow: every cycle).
    gantt
        Draw the last cycle's windows: .svg, .png or .pdf. They are those of the first method.

    Examples
    --------
    fedsched market --method css --method slicer --cycles 200
    fedsched market --flow --cycles 8 --period 300 --method css
    fedsched market --trace sample --federation example --begin 40000 --interval 20000 --length 600 1200
    """
    from fedsched.market import Backfilling, Bsf, Domain, Jobs, Slicer, flows_of, schedule
    from fedsched.market.environment import tells_apart
    from fedsched.market.files import read_market, write_windows
    from fedsched.plot.cycle import save

    if cycles < 1:
        raise ValueError(f"--cycles={cycles} must be at least 1.")
    seed = seed or 0
    drawn: dict[str, object] = {
        "nodes": nodes,
        "jobs": jobs,
        "tasks": tasks,
        "length": length,
        "budget": budget,
        "interval": interval,
    }
    if file is not None:
        _refuse("--file has its own nodes and jobs", drawn | {"begin": begin})
    elif trace is not None:
        _refuse("the nodes of --trace are those of the log or of --federation", {"nodes": nodes})
    else:
        _refuse("generated domains begin at 0, and --begin is for a log (--trace)", {"begin": begin})
    if not is_number(begin):
        raise ValueError(f"--begin={begin!r} must be a finite number of seconds.")
    if trace is not None and is_number(interval) and interval > 0 and not tells_apart(begin, interval):
        raise ValueError(
            f"--begin={begin!r} must be nearer to the log's first submission: a number of this size is too coarse for "
            f"times within --interval={interval!r}."
        )
    check_output(out, (".csv",), what="a table of windows")
    check_output(gantt, CHART_FORMATS, what="a chart")
    check_apart((file, trace, federation), {"--out": out, "--gantt": gantt})
    if file is not None and (trace is not None or cycles > 1):
        raise ValueError("--file is a single cycle; leave --trace and --cycles out.")
    if federation is not None and trace is None:
        raise NotTakenError(
            ("federation",),
            "--federation is the machine of --trace; give --trace too, or leave both out for generated domains.",
        )
    if not flow and (period, carried, patience) != (None, None, None):
        raise ValueError("--period, --carried and --patience are for successive cycles; give --flow too.")
    if flow and (file is not None or trace is not None or out is not None or gantt is not None):
        raise ValueError("--flow is for generated domains; leave --file, --trace, --out and --gantt out.")
    prices = _prices(price_from, price_demand)
    own, idle, traced, domain = None, None, None, Domain(nodes=nodes, interval=interval, prices=prices)
    if file is not None:
        own, idle = read_market(file)
    elif trace is not None:
        traced = load_workload(log.log(trace))
        idle, domain = _idle_time(traced, federation, begin, interval)
    if idle is not None and prices is not None:
        idle = idle.priced(prices)
    made = Jobs(jobs=jobs, nodes=tasks, length=length, budget=budget)
    methods: dict[str, Method] = {
        "css": Slicer(groups=1, search="amp", problem=problem),
        "slicer": Slicer(groups=groups, problem=problem),
        "backfilling": Backfilling(),
        "bsf": Bsf(first=first, slicer=Slicer(groups=1, problem=problem), select=select),
    }
    if flow:
        with progress_bar("scheduling") as progress:
            flows = flows_of(
                {name: methods[name] for name in method},
                domain=domain,
                jobs=made,
                cycles=cycles,
                period=period,
                order=carried or "oldest",
                patience=patience,
                first=seed,
                progress=progress,
            )
        print_flows(flows, json=json, show=show)
        return 0
    done: dict[str, list[Assignment]] = {name: [] for name in dict.fromkeys(method)}
    with progress_bar("scheduling") as progress:
        for cycle in range(cycles):
            environment = domain.environment(seed + cycle) if idle is None else idle
            batch = made.batch(seed + cycle, domain=domain) if own is None else own
            for name, results in done.items():
                results.append(schedule(batch, environment, method=methods[name], seed=seed + cycle))
            if progress is not None:
                progress((cycle + 1) * len(batch), cycles * len(batch))
    means = {name: _means(results) for name, results in done.items()}
    last = {name: results[-1] for name, results in done.items()}
    if gantt is not None:
        save(next(iter(last.values())), gantt)
    if out is not None:
        write_windows(next(iter(last.values())), out)
    if json:
        plans = {name: _plan(plan) for name, plan in last.items()}
        about = ({"cleaning": None} if traced is None else reading_of(traced)) | {"written": written(out, gantt)}
        print_json({"cycles": cycles, "means": means, "last": plans} | about)
        return 0
    say(verdict(means))
    for name, plan in last.items():
        without = (f"job {plan.batch[j].name}: {why}" for j, why in plan.unscheduled().items())
        for line in (*plan.limits, *without):
            say(f"{name}{'' if cycles == 1 else ', last cycle'}: {line}")
    say(next(iter(last.values())).environment if cycles == 1 else f"{cycles} cycles of {counted(jobs, 'job')}")
    rows = [(name, *(number_text(means[of][name]) for of in means), text) for name, text in MEANINGS.items()]
    unserved = "share of cycles in which a job got no window"
    rows.append(("failures", *(number_text(means[of]["failures"]) for of in means), unserved))
    print_table("market", ("metric", *means, "meaning"), rows, align="l" + "r" * len(means) + "l")
    for name, plan in last.items():
        if show:
            _print_windows(name, plan)
    return 0


def verdict(means: dict[str, dict[str, float]]) -> str:
    """Return the answer in a sentence: how many jobs have a window, and the least cost and earliest mean finish."""

    def of(metric: str) -> str:
        return ", ".join(f"{number_text(row[metric])} {name}" for name, row in means.items())

    if len(means) == 1:
        ((name, row),) = means.items()
        told = f"jobs with a window: {number_text(row['scheduled'])}, their cost {number_text(row['cost'])}"
        return f"{name}: {told}, mean finish {number_text(row['finish'])}."
    known = {metric: {n: row[metric] for n, row in means.items() if row[metric] == row[metric]} for metric in MEANINGS}
    if not known["finish"]:
        return "No job gets a window."
    cheapest, soonest = (min(known[metric], key=known[metric].__getitem__) for metric in ("cost", "finish"))
    return (
        f"Jobs with a window: {of('scheduled')}. Least total cost: {cheapest}, {number_text(known['cost'][cheapest])}; "
        f"earliest mean finish: {soonest}, {number_text(known['finish'][soonest])}."
    )


def _refuse(why: str, options: dict[str, object]) -> None:
    """Raise NotTakenError if one of these options, which the call does not use, differs from its default."""
    usual = inspect.signature(command).parameters
    given = [name for name, value in options.items() if value != usual[name].default]
    if given:
        raise NotTakenError(given, f"{why}; leave --{given[0]} out.")


def _prices(factors: tuple[tuple[float, float], ...], demand: float | None) -> Prices | None:
    """Return how prices change over time, by --price-from or --price-demand; None without either; raise with both."""
    from fedsched.market import Demand, Hours

    if factors and demand is not None:
        raise ValueError("--price-from and --price-demand both set prices; give only one of them.")
    if demand is not None:
        return Demand(strength=demand)
    return Hours(factors) if factors else None


def _means(results: list[Assignment]) -> dict[str, float]:
    # A NaN (in that cycle there is nothing to average) is left out of the mean.
    totals = [plan.totals().as_dict() for plan in results]
    known = {name: [row[name] for row in totals if row[name] == row[name]] for name in MEANINGS}
    means = {name: sum(values) / len(values) if values else float("nan") for name, values in known.items()}
    return means | {"failures": sum(plan.failed for plan in results) / len(results)}


def _plan(plan: Assignment) -> dict[str, object]:
    windows = [
        {"job": plan.batch[w.job].name, "start": w.start, "runtime": w.runtime, "cost": w.cost, "nodes": list(w.nodes)}
        for w in plan.windows
        if w is not None
    ]
    without = [{"job": plan.batch[j].name, "reason": reason} for j, reason in plan.unscheduled().items()]
    return {"method": plan.method, "windows": windows, "unscheduled": without, "limits": list(plan.limits)}


def _print_windows(name: str, plan: Assignment) -> None:
    rows: list[tuple[str, ...]] = []
    for request, window in zip(plan.batch, plan.windows, strict=True):
        known = (request.name, request.criterion, number_text(request.budget))
        if window is None:
            rows.append((*known, "—", "—", "—", "none"))
        else:
            nodes = " ".join(str(node) for node in window.nodes)
            rows.append((*known, *(number_text(v) for v in (window.cost, window.start, window.finish)), nodes))
    print_table(name, ("job", "criterion", "budget", "cost", "start", "finish", "nodes"), rows, align="llrrrrl")


def _idle_time(
    workload: Workload, federation: Path | None, begin: float, interval: float
) -> tuple[Environment, Domain]:
    """Simulate a log under EASY; return the node time left idle in the interval, and the domain that budgets come from.

    `begin` is in seconds after the simulation's first moment.
    """
    import numpy as np

    from fedsched.market import Domain, Environment, Pricing
    from fedsched.simulate import simulate
    from fedsched.study.scenario import Machine

    if federation is None and not workload.nodes:
        raise ValueError(f"{workload.name}: the log does not say how many nodes its machine has; give --federation.")
    cluster = Machine(federation=None if federation is None else str(federation)).cluster(workload)
    plan = simulate(workload, cluster, "easy")
    speed = np.array([group.speed for group in cluster.groups])
    pricing = Pricing(middle=float(np.average(speed, weights=[group.count for group in cluster.groups])))
    origin = plan.t0 + begin
    environment = Environment.of_schedule(plan, begin=origin, end=origin + interval, price=pricing.of(speed))
    return environment, Domain(nodes=cluster.nodes, performance=(1.0, max(1.0, float(speed.max()))), pricing=pricing)
