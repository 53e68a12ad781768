"""`fedsched study`: simulate what-if scenarios on a log or dump."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 the command line reads the types
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from fedsched.cli.shared import options
from fedsched.cli.shared.input_output import (
    NotTakenError,
    check_apart,
    check_output,
    print_json,
    print_table,
    repeat_command,
    say,
)
from fedsched.core.text import one_line

if TYPE_CHECKING:
    from fedsched.study import Study


FIRST = ("--scenario", "--sweep", "--policy", "--bounds", "--seed", "--out", "--json")  # in the short help


def command(
    source: Path,
    /,
    *more: Annotated[Path, Parameter(name="MORE")],
    scenario: tuple[str, ...] = (),
    sweep: tuple[str, ...] = (),
    policy: str | None = None,
    out: Annotated[Path | None, Parameter(group=options.OUTPUT)] = None,
    bounds: bool = True,
    seed: options.Seed = None,
    sharing: options.NoSharing = None,
    json: options.Json = False,
) -> int:
    """Simulate what-if scenarios on a log or dump, and compare each with the unchanged system.

    Differences of mean waits come with intervals, and with how many users wait less or more.

    A scenario is one or more changes, separated by spaces: policy=NAME, nodes=+20% (or 80%, -16, 120; of all nodes, or
    of some, as gpu:+4 for partition gpu), set.NAME=VALUE and conf=FILE for a dump's slurm.conf,
    federate=home|single|co for several logs, partition=FROM>TO, estimates=exact (or x0.5), maintenance=2d..2.5d
    (from the first submit on), load=1.2, power=timeout:10m. A name may precede it: "more nodes: nodes=+20%".

    Parameters
    ----------
    source
        A dump's folder, a log, a scenario's .toml, or `sample`.
    more
        Further logs or dumps; each adds a cluster.
    scenario
        The changes that make a scenario. Repeat the option for further scenarios.
    sweep
        One change at several values, each a scenario. As nodes=80%..140%:10 or set.bf_interval=30..120:30.
    policy
        The policy of all scenarios, or FILE.py:NAME for your own. Default: a dump's own scheduler; easy for a log.
    out
        Write a page: .html.
    bounds
        Compute proven lower bounds of the mean wait.

    Examples
    --------
    fedsched study sample --scenario nodes=+20% --scenario "no backfilling: policy=fcfs" --out study.html
    fedsched study sample --sweep nodes=100%..140%:20
    """
    from fedsched.core.own_files import is_own
    from fedsched.policies import own_policy
    from fedsched.study import scenarios_of, study, sweep_of

    if sharing is not None:
        file = "a scenario's .toml with sharing under [policy]"
        raise NotTakenError(("sharing",), f"study takes no --sharing={sharing}; give {file}.")
    check_output(out, (".html", ".htm"), what="a report")
    check_apart((source, *more), {"--out": out})
    scenarios = scenarios_of(scenario)
    for text in sweep:
        scenarios |= sweep_of(text)
    if not scenarios:
        raise ValueError("study needs --scenario or --sweep: fedsched study sample --scenario nodes=+20%.")
    rules = own_policy(policy) if policy and is_own(policy) else policy
    found = study(
        [source, *more], scenarios, policy=rules, bounds=bounds, seed=seed or 0,
        told=None if json else lambda name: say(f"fedsched: simulating {name}", err=True),
    )  # fmt: skip
    if out is not None:
        given = {"scenario": scenario, "sweep": sweep, "policy": policy, "bounds": None if bounds else False}
        found.report(out, repeat=repeat_command("study", [source, *more], given | {"seed": seed}, out))
    if json:
        print_json(_as_json(found) | {"written": [str(out)] if out is not None else []})
        return 0
    _print(found)
    if out is not None:
        say(f"Report: {out} ({out.stat().st_size / 1e6:.1f} MB)")
    return 0


def verdict(found: Study) -> str:
    """Return the answer in a sentence: the scenario of the least mean wait, and its difference to the present state."""
    from fedsched.report.formatting import GAP
    from fedsched.study.page import verdict

    return one_line(verdict(found).replace(GAP, " "))


def _print(found: Study) -> None:
    from fedsched.study.page import ENERGY, HEADS, NO_USERS, energies, rows_of

    heads = ["", "nodes", *HEADS, "difference", "bound"]
    say(verdict(found))
    if found.recorded is not None:
        say(str(found.recorded))
    for line in found.lines:
        say(line)
    print_table("What if", heads, rows_of(found), align="l")
    users = {one.name: found.by_user(one) for one in found.scenarios}
    if any(share.of for share in users.values()):
        rows = [(name, f"{share.of:,}", f"{share.less:,}", f"{share.more:,}") for name, share in users.items()]
        title = "Users whose mean wait changes by more than a minute"
        print_table(title, ["", "users", "wait less", "wait more"], rows, align="l")
    else:
        say(NO_USERS)
    if used := energies(found):
        print_table(*ENERGY, used, align="l")


def _as_json(found: Study) -> dict[str, Any]:
    def told(one: Any) -> dict[str, Any]:
        said = {"name": one.name, "change": one.change, "policy": one.policy, "nodes": one.nodes, **one.metrics,
                "bound": one.bound, "notes": list(one.notes), "dropped": list(one.dropped)}  # fmt: skip
        if one is not found.base:
            said["difference"] = found.difference(one)._asdict()
            said["users"] = found.by_user(one)._asdict()
            said["sizes"] = [share._asdict() for share in found.by_size(one)]
        return said

    recorded = None if found.recorded is None else found.recorded._asdict()
    return {
        "jobs": len(found.size), "recorded": recorded, "resampled": found.blocks,
        "days_of_each": found.days_of_block, "outcomes": [told(one) for one in found.outcomes],
        "notes": list(found.notes),
    }  # fmt: skip
