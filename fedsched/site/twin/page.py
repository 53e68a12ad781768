"""Writes the HTML page of a replay: recorded beside simulated figures, causes of starts that differ, and the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fedsched.comparison.report import svg
from fedsched.core.text import counted
from fedsched.core.text import html as escape
from fedsched.io.atomic import atomic_text
from fedsched.io.wall_clock import WallTime
from fedsched.plot import style
from fedsched.report.formatting import duration, share
from fedsched.report.skeleton import Markup, chapters, document, table
from fedsched.site.twin import figures
from fedsched.site.twin.causes import ABOUT, EQUAL, UNEXPLAINED
from fedsched.site.twin.replay_facts import REPLAY_FACTS
from fedsched.site.twin.site import span_in_words

if TYPE_CHECKING:
    from os import PathLike

    from fedsched.site.twin.causes import Explained
    from fedsched.site.twin.figures import Averages, InUse, Kind
    from fedsched.site.twin.replaying import Replayed

RECORDED, SIMULATED = style.LINES[0], style.LINES[1]
DAYS = "days since the dump begins"
LISTED = 50


def write(found: Explained, path: str | PathLike[str], *, title: str = "", repeat: str = "") -> None:
    """Write the HTML page of a replay to a file; after an error the file is unchanged."""
    text = page(found, title=title, repeat=repeat)
    with atomic_text(path) as out:
        out.write(text)


def page(found: Explained, *, title: str = "", repeat: str = "") -> str:
    """Return the page of a replay as HTML; `repeat` is the command that makes it again, "" to leave that out."""
    site = found.site
    heading = title or f"{site.machine.conf.name} and its twin"
    sections = {
        "summary": ("Summary", _summary(found)),
        "causes": ("Causes", _causes(found)),
        "waits": ("Waits", _waits(found)),
        "use": ("Nodes in use", _use(found)),
        "kinds": ("By kind", _kinds(found)),
        "unexplained": ("Unexplained", _unexplained(found)),
        "notes": ("Assumed", _notes(found)),
        "repeat": ("Repeat it", f"<h2>How to repeat it</h2><pre>{escape(repeat)}</pre>" if repeat else ""),
    }
    links, parts = chapters(sections)
    body = f"""<header><p class="eyebrow">fedsched twin</p><h1>{escape(heading)}</h1>
<p class="lede">{escape(verdict(found))}</p>
<p>{escape(span_in_words(site))}; {escape(str(found.plain.problem.policy))}.</p></header>
{links}
<main>{parts}</main>"""
    return document(heading, body, pictures=True)


def verdict(found: Explained) -> str:
    """Return the answer in sentences: how many starts are equal, what explains the others, and a warning if need be."""
    parts = {name: f"{part:.1%}" for name, part in found.parts.items()}
    rest = ", ".join(f"{part} {name}" for name, part in parts.items() if name != EQUAL)
    shared = " Jobs here share nodes and the twin gives nodes whole, so do not trust its what-ifs."
    return (
        f"{parts[EQUAL]} of {counted(len(found.cause), 'start')} are equal with nothing taken as given; {rest}. "
        f"For {found.given_to:.1%} of the jobs, a recorded fact was taken as given.{shared * found.site.machine.shared}"
    )


def _card(title: str, figure: str, *lines: str) -> str:
    listed = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f'<div class="card"><h3>{escape(title)}</h3><p class="figure">{escape(figure)}</p><ul>{listed}</ul></div>'


def _summary(found: Explained) -> str:
    compared, interval, parts = len(found.cause), found.site.interval, found.parts
    recorded, simulated = figures.waits(found.full)
    begun = ~np.isnan(simulated)
    average = figures.averages(found.full)
    mean = float(recorded.mean()) if compared else float("nan")
    here = float(simulated[begun].mean()) if begun.any() else float("nan")
    cards = [
        _card("equal starts", share(parts.pop(EQUAL)), f"of {counted(compared, 'start')} in the dump's span, "
              "with nothing taken as given", *(f"{name}: {share(part)}" for name, part in parts.items())),
        _card("something taken as given", share(found.given_to), "of the jobs, a recorded fact of their own;",
              "never a job's own start"),
        _card("mean wait", duration(mean), f"simulated: {duration(here)}", "with all facts taken as given"),
        _card("its moving average", share(average.error), f"mean absolute error, over {duration(average.period)}",
              f"HPE FastSim reports {share(figures.HPE_FASTSIM)} over two weeks"),
    ]  # fmt: skip
    text = f"Starts count as equal within {interval:g} s, the time between two backfill passes."
    return f'<h2>Summary</h2><div class="cards">{"".join(cards)}</div><p>{escape(text)}</p>{_quantiles(found)}'


def _replays(found: Explained) -> dict[str, Replayed]:
    return {"nothing given": found.plain, "all facts given": found.full}


def _quantiles(found: Explained) -> str:
    rows = []
    for name, replay in _replays(found).items():
        early, late = figures.signs(replay)
        cells = [f"{seconds:+,.0f} s" for seconds in figures.quantiles(replay).values()]
        rows.append((name, share(replay.share), share(early), share(late), *cells))
    heads = [f"{quantile:.0%}" for quantile in figures.QUANTILES]
    caption = "By how much jobs begin later than on record: shares, and quantiles of the difference"
    return table(caption, ["", "equal", "earlier", "later", *heads], rows) + svg(
        differences(_replays(found)), "starts within a distance of the record"
    )


def _causes(found: Explained) -> str:
    total = max(len(found.cause), 1)
    rows = [
        (_named(name), f"{count:,}", share(count / total), f"{own:,}" if name in REPLAY_FACTS else "–",
         f"{count - own:,}" if name in REPLAY_FACTS else "–")
        for name, (count, own) in found.counts().items()
    ]  # fmt: skip
    steps = [(f"and {name}" if k else name, share(equal)) for k, (name, equal) in enumerate(found.steps)]
    words = (
        "A start that differs has a cause if it is equal once one recorded fact is taken as given: a fact of the job "
        "itself, or of another job that displaces it. If no single fact suffices, several together may; else the "
        "recorded state just before the start."
    )
    untried = ""
    if found.untried:
        untried = f"<p>{escape(counted(found.untried, 'start'))} not tried from the state before: too many.</p>"
    listed = table("Causes", ["cause", "starts", "share", "its own", "displaced"], rows)
    cumulative = table("Equal starts as facts are taken as given, one after the other", ["fact", "equal starts"], steps)
    limits = "".join(f"<p>{escape(one)}.</p>" for one in found.other_limits)
    return f"<h2>Causes</h2><p>{escape(words)}</p>{untried}{limits}{listed}{cumulative}"


def _named(name: str) -> Markup:
    """Return a table cell, as HTML, with the name of a cause and its explanation below."""
    about = REPLAY_FACTS.get(name, ABOUT.get(name, ""))
    return Markup(f'{escape(name)}<br><span class="soft">{escape(about)}</span>')


def _waits(found: Explained) -> str:
    average = figures.averages(found.full)
    if not average.days.size:
        return ""
    return "<h2>Waits over time</h2>" + svg(waits_over_time(average), "moving average of waits")


def _use(found: Explained) -> str:
    return "<h2>Nodes in use</h2>" + svg(nodes_in_use(figures.in_use(found.full)), "nodes in use")


def _kinds(found: Explained) -> str:
    parts = []
    for name, of in figures.kinds(found.full).items():
        rows = [_kind(one) for one in of]
        heads = [name, "jobs", "mean wait", "simulated", "equal", "median difference"]
        parts.append(table(f"By {name}", heads, rows))
    return f'<h2>By kind of jobs</h2><p>With all facts taken as given.</p><div class="tables">{"".join(parts)}</div>'


def _kind(one: Kind) -> tuple[str, ...]:
    later = "–" if one.later != one.later else f"{one.later:+,.0f} s"
    return (one.name, f"{one.jobs:,}", duration(one.recorded), duration(one.simulated), share(one.equal), later)


def _unexplained(found: Explained) -> str:
    left = np.flatnonzero(found.cause == UNEXPLAINED)
    if not left.size:
        return "<h2>Unexplained</h2><p>Nothing.</p>"
    later = found.full.later if len(found.full.later) == len(found.cause) else found.plain.later
    left = left[np.argsort(-np.abs(np.nan_to_num(later[left], posinf=1e18)), kind="stable")]
    records, rows = found.site.records, found.rows
    listed = []
    for k in left[:LISTED].tolist():
        row = int(rows[k])
        apart = f"{later[k]:+,.0f} s" if np.isfinite(later[k]) else "it does not begin"
        listed.append((str(int(records.job[row])), records.labels["user"][row], f"{records.nodes[row]:,}",
                       str(WallTime(records.submit[row])), str(WallTime(records.start[row])), apart))  # fmt: skip
    more = f"<p>{left.size - LISTED:,} more.</p>" if left.size > LISTED else ""
    heads = ["job", "user", "nodes", "submitted", "begun on record", "begins here, with all facts given"]
    caption = f"{counted(left.size, 'start')} that nothing explains, the largest difference first"
    return "<h2>Unexplained</h2>" + table(caption, heads, listed, numbers=False) + more


def _notes(found: Explained) -> str:
    lines = "".join(f"<li>{escape(note)}</li>" for note in dict.fromkeys(found.full.notes))
    return f"<h2>Left out and assumed</h2><ul>{lines}</ul>"


def waits_over_time(found: Averages, ax: Any = None) -> Any:
    """Plot the moving averages of recorded and simulated waits, in hours, and return the axes."""
    ax = style.axes(ax, size=(6.5, 2.7))
    for values, colour, dash, name in (
        (found.recorded, RECORDED, "-", "recorded"),
        (found.simulated, SIMULATED, "--", "simulated"),
    ):
        ax.plot(found.days, values / 3600.0, color=colour, linestyle=dash, linewidth=1.6, label=name)
    ax.set_ylim(0, None)
    style.dress(ax, x=DAYS, y="hours", title=f"mean wait of the jobs begun in the {duration(found.period)} before")
    style.legend(ax, 2)
    return ax


def nodes_in_use(found: InUse, ax: Any = None) -> Any:
    """Plot the nodes in use over time, recorded and simulated, and return the axes."""
    ax = style.axes(ax, size=(6.5, 2.7))
    ax.fill_between(found.days, found.recorded, color=RECORDED, alpha=0.25, linewidth=0, label="recorded")
    ax.plot(found.days, found.simulated, color=SIMULATED, linewidth=1.2, label="simulated")
    ax.axhline(found.nodes, color="black", linewidth=0.8, linestyle=":")
    ax.set_ylim(0, found.nodes * 1.08)
    style.dress(ax, x=DAYS, y="nodes", title=f"nodes in use, of {found.nodes:,}")
    style.legend(ax, 2)
    return ax


def differences(replays: dict[str, Replayed], ax: Any = None) -> Any:
    """Plot the cumulative share of starts by their distance from the recorded ones, in seconds; return the axes.

    There is one curve for each replay.
    """
    ax = style.axes(ax, size=(6.5, 2.7))
    for k, (name, replay) in enumerate(replays.items()):
        away = np.sort(np.abs(replay.later[np.isfinite(replay.later)]))
        share = np.arange(1, away.size + 1) / max(replay.later.size, 1)
        ax.plot(np.maximum(away, 1.0), share, color=style.LINES[k], linestyle=style.DASHES[k % 4], label=name)
        ax.axvline(replay.site.interval, color="black", linewidth=0.8, linestyle=":")
    ax.set_xscale("log")
    ax.set_ylim(0, 1.02)
    title = "starts within a distance of the record"
    style.dress(ax, x="seconds from the recorded start", y="share of starts", title=title)
    style.legend(ax, len(replays))
    return ax
