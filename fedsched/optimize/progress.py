"""A line on a terminal that shows the progress of a search."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple

from fedsched.core.text import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fedsched.search.run.run import Run


class Line(NamedTuple):
    """The two hooks of a line of progress: a search's callback, and a function that shows what precedes the search."""

    callback: Callable[[Run], None] | None
    say: Callable[[str], None]


@contextmanager
def show_progress(
    callback: Callable[[Run], None] | None, seconds: float | None, *, show: bool | None = None
) -> Iterator[Line]:
    """A context that shows a line of progress on stderr and yields its two hooks, the user's callback included.

    `show` says whether; None: in an interactive session. If nothing is shown, the callback is the user's own.
    """
    if not (_is_interactive() if show is None else show):
        yield Line(callback, lambda doing: None)
        return
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    from fedsched.core.compilation import compiling

    with (
        Live(console=Console(stderr=True), transient=True, refresh_per_second=5) as live,
        compiling(lambda watch: live.update(Text(watch.status))),
    ):

        def both(run: Run) -> None:
            live.update(Text(status(run, seconds)))
            if callback is not None:
                callback(run)

        yield Line(both, lambda doing: live.update(Text(f"{doing} …")))


def _is_interactive() -> bool:
    # An interactive session: a prompt, or a notebook with widgets (without them each update would add a line).
    if "ipykernel" in sys.modules:
        return find_spec("ipywidgets") is not None
    return hasattr(sys, "ps1")


def status(run: Run, seconds: float | None) -> str:
    """Return a line about a search: best values, gap, hypervolume, evaluations, speed and seconds left, if known."""
    from fedsched.bounds.cost.charges import is_useful

    objectives = run.problem.objectives
    best = run.archive.best() * objectives.signs
    parts = [f"{name} {value:,.6g}" for name, value in zip(objectives.names, best, strict=True)]
    if is_useful(objectives.names[0], float(run.bounds[0])):
        parts[0] += f" (gap {run.archive.best()[0] / run.bounds[0] - 1:.1%})"
    if len(objectives.names) > 1:
        parts.append(f"{counted(len(run.archive), 'plan')}, hypervolume {run.hypervolume():.4f}")
    rate = run.evaluations / max(run.seconds, 1e-9)
    parts.append(f"{counted(run.evaluations, 'evaluation')}, {rate:,.0f} a second")
    left = None
    if run.total is not None and rate > 0:
        left = (run.total - run.evaluations) / rate
    if seconds is not None:
        left = seconds - run.seconds if left is None else min(left, seconds - run.seconds)
    if left is not None:
        parts.append(f"{max(left, 0):.0f} s left")
    return "  ".join(parts)
