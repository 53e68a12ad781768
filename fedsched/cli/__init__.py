"""The `fedsched` command: it reads, calls the library, and draws; everything it can do, the library can."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from fedsched.cli.shared import FAILED, INTERRUPTED

if TYPE_CHECKING:
    from collections.abc import Sequence

COMMANDS = {
    "simulate": "Run a policy on a log and print what it costs.",
    "optimize": "Search the best plan for a package of jobs, beside baselines and bounds.",
    "compare": "Compare methods and policies on logs over seeds: medians, gaps, ranks, who is ahead.",
    "bounds": "Say what no schedule of a log can beat: makespan, energy, their front, responses.",
    "plot": "Draw a saved search result: front, progress, Gantt chart.",
    "market": "Give a batch of jobs priced slots on nodes with local load: AEP, CSS, batch-slicer, BSF.",
    "info": "Say what is in a log or a federation.",
    "gang": "Run gangs and local jobs on sites with a queue per processor.",
    "generate": "Write a made workload: lublin, poisson or planted.",
    "verify": "Recompute the known schedules of a log on your copy of it.",
    "completion": "Print what makes a shell complete commands and options.",
    "demo": "Compare policies on the shipped trace; writes a report.",
}


def run(arguments: Sequence[str]) -> int:
    """Return the exit status of the command line: 0 done, 1 a check failed, 2 an error, 130 interrupted."""
    from cyclopts import CycloptsError

    from fedsched.cli.app import build_app

    debug = "--debug" in arguments
    named = next((argument for argument in arguments if argument in COMMANDS), None)
    app = build_app(named)
    try:
        status = app.meta(arguments, exit_on_error=False, print_error=False)
    except CycloptsError as error:
        if debug:
            raise
        return _complain(f"{error} See: fedsched {f'{named} ' if named else ''}--help.")
    except KeyboardInterrupt:
        if debug:
            raise
        return _complain("interrupted; nothing was written.", INTERRUPTED)
    except BrokenPipeError:
        # Whoever read our output has gone; Python would complain once more while it flushes at the end.
        sys.stdout = None
        return 0
    except Exception as error:
        if debug:
            raise
        return _complain(describe(error))
    return status if isinstance(status, int) else 0


def describe(error: BaseException) -> str:
    """Return an error in one line, for a person."""
    from fedsched.errors import FedschedError

    text = " ".join(str(error).split())
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename}: {error.strerror}."
    if isinstance(error, FedschedError | ValueError | TypeError) and text:
        return text
    return f"{type(error).__name__}: {text} (unexpected; --debug shows where)"


def _complain(text: str, status: int = FAILED) -> int:
    print(f"fedsched: {' '.join(text.split())}", file=sys.stderr)
    return status


def main() -> None:
    """Run the command line of this process, and exit with its status."""
    sys.exit(run(sys.argv[1:]))
