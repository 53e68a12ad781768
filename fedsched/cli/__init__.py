"""The `fedsched` command: it reads, calls the library, and draws; everything it can do, the library can."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import fedsched

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cyclopts import App

SUMMARY = "Schedule parallel jobs on one cluster or a federation: simulate policies, search plans."
EPILOGUE = "Every command: --json for machines, --debug for the traceback behind an error."
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
    "convert": "Turn a log, a workload or a platform into another format, and say what is lost.",
    "fetch": "Download a log of the Parallel Workloads Archive, and check it.",
    "verify": "Recompute the known schedules of a log on your copy of it.",
    "demo": "Compare policies on the shipped trace; writes a report.",
}
FAILED = 2
INTERRUPTED = 130


def build_app() -> App:
    """Return the command's parser; a command's module is imported when the command is run."""
    from cyclopts import App

    app = App(
        name="fedsched",
        help=SUMMARY,
        help_epilogue=EPILOGUE,
        help_format="plaintext",
        version=fedsched.__version__,
        result_action="return_value",
        suppress_keyboard_interrupt=False,  # `run` says what Ctrl-C left behind
    )
    for name, summary in COMMANDS.items():
        app.command(f"fedsched.cli.{name}:command", name=name, help=summary)
    return app


def run(arguments: Sequence[str]) -> int:
    """Return the exit status of the command line: 0 done, 1 a check failed, 2 an error, 130 interrupted."""
    from cyclopts import CycloptsError

    debug = "--debug" in arguments
    tokens = [argument for argument in arguments if argument != "--debug"]
    try:
        status = build_app()(tokens, exit_on_error=False, print_error=False)
    except CycloptsError as error:
        if debug:
            raise
        return _complain(f"{error} See: fedsched --help.")
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
