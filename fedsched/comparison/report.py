"""The report of a comparison: one HTML page of tables, tests and pictures, without network or scripts."""

from __future__ import annotations

import io
import re
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fedsched.comparison.instances import Budget
from fedsched.comparison.scores import is_maximised, measures_of
from fedsched.comparison.statistics import check_alpha, probability
from fedsched.comparison.verdict import verdict_of
from fedsched.core.text import counted
from fedsched.core.text import html as escape
from fedsched.io.atomic import atomic_text
from fedsched.report.skeleton import document, scrolled, table

if TYPE_CHECKING:
    from collections.abc import Callable
    from os import PathLike

    from fedsched.comparison.record import Blocks, Comparison
    from fedsched.comparison.statistics import Pairs


def write(
    comparison: Comparison,
    path: str | PathLike[str],
    *,
    title: str,
    repeat: str,
    by: Blocks,
    alpha: float,
    against: str | None = None,
) -> None:
    """Write the page; after an error the file is unchanged."""
    text = page(comparison, title=title, repeat=repeat, by=by, alpha=alpha, against=against)
    with atomic_text(path) as out:
        out.write(text)


def page(
    comparison: Comparison,
    *,
    title: str = "",
    repeat: str = "",
    by: Blocks = "instance",
    alpha: float = 0.05,
    against: str | None = None,
) -> str:
    """Return the page as HTML."""
    check_alpha(alpha)
    if by not in ("run", "instance"):
        raise ValueError(f"by={by!r} must be 'run' or 'instance'.")
    heading = (
        title or f"{counted(len(comparison.methods), 'method')} on {counted(len(comparison.instances), 'instance')}"
    )
    verdicts = _verdicts(comparison, by, alpha, against)
    parts = [table("The verdict", (), verdicts, numbers=False), _summary(comparison), _failures(comparison)]
    parts += [_measure(comparison, measure, by, alpha, against) for measure in measures_of(comparison)]
    parts.append(_repeat(comparison, repeat))
    body = "\n".join(parts)
    header = f'<header><p class="eyebrow">fedsched comparison</p><h1>{escape(heading)}</h1>'
    header += f'<p class="lede">{escape(verdicts[0][1])}</p>' if verdicts else ""
    header += f"<p>{escape(comparison.reading)}</p></header>" if comparison.reading else "</header>"
    return document(heading, f'{header}\n<main class="comparison">{body}</main>', pictures=True)


def _verdicts(comparison: Comparison, by: Blocks, alpha: float, against: str | None) -> list[tuple[str, str]]:
    """Return a row for each measure: which method ranks first, and whether a test shows it."""
    return [
        (
            measure.replace("_", " "),
            verdict_of(comparison, measure, by=by, alpha=alpha, against=against).replace("\n", " "),
        )
        for measure in measures_of(comparison)
    ]


def _summary(comparison: Comparison) -> str:
    records = comparison.records
    seeds = sorted({record.seed for record in records})
    budgets = {Budget(r.evaluations_allowed, r.seconds_allowed) for r in records}
    objectives = dict.fromkeys(", ".join(record.objectives) for record in records)
    rows = [
        ("methods", ", ".join(comparison.methods)),
        ("instances", ", ".join(comparison.instances)),
        ("objectives", " | ".join(objectives)),
        ("seeds", ", ".join(map(str, seeds))),
        ("budget", " | ".join(sorted(map(str, budgets))) + "; a policy takes what its one schedule takes"),
        ("runs", f"{len(records)}, of which {len(comparison.failed)} failed"),
    ]
    return table("What was compared", (), rows + [("of them", fact) for fact in comparison.facts], numbers=False)


def _failures(comparison: Comparison) -> str:
    if not comparison.failed:
        return ""
    reasons = Counter((record.method, record.instance, record.error) for record in comparison.failed)
    rows = [(method, instance, str(count), error) for (method, instance, error), count in reasons.items()]
    head = ("method", "instance", "runs", "why")
    return f'<div class="failed">{table("Failed runs: worse than any that did not", head, rows, numbers=False)}</div>'


def _measure(comparison: Comparison, measure: str, by: Blocks, alpha: float, against: str | None) -> str:
    from fedsched.comparison.fronts import INDICATORS

    name = escape(measure)
    about = INDICATORS[measure].about if measure in INDICATORS else ""
    return "\n".join(
        [
            f"<h2>{name.replace('_', ' ')}</h2>",
            f"<p>{escape(about)}; {'more' if is_maximised(measure) else 'less'} is better.</p>" if about else "",
            "<h3>Ranks</h3>",
            attempt(lambda: f"<p>{escape(str(replace(comparison.friedman(measure, by=by), reading='')))}.</p>"),
            attempt(lambda: svg(comparison.plot_ranks(measure, by=by, alpha=alpha), f"{measure}: ranks")),
            "<h3>Pairs</h3>",
            attempt(lambda: _pairs(comparison.pairs(measure, by=by, against=against, alpha=alpha))),
            "<h3>Medians</h3>",
            scrolled(measure, replace(comparison.table(measure), facts=())._repr_html_()),
            "<h3>Performance profile</h3>",
            attempt(lambda: svg(comparison.plot_profile(measure, by=by), f"{measure}: profile")),
        ]
    )


def attempt(part: Callable[[], str]) -> str:
    """Return a part of a page, or a sentence that says why it cannot be tested or drawn with these runs."""
    try:
        return part()
    except ValueError as error:
        return f"<p>Not shown: {escape(str(error))}</p>"


def _pairs(found: Pairs) -> str:
    rows = [
        (
            pair.first,
            pair.second,
            f"{pair.wins} / {pair.ties} / {pair.losses}",
            probability(pair.p).removeprefix("p = ").removeprefix("p "),
            probability(pair.adjusted).removeprefix("p = ").removeprefix("p "),
            f"{pair.a12:.2f} ({pair.size})",
            pair.verdict,
        )
        for pair in found.pairs
    ]
    head = ("first", "second", "better / equal / worse", "p", "p after Holm", "A12", "the first is")
    holds = "these instances alone, an instance and a seed being a run" if found.of == "run" else "instances like these"
    blocks = counted(found.blocks, found.of)
    tested = counted(len(found.pairs), "pair")
    about = f"Wilcoxon's signed-rank test over {blocks}, Holm's correction over {tested}, α = {found.alpha:g}"
    return table(about, head, rows, numbers=False) + (
        f"<p>What is shown holds for {holds}. A12 is the chance that the first is better than the second on the same "
        "instance; ½ is level.</p>"
    )


def _repeat(comparison: Comparison, repeat: str) -> str:
    records = comparison.records
    versions = [*dict.fromkeys(pair for record in records for pair in record.versions.items())]
    several = len({name for name, _ in versions}) < len(versions)
    mixed = "<p>The runs were made by more than one version; compare with care.</p>" if several else ""
    same = "the same runs" if records[0].seconds_allowed is None else "runs alike, as far as seconds can be repeated"
    made = escape(", ".join(f"{name} {version}" for name, version in versions)) or "unknown versions"
    fingerprints = {record.instance: record.fingerprint for record in records}
    return "\n".join(
        [
            f"<h2>How to repeat it</h2>\n<pre>{escape(repeat or _code(comparison))}</pre>",
            f"<p>Same versions, seeds and evaluations give {same}. Made with {made}.</p>",
            mixed,
            table("Instances", ("instance", "fingerprint"), list(fingerprints.items()), numbers=False),
        ]
    )


def _code(comparison: Comparison) -> str:
    first = comparison.records[0]
    baselines = next((record.baselines for record in comparison.records if record.baselines is not None), None)
    return f"""compare(
    instances,  # those of the fingerprints below
    {comparison.methods!r},
    {tuple(sorted({record.seed for record in comparison.records}))!r},
    {Budget(first.evaluations_allowed, first.seconds_allowed)!r},
    baselines={baselines!r},
    path="runs.jsonl",
)"""


def svg(ax: Any, label: str) -> str:
    """Return a picture as an SVG element: the same picture gives the same text, and ids do not clash on a page."""
    import matplotlib as mpl

    text = io.StringIO()
    # Text stays text: it can be searched and read aloud, and fonts add no ids that would clash.
    with mpl.rc_context({"svg.hashsalt": label, "svg.fonttype": "none"}):
        ax.figure.savefig(text, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    drawn = re.sub(r' id="[A-Za-z0-9.]+_\d+"', "", text.getvalue())
    return drawn[drawn.index("<svg") :].replace(
        "<svg", f'<svg class="picture" role="img" aria-label="{escape(label)}"', 1
    )
