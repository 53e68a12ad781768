"""`fedsched report`: one HTML page about a saved search, or about what policies do with a log."""

from __future__ import annotations

import re
import shlex
from pathlib import Path  # noqa: TC003 the command line reads the types
from typing import TYPE_CHECKING

from fedsched.cli import options  # noqa: TC001 the command line reads the types
from fedsched.cli.shared import (
    NotTakenError,
    check_apart,
    check_input,
    check_output,
    facts_of,
    load_federation,
    load_workload,
    print_json,
    progress_bar,
    reading_of,
    say,
)
from fedsched.text import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fedsched.federation import Federation
    from fedsched.report import Material
    from fedsched.workload import Workload


def command(
    source: Path,
    /,
    *,
    from_: options.From = None,
    out: Path,
    federation: options.Federation = None,
    nodes: options.Nodes = None,
    uplink: options.Uplink = (),
    communication: options.Communication = None,
    head: options.Head = None,
    policy: tuple[str, ...] = (),
    title: str = "",
    price: float | None = None,
    co2: float | None = None,
    json: options.Json = False,
) -> int:
    """Write one HTML page about a saved search, or about what policies do with a log; it needs no network.

    Parameters
    ----------
    source
        A result that `fedsched optimize --save` has written; or a workload file or `sample`, which is then simulated.
    out
        The page: .html.
    policy
        For a log: a policy to simulate; several are shown side by side. Default: easy.
    title
        The page's heading.
    price
        What a kWh costs, in any currency; can be changed in the page.
    co2
        Kilograms of CO2 for a kWh; can be changed in the page.

    Examples
    --------
    fedsched report result.json --out report.html --price 0.25 --co2 0.35
    fedsched report sample --federation example --policy easy --policy fcfs --out report.html
    """
    from fedsched.report import of_result, write
    from fedsched.result import Result
    from fedsched.result.faces import from_file

    check_output(out, (".html", ".htm"), what="a report")
    check_apart((source, federation), {"--out": out})
    repeat = ""
    if _is_result(source):
        if (federation, nodes, uplink, communication, head, policy) != (None, None, (), None, None, ()):
            raise NotTakenError(
                ("federation", "nodes", "uplink", "communication", "head", "policy"),
                f"{source}: a saved result has its jobs and nodes; leave out what is for logs.",
            )
        check_input(source)
        material = of_result(Result.load(source))
    else:
        workload = load_workload(source, head, kind=from_, communication=communication)
        cluster = load_federation(federation, nodes, workload, uplink=uplink)
        material = _simulated(workload, cluster, policy or ("easy",))
        given = {
            "--from": from_,
            "--federation": federation,
            "--nodes": nodes,
            "--head": head,
            "--communication": communication,
        }
        several = {"--uplink": uplink, "--policy": policy or ("easy",)}
        repeat = _words(source, given, several, out)
    with progress_bar("page") as progress:
        write(material, out, title=title, repeat=repeat, price_per_kwh=price, co2_per_kwh=co2, progress=progress)
    if json:
        plans = [{"label": entry.label, "kind": entry.kind, "drawn": entry.drawn} for entry in material.entries]
        written = {"report": str(out), "written": [str(out)]}
        reading = reading_of(material.workload, material.federation)
        about = {"jobs": len(material.workload), **reading, "plans": plans}
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
    # A Batsim workload is JSON as well; what is no workload either is said to be no result. The text tells which, and
    # is taken apart once, by what reads it.
    from fedsched.io import plain_suffix
    from fedsched.io.files import read_text

    named_so = plain_suffix(source) == ".json"
    if not named_so or not source.is_file():
        return named_so
    text = read_text(source)
    return not all(re.search(rf'"{key}"\s*:', text) for key in ("jobs", "profiles"))


def _simulated(workload: Workload, cluster: Federation, policies: tuple[str, ...]) -> Material:
    from fedsched.report import of_schedules
    from fedsched.simulate import simulate

    schedules = []
    for policy in policies:
        with progress_bar(policy) as progress:
            schedule = simulate(workload, cluster, policy, progress=progress)
        if not schedule.complete:
            raise KeyboardInterrupt  # a report on part of a run would mislead
        schedules.append(schedule)
    return of_schedules(schedules)


def _words(source: Path, given: Mapping[str, object], several: Mapping[str, tuple[str, ...]], out: Path) -> str:
    words = ["fedsched", "report", str(source)]
    for option, value in given.items():
        words += [option, str(value)] if value is not None else []
    for option, values in several.items():
        words += [word for value in values for word in (option, value)]
    return shlex.join([*words, "--out", out.name])
