"""`fedsched twin`: dump and replay a Slurm cluster, explain where simulation and record differ, forecast starts."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 the command line reads the types
from typing import TYPE_CHECKING, Any, Literal

from fedsched.cli.shared import options
from fedsched.cli.shared.input_output import (
    PLAN_FORMATS,
    check_no_link,
    check_output,
    figure,
    number_text,
    print_json,
    print_table,
    progress_bar,
    refuse,
    refuse_sharing,
    say,
    write_schedule,
    written,
)
from fedsched.cli.slurm import outlook
from fedsched.core.text import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fedsched.site.twin import Explained, Replayed

# The options of each action.
TAKES: dict[str, tuple[str, ...]] = {
    "dump": ("since", "anonymise", "without", "print_commands"),
    "replay": ("policy", "given", "out"),
    "report": ("policy", "out"),
    "now": ("draws", "share", "seed", "score"),
    "why": ("draws", "share", "seed"),
    "example": ("kind", "jobs", "nodes", "seed", "policy"),
}
NOTHING = "nothing"


FIRST = ("--since", "--print-commands", "--policy", "--out", "--draws", "--score", "--json")  # in the short help


def command(
    action: Literal["dump", "replay", "report", "now", "why", "example"],
    subject: Path | None = None,
    folder: Path | None = None,
    /,
    *,
    since: str | None = None,
    anonymise: str | None = None,
    without: tuple[str, ...] = (),
    print_commands: bool = False,
    policy: str | None = None,
    given: tuple[str, ...] = (),
    out: Path | None = None,
    kind: str | None = None,
    jobs: int | None = None,
    nodes: int | None = None,
    draws: int | None = None,
    share: float | None = None,
    score: int | None = None,
    seed: options.Seed = None,
    sharing: options.NoSharing = None,
    json: options.Json = False,
) -> int:
    """Dump and replay a Slurm cluster, explain where simulation and record differ, and forecast starts.

    `dump` runs commands that only read (sacct, scontrol show, sacctmgr show, sshare, squeue, sinfo), prints each before
    it is run, and writes their output into a new folder. `replay` simulates the jobs of a dump, from the jobs that ran
    and waited when it begins. `report` gives a cause for each start that differs, and writes a page. `example` makes a
    dump to try them on.

    `now` forecasts when each waiting job will start, as a range. `why JOB` says what keeps a job from starting. Both
    look at the live cluster, by commands that only read; or at a dump, at the time when it was taken; or at a folder
    that `plan --keep` has written.

    Parameters
    ----------
    action
        dump, replay, report, now, why or example. See above.
    subject
        The folder of the dump; why: the job. A job is 17, or 17_3 for a task of an array.
    folder
        why: the folder of the dump, instead of the live cluster.
    since
        dump: read jobs from this time on, in Slurm's notation. Default: now-28days.
    anonymise
        dump: rename users, accounts and jobs by means of this salt, and leave paths out.
    without
        dump: a part to leave out, if the cluster has none: shares, accounts, qos, events, … May be repeated.
    print_commands
        dump: print a shell script that makes the dump. It is for use elsewhere; nothing is read here.
    policy
        The policy to replay. Default: slurm, the dump's own scheduler.
    given
        replay: a recorded fact to keep, or `nothing`. May be repeated. Default: all facts but other jobs' starts.
    out
        replay: the schedule's file; report: the page. .csv, .swf, .json; .html (default: twin.html in the folder).
    kind
        example: a cluster with one queue (plain, default), many queues and shared nodes (cerit), account limits (ub).
    jobs
        example: the number of jobs. Default: 2000.
    nodes
        example: the number of nodes. Default: 64.
    draws
        now, why: the number of replays. Each has newly drawn run times. Default: 100.
    share
        now, why: the share of starts that should lie within their forecast range. Default: 0.8.
    score
        now: forecast at this many past moments of a dump. From what was known then; compared with the actual starts.

    Examples
    --------
    fedsched twin dump --print-commands
    fedsched twin example day --jobs 400 --nodes 32
    fedsched twin replay day --out simulated.csv
    fedsched twin report day --out twin.html
    fedsched twin now day
    fedsched twin why 12 sample
    """
    words = {
        "since": since, "anonymise": anonymise, "without": without or None, "print_commands": print_commands or None,
        "policy": policy, "given": given or None, "out": out, "kind": kind, "jobs": jobs, "nodes": nodes, "seed": seed,
        "draws": draws, "share": share, "score": score,
    }  # fmt: skip
    refuse(f"twin {action}", words, TAKES[action])
    refuse_sharing(f"twin {action}", sharing)
    if action == "why":
        return outlook.why(None if subject is None else str(subject), folder, words, json)
    if folder is not None:
        raise ValueError(f"twin {action} takes one folder; leave {folder} out.")
    actions = {"dump": _dump, "replay": _replay, "report": _report, "now": outlook.now, "example": _example}
    return actions[action](subject, words, json)


def _dump(folder: Path | None, given: Mapping[str, Any], json: bool) -> int:
    from fedsched.site.twin import commands_of, dump, script
    from fedsched.site.twin.commands import SINCE

    since, without = given["since"] or SINCE, given["without"] or ()
    if given["print_commands"]:
        text = script(since, without=without)
        if json:
            print_json({"commands": [str(one) for one in commands_of(since, without=without)], "script": text})
        else:
            say(text.rstrip("\n"))
        return 0
    files = dump(
        _named(folder, "dump"),
        since=since,
        anonymise=given["anonymise"],
        without=without,
        told=lambda one: say(f"fedsched: {one}", err=True),
    )
    if json:
        print_json({"folder": str(folder), "written": [str(path) for path in files]})
    else:
        size = sum(path.stat().st_size for path in files)
        say(f"Dump: {folder} ({counted(len(files), 'file')}, {size / 1e6:.1f} MB)")
    return 0


def _replay(folder: Path | None, given: Mapping[str, Any], json: bool) -> int:
    from fedsched.site.twin import replay

    facts = given["given"]
    if facts is not None and NOTHING in facts:
        facts = ()
    out = given["out"]
    check_output(out, PLAN_FORMATS)
    with progress_bar("replaying") as progress:
        found = replay(_named(folder, "replay"), given["policy"] or "slurm", given=facts, progress=progress)
    if out is not None:
        write_schedule(found.schedule, out)
    if json:
        print_json(_of_replay(found) | {"notes": list(found.notes), "written": written(out)})
        return 0
    say(verdict_of_replay(found))
    for note in found.notes:
        say(note)
    print_table(str(found.schedule.policy), ["", "recorded", "simulated"], _rows(found), align="lrr")
    return 0


def verdict_of_replay(found: Replayed) -> str:
    """Return the answer in a sentence: how many starts are as recorded, and the mean waits."""
    equal = f"{found.share:.1%} of {counted(len(found.equal), 'start')} are equal within {found.site.interval:g} s"
    said = _of_replay(found)
    waits = [f"{figure('mean_wait', said[side]['mean_wait'])} {side}" for side in ("recorded", "simulated")]
    return f"{equal}; mean wait {', '.join(waits)}."


def _rows(found: Replayed) -> list[tuple[str, str, str]]:
    recorded, simulated = (_of_replay(found)[side] for side in ("recorded", "simulated"))
    return [(name.replace("_", " "), number_text(recorded[name]), number_text(simulated[name])) for name in recorded]


def _of_replay(found: Replayed) -> dict[str, Any]:
    """Return a replay's figures by name: how many starts equal the record, and recorded and simulated waits and use."""
    import numpy as np

    from fedsched.site.twin import figures

    def of(waits: Any, use: Any) -> dict[str, float]:
        known = waits[~np.isnan(waits)]
        some = known.size > 0
        return {
            "mean_wait": float(known.mean()) if some else float("nan"),
            "median_wait": float(np.median(known)) if some else float("nan"),
            "max_wait": float(known.max()) if some else float("nan"),
            "mean_nodes_in_use": float(use.mean()),
        }

    (recorded, simulated), use = figures.waits(found), figures.in_use(found)
    early, late = figures.signs(found)
    return {
        "policy": str(found.schedule.policy), "given": list(found.given), "compared": len(found.equal),
        "equal": found.share, "earlier": early, "later": late, "within": found.site.interval,
        "quantiles": {f"{share:g}": value for share, value in figures.quantiles(found).items()},
        "moving_average_error": figures.averages(found).error,
        "recorded": of(recorded, use.recorded), "simulated": of(simulated, use.simulated),
    }  # fmt: skip


def _report(folder: Path | None, given: Mapping[str, Any], json: bool) -> int:
    from fedsched.site.twin import explain, read_site
    from fedsched.site.twin.page import verdict, write

    named = _named(folder, "report")
    out = given["out"] or named / "twin.html"
    if given["out"] is None:
        check_no_link(out)
    site = read_site(named)
    check_output(out, (".html", ".htm"), what="a report")
    policy = given["policy"] or "slurm"
    found = explain(site, policy)
    repeat = f"fedsched twin report {named} --policy {policy} --out {out}"
    write(found, out, repeat=repeat)
    if json:
        said = _of_causes(found)
        print_json({**said, "report": str(out), "written": [str(out)]})
        return 0
    total = max(len(found.cause), 1)
    rows = [(name, f"{count:,}", f"{count / total:.1%}") for name, (count, _) in found.counts().items()]
    say(verdict(found))
    for note in found.full.notes:
        say(note)
    print_table(f"Why starts differ: {found.plain.problem.policy}", ["cause", "starts", "share"], rows, align="lrr")
    say(f"Report: {out} ({out.stat().st_size / 1e6:.1f} MB)")
    return 0


def _of_causes(found: Explained) -> dict[str, Any]:
    causes = {name: {"starts": count, "its_own": own} for name, (count, own) in found.counts().items()}
    return {
        "explained": found.share, "parts": found.parts, "given_to": found.given_to, "causes": causes,
        "untried": found.untried,
        "nothing_given": _of_replay(found.plain), "all_given": _of_replay(found.full),
        "notes": list(found.full.notes),
    }  # fmt: skip


def _example(folder: Path | None, given: Mapping[str, Any], json: bool) -> int:
    from fedsched.site.twin import made_dump

    known = {name: given[name] for name in TAKES["example"] if given[name] is not None}
    target = made_dump(_named(folder, "example"), **known)
    files = sorted(map(str, target.iterdir()))
    if json:
        print_json({"folder": str(target), "written": files})
    else:
        say(f"A made dump: {target} ({counted(len(files), 'file')}); try: fedsched twin report {target}")
    return 0


def _named(folder: Path | None, action: str) -> Path:
    if folder is None:
        raise ValueError(f"twin {action} needs a folder: fedsched twin {action} FOLDER.")
    return folder
