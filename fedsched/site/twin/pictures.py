"""The pictures of a replay: waits over time, nodes in use, and differences of starts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fedsched.plot import style
from fedsched.report.formatting import duration

if TYPE_CHECKING:
    from fedsched.site.twin.figures import Averages, InUse
    from fedsched.site.twin.replaying import Replayed

RECORDED, SIMULATED = style.LINES[0], style.LINES[1]
DAYS = "days since the dump begins"


def waits_over_time(found: Averages, ax: Any = None) -> Any:
    """Return the axes with the moving averages of waits."""
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
    """Return the axes with the nodes in use."""
    ax = style.axes(ax, size=(6.5, 2.7))
    ax.fill_between(found.days, found.recorded, color=RECORDED, alpha=0.25, linewidth=0, label="recorded")
    ax.plot(found.days, found.simulated, color=SIMULATED, linewidth=1.2, label="simulated")
    ax.axhline(found.nodes, color="black", linewidth=0.8, linestyle=":")
    ax.set_ylim(0, found.nodes * 1.08)
    style.dress(ax, x=DAYS, y="nodes", title=f"nodes in use, of {found.nodes:,}")
    style.legend(ax, 2)
    return ax


def differences(replays: dict[str, Replayed], ax: Any = None) -> Any:
    """Return the axes with the cumulative share of starts by their distance from the recorded ones, in seconds."""
    ax = style.axes(ax, size=(6.5, 2.7))
    for k, (name, replay) in enumerate(replays.items()):
        away = np.sort(np.abs(replay.later[np.isfinite(replay.later)]))
        share = np.arange(1, away.size + 1) / max(replay.later.size, 1)
        ax.plot(np.maximum(away, 1.0), share, color=style.LINES[k], linestyle=style.DASHES[k % 4], label=name)
        ax.axvline(replay.site.interval, color="black", linewidth=0.8, linestyle=":")
    ax.set_xscale("log")
    ax.set_ylim(0, 1.02)
    style.dress(ax, x="seconds from the recorded start", y="share of starts", title="starts within so many seconds")
    style.legend(ax, len(replays))
    return ax
