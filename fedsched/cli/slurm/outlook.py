"""Print what `fedsched twin now` and `twin why` find: when jobs will start, and what keeps a job from starting."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedsched.cli.shared.input_output import print_json, print_table, progress_bar, say
from fedsched.cli.slurm.steering import span
from fedsched.core.text import counted, duration

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fedsched.site.outlook import Cause, Forecast, Outlook, Present, Score, Why

COLUMNS = ("job", "user", "account", "partition", "nodes", "limit", "earliest", "median", "latest",
           "by limits", "median from now")  # fmt: skip


def now(folder: Path | None, given: Mapping[str, Any], json: bool) -> int:
    """Print when each waiting job will start, and return 0; with --score, print how good past forecasts were."""
    from fedsched.site.outlook import forecast, score

    known = _numbers(given, "draws", "share", "seed")
    if given["score"] is not None:
        if folder is None:
            raise ValueError("twin now --score needs a dump with the actual starts: fedsched twin now DUMP --score N.")
        with progress_bar("forecasting") as progress:
            scored = score(folder, moments=given["score"], progress=progress, **known)
        if json:
            print_json(_score_as_json(scored))
        else:
            _say_score(scored)
        return 0
    here = _present(folder)
    with progress_bar("replaying") as progress:
        found = forecast(here, progress=progress, **known)
    if json:
        print_json(_outlook_as_json(found))
    else:
        _say_outlook(found)
    return 0


def why(job: str | None, folder: Path | None, given: Mapping[str, Any], json: bool) -> int:
    """Print when a job will start and what keeps it from starting, and return 0."""
    from fedsched.site import outlook

    if job is None:
        raise ValueError("twin why needs a job: fedsched twin why JOB, or fedsched twin why JOB FOLDER.")
    if folder is not None and not folder.exists() and Path(job).is_dir():
        raise ValueError(f"twin why: {job} is a folder; name the job first: fedsched twin why {folder} {job}.")
    found = outlook.why(_present(folder), job, **_numbers(given, "draws", "share", "seed"))
    if json:
        print_json(_why_as_json(found))
    else:
        _say_why(found)
    return 0


def _numbers(given: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: given[name] for name in names if given[name] is not None}


def _present(folder: Path | None) -> Present:
    """Return the present state of the cluster in a folder; without a folder, of the live cluster.

    Each Slurm command on the live cluster is printed on stderr before it is run.
    """
    from fedsched.site.outlook import present
    from fedsched.site.steer import Shell
    from fedsched.site.steer.runners import AnnouncingRunner

    if folder is not None:
        return present(folder)
    return present(AnnouncingRunner(Shell(), lambda command: say(f"fedsched: {command}", err=True)))


def _say_outlook(found: Outlook) -> None:
    here, queue = found.present, found.present.queue
    rows = [
        [
            one.job.target, one.job.user, one.job.account, one.job.partition, f"{one.job.nodes:,}",
            span(one.job.limit) if one.job.limit < math.inf else "-",
            *map(here.clock, one[1:]), span(one.median - queue.now),
        ]
        for one in found.forecasts
    ]  # fmt: skip
    say(verdict_of_outlook(found))
    for note in found.notes:
        say(note)
    print_table(
        f"{queue.cluster} at {here.clock(queue.now)}: {counted(len(queue.running), 'job')} with nodes, "
        f"{counted(len(rows), 'start')} forecast of {counted(found.draws, 'replay')}, ranges of {found.share:.0%}",
        COLUMNS, rows, align="llllrrllllr",
    )  # fmt: skip


def verdict_of_outlook(found: Outlook) -> str:
    """Return the answer in a sentence: when the first, half and the last of the waiting jobs are expected to start."""
    here = found.present
    medians = sorted(one.median for one in found.forecasts)
    unknown = len(_without_forecast(found))
    others = f"; no forecast for {counted(unknown, 'job')}" if unknown else ""
    if not medians:
        return f"No start can be forecast{others}."
    first, half, last = (here.clock(medians[k]) for k in (0, (len(medians) - 1) // 2, -1))
    when = f"the first at {first}, half of them by {half}, the last at {last}" if len(medians) > 1 else f"at {first}"
    return f"{counted(len(medians), 'start')} forecast, as medians: {when}{others}."


def _without_forecast(found: Outlook) -> list[dict[str, str]]:
    """Return each waiting job without a forecast, and why: the replays lack its cause, or the cause ends some time."""
    queue = found.present.queue
    aside = {one.number: f"Slurm says {one.reason}, which ends at an unknown time" for one in queue.aside}
    why = {**aside, **found.unknown}
    return [{"job": one.target, "why": why[one.number]} for one in queue.jobs if one.number in why]


def _say_why(found: Why) -> None:
    here, job = found.present, found.job
    say(f"Job {job.target} starts {_range(found.forecast, here)}, as things are." if found.forecast else
        f"The start of job {job.target} cannot be forecast.")  # fmt: skip
    now_ = here.queue.now
    say(f"Job {job.target} of {job.user}, {counted(job.nodes, 'node')} in {job.partition}, has waited "
        f"{span(now_ - job.submit)}; Slurm says: {found.reason or 'nothing'}")  # fmt: skip
    if not found.causes:
        say("Nothing keeps the job from starting: it starts at Slurm's next pass.")
    for cause in found.causes:
        say(f"{cause.kind}: {cause.what}{_over(cause, here)}{_without(cause, here)}")
    for note in found.notes:
        say(note)


def _over(cause: Cause, here: Present) -> str:
    if math.isnan(cause.over) or math.isinf(cause.over):
        return ""
    return f"; over by {here.clock(cause.over)}"


def _without(cause: Cause, here: Present) -> str:
    return f"; without that it would start {_range(cause.without, here)}" if cause.without else ""


def _range(one: Forecast, here: Present) -> str:
    ends = (here.clock(one.earliest), here.clock(one.latest))
    if one.latest <= here.queue.now + 1.0:
        return "now"
    if ends[0] == ends[1]:
        return f"at {ends[0]}"
    return f"between {ends[0]} and {ends[1]} (median {here.clock(one.median)})"


def _forecast_as_json(one: Forecast | None) -> dict[str, Any] | None:
    if one is None:
        return None
    return {"earliest": one.earliest, "median": one.median, "latest": one.latest, "by_limits": one.by_limits}


def _outlook_as_json(found: Outlook) -> dict[str, Any]:
    queue = found.present.queue
    jobs = [
        {"job": one.job.target, "user": one.job.user, "account": one.job.account, "partition": one.job.partition,
         "nodes": one.job.nodes, "submit": one.job.submit, **(_forecast_as_json(one) or {})}
        for one in found.forecasts
    ]  # fmt: skip
    return {"cluster": queue.cluster, "now": queue.now, "share": found.share, "draws": found.draws, "jobs": jobs,
            "without_forecast": _without_forecast(found), "notes": list(found.notes)}  # fmt: skip


def _why_as_json(found: Why) -> dict[str, Any]:
    causes = [
        {"kind": one.kind, "what": one.what, "jobs": list(one.jobs), "over": _known(one.over),
         "without": _forecast_as_json(one.without)}
        for one in found.causes
    ]  # fmt: skip
    return {"job": found.job.target, "now": found.present.queue.now, "reason": found.reason, "causes": causes,
            "forecast": _forecast_as_json(found.forecast), "notes": list(found.notes)}  # fmt: skip


def _known(seconds: float) -> float | None:
    return seconds if math.isfinite(seconds) else None


def _say_score(found: Score) -> None:
    named = [("as forecast", found), ("as drawn, not calibrated", found.as_drawn)]
    rows = [(name, _covered(one), f"{one.error:,.0f}", f"{one.pinball:,.0f}") for name, one in named if one]
    rows.append(
        ("by limits, as squeue --start", "-", f"{found.error_by_limits:,.0f}", f"{found.pinball_by_limits:,.0f}")
    )
    held = f"{_covered(found)} of {counted(len(found.wait), 'start')} lay in their range"
    say(f"{held}, {found.share:.0%} should; mean error {duration(found.error)}, by limits "
        f"{duration(found.error_by_limits)}.")  # fmt: skip
    low, high = (min(1.0, max(0.0, found.share + side * 2.0 * found.by_chance)) for side in (-1.0, 1.0))
    say(f"with this number of jobs, correct ranges hold {low:.0%} to {high:.0%} of starts (two standard errors)")
    for note in found.notes:
        say(note)
    print_table(
        f"{counted(len(found.wait), 'forecast')} at {counted(found.moments, 'moment')}, ranges of {found.share:.0%}",
        ("", "within range (of resampled moments)", "mean error, s", "pinball loss, s"), rows, align="lrrr",
    )  # fmt: skip


def _covered(found: Score) -> str:
    """Return as text the share of starts that lay in their forecast ranges; its interval is over resampled moments."""
    low, high = found.covered_between
    return f"{found.covered:.1%}" + (f" ({low:.0%} to {high:.0%})" if low == low else "")


def _score_as_json(found: Score) -> dict[str, Any]:
    return {"forecasts": len(found.wait), "moments": found.moments, "share": found.share, "covered": found.covered,
            "covered_between": [_known(one) for one in found.covered_between], "by_chance": found.by_chance,
            "error": found.error, "pinball": found.pinball,
            "as_drawn": found.as_drawn and {"covered": found.as_drawn.covered, "pinball": found.as_drawn.pinball},
            "by_limits": {"error": found.error_by_limits,
            "pinball": found.pinball_by_limits}, "notes": list(found.notes)}  # fmt: skip
