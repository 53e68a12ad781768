"""What scripts that record on a real Slurm share: what is asked for, and that runs which say nothing are redone."""

from __future__ import annotations

import argparse
import signal
import sys
from typing import TYPE_CHECKING

from slurm.cluster import InvalidRun, SlurmError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

TRIES = 3


def parser_of(about: str | None, known: Collection[str], factor: float) -> argparse.ArgumentParser:
    """Return a parser of names and of how fast Slurm's clock runs."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(known))
    parser.add_argument("--factor", type=float, default=factor, help="how many times as fast as the world's")
    return parser


def asked_of(parser: argparse.ArgumentParser, known: Collection[str]) -> argparse.Namespace:
    """Return what is asked for, all names where none is given; from here on a SIGTERM ends the daemons, too."""
    asked = parser.parse_args()
    if unknown := set(asked.names) - set(known):
        parser.error(f"{', '.join(sorted(unknown))}: none of {', '.join(known)}")
    asked.names = asked.names or list(known)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the daemons are ended as on any other way out
    return asked


def tried(name: str, play: Callable[[], None]) -> None:
    """Play something, again where a run says nothing or a command of Slurm's failed; the last failure is raised."""
    for left in reversed(range(TRIES)):
        try:
            play()
            break
        except (InvalidRun, SlurmError) as error:
            print(f"{name}: {error}", flush=True)
            if not left:
                raise
