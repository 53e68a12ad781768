"""What the market's benchmarks share: tables of what the paper reports beside what came out, and the paper's loads."""

from __future__ import annotations

from fedsched.market import Domain

# The paper names loads by the share Y of cycles in which a job finds no window; of ours, these come nearest.
LOW = Domain(busy=(0.0, 0.2))
MEDIUM = Domain()
HIGH = Domain(busy=(0.215, 0.515))
IDLE = Domain(nodes=30, busy=(0.0, 0.2))


class PaperTable:
    """A table of what the paper reports, what came out, and whether that agrees."""

    def __init__(self, title: str) -> None:
        print(f"\n{title}\n{'what':<66} {'paper':>12} {'ours':>12}  verdict")

    def near(self, what: str, paper: float, ours: float, *, within: float) -> None:
        """Print a figure that should be the paper's within a share of it."""
        reached = abs(ours - paper) <= within * abs(paper)
        self._line(what, f"{paper:,.5g}", f"{ours:,.5g}", f"{'reached' if reached else 'MISSED'} (±{within:.0%})")

    def at_least(self, what: str, paper: float, ours: float, *, share: float = 1.0) -> None:
        """Print an effect that should be at least (a share of) the paper's."""
        reached = ours >= share * paper
        kept = "" if share == 1.0 else f" (≥ {share:.0%} of it)"
        self._line(what, f"{paper:,.4g}", f"{ours:,.4g}", f"{'reached' if reached else 'MISSED'}{kept}")

    def holds(self, what: str, paper: str, ours: str, agreed: bool) -> None:
        """Print a statement of the paper, and whether it holds."""
        self._line(what, paper, ours, "reached" if agreed else "MISSED")

    def shown(self, what: str, paper: float | None, ours: float) -> None:
        """Print a figure without a verdict."""
        self._line(what, "" if paper is None else f"{paper:,.5g}", f"{ours:,.5g}", "")

    def _line(self, what: str, paper: str, ours: str, verdict: str) -> None:
        print(f"{what:<66} {paper:>12} {ours:>12}  {verdict}".rstrip(), flush=True)
