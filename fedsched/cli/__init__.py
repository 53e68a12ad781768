"""The command line `fedsched`: its commands read input, call the library and print; the library can do all of it."""

from __future__ import annotations

import codecs
import errno
import io
import itertools
import sys
from typing import TYPE_CHECKING

from fedsched.cli.shared.input_output import FAILED, INTERRUPTED, option, say

if TYPE_CHECKING:
    from collections.abc import Sequence

CURES = {
    errno.ENOENT: "; check the path",
    errno.EISDIR: "; give the name of a file in it",
    errno.ENOTDIR: "; a part of the path is a file",
    errno.EACCES: "; ask its owner, or give another path",
    errno.ENOSPC: "; make room, or write elsewhere",
}
# ASCII spellings of the signs in tables, for output encodings that lack these signs.
SPELLED = dict(
    zip("×·−–—…≤≥²³√Σσταβγ∞%", ("x", "*", "-", "-", "-", "...", "<=", ">=", "^2", "^3", "sqrt", "sum", "sigma", "tau",
                               "alpha", "beta", "gamma", "inf", "%"), strict=True)
)  # fmt: skip


def run(arguments: Sequence[str]) -> int:
    """Run a command line, print its output or error, and return the exit status.

    The status is 0 if all is done, 1 if a check failed, 2 after an error, and 130 if the user interrupted.
    """
    from fedsched.cli.commands import COMMANDS

    named = next((argument for argument in arguments if argument in COMMANDS), None)
    debug = "--debug" in arguments
    try:
        status: object = 0
        if (page := _help_page(arguments, named)) is not None:
            say(page)
        else:
            status = _call(arguments, named)
        if sys.stdout is not None:
            sys.stdout.flush()  # here, where a full disk can still be reported
    except KeyboardInterrupt:
        if debug:
            raise
        return _complain("interrupted; nothing was written.", INTERRUPTED)
    except (BrokenPipeError, SystemExit):  # rich turns a BrokenPipeError into a SystemExit
        # The reader of our output has closed the pipe; Python would complain again when it flushes stdout at exit.
        sys.stdout = None
        return 0
    except Exception as error:
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            sys.stdout = None  # its buffer cannot be written either
        if debug:
            raise
        from cyclopts import CycloptsError

        if isinstance(error, CycloptsError):
            from fedsched.cli.shared.parse_errors import describe_parse_error

            return _complain(f"{describe_parse_error(error)} See: fedsched {f'{named} ' if named else ''}--help.")
        return _complain(describe(error))
    return status if isinstance(status, int) else 0


def _help_page(arguments: Sequence[str], named: str | None) -> str | None:
    """Return the first page or a command's short help if the arguments ask for it, else None; no parser is needed."""
    from fedsched.cli.commands import ALL_HELP, HELP, first_page

    if named is None:
        return first_page() if {*arguments} <= {*HELP, ALL_HELP} else None
    if not any(argument in HELP for argument in itertools.takewhile("--".__ne__, arguments)):
        return None
    from fedsched.cli.help import short_help

    return short_help(named)


def _call(arguments: Sequence[str], named: str | None) -> object:
    """Parse the arguments, run the command that they name, and return its result (the exit status)."""
    from fedsched.cli.app import build_app
    from fedsched.cli.shared.compile_progress import report_compiling

    # The parser reads a lone dash as an option without a name; ./- is a path, which Path turns into - again.
    arguments = ["./-" if argument == "-" else argument for argument in arguments]
    app = build_app(named)
    with report_compiling(arguments):
        return app.meta(arguments, exit_on_error=False, print_error=False)


def describe(error: BaseException) -> str:
    """Return the one-line message that the user sees for an error."""
    from fedsched.core.errors import FedschedError, FieldError

    text = " ".join((error.told(option) if isinstance(error, FieldError) else str(error)).split())
    if isinstance(error, OSError) and error.strerror:
        where = "The output" if error.filename is None else error.filename
        return f"{where}: {error.strerror}{CURES.get(error.errno or 0, '')}."
    if isinstance(error, MemoryError):
        return f"There is not enough memory{f' ({text})' if text else ''}; use fewer jobs, or a larger machine."
    notes = [note for note in getattr(error, "__notes__", ()) if "\n" not in note]  # where a plugin went wrong
    if isinstance(error, FedschedError | ValueError | TypeError) and text:
        return f"{text} ({'; '.join(notes)})" if notes else text
    return f"{type(error).__name__}: {text} ({'; '.join(['unexpected', *notes])}; --debug shows where)"


def _complain(text: str, status: int = FAILED) -> int:
    say(f"fedsched: {' '.join(text.split())}", err=True)
    return status


def spelled_out(error: UnicodeError) -> tuple[str, int]:
    """Return ASCII for signs that the output's encoding lacks, and the position after them: a handler for `codecs`.

    A sign without a spelling becomes `?`. Decoding errors are raised again.
    """
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(SPELLED.get(sign, "?") for sign in error.object[error.start : error.end]), error.end


def main() -> None:
    """Run the command line of this process, and exit with its status."""
    codecs.register_error("fedsched", spelled_out)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="fedsched")
    sys.exit(run(sys.argv[1:]))
