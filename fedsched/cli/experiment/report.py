"""`fedsched report`: write one HTML page about a saved search result, or about policies simulated on a log."""

from __future__ import annotations

import re
from pathlib import Path  # noqa: TC003 the command line reads the types
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from fedsched.cli.shared import groups, options
from fedsched.cli.shared.input_output import (
    NotTakenError,
    check_apart,
    check_input,
    check_output,
    facts_of,
    load_workload,
    option,
    print_json,
    progress_bar,
    reading_of,
    repeat_command,
    say,
)
from fedsched.core.text import counted
from fedsched.model.reading import USUAL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fedsched.engine.sharing import NodeSharing
    from fedsched.model.jobs.workload import Workload
    from fedsched.report import Material
    from fedsched.study.scenario import PolicyChoice, Scenario


FIRST = ("--out", "--policy", "--federation", "--nodes", "--head", "--title", "--json")  # in the short help


def command(
    source: Path | None = None,
    /,
    *,
    out: Annotated[Path, Parameter(group=options.OUTPUT)],
    scenario: options.Scenario = None,
    log: groups.Log = groups.LOG,
    machine: groups.Machine = groups.MACHINE,
    reading: groups.WholeReading = groups.WHOLE_READING,
    policy: tuple[str, ...] = (),
    sharing: options.Sharing = None,
    reservation: options.Reservation = None,
    title: Annotated[str, Parameter(group=options.OUTPUT)] = "",
    price: Annotated[float | None, Parameter(group=options.OUTPUT)] = None,
    co2: Annotated[float | None, Parameter(group=options.OUTPUT)] = None,
    json: options.Json = False,
) -> int:
    """Write one HTML page about a saved search result, or about policies simulated on a log; it needs no network.

    Parameters
    ----------
    source
        A saved result, or a log to simulate. A file of `fedsched optimize --save`; or a workload file or `sample`.
    out
        The page: .html.
    policy
        For a log: a policy to simulate. May be repeated to compare several. Default: easy, or the scenario's policy.
    title
        The page's heading.
    price
        The price of a kWh, in any currency. It can be changed on the page.
    co2
        Kilograms of CO2 per kWh. They can be changed on the page.

    Examples
    --------
    fedsched report result.json --out report.html --price 0.25 --co2 0.35
    fedsched report sample --federation example --policy easy --policy fcfs --out report.html
    """
    from fedsched.optimize.result import Result
    from fedsched.optimize.result.printed import from_file
    from fedsched.report import of_result, write
    from fedsched.study.scenario import PolicyChoice

    check_output(out, (".html", ".htm"), what="a report")
    check_apart((source, scenario, *machine.files), {"--out": out})
    repeat = ""
    given = [*log.given(), *machine.given(), *reading.given()]
    given += ["policy"] * bool(policy) + ["scenario"] * (scenario is not None)
    shares = {name: word for name, word in (("sharing", sharing), ("reservation", reservation)) if word is not None}
    given += shares
    if source is not None and _is_result(source):
        if given and given != ["from"]:
            what = f"{source}: a saved result has its own jobs and nodes"
            raise NotTakenError(given, f"{what}; leave {option(given[0])} out, which is for logs.")
        check_input(source)
        material = of_result(Result.load(source))
    else:
        asked = groups.scenario_of(scenario, source, log=log, machine=machine, reading=reading, usual=USUAL)
        workload = load_workload(asked.jobs, asked.seed)
        policies = policy or ((asked.policy,) if scenario is not None else ("easy",))
        shared = groups.sharing_of(PolicyChoice() if policy else asked.policy, sharing, reservation)
        material = _simulated(workload, asked, policies, shared)
        words = {"scenario": scenario} | machine.given() | log.given() | reading.given() | shares
        words["policy"] = policy or (() if scenario is not None else ("easy",))
        repeat = repeat_command("report", source, words, out)
    with progress_bar("page") as progress:
        write(material, out, title=title, repeat=repeat, price_per_kwh=price, co2_per_kwh=co2, progress=progress)
    if json:
        plans = [{"label": entry.label, "kind": entry.kind, "drawn": entry.drawn} for entry in material.entries]
        written = {"report": str(out), "written": [str(out)]}
        facts = reading_of(material.workload, material.federation)
        about = {"jobs": len(material.workload), **facts, "plans": plans}
        unverified = {} if material.result is None else {"unverified": list(material.result.unverified)}
        print_json(written | {"bytes": out.stat().st_size} | about | unverified)
    else:
        say(f"Report: {out} ({out.stat().st_size / 1e6:.1f} MB, {counted(len(material.entries), 'schedule')})")
        for line in facts_of(material.workload, material.federation):
            say(line)
        if material.result is not None:
            say(from_file(material.result))
    return 0


def _is_result(source: Path) -> bool:
    # A Batsim workload is JSON as well. JSON that is neither is treated as a result, so that the error says it is none.
    # The keys are looked for in the text: the file is parsed once, by its reader.
    from fedsched.io import plain_suffix
    from fedsched.io.files import read_text

    named_so = plain_suffix(source) == ".json"
    if not named_so or not source.is_file():
        return named_so
    text = read_text(source)
    return not all(re.search(rf'"{key}"\s*:', text) for key in ("jobs", "profiles"))


def _simulated(
    workload: Workload, asked: Scenario, policies: Sequence[str | PolicyChoice], sharing: NodeSharing | None
) -> Material:
    from fedsched.report import of_schedules
    from fedsched.simulate import simulate

    cluster = asked.cluster(workload)
    schedules = []
    for policy in policies:
        label, rules = (policy, policy) if isinstance(policy, str) else (policy.name, policy.policy(seed=asked.seed))
        with progress_bar(label) as progress:
            schedule = simulate(workload, cluster, rules, sharing=sharing, reading=asked.reading, progress=progress)
        if not schedule.complete:
            raise KeyboardInterrupt  # a report on part of a run would mislead
        schedules.append(schedule)
    return of_schedules(schedules)
