"""`fedsched doctor`: check this installation, and print a cure for what is wrong."""

from __future__ import annotations

from dataclasses import asdict

from fedsched.cli.shared import options
from fedsched.cli.shared.shared import CHECK_FAILED, print_json, print_table, say


def command(*, json: options.Json = False) -> int:
    """Check this installation: versions, machine, kernel cache, a self-test; exit with 1 if a check fails.

    Examples
    --------
    fedsched doctor
    fedsched doctor --json
    """
    from fedsched.cli.data import health

    found = list(health.checks())
    failed = [check for check in found if check.verdict == "fail"]
    if json:
        print_json({"sound": not failed, "checks": [asdict(check) for check in found]})
    else:
        rows = [(check.name, check.verdict, check.found, check.cure) for check in found]
        print_table("fedsched doctor", ("what", "verdict", "found", "cure"), rows, align="llll")
        say(f"{len(found)} checks, {len(failed) or 'none'} failed.")
    return CHECK_FAILED if failed else 0
