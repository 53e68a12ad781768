"""Write the HTML page of a study: a table of scenarios, differences of waits with intervals, and users' gains."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fedsched.comparison.report import svg
from fedsched.core.text import counted, picture_name
from fedsched.core.text import html as escape
from fedsched.io.atomic import atomic_text
from fedsched.plot import style
from fedsched.report.formatting import duration, number, share
from fedsched.report.skeleton import Markup, chapters, document, table
from fedsched.study.record import FEWEST

if TYPE_CHECKING:
    from os import PathLike

    from fedsched.study.record import Interval, Study

JOULES = 3.6e9  # of a megawatt-hour
ENERGY = ("Energy of all nodes until the last job has ended", ["scenario", "MWh", "of what is"])
NO_USERS = "The jobs name no users, so nothing is said by user."
HEADS = ("mean wait", "median", "95 % wait at most", "bounded slowdown", "nodes in use", "makespan")


def write(study: Study, path: str | PathLike[str], *, title: str = "", repeat: str = "") -> None:
    """Write the HTML page about a study to a file; after an error the file is unchanged."""
    text = page(study, title=title, repeat=repeat)
    with atomic_text(path) as out:
        out.write(text)


def verdict(study: Study) -> str:
    """Return the answer in a sentence: the scenario of the least mean wait, and its difference."""
    known = [one for one in study.scenarios if one.metrics["mean_wait"] == one.metrics["mean_wait"]]
    if not known:
        return "No scenario has a mean wait: no job starts."
    best = min(known, key=lambda one: one.metrics["mean_wait"])
    apart = study.difference(best)
    sure = "" if apart.low != apart.low or apart.shown else "; the 95 % interval includes 0"
    several = len(study.scenarios) > 1
    first = f"The least wait of {counted(len(study.scenarios), 'scenario')} is with " if several else ""
    now, then = (duration(one.metrics["mean_wait"]) for one in (study.base, best))
    waits = f"mean wait {then} instead of {now}, a difference of {told(apart)}{best.includes}{sure}"
    return f"{first}{best.name}: {waits}; {counted(len(study.size), 'job')}."


def rows_of(study: Study) -> list[tuple[str, ...]]:
    """Return the rows of the table of scenarios, the present one first."""
    found = []
    for one in study.outcomes:
        metrics = one.metrics
        times = [duration(metrics[name]) for name in ("mean_wait", "median_wait", "p95_wait")]
        others = [number(metrics["bounded_slowdown"]), share(metrics["utilisation"]), duration(metrics["makespan"])]
        bound = "–" if one.bound != one.bound else duration(one.bound)
        apart = "–" if one is study.base else told(study.difference(one))
        found.append((one.name, f"{one.nodes:,}", *times, *others, apart, bound))
    return found


def energies(study: Study) -> list[tuple[str, str, str]]:
    """Return each scenario's energy in MWh, and its share of the present one's; empty if energy is not computed.

    Energy is computed if some scenario switches idle nodes off.
    """
    base = study.base.metrics.get("energy", 0.0)
    if not base > 0.0:
        return []
    return [
        (one.name, f"{one.metrics['energy'] / JOULES:,.3f}", share(one.metrics["energy"] / base))
        for one in study.outcomes
    ]


def told(interval: Interval) -> str:
    """Return a difference of mean waits with its interval, in words."""
    value, low, high = (signed(seconds) for seconds in interval)
    return f"{value} ({low} to {high})" if interval.low == interval.low else value


def signed(seconds: float) -> str:
    """Return a duration in words with its sign; a dash for NaN."""
    if seconds != seconds:
        return "–"
    return f"{'−' if seconds < 0 else '+'}{duration(abs(seconds))}"


def page(study: Study, *, title: str = "", repeat: str = "") -> str:
    """Return the text of the HTML page about a study."""
    heading = title or f"What if: {counted(len(study.scenarios), 'scenario')}"
    unit = "weeks" if study.days_of_block == 7 else "days"
    heads = ["scenario", "nodes", *HEADS, "mean wait, difference", "no schedule is below"]
    within = f"with the interval in which they lie for 95 % of {study.blocks} resampled {unit}"
    if study.blocks < FEWEST:
        within = f"without an interval, for there are fewer than {FEWEST} {unit} to resample"
    words = (
        f"Differences are those of the jobs' mean wait to what is, {within}. A bound is what no schedule of the same "
        "jobs can be below, whoever decides."
    )
    scenarios = [
        f"<h2>Scenarios</h2><p>{escape(words)}</p>",
        table(f"{counted(len(study.size), 'job')} in every scenario", heads, rows_of(study)),
        *([f"<p>{escape(str(study.recorded))}</p>"] if study.recorded else []),
        svg(differences(study), "differences of mean waits"),
        *([table(*ENERGY, used)] if (used := energies(study)) else []),
    ]
    sizes = "".join(_sizes(study, k) for k in range(len(study.scenarios)))
    links, parts = chapters({
        "scenarios": ("Scenarios", "".join(scenarios)),
        "who": ("Who gains, who pays", f'<h2>Who gains, who pays</h2>{_users(study)}<div class="tables">{sizes}</div>'),
        "notes": ("Assumed", _notes(study)),
        "repeat": ("Repeat it", f"<h2>How to repeat it</h2><pre>{escape(repeat)}</pre>" if repeat else ""),
    })  # fmt: skip
    header = f'<header><p class="eyebrow">fedsched study</p><h1>{escape(heading)}</h1>'
    header += f'<p class="lede">{escape(verdict(study))}</p></header>'
    return document(heading, f"{header}\n{links}\n<main>{parts}</main>", pictures=True)


def differences(study: Study, ax: Any = None) -> Any:
    """Draw each scenario's difference of mean waits in hours, with its interval, and return the axes."""
    ax = style.axes(ax, size=(6.5, 1.2 + 0.35 * len(study.scenarios)))
    found = [study.difference(one) for one in study.scenarios]
    for k, (value, low, high) in enumerate(found):
        colour = style.LINES[1] if found[k].shown else "#777777"
        if low == low:
            ax.plot([low / 3600, high / 3600], [k, k], color=colour, linewidth=2)
        ax.plot([value / 3600], [k], "o", color=colour)
    ax.axvline(0, color="black", linewidth=0.8)
    ax.set_yticks(range(len(found)), [picture_name(one.name) for one in study.scenarios], fontsize=8)
    ax.set_ylim(max(len(found), 1) - 0.5, -0.5)
    return style.dress(ax, x="hours of mean wait more than as it is", y="")


def _users(study: Study) -> str:
    rows = []
    users = [study.by_user(one) for one in study.scenarios]
    if not any(one.of for one in users):
        return f"<p>{NO_USERS}</p>"
    for one, found in zip(study.scenarios, users, strict=True):
        worst = [f"{study.names.get(user, f'user {user}')}: {signed(change)} ({counted(jobs, 'job')})"
                 for user, jobs, change in study.paying(one, 3)]  # fmt: skip
        most = Markup("<br>".join(map(escape, worst or ["no user"])))
        rows.append((one.name, f"{found.of:,}", f"{found.less:,}", f"{found.more:,}", most))
    caption = "Users whose mean wait changes by more than a minute, and those who pay most"
    return table(caption, ["scenario", "users", "wait less", "wait more", "most of all"], rows)


def _sizes(study: Study, k: int) -> str:
    one = study.scenarios[k]
    rows = [
        (found.name, f"{found.of:,}", share(found.less / found.of), share(found.more / found.of), signed(found.change))
        for found in study.by_size(one)
    ]
    return table(f"{one.name}: by size", ["jobs of", "jobs", "wait less", "wait more", "mean change"], rows)


def _notes(study: Study) -> str:
    items = "".join(f"<li>{escape(line)}</li>" for line in study.lines)
    return f"<h2>Left out and assumed</h2><ul>{items}</ul>" if items else ""
